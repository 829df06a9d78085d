"""Conversions: casts to a dtype, types of numbers, and values cut off from differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.frontend.arrays.array_creation import copy
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, argument, dtype_of
from tapec.frontend.evaluator.values import (
    Static,
    Sym,
    Template,
    Tup,
    Value,
    is_array,
    is_complex_array,
    is_none,
    is_scalar,
    number,
)
from tapec.frontend.operations import elementwise, python_errors, runtime_text
from tapec.frontend.operations.complex_arithmetic import converted
from tapec.syntax.core import Const, Op
from tapec.syntax.types import Scalar

# integers below it have products of 64 bits
_LARGE = 2**31


def caster(dtype: str) -> Any:
    def cast(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        if not args:
            return converted(ev, number(0), dtype)
        value = args[0]
        if isinstance(value, Static) and isinstance(value.obj, str):
            kind = float if dtype.startswith("float") else int
            if not isinstance(value.obj, Template):
                return _parsed(ev, value.obj, kind)
            if ev.deciding and ev.trying:
                return _parsed(ev, runtime_text.settled(ev, value.obj, node), kind)
            return runtime_text.asked(ev, value.obj, kind, "f8" if kind is float else "i8", node)
        if dtype == "bool" and not is_array(value) and not is_complex_array(value):
            return ev.truth(value, node)
        if isinstance(value, Sym) and isinstance(value.atom, Const):
            return converted(ev, value, dtype)
        if dtype.startswith("int"):
            python_errors.check_finite(ev, value)
        return elementwise.elementwise(ev, f"cast.{dtype}", (value,), node)

    return cast


def of_numpy(dtype: str) -> Any:
    """`np.int64(k)` and its like: a large integer is none that is known, since those of NumPy wrap around.

    An array that has the dtype is what it was.
    """
    convert = caster(dtype)

    def cast(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        if args and getattr(getattr(args[0], "type", None), "dtype", None) == dtype and not is_scalar(args[0]):
            return ev.materialise(args[0])
        value: Value = convert(ev, args, kwargs, node)
        if isinstance(value, Sym) and type(value.constant) is int and abs(value.constant) >= _LARGE:
            return ev.assign(Op(f"cast.{dtype}", (value.atom,)), value.type)
        return value

    return cast


def to_float(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`float(x)`; in compiled code a number of single precision stays one, as Numba has it."""
    single = len(args) == 1 and isinstance(args[0], Sym) and args[0].type == Scalar("float32")
    if single and ev.frame.jitted is not None:
        return args[0]
    made: Value = _TO_FLOAT(ev, args, kwargs, node)
    return made


_TO_FLOAT = caster("float64")


def _parsed(ev: Evaluator, text: str, kind: type[float] | type[int]) -> Value:
    """A number from known text; what is none raises where the program does."""
    try:
        return number(kind(text))
    except ValueError as error:
        if ev.deciding:
            raise Raised(ValueError, str(error)) from None
        ev.raise_("ValueError", str(error))
        raise DeadCode from None


def dtype_attribute(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return Static(np.dtype(dtype_of(ev, args[0], node)))


def stop_gradient(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """The same values with derivative zero; arrays are copied, so that later writes stay apart."""
    value = args[0]
    if isinstance(value, Tup):
        return Tup(tuple(stop_gradient(ev, [item], {}, node) for item in value.items), value.cls)
    return ev.materialise(elementwise.elementwise(ev, "stop_gradient", (value,), node))


def known(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A number that has another one's value and its own derivative."""
    return ev.op("known", *args, node=node)


def constant(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`tapec.constant`: of its argument's dtype unless one is given, with a name of its own."""
    value = ev.materialise(args[0])
    given = argument(args, kwargs, 1, "dtype")
    dtype = None if is_none(given) else dtype_of(ev, given, node)
    if not is_scalar(value):
        return copy(ev, value, dtype, node)
    number_ = ev.scalar(value)
    number_ = ev.cast(number_, Scalar(dtype)) if dtype else number_
    if ev.live is None or not number_.type.is_float:
        return ev.assign(number_.atom, number_.type)
    # not a plain copy, which to a tape would be the same value under another name
    return ev.assign(Op("pos", (number_.atom,)), number_.type)
