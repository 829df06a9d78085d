"""Discrete Fourier transforms along the last axis, of numbers as pairs of real arrays.

Compiled code calls the C loops that NumPy's own functions (`np.fft`, NumPy 2) run.  It asks for their addresses when
the first one is called.

>>> import numpy as np
>>> re, im = dft(np.array([1.0, 2.0]), np.array([0.0, 0.0]), -1)
>>> re, im
(array([ 3., -1.]), array([0., 0.]))
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import overload
from numba.np.arrayobj import make_array

from tapec_runtime.addresses import PREFIX, call_loop, known_address, loop_of
from tapec_runtime.registration import register

_LOOPS = {"fft": "Dd->D", "ifft": "Dd->D", "rfft_n_even": "dd->D", "rfft_n_odd": "dd->D", "irfft": "Dd->d"}
_MISSING = "compiled code needs NumPy 2 for Fourier transforms"


def __getattr__(name: str) -> int:
    """The address of a loop, or of the data that goes with it, as compiled code asks for it."""
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loop, _, more = name.removeprefix(PREFIX).partition("__")
    precision, _, part = more.partition("__")
    return _loop(loop, precision == "single")[part == "data"]


@cache
def _loop(name: str, single: bool) -> tuple[int, int]:
    """Where a C loop of NumPy's transforms and its data are.

    raises  ImportError if this NumPy has none of that name
    """
    try:
        umath: Any = importlib.import_module("numpy.fft._pocketfft_umath")
    except ImportError:
        raise ImportError("this NumPy has no loops of its Fourier transforms: compiled code needs NumPy 2") from None
    kind = _LOOPS[name].replace("D", "F").replace("d", "f") if single else _LOOPS[name]
    return loop_of(getattr(umath, name), kind)


def _called(name: str) -> Callable[..., Any]:
    def function(given: Any, out: Any) -> None:
        umath: Any = importlib.import_module("numpy.fft._pocketfft_umath")
        out[...] = getattr(umath, name)(given, given.real.dtype.type(1), np.empty_like(out))

    function.__name__ = function.__qualname__ = f"fill_by_{name}"
    function.__doc__ = f"Fill rows of `out` with the transforms of rows of `given`, by NumPy's loop `{name}`."
    return function


def _resolve(_context: Any) -> Any:
    return lambda given, out: types.none


def _lowering(name: str) -> Callable[..., Any]:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        single = any(kind.dtype in (types.float32, types.complex64) for kind in kinds)
        given, out = (make_array(kind)(context, builder, value=arg) for kind, arg in zip(kinds, args, strict=True))
        label = f"{name}__{'single' if single else 'double'}"
        loop = known_address(context, builder, __name__, f"{label}__loop", _MISSING)
        # loops of real numbers have no data
        data = ir.Constant(cgutils.voidptr_t, None)
        if name in ("fft", "ifft"):
            data = known_address(context, builder, __name__, f"{label}__data", _MISSING)
        one = cgutils.alloca_once_value(builder, ir.Constant(ir.FloatType() if single else ir.DoubleType(), 1.0))
        shapes = [cgutils.unpack_tuple(builder, array.shape, 2) for array in (given, out)]
        steps = [cgutils.unpack_tuple(builder, array.strides, 2) for array in (given, out)]
        counts = [shapes[0][0], shapes[0][1], shapes[1][1]]
        strides = [steps[0][0], ir.Constant(ir.IntType(64), 0), steps[1][0], steps[0][1], steps[1][1]]
        call_loop(builder, loop, data, [given.data, one, out.data], counts, strides)
        return context.get_dummy_value()

    return lower


for _name in _LOOPS:
    globals()[f"fill_by_{_name}"] = _called(_name)
    register(globals()[f"fill_by_{_name}"], _resolve, _lowering(_name), types.Array, types.Array)

_fft, _ifft, _irfft = (globals()[f"fill_by_{name}"] for name in ("fft", "ifft", "irfft"))
_even, _odd = (globals()[f"fill_by_{name}"] for name in ("rfft_n_even", "rfft_n_odd"))


@njit(cache=True)
def _rows(a: Any) -> Any:
    """The lanes along the last axis, as rows."""
    return np.ascontiguousarray(a).reshape((a.size // max(a.shape[-1], 1), a.shape[-1]))


def _complex_rows(re, count):  # type: ignore[no-untyped-def]
    """Rows of complex numbers of the precision of real ones, as many as those have, which are not set."""
    return np.empty((re.shape[0], count), np.result_type(re.dtype, np.complex64))


@overload(_complex_rows)
def _complex_rows_of(re, count):  # type: ignore[no-untyped-def]
    kind = np.complex64 if re.dtype == types.float32 else np.complex128
    return lambda re, count: np.empty((re.shape[0], count), kind)


@njit(cache=True)
def _joined(re: Any, im: Any) -> Any:
    """Complex numbers from rows of parts."""
    out = _complex_rows(re, re.shape[1])
    for i in range(re.shape[0]):
        for j in range(re.shape[1]):
            out[i, j] = complex(re[i, j], im[i, j])
    return out


@njit(cache=True)
def _parts(z: Any, shape: Any, kind: Any) -> Any:
    re = np.empty(z.shape, kind)
    im = np.empty(z.shape, kind)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            re[i, j] = z[i, j].real
            im[i, j] = z[i, j].imag
    return re.reshape(shape), im.reshape(shape)


@njit(cache=True)
def dft(re: Any, im: Any, sign: int) -> Any:
    """Sums of `z[j] * exp(sign * 2j * pi * j * k / n)` along the last axis, as parts.

    re, im   arrays of one shape and float type, whose last axis is not empty
    sign     -1 for the transform, 1 for its inverse times n
    """
    z = _joined(_rows(re), _rows(im))
    out = np.empty_like(z)
    if z.size > 0:
        if sign < 0:
            _fft(z, out)
        else:
            _ifft(z, out)
    return _parts(out, re.shape, re.dtype)


@njit(cache=True)
def real_dft(x: Any) -> Any:
    """The first half, n // 2 + 1 numbers, of the transform of real numbers along the last axis, as parts."""
    rows = _rows(x)
    n = rows.shape[1]
    out = _complex_rows(rows, n // 2 + 1)
    if rows.size > 0:
        if n % 2 == 0:
            _even(rows, out)
        else:
            _odd(rows, out)
    return _parts(out, x.shape[:-1] + (n // 2 + 1,), x.dtype)


@njit(cache=True)
def real_inverse(re: Any, im: Any, n: int) -> Any:
    """The n real numbers of whose transform the first half is given, times n."""
    z = _joined(_rows(re), _rows(im))
    out = np.empty((z.shape[0], n), re.dtype)
    if out.size > 0:
        _irfft(z, out)
    return out.reshape(re.shape[:-1] + (n,))
