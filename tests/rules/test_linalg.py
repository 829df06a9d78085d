"""Tangents of whole-array operations against central differences, adjoints against tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tapec_runtime
from tapec.rules.library import PRIMITIVES, numpy_object


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _matrix(n: int, m: int | None = None) -> np.ndarray[Any, Any]:
    return rng().normal(size=(n, n if m is None else m)) + 2.0 * np.eye(n, n if m is None else m)


def _positive(n: int) -> np.ndarray[Any, Any]:
    m = _matrix(n)
    return m @ m.T + np.eye(n)


def _primitive_cases() -> list[Any]:
    r = rng()
    cases: list[tuple[str, tuple[Any, ...]]] = []
    for n in (1, 2, 3, 4):
        m = _matrix(n)
        v, w = r.normal(size=n), r.normal(size=(n, 2))
        cases += [
            ("np.dot", (r.normal(size=(3, n)), w)),
            ("np.dot", (r.normal(size=(3, n)), v)),
            ("np.dot", (v, w)),
            ("np.dot", (v, v[::-1])),
            ("np.linalg.solve", (m, v)),
            ("np.linalg.solve", (m, w)),
            ("np.linalg.solve", (m.T, w[:, :1])),
            ("np.linalg.inv", (m,)),
            ("np.linalg.det", (m,)),
            ("np.linalg.slogdet", (m,)),
            ("np.linalg.cholesky", (_positive(n),)),
            ("tapec_runtime.cholesky_seed", (_positive(n), m)),
            ("np.linalg.eigh", (_positive(n),)),
            ("tapec_runtime.eigen", (m,)),
            ("np.linalg.pinv", (m,)),
            ("np.linalg.pinv", (_matrix(n + 2, n),)),
            ("np.linalg.pinv", (_matrix(n, n + 2),)),
        ]
    return [pytest.param(*case, id=f"{case[0]}-{k}") for k, case in enumerate(cases)]


def _function(name: str) -> Callable[..., Any]:
    owner, rest = name.split(".", 1)
    found: Callable[..., Any] = numpy_object(rest) if owner == "np" else getattr(tapec_runtime, rest)
    return found


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(("name", "args"), _primitive_cases())
def test_tangents_against_central_differences(name: str, args: tuple[Any, ...]):
    function, h = _function(name), 1e-6
    dots = [rng().normal(size=np.shape(arg)) for arg in args]
    y = function(*args)
    y_dot = _as_tuple(PRIMITIVES[name].tangent(y, *args, *dots))
    up = _as_tuple(function(*(arg + h * dot for arg, dot in zip(args, dots, strict=True))))
    down = _as_tuple(function(*(arg - h * dot for arg, dot in zip(args, dots, strict=True))))
    for one, high, low in zip(y_dot, up, down, strict=True):
        np.testing.assert_allclose(one, (high - low) / (2.0 * h), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize(("name", "args"), _primitive_cases())
def test_adjoints_against_tangents(name: str, args: tuple[Any, ...]):
    primitive, r = PRIMITIVES[name], rng()
    y = _function(name)(*args)
    dots = [r.normal(size=np.shape(arg)) for arg in args]
    several = isinstance(y, tuple)
    seeds = tuple(r.normal(size=np.shape(part)) for part in _as_tuple(y))
    y_dot = _as_tuple(primitive.tangent(y, *args, *dots))
    expected = sum(np.vdot(seed, dot) for seed, dot in zip(seeds, y_dot, strict=True))
    start = [r.normal(size=np.shape(arg)) for arg in args]
    bars = [bar.copy() for bar in start]
    primitive.adjoint(y, *args, seeds if several else seeds[0], *bars)
    actual = sum(np.vdot(bar - old, dot) for bar, old, dot in zip(bars, start, dots, strict=True))
    assert actual == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("name", "args"), [case for case in _primitive_cases() if len(case.values[1]) == 2])  # type: ignore[arg-type]
def test_inactive_arguments_of_primitives(name: str, args: tuple[Any, ...]):
    primitive, r = PRIMITIVES[name], rng()
    y = _function(name)(*args)
    dots = [r.normal(size=np.shape(arg)) for arg in args]
    seed = r.normal(size=np.shape(y))
    full = primitive.tangent(y, *args, *dots)
    parts = primitive.tangent(y, *args, dots[0], None) + primitive.tangent(y, *args, None, dots[1])
    np.testing.assert_allclose(parts, full, rtol=1e-10, atol=1e-12)
    both = [np.zeros_like(arg) for arg in args]
    primitive.adjoint(y, *args, seed, *both)
    for position in (0, 1):
        alone: list[Any] = [None, None]
        alone[position] = np.zeros_like(args[position])
        primitive.adjoint(y, *args, seed, *alone)
        np.testing.assert_array_equal(alone[position], both[position])


def test_results_that_nothing_depends_on():
    m = _positive(3)
    for name in ("np.linalg.eigh", "np.linalg.slogdet"):
        y = tuple(_function(name)(m))
        parts = []
        seeds = [np.ones(np.shape(part)) for part in y]
        for wanted in ((0,), (1,), (0, 1)):
            bar = np.zeros_like(m)
            PRIMITIVES[name].adjoint(y, m, tuple(seeds[k] if k in wanted else None for k in (0, 1)), bar)
            parts.append(bar)
        np.testing.assert_allclose(parts[0] + parts[1], parts[2], rtol=1e-10, atol=1e-12)


def test_parts_of_complex_matrices_have_eigenvalues():
    primitive, r = PRIMITIVES["tapec_runtime.eigen_of_parts"], rng()
    args = np.diag([1.0, 4.0, 9.0]) + 0.1 * _matrix(3), r.normal(size=(3, 3))
    dots = r.normal(size=(3, 3)), r.normal(size=(3, 3))
    y, h = tapec_runtime.eigen_of_parts(*args), 1e-6
    full = primitive.tangent(y, *args, *dots)
    up = tapec_runtime.eigen_of_parts(*(arg + h * dot for arg, dot in zip(args, dots, strict=True)))
    down = tapec_runtime.eigen_of_parts(*(arg - h * dot for arg, dot in zip(args, dots, strict=True)))
    one, two = primitive.tangent(y, *args, dots[0], None), primitive.tangent(y, *args, None, dots[1])
    bars, seeds = [np.zeros((3, 3)), np.zeros((3, 3))], tuple(r.normal(size=np.shape(part)) for part in y)
    primitive.adjoint(y, *args, seeds, *bars)
    for k, part in enumerate(full):
        np.testing.assert_allclose(part, (up[k] - down[k]) / (2 * h), rtol=2e-6, atol=2e-7)
        np.testing.assert_allclose(one[k] + two[k], part, rtol=1e-10, atol=1e-12)
    expected = sum(np.vdot(seed, part) for seed, part in zip(seeds, full, strict=True))
    assert sum(np.vdot(bar, dot) for bar, dot in zip(bars, dots, strict=True)) == pytest.approx(expected, rel=1e-10)


def test_eigenvalues_that_meet_in_one_vector_have_no_derivative():
    bars = np.zeros((2, 2)), np.zeros((2, 2))
    for m, bar in zip((np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])), bars, strict=True):
        seeds = (np.ones(2), None, None, None)
        PRIMITIVES["tapec_runtime.eigen"].adjoint(tapec_runtime.eigen(m), m, seeds, bar)
    np.testing.assert_allclose(bars[0], np.eye(2))
    assert np.isnan(bars[1]).all()


def test_equal_eigenvalues_have_differentiable_sums():
    m = np.eye(3)
    y = tuple(np.linalg.eigh(m))
    bar = np.zeros((3, 3))
    PRIMITIVES["np.linalg.eigh"].adjoint(y, m, (np.ones(3), np.zeros((3, 3))), bar)
    np.testing.assert_allclose(bar, np.eye(3))


@pytest.mark.parametrize("make", ["factorised", "factorised_lower"])
@pytest.mark.parametrize("solve", ["solved", "solved_transposed"])
@pytest.mark.parametrize("sides", [(3,), (3, 2)])
def test_systems_by_factors(make: str, solve: str, sides: tuple[int, ...]):
    r, h = rng(), 1e-6
    a = _matrix(3) if make == "factorised" else np.linalg.cholesky(_positive(3))
    b, a_dot, b_dot, y_bar = (r.normal(size=shape) for shape in (sides, (3, 3), sides, sides))

    def value(by: float) -> Any:
        return getattr(tapec_runtime, solve)(getattr(tapec_runtime, make)(a + by * a_dot), b + by * b_dot)

    making, solving = (PRIMITIVES[f"tapec_runtime.{name}"] for name in (make, solve))
    factors = getattr(tapec_runtime, make)(a)
    y = value(0.0)
    y_dot = solving.tangent(y, factors, b, making.tangent(factors, a, a_dot), b_dot)
    np.testing.assert_allclose(y_dot, (value(h) - value(-h)) / (2.0 * h), rtol=2e-6, atol=2e-7)
    factors_bar, a_bar, b_bar = np.zeros_like(factors), np.zeros_like(a), np.zeros_like(b)
    solving.adjoint(y, factors, b, y_bar, factors_bar, b_bar)
    making.adjoint(factors, a, factors_bar, a_bar)
    assert np.vdot(a_bar, a_dot) + np.vdot(b_bar, b_dot) == pytest.approx(np.vdot(y_bar, y_dot), rel=1e-10)


@pytest.mark.slow
def test_compiled_eigenvalues():
    m = rng().normal(size=(4, 4))
    found = numba.njit(lambda a: tapec_runtime.eigen(a))(m)
    for one, other in zip(found, tapec_runtime.eigen(m), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
