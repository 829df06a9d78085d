"""Strips of a Jacobian: so many unit vectors at once, and what they give stored in rows or columns of its blocks.

    for first in range(0, n, 8):
        for lane in range(min(8, n - first)):
            x_dot[first + lane, lane] = 1.0
        ...                                            the tangents in eight directions
        for i in range(m):
            for lane in range(min(8, n - first)):
                y_by_x[i, first + lane] = y_dot[i, lane]
        ...                                            x_dot is zero again

The unit vectors are those of several numbers and arrays, one after another.  Where there are few, and how many is
known, one strip has all of them, and its lanes are written out.

Of batches, by their first axis, only the blocks where result and source belong to one example are kept; see
`jacobian_blocks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapec.syntax.core import Assign, Atom, Const, For, Name, Op, Store, walk
from tapec.syntax.types import INT64, Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.jacobian_blocks import APART, TOGETHER, Index
from tapec.transforms.lane_loops import by_columns, lanes_type

# the lanes of a strip
WIDTH = 8
# lanes that are written out
_FEW = 4


class Strips:
    """The unit vectors of the space of some numbers and arrays."""

    def __init__(self, out: Emitter, items: Sequence[Atom], examples: str | None) -> None:
        self.items, self.examples = tuple(items), examples
        self.shapes = [_known_extents(out, item) for item in self.items]
        self.sizes = [product(out, shape[1:] if examples == TOGETHER else shape) for shape in self.shapes]
        self.offsets: list[Atom] = [Const(0)]
        for size in self.sizes:
            self.offsets.append(combined(out, "+", self.offsets[-1], size))
        self.total = self.offsets.pop()
        count = self.total.value if isinstance(self.total, Const) else None
        self.single = isinstance(count, int) and 0 < count <= WIDTH and examples is None
        self.width = count if self.single and isinstance(count, int) and count <= _FEW else WIDTH

    def each(self, out: Emitter, body: Callable[[Emitter, list[Name], Atom], None]) -> None:
        """Loops over the strips; `body` gets tangents, or adjoints, of all items, and the first lane's number."""
        if self.single:
            body(out, [self.units(out, item) for item in range(len(self.items))], Const(0))
            return
        seeds = [self.zeros(out, item, shape) for item, shape in zip(self.items, self.shapes, strict=True)]
        first = Name(out.fresh("first", INT64))
        inner = out.child()
        self.mark(inner, seeds, first, 1.0)
        body(inner, seeds, first)
        self.mark(inner, seeds, first, 0.0)
        out.add(For(first.id, Const(0), self.total, Const(self.width), tuple(inner.out), span=out.span))

    def units(self, out: Emitter, item: int) -> Name:
        """The unit vectors of the only strip, element by element."""
        like, shape = self.items[item], self.shapes[item]
        type_ = out.type_of(like)
        kind = lanes_type(type_)
        assert isinstance(kind, Array) and isinstance(self.offsets[item], Const)
        dims = shape[::-1] if by_columns(type_) else shape
        made = Op("empty", (Const(kind.dtype), *dims, Const(self.width)))
        seed = out.let("unit", made, Array(kind.dtype, kind.ndim))
        for place in range(int(self.sizes[item].value)):  # type: ignore[arg-type, union-attr]
            index = unravelled(out, Const(place), shape)
            index = index[::-1] if by_columns(type_) else index
            for lane in range(self.width):
                number = out.cast(Const(float(lane == int(self.offsets[item].value) + place)), kind.element)  # type: ignore[arg-type, union-attr]
                out.add(Store(seed.id, (*index, Const(lane)), number, False, out.span))
        return seed

    def zeros(self, out: Emitter, item: Atom, shape: list[Atom]) -> Name:
        """Tangents, or adjoints, of zero in the directions of a strip."""
        type_ = out.type_of(item)
        kind = lanes_type(type_)
        assert isinstance(kind, Array)
        dims = shape[::-1] if by_columns(type_) else shape
        made = Op("zeros", (Const(kind.dtype), *dims, Const(self.width)))
        return out.let("unit", made, Array(kind.dtype, kind.ndim))

    def mark(self, out: Emitter, seeds: list[Name], first: Atom, value: float) -> None:
        """Make unit vectors of the zeros, or zeros of the unit vectors."""
        for k, seed in enumerate(seeds):
            self.mark_item(out, k, seed, first, value)

    def mark_item(self, out: Emitter, item: int, seed: Name, first: Atom, value: float) -> None:
        """The same for one item."""
        type_, shape = out.type_of(self.items[item]), self.shapes[item]
        kind = out.types[seed.id]
        assert isinstance(kind, Array)

        def store(inner: Emitter, index: Index, lane: Atom) -> None:
            index = index[::-1] if by_columns(type_) else index
            number = inner.cast(Const(value), kind.element)
            inner.add(Store(seed.id, (*index, lane), number, False, inner.span))

        def unit(inner: Emitter, lane: Atom, place: Atom) -> None:
            if self.examples == TOGETHER:
                rest = unravelled(inner, place, shape[1:])
                inner.nest(shape[:1], lambda one, example: store(one, (*example, *rest), lane))
            else:
                store(inner, unravelled(inner, place, shape), lane)

        self.lanes(out, item, first, unit)

    def lanes(self, out: Emitter, item: int, first: Atom, body: Callable[[Emitter, Atom, Atom], None]) -> None:
        """The lanes of a strip that belong to an item; `body` gets each, and the number of the unit vector."""
        offset, size = self.offsets[item], self.sizes[item]
        if self.single:
            assert isinstance(offset, Const) and isinstance(size, Const)
            for place in range(int(size.value)):  # type: ignore[arg-type]
                body(out, Const(int(offset.value) + place), Const(place))  # type: ignore[arg-type]
            return
        shift = combined(out, "-", first, offset)
        low: Atom = Const(0)
        if offset != Const(0):
            low = combined(out, "max", combined(out, "-", offset, first), Const(0))
        high = combined(out, "min", combined(out, "-", size, shift), Const(self.width))
        lane, inner = Name(out.fresh("lane", INT64)), out.child()
        body(inner, lane, combined(inner, "+", shift, lane))
        out.add(For(lane.id, low, high, Const(1), tuple(inner.out), span=out.span))

    def whole(self, out: Emitter, found: Name) -> Name:
        """What a single strip gives of the only item, lanes first, as a block of rows."""
        (shape,) = self.shapes
        type_ = out.types[found.id]
        assert isinstance(type_, Array)
        if len(shape) == 1 and self.width == shape[0].value:  # type: ignore[union-attr]
            return found
        rest = out.extents(found)[1:]
        if self.sizes[0] != Const(self.width):
            kept = Op("slice", (Const(None), self.sizes[0], Const(None)))
            found = out.let("t", Op("view", (found, kept)), type_)
        made = Array(type_.dtype, len(shape) + len(rest))
        return out.let("t", Op("reshape", (found, *shape, *rest)), made)

    def fill(
        self, out: Emitter, item: int, first: Atom, block: Name, found: Name, shape: list[Atom], rows: bool
    ) -> None:
        """Store what the lanes of an item give, of which `shape` is that of one direction, in rows or columns."""
        target, type_ = out.types[block.id], out.types[found.id]
        assert isinstance(target, Array) and isinstance(type_, Array)
        own = self.shapes[item]
        apart = self.examples == APART
        rest = own[1:] if self.examples else own

        def one(inner: Emitter, lane: Atom, place: Atom, index: Index) -> None:
            example: Index = ()
            if apart:
                number, *others = unravelled(inner, place, [own[0], product(inner, rest)])
                example, place = (number,), others[0]
            elif self.examples:
                example, index = index[:1], index[1:]
            within = unravelled(inner, place, rest)
            number = inner.let("t", Op("load", (found, *example, *index, lane)), type_.element)
            places = (*example, *within, *index) if rows else (*example, *index, *within)
            inner.add(Store(block.id, places or (Const(0),), inner.cast(number, target.element), False, inner.span))

        dims = shape[1:] if apart else shape
        if rows or self.single:
            self.lanes(out, item, first, lambda a, lane, place: a.nest(dims, lambda b, at: one(b, lane, place, at)))
        else:
            out.nest(dims, lambda a, at: self.lanes(a, item, first, lambda b, lane, place: one(b, lane, place, at)))


def combined(out: Emitter, fn: str, first: Atom, second: Atom) -> Atom:
    """An integer of two, computed now if both are known."""
    if isinstance(first, Const) and isinstance(second, Const):
        one, two = int(first.value), int(second.value)  # type: ignore[arg-type]
        known = {"+": one + two, "-": one - two, "*": one * two, "max": max(one, two), "min": min(one, two)}
        return Const(known[fn])
    if fn == "*" and Const(0) in (first, second):
        return Const(0)
    if (fn in "+-" and second == Const(0)) or (fn == "*" and second == Const(1)):
        return first
    if (fn == "+" and first == Const(0)) or (fn == "*" and first == Const(1)):
        return second
    return out.let("size", Op(fn, (first, second)), INT64)


def product(out: Emitter, factors: Sequence[Atom]) -> Atom:
    """The number of elements of a shape."""
    made: Atom = Const(1)
    for factor in factors:
        made = combined(out, "*", made, factor)
    return made


def unravelled(out: Emitter, place: Atom, shape: Sequence[Atom]) -> Index:
    """The subscripts of the element with a number, by rows."""
    if not shape:
        return ()
    found: list[Atom] = []
    for extent in reversed(shape[1:]):
        if isinstance(place, Const) and isinstance(extent, Const):
            whole, part = divmod(int(place.value), int(extent.value))  # type: ignore[arg-type]
            found.append(Const(part))
            place = Const(whole)
        else:
            found.append(out.let("size", Op("%", (place, extent)), INT64))
            place = out.let("size", Op("//", (place, extent)), INT64)
    return (place, *reversed(found))


def _known_extents(out: Emitter, atom: Atom) -> list[Atom]:
    """The shape of a number or array; literals where it has been made with such extents."""
    if isinstance(atom, Name):
        made = [stmt.value for stmt in walk(out.out) if isinstance(stmt, Assign) and stmt.target == atom.id]
        match made:
            case [Op(fn="empty" | "zeros", args=(_, *sizes))] if all(isinstance(size, Const) for size in sizes):
                return list(sizes)  # type: ignore[arg-type]
    return out.extents(atom)
