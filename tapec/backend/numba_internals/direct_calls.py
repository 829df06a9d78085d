"""Calls of NumPy that need no functions of Numba's.

For each type of argument of `np.empty`, `np.zeros`, `np.dot` and `np.transpose`, Numba compiles functions of its own,
up to thirty for one call, and a process waits longer for those of a short gradient than for the gradient itself.
The usual forms of
such calls are written here, with the results and errors of Numba's; other forms are left to Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll
from numba.core import cgutils, ir
from numba.core import types as nt
from numba.core.imputils import impl_ret_borrowed
from numba.core.ir_utils import get_definition, guard
from numba.core.typing.templates import AbstractTemplate
from numba.extending import intrinsic
from numba.np import arrayobj, linalg

from tapec.backend.numba_internals.large_pages import ask_for_large_pages, keep_freed

_INT_MAX = 2**31 - 1


class Direct:
    """What stands in a function for `function`: calls go to what `choose` has for the types of their arguments."""

    def __init__(self, function: Any, choose: Callable[[Any, Any], Any]) -> None:
        class Template(AbstractTemplate):  # type: ignore[misc, unused-ignore]
            key = f"tapec.{function.__name__}"

            def generic(self, args: Any, kws: Any) -> Any:
                self.chosen = self.context.resolve_value_type(choose(args, kws) or function)
                return self.context.resolve_function_type(self.chosen, args, kws)

            def get_impl_key(self, signature: Any) -> Any:
                return self.chosen.get_impl_key(signature)

        self._numba_type_ = nt.Function(Template)


def redirect(func_ir: Any) -> None:
    """Let a function's calls of `np.empty` and the like go to the code of this module."""
    for block in func_ir.blocks.values():
        for assigned in block.find_insts(ir.Assign):
            value = assigned.value
            if isinstance(value, ir.Expr) and value.op == "getattr" and value.attr in _OF_NUMPY:
                module = guard(get_definition, func_ir, value.value)
                if getattr(module, "value", None) is np:
                    assigned.value = ir.Global(value.attr, _OF_NUMPY[value.attr], assigned.loc)
            elif isinstance(value, ir.Global) and (value.value is min or value.value is max):
                assigned.value = ir.Global(value.name, _BUILTIN[value.name], assigned.loc)


def _creation(zeros: bool) -> Callable[[Any, Any], Any]:
    """The choice for `np.empty`, or for `np.zeros`."""

    def made(shape: Any, dtype: Any) -> Any:
        element = nt.float64 if dtype is None else dtype.dtype
        kind = nt.Array(element, len(shape) if isinstance(shape, nt.BaseTuple) else 1, "C")

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            alone = isinstance(shape, nt.Integer)
            extents = [args[0]] if alone else cgutils.unpack_tuple(builder, args[0], kind.ndim)
            return _allocated(context, builder, kind, list(extents), zeros)._getvalue()

        return kind(shape) if dtype is None else kind(shape, dtype), code

    @intrinsic
    def plain(typing: Any, shape: Any) -> Any:
        return made(shape, None)

    @intrinsic
    def typed(typing: Any, shape: Any, dtype: Any) -> Any:
        return made(shape, dtype)

    def choose(args: Any, kws: Any) -> Any:
        if not args:
            return None
        shape, dtype = args[0], [*args[1:], *kws.values()]
        extents = getattr(shape, "types", (shape,))
        if not kws.keys() <= {"dtype"} or not all(nt.unliteral(extent) == nt.intp for extent in extents):
            return None
        if not dtype:
            return plain
        known = isinstance(dtype[0], nt.DTypeSpec) and isinstance(dtype[0].dtype, nt.Number | nt.Boolean)
        return typed if known else None

    return choose


def _allocated(context: Any, builder: Any, kind: Any, extents: list[Any], zeros: bool = False) -> Any:
    """A new array in rows; ValueError for extents below zero and more bytes than can be counted."""
    array = arrayobj.make_array(kind)(context, builder)
    refused = builder.call(_allocator(context, builder.module, kind, zeros), [array._getpointer(), *extents])
    with builder.if_then(builder.icmp_signed("!=", refused, ll.Constant(refused.type, 0)), likely=False):
        for code, (error, message) in _REFUSALS.items():
            with builder.if_then(builder.icmp_signed("==", refused, ll.Constant(refused.type, code))):
                _raise(context, builder, error, message)
        builder.unreachable()
    return array


_NEGATIVE, _LARGE, _FAILED = 1, 2, 3
_REFUSALS: dict[int, tuple[type[Exception], str]] = {
    _NEGATIVE: (ValueError, "negative dimensions not allowed"),
    _LARGE: (
        ValueError,
        "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
    ),
    _FAILED: (MemoryError, "Allocation failed (probably too large)."),
}


def _allocator(context: Any, module: Any, kind: Any, zeros: bool) -> Any:
    """The function of a module that makes an array of its extents; it returns the number of a refusal, or 0."""
    name = f"tapec.{'zeros' if zeros else 'empty'}.{kind.ndim}.{kind.dtype}"
    if name in module.globals:
        return module.globals[name]
    number, code = context.get_value_type(nt.intp), ll.IntType(32)
    place = context.get_value_type(kind).as_pointer()
    function, builder = _function(module, ll.FunctionType(code, [place] + [number] * kind.ndim), name)
    target, *extents = function.args
    for extent in extents:
        with builder.if_then(builder.icmp_signed("<", extent, ll.Constant(number, 0)), likely=False):
            builder.ret(ll.Constant(code, _NEGATIVE))
    itemsize = context.get_constant(nt.intp, arrayobj.get_itemsize(context, kind))
    size = ll.Constant(number, 1)
    large = ll.Constant(ll.IntType(1), 0)
    for extent in [*extents, itemsize]:
        product = builder.smul_with_overflow(size, extent)
        size = builder.extract_value(product, 0)
        large = builder.or_(large, builder.extract_value(product, 1))
    with builder.if_then(large, likely=False):
        builder.ret(ll.Constant(code, _LARGE))
    keep_freed(builder, size)
    alignment = context.get_preferred_array_alignment(kind.dtype)
    block = context.nrt.meminfo_alloc_aligned_unchecked(builder, size, alignment)
    with builder.if_then(cgutils.is_null(builder, block), likely=False):
        builder.ret(ll.Constant(code, _FAILED))
    data = context.nrt.meminfo_data(builder, block)
    ask_for_large_pages(builder, data, size)
    if zeros:
        cgutils.memset(builder, data, size, 0)
    strides: list[Any] = []
    step = itemsize
    for extent in reversed(extents):
        strides.insert(0, step)
        step = builder.mul(step, extent)
    array = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array,
        data=builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer()),
        shape=cgutils.pack_array(builder, extents, ty=number),
        strides=cgutils.pack_array(builder, strides, ty=number),
        itemsize=itemsize,
        meminfo=block,
    )
    builder.store(array._getvalue(), target)
    builder.ret(ll.Constant(code, 0))
    return function


def _function(module: Any, kind: Any, name: str) -> Any:
    """A function of a module's own, and what builds its body.

    LLVM inlines such functions late, and so sees the loops around a call as it sees them around a call of Numba's own
    functions; instructions in the place of the calls made some programs twice as slow.
    """
    function = ll.Function(module, kind, name)
    function.linkage = "internal"
    return function, ll.IRBuilder(function.append_basic_block())


def _raise(context: Any, builder: Any, error: type[Exception], message: str) -> None:
    context.call_conv.return_user_exc(builder, error, (message,))


_PRODUCTS = {(2, 2): "matrix * matrix", (2, 1): "matrix * vector", (1, 2): "vector * matrix"}


@intrinsic
def _dot(typing: Any, left: Any, right: Any) -> Any:
    kind = nt.Array(left.dtype, left.ndim + right.ndim - 2, "C")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        linalg.ensure_blas()
        x, y = (arrayobj.make_array(one)(context, builder, arg) for one, arg in zip((left, right), args, strict=True))
        *rows, inner = cgutils.unpack_tuple(builder, x.shape, left.ndim)
        other, *columns = cgutils.unpack_tuple(builder, y.shape, right.ndim)
        with builder.if_then(builder.icmp_signed("!=", inner, other), likely=False):
            said = f"incompatible array sizes for np.dot(a, b) ({_PRODUCTS[left.ndim, right.ndim]})"
            _raise(context, builder, ValueError, said)
        for extent in (*rows, inner, *columns):
            large = builder.icmp_signed(">", extent, ll.Constant(extent.type, _INT_MAX))
            with builder.if_then(large, likely=False):
                _raise(context, builder, OverflowError, "array size too large to fit in C int")
        result = _allocated(context, builder, kind, [*rows, *columns])
        builder.call(
            _product(context, builder.module, left, right, kind),
            [*rows, inner, *columns, x.data, y.data, result.data],
        )
        return result._getvalue()

    return kind(left, right), code


def _product_of(args: Any, kws: Any) -> Any:
    """The choice for `np.dot`."""
    if kws or len(args) != 2 or not all(isinstance(arg, nt.Array) and arg.layout in "CF" for arg in args):
        return None
    left, right = args
    known = left.dtype == right.dtype and left.dtype in (nt.float64, nt.float32) and left.aligned and right.aligned
    return _dot if known and (left.ndim, right.ndim) in _PRODUCTS else None


def _product(context: Any, module: Any, left: Any, right: Any, kind: Any) -> Any:
    """The function of a module that has BLAS multiply; matrices of one row or column are vectors to it."""
    name = f"tapec.dot.{left.layout}{left.ndim}.{right.layout}{right.ndim}.{left.dtype}"
    if name in module.globals:
        return module.globals[name]
    number = context.get_value_type(nt.intp)
    pointer = context.get_data_type(kind.dtype).as_pointer()
    types = [number] * (left.ndim + right.ndim - 1) + [pointer] * 3
    function, builder = _function(module, ll.FunctionType(ll.VoidType(), types), name)
    *extents, x, y, result = function.args
    rows, inner, columns = extents[: left.ndim - 1], extents[left.ndim - 1], extents[left.ndim :]

    def gemv(matrix: Any, shape: list[Any], data: Any, vector: Any, transposed: bool) -> None:
        linalg.call_xxgemv(context, builder, transposed, matrix, shape, data, vector, result)

    empty = ll.Constant(ll.IntType(1), 0)
    for extent in (*rows, inner, *columns):
        empty = builder.or_(empty, builder.icmp_signed("==", extent, ll.Constant(number, 0)))
    with builder.if_else(empty, likely=False) as (nothing, something):
        with nothing:
            size = ll.Constant(number, arrayobj.get_itemsize(context, kind))
            for extent in (*rows, *columns):
                size = builder.mul(size, extent)
            cgutils.memset(builder, result, size, 0)
        with something:
            if not rows:
                gemv(right, [inner, *columns], y, x, right.layout == "F")
            elif not columns:
                gemv(left, [*rows, inner], x, y, left.layout == "C")
            else:
                one = ll.Constant(number, 1)
                with builder.if_else(builder.icmp_signed("==", columns[0], one)) as (narrow, wide):
                    with narrow, builder.if_else(builder.icmp_signed("==", rows[0], one)) as (number_, column):
                        with number_:
                            linalg.call_xxdot(context, builder, False, kind.dtype, inner, x, y, result)
                        with column:
                            gemv(left, [*rows, inner], x, y, left.layout == "C")
                    with wide, builder.if_else(builder.icmp_signed("==", rows[0], one)) as (row, matrix):
                        with row:
                            gemv(right, [inner, *columns], y, x, right.layout == "F")
                        with matrix:
                            linalg.call_xxgemm(
                                *(context, builder),
                                *(left, [*rows, inner], x),
                                *(right, [inner, *columns], y),
                                *(kind, [*rows, *columns], result),
                            )
    builder.ret_void()
    return function


def _extreme(sign: str) -> Callable[[Any, Any], Any]:
    """The choice for `min`, or for `max`."""

    @intrinsic
    def of_two(typing: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            name, number = f"tapec.extreme.{sign}", context.get_value_type(nt.intp)
            if name not in builder.module.globals:
                function, inner = _function(builder.module, ll.FunctionType(number, [number] * 2), name)
                inner.ret(inner.select(inner.icmp_signed(sign, *function.args), *function.args))
            return builder.call(builder.module.globals[name], args)

        return nt.intp(nt.intp, nt.intp), code

    def choose(args: Any, kws: Any) -> Any:
        return of_two if len(args) == 2 and not kws and all(nt.unliteral(arg) == nt.intp for arg in args) else None

    return choose


@intrinsic
def _permuted(typing: Any, array: Any, axes: Any) -> Any:
    result = array.copy(layout="A")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = arrayobj.make_array(array)(context, builder, args[0])
        number = context.get_value_type(nt.intp)
        count, zero, bits = ll.Constant(number, array.ndim), ll.Constant(number, 0), ll.Constant(number, 0)
        order = []
        outside: Any = ll.Constant(ll.IntType(1), 0)
        for axis in cgutils.unpack_tuple(builder, args[1], array.ndim):
            axis = builder.select(builder.icmp_signed("<", axis, zero), builder.add(axis, count), axis)
            outside = builder.or_(outside, builder.icmp_unsigned(">=", axis, count))
            bits = builder.or_(bits, builder.shl(ll.Constant(number, 1), axis))
            order.append(axis)
        with builder.if_then(outside, likely=False):
            _raise(context, builder, ValueError, "axis is out of bounds for array of given dimension")
        repeated = builder.icmp_signed("!=", bits, ll.Constant(number, 2**array.ndim - 1))
        with builder.if_then(repeated, likely=False):
            _raise(context, builder, ValueError, "repeated axis in transpose")

        def in_order(numbers: Any) -> Any:
            place = cgutils.alloca_once(builder, numbers.type)
            builder.store(numbers, place)
            found = [builder.load(cgutils.gep_inbounds(builder, place, 0, axis)) for axis in order]
            return cgutils.pack_array(builder, found)

        turned = arrayobj.make_array(result)(context, builder)
        arrayobj.populate_array(
            turned,
            data=given.data,
            shape=in_order(given.shape),
            strides=in_order(given.strides),
            itemsize=given.itemsize,
            meminfo=given.meminfo,
            parent=given.parent,
        )
        return impl_ret_borrowed(context, builder, result, turned._getvalue())

    return result(array, axes), code


def _permutation(args: Any, kws: Any) -> Any:
    """The choice for `np.transpose` with axes."""
    if kws or len(args) != 2 or not isinstance(args[0], nt.Array):
        return None
    axes = getattr(args[1], "types", ())
    known = 0 < len(axes) == args[0].ndim < 64 and all(nt.unliteral(axis) == nt.intp for axis in axes)
    return _permuted if known else None


_OF_NUMPY = {
    "empty": Direct(np.empty, _creation(zeros=False)),
    "zeros": Direct(np.zeros, _creation(zeros=True)),
    "dot": Direct(np.dot, _product_of),
    "transpose": Direct(np.transpose, _permutation),
}
_BUILTIN = {"min": Direct(min, _extreme("<")), "max": Direct(max, _extreme(">"))}
