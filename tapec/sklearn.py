"""scikit-learn: a linear model that is fitted to a loss of the user's, by its compiled gradient.

    pip install 'tapec[sklearn]'

>>> import numpy as np
>>> from tapec.sklearn import LossRegressor
>>> def absolute(prediction, y):
...     return np.mean(np.sqrt(1e-6 + (prediction - y) ** 2))
>>> x = np.arange(10.0)[:, None]
>>> y = 3.0 * x[:, 0] + 1.0
>>> y[7] = 1000.0
>>> LossRegressor(loss=absolute, alpha=0.0).fit(x, y).predict([[2.0]]).round(2)
array([7.])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from tapec.api import value_and_grad


def mean_squared_error(prediction: Any, y: Any) -> Any:
    """The default loss: half the mean of the squared residuals."""
    return 0.5 * np.mean((prediction - y) ** 2)


class LossRegressor(RegressorMixin, BaseEstimator):
    """A linear model, `y ~ link(X @ coef_ + intercept_)`, fitted to any loss that tapec differentiates.

    loss           a function of predictions (n_samples,) and targets (n_samples,) that returns one float; one that is
                   convex has one minimum
    link           a function of X @ coef_ + intercept_ (n_samples,) that returns predictions (n_samples,), such as
                   np.exp; None for those themselves
    alpha          the penalty: alpha / 2 times the sum of the squares of coef_, at least 0
    fit_intercept  whether there is an intercept, which has no penalty
    max_iter, tol  of L-BFGS: the most iterations, and the gradient's largest entry at which it stops

    coef_ (n_features,), intercept_, n_iter_, n_features_in_ and loss_, the loss with penalty, are there after `fit`.
    It can be pickled, and searched over by GridSearchCV, if `loss` and `link` can be pickled.

    raises  ValueError  for data that scikit-learn refuses;  TapecError  (see tapec.errors) from `fit`
    warns   ConvergenceWarning  where L-BFGS does not converge
    """

    def __init__(
        self,
        loss: Callable[..., Any] = mean_squared_error,
        link: Callable[..., Any] | None = None,
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.loss = loss
        self.link = link
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> LossRegressor:
        """Fit the model to X (n_samples, n_features) and y (n_samples,)."""
        if self.alpha < 0:
            raise ValueError(f"alpha must be at least 0, not {self.alpha!r}")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        objective = value_and_grad(_objective)
        found = scipy.optimize.minimize(
            lambda w: objective(w, X, y.astype(np.float64, copy=False), self.alpha, self.loss, self.link, self._offset),
            np.zeros(X.shape[1] + self._offset),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 64 * np.finfo(float).eps},
        )
        if not found.success:
            warnings.warn(f"L-BFGS did not converge: {found.message}", ConvergenceWarning, stacklevel=2)
        self.coef_ = found.x[: X.shape[1]]
        self.intercept_ = float(found.x[-1]) if self.fit_intercept else 0.0
        self.n_iter_, self.loss_ = found.nit, float(found.fun)
        return self

    def predict(self, X: Any) -> Any:
        """Predictions (n_samples,) for X (n_samples, n_features)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        linear = X @ self.coef_ + self.intercept_
        return linear if self.link is None else self.link(linear)

    @property
    def _offset(self) -> int:
        return int(bool(self.fit_intercept))


def _objective(w: Any, X: Any, y: Any, alpha: float, loss: Any, link: Any, offset: int) -> Any:
    coefficients = w[: X.shape[1]]
    linear = X @ coefficients
    if offset:
        linear = linear + w[-1]
    prediction = linear if link is None else link(linear)
    return loss(prediction, y) + 0.5 * alpha * np.sum(coefficients**2)
