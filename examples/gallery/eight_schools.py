"""Statistics: Hamiltonian Monte Carlo in one compiled loop.

The eight schools of Rubin (1981): effects of coaching with known errors, whose mean and spread are to be found. Jitted
code calls `tapec.value_and_grad` of the log-density, so the sampler is one compiled function. An integral checks it.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

import tapec

effect, error = np.array([[28.0, 8, -3, 7, -1, 1, 18, 12], [15.0, 10, 16, 11, 9, 11, 10, 18]])


@njit
def log_density(q, effect, error):
    """q: the mean in units of 10, the log of the spread, and eight standard normal numbers."""
    mean, spread = 10.0 * q[0], np.exp(q[1])
    total = q[1] - np.log1p((spread / 5.0) ** 2) - 0.5 * q[0] ** 2
    for k in range(effect.shape[0]):
        total -= 0.5 * q[2 + k] ** 2 + 0.5 * ((effect[k] - mean - spread * q[2 + k]) / error[k]) ** 2
    return total


density_and_slope = tapec.value_and_grad(log_density)


@njit
def sample(count, steps, length, effect, error, seed):
    np.random.seed(seed)
    q, draws, accepted = np.zeros(10), np.empty((count, 2)), 0
    density, slope = density_and_slope(q, effect, error)
    for draw in range(count):
        p = np.random.normal(0.0, 1.0, q.shape[0])
        before, new, density_new, slope_new = density - 0.5 * np.sum(p * p), q, density, slope
        for _ in range(steps):
            p = p + 0.5 * length * slope_new
            new = new + length * p
            density_new, slope_new = density_and_slope(new, effect, error)
            p = p + 0.5 * length * slope_new
        if np.log(np.random.random()) < density_new - 0.5 * np.sum(p * p) - before:
            q, density, slope, accepted = new, density_new, slope_new, accepted + 1
        draws[draw, 0], draws[draw, 1] = 10.0 * q[0], np.exp(q[1])
    return draws, accepted / count


draws, accepted = sample(20_000, 12, 0.2, effect, error, 1)
mean, spread = np.meshgrid(np.linspace(-30.0, 45.0, 400), np.linspace(0.01, 200.0, 2000))
variance = spread[..., None] ** 2 + error**2
fits = np.exp(-0.5 * np.sum((effect - mean[..., None]) ** 2 / variance + np.log(variance / 200.0), axis=-1))
weight = fits * np.exp(-0.5 * (mean / 10.0) ** 2) / (1.0 + (spread / 5.0) ** 2)
exact = np.array([np.average(mean, weights=weight), np.average(spread, weights=weight)])
print(f"mean, spread: sampled {draws.mean(axis=0).round(2)}, integrated {exact.round(2)}; accepted {accepted:.0%}")
assert np.allclose(draws.mean(axis=0), exact, atol=0.3)
plt.figure(figsize=(7, 3.2), layout="constrained")
plt.gca().set(xlabel="mean effect", ylabel="spread between schools")
plt.semilogy(*draws[::5].T, ".", ms=2)
plt.savefig("eight_schools.svg")
