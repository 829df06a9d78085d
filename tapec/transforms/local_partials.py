"""Sparse Jacobians element by element: the partial derivatives of each result by the elements that it is made of.

That can be done where each result is computed from elements that are read on the way to it: sources are only read,
results only stored, and what an iteration hands on to the next one depends on few reads.  Beside a number stand its
partial derivatives by the reads that it depends on, a fixed list in each place of the program.  Where they go is a list
in the order of the run, which `recorded_partials` finds: it has the rows and columns in that order, which are the
pattern, too.  `stored_partials` stores the values.

Decisions have to follow from extents and integers, so that the order is known before the run.  Of a branch of which the
pattern has what both ways give (`joined_branches`), the reads of both ways count, and what it stores is stored behind
it: the way that a run has not taken gives zeros.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 10.2, preaccumulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tapec.analyses.activity import Activity, differentiable_operands, outputs
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, aliases
from tapec.errors import Span
from tapec.rules.library import PRIMITIVES
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Push,
    Stmt,
    Store,
    leaves,
    may_leave,
    walk,
    written_in,
    zero_of,
)
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import INT64, Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import ForwardMode
from tapec.transforms.joined_branches import MARK, is_joined
from tapec.transforms.meeting_partials import Meeting, Partials, Read, Stored
from tapec.transforms.strong_zeros import may_be_infinite

# partial derivatives that stand beside one number, beside one that iterations hand on, and in all of a program; others
# go by colours
_BESIDE, _CARRIED, _IN_ALL = 32, 6, 3000


class _CarriesMore(Exception):
    """More partial derivatives stand beside a number that iterations hand on than was thought."""


class NotLocal(Exception):
    """A program of which partial derivatives cannot be stored as it runs, and why."""

    def __init__(self, why: str, span: Span | None) -> None:
        super().__init__(why)
        self.span = span


class LocalPartials(ForwardMode):
    """A walk through a function that has the partial derivatives of its numbers by the elements that it reads.

    function  as `decision_digests.traced` makes it; what is done for each result that is stored is said by `write`
    """

    # whether only the reads are asked for, not what the partial derivatives are
    only_reads = False

    def __init__(
        self, function: Function, sources: tuple[str, ...], constants: frozenset[str], carried: dict[str, int]
    ) -> None:
        super().__init__(function, sources, constants)
        self.out = Emitter(self.types, self.taken, function.leaving.span)
        self.classes = aliases(function)
        returned = {value.id for value in function.results if isinstance(value, Name)}
        self.activity = Activity(function, self.classes, set(sources), returned)
        if function.results[-1] != Const(0):
            raise NotLocal("what it does depends on the numbers that it is given", function.leaving.span)
        self.read_from = {self.classes.find(source) for source in sources if isinstance(self.types[source], Array)}
        stores = [stmt for stmt in walk(function.body) if isinstance(stmt, Store) and stmt.array in self.activity]
        self.stored_in = {self.classes.find(stmt.array) for stmt in stores}
        for stmt in walk(function.body):
            self._find_copies(stmt)
        for name in (*self.function.params, *constants, *sources):
            if self.classes.find(name) in self.stored_in:
                raise NotLocal(f"`{name}` is written", function.leaving.span)
        # how many stand beside numbers that iterations hand on, as far as that is known
        self.carried = carried
        self.beside: dict[str, Partials] = {}
        self.reads: dict[tuple[str, tuple[Expr, ...]], Read] = {}
        # names beside which partial derivatives stood anywhere
        self.moved: set[str] = set()
        self.count_of_partials = 0
        # of the branch at hand of which both ways count: what is stored behind it
        self.waiting: list[Stored] | None = None
        self.by: Read | None = None
        self.binds = False

    def _find_copies(self, stmt: Stmt) -> None:
        """Copies of what is read are read."""
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "copy":
            (origin,) = stmt.value.args
            if isinstance(origin, Name) and self.classes.find(origin.id) in self.read_from:
                self.read_from.add(self.classes.find(stmt.target))

    def write(self, stored: Stored, out: Emitter) -> None:
        """Do what there is to do for a result."""
        raise NotImplementedError

    def column(self, shadow: str, index: tuple[Expr, ...], out: Emitter) -> Atom:
        """The number of an element of a source, where that is asked for."""
        return Const(0)

    def keep(self, stmt: Stmt, out: Emitter) -> None:
        """Write a statement of the function itself."""
        out.add(stmt)

    # what stands beside a number

    def tangent(self, atom: Atom, emitter: Emitter) -> Expr | None:
        """The partial derivative of an atom by the read at hand; None where it is zero."""
        found = self.partials(atom).get(self.by) if self.by is not None else None
        if self.binds and isinstance(found, Const):
            return emitter.let("partial", found, emitter.type_of(found))
        return found

    def partials(self, atom: Expr) -> Partials:
        """The partial derivatives of an atom."""
        if not isinstance(atom, Name) or atom.id not in self.moved:
            return {}
        if atom.id not in self.beside:
            raise NotLocal(f"`{atom.id}` is read outside of the iteration or branch that sets it", self.out.span)
        return self.beside[atom.id]

    def number(self, target: str, found: Partials, span: Span | None) -> None:
        """Note what stands beside a number."""
        self.beside[target] = found
        self.count_of_partials += len(found)
        if len(found) > _BESIDE or self.count_of_partials > _IN_ALL:
            raise NotLocal(f"`{target}` depends on {len(found)} elements, and there are many such numbers", span)
        if found:
            self.moved.add(target)

    # statements

    def follow(self, block: Block, out: Emitter) -> None:
        for stmt in block:
            out.span = self.out.span = getattr(stmt, "span", None)
            self.step(stmt, out)

    def step(self, stmt: Stmt, out: Emitter) -> None:
        match stmt:
            case Assign(target=target):
                if target in self.activity and isinstance(self.types[target], Array | Stack):
                    self.memory(stmt, out)
                else:
                    self.scalar(stmt, out)
            case Store(array=array, index=index, value=value, accumulate=accumulate):
                self.keep(stmt, out)
                if array in self.activity:
                    self.store(Stored(array, index, self.partials(value), accumulate), out)
            case If() if is_joined(stmt):
                self.joined(stmt, out)
            case If():
                self.branch(stmt, out)
            case For() | Loop():
                self.loop(stmt, out)
            case Push(stack=stack) if stack in self.activity:
                raise NotLocal(f"list `{stack}` holds what moves", stmt.span)
            case Call() if any(target in self.activity for target in outputs(stmt)):
                raise NotLocal(f"`{stmt.function}` is called", stmt.span)
            case Note(text=text) if text == MARK:
                pass
            case _:
                self.keep(stmt, out)

    def scalar(self, stmt: Assign, out: Emitter) -> None:
        target, value = stmt.target, stmt.value
        self.keep(stmt, out)
        if target not in self.activity or not self.types[target].is_float:
            return
        type_ = self.types[target]
        assert isinstance(type_, Scalar)
        if not isinstance(value, Op):
            self.number(target, dict(self.partials(value)), stmt.span)
        elif value.fn == "load":
            self.number(target, self.loaded(value, out), stmt.span)
        elif value.fn == "pop" or value.fn in PRIMITIVES or isinstance(value.fn, Custom):
            raise NotLocal(f"`{value.fn}` has a derivative of its own", stmt.span)
        else:
            depends = {one: None for name in differentiable_operands(value) for one in self.partials(Name(name))}
            self.number(target, {one: self.partial(stmt, one, type_, out) for one in depends}, stmt.span)

    def partial(self, stmt: Assign, by: Read, type_: Scalar, out: Emitter) -> Expr:
        """The partial derivative of an operation's result."""
        assert isinstance(stmt.value, Op)
        if self.only_reads:
            return Const(0.0)
        self.by, self.binds = by, may_be_infinite(stmt.value.fn, stmt.value.args)
        found = out.atom(self.scalar_tangent(stmt, out), type_)
        self.by = None
        return found

    def loaded(self, value: Op, out: Emitter) -> Partials:
        """What stands beside an element of an array."""
        array, *index = value.args
        assert isinstance(array, Name)
        group = self.classes.find(array.id)
        if group in self.stored_in:
            raise NotLocal(f"an element of `{array.id}` is read, where numbers that move are stored", self.out.span)
        if group not in self.read_from:
            return {}
        key = array.id, tuple(index)
        if key not in self.reads:
            self.reads[key] = Read(self.column(array.id, key[1], out))
        return {self.reads[key]: Const(1.0)}

    def store(self, stored: Stored, out: Emitter) -> None:
        if self.waiting is None:
            self.write(stored, out)
        else:
            self.waiting.append(stored)

    def memory(self, stmt: Assign, out: Emitter) -> None:
        """An array: what is read and what is stored stay apart."""
        value, group = stmt.value, self.classes.find(stmt.target)
        ways = ALLOCATIONS | VIEWS | {"copy"}
        if isinstance(self.types[stmt.target], Stack) or (isinstance(value, Op) and value.fn not in ways):
            raise NotLocal(f"`{stmt.target}` is computed as a whole", stmt.span)
        if group in self.stored_in and group in self.read_from:
            raise NotLocal(f"`{stmt.target}` is read and stored", stmt.span)
        if isinstance(value, Op) and value.fn == "copy" and group in self.stored_in:
            (origin,) = value.args
            if isinstance(origin, Name) and origin.id in self.activity:
                raise NotLocal(f"`{stmt.target}` is read and stored", stmt.span)
        self.keep(stmt, out)

    # branches and loops

    def branch(self, stmt: If, out: Emitter) -> None:
        beside, reads = self.beside, self.reads
        found, emitters = [], []
        for block in (stmt.body, stmt.orelse):
            self.beside, self.reads = dict(beside), dict(reads)
            emitters.append(out.child())
            self.follow(block, emitters[-1])
            found.append(self.beside)
        self.reads = reads
        if leaves(stmt.body) or leaves(stmt.orelse):
            self.beside = found[1] if leaves(stmt.body) else found[0]
        else:
            meeting = Meeting(self.types, self.only_reads, emitters[0], emitters[1], joined=False)
            self.beside = self.met(meeting, found[0], found[1])
        self.keep_branch(If(stmt.test, tuple(emitters[0].out), tuple(emitters[1].out), stmt.span), out)

    def keep_branch(self, stmt: If, out: Emitter) -> None:
        out.add(stmt)

    def met(self, meeting: Meeting, first: dict[str, Partials], second: dict[str, Partials]) -> dict[str, Partials]:
        """What stands beside the numbers behind a branch; those that one way alone sets are read there alone."""
        found: dict[str, Partials] = {}
        for name in first:
            if name in second:
                alike = first[name] is second[name]
                found[name] = first[name] if alike else self.together(meeting, name, first[name], second[name])
        return found

    def together(self, meeting: Meeting, name: str, first: Partials, second: Partials) -> Partials:
        found = meeting.partials(name, first, second)
        self.moved |= {name} if found else set()
        return found

    def joined(self, stmt: If, out: Emitter) -> None:
        """A branch of which both ways count."""
        outermost, outside = self.waiting is None, self.waiting
        beside, reads = self.beside, self.reads
        # an element that both ways read is one
        self.reads = dict(reads)
        found, stored, emitters = [], [], []
        for block in (stmt.body, stmt.orelse):
            self.beside, self.waiting = dict(beside), []
            emitters.append(self.way(out))
            self.follow(block, emitters[-1])
            found.append(self.beside)
            stored.append(self.waiting)
        self.reads, self.waiting = reads, outside
        meeting = Meeting(self.types, self.only_reads, emitters[0], emitters[1], joined=True)
        self.beside = self.met(meeting, found[0], found[1])
        together = list(meeting.stored(stored[0], stored[1]))
        self.keep_way(If(stmt.test, tuple(emitters[0].out), tuple(emitters[1].out), stmt.span), out)
        if outermost:
            for one in together:
                self.write(one, out)
        elif self.waiting is not None:
            self.waiting += together

    def way(self, out: Emitter) -> Emitter:
        """What a way of a branch of which both ways count is written to."""
        return out.child()

    def keep_way(self, stmt: If, out: Emitter) -> None:
        out.add(stmt)

    def loop(self, stmt: For | Loop, out: Emitter) -> None:
        beside, reads = self.beside, self.reads
        inner, written = out.child(), written_in(stmt.body)
        carried = {name: self.begun(name, out) for name in sorted(written & beside.keys()) if name in self.carried}
        self.beside, self.reads = beside | carried, dict(reads)
        self.moved |= carried.keys()
        self.follow(stmt.body, inner)
        for name in sorted(written & beside.keys() & self.moved):
            if name not in self.beside:
                raise NotLocal(f"an iteration hands `{name}` on to the next one", stmt.span)
            if len(self.beside[name]) > len(carried.get(name, ())):
                self.carried[name] = len(self.beside[name])
                if self.carried[name] > _CARRIED or may_leave(stmt.body):
                    raise NotLocal(f"an iteration hands `{name}` on to the next one", stmt.span)
                raise _CarriesMore
        self.hand_on(carried, inner)
        self.beside = {name: found for name, found in beside.items() if name not in written} | carried
        self.reads = reads
        body = tuple(inner.out)
        if isinstance(stmt, For):
            # places are counted from one iteration to the next
            out.add(replace(stmt, body=body, parallel=False, independent=False, slots=None))
        else:
            out.add(replace(stmt, body=body))

    def begun(self, name: str, out: Emitter) -> Partials:
        """What stands beside a number that iterations hand on, at the head of the loop: variables of their own."""
        type_ = self.types[name]
        assert isinstance(type_, Scalar)
        before = list(self.partials(Name(name)).items())
        if len(before) > self.carried[name]:
            self.carried[name] = len(before)
        found: Partials = {}
        for k in range(self.carried[name]):
            read, value = before[k] if k < len(before) else (Read(), zero_of(type_))
            column = Name(out.fresh("column", INT64)) if self.only_reads else Const(0)
            partial = Name(out.fresh("partial", type_))
            self.hand(column, partial, read, value, out)
            found[Read(column)] = partial
        return found

    def hand(self, column: Atom, partial: Name, read: Read, value: Expr, out: Emitter) -> None:
        """Set the variables of a partial derivative that iterations hand on."""
        if isinstance(column, Name):
            out.assign(column.id, read.column)
        else:
            type_ = self.types[partial.id]
            assert isinstance(type_, Scalar)
            out.assign(partial.id, out.atom(value, type_))

    def hand_on(self, carried: dict[str, Partials], out: Emitter) -> None:
        """Set, at the end of an iteration, what stands beside the numbers at the head of the next one."""
        handed = []
        for name, found in carried.items():
            type_ = self.types[name]
            ends = list(self.beside[name].items())
            for k, (head, partial) in enumerate(found.items()):
                read, value = ends[k] if k < len(ends) else (Read(), zero_of(type_))  # type: ignore[arg-type]
                # one may be what another one was
                if self.only_reads:
                    read = Read(out.let("column", read.column, INT64))
                else:
                    value = out.let("partial", out.atom(value, type_), type_)  # type: ignore[arg-type]
                handed.append((head.column, partial, read, value))
        for column, partial, read, value in handed:
            assert isinstance(partial, Name)
            self.hand(column, partial, read, value, out)

    def results_stored(self, out: Emitter) -> None:
        """Numbers among the results, as if each were stored."""
        for value in self.function.results[:-1]:
            if isinstance(value, Name) and isinstance(self.types[value.id], Array):
                if value.id in self.activity and self.classes.find(value.id) in self.read_from:
                    raise NotLocal(f"`{value.id}` is returned as it is", self.function.leaving.span)
            elif isinstance(value, Name) and self.partials(value):
                self.write(Stored(value.id, (), self.partials(value)), out)


def with_carried(made: Callable[[dict[str, int]], Function]) -> Function:
    """What is made when it is known how many partial derivatives iterations hand on, which the attempts find out."""
    carried: dict[str, int] = {}
    while True:
        try:
            return made(carried)
        except _CarriesMore:
            pass
