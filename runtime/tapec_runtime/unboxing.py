"""How Numba sees a `Variable`: the number that it holds, or a read-only array."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing.typeof import Purpose, typeof
from numba.extending import NativeValue, lower_cast, models, register_model, unbox


class VariableArray(types.Array):
    """The type of a variable that holds an array; in compiled code it is an array like others."""

    def __init__(self, dtype: Any, ndim: int, layout: Any) -> None:
        super().__init__(dtype, ndim, layout, readonly=True, name=f"variable({dtype}, {ndim}d, {layout})")

    @property
    def key(self) -> Any:
        return "variable", self.dtype, self.ndim, self.layout

    @property
    def held(self) -> Any:
        """The type of the array."""
        return types.Array(self.dtype, self.ndim, self.layout, readonly=True)


register_model(VariableArray)(models.ArrayModel)


@unbox(VariableArray)
def _unbox(variable_type: Any, variable: Any, context: Any) -> NativeValue:
    array = context.pyapi.object_getattr_string(variable, "_value")
    native = context.unbox(variable_type.held, array)
    # the native value holds a reference of its own
    context.pyapi.decref(array)
    return native


def type_of(value: Any) -> Any:
    """The Numba type of a variable that holds `value`.

    Numba converts what is of a number's type by `float()` or `int()`, which variables understand.
    """
    found: Any = typeof(value, Purpose.argument)
    if isinstance(found, types.Array):
        return VariableArray(found.dtype, found.ndim, found.layout)
    return found


@lower_cast(VariableArray, types.Array)
def _as_array(context: Any, builder: Any, held: Any, wanted: Any, value: Any) -> Any:
    """The array where the same name stands for one that the function makes: `x = x * 2.0` in a loop."""
    return value
