"""Functions that have code and no text, as `exec` makes them of a string."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numba import njit
from numba.extending import overload

import tapec
from tapec.errors import SourceUnavailable
from tapec.frontend.source.decompiled import _compiled, _traits, text_of
from tests.oracles import check

# the instructions of other versions are others; there such a function has no source, unless they are alike
pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="instructions are those of Python 3.11")
X = np.array([0.7, 1.3, 2.1, 0.4, 1.9])

PROGRAMS = {
    "an expression": "def f(x, a=2.0):\n    'text'\n    return np.exp(-0.5 * (x / a) ** 2).sum(axis=0) + -x[1:3][0]",
    "a lambda": "f = lambda x: (x ** 3).sum()",
    "a loop": "def f(x):\n    s = 0.0\n    for i in range(x.shape[0]):\n        s += math.sin(x[i])\n    return s",
    "branches": (
        "def f(x):\n    if x[0] > 0.5 and x[1] > 2:\n        return x[0]\n    elif x[2] > 3:\n        return x[2]\n"
        "    t = (x[0] if x[1] > 1 else x[3]) * 2\n    while t < 10 and x[0] > 0: t *= x[2]\n    return t"
    ),
    "several targets": (
        "def f(x):\n    a = b = x[0] * 2\n    a, b = x[1], a\n    a, b, c = b, a, x[2]\n"
        "    d, e = np.array([a, b * c])\n    return a * b ** 2 + d * e"
    ),
    "stores": "def f(x):\n    y = x.copy()\n    y[1:] *= x[0]\n    y[0] = -y[1]\n    y[2] += 1.0\n    return y @ y",
    "loops that are left": (
        "def f(x):\n    s = 0.0\n    for i in range(5):\n        if x[i] > 2:\n            continue\n"
        "        if x[i] < 0.5 or i == 1:\n            s += x[i]\n        else:\n            s *= x[i]\n"
        "        for j in range(i):\n            if j == 2: break\n            s += x[j] * x[i]\n    return s"
    ),
    "tests of None": (
        "def f(x, k=None):\n    if not x.size: return 3.0\n    if k is None: k = x[0]\n    return g(x, k=k)\n"
        "def g(x, k):\n    return x.sum() * k"
    ),
}


def made(program):
    names = {"np": np, "math": math}
    exec(program, names)
    return names["f"]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_derivatives(program):
    check(made(program), (X,))


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_the_text_compiles_to_the_code(program):
    code = made(program).__code__
    text = text_of(code)
    assert text is not None
    assert _traits(_compiled(text, code)) == _traits(code)


def test_closures_and_compiled_functions():
    names = {"np": np, "njit": njit}
    exec("def around(k):\n    def f(x):\n        return k * (x ** 2).sum()\n    return f", names)
    check(names["around"](3.0), (X,))
    exec("@njit\ndef density(x, a):\n    return np.exp(-0.5 * (x - a) ** 2)", names)
    exec("@njit\ndef f(x):\n    return np.log(density(x, x[0])).sum()", names)
    check(names["f"], (X,))


def squared(a):
    return a * a


@overload(squared)
def _squared(a):
    names = {}
    exec("def by_exec(a):\n    return a * a\n", names)
    return names["by_exec"]


@njit
def overloaded(x):
    return squared(x[0]) * squared(x[1])


def test_an_overload_without_text():
    check(overloaded, (X,))


@pytest.mark.parametrize(
    "program",
    ["def f(x):\n    return [v for v in x][0]", "def f(x):\n    with x: pass\n    return x", "def f(x):\n    yield x"],
    ids=["a comprehension", "a context", "a generator"],
)
def test_what_is_not_read_has_no_source(program):
    with pytest.raises(SourceUnavailable, match="no text is known"):
        tapec.grad(made(program))(X)
