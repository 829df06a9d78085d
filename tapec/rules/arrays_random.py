"""Random draws from families that shift and scale a standard draw.

The standard draw is a constant; the derivative with respect to location and scale is that of the
transformation.  The stream of random numbers is the one that NumPy would use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _uniform(size):
    if size is None:
        return np.random.random()
    return np.random.random(size)


def _standard_normal(size):
    if size is None:
        return np.random.standard_normal()
    return np.random.standard_normal(size)


def _standard_exponential(size):
    if size is None:
        return np.random.standard_exponential()
    return np.random.standard_exponential(size)


def normal(loc=0.0, scale=1.0, size=None):
    """Normal draws; differentiable in mean and deviation."""
    return loc + scale * _standard_normal(size)


def lognormal(mean=0.0, sigma=1.0, size=None):
    """Log-normal draws; differentiable in both parameters."""
    return np.exp(mean + sigma * _standard_normal(size))


def uniform(low=0.0, high=1.0, size=None):
    """Uniform draws; differentiable in both bounds."""
    return low + (high - low) * _uniform(size)


def exponential(scale=1.0, size=None):
    """Exponential draws; differentiable in the scale."""
    return scale * _standard_exponential(size)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "random.normal": normal,
    "random.lognormal": lognormal,
    "random.uniform": uniform,
    "random.exponential": exponential,
}
