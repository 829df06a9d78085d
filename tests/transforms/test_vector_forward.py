"""Several tangents at once: the same numbers as one at a time, whatever the program does."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.frontend.evaluator.numba_types import from_numba, type_of_value
from tapec.pipeline import build
from tapec.rules.linalg import PRIMITIVES
from tapec.syntax.core import Assign, Function, Name, Op, Return
from tapec.syntax.types import FLOAT64, INT64
from tapec.transforms.forward import forward
from tapec.transforms.ssa import to_ssa
from tapec.transforms.transposition import NotLinear
from tapec.transforms.vector_forward import vector_forward
from tests.levels import check_jacobians
from tests.oracles import is_float
from tests.rules.evaluation import NAMESPACE, active_rows
from tests.rules.references import REFERENCES
from tests.typed import interpreted

pytestmark = [pytest.mark.generated, pytest.mark.usefixtures("mostly_plainly")]

RNG = np.random.default_rng(5)
A, B, V = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=3)
SQUARE = RNG.normal(size=(3, 3)) + 3.0 * np.eye(3)
CUBE = RNG.normal(size=(2, 3, 2))


def source(f, kind, wrt, *args):
    """The generated text, without comments."""
    text = build(f, tuple(from_numba(type_of_value(arg)) for arg in args), kind, wrt).source
    return "\n".join(row for row in text.splitlines() if not row.strip().startswith("#"))


def run(core: Function, *args):
    scope = dict(NAMESPACE)
    exec(printer.function(core), scope)
    return scope[core.name](*args)


@pytest.mark.parametrize("rule", active_rows(), ids=lambda rule: rule.fn)
def test_every_rule_of_numbers(rule):
    _, points = REFERENCES[rule.heading]
    names = tuple(points[0])
    floats = tuple(name for name in names if name in ("x", "z"))
    types = {name: FLOAT64 if name in floats else INT64 for name in names} | {"y": FLOAT64}
    body = (Assign("y", Op(rule.fn, tuple(map(Name, names)))), Return((Name("y"),)))
    core = Function("f", names, body, types)
    single = forward(core, floats)
    several = vector_forward(core, floats, 3)
    directions = RNG.normal(size=(len(floats), 3))
    for point in points:
        # quotients of NumPy's numbers: a side that is not chosen may divide by zero
        values = [np.float64(value) if name in floats else value for name, value in point.items()]
        with np.errstate(all="ignore"):
            found = run(to_ssa(several.function), *values, *directions)
            wanted = [run(single, *values, *column)[1] for column in directions.T]
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def product(a, b):
    return (a.T @ a) @ b, a @ b, a[0] @ b, a @ b[:, 0], a[0] @ b[:, 0] * b


def systems(a, b):
    return np.linalg.solve(a, b), np.linalg.inv(a).T.copy().reshape(9), np.linalg.det(a) * b


def systems_of_many_kinds(a, b):
    c = a @ a.T + 4.0 * np.eye(3)
    sides = np.outer(b, b) + a
    lower = np.linalg.cholesky(c)
    once = np.linalg.solve(c, b)
    sign, size = np.linalg.slogdet(a)
    return (
        np.linalg.solve(c, once * once),
        np.linalg.solve(c.T, sides)[:2].T,
        np.linalg.solve(np.asfortranarray(a), np.asfortranarray(sides[:, :2])) * b[0],
        np.linalg.solve(np.eye(3) * 3.0 + 0.5, sides) @ b,
        np.linalg.solve(a, np.ones(3)),
        np.linalg.solve(lower, b),
        np.linalg.inv(a.T).T[1:, :2].copy(),
        np.array([sign * b[0], size]),
    )


def factors(a):
    w, v = np.linalg.eigh(a @ a.T)
    return np.linalg.cholesky(a @ a.T + np.eye(3)), w, v * 2.0, np.linalg.slogdet(a)[1], np.linalg.pinv(a)


def views_by_columns(a):
    b = a.T
    c, d = b[1:, :2], b[:, 1]
    return np.sum(c * c) * d, b[:2] * 2.0, b[None, :, 0] * d[0], c.copy(), b[0], b.T.reshape(-1) * d[0]


def axes(a):
    b, c = np.transpose(a, (1, 2, 0)), a.T
    return b * b[0, 0, 0], c * c[1].sum(), c[1].copy().reshape(-1), c.copy().reshape(-1)


def power(x, n):
    return x * x if n == 0 else power(np.sin(x) * x, n - 1) * x


def chained(x, n):
    if n > 0:
        for i in range(x.shape[0] - 1):
            x[i] = x[i] * x[i + 1]
        chained(x, n - 1)


def recursive(x):
    y = x.copy()
    chained(y, 3)
    return np.array([power(x[0], 3), power(x[1] * x[0], 2)]), y


def until(x):
    y, last = x.copy(), 0.0
    n = 0
    while n < 9:
        last = y[0] * y[1] + last
        y = y * 1.5 + np.sin(y)
        if y[0] * y[0] > 100.0:
            last = last * y[2]
            break
        n += 1
    return y, last


def overwrites(x):
    x[0] = x[1] * 2.0
    x *= 3.0
    return x.copy(), x[0]


def carried(x):
    a, b = x[0], x[1]
    for i in range(4):
        a, b = b * x[2], a + b
        if b > i:
            b = b * a
    return np.array([a, b])


def choices(x, index):
    y = np.where(x > 0.0, x, x * x)
    y[index] = 3.0
    return np.sort(y), np.maximum(x, 0.5).sum(), x[index], np.abs(x).max(), np.cumsum(x)


def two_arrays(x, a, b):
    u = a @ b
    for i in range(3):
        u = x * i if x[0] > i else a @ b
    return u


def some(a, b, c):
    return np.array([a * b, b * c, a / c, np.sqrt(a)]), a * b * c


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (product, (A, B)),
        (product, (np.asfortranarray(A), np.asfortranarray(B))),
        (systems, (SQUARE, V)),
        (systems_of_many_kinds, (SQUARE, V)),
        (systems_of_many_kinds, (np.asfortranarray(SQUARE), V)),
        (factors, (SQUARE,)),
        (views_by_columns, (A,)),
        (views_by_columns, (np.asfortranarray(A),)),
        (views_by_columns, (np.repeat(A, 2, axis=1)[:, ::2],)),
        (axes, (CUBE,)),
        (axes, (np.asfortranarray(CUBE),)),
        (recursive, (V,)),
        (until, (np.array([0.3, 1.0, -0.5]),)),
        (overwrites, (V,)),
        (carried, (V,)),
        (choices, (V, np.array([2, 0]))),
        (two_arrays, (np.array([0.5, 1.0, 2.0]), SQUARE, V)),
        (some, (1.1, 2.2, 3.3)),
        (lambda x: x * np.float32(2) + x[0] * x, (V.astype(np.float32),)),
        (lambda x: (x * 2.0, np.sum(x)), (np.zeros((0, 2)),)),
        (lambda x: (np.sqrt(x**2), np.log(np.abs(x) + 1.0)), (np.array([0.0, 1.0, -2.0]),)),
        (lambda x: np.sin(x) * x[::-1], (RNG.normal(size=19),)),
    ],
)
def test_strips_are_what_one_direction_gives(f, args):
    wrt = tuple(k for k, arg in enumerate(args) if is_float(arg))
    check_jacobians(f, args, SimpleNamespace(wrt=wrt, value=args))


def test_the_directions_of_a_system_are_right_sides_of_one_solve():
    text = source(lambda a, b: np.linalg.solve(a, b), "jacfwd", (0, 1), SQUARE, V)
    # that of the shapes, and that of a strip: its values, and all lanes
    assert text.count("factorised(") == 2 and text.count("solved(") == 3
    lines = text.splitlines()
    solved = next(line for line in reversed(lines) if "solved(" in line)
    around = [line for line in lines[: lines.index(solved)] if line.startswith("    for ")]
    assert len(solved) - len(solved.lstrip()) == 8 and around


def test_all_functions_of_whole_arrays_are_among_them():
    seen = {"np.dot", "np.linalg.solve", "np.linalg.inv", "np.linalg.det", "np.linalg.slogdet", "np.linalg.pinv"}
    seen |= {"np.linalg.cholesky", "np.linalg.eigh"}
    # solves and factorisations become these before they are differentiated, or in a reverse sweep
    made = {name for name in PRIMITIVES if name.startswith("tapec_runtime.")}
    assert seen | made == PRIMITIVES.keys()


@pytest.mark.slow
def test_hessians_are_forward_mode_twice():
    def f(x):
        return np.sum(np.sin(x[1:] * x[:-1]) * x[0]) + np.linalg.det(np.outer(x, x) + np.eye(x.size))

    def along(x, unit):
        return tapec.jvp(f, (x,), (unit,))[1]

    x, units = RNG.normal(size=5), np.eye(5)
    with interpreted():
        found = tapec.hessian(f)(x)
        for i, j in np.ndindex(5, 5):
            wanted = tapec.jvp(along, (x, units[i]), (units[j], None))[1]
            assert found[i, j] == pytest.approx(wanted, rel=1e-10, abs=1e-10)


def test_the_program_runs_once_for_a_strip():
    text = source(some, "jacfwd", (0, 1, 2), 1.0, 2.0, 3.0)
    assert text.count("np.sqrt(") == 1 and len(re.findall(r"for lane", text)) < 4


def test_one_forward_sweep_serves_all_rows():
    def wave(x):
        y = np.empty(x.shape[0])
        s = 0.0
        for i in range(x.shape[0]):
            s = np.sin(s + x[i])
            y[i] = s * s
        return y

    text = source(wave, "jacrev", 0, V)
    assert text.count("sin(") == 1


def test_custom_gradients_that_are_not_linear_go_row_by_row():
    @tapec.custom_gradient
    def clipped(x):
        return 1.0 * x, lambda dy: np.minimum(dy, 0.5)

    def f(x):
        y = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = 3.0 * clipped(x[i])
        return y

    np.testing.assert_array_equal(tapec.jacrev(f)(V), 0.5 * np.eye(3))


def test_what_is_not_linear_is_told():
    types = dict.fromkeys("xyz", FLOAT64)
    body = (Assign("y", Op("*", (Name("x"), Name("x")))), Return((Name("y"),)))
    with pytest.raises(NotLinear):
        vector_forward(Function("f", ("x",), body, types), ("x",), 2, linear=True)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_strips_and_single_strips():
    def residual(p, x):
        turned = p[0] * x[0] + np.cos(p[1]) * x[1]
        return np.array([turned / x[2], np.exp(p[2]) * turned])

    def path(u):
        v = u.copy()
        for _ in range(3):
            for i in range(1, v.size - 1):
                v[i] += 0.1 * (v[i - 1] * v[i + 1] - v[i] ** 2)
        return v

    p, x = np.array([0.4, 1.2, -0.3]), np.array([0.5, 2.0, 1.5])
    rows = tapec.jacrev(residual, wrt=(0, 1))(p, x)
    columns = tapec.jacfwd(residual, wrt=(0, 1))(p, x)
    for row, column in zip(rows, columns, strict=True):
        np.testing.assert_allclose(row, column, rtol=1e-13)
        assert row.flags.c_contiguous
    u = RNG.normal(size=21)
    columns = tapec.jacfwd(path)(u)
    for place in (0, 7, 8, 20):
        np.testing.assert_allclose(columns[:, place], tapec.jvp(path, (u,), (np.eye(21)[place],))[1], rtol=1e-12)
    np.testing.assert_allclose(tapec.jacrev(path)(u), columns, rtol=1e-12, atol=1e-14)
