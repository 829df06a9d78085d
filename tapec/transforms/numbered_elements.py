"""Loops over the elements of several numbers and arrays, which are numbered one after the other, arrays by rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapec.syntax.core import Atom, Const
from tapec.syntax.types import Array
from tapec.transforms.emitter import Emitter
from tapec.transforms.jacobian_strips import combined, product

_ZERO = Const(0)
# given the emitter of the innermost block, what the element belongs to, its subscripts, and its number
Visit = Callable[[Emitter, Atom, tuple[Atom, ...], Atom], None]


def count_of(out: Emitter, values: Sequence[Atom]) -> Atom:
    """How many elements there are in all."""
    total: Atom = Const(0)
    for value in values:
        total = combined(out, "+", total, product(out, out.extents(value)))
    return total


def each_element(out: Emitter, values: Sequence[Atom], visit: Visit, first: Atom = _ZERO) -> None:
    """Visit the elements of numbers and arrays; the first one has the number `first`."""
    for value in values:
        first = _visit_all(out, value, visit, first)


def _visit_all(out: Emitter, value: Atom, visit: Visit, before: Atom) -> Atom:
    """Visit the elements of one of them, of which the first has the number `before`; the number after the last one."""
    if not isinstance(out.type_of(value), Array):
        visit(out, value, (), before)
        return combined(out, "+", before, Const(1))
    bounds = out.extents(value)

    def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
        place: Atom = Const(0)
        for bound, one in zip(bounds, index, strict=True):
            place = combined(inner, "+", combined(inner, "*", place, bound), one)
        visit(inner, value, index, combined(inner, "+", before, place))

    out.nest(bounds, body)
    return combined(out, "+", before, product(out, bounds))
