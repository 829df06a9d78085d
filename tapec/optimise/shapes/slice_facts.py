"""What is known of slices and extents while the statements of a function are visited: `slice_folding.py` says what for.

A slice keeps its meaning in the rest of its block, until its array or a number in its subscripts is set again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.dependence import Affine
from tapec.analyses.facts import facts
from tapec.analyses.merged_extents import EqualExtents
from tapec.analyses.scopes import Scope
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array


@dataclass(frozen=True)
class SlicePart:
    """What a slice takes of an axis: all but `first` elements at the front and `last` ones at the end.

    last  None if that is not known
    rest  how many elements that leaves, if it is not negative; None if that is not known

    A part between bounds that only the run knows (`a[i, k:]`, `a[i, :j]`), which are proved to be on the axis, has

    low, high    what is added to `first` at the front, if anything, and the bound behind, if it is not the extent
    between      the bounds as sums
    """

    first: int
    last: int | None
    rest: Affine | None
    low: Name | None = None
    high: Atom | None = None
    between: tuple[Sum, Sum] | None = None

    @property
    def is_all(self) -> bool:
        return self.first == 0 and self.last == 0


@dataclass(frozen=True)
class SliceFact:
    """A slice of `array`: for each axis of that, a part, or the subscript that it has.

    new  the axes of the slice that the array has not (`u[:, None]`)
    """

    array: str
    axes: tuple[SlicePart | Atom, ...]
    new: tuple[int, ...] = ()

    @property
    def parts(self) -> list[tuple[int, SlicePart]]:
        """The axes of the slice, but for new ones: which one each is of the array, and what it takes."""
        return [(place, one) for place, one in enumerate(self.axes) if isinstance(one, SlicePart)]

    @property
    def old(self) -> list[int]:
        """The axes of the slice that are axes of the array."""
        count = len(self.parts) + len(self.new)
        return [axis for axis in range(count) if axis not in self.new]

    @cached_property
    def reads(self) -> set[str]:
        """The names that it means something else without."""
        rests = (_named(part.rest) for _, part in self.parts if part.rest is not None)
        bounds = (bound for _, part in self.parts for bound in (part.low, part.high))
        return {self.array, *rests, *(one.id for one in (*self.axes, *bounds) if isinstance(one, Name))}


def _named(number: Affine) -> str:
    """The name that an integer is computed from: `n`, or `u` for the extent `u.0` of an array."""
    return "" if number.base is None else number.base.split(".")[0]


class SliceFacts:
    """Visits the statements of a function, and knows at each what slices there are, and what is known of extents."""

    def __init__(self, function: Function) -> None:
        self.scopes = facts(function).scopes
        self.dependence = facts(function).dependence
        self.same = EqualExtents(function.types, self.scopes)
        self.fresh = Fresh(function.types)
        # extents of parameters that are those of others
        self.equal: dict[Expr, Expr] = {}
        self.slices: dict[str, SliceFact] = {}
        # names of extents: of which array and axis
        self.asked: dict[str, tuple[str, int]] = {}
        # extents of arrays that were made: they are not negative
        self.made: frozenset[Affine] = frozenset()
        # extents that are 1 unless they are another number
        self.fitting: frozenset[tuple[Expr, ...]] = frozenset()
        # differences of integers that a check has found to be equal
        self.agreed: tuple[Sum, ...] = ()
        # subscripts of elements that the blocks around ask for, by array and axis: an error, if they are behind it
        self.elements: dict[tuple[str, int], list[Sum]] = {}

    def block(self, block: Block) -> Block:
        before = self.slices, self.asked, self.made, self.fitting
        around = self.elements, self.agreed
        self.elements = {**self.elements, **self.elements_of(block)}
        out: list[Stmt] = []
        for stmt in block:
            self.forget(written_in((stmt,)))
            out += self.statement(stmt)
            if isinstance(stmt, If) and len(stmt.body) == 1 and isinstance(stmt.body[0], Raise):
                self.fitting |= self.either(stmt.test)
                self.agreed += self.equal_after(stmt.test)
            if isinstance(stmt, Assign) and not self.scopes.merged(stmt.target):
                self.learn(stmt)
        self.slices, self.asked, self.made, self.fitting = before
        self.elements, self.agreed = around
        return tuple(out)

    def elements_of(self, block: Block) -> dict[tuple[str, int], list[Sum]]:
        """The elements that a block asks for itself, with those of the blocks around."""
        found: dict[tuple[str, int], list[Sum]] = {}
        # nothing is certain behind a way out of a loop
        for stmt in itertools.takewhile(lambda one: not may_leave((one,)), block):
            match stmt:
                case Assign(value=Op(fn="load", args=(Name(id=array), *index))) | Store(array=array, index=index):
                    if not self.scopes.merged(array):
                        for axis, sub in enumerate(index):
                            place = self.dependence.integers.sum(sub)
                            if place is not None and self.is_settled(place, stmt):
                                found.setdefault((array, axis), []).append(place)
        return {key: [*places, *self.elements.get(key, ())] for key, places in found.items()}

    def is_settled(self, place: Sum, stmt: Stmt) -> bool:
        """Whether a number that a statement reads is the same in all of its block: no block inside that sets it."""
        here = self.scopes.of[stmt.key]
        defs = (made for name in place.names() for made in self.scopes.defs.get(name, ()))
        return all(here.inside(self.scopes.where_set(made)) for made in defs)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        """What takes the place of a statement."""
        yield map_blocks(stmt, self.block)

    def forget(self, written: set[str]) -> None:
        """Forget what names stood for that are set again."""
        self.slices = {own: one for own, one in self.slices.items() if written.isdisjoint({own, *one.reads})}
        self.asked = {own: one for own, one in self.asked.items() if written.isdisjoint({own, one[0]})}
        self.made = frozenset(one for one in self.made if _named(one) not in written)
        self.agreed = tuple(one for one in self.agreed if written.isdisjoint(one.names()))

    def learn(self, stmt: Assign) -> None:
        match stmt.value:
            case Op(fn="view", args=(Name(id=array), *subs)):
                found = self.slice(array, subs, self.scopes.of[stmt.key])
                if found is not None:
                    self.slices = {**self.slices, stmt.target: found}
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                self.asked = {**self.asked, stmt.target: (array, axis)}
            case Op(fn=fn, args=(_, *extents)) if fn in ALLOCATIONS:
                sizes = (self.size(extent) for extent in extents)
                self.made |= {size for size in sizes if size is not None}

    def either(self, test: Atom) -> frozenset[tuple[Expr, ...]]:
        """The numbers that are one of two where a test `n != m and n != 1` fails: `n` and `m`."""
        match self.definition(test):
            case Op(fn="and", args=(Name() as first, Name() as second)):
                one, other = self.definition(first), self.definition(second)
                match one, other:
                    case Op(fn="!=", args=(n, m)), Op(fn="!=", args=(same, Const(value=1))) if n == same:
                        if not any(isinstance(number, Name) and self.scopes.merged(number.id) for number in (n, m)):
                            return frozenset({(n, m)})
        return frozenset()

    def equal_after(self, test: Atom) -> tuple[Sum, ...]:
        """The difference, which is zero, of two integers of which a test fails that says they differ."""
        match self.definition(test):
            case Op(fn="!=", args=args):
                first, second = map(self.dependence.integers.sum, args)
                if first is not None and second is not None:
                    return (first.plus(second, -1),)
        return ()

    # slices

    def slice(self, array: str, subs: list[Expr], here: Scope) -> SliceFact | None:
        """The slice that subscripts make of an array or of another slice; None if they make a row, or nothing new."""
        type_ = self.fresh.types.get(array)
        if not isinstance(type_, Array):
            return None
        kept = [sub for sub in subs if isinstance(sub, Op) or sub == Const(None)]
        new = tuple(axis for axis, sub in enumerate(kept) if sub == Const(None))
        subs = [sub for sub in subs if sub != Const(None)]
        missing = type_.ndim - len(subs)
        parts: list[SlicePart | Atom] = []
        for axis, sub in enumerate([*subs, *missing * [Op("slice", 3 * (Const(None),))]]):
            part = self.part(array, axis, sub, here) if isinstance(sub, Op) else sub
            if part is None:
                return None
            parts.append(part)
        if array in self.slices:
            return _joined(self.slices[array], parts, new)
        # a row is an array of its own for LLVM; of a matrix in a stack, lanes know more as elements of the stack
        whole = [part.is_all for part in parts if isinstance(part, SlicePart)]
        if not new and all(whole) and (len(whole) < 2 or len(whole) == len(parts)):
            return None
        return SliceFact(array, tuple(parts), new)

    def part(self, array: str, axis: int, sub: Op, here: Scope) -> SlicePart | None:
        low, high, step = sub.args
        first = 0 if low == Const(None) else low.value if isinstance(low, Const) else None
        if step not in (Const(None), Const(1)):
            return None
        if not isinstance(first, int) or first < 0:
            return self.part_between(array, axis, low, high, here)
        last = self.cut_off(array, axis, first, high)
        # of numbers alone, `optimise.extents.extents` knows what is asked for
        by_name = last is None and isinstance(high, Name)
        between = self.part_between(array, axis, Const(first), high, here) if by_name else None
        return between or SlicePart(first, last, _less(self.extent(array, axis), first, last))

    def part_between(self, array: str, axis: int, low: Expr, high: Expr, here: Scope) -> SlicePart | None:
        """The part of an axis between bounds that are proved to be on it where the slice is made."""
        integers = self.dependence.integers
        lower = integers.sum(low)
        for extent in self.extents_as_sums(array, axis):
            upper = extent if high == Const(None) else integers.sum(high)
            if lower is None or upper is None:
                return None
            bounds = (lower, upper) if upper is not extent else (lower,)
            behind = [extent, *(place.plus(Sum(number=1)) for place in self.elements.get((array, axis), ()))]
            if all(
                integers.never_negative(bound, here)
                and any(integers.never_negative(end.plus(bound, -1), here) for end in behind)
                for bound in bounds
            ):
                first = low.value if isinstance(low, Const) and isinstance(low.value, int) else 0
                last = high if isinstance(high, Name) or (isinstance(high, Const) and high != Const(None)) else None
                return SlicePart(first, None, None, low if isinstance(low, Name) else None, last, (lower, upper))
        return None

    def extents_as_sums(self, array: str, axis: int) -> Iterator[Sum]:
        """The extent of an array, as a sum for each name that it has."""
        known = self.extent(array, axis)
        names: list[str | None] = [known.base]
        if known.base is not None and "." in known.base:
            named = [name for name, (one, place) in self.asked.items() if f"{one}.{place}" == known.base]
            names = [*named] or [known.base]
        for name in names:
            whole = Sum() if name is None else self.dependence.integers.sum(Name(name))
            # `A.0`, if nothing has that name, is an integer of which nothing is known
            if whole is not None:
                yield whole.plus(Sum(number=known.offset))

    def cut_off(self, array: str, axis: int, first: int, high: Expr) -> int | None:
        """How many elements a slice's upper bound cuts off at the end; None if that is not known."""
        if high == Const(None):
            return 0
        if isinstance(high, Const) and isinstance(high.value, int) and high.value < 0:
            return -high.value
        extent, bound = self.extent(array, axis), self.size(high)
        if bound is None or bound.base != extent.base:
            return None
        last = max(extent.offset - bound.offset, 0)
        # in an array shorter than `last`, the bound is negative and counts from the end once more
        return last if last - 2 <= first or bound.base is None else None

    # extents

    def extent(self, array: str, axis: int) -> Affine:
        """The extent of an array as a name plus a number."""
        found: Affine | None = None
        defs = self.scopes.defs.get(array, ())
        if len(defs) > 1:
            same = self.same.extent(array, axis)
            found = None if same is None else self.size(same)
        elif defs:
            match defs[0]:
                case Assign(value=Op(fn=fn, args=(_, *extents))) if fn in ALLOCATIONS:
                    found = self.size(extents[axis])
                case Assign(value=Op(fn="view", args=(Name(id=whole), *cuts))) if all(map(_is_number, cuts)):
                    return self.extent(whole, axis + len(cuts))
        elif array in self.same.params:
            match self.equal.get(Op("dim", (Name(array), Const(axis)))):
                case Op(fn="dim", args=(Name(id=other), Const(value=int(own)))):
                    return self.extent(other, own)
        return Affine(f"{array}.{axis}", 0) if found is None else found

    def size(self, number: Expr, depth: int = 0) -> Affine | None:
        """An integer as a name plus a number; None if it is another one at other times."""
        if isinstance(number, Const):
            return Affine(None, number.value) if isinstance(number.value, int) else None
        if not isinstance(number, Name) or self.scopes.merged(number.id):
            return None
        if number.id in self.asked:
            return self.extent(*self.asked[number.id])
        match self.definition(number):
            case Op(fn="+" | "-" as fn, args=(Name() as base, Const(value=int(more)))) if depth < 8:
                one = self.size(base, depth + 1)
                return None if one is None else Affine(one.base, one.offset + (more if fn == "+" else -more))
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))) if not self.scopes.merged(array):
                return self.extent(array, axis)
        return Affine(number.id, 0)

    def is_below(self, sub: Expr, limit: Affine | None) -> bool:
        """Whether a subscript is not negative, and smaller than a number."""
        place = self.dependence.affine(sub) if isinstance(sub, Name | Const) else None
        if place is None or limit is None or self.dependence.minimum(place) < 0:
            return False
        if place.base is None:
            return limit.base is None and place.offset < limit.offset
        loop = self.dependence.loops.get(place.base)
        behind = None if loop is None else self.behind(loop)
        return behind is not None and behind.base == limit.base and behind.offset + place.offset <= limit.offset

    def behind(self, loop: For) -> Affine | None:
        """More than a loop's variable ever is."""
        if self.dependence.direction(loop) > 0:
            return self.bound(loop.stop)
        first = self.size(loop.start) if self.dependence.direction(loop) < 0 else None
        return None if first is None else Affine(first.base, first.offset + 1)

    def bound(self, stop: Atom) -> Affine | None:
        """The iteration count of a loop, if it is not negative: `n` for `max(n, 0)`, too."""
        match self.definition(stop):
            case Op(fn="max", args=(Name() as one, Const(value=0))):
                return self.size(one)
        return self.size(stop)

    def definition(self, number: Expr) -> Expr | None:
        """What computes an integer that is assigned once."""
        defs = self.scopes.defs.get(number.id, ()) if isinstance(number, Name) else ()
        return defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None


def _less(extent: Affine, first: int, last: int | None) -> Affine | None:
    return None if last is None else Affine(extent.base, extent.offset - first - last)


def _joined(outer: SliceFact, inner: list[SlicePart | Atom], new: tuple[int, ...]) -> SliceFact | None:
    """A slice of a slice, as one of the array; None if an element of one is taken, which need not be there."""
    if outer.new:
        return None
    rest = iter(inner)
    axes: list[SlicePart | Atom] = []
    for one in outer.axes:
        if not isinstance(one, SlicePart):
            axes.append(one)
            continue
        part = next(rest)
        if one.is_all or (isinstance(part, SlicePart) and part.is_all):
            axes.append(part if one.is_all else one)
        elif isinstance(part, SlicePart) and one.between is None and part.between is None:
            last = None if one.last is None or part.last is None else one.last + part.last
            left = None if one.rest is None else _less(one.rest, part.first, part.last)
            axes.append(SlicePart(one.first + part.first, last, left))
        else:
            return None
    return SliceFact(outer.array, tuple(axes), new)


def _is_number(cut: Expr) -> bool:
    """Whether a subscript of a view takes one row, so that the axes behind it are those of the view."""
    return isinstance(cut, Name) or (isinstance(cut, Const) and isinstance(cut.value, int))
