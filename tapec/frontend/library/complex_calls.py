"""Functions and methods of complex arrays.

Library functions work on complex elements as they stand, where they only move, add and multiply them: those are
listed here.  Others that compare or order elements are refused by name.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import UnsupportedFunction
from tapec.frontend.arrays import array_shapes
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Complex, Growing, Lst, Tup, Value, is_array, is_complex, is_scalar, number
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import rank_of
from tapec.frontend.operations.complex_arithmetic import each
from tapec.frontend.operations.elementwise import elementwise
from tapec.rules import (
    arrays_create,
    arrays_fourier,
    arrays_norms,
    arrays_polynomial,
    arrays_product,
    arrays_reduce,
    arrays_select,
    arrays_shape,
    arrays_split,
    complex_linalg,
    complex_numbers,
    linalg,
    linalg_calls,
    scipy_functions,
    scipy_special_calls,
)
from tapec.rules.library import INERT, LIBRARY, METHODS, PRIMITIVES, library_function
from tapec.syntax.types import FLOAT64

# library functions whose formulas hold for complex elements
_LIBRARY: frozenset[Any] = frozenset(
    {
        *(arrays_reduce.sum_, arrays_reduce.mean, arrays_reduce.prod, arrays_reduce.cumsum, arrays_reduce.cumprod),
        *(arrays_reduce.trapezoid, arrays_create.vander, arrays_create.meshgrid, linalg_calls.matrix_power),
        *(arrays_product.matmul, arrays_product.inner, arrays_product.outer, arrays_product.kron),
        *(arrays_product.convolve, arrays_product.cross, arrays_product.diff, arrays_product.ediff1d),
        *(arrays_reduce.cumulative_sum, arrays_reduce.cumulative_prod, arrays_product.matvec),
        *(arrays_polynomial.polyval, arrays_polynomial.polyval_falling),
        *(set(arrays_select.FUNCTIONS.values()) - {arrays_select.clip, arrays_select.real}),
        *arrays_fourier.FUNCTIONS.values(),
        *(scipy_special_calls.wofz, linalg_calls.eig, linalg_calls.eigvals, scipy_functions.expm),
        *arrays_shape.FUNCTIONS.values(),
        *arrays_split.FUNCTIONS.values(),
    }
)

# handlers of the frontend that have no place for complex elements
_REAL_ONLY: frozenset[Any] = frozenset({np.pad})

# functions that are linear in each of their operands
_MULTILINEAR: frozenset[Any] = frozenset({np.einsum, np.tensordot})

# library functions of complex matrices
_OF_MATRICES: dict[Any, Any] = {
    getattr(np.linalg, name): getattr(complex_linalg, name)
    for name in ("det", "slogdet", "cholesky", "eigvalsh", "svd", "svdvals", "cond", "pinv", "lstsq")
    if hasattr(np.linalg, name)
}

# what only moves elements: done to the real and the imaginary part
_MOVED: dict[Any, Any] = {
    np.reshape: array_shapes.reshape,
    np.ravel: array_shapes.ravel,
    np.transpose: array_shapes.transpose,
    np.swapaxes: array_shapes.swapaxes,
    np.squeeze: array_shapes.squeeze,
    np.expand_dims: array_shapes.expand_dims,
}
_MOVING_METHODS: dict[str, Any] = {
    **{name: _MOVED[getattr(np, name)] for name in ("reshape", "ravel", "transpose", "swapaxes", "squeeze")},
    "flatten": array_shapes.flatten,
}


def holds_complex(ev: Evaluator, value: Value) -> bool:
    """Whether an argument is complex, or has complex items."""
    if isinstance(value, Tup):
        return any(holds_complex(ev, item) for item in value.items)
    if isinstance(value, Lst) and value in ev.heap:
        contents = ev.heap[value]
        if isinstance(contents, Growing):
            return isinstance(contents.buffer, Complex)
        return any(holds_complex(ev, item) for item in contents.values)
    return is_complex(value)


def functions() -> list[Any]:
    """The functions of NumPy that work on complex arrays, beside those that make arrays."""
    library = (obj for obj, function in LIBRARY.items() if function in _LIBRARY)
    return [*_OWN, *_MOVED, *_OF_MATRICES, *_MULTILINEAR, *library]


def call(ev: Evaluator, obj: Any, dotted: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A function of NumPy with complex arguments; None for what works on them as it stands."""
    try:
        own = _OWN.get(obj)
        moved = _MOVED.get(obj)
    except TypeError:
        return None
    if own is not None:
        return own(ev, args, kwargs, node)
    if moved is not None and is_complex(args[0]):
        return _moved(ev, moved, args, kwargs, node)
    if obj in _REAL_ONLY:
        _refuse(ev, dotted, node)
    if obj in _MULTILINEAR:
        return _multilinear(ev, obj, args, kwargs, node)
    if obj in _OF_MATRICES:
        found: Value = ev.inline_library(_OF_MATRICES[obj], [_whole(ev, arg, node) for arg in args], kwargs, node)
        return found
    if obj in ev.special:
        return None
    library = library_function(obj)
    if (library is not None and library not in _LIBRARY) or dotted in PRIMITIVES or dotted in INERT:
        _refuse(ev, dotted, node)
    return None


def method(ev: Evaluator, owner: Value, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A method of a complex number or array; None for what works on it as it stands."""
    if name in ("conj", "conjugate"):
        return elementwise(ev, "np.conjugate", (owner,), node)
    if name in _MOVING_METHODS:
        return _moved(ev, _MOVING_METHODS[name], [owner, *args], kwargs, node)
    if name in ("var", "std", "dot"):
        return _OWN[getattr(np, name)](ev, [owner, *args], kwargs, node)
    library = METHODS.get(name)
    if (library is not None and library not in _LIBRARY) or f"np.{name}" in INERT:
        _refuse(ev, f".{name}", node)
    return None


def _refuse(ev: Evaluator, name: str, node: Any) -> None:
    ev.fail(
        UnsupportedFunction,
        f"`{name}` of complex numbers is not supported",
        node,
        hint="write it on .real and .imag, or on abs()",
    )


def _moved(ev: Evaluator, handler: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    owner = ev.materialise(args[0])
    result: Value = each(ev, owner, lambda part: handler(ev, [part, *args[1:]], kwargs, node))
    return result


# functions of their own


def _real(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return ev.get_attribute(args[0], "real", node)


def _imag(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return ev.get_attribute(args[0], "imag", node)


def _conjugated(ev: Evaluator, value: Value, node: Any) -> Value:
    return ev.materialise(elementwise(ev, "np.conjugate", (value,), node))


def _dot(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    first, second = args
    if all(is_array(arg) or (isinstance(arg, Complex) and arg.is_array) for arg in args):
        return ev.matmul(first, second, node)
    return ev.binary("*", first, second, node)


def _vdot(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    left = _conjugated(ev, args[0], node)
    found: Value = ev.inline_library(arrays_product.vdot, [left, args[1]], kwargs, node)
    return found


def _correlate(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    rest = [_conjugated(ev, args[1], node), *args[2:]]
    found: Value = ev.inline_library(arrays_product.correlate, [args[0], *rest], kwargs, node)
    return found


def _norm(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    sizes = ev.materialise(elementwise(ev, "abs", (args[0],), node))
    found: Value = ev.inline_library(arrays_norms.norm_of_sizes, [sizes, *args[1:]], kwargs, node)
    return found


def _whole(ev: Evaluator, value: Value, node: Any) -> Value:
    """An array of complex numbers where it may be a list; numbers and text stay as they are."""
    return ev.as_array(value, node) if isinstance(value, Tup | Lst) else ev.materialise(value)


def _multilinear(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A function of the parts of its first operand that is complex, and so on."""
    places = [k for k, arg in enumerate(args) if is_complex(arg)]
    if not places or kwargs.get("out") is not None:
        _refuse(ev, f"np.{obj.__name__}", node)
    first, parts = places[0], _parts(ev, args[places[0]], node)
    re, im = (ev.call_object(obj, [*args[:first], part, *args[first + 1 :]], kwargs, node) for part in parts)
    return ev.binary("+", re, ev.binary("*", im, complex_arithmetic.literal(1j), node), node)


def _solve(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.linalg.solve` and `inv`: of real matrices of twice the size."""
    wholes = [_whole(ev, arg, node) for arg in args]
    if any(rank_of(arg.re if isinstance(arg, Complex) else arg) > 2 for arg in wholes):  # type: ignore[arg-type]
        stacks = complex_linalg.solve if len(args) == 2 else complex_linalg.inv
        made: Value = ev.inline_library(stacks, wholes, kwargs, node)
        return made
    parts = [part for arg in args for part in _parts(ev, arg, node)]
    function = linalg.complex_solve if len(args) == 2 else linalg.complex_inv
    re, im = ev.inline_library(function, parts, {}).items
    return Complex(re, im)


def _parts(ev: Evaluator, value: Value, node: Any) -> tuple[Value, Value]:
    """The two parts of an array, which may be real."""
    whole = ev.materialise(value)
    if isinstance(whole, Complex):
        return whole.re, whole.im
    return whole, ev.call_object(np.zeros_like, [whole], {}, node)


def _var(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """The mean square of the distances from the mean: the variances of the parts, added."""
    whole = ev.materialise(args[0])
    if not isinstance(whole, Complex):
        whole = ev.as_array(whole, node)
    re, im = (ev.call_object(np.var, [part, *args[1:]], kwargs, node) for part in (whole.re, whole.im))
    return ev.binary("+", re, im, node)


def _std(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return elementwise(ev, "np.sqrt", (_var(ev, args, kwargs, node),), node)


def _is_complex(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return number(is_complex(args[0]))


def _is_real(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    return number(not is_complex(args[0]))


_OWN: dict[Any, Callable[..., Value]] = {
    np.real: _real,
    np.imag: _imag,
    np.dot: _dot,
    np.vdot: _vdot,
    np.correlate: _correlate,
    np.linalg.norm: _norm,
    np.linalg.solve: _solve,
    np.linalg.inv: _solve,
    np.var: _var,
    np.std: _std,
    np.iscomplexobj: _is_complex,
    np.isrealobj: _is_real,
}


# numbers


def complex_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`complex(re, im)`: of two real numbers, or of one number."""
    given = [*args, *(kwargs[key] for key in ("real", "imag") if key in kwargs)]
    if not given:
        return complex_arithmetic.literal(0.0)
    if len(given) == 1:
        return elementwise(ev, "cast.complex128", (given[0],), node)
    if all(is_scalar(part) for part in given):
        kind = complex_arithmetic.common(*(part.type.dtype for part in given))  # type: ignore[attr-defined]
        re, im = (complex_arithmetic.promoted(ev, part, kind) for part in given)
        return Complex(re, im)
    re, im = given
    return ev.binary("+", re, ev.binary("*", im, complex_arithmetic.literal(1j), node), node)


def complex_of(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A complex array of our own library, from its parts."""
    re, im = (ev.materialise(arg) for arg in args)
    return complex_arithmetic.joined(ev, re, im)


def _number(ev: Evaluator, value: Value, node: Any) -> Complex:
    """The argument of a function of cmath."""
    if not isinstance(value, Complex):
        value = ev.scalar(value, node)
    elif value.is_array:
        ev.scalar(value, node)
    made: Complex = complex_arithmetic.converted(ev, value, complex_arithmetic.common(value.type.dtype))  # type: ignore[union-attr]
    return made


def _of_cmath(fn: str) -> Callable[..., Value]:
    """A function of cmath, which takes a real number for a complex one."""

    def apply(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        return complex_arithmetic.operation(ev, fn, (_number(ev, args[0], node),), node)

    return apply


def _log(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`cmath.log(z)`, or of another base."""
    parts = [complex_arithmetic.operation(ev, "np.log", (_number(ev, arg, node),), node) for arg in args]
    return parts[0] if len(parts) == 1 else ev.binary("/", parts[0], parts[1], node)


def _polar(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    z = _number(ev, args[0], node)
    return Tup(tuple(complex_arithmetic.operation(ev, fn, (z,), node) for fn in ("abs", "np.angle")))


def _rect(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    length, angle = (ev.scalar(arg, node) for arg in args)
    direction = ev.inline_library(complex_numbers.turn, [angle], {})
    re, im = (ev.cast(ev.op("*", length, part), FLOAT64) for part in direction.items)
    return Complex(re, im)


_CMATH = {
    **{name: f"np.{name}" for name in ("exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: f"np.arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    **{name: f"np.{name}" for name in ("isnan", "isinf", "isfinite")},
    "phase": "np.angle",
}

SPECIAL: dict[Any, Callable[..., Value]] = {
    complex: complex_,
    cmath.log: _log,
    cmath.polar: _polar,
    cmath.rect: _rect,
    **{getattr(cmath, name): _of_cmath(fn) for name, fn in _CMATH.items()},
}
