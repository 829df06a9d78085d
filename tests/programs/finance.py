"""Option prices and paths of wealth."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tests.programs import Program


def black_scholes_monte_carlo(spot, strike, rate, vol, years, normals):
    """Price of a call over given normal draws, each used with both signs."""
    drift = (rate - 0.5 * vol**2) * years
    spread = vol * math.sqrt(years)
    total = 0.0
    for z in normals:
        for sign in (1.0, -1.0):
            end = spot * math.exp(drift + spread * sign * z)
            total += max(end - strike, 0.0)
    return math.exp(-rate * years) * total / max(1, 2 * normals.size)


@njit
def _american_put(spot, strike, rate, vol, years, steps):
    dt = years / steps
    up = math.exp(vol * math.sqrt(dt))
    discount = math.exp(-rate * dt)
    p = (math.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    value = np.empty(steps + 1)
    for i in range(steps + 1):
        value[i] = max(strike - spot * up ** (2 * i - steps), 0.0)
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            hold = discount * (p * value[i + 1] + (1.0 - p) * value[i])
            exercise = strike - spot * up ** (2 * i - step)
            value[i] = max(hold, exercise)
    return value[0]


def american_put(spot, strike, rate, vol, years, steps):
    """Cox-Ross-Rubinstein price with early exercise, folded back in one buffer."""
    return _american_put(spot, strike, rate, vol, years, steps)


def crr_calibration(vols, strikes, quotes, spot, rate, steps):
    """Sum of squared errors of tree prices against quotes, one volatility per strike."""
    loss = 0.0
    for k in range(strikes.shape[0]):
        err = _american_put(spot, strikes[k], rate, vols[k], 0.5, steps) - quotes[k]
        loss += err * err
    return loss


def drawdown(returns):
    """Greatest fall of cumulated wealth below its running maximum."""
    wealth = np.cumsum(returns)
    worst = 0.0
    peak = 0.0
    for w in wealth:
        peak = max(peak, w)
        worst = min(worst, w - peak)
    return -worst


def _quotes(rng, n):
    strikes = np.linspace(80.3, 121.7, n)
    return rng.uniform(0.15, 0.3, n), strikes, rng.uniform(1.0, 20.0, n), 100.0, 0.02, 5


PROGRAMS = (
    Program(
        black_scholes_monte_carlo,
        lambda rng, n: (100.0, 103.0, 0.02, 0.25, 0.7, rng.normal(size=n)),
        (0, 1, 20),
        (0, 1, 2, 3, 4),
    ),
    Program(
        american_put,
        lambda rng, n: (100.0, 104.3, 0.03, rng.uniform(0.2, 0.3), 0.9, n),
        (1, 2, 9),
        (0, 1, 2, 3, 4),
        note="the derivative holds the exercise decisions fixed",
    ),
    Program(crr_calibration, _quotes, (0, 3)),
    Program(drawdown, lambda rng, n: (rng.normal(size=n),), (0, 1, 8)),
)
