"""Elementwise array expressions: kept as trees, then written as loops over scalars.

`y = a * x + b` makes one loop and one array.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import OpenLoop
from tapec.frontend.evaluator.values import (
    Complex,
    Lazy,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex,
    number,
    plain_number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import allocate, dim, id_of, rank_of
from tapec.frontend.operations.broadcasting import Broadcast, broadcast, broadcast_into, value_rank
from tapec.frontend.operations.circular_shifts import shifted
from tapec.frontend.operations.memory_order import note_order
from tapec.rules.formula import INTEGERS
from tapec.syntax.core import Assign, Const, Name, Op, Store
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Type

_CHEAP = frozenset({"+", "-", "*", "neg", "pos", "not", "abs", "stop_gradient"})


def elementwise(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any = None) -> Value:
    """Apply a scalar function to numbers, or lazily to arrays."""
    args = tuple(_operand(ev, arg, node) for arg in args)
    if complex_arithmetic.has_complex(fn, args):
        return _with_complex(ev, fn, args, node)
    if not any(is_array(arg) for arg in args):
        return ev.op(fn, *args, node=node)
    types = [arg.type for arg in args if isinstance(arg, Sym | Lazy)]
    if fn == "~" and all(isinstance(type_, Array) and type_.dtype == "bool" for type_ in types):
        # an element may be a truth value of Python's, whose `~` is a number
        fn = "not"
    result = _array_type(ev, fn, types, node)
    if result.ndim == 0:
        return ev.op(fn, *(element(ev, arg, ()) if is_array(arg) else arg for arg in args), node=node)
    return Lazy(fn, args, result)


def _with_complex(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any) -> Value:
    """The same for complex numbers and arrays."""
    if not complex_arithmetic.any_array(args):
        return complex_arithmetic.operation(ev, fn, args, node)
    result = complex_arithmetic.lazy(ev, fn, args, node)
    if result.type.ndim == 0:
        return complex_arithmetic.operation(ev, fn, tuple(element(ev, arg, ()) for arg in args), node)
    return result


def _operand(ev: Evaluator, arg: Value, node: Any) -> Value:
    arg = ev.present(plain_number(arg))
    if isinstance(arg, Sym | Lazy | Complex):
        return arg
    if isinstance(arg, Tup):
        return ev.as_array(arg, node)
    ev.fail(TypeMismatch, f"arithmetic needs numbers or arrays, not {describe(arg)}", node)


def _array_type(ev: Evaluator, fn: str, types: list[Type], node: Any) -> Array:
    """The type of an elementwise result: dtype from Numba, rank from broadcasting."""
    ndim = max(t.ndim if isinstance(t, Array) else 0 for t in types)
    if fn.startswith("cast."):
        return Array(fn.removeprefix("cast."), ndim)
    if fn in ("stop_gradient", "pos"):
        first = types[0]
        assert isinstance(first, Array)
        return Array(first.dtype, ndim)
    if fn == "ifelse":
        dtypes = [np.dtype(t.dtype) for t in types[1:] if isinstance(t, Scalar | Array)]
        return Array(str(np.result_type(*dtypes)), ndim)
    if fn == "not":
        return Array("bool", ndim)
    found = numba_types.result_type(numba_types.callable_of(fn), tuple(types))
    result = None if found is None else numba_types.from_numba(found)
    if result is None:
        # functions that Numba has for scalars only, and clip, round: the scalar rule decides
        scalars = [Sym(Const(None), t.element if isinstance(t, Array) else t) for t in types]
        result = ev.scalar_type(fn, scalars, node)
    assert isinstance(result, Scalar | Array)
    return Array(result.dtype, ndim)


def element(ev: Evaluator, value: Value, index: tuple[Sym, ...]) -> Any:
    """The number at `index`, which has as many entries as `value` has axes."""
    if isinstance(value, Complex):
        return complex_arithmetic.each(ev, value, lambda part: element(ev, part, index))
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return value
    if isinstance(value, Sym):
        assert isinstance(value.type, Array)
        return ev.assign(Op("load", (value.atom, *(i.atom for i in index))), value.type.element)
    assert isinstance(value, Lazy)
    shape = broadcast(ev, value)
    return element_at(ev, value, index, shape)


def element_at(ev: Evaluator, value: Value, index: tuple[Sym, ...], shape: Broadcast) -> Any:
    """The number of an operand that stands at `index` of the result, whose shape is `shape`."""
    if isinstance(value, Complex):
        return complex_arithmetic.each(ev, value, lambda part: element_at(ev, part, index, shape))
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return value
    if isinstance(value, Sym):
        offset = len(index) - rank_of(value)
        array = shape.replaced.get(id_of(value), value)
        own = tuple(
            _along(ev, index[offset + axis], shape, id_of(value), axis)
            for axis in range(rank_of(value))
        )
        assert isinstance(array.type, Array)
        return ev.assign(Op("load", (array.atom, *(i.atom for i in own))), array.type.element)
    assert isinstance(value, Lazy)
    if value.fn == "ifelse":
        return _selected(ev, value, index, shape)
    if value.fn == "roll":
        return element_at(ev, value.args[0], shifted(ev, value, index, shape.extents), shape)
    args = [element_at(ev, arg, index, shape) for arg in value.args]
    if value.fn == "pos":
        return args[0]
    if complex_arithmetic.has_complex(value.fn, tuple(args)):
        return complex_arithmetic.converted(
            ev, complex_arithmetic.operation(ev, value.fn, tuple(args)), value.type.dtype
        )
    type_ = value.type.element
    if type_.is_float and not value.fn.startswith("cast."):
        # an array's arithmetic is in the array's dtype; scalars of another one are converted first
        args = [
            ev.cast(arg, type_)
            if arg.type != type_
            and arg.type != Scalar("bool")
            and ((value.fn, place) not in INTEGERS or arg.type.is_float)
            else arg
            for place, arg in enumerate(args)
        ]
    natural = ev.scalar_type(value.fn, args)
    return ev.cast(ev.op(value.fn, *args, type_=natural), type_)


def _along(ev: Evaluator, index: Sym, shape: Broadcast, array: str, axis: int) -> Sym:
    """The subscript of an axis: `index`, or 0 where the axis is repeated."""
    if (array, axis) in shape.narrow:
        return number(0)
    step = shape.steps.get((array, axis))
    return index if step is None else ev.op("*", index, step)


def _selected(ev: Evaluator, value: Lazy, index: tuple[Sym, ...], shape: Broadcast) -> Sym:
    """`np.where`: only the chosen side is computed, so the other one cannot spoil a derivative."""
    test = ev.truth(element_at(ev, value.args[0], index, shape))
    if ev.live is not None and isinstance(test.atom, Const):
        # both sides are connected with the result, also where it is known which one is chosen
        test = ev.assign(test.atom, BOOL)
    if is_complex(value):
        chosen, other = (functools.partial(element_at, ev, arg, index, shape) for arg in value.args[1:])
        return complex_arithmetic.converted(ev, ev.select(test, chosen, other, None), value.type.dtype)
    type_ = value.type.element
    if all(isinstance(arg, Sym) and isinstance(arg.type, Scalar) for arg in value.args[1:]):
        first, second = (ev.cast(element_at(ev, arg, index, shape), type_) for arg in value.args[1:])
        return ev.assign(Op("ifelse", (test.atom, first.atom, second.atom)), type_)
    target = ev.define("t", type_, temporary=True)

    def side(arg: Value) -> Any:
        def write() -> None:
            chosen = ev.cast(element_at(ev, arg, index, shape), type_)
            ev.emit(Assign(target, chosen.atom, ev.span))

        return write

    ev.branch(test, side(value.args[1]), side(value.args[2]))
    return Sym(Name(target), type_)


def write_loops(ev: Evaluator, extents: tuple[Sym, ...], body: Any) -> None:
    """Nested loops over `extents`; `body` is called with the index."""
    index: list[Sym] = []
    outer, dims, broadcasts = ev.block, dict(ev.dims), dict(ev.broadcasts)
    for axis, extent in enumerate(extents):
        var = ev.define("ijklmn"[axis % 6], INT64)
        inner: list[Any] = []
        ev.emit(OpenLoop((var, Const(0), extent.atom, Const(1), False, None), inner, ev.span))
        ev.block = inner
        index.append(Sym(Name(var), INT64))
    body(tuple(index))
    ev.block, ev.dims, ev.broadcasts = outer, dims, broadcasts


def store_elements(ev: Evaluator, target: Sym | Complex, value: Value, accumulate: bool = False) -> None:
    """Write a number or an elementwise expression into every element of `target`.

    The caller has made sure that `value` reads no element of `target` at another index.
    """
    first = complex_arithmetic.lead(target)
    rank = first.type.ndim
    value = repeated_first(ev, value, rank)
    extents = tuple(dim(ev, first, axis) for axis in range(rank))
    shape = Broadcast(extents)
    if complex_arithmetic.any_array((value,)):
        shape = broadcast_into(ev, first, value)
        extents = shape.extents

    def body(index: tuple[Sym, ...]) -> None:
        item = element_at(ev, value, index[rank - value_rank(value) :], shape)
        store_at(ev, target, tuple(i.atom for i in index), item, accumulate)

    write_loops(ev, extents, body)


def store_at(
    ev: Evaluator, target: Sym | Complex, index: tuple[Any, ...], value: Value, accumulate: bool = False
) -> None:
    """Write a number, converted to the dtype of `target`, into one element."""
    assert isinstance(target.type, Array)
    item = complex_arithmetic.converted(ev, value, target.type.dtype)
    for array, part in zip(complex_arithmetic.parts(target), complex_arithmetic.parts(item), strict=True):
        ev.emit(Store(id_of(array), index, part.atom, accumulate, ev.span))


def materialise(ev: Evaluator, value: Value, base: str = "t") -> Value:
    """Write an elementwise expression into a fresh array; other values are returned as they are."""
    if not isinstance(value, Lazy):
        return value
    written = repeated_first(ev, value)
    shape = broadcast(ev, written)
    result = allocate(ev, value.type.dtype, shape.extents, base=base)
    for axis, key in enumerate(shape.keys):
        ev.dim_keys[id_of(complex_arithmetic.lead(result)), axis] = key

    def body(index: tuple[Sym, ...]) -> None:
        store_at(ev, result, tuple(i.atom for i in index), element_at(ev, written, index, shape))

    write_loops(ev, shape.extents, body)
    note_order(ev, result, (value,))
    return result


def repeated_first(ev: Evaluator, value: Value, ndim: int = 0) -> Any:
    """An expression whose costly operands of fewer axes are computed before it: `x - s / n` divides once per column.

    ndim  of what the expression is written into, if that is more

    Not in loops, where an array would be made in each iteration; nor behind `np.where`, which computes only what it
    chooses.
    """
    if not isinstance(value, Lazy) or ev.loops:
        return value
    ndim = max(ndim, value.type.ndim)
    if value.type.ndim < ndim and _is_costly(value):
        return materialise(ev, value)
    count = 1 if value.fn == "ifelse" else len(value.args)
    return replace(value, args=(*(repeated_first(ev, arg, ndim) for arg in value.args[:count]), *value.args[count:]))


def _is_costly(value: Value) -> bool:
    """Whether an element costs more to compute than to load."""
    if not isinstance(value, Lazy) or value.fn == "ifelse":
        return False
    cheap = value.fn in _CHEAP or value.fn.startswith("cast.")
    return not cheap or any(_is_costly(arg) for arg in value.args)
