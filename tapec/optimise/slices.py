"""Take elements of a slice for what they are: elements of the array that it is a slice of.

    a = u[2:]                                 for i in range(max(n - 2, 0)):
    b = u[:-2]                                    y[i] = u[i + 2] - u[i]
    for i in range(a.shape[0]):       ->
        y[i] = a[i] - b[i]

Two slices of one array overlap.  The reverse sweep adds to elements through both, and neither a pass nor LLVM can tell
which trips meet there; of elements of one array their subscripts tell.

A slice keeps its meaning in the rest of its block, until its array or a number in its subscripts is set again.  Its
bounds are counted from the front by a number that is not negative, and from the end by another one: `u[1:-1]`, or
`u[1:n - 1]` where `n` is `u.shape[0]`.  As NumPy clips bounds, it has what is left of the extent then, or no elements.
An element is taken from the array only if its subscript is within the slice for certain: a negative one counts from the
slice's own end, and one behind the end may be in the array.  A row that does not exist, as of `u[9, 1:]`, is an error
where an element of it is asked for.

Expects one name per value, as `optimise.single` leaves it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine, Dependence
from tapec.analyses.memory import ALLOCATIONS
from tapec.analyses.regions import regions
from tapec.errors import Span
from tapec.journal import Listener, Named
from tapec.optimise.names import Fresh
from tapec.optimise.same_extents import Extents
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array


def extents_of_slices(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with extents of slices as formulas of extents of their arrays; see the module."""
    return _changed(function, _Extents(function)) if _has_slices(function) else function


def elements_of_slices(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with elements of arrays in place of elements of their slices; see the module."""
    return _changed(function, _Elements(function, listener)) if _has_slices(function) else function


def _changed(function: Function, worker: _Slices) -> Function:
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


def _has_slices(function: Function) -> bool:
    made = (s.value for s in walk(function.body) if isinstance(s, Assign) and isinstance(s.value, Op))
    return any(op.fn == "view" and any(isinstance(sub, Op) for sub in op.args) for op in made)


@dataclass(frozen=True)
class Part:
    """What a slice takes of an axis: all but `first` elements at the front and `last` ones at the end.

    last  None if that is not known
    rest  how many elements that leaves, if it is not negative; None if that is not known
    """

    first: int
    last: int | None
    rest: Affine | None

    @property
    def is_all(self) -> bool:
        return self.first == 0 and self.last == 0


@dataclass(frozen=True)
class Slice:
    """A slice of `array`: for each axis of that, a part, or the subscript that it has."""

    array: str
    axes: tuple[Part | Atom, ...]

    @property
    def parts(self) -> list[tuple[int, Part]]:
        """The axes of the slice: which one each is of the array, and what it takes."""
        return [(place, one) for place, one in enumerate(self.axes) if isinstance(one, Part)]

    @property
    def reads(self) -> set[str]:
        """The names that it means something else without."""
        rests = (_named(part.rest) for _, part in self.parts if part.rest is not None)
        return {self.array, *rests, *(one.id for one in self.axes if isinstance(one, Name))}


def _named(number: Affine) -> str:
    """The name that an integer is computed from: `n`, or `u` for the extent `u.0` of an array."""
    return "" if number.base is None else number.base.split(".")[0]


class _Slices:
    """Knows, at each statement, what slices there are, and what is known of extents."""

    def __init__(self, function: Function) -> None:
        self.regions = regions(function)
        self.same = Extents(function, self.regions)
        self.fresh = Fresh(function.types)
        self.slices: dict[str, Slice] = {}
        # names of extents: of which array and axis
        self.asked: dict[str, tuple[str, int]] = {}
        # extents of arrays that were made: they are not negative
        self.made: frozenset[Affine] = frozenset()

    def block(self, block: Block) -> Block:
        before = self.slices, self.asked, self.made
        out: list[Stmt] = []
        for stmt in block:
            self.forget({name for inner in walk((stmt,)) for name in writes(inner)})
            out += self.statement(stmt)
            if isinstance(stmt, Assign) and not self.regions.merged(stmt.target):
                self.learn(stmt)
        self.slices, self.asked, self.made = before
        return tuple(out)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        """What takes the place of a statement."""
        yield map_blocks(stmt, self.block)

    def forget(self, written: set[str]) -> None:
        """Forget what names stood for that are set again."""
        self.slices = {own: one for own, one in self.slices.items() if written.isdisjoint({own, *one.reads})}
        self.asked = {own: one for own, one in self.asked.items() if written.isdisjoint({own, one[0]})}
        self.made = frozenset(one for one in self.made if _named(one) not in written)

    def learn(self, stmt: Assign) -> None:
        match stmt.value:
            case Op(fn="view", args=(Name(id=array), *subs)):
                found = self.slice(array, subs)
                if found is not None:
                    self.slices = {**self.slices, stmt.target: found}
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                self.asked = {**self.asked, stmt.target: (array, axis)}
            case Op(fn=fn, args=(_, *extents)) if fn in ALLOCATIONS:
                sizes = (self.size(extent) for extent in extents)
                self.made |= {size for size in sizes if size is not None}

    # slices

    def slice(self, array: str, subs: list[Expr]) -> Slice | None:
        """The slice that subscripts make of an array or of another slice; None if it is another view, or all of it."""
        type_ = self.fresh.types.get(array)
        if not isinstance(type_, Array) or Const(None) in subs:
            return None
        missing = type_.ndim - len(subs)
        parts: list[Part | Atom] = []
        for axis, sub in enumerate([*subs, *missing * [Op("slice", 3 * (Const(None),))]]):
            part = self.part(array, axis, sub) if isinstance(sub, Op) else sub
            if part is None:
                return None
            parts.append(part)
        if array in self.slices:
            return _joined(self.slices[array], parts)
        if all(part.is_all for part in parts if isinstance(part, Part)):
            return None
        return Slice(array, tuple(parts))

    def part(self, array: str, axis: int, sub: Op) -> Part | None:
        low, high, step = sub.args
        first = 0 if low == Const(None) else low.value if isinstance(low, Const) else None
        if not isinstance(first, int) or first < 0 or step not in (Const(None), Const(1)):
            return None
        last = self.cut_off(array, axis, first, high)
        return Part(first, last, _less(self.extent(array, axis), first, last))

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
        defs = self.regions.defs.get(array, ())
        if len(defs) > 1:
            same = self.same.extent(array, axis)
            found = None if same is None else self.size(same)
        elif defs:
            match defs[0]:
                case Assign(value=Op(fn=fn, args=(_, *extents))) if fn in ALLOCATIONS:
                    found = self.size(extents[axis])
        return Affine(f"{array}.{axis}", 0) if found is None else found

    def size(self, number: Expr, depth: int = 0) -> Affine | None:
        """An integer as a name plus a number; None if it is another one at other times."""
        if isinstance(number, Const):
            return Affine(None, number.value) if isinstance(number.value, int) else None
        if not isinstance(number, Name) or self.regions.merged(number.id):
            return None
        if number.id in self.asked:
            return self.extent(*self.asked[number.id])
        match self.definition(number):
            case Op(fn="+" | "-" as fn, args=(Name() as base, Const(value=int(more)))) if depth < 8:
                one = self.size(base, depth + 1)
                return None if one is None else Affine(one.base, one.offset + (more if fn == "+" else -more))
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))) if not self.regions.merged(array):
                return self.extent(array, axis)
        return Affine(number.id, 0)

    def definition(self, number: Expr) -> Expr | None:
        """What computes an integer that is assigned once."""
        defs = self.regions.defs.get(number.id, ()) if isinstance(number, Name) else ()
        return defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None


def _less(extent: Affine, first: int, last: int | None) -> Affine | None:
    return None if last is None else Affine(extent.base, extent.offset - first - last)


def _joined(outer: Slice, inner: list[Part | Atom]) -> Slice | None:
    """A slice of a slice, as one of the array; None if an element of one is taken, which need not be there."""
    rest = iter(inner)
    axes: list[Part | Atom] = []
    for one in outer.axes:
        if not isinstance(one, Part):
            axes.append(one)
            continue
        part = next(rest)
        if isinstance(part, Part):
            last = None if one.last is None or part.last is None else one.last + part.last
            left = None if one.rest is None else _less(one.rest, part.first, part.last)
            axes.append(Part(one.first + part.first, last, left))
        elif one.is_all:
            axes.append(part)
        else:
            return None
    return Slice(outer.array, tuple(axes))


class _Extents(_Slices):
    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=view), Const(value=int(axis))))) if view in self.slices:
                array = self.slices[view].array
                place, part = self.slices[view].parts[axis]
                if part.last is not None:
                    yield from self.formula(stmt, Op("dim", (Name(array), Const(place))), part)
                    return
        yield map_blocks(stmt, self.block)

    def formula(self, stmt: Assign, extent: Expr, part: Part) -> Iterator[Stmt]:
        """What sets a name to the extent of a part of an axis."""
        assert part.last is not None
        if not part.is_all:
            whole = self.fresh("n", INT64)
            yield Assign(whole, extent, stmt.span)
            extent = Op("-", (Name(whole), Const(part.first + part.last)))
            if not self.never_negative(part.rest):
                left = self.fresh("n", INT64)
                yield Assign(left, extent, stmt.span)
                extent = Op("max", (Name(left), Const(0)))
        yield replace(stmt, value=extent)

    def never_negative(self, number: Affine | None) -> bool:
        """Whether an integer is the extent of an array, or larger than one."""
        if number is None:
            return False
        if number.offset >= 0 and (number.base is None or "." in number.base):
            return True
        return any(one.base == number.base and one.offset <= number.offset for one in self.made)


class _Elements(_Slices):
    def __init__(self, function: Function, listener: Listener | None) -> None:
        super().__init__(function)
        self.dependence = Dependence(self.regions)
        self.listener = listener
        self.told: set[tuple[Span | None, str]] = set()

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="load", args=(Name(id=view), *index))) if self.are_within(view, index):
                subs = yield from self.moved(view, index, stmt)
                yield replace(stmt, value=Op("load", (Name(self.slices[view].array), *subs)))
            case Store(array=view, index=index) if self.are_within(view, index):
                subs = yield from self.moved(view, index, stmt)
                yield replace(stmt, array=self.slices[view].array, index=tuple(subs))
            case _:
                yield map_blocks(stmt, self.block)

    def moved(self, view: str, index: Sequence[Expr], stmt: Stmt) -> Generator[Stmt, None, list[Atom]]:
        """The subscripts of an element in the array; what computes them is written."""
        self.tell(view)
        rest = iter(index)
        subs: list[Atom] = []
        for one in self.slices[view].axes:
            sub = next(rest) if isinstance(one, Part) else one
            assert isinstance(sub, Name | Const)
            if isinstance(one, Part) and one.first > 0:
                place = self.fresh("t", INT64)
                yield Assign(place, Op("+", (sub, Const(one.first))), stmt.span)
                sub = Name(place)
            subs.append(sub)
        return subs

    def tell(self, view: str) -> None:
        """Tell of each array whose slices a line makes."""
        array, made = self.slices[view].array, self.regions.defs[view][0].span
        if self.listener is not None and (made, array) not in self.told:
            self.told.add((made, array))
            what, why = "loops take elements of slices from `{0}` itself", "slices of an array overlap"
            self.listener.decide(made, "slices", what, why, Named(array, made))

    def are_within(self, view: str, index: Sequence[Expr]) -> bool:
        """Whether an array is a slice of which an element is asked for that it has for certain."""
        if view not in self.slices:
            return False
        parts = self.slices[view].parts
        return len(parts) == len(index) and all(
            part.is_all or self.is_within(sub, part, Op("dim", (Name(view), Const(axis))))
            for axis, (sub, (_, part)) in enumerate(zip(index, parts, strict=True))
        )

    def is_within(self, sub: Expr, part: Part, extent: Expr) -> bool:
        """Whether a subscript is one of a part of an axis, which has an extent."""
        place = self.dependence.affine(sub) if isinstance(sub, Name | Const) else None
        if place is None or self.dependence.minimum(place) < 0:
            return False
        if place.base is None:
            return part.rest is not None and part.rest.base is None and place.offset < part.rest.offset
        loop = self.dependence.loops.get(place.base)
        if loop is None or self.dependence.direction(loop) <= 0:
            return False
        if place.offset <= 0 and self.definition(loop.stop) == extent:
            return True
        behind = self.behind(loop.stop)
        if behind is None or part.rest is None or behind.base != part.rest.base:
            return False
        return behind.offset + place.offset <= part.rest.offset

    def behind(self, stop: Atom) -> Affine | None:
        """More than the variable of a loop with this bound ever is; of a bound `max(n, 0)` that is `n`, too."""
        match self.definition(stop):
            case Op(fn="max", args=(Name() as one, Const(value=0))):
                return self.size(one)
        return self.size(stop)
