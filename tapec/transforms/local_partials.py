"""Sparse Jacobians element by element: partial derivatives are stored where the matrix has them.

    t = u[i - 1] * u[i]                  values[places[count]] = rate * u[i]
    r[i] = rate * t             ->       values[places[count + 1]] = rate * u[i - 1]
                                         count = count + 2

That can be done where each result is computed from elements that are read on the way to it: sources are only read,
results only stored, and no iteration hands a value that moves on to the next one.  Beside a number stand its partial
derivatives by the reads that it depends on, a fixed list in each place of the program.  Where they go is a list in the
order of the run, `places`, which `recorded` finds: it has the rows and columns in that order, and is the pattern, too.

Decisions have to follow from extents and integers, so that the order is known before the run.  Of a branch of which the
pattern has what both ways give (`joined_branches`), the reads of both ways count, and what it stores is stored behind
it: the way that a run has not taken gives zeros.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 10.2, preaccumulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from tapec.analyses.activity import differentiable_operands, outputs
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
    Return,
    Stmt,
    Store,
    leaves,
    walk,
    written_in,
    zero_of,
)
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Stack
from tapec.transforms.decision_digests import digest_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import ForwardMode
from tapec.transforms.joined_branches import MARK, is_joined
from tapec.transforms.ssa import to_ssa
from tapec.transforms.strong_zeros import may_be_infinite

# partial derivatives that stand beside one number, and in all of a program; others go by colours
_BESIDE, _IN_ALL = 32, 3000


class NotLocal(Exception):
    """A program of which partial derivatives cannot be stored as it runs, and why."""

    def __init__(self, why: str, span: Span | None) -> None:
        super().__init__(why)
        self.span = span


@dataclass(frozen=True, eq=False)
class Read:
    """A place in the program that reads an element of a source; `column` is its number, where that is asked for."""

    number: int
    column: Atom = Const(0)


# the partial derivatives beside a number, by the reads that it depends on
Partials = dict[Read, Expr]


@dataclass(frozen=True)
class Stored:
    """What is stored in an element of a result; what a result is that is a number, without subscripts."""

    array: str
    index: tuple[Atom, ...]
    partials: Partials
    accumulate: bool = False


class LocalPartials(ForwardMode):
    """A walk through a function that has the partial derivatives of its numbers by the elements that it reads.

    function  as `decision_digests.traced` makes it; what is done for each result that is stored is said by `write`
    """

    # whether only the reads are asked for, not what the partial derivatives are
    only_reads = False

    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> None:
        super().__init__(function, sources, constants)
        self.out = Emitter(self.types, self.taken, function.leaving.span)
        self.classes = aliases(function)
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
        self.beside: dict[str, Partials] = {}
        self.reads: dict[tuple[str, tuple[Expr, ...]], Read] = {}
        # names beside which partial derivatives stood anywhere
        self.moved: set[str] = set()
        self.count_of_reads = self.count_of_partials = 0
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

    def new_read(self, column: Atom) -> Read:
        self.count_of_reads += 1
        return Read(self.count_of_reads, column)

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
            self.reads[key] = self.new_read(self.column(array.id, key[1], out))
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
        beside, reads, mark = self.beside, self.reads, self.count_of_reads
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
            meeting = _Meeting(self, mark, emitters[0], emitters[1])
            self.beside = self.met(meeting, found[0], found[1])
        self.keep_branch(If(stmt.test, tuple(emitters[0].out), tuple(emitters[1].out), stmt.span), out)

    def keep_branch(self, stmt: If, out: Emitter) -> None:
        out.add(stmt)

    def met(self, meeting: _Meeting, first: dict[str, Partials], second: dict[str, Partials]) -> dict[str, Partials]:
        """What stands beside the numbers behind a branch; those that one way alone sets are read there alone."""
        found: dict[str, Partials] = {}
        for name in first:
            if name in second:
                alike = first[name] is second[name]
                found[name] = first[name] if alike else meeting.partials(name, first[name], second[name])
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
        meeting = _Meeting(self, None, emitters[0], emitters[1])
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
        self.beside, self.reads = dict(beside), dict(reads)
        inner, written = out.child(), written_in(stmt.body)
        self.follow(stmt.body, inner)
        for name in written & beside.keys() & self.moved:
            raise NotLocal(f"an iteration hands `{name}` on to the next one", stmt.span)
        self.beside = {name: found for name, found in beside.items() if name not in written}
        self.reads = reads
        body = tuple(inner.out)
        if isinstance(stmt, For):
            # places are counted from one iteration to the next
            out.add(replace(stmt, body=body, parallel=False, independent=False, slots=None))
        else:
            out.add(replace(stmt, body=body))

    def results_stored(self, out: Emitter) -> None:
        """Numbers among the results, as if each were stored."""
        for value in self.function.results[:-1]:
            if isinstance(value, Name) and isinstance(self.types[value.id], Array):
                if value.id in self.activity and self.classes.find(value.id) in self.read_from:
                    raise NotLocal(f"`{value.id}` is returned as it is", self.function.leaving.span)
            elif isinstance(value, Name) and self.partials(value):
                self.write(Stored(value.id, (), self.partials(value)), out)


@dataclass(frozen=True)
class _Meeting:
    """The point where two ways of a branch meet.

    mark  reads with higher numbers belong to one way, and are one where they meet; None where all of them stay what
          they are
    """

    worker: LocalPartials
    mark: int | None
    first: Emitter
    second: Emitter

    def partials(self, name: str, first: Partials, second: Partials) -> Partials:
        type_ = self.worker.types[name]
        assert isinstance(type_, Scalar)
        outer = {one: None for one in (*first, *second) if self.mark is None or one.number <= self.mark}
        found = {one: self.value(first.get(one), second.get(one), type_) for one in outer}
        own, others = ([one for one in part if one not in outer] for part in (first, second))
        for one, other in zip_longest(own, others):
            read = self.worker.new_read(self.column(one, other))
            found[read] = self.value(first.get(one), second.get(other), type_)  # type: ignore[arg-type]
        self.worker.moved |= {name} if found else set()
        return found

    def stored(self, first: list[Stored], second: list[Stored]) -> Iterator[Stored]:
        """What the ways store: zeros where the other one has been taken."""
        others = list(second)
        for one in first:
            same = (other for other in others if (other.array, other.index) == (one.array, one.index))
            match = next(same, None)
            if match is not None and not one.accumulate and not match.accumulate:
                others.remove(match)
                yield self.merged(one, one.partials, match.partials)
            else:
                yield self.merged(one, one.partials, {})
        for other in others:
            yield self.merged(other, {}, other.partials)

    def merged(self, stored: Stored, first: Partials, second: Partials) -> Stored:
        type_ = self.worker.types[stored.array]
        assert isinstance(type_, Array)
        together = {one: self.value(first.get(one), second.get(one), type_.element) for one in (*first, *second)}
        return replace(stored, partials=together)

    def value(self, first: Expr | None, second: Expr | None, type_: Scalar) -> Expr:
        """A number that is one or the other."""
        if first == second and first is not None:
            return first
        if self.worker.only_reads:
            return Const(0.0)
        made = self.first.fresh("partial", type_)
        for way, value in ((self.first, first), (self.second, second)):
            way.assign(made, zero_of(type_) if value is None else way.atom(value, type_))
        return Name(made)

    def column(self, first: Read | None, second: Read | None) -> Atom:
        columns = [Const(0) if one is None else one.column for one in (first, second)]
        if not self.worker.only_reads:
            return Const(0)
        made = self.first.fresh("column", INT64)
        for way, value in zip((self.first, self.second), columns, strict=True):
            way.assign(made, value)
        return Name(made)


def stored_partials(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str],
    integers: tuple[str, ...],
    dtype: str,
    adds: bool,
) -> Function:
    """The function that stores the values of the elements, and returns a digest of the decisions.

    integers  those among its parameters that decide anything
    dtype     of the values
    adds      whether an element may be met several times, or not at all

    Parameters beside those of the function:

    begins    int64: for each digest, where its places begin
    places    int32: where partial derivatives go in `values`, in the order of the run
    values    of the elements of the matrix
    traces    int64: the digests for which that is known; for others values are left as they are

    raises  NotLocal
    """
    return _Values(function, sources, constants, dtype, adds).run(integers)


class _Values(LocalPartials):
    def __init__(
        self, function: Function, sources: tuple[str, ...], constants: frozenset[str], dtype: str, adds: bool
    ) -> None:
        super().__init__(function, sources, constants)
        self.adds = adds
        kinds = {"begins": "int64", "places": "int64", "values": dtype, "traces": "int64"}
        self.given = {
            name: Name(self.out.fresh(name, Array(kind, 1, "C")))
            for name, kind in kinds.items()
        }
        self.count = self.out.fresh("count", INT64)

    def run(self, integers: tuple[str, ...]) -> Function:
        out, given = self.out, self.given
        trace = out.let("trace", Op("tapec_runtime.noted", (digest_of(integers, out), Const(0))), INT64)
        out.assign(self.count, Const(-1))
        each, k = out.child(), Name(out.fresh("k", INT64))
        same = each.atom(Op("==", (Op("load", (given["traces"], k)), trace)))
        inner = each.child()
        inner.assign(self.count, inner.let("t", Op("load", (given["begins"], k)), INT64))
        each.add(If(same, tuple(inner.out), (), out.span))
        size = out.let("size", Op("dim", (given["traces"], Const(0))), INT64)
        out.add(For(k.id, Const(0), size, Const(1), tuple(each.out), span=out.span))
        body = out.child()
        if self.adds:
            zero = body.cast(Const(0.0), self.types[given["values"].id].element)  # type: ignore[union-attr]
            body.each(given["values"].id, lambda one, index: one.add(Store(given["values"].id, index, zero)))
        for source in self.sources:
            if isinstance(self.types[source], Scalar):
                self.number(source, {self.new_read(Const(0)): Const(1.0)}, None)
        self.follow(self.function.body[:-1], body)
        self.results_stored(body)
        known = out.let("known", Op(">=", (Name(self.count), Const(0))), BOOL)
        out.add(If(known, tuple(body.out), (), out.span))
        params = (*self.function.params, *(name.id for name in given.values()))
        whole = (*out.out, Return((trace,)))
        return to_ssa(Function(f"{self.function.name}_elements", params, whole, self.types), self.constants)

    def write(self, stored: Stored, out: Emitter) -> None:
        values = self.given["values"].id
        kind = self.types[values]
        assert isinstance(kind, Array)
        for k, value in enumerate(stored.partials.values()):
            number = out.atom(Op("+", (Name(self.count), Const(k)))) if k else Name(self.count)
            place = out.let("place", Op("load", (self.given["places"], number)), INT64)
            out.add(Store(values, (place,), out.atom(value, kind.element), self.adds, out.span))
        if stored.partials:
            out.assign(self.count, Op("+", (Name(self.count), Const(len(stored.partials)))))
