"""Run four iterations of a loop around lanes at once, so that what they share stays in a register.

    for k in range(n):                            for k in range(0, n // 4 * 4, 4):
        w = weights[k]                                w = weights[k]
        for lane in range(lanes):                     w_1 = weights[k + 1]
            s = s_lanes[lane]                         ...
            s += w * x[k, lane]           ->          for lane in range(lanes):
            s_lanes[lane] = s                             s = s_lanes[lane]
                                                          s += w * x[k, lane]
                                                          s += w_1 * x[k + 1, lane]
                                                          ...
                                                          s_lanes[lane] = s
                                                  for k in range(n // 4 * 4, n):
                                                      ...

Each iteration alone loads what all of them read, and stores what they hand on, which takes longer than the arithmetic,
if not than elementary functions (unroll and jam: Callahan, Carr and Kennedy, Improving register allocation for
subscripted variables, PLDI 1990).

The body is numbers, one loop over lanes, and stores of what the lanes have added up; none of them with branches or
loops inside.  What lanes store are elements of the lane's own (`s[..., lane]`), and nothing else that an iteration
reads is stored in another, so that a lane need not wait for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from tapec.analyses.aliases import Aliases
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.simplify.value_numbering import number_values
from tapec.optimise.vectors.lane_gain import CALLED
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Element,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    element_of,
    literal_range,
    map_blocks,
    mentions,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.renaming import renamed, replaced
from tapec.syntax.types import INT64, Scalar

_T = TypeVar("_T")


def unroll_and_jam(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops, four iterations at once; see the module."""
    worker = _Jammed(function)
    if not any(worker.parts(stmt) is not None for stmt in walk(function.body)):
        return function
    # what an element holds goes by the name of the value
    worker = _Jammed(number_values(function, constants))
    body = worker.block(worker.function.body)
    return replace(worker.function, body=body, types=worker.fresh.types)


@dataclass(frozen=True)
class _Parts:
    """The parts of an iteration: numbers, the loop over lanes, and what is stored behind it.

    added  names that all iterations add to, lane by lane
    """

    loop: For
    numbers: Block
    lanes: For
    stores: Block
    added: frozenset[str]

    @cached_property
    def own(self) -> frozenset[str]:
        """The names that each iteration sets for itself."""
        found = {stmt.target for stmt in (*self.numbers, *self.lanes.body) if isinstance(stmt, Assign)}
        return frozenset(found - self.added)


class _Jammed(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    @property
    def aliases(self) -> Aliases:
        return self.iterations.aliases

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        parts = self.parts(stmt)
        if parts is None:
            yield map_blocks(stmt, self.block)
        else:
            why = "what they share stays in a register"
            remark(parts.loop.span, "unroll_and_jam", "four iterations at once", why)
            yield from self.jammed(parts)

    # which loops

    def parts(self, loop: Stmt) -> _Parts | None:
        """The parts of a loop's iteration, if several can run at once and share something."""
        if not isinstance(loop, For) or loop.step not in (Const(1), Const(-1)):
            return None
        if loop.parallel or loop.slots is not None:
            return None
        counted = literal_range(loop)
        inner = [place for place, stmt in enumerate(loop.body) if isinstance(stmt, For)]
        if (counted is not None and len(counted) < costs.JAMMED_ITERATIONS) or len(inner) != 1:
            return None
        lanes = loop.body[inner[0]]
        numbers, stores = loop.body[: inner[0]], loop.body[inner[0] + 1 :]
        assert isinstance(lanes, For)
        if (lanes.start, lanes.step) != (Const(0), Const(1)) or lanes.parallel:
            return None
        if len(lanes.body) > costs.JAMMED_STATEMENTS:
            return None
        plain = all(isinstance(stmt, Assign) for stmt in numbers) and all(isinstance(stmt, Store) for stmt in stores)
        if not plain or not all(isinstance(stmt, Assign | Store) and not _calls(stmt) for stmt in lanes.body):
            return None
        parts = _Parts(loop, numbers, lanes, stores, frozenset(_added(lanes, numbers, stores)))
        known = all(isinstance(self.fresh.types.get(name), Scalar) for name in parts.own)
        inside = parts.own | parts.added | {loop.var, lanes.var}
        if not known or mentions(lanes.stop, inside) or {loop.var, lanes.var} & (parts.own | parts.added):
            return None
        possible = self.iterations.free_of_effects(loop.body) and self.is_set_first(parts) and self.is_disjoint(parts)
        return parts if possible and self.shares(parts) else None

    def shares(self, parts: _Parts) -> bool:
        """Whether all iterations load an element that is the same for them, and store it again."""
        changing = parts.own | {parts.loop.var}
        stored = {element_of(stmt) for stmt in parts.lanes.body if isinstance(stmt, Store)}
        loaded = [element_of(stmt) for stmt in parts.lanes.body if isinstance(stmt, Assign)]
        shared = [one for one in loaded if one is not None and not any(mentions(sub, changing) for sub in one[1])]
        return any(one in stored for one in shared)

    def is_set_first(self, parts: _Parts) -> bool:
        """Whether an iteration reads no number that the one before has left, nor a lane or a store one of another
        lane.
        """
        known: set[str] = set()
        for stmt in (*parts.numbers, *parts.lanes.body):
            if not parts.own.intersection(reads(stmt)) <= known:
                return False
            known.update(writes(stmt))
        first = {stmt.target for stmt in parts.numbers if isinstance(stmt, Assign)}
        return all(parts.own.intersection(reads(stmt)) <= first for stmt in parts.stores)

    def is_disjoint(self, parts: _Parts) -> bool:
        """Whether what lanes store is used in elements of the same lane alone, and what is stored behind not at all."""
        lanes = parts.lanes
        behind = self.classes(stmt.array for stmt in parts.stores if isinstance(stmt, Store))
        stored = self.classes(stmt.array for stmt in lanes.body if isinstance(stmt, Store))
        before = self.classes(name for stmt in parts.numbers for name in reads(stmt))
        inside = self.classes(name for stmt in lanes.body for name in (*reads(stmt), *writes(stmt)))
        read_behind = self.classes(name for stmt in parts.stores for name in reads(stmt)) - behind
        if behind & (before | inside) or stored & (before | read_behind):
            return False
        names: set[str] = set()
        for stmt in lanes.body:
            element = element_of(stmt)
            touched = [name for name in (*reads(stmt), *writes(stmt)) if self.aliases.find(name) in stored]
            if touched and (element is None or touched != [element[0]] or element[1][-1] != Name(lanes.var)):
                return False
            names.update(touched)
        # by another name an element may be that of another lane
        return len(self.classes(names)) == len(names)

    def classes(self, names: Iterable[str]) -> set[str]:
        return {self.aliases.find(name) for name in names}

    # how they run

    def jammed(self, parts: _Parts) -> Iterator[Stmt]:
        loop, span = parts.loop, parts.loop.span
        forward = loop.step == Const(1)
        ends = (loop.stop, loop.start) if forward else (loop.start, loop.stop)
        sign = "+" if forward else "-"
        iterations, some, groups, whole, middle = (Name(self.fresh("size", INT64)) for _ in range(5))
        yield Assign(iterations.id, Op("-", ends), span)
        yield Assign(some.id, Op("max", (iterations, Const(0))), span)
        yield Assign(groups.id, Op("//", (some, Const(costs.JAMMED_ITERATIONS))), span)
        yield Assign(whole.id, Op("*", (groups, Const(costs.JAMMED_ITERATIONS))), span)
        yield Assign(middle.id, Op(sign, (loop.start, whole)), span)
        head, body, tail = list(parts.numbers), list(parts.lanes.body), list(parts.stores)
        for k in range(1, costs.JAMMED_ITERATIONS):
            iteration = self.fresh(loop.var, INT64)
            names = self.fresh.anew(sorted(parts.own)) | {loop.var: iteration}
            head.append(Assign(iteration, Op(sign, (Name(loop.var), Const(k))), span))
            head += renamed(parts.numbers, names)
            body += renamed(parts.lanes.body, names)
            tail += renamed(parts.stores, names)
        together = replace(parts.lanes, body=tuple(self.in_registers(body)))
        step = Const(costs.JAMMED_ITERATIONS if forward else -costs.JAMMED_ITERATIONS)
        yield replace(loop, stop=middle, step=step, body=(*head, together, *tail))
        names = self.fresh.anew(sorted((*parts.own, loop.var, parts.lanes.var)))
        yield from renamed((replace(loop, start=middle),), names)

    def in_registers(self, body: list[Stmt]) -> list[Stmt]:
        """The statements of a lane without loads of what it knows, and stores of what it stores again."""
        known: dict[Element, Expr] = {}
        last: dict[Element, int] = {}
        values: dict[str, Expr] = {}
        out: list[Stmt | None] = []
        for given in body:
            (stmt,) = replaced((given,), values)
            element = element_of(stmt)
            if element is not None and isinstance(stmt, Assign):
                if element in known:
                    values[stmt.target] = known[element]
                    continue
                # it may be what a store behind has left
                last = self.apart_from(element, last)
                known[element] = Name(stmt.target)
            elif element is not None and isinstance(stmt, Store):
                known = self.apart_from(element, known)
                if not stmt.accumulate:
                    if element in last:
                        out[last[element]] = None
                    known[element] = stmt.value
                last = self.apart_from(element, last)
                if not stmt.accumulate:
                    last[element] = len(out)
            out.append(stmt)
        return [stmt for stmt in out if stmt is not None]

    def apart_from(self, element: Element, known: dict[Element, _T]) -> dict[Element, _T]:
        """What is known of elements in other memory."""
        cls = self.aliases.find(element[0])
        return {one: value for one, value in known.items() if self.aliases.find(one[0]) != cls}


def _added(lanes: For, numbers: Block, stores: Block) -> Iterator[str]:
    """The names that lanes add to, and do nothing else with, which no iteration sets before."""
    targets = {stmt.target for stmt in lanes.body if isinstance(stmt, Assign)}
    outside = {name for stmt in (*numbers, *stores) for name in (*reads(stmt), *writes(stmt))}
    for name in sorted(targets - outside):
        users = [stmt for stmt in lanes.body if name in (*reads(stmt), *writes(stmt))]
        if all(isinstance(stmt, Assign) and stmt.target == name and _adds(stmt.value, name) for stmt in users):
            yield name


def _adds(value: Expr, name: str) -> bool:
    """Whether a value is a name plus or minus something else."""
    if not isinstance(value, Op) or value.fn not in ("+", "-") or value.args[0] != Name(name):
        return False
    return name not in names_in(value.args[1])


def _calls(stmt: Stmt) -> bool:
    """Whether a statement calls an elementary function."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in CALLED
