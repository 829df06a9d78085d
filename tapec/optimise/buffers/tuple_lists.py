"""Lists that are filled at the same places are one list of tuples.

    x_stack = [0.0][:0]
    y_stack = [0.0][:0]                   kept_stack = [(0.0, 0.0)][:0]
    while ...:                            while ...:
        x_stack.append(x)                     y = x * w
        y = x * w                   ->        kept_stack.append((x, y))
        y_stack.append(y)                     ...
        ...                               for iteration in range(iterations - 1, -1, -1):
    for iteration in range(iterations - 1, -1, -1):     x, y = kept_stack.pop()
        x = x_stack.pop()                     ...
        ...

Numba asks of each list whether there is room, and writes its length: four lists of numbers took 15 to 19 ns per
iteration, and one of tuples 7; a list takes as long to compile as ten lines, too.  The numbers of a tuple have one
size, so that none of its memory is empty.

Late: other passes ask for lists of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tapec.analyses.scopes import Scopes, scopes
from tapec.errors import Span
from tapec.optimise.buffers.stack_lists import NumberList, number_lists, of_one_height
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Function,
    Name,
    Op,
    Push,
    Return,
    Stmt,
    map_blocks,
    may_leave,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Scalar, Stack, Tuples


def join_lists(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with lists of tuples; see the module."""
    lists = [one for one in number_lists(function) if isinstance(function.types[one.name], Stack)]
    if len(lists) < 2:
        return function
    places = _Places(function)
    groups = [joined for group in of_one_height(lists, places.where) for joined in places.joined(group)]
    return _Writer(function, groups).rewritten() if groups else function


@dataclass(frozen=True)
class _Place:
    """Statements of one block, one for each list, and the one that stands where they are done at once."""

    stmts: tuple[Stmt, ...]
    at: Stmt


@dataclass(frozen=True)
class _Joined:
    """Lists that can be one, and the places where they are filled and emptied."""

    lists: tuple[NumberList, ...]
    pushes: tuple[_Place, ...]
    pops: tuple[_Place, ...]
    span: Span | None


class _Places:
    """Which lists of one height can be filled, and emptied, at the same places of their blocks."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.where: Scopes = scopes(function)

    def joined(self, group: tuple[NumberList, ...]) -> list[_Joined]:
        """Groups of the lists whose numbers have one size."""
        sizes: dict[int, list[NumberList]] = {}
        for one in group:
            type_ = self.types[one.name]
            assert isinstance(type_, Stack) and isinstance(type_.element, Scalar)
            sizes.setdefault(np.dtype(type_.element.dtype).itemsize, []).append(one)
        return [made for lists in sizes.values() if (made := self.longest(lists)) is not None]

    def longest(self, lists: list[NumberList]) -> _Joined | None:
        """As many of the lists as can be one, from the first on; None if there are not two."""
        found: _Joined | None = None
        taken: list[NumberList] = []
        for one in lists:
            made = self.one(tuple([*taken, one]))
            if made is not None:
                taken.append(one)
                found = made
        return found if len(taken) > 1 else None

    def one(self, lists: tuple[NumberList, ...]) -> _Joined | None:
        """The lists as one, if nothing between the places tells them apart."""
        pushes = self.places([stmt for one in lists for stmt in one.pushes], len(lists), last=True)
        pops = self.places([stmt for one in lists for stmt in one.pops], len(lists), last=False)
        if pushes is None or pops is None:
            return None
        owners = (region.owner for region in self.where.of[pushes[0].at.key].ancestors())
        spans = (span for owner in owners if (span := getattr(owner, "span", None)) is not None)
        return _Joined(lists, pushes, pops, next(spans, None))

    def places(self, stmts: Sequence[Stmt], count: int, last: bool) -> tuple[_Place, ...] | None:
        """Where the statements of so many lists are done at once: at the last, or at the first of each block."""
        blocks: dict[int, list[Stmt]] = {}
        for stmt in stmts:
            blocks.setdefault(self.where.of[stmt.key].key, []).append(stmt)
        found: list[_Place] = []
        for here in blocks.values():
            block = self.where.of[here[0].key].block
            places = {stmt.key: k for k, stmt in enumerate(block)}
            at = [places[stmt.key] for stmt in here]
            if len(here) != count or not _at_once(block[min(at) : max(at) + 1], here, last):
                return None
            found.append(_Place(tuple(here), block[max(at) if last else min(at)]))
        return tuple(found)


def _at_once(between: Block, stmts: list[Stmt], last: bool) -> bool:
    """Whether statements can be done where the last of them stands, or else the first."""
    if may_leave(between) or any(isinstance(stmt, Return) for stmt in walk(between)):
        return False
    moved = {stmt.key for stmt in stmts}
    ordered = between if last else tuple(reversed(between))
    # what stands behind a statement on its way to where all are done
    for k, stmt in enumerate(ordered):
        if stmt.key not in moved:
            continue
        passed = [inner for other in ordered[k + 1 :] for inner in walk((other,))]
        if isinstance(stmt, Push):
            if not isinstance(stmt.value, Name | Const):
                return False
            if isinstance(stmt.value, Name) and any(stmt.value.id in writes(other) for other in passed):
                return False
        else:
            (target,) = writes(stmt)
            if any(target in writes(other) or target in reads(other) for other in passed):
                return False
    return True


class _Writer(Rewriter):
    def __init__(self, function: Function, groups: list[_Joined]) -> None:
        super().__init__(function)
        # what becomes of a statement, by its id
        self.new: dict[int, list[Stmt]] = {}
        for group in groups:
            self.group(group)
            what = f"{len(group.lists)} lists of numbers are one list of tuples"
            remark(group.span, "tuple_lists", what, "the same places fill and empty them")

    def group(self, group: _Joined) -> None:
        dtypes = tuple(self.dtype(one) for one in group.lists)
        kept = self.fresh("kept_stack", Tuples(dtypes))
        for one in group.lists:
            self.new[one.made.key] = []
        made = group.lists[0].made
        self.new[made.key] = [Assign(kept, Op("tuples", tuple(map(Const, dtypes))), made.span)]
        for place in (*group.pushes, *group.pops):
            for stmt in place.stmts:
                self.new[stmt.key] = []
        for place in group.pushes:
            values: list[Atom] = [stmt.value for stmt in place.stmts if isinstance(stmt, Push)]
            put = Call((), "list.append", (Name(kept), *values), getattr(place.at, "span", None), (0,))
            self.new[place.at.key] = [put]
        for place in group.pops:
            targets = tuple(stmt.target for stmt in place.stmts if isinstance(stmt, Assign))
            take = Call(targets, "list.pop", (Name(kept),), getattr(place.at, "span", None), (0,))
            self.new[place.at.key] = [take]

    def dtype(self, one: NumberList) -> str:
        type_ = self.fresh.types[one.name]
        assert isinstance(type_, Stack) and isinstance(type_.element, Scalar)
        return type_.element.dtype

    def statement(self, stmt: Stmt) -> list[Stmt]:
        return [map_blocks(made, self.block) for made in self.new.get(stmt.key, (stmt,))]
