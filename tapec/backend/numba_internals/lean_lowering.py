"""Machine code of what generated functions do most, in fewer instructions than Numba writes.

Numba has one way for all kinds of arrays and subscripts, and leaves it to LLVM to find what is left of it: to load an
element takes eighty instructions before LLVM has seen to them, and a name that dies twenty.  In functions of a thousand
lines, whose variables live in memory until LLVM has found their values, that takes most of the time: it grows with the
product of variables and places where ways meet.  So here are

- elements of arrays at whole numbers, loaded and stored through the fields of the array that this takes;
- variables that are set or deleted: of a number nobody asks what was there before, of an array one field;
- powers with a whole number that stands in the source, which Numba compiles a function for; that of a negative one
  raises ZeroDivisionError whatever the error model says.

The results are otherwise those of Numba's code, and so is the machine code when LLVM is done, but for details.  What
has another form is left to Numba.  Loops are, too: with their counters in variables of the function's own, LLVM saw
them sooner, proved less of the signs of subscripts, and `heat_1d` took 1.7 times as long.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils
from numba.core import types as nt
from numba.np import arrayobj

from tapec.backend.numba_internals import argument_classes
from tapec.backend.numba_internals.dead_zeros import drop_zeros

# beyond this one, Numba asks the C library
_LARGEST_EXPONENT = 2**16


class Lower(argument_classes.LookingLower):
    """Numba's lowering of a typed function, with forms of ours."""

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        drop_zeros(self.function)

    # variables

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if argidx is not None or not self._in_place(name):
            super().storevar(value, name, argidx=argidx)
            return
        self._alloca_var(name, self.typeof(name))
        self._released(name)
        self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if name in self._blk_local_varmap:
            if self._has_memory(name):
                super().delvar(name)
        elif not self._in_place(name):
            super().delvar(name)
        elif self._has_memory(name):
            self._alloca_var(name, self.typeof(name))
            held = self._released(name)
            self.builder.store(held.type.pointee(None), held)

    def _in_place(self, name: str) -> bool:
        """Whether a variable has a place in memory, and is an array or holds no memory."""
        if name in self._singly_assigned_vars:
            return False
        return isinstance(self.typeof(name), nt.Array) or not self._has_memory(name)

    def _has_memory(self, name: str) -> bool:
        return bool(self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo())

    def _released(self, name: str) -> Any:
        """Give up the memory of the array that a variable holds; where the variable says which, None for a number."""
        if not self._has_memory(name):
            return None
        model = self.context.data_model_manager[self.typeof(name)]
        position = model.get_field_position("meminfo")
        held = cgutils.gep_inbounds(self.builder, self.getvar(name), 0, position)
        self.decref(model.get_type("meminfo"), self.builder.load(held))
        return held

    # powers

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        exponent: Any = getattr(self.typeof(expr.rhs.name), "literal_value", None) if op is operator.pow else None
        known = type(exponent) is int and 0 < abs(exponent) <= _LARGEST_EXPONENT
        if not known or not isinstance(resty, nt.Float) or self.typeof(expr.lhs.name) != resty:
            return super().lower_binop(resty, expr, op)
        # in the order of Numba's loop, for the same bits
        factor, left = self.loadvar(expr.lhs.name), abs(exponent)
        result: Any = None
        while left:
            if left & 1:
                result = factor if result is None else self.builder.fmul(result, factor)
            left >>= 1
            factor = self.builder.fmul(factor, factor) if left else factor
        return result if exponent > 0 else self.builder.fdiv(result.type(1.0), result)

    # elements

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        kind = self.typeof(value.name)
        if not self._is_element(kind, index.name):
            return super().lower_getitem(resty, expr, value, index, signature)
        item = arrayobj.load_item(self.context, self.builder, kind, self._element(kind, value.name, index.name))
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        kind, given = self.typeof(target_var.name), self.typeof(value_var.name)
        if not self._is_element(kind, index_var.name) or not isinstance(given, nt.Number | nt.Boolean):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item = self.context.cast(self.builder, self.loadvar(value_var.name), given, signature.args[2])
        item = self.context.cast(self.builder, item, signature.args[2], kind.dtype)
        place = self._element(kind, target_var.name, index_var.name)
        arrayobj.store_item(self.context, self.builder, kind, item, place)
        return self.context.get_dummy_value()

    def _is_element(self, kind: Any, index: str) -> bool:
        """Whether a subscript names a number in an array, by whole numbers."""
        if not isinstance(kind, nt.Array) or not isinstance(kind.dtype, nt.Number | nt.Boolean):
            return False
        parts = _parts(self.typeof(index))
        whole = all(isinstance(part, nt.Integer) for part in parts)
        return whole and len(parts) == kind.ndim > 0 and not self.context.enable_boundscheck

    def _element(self, kind: Any, array: str, index: str) -> Any:
        """Where an element of an array is."""
        builder, given = self.builder, self.loadvar(index)
        types = _parts(self.typeof(index))
        alone = isinstance(self.typeof(index), nt.Integer)
        numbers = [given] if alone else cgutils.unpack_tuple(builder, given, kind.ndim)
        # an extent is asked for where a subscript may count from the end, and by rows that are as long
        shape = [
            self._field(kind, array, "shape", axis) if type_.signed or kind.layout in "CF" else None
            for axis, type_ in enumerate(types)
        ]
        indices = [
            arrayobj.fix_integer_index(self.context, builder, type_, number, extent)
            for type_, number, extent in zip(types, numbers, shape, strict=True)
        ]
        strides = [self._field(kind, array, "strides", axis) for axis in range(kind.ndim) if kind.layout == "A"]
        data = self._field(kind, array, "data")
        return cgutils.get_item_pointer2(self.context, builder, data, shape, strides, kind.layout, indices)

    def _field(self, kind: Any, array: str, field: str, axis: int | None = None) -> Any:
        """A field of an array, or what it says of an axis."""
        position = [self.context.data_model_manager[kind].get_field_position(field)]
        position += [] if axis is None else [axis]
        if array in self._blk_local_varmap:
            return self.builder.extract_value(self._blk_local_varmap[array], position)
        return self.builder.load(cgutils.gep_inbounds(self.builder, self.getvar(array), 0, *position))


def _parts(subscript: Any) -> tuple[Any, ...]:
    """The types of a subscript's parts."""
    return tuple(getattr(subscript, "types", (subscript,)))
