"""Calls of `interp1d` and `RegularGridInterpolator`: SciPy's values, central differences of it, both modes, tapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator, interp1d

import tapec
from tests.typed import interpreted

X, Y = np.array([0.0, 0.3, 0.35, 0.8, 1.2]), np.array([2.0, 1.0, 0.4, 0.0])
ROW, TABLE = np.sin(5.0 * X), np.cos(np.add.outer(3.0 * X, Y**2))
INSIDE, FAR = np.array([0.12, 0.52, 1.03, 0.317]), np.array([-0.4, 0.1, 0.9, 3.0])
POINTS = np.array([[0.12, 0.55], [0.33, 1.75], [1.11, 0.23]])
LINE, FILLED = interp1d(X, ROW), interp1d(X, ROW, bounds_error=False, fill_value=(1.0, 2.0))
GRID, WIDE = RegularGridInterpolator((X, Y), TABLE), RegularGridInterpolator((X, Y), TABLE, "nearest", False, None)
ON = interp1d(X, ROW, fill_value="extrapolate")


def by_points(x: Any) -> Any:
    return np.sum(np.sin(LINE(x))) + LINE(x[1]) * x[0]


def by_points_beyond(x: Any) -> Any:
    return np.sum(FILLED(x) ** 2) + np.sum(ON(x) ** 3)


def by_row(y: Any) -> Any:
    beyond = np.sum(interp1d(X, y, fill_value="extrapolate")(FAR) ** 2) + interp1d(X, y)(0.32)
    steps = [interp1d(X, y, kind=kind, bounds_error=False)(INSIDE) for kind in ("nearest", "previous", "next")]
    return beyond + np.sum(steps[0] ** 2 * steps[1] + steps[2])


def by_places(x: Any) -> Any:
    return np.sum(interp1d(x[::-1], ROW, fill_value="extrapolate")(INSIDE) ** 2)


def by_grid_points(p: Any) -> Any:
    return np.sum(GRID(p) ** 2) + np.sum(GRID((p[:, 0], p[:, 1]))) + GRID((p[0, 0], p[1, 0])) + np.sum(WIDE(p * 3))


def by_table(t: Any) -> Any:
    wide = RegularGridInterpolator((X, Y), t, bounds_error=False, fill_value=None)
    return np.sum(RegularGridInterpolator((X, Y), t)(POINTS) ** 2) + np.sum(wide(POINTS * 2.9) ** 2)


def by_argument(x: Any, line: Any = ON) -> Any:
    return np.sum(line(x) ** 2)


@pytest.mark.parametrize(
    ("f", "at"),
    (
        (by_points, INSIDE),
        (by_points_beyond, FAR),
        (by_row, ROW),
        (by_places, X + 0.013),
        (by_grid_points, POINTS),
        (by_table, TABLE),
        (by_argument, FAR),
    ),
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_values_and_derivatives(f: Any, at: Any) -> None:
    direction, step = np.cos(np.arange(at.size)).reshape(at.shape), 1e-6
    with interpreted():
        value, found = tapec.value_and_grad(f)(at)
        _, moved = tapec.jvp(f, (at,), (direction,))
    np.testing.assert_allclose(value, f(at), rtol=1e-12)
    expected = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        unit = np.zeros(at.shape)
        unit[index] = step
        expected[index] = (f(at + unit) - f(at - unit)) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(moved, np.sum(found * direction), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled() -> None:
    tapec.check_grads(by_points, (INSIDE,))
    tapec.check_grads(by_table, (TABLE,))


def test_in_tapes() -> None:
    row, points = ROW.copy(), POINTS.copy()
    with tapec.GradientTape() as tape:
        tape.watch([row, points])
        line = interp1d(X, row)
        y = np.sum(line(INSIDE)) + np.sum(GRID(points))
    by_row_, by_points_ = tape.gradient(y, [row, points])
    with interpreted():
        np.testing.assert_allclose(by_row_, tapec.grad(lambda r: np.sum(interp1d(X, r)(INSIDE)))(row))
        np.testing.assert_allclose(by_points_, tapec.grad(lambda p: np.sum(GRID(p)))(points))


def test_places_beyond_the_ends_are_an_error_as_scipy_has_it() -> None:
    with interpreted(), pytest.raises(ValueError, match="below the interpolation range"):
        tapec.grad(by_points)(FAR)
    with interpreted(), pytest.raises(ValueError, match="out of bounds"):
        tapec.grad(by_grid_points)(POINTS - 1.0)


@pytest.mark.parametrize(
    "f",
    (
        lambda x: interp1d(X, ROW, kind="cubic")(x),
        lambda x: RegularGridInterpolator((X, Y), TABLE, method="cubic")(np.array([[x, x]]))[0],
        lambda x: np.sum(interp1d(X, np.stack((ROW, ROW)))(x)),
        lambda x: interp1d(X, ROW, axis=0)(x),
    ),
)
def test_refused(f: Any) -> None:
    with pytest.raises(tapec.errors.UnsupportedFunction, match="interp1d|RegularGridInterpolator"):
        tapec.grad(f)(0.5)
