"""Run a recurrence of the reverse sweep alone, and the rest of its loop side by side.

    for j in range(m - 1, -1, -1):            for j in range(m):
        s = a_bar[j + 1]                          w_kept[j] = y[j] / z[j]
        a_bar[j + 1] = 0.0                    a_carried = a_bar[m]
        w = y[j] / z[j]             ->        for j in range(m - 1, -1, -1):
        t = w * s                                 a_carried_kept[j] = a_carried
        a_bar[j] += t                             a_carried = a_bar[j] + w_kept[j] * a_carried
        x_bar[j] += 2.0 * s                   a_bar[0] = a_carried
                                              for j in range(m):
                                                  a_bar[j + 1] = 0.0
                                                  x_bar[j] += 2.0 * a_carried_kept[j]

The sum that an iteration leaves in an element for the next one is handed on in a variable, not through memory.  What
the next value of a recurrence is made of is brought into the form of one product and one sum (`weights`); all else in
the loop waits for no other iteration then, and LLVM runs it on vectors.  What no loop keeps is computed in both.

Needs a proof that no iteration reads what an earlier one has stored, apart from the element that is carried, and that
the iterations of what is left may run in any order, along rows.  Only inside other loops: a buffer that does not fit
the caches takes longer than waiting.  Loops of few iterations stay, and those whose iterations do little else or wait a
short time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Access
from tapec.optimise import costs
from tapec.optimise.loops.carried_elements import Elements
from tapec.optimise.loops.linear_recurrences import LinearForm, WeightedPart, Weights
from tapec.optimise.loops.loop_preheader import Around, LoopPass
from tapec.optimise.loops.loop_reversal import reverse_loops
from tapec.optimise.loops.scatter_to_gather import moved
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    literal_range,
    names_in,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array


def distribute_recurrences(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops split; see the module."""
    worker = _Chains(function)
    body = worker.block(function.body)
    if not worker.found:
        return function
    function = replace(function, body=body, types=worker.fresh.types)
    return reverse_loops(drop_dead_code(number_values(function, constants), constants), constants)


class _Chains(LoopPass):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.found = False

    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        """The loops that a loop is split into."""
        if not all(isinstance(one, Assign | Store) for one in loop.body):
            return None
        counted = literal_range(loop)
        # what threads keep would be in one buffer; buffers of a loop that runs once may not fit the caches
        threads = any(isinstance(one, For) and one.parallel for one in around)
        again = len(around) > 1 and not threads
        plain = loop.step in (Const(1), Const(-1)) and again and loop.slots is None
        stands = self.iterations.fixed(loop.start) and self.iterations.fixed(loop.stop)
        if not plain or not stands or (counted is not None and len(counted) <= costs.RECURRENCE_ITERATIONS):
            return None
        if (
            not self.iterations.free_of_effects(loop.body)
            or self.iterations.dependence.minimum(Affine(loop.var, 0)) < 0
        ):
            return None
        extent = extent_of(self.iterations, loop, around[0])
        if extent is None or any(one.index is None for one in self.iterations.accesses(loop.body)):
            return None
        types, made = dict(self.fresh.types), _Split(self, loop)
        if not made.split():
            self.fresh.types = types
            return None
        self.found = True
        size = self.outside.size(extent, 0, loop)
        for buffer in made.buffers:
            self.outside.write(Assign(buffer, Op("empty", (Const("float64"), size)), loop.span))
        why = "what an iteration hands on runs in a loop of its own, so that the rest waits for no other iteration"
        remark(loop.span, "recurrence_distribution", "split", why)
        return made.out


class _Split:
    """One loop on its way: `rest` is its body less the recurrences that have loops of their own in `out`."""

    def __init__(self, owner: _Chains, loop: For) -> None:
        self.iterations = owner.iterations
        self.fresh = owner.fresh
        self.loop = loop
        self.rest: list[Stmt] = list(loop.body)
        self.out: list[Stmt] = []
        self.after: list[Stmt] = []
        self.buffers: list[str] = []
        self.longest = 0
        self.inside = {name for stmt in loop.body for name in writes(stmt)} | {loop.var}
        self.elements = Elements(self.iterations, loop)
        self.left_over = {name for name in self.inside - {loop.var} if self.iterations.left_over(loop, {name})}

    def split(self) -> bool:
        """Whether the loop is split, into `out`."""
        carried = [name for name in self.handed_on() if not self.is_sum(name)]
        for group in self.iterations.groups(self.loop.body):
            name = self.through_memory(group)
            if name is not None:
                carried.append(name)
        if not carried or len(carried) > costs.RECURRENCES or not self.in_order():
            return False
        while carried:
            name = next((one for one in carried if self.needs(one) == {one}), None)
            if name is None or not self.chain(name):
                return False
            carried.remove(name)
        if not self.worth_it() or not self.side_by_side():
            return False
        self.out += [*self.after, replace(self.loop, body=tuple(self.rest))]
        return True

    # what iterations hand on

    def handed_on(self) -> list[str]:
        """The variables with a value of the iteration before."""
        set_yet: set[str] = set()
        found: dict[str, None] = {}
        for stmt in self.rest:
            found |= dict.fromkeys(name for name in reads(stmt) if name in self.inside - set_yet - {self.loop.var})
            set_yet.update(writes(stmt))
        return list(found)

    def is_sum(self, name: str) -> bool:
        return self.iterations.sum_of(name, {stmt.key for stmt in walk((self.loop,))}) is not None

    def through_memory(self, group: list[Access]) -> str | None:
        """A variable in place of the element that an iteration adds to for the next one, which reads it."""
        pair = self.elements.pair(group)
        if pair is None:
            return None
        load, add, cleared = pair
        assert isinstance(load.value, Op)
        name, before, both = (self.fresh(base, FLOAT64) for base in (f"{add.array}_carried", "t", "t"))
        read = tuple(sub for sub in load.value.args[1:] if isinstance(sub, Name | Const))
        rest: list[Stmt] = []
        for stmt in self.rest:
            if stmt is load:
                rest.append(replace(load, value=Name(name)))
                if not cleared:
                    rest.append(Store(add.array, read, Name(name), False, load.span))
            elif stmt is add:
                rest += [
                    Assign(before, Op("load", (Name(add.array), *add.index)), add.span),
                    Assign(both, Op("+", (Name(before), add.value)), add.span),
                ]
            else:
                rest.append(stmt)
        self.rest = [*rest, Assign(name, Name(both), add.span)]
        self.inside.add(name)
        runs = self.fresh("t", BOOL)
        upward = self.loop.step == Const(1)
        bounds = (self.loop.start, self.loop.stop) if upward else (self.loop.stop, self.loop.start)
        begin: list[Stmt] = []
        first = self.outside(read, self.loop.start, 0, load, begin)
        begin.append(Assign(name, Op("load", (Name(add.array), *first)), load.span))
        end: list[Stmt] = []
        last = self.outside(add.index, self.loop.stop, -1 if upward else 1, add, end)
        end.append(Store(add.array, last, Name(name), False, add.span))
        self.out += [
            Assign(name, Const(0.0), load.span),
            Assign(runs, Op("<", bounds), self.loop.span),
            If(Name(runs), tuple(begin), (), self.loop.span),
        ]
        self.after.append(If(Name(runs), tuple(end), (), self.loop.span))
        return name

    def outside(self, index: tuple[Atom, ...], bound: Atom, more: int, stmt: Stmt, out: list[Stmt]) -> tuple[Atom, ...]:
        """Subscripts of the iteration `bound + more`, for a statement outside of the loop."""
        found: list[Atom] = []
        for sub in index:
            affine = self.iterations.subscript(sub)
            assert affine is not None
            moves = affine.base == self.loop.var
            base = bound if moves else Const(0) if affine.base is None else Name(affine.base)
            offset = affine.offset + (more if moves else 0)
            if isinstance(base, Const):
                assert isinstance(base.value, int)
                found.append(Const(base.value + offset))
            else:
                found.append(moved(self.fresh, base, offset, stmt, out))
        return tuple(found)

    # order

    def in_order(self) -> bool:
        """Whether no iteration loads what an earlier statement or iteration has stored, and each name has one value per
        iteration.
        """
        targets = [name for stmt in self.rest for name in writes(stmt)]
        if len(set(targets)) < len(targets):
            return False
        accesses = list(self.iterations.accesses(tuple(self.rest)))
        order = {stmt.key: k for k, stmt in enumerate(self.rest)}
        stores = [one for one in accesses if one.kind != "load"]
        return not any(
            self.iterations.may_share(load.array, store.array)
            and not self.elements.before_store(load, store, order[load.stmt.key] < order[store.stmt.key])
            for load in accesses
            if load.kind == "load"
            for store in stores
        )

    # one recurrence

    def needs(self, name: str) -> set[str]:
        """The variables of the iteration before that the next value of one is made of."""
        handed_on = set(self.handed_on())
        made = {stmt.target: stmt.value for stmt in self.rest if isinstance(stmt, Assign)}
        seen: set[str] = set()
        pending = list(names_in(made[name]))
        while pending:
            one = pending.pop()
            if one not in seen:
                seen.add(one)
                if one not in handed_on:
                    pending += names_in(made[one]) if one in made else ()
        return seen & handed_on

    def depending(self, name: str) -> dict[str, int]:
        """What is computed from a variable of the iteration before, and after how many cycles."""
        # a value that waits for memory takes as long as after another sum
        found = {name: 0 if name in self.iterations.types else costs.LATENCY}
        for stmt in self.rest:
            waits = [found[one] for one in reads(stmt) if one in found]
            if isinstance(stmt, Assign) and waits:
                takes = costs.LATENCIES.get(stmt.value.fn, costs.LATENCY) if isinstance(stmt.value, Op) else 0
                found[stmt.target] = max(waits) + takes
        return found

    def chain(self, name: str) -> bool:
        """Give a recurrence loops of its own, if it is a line in the value before."""
        if self.fresh.types[name] != FLOAT64:
            return False
        depends = self.depending(name)
        self.longest = max(self.longest, depends[name])
        (last,) = (stmt for stmt in self.rest if isinstance(stmt, Assign) and stmt.target == name)
        body = [stmt for stmt in self.rest if stmt is not last]
        ahead = WeightedPart(body, {self.loop.var: Name(self.fresh(self.loop.var, INT64))}, self.fresh)
        line = Weights(ahead, name, depends.__contains__).of(last)
        if line is None or line.weight is None:
            return False
        var = Name(self.fresh(self.loop.var, INT64))
        place = ahead.known[self.loop.var]
        assert isinstance(place, Name)
        alone = WeightedPart(ahead.stmts, {place.id: var}, self.fresh)
        kept: list[Stmt] = []
        for atom in {one: None for one in (line.weight, line.rest) if one is not None}:
            if not ahead.is_cheap(atom) and isinstance(atom, Name):
                buffer = self.buffer(atom.id)
                kept.append(Store(buffer, (place,), atom, False, last.span))
                alone.known[atom.id] = alone.computed("load", Name(buffer), var, span=last.span)
        if kept:
            body = self.shared(body, ahead, kept)
        own = self.buffer(name)
        steps = [Store(own, (var,), Name(name), False, last.span), *self.step(name, line, alone, last)]
        if kept:
            self.out.append(replace(self.loop, var=place.id, body=(*ahead.stmts, *kept)))
        self.out.append(replace(self.loop, var=var.id, body=tuple(steps)))
        before = self.fresh(name, FLOAT64)
        self.rest = [
            Assign(before, Op("load", (Name(own), Name(self.loop.var))), last.span),
            *(_reading(stmt, {name: Name(before)}) for stmt in body),
        ]
        self.rest = _read_later(self.rest, self.left_over)
        return True

    def shared(self, body: list[Stmt], ahead: WeightedPart, kept: list[Stmt]) -> list[Stmt]:
        """The body, with what takes long and is computed ahead taken from there."""
        place = ahead.known[self.loop.var]
        out: list[Stmt] = []
        for stmt in body:
            there = ahead.known.get(stmt.target) if isinstance(stmt, Assign) else None
            if there is None or not isinstance(stmt, Assign) or not _takes_long(stmt.value):
                out.append(stmt)
                continue
            buffer = self.buffer(stmt.target)
            kept.append(Store(buffer, (place,), there, False, stmt.span))
            out.append(replace(stmt, value=Op("load", (Name(buffer), Name(self.loop.var)))))
        return out

    def step(self, name: str, line: LinearForm, part: WeightedPart, last: Assign) -> list[Stmt]:
        """The next value of a variable."""
        weight = part.value(line.weight) if line.weight is not None else Const(0.0)
        rest = None if line.rest is None else part.value(line.rest)
        value = part.computed("*", weight, Name(name), span=last.span)
        if rest is not None:
            value = part.computed("+", rest, value, span=last.span)
        if line.chosen:
            unused = self.fresh("t", BOOL)
            part.stmts.append(Assign(unused, Op("==", (weight, Const(0.0))), last.span))
            value = part.computed("ifelse", Name(unused), rest or Const(0.0), value, span=last.span)
        return [*part.stmts, Assign(name, value, last.span)]

    def buffer(self, name: str) -> str:
        made = self.fresh(f"{name}_kept", Array("float64", 1))
        self.buffers.append(made)
        return made

    # what is left

    def worth_it(self) -> bool:
        """Whether iterations waited for each other long enough, and what is left of them is more than a load or two."""
        if self.longest < costs.RECURRENCE_CYCLES:
            return False
        numbers = (stmt for stmt in self.rest if isinstance(stmt, Assign) and self.fresh.types[stmt.target] == FLOAT64)
        return sum(isinstance(stmt.value, Op) and stmt.value.fn != "load" for stmt in numbers) >= costs.RECURRENCE_WORK

    def side_by_side(self) -> bool:
        """Whether LLVM can run what is left on vectors: no iteration needs another one, and all go along rows."""
        if any(not self.is_sum(name) for name in self.handed_on()):
            return False
        own = set(self.buffers)
        body = tuple(stmt for stmt in self.rest if own.isdisjoint(reads(stmt)))
        return all(self.elements.along_row(one) for one in self.iterations.accesses(body)) and all(
            {one.kind for one in group} == {"load"} or self.iterations.elements_disjoint(self.loop, group)
            for group in self.iterations.groups(body)
        )


def _takes_long(value: Expr) -> bool:
    """Whether a number takes as long as several products."""
    return isinstance(value, Op) and (value.fn in ("/", "**") or value.fn.startswith(("np.", "math.")))


def _reading(stmt: Stmt, values: dict[str, Expr]) -> Stmt:
    """A statement that reads other names."""
    if isinstance(stmt, Assign):
        return replace(stmt, value=substitute(stmt.value, values))
    assert isinstance(stmt, Store)
    value = substitute(stmt.value, values)
    assert isinstance(value, Name | Const)
    return replace(stmt, value=value)


def _read_later(body: Iterable[Stmt], wanted: set[str]) -> list[Stmt]:
    """The statements of a loop's body that store, or whose names are read, by itself or by `wanted`."""
    stmts = list(body)
    while True:
        used = {name for stmt in stmts for name in reads(stmt)} | wanted
        kept = [stmt for stmt in stmts if isinstance(stmt, Store) or not used.isdisjoint(writes(stmt))]
        if len(kept) == len(stmts):
            return kept
        stmts = kept
