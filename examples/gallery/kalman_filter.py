"""Statistics: a hidden level and trend, with the uncertainties of their variances.

A series is a level that drifts, with a slope that drifts, too, and noise. A Kalman filter gives the likelihood of its
three variances. `tapec.hessian` at the maximum gives the standard errors of their logarithms; the true values lie
within three of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec


@njit
def filtered(log_variances, series):
    """Minus the log-likelihood, and the filtered level at each time."""
    noise, drift, bend = np.exp(log_variances)
    step = np.array([[1.0, 1.0], [0.0, 1.0]])
    state, p = np.array([series[0], 0.0]), np.array([[10.0, 0.0], [0.0, 10.0]])
    total, levels = 0.0, np.empty(series.shape[0])
    for t in range(series.shape[0]):
        state = step @ state
        p = step @ p @ step.T + np.array([[drift, 0.0], [0.0, bend]])
        error, variance = series[t] - state[0], p[0, 0] + noise
        total += 0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
        gain = p[:, 0] / variance
        state = state + gain * error
        p = p - np.outer(gain, p[0])
        levels[t] = state[0]
    return total, levels


@njit
def loss(log_variances, series):
    return filtered(log_variances, series)[0]


rng = np.random.default_rng(3)
truth = np.array([1.0, 0.3, 0.01])
slope = np.cumsum(np.sqrt(truth[2]) * rng.normal(size=400))
level = np.cumsum(slope + np.sqrt(truth[1]) * rng.normal(size=400))
series = level + np.sqrt(truth[0]) * rng.normal(size=400)

start = np.log([0.5, 0.5, 0.1])
tapec.check_grads(loss, (start, series), wrt=0)
fit = minimize(tapec.value_and_grad(loss), start, (series,), "L-BFGS-B", jac=True)
errors = np.sqrt(np.diag(np.linalg.inv(tapec.hessian(loss)(fit.x, series))))
for found, error, true in zip(fit.x, errors, np.log(truth), strict=True):
    print(f"log variance {found:6.3f} +- {error:.3f}   (true {true:.3f})")
assert np.all(np.abs(fit.x - np.log(truth)) < 3 * errors)

plt.figure(figsize=(7, 3.2), layout="constrained")
plt.plot(series, ".", ms=3, label="series")
plt.plot(filtered(fit.x, series)[1], label="filtered level")
plt.legend()
plt.savefig("kalman_filter.svg")
