"""Each row of the tables of docs/language.md that says what is taken has a program here that is differentiated.

The oracle is a central difference; the same program runs as plain Python.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.experimental import jitclass
from scipy.sparse.linalg import spsolve

import tapec
from tests.typed import interpreted

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
X = np.array([0.7, 1.3, 2.1])
Pair = collections.namedtuple("Pair", ["low", "high"])


@dataclasses.dataclass
class Weights:
    w: np.ndarray
    b: float


class Layer:
    def __init__(self, w, act):
        self.w, self.act = w, act

    @property
    def twice(self):
        return 2.0 * self.w

    def __call__(self, x):
        return self.act(x * self.twice)


ROWS: dict[str, list[tuple[Any, tuple[Any, ...]]]] = {}


def row(cell: str, *more: Any):
    """A program for the row with a first cell; `more`: its arguments after the array that is differentiated."""

    def note(f):
        ROWS.setdefault(cell, []).append((f, more))
        return f

    return note


@row("`float`, `int`, `bool`, NumPy scalars", 2.0, 3, True, np.float32(1.5))
def numbers(x, a, n, flag, b):
    return (a if flag else b) * b * np.sum(x) ** n


@row(
    "arrays of any rank",
    np.ones((2, 3, 2), np.float32),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(6)[::2],
    np.zeros((0, 3)),
    np.array(3.0),
    np.array([True, False, True]),
    np.matrix([[1.0, 2.0]]),
)
def arrays(x, a, f, n, none, single, mask, plain):
    return np.sum(a[0, :, 1] * x) + np.sum(f @ x) + np.sum(n * x) + np.sum(none @ x) + single * x[0] + np.sum(
        x[mask]
    ) * plain[0, 1]


@row(
    "tuples, named tuples, lists, dataclasses, dicts with strings as keys",
    (2.0, (3.0, [1.0, 2.0])),
    Pair(1.0, 2.0),
    Weights(np.ones(3), 0.5),
    {"w": np.ones(3), "b": {"c": 2.0}},
)
def containers(x, t, pair, weights, p):
    q = p | {"b": 1.0}
    total = sum(len(key) for key, _ in p.items()) * q["b"]
    return np.sum(x * p["w"]) * p["b"]["c"] + t[1][1][0] * x[0] + pair.high * x[1] + weights.b * np.sum(
        weights.w * x
    ) + total + p.get("z", 3.0) * x[2]


@row("objects of classes with source", Layer(0.3, np.tanh))
def objects(x, layer):
    return np.sum(layer(x)) + layer.twice


@row(
    "matrices of `scipy.sparse`: csr, csc and coo",
    sp.csr_array(np.eye(3)),
    sp.csc_matrix(np.eye(3)),
    sp.coo_array(np.eye(3)),
)
def sparse_matrices(x, A, B, C):
    places = np.arange(3)
    made = sp.coo_array((x, (places, places)), shape=(3, 3)).tocsr() * 2.0 / x[0]
    systems = np.sum(spsolve(B, x)) + np.sum(made.multiply(x).tocsc().diagonal()) + C.toarray()[0, 0] * C.trace()
    return np.sum(A @ x) + np.sum(x @ B) + np.sum(C.T @ x) + A.sum() * B.mean() + A.data[0] * systems


@jitclass([("scale", numba.float64)])
class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def times(self, x):
        return self.scale * x


@row(
    "objects of jitclasses, typed lists, typed dicts with strings as keys",
    Scaled(2.0),
    numba.typed.List([1.0, 2.0]),
    numba.typed.Dict.empty(numba.types.unicode_type, numba.float64),
)
def objects_of_numba(x, scaled, listed, named):
    return scaled.times(x[0]) * listed[1] + len(listed) * scaled.scale + len(named)


@row("strings", "fast")
def strings(x, mode):
    return np.sum(x * x) if mode == "fast" else np.sum(x)


@row(
    "functions, types, dtypes, modules and None inside tuples, lists, dicts, named tuples and `**kw`",
    (np.sin, None),
    {"act": np.square, "dtype": np.float64},
    [np, 2.0],
    Pair(np.exp, 1.0),
)
def functions_inside(x, t, d, several, pair):
    start = np.zeros(3, d["dtype"]) if t[1] is None else x
    return np.sum(t[0](d["act"](x)) + several[0].tanh(x) * several[1] + pair.low(start) * pair.high)


@row("`None`, functions, dtypes, members of enums", None, np.sin, functools.partial(np.power, 2.0), np.dtype("float64"))
def static(x, nothing, f, g, dtype):
    return np.sum(f(x) + g(x) + np.ones(3, dtype)) if nothing is None else 0.0


@row("complex numbers and arrays", 1.0 + 2.0j, np.array([1.0, 1.0j, 2.0]))
def complexes(x, c, z):
    return np.sum(np.abs(x * z * c) ** 2)


@row("`import a.b as c`")
def imports(x):
    import math

    import numpy.linalg as algebra

    return algebra.norm(x) * math.pi


@row("`from a import b`")
def imports_of_names(x):
    from math import tau

    return np.sum(x) * tau


@row("`x = y`, `a, b = b, a`, `x[i] = y`, `x[1:] = y`")
def assignments(x):
    a, b = x[0], x[1]
    a, b = b, a
    first, *rest = x[0], x[1], x[2]
    z = np.zeros(3)
    z[0] = a * first
    z[1:] = x[1:] ** 2
    return np.sum(z) + rest[1] * b


@row("`x: float = y`")
def annotated(x):
    y: float = x[0] * x[1]
    return y


@row("`x += y`")
def augmented(x):
    z = x.copy()
    z *= 2.0
    z[0] -= x[1]
    z[1:] **= 2
    s = 1.0
    s += np.sum(z)
    return s


@row("`f(x)`")
def for_what_it_does(x):
    """A docstring."""
    z = np.ones(3)
    z.fill(2.0)
    return np.sum(z * x)


@row("`pass`")
def passing(x):
    if x[0] > 0:
        pass
    return x[0]


@row("`assert test, message`")
def asserting(x):
    assert x[0] > 0, "not above zero"
    return x[0] ** 2


@row("`raise ValueError(message)`")
def raising(x):
    if x[0] < 0:
        raise ValueError("below zero")
    return x[0] ** 2


@row("`def g(x): ...`")
def defining(x):
    k = x[0]

    def g(y):
        return k * y

    return g(x[1])


@row("`del x`")
def deleting(x):
    y = x[0]
    z = y * y
    del y
    return z


@row("`if`, `elif`, `else`")
def branches(x):
    if x.ndim == 2:
        return x[0, 0]
    if x[0] > 1.0:
        y = x[1]
    elif x[0] > 0.5:
        y = x[1] ** 2
    else:
        y = x[1] ** 3
    return y


@row("`for ... in`, `else`", (1.0, np.ones(3)), {"a": 1.0, "b": 2.0}, [1.0, 2.0])
def loops(x, t, d, values):
    s = 0.0
    for i in range(2, -1, -1):
        s += i * x[i]
    for i in range(3) if x[0] > 0.0 else range(2, -1, -2):
        s += i * x[i] ** 2
    for row_ in np.outer(x, x):
        s += np.sum(row_) ** 2
    for item in t:
        s += np.sum(item * x)
    for key in d:
        s += d[key] * x[0]
    for i, (a, b) in enumerate(zip(x, values, strict=False)):
        s += i * a * b
    for a in reversed(values):
        s = s * a
    for i in np.ndindex(3):
        s += x[i]
    for (i,), a in np.ndenumerate(x):
        s += i * a
    for i in numba.prange(3):
        s += x[i]
    for i in tapec.checkpointed(range(3), slots=2):
        s = s * x[i]
    else:
        s += x[0]
    numbers_ = iter(values)
    return s + next(numbers_) * next(numbers_) * x[1]


@row("`while`, `else`")
def whiles(x):
    s, n = x[0], 0
    while n < 5:
        s, n = s * x[1], n + 1
    else:
        s += x[2]
    return s


@row("`break`")
def breaks(x):
    s = 0.0
    for i in range(10):
        if i == 1:
            continue
        if i > 2:
            break
        s += x[i] ** 2
        if s > 100.0:
            return s
    return s * 2.0


@row("`with`")
def withs(x):
    with np.errstate(all="ignore"), np.printoptions(precision=3):
        return np.sum(x / 3.0)


@row("`nonlocal x`")
def sharing(x):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v * v

    for v in x:
        add(v)
    return total


@row("`try`, `except`, `else`, `finally`")
def trying(x):
    total = 0.0
    for v in x:
        try:
            if v > 1.0:
                raise ValueError("large")
        except ValueError:
            total += v**2
        else:
            total += v**3
        finally:
            total *= 2.0
    return total


def steps(x):
    for v in x:
        yield v * v


def more_steps(x):
    yield from steps(x)
    yield x[0]


@row("`yield x`")
def taking(x):
    total = 1.0
    for v in steps(x):
        total = total * v + sum(steps(x))
        if total > 100.0:
            break
    return total + len([v for v in steps(x)]) * x[1]


@row("`yield from f(x)`")
def taking_more(x):
    total = 1.0
    for v in more_steps(x):
        total = total * v + 1.0
    return total


@row("`match ... case`", ("scale", 2.0))
def matches(x, what):
    match what:
        case ("scale", k) if k > 1.0:
            return np.sum(k * x)
        case _:
            return np.sum(x)


@row('`1`, `2.5`, `True`, `"text"`, `None`')
def literals(x):
    name, nothing = "text", None
    return x[0] * 1 * 2.5 * True if name == "text" and nothing is None else 0.0


@row("`x`")
def names(x):
    größe = x[0] * X[1]
    return größe


@row("`a.shape`, `p.field`, `module.name`", Pair(1.0, 2.0))
def attributes(x, pair):
    return x[0] * x.shape[0] * pair._replace(low=3.0).low * np.pi


@row("`x + y`", 7, 2)
def operators(x, n, m):
    a = np.outer(x, x)
    whole = (n << m) + (n >> m) + (n & m) + (n | m) + (n ^ m) + n // m + n % m
    return np.sum((a @ x) + x - x * x / 2.0 + x**2 + x // 0.4 + x % 0.4) * whole


@row("`-x`", 3)
def unary(x, n):
    return np.sum(-x + +x) - x[0] * ~n if not n < 0 else x[0]


@row("`x < y <= z`", (1.0, 2.0))
def comparisons(x, t):
    return x[0] if 0.0 < x[0] <= 1.0 != x[1] and np.sin is np.sin and 2.0 in t and x[2] >= 1.0 else x[1]


@row("`x and y`, `x or y`", None)
def conjunctions(x, y):
    return x[0] * 2.0 if (x[0] > 0.0 and x[1] > 0.0) and (y is None or y[0]) else x[1]


@row("`x if test else y`")
def conditional(x):
    return x[0] ** 2 if x[1] > 1.0 else x[2]


@row("`(y := x)`")
def walrus(x):
    return (y := x[0] * x[1]) * y


@row("`(x, y)`")
def tuples(x):
    t = (x[0], x[1]) * 2 + (x[2],)
    a, *_, b = t[1:]
    return a * b * len(t)


@row("`[x, y]`")
def lists(x):
    values = [x[0], x[1]]
    values.append(x[2])
    values.extend([2.0, 3.0])
    del values[3]
    grown = []
    for i in range(x.shape[0]):
        grown.append(x[i] ** 2)
    rows = []
    for i in range(4):
        rows.append(x * i)
    return values.pop() * values[0] * grown[1] + rows[2][0]


@row('`{"a": x}`')
def dicts(x):
    d = {"a": x[0], "b": 2.0}
    d["a"] = d["a"] * d["b"]
    d.update(c=x[1])
    return d["a"] * d["c"]


@row("`{x, y}`")
def sets(x):
    s = {1, 2} | {3}
    return x[0] * len(s) if 2 in s else x[1] * sorted(s)[0]


@row("`{key: f(value) for key, value in d.items()}`", {"a": 1.0, "b": 2.0})
def dict_comprehensions(x, d):
    e = {key: value * x[0] for key, value in d.items()}
    return e["a"] * e["b"]


@row("`{f(x) for x in a}`")
def set_comprehensions(x):
    return x[0] * len({2 * k for k in (1, 2)})


@row("`[x for x in a if x > 0]`")
def list_comprehensions(x):
    return np.sum(np.array([a * a for a in x if a > 1.0]))


@row("`a[i, 1:-1, ..., None]`")
def subscripts(x):
    a = np.outer(x, x)
    a[1, ::2] += x[::2]
    a[np.array([0, 2])] *= 2.0
    a[a > 3.0] = 1.0
    return np.sum(a[-1]) + np.sum(a[..., None][::-1, 1:-1]) + np.sum(x[x > 1.0])


@row("`f(x, *args, key=y)`", (2.0, 3.0), {"d": 4.0})
def calls(x, args, named):
    def f(x, a, b=1.0, *rest, c=1.0, **more):
        return x * a * b * c * more["d"] + len(rest)

    return f(x[0], *args, c=x[1], **named)


@row("`lambda x: x * y`")
def lambdas(x):
    y = x[0]
    f = lambda z: z * y  # noqa: E731
    return f(x[1])


@row('`f"{name}"`', "w")
def texts(x, name):
    sizes = {"size 3": 2.0}
    return x[0] * len(f"{'w'}_{x.shape[0]}") * sizes[f"size {3}"]


def cells() -> list[str]:
    """The first cells of the tables of arguments, statements and expressions."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    kept = [part for part in parts if part.startswith(("Arguments", "Statements", "Expressions"))]
    lines = [line for part in kept for line in part.splitlines() if line.startswith("| ")]
    found = [re.split(r"(?<!\\) \|", line[2:])[0].strip() for line in lines]
    return [cell for cell in found if cell not in ("argument", "statement", "expression", "---")]


def test_every_row_has_a_program():
    assert set(ROWS) == set(cells())


# machine code of every third one, of the others generated Python of which Numba infers the types, where it has types
# for all arguments and functions
OF_PYTHON = {'`f"{name}"`', "`None`, functions, dtypes, members of enums"}
CELLS = [
    pytest.param(cell, marks=[pytest.mark.generated] if k % 3 and cell not in OF_PYTHON else [])
    for k, cell in enumerate(ROWS)
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_what_a_row_says_is_taken(cell: str):
    for f, more in ROWS[cell]:
        value, gradient = tapec.value_and_grad(f)(X, *more)
        plain = getattr(f, "py_func", f)
        step = 1e-6
        by = [(plain(X + step * e, *more) - plain(X - step * e, *more)) / (2.0 * step) for e in np.eye(X.size)]
        assert np.isclose(value, plain(X, *more), rtol=1e-12)
        assert np.allclose(gradient, by, rtol=1e-6, atol=1e-8)
        with interpreted():
            moved = tapec.jvp(f, (X, *more), (X, *(None for _ in more)))[1]
        assert np.isclose(moved, gradient @ X, rtol=1e-10)
