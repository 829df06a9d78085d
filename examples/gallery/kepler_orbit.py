"""Astronomy: an orbit from radial velocities.

A planet makes its star move to and fro. The velocity along the line of sight tells period, eccentricity and mass of
the planet. Each time needs Kepler's equation, which a loop solves by Newton's method. `tapec.jacobian` differentiates
through the loop, and SciPy's least squares needs nothing else. The fitted parameters agree with those that made the
data, within the errors that the Jacobian gives.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from scipy.optimize import least_squares

import tapec


@njit
def velocities(orbit, times):
    """Amplitude, period, eccentricity, argument and time of the periastron, and the velocity of the system."""
    amplitude, period, e, omega, start, system = orbit
    v = np.empty(times.shape[0])
    for i in range(times.shape[0]):
        mean = 2 * np.pi * (times[i] - start) / period
        anomaly = mean
        for _ in range(30):
            step = (anomaly - e * np.sin(anomaly) - mean) / (1 - e * np.cos(anomaly))
            anomaly -= step
            if abs(step) < 1e-14:
                break
        true = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(anomaly / 2), np.sqrt(1 - e) * np.cos(anomaly / 2))
        v[i] = system + amplitude * (np.cos(true + omega) + e * np.cos(omega))
    return v


rng = np.random.default_rng(1)
truth = np.array([55.0, 4.23, 0.3, 0.8, 1.1, -12.0])
times = np.sort(rng.uniform(0.0, 30.0, 60))
noise = 5.0
seen = velocities(truth, times) + noise * rng.normal(size=times.size)

fit = least_squares(
    lambda orbit: (velocities(orbit, times) - seen) / noise,
    np.array([40.0, 4.2, 0.1, 0.5, 1.0, 0.0]),
    jac=lambda orbit: tapec.jacobian(velocities)(orbit, times) / noise,
    x_scale="jac",
)
errors = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
for true, found, error in zip(truth, fit.x, errors, strict=True):
    print(f"{found:8.3f} +- {error:.3f}   (true {true})")
assert np.all(np.abs(fit.x - truth) < 4 * errors)

dense = np.linspace(0.0, 30.0, 1000)
plt.figure(figsize=(7, 3.2), layout="constrained")
plt.errorbar(times, seen, noise, fmt=".", label="measured")
plt.plot(dense, velocities(fit.x, dense), lw=1, label="fitted orbit")
plt.xlabel("time in days")
plt.ylabel("velocity in m/s")
plt.legend()
plt.savefig("kepler_orbit.svg")
