"""Geophysics: what lies between two boreholes, from travel times.

Waves start at sources in one borehole and are heard in another. A sweep over the grid solves the eikonal equation for
the first arrivals: an update in place, with minima and a branch. The gradient of the misfit with respect to the
slowness of every cell comes from one reverse sweep. L-BFGS finds the slow body from 15 times 15 arrivals.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec


@njit
def arrivals(slowness, source):
    """First arrivals on a grid of width 1 from a point of its left side, by fast sweeping (Zhao, 2005)."""
    n, m = slowness.shape
    time = np.full((n, m), 1e3)
    time[source, 0] = 0.0
    for sweep in range(4):
        for k in range(n):
            i = k if sweep % 2 == 0 else n - 1 - k
            for q in range(m):
                j = q if sweep < 2 else m - 1 - q
                a = min(time[i - 1, j] if i > 0 else 1e3, time[i + 1, j] if i < n - 1 else 1e3)
                b = min(time[i, j - 1] if j > 0 else 1e3, time[i, j + 1] if j < m - 1 else 1e3)
                s = slowness[i, j]
                one_way = min(a, b) + s
                new = one_way if abs(a - b) >= s else 0.5 * (a + b + np.sqrt(2.0 * s * s - (a - b) ** 2))
                time[i, j] = min(time[i, j], new)
    return time


@njit
def misfit(log_slowness, sources, seen, roughness):
    slowness = np.exp(log_slowness.reshape(30, 20))
    total = roughness * (np.sum(np.diff(slowness) ** 2) + np.sum(np.diff(slowness.T) ** 2))
    for k in range(sources.shape[0]):
        total += np.sum((arrivals(slowness, sources[k])[::2, -1] - seen[k]) ** 2)
    return total


rows, columns = np.mgrid[:30, :20]
truth = 1.0 + 0.3 * np.exp(-((rows - 12) ** 2 + (columns - 9) ** 2) / 18.0)
sources = np.arange(1, 30, 2)
given = sources, np.array([arrivals(truth, k)[::2, -1] for k in sources]), 0.1
gradient = tapec.value_and_grad(misfit)
at, step = 0.5 * np.log(truth.ravel()), 1e-6 * np.cos(rows * columns).ravel()
assert np.isclose(2 * gradient(at, *given)[1] @ step, misfit(at + step, *given) - misfit(at - step, *given), rtol=1e-5)
fit = minimize(gradient, np.zeros(600), given, jac=True, method="L-BFGS-B", options={"maxiter": 100})
print(f"{fit.nfev} gradients, correlation with the truth {np.corrcoef(fit.x, np.log(truth.ravel()))[0, 1]:.3f}")

figure, panels = plt.subplots(1, 2, figsize=(7, 4), layout="constrained")
for panel, field, title in zip(panels, (truth, np.exp(fit.x)), ("true slowness", "from travel times"), strict=True):
    panel.imshow(field.reshape(30, 20), vmin=1.0, vmax=1.3)
    panel.set_title(title)
figure.savefig("travel_times.svg")
