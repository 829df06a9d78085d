"""`tapec.sklearn`: an estimator with a loss of the user's behaves as scikit-learn's own."""

from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.exceptions import ConvergenceWarning  # noqa: E402  after the library is known to be there
from sklearn.linear_model import PoissonRegressor, Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import tapec.sklearn  # noqa: E402
from tapec.errors import NotDifferentiable, UnsupportedFunction  # noqa: E402
from tapec.sklearn import LossRegressor  # noqa: E402

pytestmark = pytest.mark.slow


def pinball(prediction, y):
    total = 0.0
    for i in range(y.shape[0]):
        r = y[i] - prediction[i]
        total += max(0.9 * r, -0.1 * r) + 1e-3 * r * r
    return total / y.shape[0]


def huber(prediction, y):
    total = 0.0
    for i in range(y.shape[0]):
        r = abs(y[i] - prediction[i])
        total += 0.5 * r * r if r < 1.5 else 1.5 * r - 1.125
    return total / y.shape[0]


def poisson(prediction, y):
    return np.mean(prediction - y * np.log(prediction))


@pytest.fixture
def data(rng):
    X = rng.normal(size=(200, 3))
    return X, X @ np.array([1.0, -2.0, 0.5]) + 0.7 + rng.normal(size=200)


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(LossRegressor(), id="default", marks=pytest.mark.exhaustive),
        pytest.param(LossRegressor(huber, alpha=0.01), id="huber"),
    ],
)
def test_check_estimator(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_errors_are_ridge_regression(data, fit_intercept):
    ours = LossRegressor(alpha=0.1, fit_intercept=fit_intercept, tol=1e-10).fit(*data)
    theirs = Ridge(alpha=0.1 * 200, fit_intercept=fit_intercept).fit(*data)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(data[0]), theirs.predict(data[0]), rtol=1e-4)


def test_a_link(rng):
    X = rng.normal(size=(300, 2))
    y = rng.poisson(np.exp(X @ [0.5, -0.3] + 1.0))
    ours = LossRegressor(poisson, link=np.exp, alpha=0.01, tol=1e-9).fit(X, y)
    theirs = PoissonRegressor(alpha=0.01, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)


def test_a_quantile(data):
    X, y = data
    below = np.mean(y < LossRegressor(pinball, alpha=0.0).fit(X, y).predict(X))
    assert abs(below - 0.9) < 0.03


def test_pipelines_searches_and_pickles(data):
    model = make_pipeline(StandardScaler(), LossRegressor(pinball))
    search = GridSearchCV(model, {"lossregressor__alpha": [0.0, 10.0]})
    search.fit(*data)
    assert search.best_params_ == {"lossregressor__alpha": 0.0}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(data[0]), search.predict(data[0]))


def test_errors_and_warnings(data):
    with pytest.raises(NotDifferentiable, match="must return one number"):
        LossRegressor(lambda p, y: p - y).fit(*data)
    with pytest.raises(UnsupportedFunction):
        LossRegressor(lambda p, y: np.sum(np.busday_count(p, y))).fit(*data)
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        LossRegressor(alpha=-1.0).fit(*data)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        LossRegressor(max_iter=1).fit(*data)


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.sklearn).failed == 0
