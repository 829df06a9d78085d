"""Epidemiology: a wave of infections, and when contacts were cut.

Daily cases are Poisson numbers around a model of susceptible, infectious and recovered people. The contact rate falls
on an unknown day. The loss is a loop over 120 days. L-BFGS fits four parameters by the gradient. The inverse Hessian
gives their errors. The fit finds the parameters that made the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec

PEOPLE = 1e6


@njit
def expected(p, days):
    """New cases a day. p: contact rates before and after, the day of the change in tens, the log of first cases."""
    infectious = np.exp(p[3])
    susceptible = PEOPLE - infectious
    cases = np.empty(days)
    for day in range(days):
        after = 1.0 / (1.0 + np.exp(-(day - 10.0 * p[2]) / 2.0))
        rate = p[0] + (p[1] - p[0]) * after
        cases[day] = rate * infectious * susceptible / PEOPLE
        susceptible -= cases[day]
        infectious += cases[day] - 0.1 * infectious
    return cases


def loss(p, seen):
    """The negative log-likelihood, without its constant."""
    cases = expected(p, seen.shape[0])
    return np.sum(cases - seen * np.log(cases))


rng = np.random.default_rng(3)
truth = np.array([0.28, 0.07, 4.0, 3.0])
seen = rng.poisson(expected(truth, 120)).astype(float)

start = np.array([0.25, 0.1, 3.5, 3.5])
tapec.check_grads(loss, (start, seen), wrt=0)
bounds = [(0.01, 1.0), (0.01, 1.0), (0.5, 10.0), (0.0, 8.0)]
fit = minimize(tapec.value_and_grad(loss), start, args=(seen,), jac=True, method="L-BFGS-B", bounds=bounds)
errors = np.sqrt(np.diag(np.linalg.inv(tapec.hessian(loss)(fit.x, seen))))
for name, true, found, error in zip(["before", "after", "day / 10", "log first"], truth, fit.x, errors, strict=True):
    print(f"{name:9} {found:.4f} +- {error:.4f}   (true {true})")
assert np.all(np.abs(fit.x - truth) < 4 * errors)

plt.figure(figsize=(7, 3.2), layout="constrained")
plt.plot(seen, ".", label="cases")
plt.plot(expected(fit.x, 120), lw=1.5, label="fit")
plt.axvline(10 * fit.x[2], color="gray", ls="--", label="contacts cut")
plt.gca().set(xlabel="day", ylabel="new cases")
plt.legend()
plt.savefig("epidemic.svg")
