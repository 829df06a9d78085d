"""Functions under Numba's decorators, as text: none is compiled before a test asks for it.

Each case has a function `f` of one number, and its slope at 1.5; Numba tells the value, or what is raised.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import types
from typing import Any
from unittest import mock

import numba
import numpy as np

_serial = itertools.count(1)

CASES: dict[str, tuple[str, float]] = {
    "a result is truncated": (
        """
@njit(int64(float64))
def k(x): return x * 2.5
@njit
def f(x): return k(x) * x
""",
        3.0,
    ),
    "arguments and result are single": (
        """
@njit("f4(f4)")
def k(x): return x / 3
def f(x): return k(x) * x
""",
        1.0,
    ),
    "of several signatures the one that fits": (
        """
@njit(["f8(f8)", "i8(i8)"])
def k(x): return x / 2
@njit
def f(x): return k(x) + k(3) * x + k(np.int32(5))
""",
        1.5,
    ),
    "two signatures fit alike": (
        """
@njit(["f8(f8)", "i8(i8)"])
def k(x): return x / 2
def f(x): return k(x) + k(x > 1)
""",
        0.0,
    ),
    "from compiled code the first one": (
        """
@njit(["f4(f4,f8)", "f4(f8,f4)"])
def k(x, y): return x + y
@njit
def f(x): return k(x / 3, x)
""",
        4 / 3,
    ),
    "variables have types": (
        """
@njit(locals={"i": int64, "a": float32, "z": float32})
def f(x):
    s = 0.0
    for i in (0.5, 1.5):
        s += i * x
    a, i = x / 3, x + 1.0
    i += x
    (z := x / 3)
    def h(i): return i * x
    return s * x + i * x + sum([i for i in (1.5, 2.5)]) + h(1.5) + a + z
""",
        3.0 + 3.0 + 1.5 + 2 / 3,
    ),
    "a parameter has a type": (
        """
@njit(locals={"x": int64})
def k(x): return x * 1.5
def f(x): return k(x) * x
""",
        1.5,
    ),
    "an index out of range": (
        """
@njit(boundscheck=True)
def k(a, i): return a[i]
def f(x): return k(np.ones(3) * x, 5)
""",
        0.0,
    ),
    "a division in an outer function that raises": (
        """
@njit
def k(x, y): return x / y
def f(x): return k(x, x - x)
""",
        0.0,
    ),
    "a division that gives infinity": (
        """
@njit(error_model="numpy")
def k(x, y): return x / y
@njit
def f(x): return 2.0 * x if k(x, x - x) > 9.0 else x
""",
        2.0,
    ),
    "the caller's error model": (
        """
@njit
def k(x, y): return x / y
@njit(error_model="numpy")
def f(x): return 2.0 * x if k(x, x - x) > 9.0 else x
""",
        2.0,
    ),
    "an inlined function has its caller's error model": (
        """
@njit(inline="always", error_model="numpy")
def k(x, y): return x / y
@njit
def f(x): return k(x, x - x)
""",
        0.0,
    ),
    "an inlined function has no signature": (
        """
@njit("i8(f8)", inline="always")
def k(x): return x * 2.5
@njit
def f(x): return k(x) * x
""",
        7.5,
    ),
    "an inlined function has one when Python calls": (
        """
@njit("i8(f8)", inline="always")
def k(x): return x * 2.5
def f(x): return k(x) * x
""",
        3.0,
    ),
    "a callback in compiled code": (
        """
@cfunc("i8(f8)")
def k(x): return x * 2.5
@njit
def f(x): return k(x) * x
""",
        3.0,
    ),
    "a callback in Python": (
        """
@cfunc("i8(f8)")
def k(x): return x * 2.5
def f(x): return k(x) * x
""",
        7.5,
    ),
    "an overload in compiled code": (
        """
from numba.extending import overload
def k(x): return x * 100
@overload(k)
def _(x):
    if isinstance(x, types.Integer): return lambda x: x * 2
    return lambda x: x * 3
@njit
def f(x): return k(x) * x + k(2)
""",
        9.0,
    ),
    "an overload in Python": (
        """
from numba.extending import overload
def k(x): return x * 100
@overload(k)
def _(x): return lambda x: x * 3
def f(x): return k(x) * x
""",
        300.0,
    ),
    "a registered function": (
        """
from numba.extending import register_jitable
@register_jitable(error_model="numpy")
def k(x, y): return x / y
@njit
def f(x): return 2.0 * x if k(x, x - x) > 9.0 else x
""",
        2.0,
    ),
    "a vectorised function": (
        """
@vectorize(["i8(f8)"])
def k(x): return x * 2.5
@njit
def f(x): return k(x) * x
""",
        3.0,
    ),
    "a vectorised function divides as NumPy": (
        """
@vectorize
def k(x): return 1.0 / (x - x)
@njit
def f(x): return 2.0 * x if k(x) > 9.0 else x
""",
        2.0,
    ),
    "a parallel loop divides as NumPy": (
        """
@njit(parallel=True)
def f(x):
    out = np.zeros(3)
    for i in prange(3):
        out[i] = x / (x - x)
    return 2.0 * x if out[1] > 9.0 else x
""",
        2.0,
    ),
    "a serial loop over prange": (
        """
@njit
def f(x):
    out = np.zeros(3)
    for i in prange(3):
        out[i] = 1.0 / (x - x)
    return out.sum()
""",
        0.0,
    ),
    "the result of the function itself": (
        """
@njit("f4(f8)")
def f(x): return x ** 3
""",
        6.75,
    ),
    "object mode": (
        """
def k(x): return x * 2.5
k = numba.jit("i8(f8)", forceobj=True)(k)
def f(x): return k(x) * x
""",
        7.5,
    ),
    "a static method": (
        """
class A:
    @staticmethod
    @njit("i8(f8)")
    def s(x): return x * 2.5
a = A()
def f(x): return A.s(x) * x + a.s(2 * x) * x
""",
        10.0,
    ),
    "a partial function": (
        """
import functools
@njit("i8(f8,f8)")
def k(x, y): return x * 2.5 * y
p = functools.partial(k, y=2.7)
def f(x): return p(x) * x
""",
        10.0,
    ),
    "a function that is an argument": (
        """
@njit("i8(f8)")
def k(x): return x * 2.5
def apply(g, x): return g(x)
def f(x): return apply(k, x) * x
""",
        3.0,
    ),
    "a function of a function type": (
        """
@njit(types.float64(types.FunctionType(types.int64(types.float64)), types.float64))
def apply(g, x): return g(x)
@njit("i8(f8)")
def k(x): return x * 2.5
def f(x): return apply(k, x) * x
""",
        3.0,
    ),
    "a tuple of results": (
        """
@njit(types.Tuple((types.float64, types.int64))(types.float64))
def k(x): return x, x
def f(x):
    a, b = k(x)
    return a * b
""",
        1.0,
    ),
    "a tuple of arguments": (
        """
@njit("f8(UniTuple(f4,2))")
def k(p): return p[0] + p[1] / 3
def f(x): return k((x / 3, x))
""",
        2 / 3,
    ),
    "complex numbers": (
        """
@njit("c8(c8)")
def k(z): return z * 1j / 3
@njit("c16(f8)")
def l(z): return z * 1.5
def f(x): return abs(k(x)) + l(x).real * x
""",
        1 / 3 + 4.5,
    ),
    "arrays of any layout": (
        """
@njit("f8[:](f8[:])")
def k(a): return a * 2
def f(x): return k(np.ones(3) * x).sum() + k((np.ones(6) * x)[::2]).sum()
""",
        12.0,
    ),
    "arrays of one layout": (
        """
@njit("f8(f8[::1])")
def k(a): return a.sum()
def f(x): return k((np.ones(6) * x)[::2])
""",
        0.0,
    ),
    "arrays of another precision": (
        """
@njit("f8(f4[:])")
def k(a): return a.sum()
def f(x): return k(np.ones(6) * x)
""",
        0.0,
    ),
    "an array that is written into": (
        """
@njit("void(f8[:], f8)")
def k(a, v):
    a[0] = v
def f(x):
    a = np.zeros(2)
    k(a, x * 3)
    k(a[1:], x * 2)
    return a[0] * a[1]
""",
        18.0,
    ),
    "an argument that may be None": (
        """
@njit(types.float64(types.optional(types.float64)))
def k(x):
    if x is None: return 2.0
    return x * 2
def f(x): return k(None) * x + k(x) + k(2)
""",
        4.0,
    ),
    "text": (
        """
@njit("f8(f8, unicode_type)")
def k(x, s): return x if s == "a" else 2 * x
def f(x): return k(x, "b")
""",
        2.0,
    ),
    "a boolean result": (
        """
@njit("b1(f8)")
def k(x): return x
def f(x): return 2 * x if k(x - 2.5) else 3 * x
""",
        2.0,
    ),
    "a small unsigned result": (
        """
@njit("u1(f8)")
def k(x): return x
def f(x): return k(x * 200.3) * x
""",
        44.0,
    ),
    "a function that takes no more types": (
        """
def k(x): return x * 1.0
k = njit(k)
k(1)
k.disable_compile()
def f(x): return k(x) * x
""",
        1.0,
    ),
    "the plain function of a jitted one": (
        """
@njit("i8(f8)")
def k(x): return x * 2.5
def f(x): return k.py_func(x) * x + njit("f4(f8)")(k.py_func)(x)
""",
        7.5 + 2.5,
    ),
    "a recursive function": (
        """
@njit
def k(x, n):
    if n == 0: return 1.0 / (x - 6.0)
    return k(x * 2, n - 1)
def f(x): return k(x, 2) + k(x, 3)
""",
        0.0,
    ),
    "options that change nothing": (
        """
@njit(fastmath=True, nogil=True, debug=False, no_cpython_wrapper=False)
def f(x): return x * x
""",
        3.0,
    ),
    "division in a loop": (
        """
@njit(error_model="python")
def f(x):
    s = 0.0
    a = np.arange(5.0)
    for i in range(5):
        if i != 3:
            s += x / (a[i] - 3.0)
    return s
""",
        -1 / 3 - 1 / 2 - 1 + 1,
    ),
    "division by zero in a loop": (
        """
@njit
def f(x):
    s = 0.0
    a = np.arange(5.0)
    for i in range(5):
        s += x / (a[i] - 3.0)
    return s
""",
        0.0,
    ),
    "an unused division": (
        """
@njit
def f(x):
    z = x / (x - x)
    return x
""",
        0.0,
    ),
    "a remainder": (
        """
@njit
def f(x): return x % (x - x)
""",
        0.0,
    ),
    "a quotient and a remainder": (
        """
@njit
def f(x): return divmod(x, x - x)[0]
""",
        0.0,
    ),
    "a complex division": (
        """
@njit(error_model="numpy")
def f(x): return abs((x + 1j) / (x - x + 0j))
""",
        0.0,
    ),
    "a negative power": (
        """
@njit(error_model="numpy")
def f(x): return (x - x) ** -1
""",
        0.0,
    ),
    "division in place": (
        """
@njit
def f(x):
    a = np.ones(3) * x
    a[1] /= x - x
    return a.sum()
""",
        0.0,
    ),
    "integers under NumPy's error model": (
        """
@njit(error_model="numpy")
def f(x):
    n = int(x) - int(x)
    return x * (7 // n + 1) + 7 % n
""",
        1.0,
    ),
    "arrays divide as NumPy": (
        """
@njit
def f(x):
    a = np.ones(3) / (x - x)
    return np.isinf(a).sum() * x
""",
        3.0,
    ),
    "a division that is not reached": (
        """
@njit
def f(x):
    if x > 0.0:
        return x
    return x / (x - x)
""",
        1.0,
    ),
}

# those whose generated text means something else to Python
MACHINE_CODE = frozenset(
    {"a small unsigned result", "integers under NumPy's error model", "arrays divide as NumPy"}
    | {"a division that gives infinity", "the caller's error model", "a registered function"}
    | {"a vectorised function divides as NumPy", "a parallel loop divides as NumPy"}
)

# what Numba has no such thing as: decorators inside functions, with the value and the slope
INSIDE: dict[str, tuple[str, float, float]] = {
    "a decorator with a signature": (
        """
def f(x):
    @njit("i8(f8)")
    def k(x): return x * 2.5
    return k(x) * x
""",
        4.5,
        3.0,
    ),
    "a signature of types": (
        """
def f(x):
    @njit(int64(float64), error_model="numpy")
    def k(x): return x * 2.5
    return k(x) * x
""",
        4.5,
        3.0,
    ),
    "a call": (
        """
def h(x):
    y = x * 2.5
    return y
def f(x):
    k = njit(locals={"y": int64})(h)
    return k(x) * x + njit(h)(x)
""",
        8.25,
        5.5,
    ),
}

# texts, and what of the first line that an error points at
REFUSED: dict[str, tuple[str, str, str]] = {
    "an option that Numba does not have": (
        """
@njit(fast=True)
def f(x): return x
""",
        "njit(fast=True)",
        "no option `fast`",
    ),
    "an error model that Numba does not have": (
        """
@njit(error_model="strict")
def f(x): return x
""",
        'njit(error_model="strict")',
        "no error model 'strict'",
    ),
    "a pipeline": (
        """
from numba.core.compiler import Compiler
class Mine(Compiler): pass
@njit(pipeline_class=Mine)
def f(x): return x
""",
        "njit(pipeline_class=Mine)",
        "Mine may change",
    ),
    "a cost model": (
        """
@njit("f8(f8)", inline=lambda *parts: True)
def k(x): return x
@njit
def f(x): return k(x)
""",
        'njit("f8(f8)", inline=lambda *parts: True)',
        "does not inline",
    ),
    "a function type of another function": (
        """
@njit(types.float64(types.FunctionType(types.int64(types.float64)), types.float64))
def apply(g, x): return g(x)
@njit
def k(x): return x * 2.5
def f(x): return apply(k, x) * x
""",
        "njit(types.float64(types.FunctionType(types.int64(types.float64)), types.float64))",
        "FunctionType",
    ),
    "a decorator inside that Numba does not take": (
        """
def f(x):
    @njit("f8(f8", nogil=True)
    def k(x): return x
    return k(x)
""",
        'njit("f8(f8", nogil=True)',
        "does not take",
    ),
}


def module(text: str) -> dict[str, Any]:
    """What the text of a module defines; the text is kept, so that its functions have source."""
    file = f"<decorated {next(_serial)}>"
    # Numba links a recursive function by its module
    made = sys.modules[file] = types.ModuleType(file)
    names = vars(made)
    names |= {"np": np, "numba": numba}
    exec("from numba import *\nfrom numba import types", names)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    with mock.patch.object(numba.config, "DISABLE_JIT", False):  # which tests of generated code turn on
        exec(compile(text, file, "exec"), names)
    return names
