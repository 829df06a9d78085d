"""Ecology: predators and prey.

Hare and lynx pelts of the Hudson's Bay Company, 1900 to 1920, in thousands, and the model of Lotka and Volterra, solved
by Runge-Kutta steps. The gradient by four rates and two initial numbers goes back through all 2,000 steps; the Hessian
at the solution gives standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec

HARE = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNX = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"


@njit
def rates(hare, lynx, p):
    return p[0] * hare - p[1] * hare * lynx, -p[2] * lynx + p[3] * hare * lynx


@njit
def populations(log_p, years, steps):
    """Hare and lynx at the start of each year; log_p: logarithms of four rates and two initial numbers."""
    p, h = np.exp(log_p), 1.0 / steps
    hare, lynx, out = p[4], p[5], np.empty((years, 2))
    for year in range(years):
        out[year, 0], out[year, 1] = hare, lynx
        for _ in range(steps):
            a, b = rates(hare, lynx, p)
            c, d = rates(hare + h / 2 * a, lynx + h / 2 * b, p)
            e, f = rates(hare + h / 2 * c, lynx + h / 2 * d, p)
            u, v = rates(hare + h * e, lynx + h * f, p)
            hare += h / 6 * (a + 2 * c + 2 * e + u)
            lynx += h / 6 * (b + 2 * d + 2 * f + v)
    return out


def loss(log_p, seen, steps):
    return 0.5 * np.sum((np.log(populations(log_p, seen.shape[0], steps)) - np.log(seen)) ** 2) / 0.25**2


seen = np.array([HARE.split(), LYNX.split()], dtype=float).T
start = np.log([0.5, 0.02, 0.9, 0.02, 33.0, 5.0])
tapec.check_grads(loss, (start, seen, 100), wrt=0)
fit = minimize(tapec.value_and_grad(loss), start, args=(seen, 100), jac=True, method="BFGS", options={"gtol": 1e-6})
errors = np.sqrt(np.diag(np.linalg.inv(tapec.hessian(loss)(fit.x, seen, 100))))
for value, error in zip(np.exp(fit.x), errors, strict=True):
    print(f"{value:8.4f} +- {value * error:.4f}")
assert np.max(np.abs(fit.jac)) < 1e-4

plt.figure(figsize=(7, 3.2), layout="constrained")
plt.plot(np.arange(1900, 1921), seen, "o", label=["hare", "lynx"])
plt.plot(np.arange(1900, 1921), populations(fit.x, 21, 100), "k", lw=1)
plt.gca().set(ylabel="thousands of pelts", xticks=range(1900, 1921, 5))
plt.legend()
plt.savefig("lynx_and_hare.svg")
