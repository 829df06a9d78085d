"""Take elements of a slice for what they are: elements of the array that it is a slice of.

    a = u[2:]                                 for i in range(max(n - 2, 0)):
    b = u[:-2]                                    y[i] = u[i + 2] - u[i]
    for i in range(a.shape[0]):       ->
        y[i] = a[i] - b[i]

So are those of a matrix in a stack (`m = a[i]`), but not of a row.

Two slices of one array overlap.  The reverse sweep adds to elements through both, and neither a pass nor LLVM can tell
which iterations meet there; of elements of one array their subscripts tell.

A slice keeps its meaning in the rest of its block, until its array or a number in its subscripts is set again.  Its
bounds are counted from the front by a number that is not negative, and from the end by another one: `u[1:-1]`, or
`u[1:n - 1]` where `n` is `u.shape[0]`.  As NumPy clips bounds, it has what is left of the extent then, or no elements.
Or they are proved to be on the axis, by what loops say of their variables, and by elements that are asked for, too:
`a[i, :j]` in a loop of `j` up to `a.shape[1]`, `a[k, k:]` beside `a[k, k]`, an error if `k` is not on the axis.

An element is taken from the array only if its subscript is within the slice for certain: a negative one counts from the
slice's own end, and one behind the end may be in the array.  An axis that the array has not (`u[:, None]`) must be
read at 0.  Operands that may have to be broadcast are read at `i * step`, where `step` is 0 only if the slice has one
element, as a check has made sure.  A row that does not exist, as of `u[9, 1:]`, is an error where an element of it is
asked for.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from tapec.analyses.dependence import Affine
from tapec.errors import Span
from tapec.optimise.shapes.slice_facts import SliceFacts, SlicePart
from tapec.remarks import Named, remark
from tapec.syntax.core import Assign, Atom, Const, Expr, Function, Name, Op, Stmt, Store, map_blocks, walk
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array, Type


def fold_slice_extents(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with extents of slices as formulas of extents of their arrays; see the module."""
    return _changed(function, _Extents(function)) if _has_slices(function) else function


def fold_slices(
    function: Function,
    _constants: frozenset[str] = frozenset(),
    equal: Iterable[tuple[Expr, Expr]] = (),
) -> Function:
    """The function with elements of arrays in place of elements of their slices; see the module.

    equal  extents of parameters (each the second of a pair) that are known to be those of others
    """
    if not _has_slices(function):
        return function
    worker = _Elements(function)
    worker.equal = {extent: same for same, extent in equal}
    return _changed(function, worker)


def _changed(function: Function, worker: SliceFacts) -> Function:
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


def _has_slices(function: Function) -> bool:
    return any(isinstance(stmt, Assign) and _is_slice(stmt, function.types) for stmt in walk(function.body))


def _is_slice(stmt: Assign, types: dict[str, Type]) -> bool:
    match stmt.value:
        case Op(fn="view", args=(_, *subs)):
            type_ = types[stmt.target]
            return any(isinstance(sub, Op) for sub in subs) or (isinstance(type_, Array) and type_.ndim > 1)
    return False


class _Extents(SliceFacts):
    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=view), Const(value=int(axis))))) if view in self.slices:
                found = self.slices[view]
                if axis in found.new:
                    yield replace(stmt, value=Const(1))
                    return
                place, part = found.parts[found.old.index(axis)]
                if part.between is not None:
                    yield from self.apart(stmt, Op("dim", (Name(found.array), Const(place))), part)
                    return
                if part.last is not None:
                    yield from self.formula(stmt, Op("dim", (Name(found.array), Const(place))), part)
                    return
        yield map_blocks(stmt, self.block)

    def formula(self, stmt: Assign, extent: Expr, part: SlicePart) -> Iterator[Stmt]:
        """What sets a name to the extent of a part of an axis."""
        assert part.last is not None
        if not part.is_all:
            whole = self.fresh("size", INT64)
            yield Assign(whole, extent, stmt.span)
            extent = Op("-", (Name(whole), Const(part.first + part.last)))
            if not self.never_negative(part.rest):
                left = self.fresh("size", INT64)
                yield Assign(left, extent, stmt.span)
                extent = Op("max", (Name(left), Const(0)))
        yield replace(stmt, value=extent)

    def apart(self, stmt: Assign, extent: Expr, part: SlicePart) -> Iterator[Stmt]:
        """What sets a name to the number of elements between two bounds."""
        assert part.between is not None
        upper: Atom | None = part.high
        if upper is None:
            upper = Name(self.fresh("size", INT64))
            yield Assign(upper.id, extent, stmt.span)
        lower: Atom = Const(part.first) if part.low is None else part.low
        if lower == Const(0):
            yield replace(stmt, value=upper)
            return
        # an allocation of so many elements may move out of the loops that tell that there are not fewer than none
        left = self.fresh("size", INT64)
        yield Assign(left, Op("-", (upper, lower)), stmt.span)
        yield replace(stmt, value=Op("max", (Name(left), Const(0))))

    def never_negative(self, number: Affine | None) -> bool:
        """Whether an integer is the extent of an array, or larger than one."""
        if number is None:
            return False
        if number.offset >= 0 and (number.base is None or "." in number.base):
            return True
        return any(one.base == number.base and one.offset <= number.offset for one in self.made)


class _Elements(SliceFacts):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.told: set[tuple[Span | None, str]] = set()

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="load", args=(Name(id=view), *index))) if self.are_within(view, index):
                subs = yield from self.moved(view, index, stmt)
                load = Op("load", (Name(self.slices[view].array), *subs))
                yield replace(stmt, value=load, span=self.asked_with(view, stmt.span))
            case Store(array=view, index=index) if self.are_within(view, index):
                subs = yield from self.moved(view, index, stmt)
                yield replace(stmt, array=self.slices[view].array, index=tuple(subs))
            case _:
                yield map_blocks(stmt, self.block)

    def moved(self, view: str, index: Sequence[Expr], stmt: Stmt) -> Generator[Stmt, None, list[Atom]]:
        """The subscripts of an element in the array; what computes them is written."""
        self.remark(view)
        rest = (index[axis] for axis in self.slices[view].old)
        subs: list[Atom] = []
        for one in self.slices[view].axes:
            sub = next(rest) if isinstance(one, SlicePart) else one
            assert isinstance(sub, Name | Const)
            moved = one.low or (Const(one.first) if one.first > 0 else None) if isinstance(one, SlicePart) else None
            if moved is not None:
                place = self.fresh("t", INT64)
                yield Assign(place, Op("+", (sub, moved)), stmt.span)
                sub = Name(place)
            subs.append(sub)
        return subs

    def asked_with(self, view: str, span: Span | None) -> Span | None:
        """The place of a load, which asks for a row, too, where its slice does: `m[i]` in `m[i] @ v`."""
        rows = not all(isinstance(one, SlicePart) for one in self.slices[view].axes)
        made = self.scopes.defs[view][0].span
        if not rows or made is None or not made.asked:
            return span
        return made if span is None else replace(span, asked=True)

    def remark(self, view: str) -> None:
        """Tell of each array whose slices a line makes."""
        array, made = self.slices[view].array, self.scopes.defs[view][0].span
        if (made, array) not in self.told:
            self.told.add((made, array))
            what, why = "loops take elements of slices from `{0}` itself", "slices of an array overlap"
            remark(made, "slice_folding", what, why, Named(array, made))

    def are_within(self, view: str, index: Sequence[Expr]) -> bool:
        """Whether an array is a slice of which an element is asked for that it has for certain."""
        if view not in self.slices:
            return False
        found = self.slices[view]
        if len(found.parts) + len(found.new) != len(index) or any(index[axis] != Const(0) for axis in found.new):
            return False
        return all(
            part.is_all or self.is_within(index[axis], part, Op("dim", (Name(view), Const(axis))))
            for axis, (_, part) in zip(found.old, found.parts, strict=True)
        )

    def is_within(self, sub: Expr, part: SlicePart, extent: Expr) -> bool:
        """Whether a subscript is one of a part of an axis, which has an extent."""
        if self.is_below(sub, part.rest) or self.is_broadcast(sub, part) or self.is_between(sub, part):
            return True
        loop = self.dependence.loops.get(sub.id) if isinstance(sub, Name) else None
        if loop is None or self.dependence.direction(loop) <= 0 or self.definition(loop.stop) != extent:
            return False
        return self.dependence.minimum(Affine(loop.var, 0)) >= 0

    def is_between(self, sub: Expr, part: SlicePart) -> bool:
        """Whether a subscript counts from one bound of a part to the other one, and not beyond."""
        loop = self.dependence.loops.get(sub.id) if isinstance(sub, Name) else None
        if part.between is None or loop is None or self.dependence.direction(loop) <= 0:
            return False
        stop: Expr = loop.stop
        match self.definition(stop):
            # of more than no iterations
            case Op(fn="max", args=(Name() as one, Const(value=0))):
                stop = one
        integers, (first, behind) = self.dependence.integers, part.between
        count = integers.sum(stop)
        (here,) = self.scopes.body[loop.key]
        if count is None or not integers.never_negative(integers.sum(sub), here):
            return False
        names = {name: Sum.of(f"{array}.{axis}") for name, (array, axis) in self.asked.items()}
        left = behind.plus(first, -1).plus(count, -1).with_(names)
        ways = (left, *(left.plus(zero.with_(names), sign) for zero in self.agreed for sign in (1, -1)))
        return any(integers.never_negative(way, here) for way in ways)

    def is_broadcast(self, sub: Expr, part: SlicePart) -> bool:
        """Whether a subscript is that of an iteration, or 0 where a part has one element: a multiple of 1 or 0."""
        match self.definition(sub):
            case Op(fn="*", args=(Name(id=var), Name() as step)) if var in self.dependence.loops:
                loop = self.dependence.loops[var]
                if (loop.start, loop.step) != (Const(0), Const(1)):
                    return False
                match self.definition(step):
                    case Op(fn="ifelse", args=(test, Const(value=1), Const(value=0))):
                        equal = self.definition(test)
                        extents = equal.args if isinstance(equal, Op) and equal.fn == "==" else ()
                        if extents in self.fitting and extents[1] == loop.stop and isinstance(extents[0], Name):
                            return part.rest is not None and self.bound(extents[0]) == part.rest
        return False
