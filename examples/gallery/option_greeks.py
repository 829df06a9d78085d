"""Finance: the Greeks of an American option.

A binomial tree prices an American put: at each node the holder takes the better of exercise and waiting. Its last step
is the formula of Black and Scholes, so that the price is smooth (Broadie and Detemple, 1996). One call gives delta,
rho, vega and theta. Without early exercise, the tree agrees with the formulas.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

import tapec

STRIKE, STEPS = 100.0, 400


@njit
def european(spot, rate, volatility, years, strike):
    width = volatility * math.sqrt(2.0 * years)
    a = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / width
    b = a - volatility * math.sqrt(years / 2.0)
    return 0.5 * (strike * math.exp(-rate * years) * math.erfc(b) - spot * math.erfc(a))


@njit
def put(spot, rate, volatility, years, strike, steps, american):
    """The price on a tree (Cox, Ross and Rubinstein, 1979)."""
    dt = years / steps
    up = math.exp(volatility * math.sqrt(dt))
    chance = (math.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    value = np.empty(steps)
    for i in range(steps):
        value[i] = european(spot * up ** (2 * i - steps + 1), rate, volatility, dt, strike)
    for t in range(steps - 2, -1, -1):
        for i in range(t + 1):
            wait = math.exp(-rate * dt) * (chance * value[i + 1] + (1.0 - chance) * value[i])
            value[i] = max(wait, strike - spot * up ** (2 * i - t)) if american else wait
    return value[0]


greeks = tapec.grad(put, wrt=("spot", "rate", "volatility", "years"))
market = 103.0, 0.04, 0.3, 0.75
formulas = tapec.grad(european, wrt=(0, 1, 2, 3))(*market, STRIKE)
tree = greeks(*market, STRIKE, STEPS, False)
for name, found, formula in zip(("delta", "rho", "vega", "theta"), tree, formulas, strict=True):
    print(f"European {name:5}  tree {found:9.4f}   formula {formula:9.4f}")
    assert abs(found - formula) < 0.005 * abs(formula)

spots = np.linspace(70.0, 140.0, 141)
american = np.array([greeks(s, *market[1:], STRIKE, STEPS, True) for s in spots])
figure, panels = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for panel, name, values in zip(panels, ("delta", "rho", "vega"), american.T, strict=False):
    panel.plot(spots, values)
    panel.set_title(name)
figure.suptitle("American put, by the price of the share")
figure.savefig("option_greeks.svg")
