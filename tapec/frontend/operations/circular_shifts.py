"""Arrays that are shifted cyclically by a known distance: `np.roll(u, 1)`, `np.roll(f, -1, axis=0)`.

Such an array is an operand like any other, read at `(i - 1) % n`: `u + np.roll(u, 1)` is one loop, without a copy.
Shifts that only the run knows, long ones and those of flattened matrices are copies, which the library makes.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, argument
from tapec.frontend.evaluator.values import (
    Lazy,
    Sym,
    Value,
    is_array,
    is_complex,
    is_none,
    number,
    plain_number,
    static_int,
)
from tapec.rules import arrays_shape
from tapec.syntax.types import Array

# longer shifts leave no loop between the edges that passes could make use of
_FARTHEST = 2


def roll(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.roll(a, shift, axis)`."""
    array = args[0]
    shift = static_int(plain_number(argument(args, kwargs, 1, "shift")))
    place = _axis(array, argument(args, kwargs, 2, "axis"))
    if not _is_real(array) or shift is None or abs(shift) > _FARTHEST or place is None:
        return ev.inline_library(arrays_shape.roll, args, kwargs, node)
    type_ = array.type
    assert isinstance(type_, Array)
    operand = array if _is_circular_shift(array) else ev.materialise(array)
    return Lazy("roll", (operand, number(shift), number(place)), Array(type_.dtype, type_.ndim))


def _is_real(value: Value) -> TypeGuard[Sym | Lazy]:
    return is_array(value) and not is_complex(value)


def _axis(array: Value, axis: Value) -> int | None:
    """Along which axis an array is shifted, if that is one."""
    ndim = getattr(getattr(array, "type", None), "ndim", 0)
    given = (0 if ndim == 1 else None) if is_none(axis) else static_int(plain_number(axis))
    return given % ndim if given is not None and -ndim <= given < ndim else None


def _is_circular_shift(value: Value) -> bool:
    return isinstance(value, Lazy) and value.fn == "roll"


def is_shifted(value: Value) -> bool:
    """Whether an expression reads elements at other places than its own."""
    return isinstance(value, Lazy) and (value.fn == "roll" or any(map(is_shifted, value.args)))


def shifted(ev: Evaluator, value: Lazy, index: tuple[Sym, ...], extents: tuple[Sym, ...]) -> tuple[Sym, ...]:
    """Where a shifted array's element at `index` comes from, in an expression of these extents."""
    shift, axis = (static_int(arg) for arg in value.args[1:])
    assert shift is not None and axis is not None
    place = axis - value.type.ndim
    found = ev.op("-" if shift > 0 else "+", index[place], number(abs(shift)))
    moved = list(index)
    moved[place] = ev.op("%", found, extents[place])
    return tuple(moved)
