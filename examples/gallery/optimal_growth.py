"""Economics: how much to save.

An economy divides what it makes each year between consumption and capital for the next year (Brock and Mirman, 1972).
With logarithmic utility and capital that lasts one year, the best share to save is known: it falls from `alpha * beta`
only near the end of the plan. L-BFGS with the gradient of lifetime utility finds it for all 40 years at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import minimize

import tapec

ALPHA, BETA, YEARS = 0.36, 0.95, 40


@njit
def lost_utility(z, capital, alpha, beta):
    """Minus the discounted utility of a plan; the share saved in year t is the logistic function of z[t]."""
    utility, discount = 0.0, 1.0
    for t in range(z.shape[0]):
        output = capital**alpha
        share = 1.0 / (1.0 + np.exp(-z[t]))
        utility += discount * np.log((1.0 - share) * output)
        capital = share * output
        discount *= beta
    # after the plan all is consumed
    return -(utility + discount * np.log(capital**alpha))


start = np.zeros(YEARS), 0.05, ALPHA, BETA
tapec.check_grads(lost_utility, start, wrt=0)
fit = minimize(
    tapec.value_and_grad(lost_utility),
    start[0],
    args=start[1:],
    jac=True,
    method="L-BFGS-B",
    options={"ftol": 1e-15, "gtol": 1e-10},
)
share = 1.0 / (1.0 + np.exp(-fit.x))

# backwards from the end: the weight of log(capital) in what is still to come
weight, exact = ALPHA, np.empty(YEARS)
for t in reversed(range(YEARS)):
    exact[t] = BETA * weight / (1.0 + BETA * weight)
    weight = ALPHA * (1.0 + BETA * weight)
print(f"{fit.nit} iterations; largest difference from the exact shares {np.max(np.abs(share - exact)):.1e}")
print(f"share saved in the first year {share[0]:.5f}, alpha * beta = {ALPHA * BETA:.5f}")
assert np.allclose(share, exact, atol=1e-5)

plt.figure(figsize=(7, 3.2), layout="constrained")
plt.plot(exact, lw=4, alpha=0.4, label="exact")
plt.plot(share, ".", label="found by the gradient")
plt.xlabel("year")
plt.ylabel("share of output that is saved")
plt.legend()
plt.savefig("optimal_growth.svg")
