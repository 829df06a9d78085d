"""Objects of SciPy and Numba that code is called with, or finds outside: what they give, and derivatives of it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import scipy.stats as st
from numba.experimental import jitclass
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator

import tapec

pytestmark = pytest.mark.usefixtures("mostly_plainly")

KNOTS = np.array([0.0, 0.7, 1.5, 2.0, 3.0])
SPLINES = [make(KNOTS, np.sin(KNOTS)) for make in (CubicSpline, PchipInterpolator, Akima1DInterpolator)]
INSIDE = CubicSpline(KNOTS, np.cos(KNOTS), extrapolate=False)
NORMAL, GAMMA = st.norm(0.5, 2.0), st.gamma(2.0, scale=3.0)
X = np.array([0.3, 0.7, 2.2])


def differences(f: Any, x: Any) -> Any:
    return np.array([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(x.size)])


@pytest.mark.slow
@pytest.mark.parametrize("spline", SPLINES, ids=lambda one: type(one).__name__)
def test_splines(spline: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(spline(x) ** 2) + spline(x[0]) * spline(x[2] + 0.5) + np.sum(spline(x, 1)) + spline(x[0], nu=2)

    x = X + 0.01
    value, found = tapec.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    np.testing.assert_allclose(found, differences(f, x), rtol=1e-6, atol=1e-8)
    _, moved = tapec.jvp(f, (x,), (X,))
    np.testing.assert_allclose(moved, found @ X)
    second = tapec.hessian(lambda x: np.sum(spline(x) ** 3))(x)
    expected = 6 * spline(x) * spline(x, 1) ** 2 + 3 * spline(x) ** 2 * spline(x, 2)
    np.testing.assert_allclose(second, np.diag(expected), atol=1e-12)


def test_a_spline_that_is_not_extrapolated_is_nan_outside() -> None:
    value, found = tapec.value_and_grad(lambda x: INSIDE(x))(3.5)
    assert np.isnan(value) and np.isnan(found)
    np.testing.assert_allclose(tapec.grad(lambda x: INSIDE(x))(3.0), INSIDE(3.0, 1))


def test_other_splines_are_refused() -> None:
    curves = CubicSpline(KNOTS, np.outer(KNOTS, KNOTS))
    with pytest.raises(tapec.errors.UnsupportedFunction, match="this call of a CubicSpline"):
        tapec.grad(lambda x: curves(x)[0])(1.0)


@pytest.mark.slow
def test_frozen_distributions() -> None:
    def f(x: Any) -> Any:
        made = st.gamma(x[0], scale=x[1])
        total = np.sum(made.logpdf(x)) + st.norm(scale=x[2]).cdf(x[0]) + st.poisson(x[2]).logpmf(3)
        return total + np.sum(NORMAL.logpdf(x)) + GAMMA.cdf(x[1])

    x = X + 1.0
    value, found = tapec.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(found, differences(f, x), rtol=1e-6)
    _, moved = tapec.jvp(f, (x,), (X,))
    np.testing.assert_allclose(moved, found @ X)


def test_frozen_distributions_in_tapes() -> None:
    a = tapec.Variable(1.2)
    with tapec.GradientTape() as tape:
        y = NORMAL.logpdf(a) + st.norm(a, 2.0).logpdf(1.0)
    np.testing.assert_allclose(tape.gradient(y, a), -(1.2 - 0.5) / 4 + (1.0 - 1.2) / 4)


def test_frozen_distributions_that_are_refused() -> None:
    with pytest.raises(tapec.errors.UnsupportedFunction, match="scipy.stats.skewnorm"):
        tapec.grad(lambda a: st.skewnorm(a).logpdf(1.0))(1.2)
    with pytest.raises(tapec.errors.UnsupportedFunction, match="scipy.stats.norm.entropy"):
        tapec.grad(lambda a: st.norm(a).entropy())(1.2)


@jitclass([("scale", numba.float64), ("weights", numba.float64[:])])
class Layer:
    def __init__(self, scale, weights):
        self.scale, self.weights = scale, weights

    def value(self, x):
        return self.scale * np.sum(np.tanh(self.weights * x)) + self.half(x[0])

    @staticmethod
    def half(x):
        return x / 2.0

    @property
    def twice(self):
        return 2.0 * self.scale


def of_layer(layer: Any, x: Any) -> Any:
    return layer.value(x) * layer.twice if isinstance(layer, Layer) else 0.0


LAYER = Layer(2.0, np.array([1.0, -2.0, 0.5]))


def test_jitclasses() -> None:
    value, (layer_bar, x_bar) = tapec.value_and_grad(of_layer, wrt=(0, 1))(LAYER, X)
    np.testing.assert_allclose(value, of_layer(LAYER, X))
    np.testing.assert_allclose(x_bar, differences(lambda x: of_layer(LAYER, x), X), rtol=1e-7)
    by_weights = differences(lambda w: of_layer(Layer(2.0, w), X), LAYER.weights)
    np.testing.assert_allclose(layer_bar.weights, by_weights, rtol=1e-7)
    by_scale = differences(lambda a: of_layer(Layer(a[0], LAYER.weights), X), np.array([2.0]))
    np.testing.assert_allclose(layer_bar.scale, by_scale[0], rtol=1e-7)


def test_jitclasses_from_outside_are_refused() -> None:
    with pytest.raises(tapec.errors.UnsupportedType, match="jitclass that is found outside"):
        tapec.grad(lambda x: LAYER.value(x))(X)
    # as the hint says
    assert tapec.grad(lambda layer, x: layer.value(x), wrt=1)(LAYER, X).shape == (3,)


def test_typed_lists_and_dicts() -> None:
    numbers = numba.typed.List([1.0, 2.0, 3.0])
    assert tapec.grad(lambda a: sum([x * x for x in a]))(numbers) == [2.0, 4.0, 6.0]
    arrays = numba.typed.List([np.ones(2), np.arange(2.0)])
    found = tapec.grad(lambda a: np.sum(a[0] * a[1]) * len(a))(arrays)
    np.testing.assert_array_equal(found, [[0.0, 2.0], [2.0, 2.0]])
    items = numba.typed.Dict()
    items["a"], items["b"] = 1.0, 2.0
    assert tapec.grad(lambda d: d["a"] * d["b"])(items) == {"a": 2.0, "b": 1.0}


def test_structured_arrays_are_refused_and_their_fields_taken() -> None:
    table = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("n", "i8")])
    with pytest.raises(tapec.errors.UnsupportedType, match=r"pass its fields, which are views: `r\['a'\]`"):
        tapec.grad(lambda r: np.sum(r["a"]))(table)
    fields = {name: table[name] for name in table.dtype.names}
    found = tapec.grad(lambda a, r: np.sum(a**2 * r["n"]))(table["a"], fields)
    np.testing.assert_allclose(found, 2 * table["a"] * table["n"])
