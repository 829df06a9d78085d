"""Arithmetic of complex numbers, as operations on their parts.

The values are Numba's for finite numbers.  Numba makes a complex number of a real operand first, so that terms of
its zero take part; of these only those are written that decide the sign of a zero imaginary part, and with it the
side of a branch cut.  An imaginary literal times a real number has no real part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapec.errors import TypeMismatch, UnsupportedFunction
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import PART_OF, Complex, Lazy, Sym, Value, describe, is_array, is_complex, number
from tapec.rules import complex_numbers, shown
from tapec.syntax.core import Const, Name
from tapec.syntax.types import Array, Scalar

# real dtypes that a complex64 can stand for
_NARROW = frozenset({"float32", "complex64", "bool", "int8", "int16", "uint8", "uint16"})
_ORDERS = frozenset({"<", "<=", ">", ">=", "max", "min", "np.maximum", "np.minimum", "np.fmax", "np.fmin"})
_LARGEST_CHAIN = 64


def literal(value: complex) -> Complex:
    """A complex number that is known."""
    return Complex(number(value.real), number(value.imag))


def joined(ev: Evaluator, re: Sym, im: Sym) -> Complex:
    """A complex array of two real ones, whose extents are the same."""
    assert isinstance(re.atom, Name) and isinstance(im.atom, Name)
    ev.partners[im.atom.id] = re.atom.id
    return Complex(re, im)


def each(ev: Evaluator, value: Value, function: Callable[[Sym], Any]) -> Any:
    """`function` of an array, or of both parts of a complex one."""
    if not isinstance(value, Complex):
        return function(value)  # type: ignore[arg-type]
    re, im = function(value.re), function(value.im)
    return joined(ev, re, im) if isinstance(re.type, Array) else Complex(re, im)


def lead(value: Any) -> Any:
    """The array that tells the shape: the value itself, or the real part."""
    return value.re if isinstance(value, Complex) else value


def parts(value: Any) -> tuple[Any, ...]:
    """The value, or both its parts."""
    return (value.re, value.im) if isinstance(value, Complex) else (value,)


def common(*dtypes: str) -> str:
    """The complex dtype of an operation on numbers of these dtypes."""
    return "complex64" if _NARROW.issuperset(dtypes) else "complex128"


def promoted(ev: Evaluator, value: Value, dtype: str) -> Value:
    """A number with parts of the precision of `dtype`; a real one stays real."""
    part = Scalar(PART_OF[dtype])
    if isinstance(value, Complex):
        return Complex(ev.cast(value.re, part), ev.cast(value.im, part))
    return ev.cast(ev.scalar(value), part)


def converted(ev: Evaluator, value: Value, dtype: str) -> Any:
    """A number as one of `dtype`, which is complex or real; complex numbers do not become real."""
    if dtype not in PART_OF:
        return ev.cast(ev.scalar(value), Scalar(dtype))
    made = promoted(ev, value, dtype)
    return made if isinstance(made, Complex) else Complex(made, _zero(ev, made))


def _zero(ev: Evaluator, like: Any) -> Sym:
    return ev.cast(number(0.0), like.type)


def _is_zero(part: Sym) -> bool:
    return isinstance(part.atom, Const) and part.atom.value == 0.0


def _is_imaginary(value: Value) -> bool:
    return isinstance(value, Complex) and _is_zero(value.re)


# operations


def operation(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any = None) -> Value:
    """A scalar function of numbers of which some are complex, or whose result is."""
    fn = complex_numbers.SAME.get(fn, fn)
    if fn.startswith("cast."):
        return _cast(ev, fn.removeprefix("cast."), args[0], node)
    if fn == "stop_gradient":
        return each(ev, args[0], lambda part: ev.op(fn, part))
    if fn in ("not", "and", "or"):
        return ev.op(fn, *(ev.truth(arg, node) for arg in args))
    dtype = common(*(arg.type.dtype for arg in args))  # type: ignore[attr-defined]
    if fn == "**" and not isinstance(args[1], Complex) and not args[1].type.is_float:  # type: ignore[attr-defined]
        # an integer exponent stays one
        return promoted(ev, _power(ev, promoted(ev, args[0], dtype), args[1]), dtype)
    args = tuple(promoted(ev, arg, dtype) for arg in args)
    if fn in _ARITHMETIC and len(args) == 2:
        return promoted(ev, _ARITHMETIC[fn](ev, *args), dtype)
    if fn == "np.imag":
        return converted(ev, args[0], dtype).im
    formula = _formula(ev, fn, args, node)
    if fn == "np.exp" and _is_imaginary(args[0]):
        formula = complex_numbers.turn
        args = (args[0].im,)  # type: ignore[attr-defined]
    whole = args if formula is complex_numbers.turn else [converted(ev, arg, dtype) for arg in args]
    found = ev.inline_library(formula, [part for arg in whole for part in parts(arg)], {})
    if fn in complex_numbers.COMPLEX:
        return promoted(ev, Complex(*found.items), dtype)
    return ev.cast(found, Scalar(PART_OF[dtype])) if fn in complex_numbers.REAL else found


def _formula(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any) -> Any:
    """The function on the parts that stands for an operation; an error if there is none."""
    for table in (complex_numbers.COMPLEX, complex_numbers.REAL, complex_numbers.LOGICAL):
        if fn in table:
            return table[fn]
    if fn in _ORDERS:
        ev.fail(TypeMismatch, f"`{fn}` of complex numbers", node, reason="they have no order", hint="compare abs(z)")
    dtype = next(arg.type.dtype for arg in args if is_complex(arg))  # type: ignore[attr-defined]
    ev.fail(UnsupportedFunction, f"`{shown(fn)}` of {dtype} is not supported", node)


def _cast(ev: Evaluator, dtype: str, value: Value, node: Any) -> Value:
    if dtype in PART_OF:
        return converted(ev, value, dtype)
    if dtype == "bool":
        return ev.truth(value, node)
    ev.fail(TypeMismatch, f"cannot convert {describe(value)} to {dtype}", node, hint="take .real, .imag or abs()")


def truth(ev: Evaluator, value: Complex) -> Sym:
    """Whether a number is not zero."""
    return ev.op("or", ev.op("!=", value.re, number(0.0)), ev.op("!=", value.im, number(0.0)))


def _parts(value: Any) -> tuple[Sym, Sym | None]:
    """The real part, and the imaginary part if the value is complex."""
    return (value.re, value.im) if isinstance(value, Complex) else (value, None)


def _unsigned(ev: Evaluator, part: Sym) -> Sym:
    """`0.0 + part`: what the zero of a real operand leaves of a negative zero."""
    if isinstance(part.atom, Const) or (isinstance(part.atom, Name) and part.atom.id in ev.unsigned):
        return part
    result = ev.op("+", _zero(ev, part), part)
    if isinstance(result.atom, Name):
        ev.unsigned.add(result.atom.id)
    return result


def _still(ev: Evaluator, part: Sym) -> Sym:
    """`0.0 * part`, a zero of the sign of `part`; its derivative is zero."""
    return ev.op("stop_gradient", ev.op("*", _zero(ev, part), part))


def _add(ev: Evaluator, left: Value, right: Value) -> Value:
    (a, b), (c, d) = _parts(left), _parts(right)
    re = c if _is_imaginary(left) else a if _is_imaginary(right) else ev.op("+", a, c)
    if b is not None and d is not None:
        return Complex(re, ev.op("+", b, d))
    im = b if b is not None else d
    assert im is not None
    return Complex(re, _unsigned(ev, im))


def _subtract(ev: Evaluator, left: Value, right: Value) -> Value:
    (a, b), (c, d) = _parts(left), _parts(right)
    re = a if _is_imaginary(right) else ev.op("-", a, c)
    if d is None:
        assert b is not None
        return Complex(re, b)
    return Complex(re, ev.op("-", _zero(ev, d) if b is None else b, d))


def _multiply(ev: Evaluator, left: Value, right: Value) -> Value:
    if not isinstance(left, Complex) or (_is_imaginary(right) and not _is_imaginary(left)):
        left, right = right, left
    (a, b), (c, d) = _parts(left), _parts(right)
    assert b is not None
    if d is None:
        if _is_zero(a):
            return Complex(_zero(ev, c), _unsigned(ev, ev.op("*", b, c)))
        return Complex(ev.op("*", a, c), ev.op("+", ev.op("*", b, c), _still(ev, a)))
    if _is_zero(a):
        across = _still(ev, c) if _is_zero(c) else ev.op("*", b, c)
        return Complex(ev.op("neg", ev.op("*", b, d)), ev.op("+", across, _still(ev, d)))
    found = ev.inline_library(complex_numbers.product, [a, b, c, d], {})
    return Complex(*found.items)


def _divide(ev: Evaluator, left: Value, right: Value) -> Value:
    (a, b), (c, d) = _parts(left), _parts(right)
    if d is None:
        assert b is not None
        if _is_zero(a):
            return Complex(a, ev.op("/", b, c))
        # Numba's zero imaginary part of the divisor, over its real part
        known = c.constant
        ratio = ev.op("np.copysign", _zero(ev, c), c) if known is None else number(math.copysign(0.0, known))
        across = ev.op("stop_gradient", ev.op("*", a, ev.cast(ratio, a.type)))
        return Complex(ev.op("/", a, c), ev.op("/", ev.op("-", b, across), c))
    if b is None:
        found = ev.inline_library(complex_numbers.real_quotient, [a, c, d], {})
    else:
        found = ev.inline_library(complex_numbers.quotient, [a, b, c, d], {})
    return Complex(*found.items)


def _power(ev: Evaluator, left: Value, right: Value) -> Value:
    (a, b), (c, d) = _parts(left), _parts(right)
    if d is not None:
        found = ev.inline_library(complex_numbers.power, [a, _zero(ev, a) if b is None else b, c, d], {})
        return Complex(*found.items)
    assert b is not None and isinstance(c.type, Scalar)
    exponent = c.constant
    if exponent is not None and exponent == int(exponent) and abs(exponent) <= _LARGEST_CHAIN:
        chain = _chain(ev, left, abs(int(exponent)))
        return _divide(ev, ev.cast(number(1.0), a.type), chain) if exponent < 0 else chain
    formula = complex_numbers.real_power if c.type.is_float else complex_numbers.whole_power
    return Complex(*ev.inline_library(formula, [a, b, c], {}).items)


def _chain(ev: Evaluator, base: Value, exponent: int) -> Value:
    """A power by squaring, written out."""
    result: Value | None = None
    while exponent:
        if exponent % 2:
            result = base if result is None else _multiply(ev, result, base)
        exponent //= 2
        base = _multiply(ev, base, base) if exponent else base
    return literal(1.0) if result is None else result


_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "**": _power,
}


# elementwise expressions


def lazy(ev: Evaluator, fn: str, args: tuple[Value, ...], node: Any = None) -> Lazy:
    """An elementwise expression on arrays, with complex numbers in it or as its result."""
    fn = complex_numbers.SAME.get(fn, fn)
    types = [arg.type for arg in args]  # type: ignore[attr-defined]
    ndim = max(t.ndim if isinstance(t, Array) else 0 for t in types)
    return Lazy(fn, args, Array(_array_dtype(ev, fn, args, types, node), ndim))


def _array_dtype(ev: Evaluator, fn: str, args: tuple[Value, ...], types: list[Any], node: Any) -> str:
    if fn.startswith("cast."):
        dtype = fn.removeprefix("cast.")
        if dtype not in PART_OF and dtype != "bool":
            _cast(ev, dtype, next(arg for arg in args if is_complex(arg)), node)
        return dtype
    if fn in complex_numbers.LOGICAL or fn in ("not", "and", "or"):
        return "bool"
    if fn == "ifelse":
        types = types[1:]
    # Numba weighs a number less than an array, so it is asked
    one = types[0].dtype
    if len(types) > 1:
        found: Any = numba_types.result_type(numba_types.callable_of("+"), tuple(types))
        one = str(found.dtype if hasattr(found, "ndim") else found)
    if fn in ("ifelse", "stop_gradient") or fn in _ARITHMETIC:
        return one
    if fn != "np.imag":
        _formula(ev, fn, args, node)
    return PART_OF[one] if fn in complex_numbers.REAL or fn == "np.imag" else one


def has_complex(fn: str, args: tuple[Value, ...]) -> bool:
    """Whether an elementwise operation is one of this module."""
    return fn.removeprefix("cast.") in PART_OF or any(is_complex(arg) for arg in args)


def any_array(args: tuple[Value, ...]) -> bool:
    return any(is_array(arg) or (isinstance(arg, Complex) and arg.is_array) for arg in args)
