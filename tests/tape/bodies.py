"""Bodies of tapes: functions that make their variables, and give a step to run, its arguments, and the sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec

BODIES: dict[str, Callable[..., Any]] = {}


def body(make):
    """Note a function from a maker of variables to (step, arguments, variables).

    The step gives a loss and its gradients with respect to the variables.
    """
    assert make.__name__ not in BODIES
    BODIES[make.__name__] = make
    return make


class Maker:
    """Makes variables, each moved by `shift` in a direction of its own."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift, self.directions = shift, []

    def __call__(self, value, **options):
        value = np.asarray(value, dtype=float)
        direction = np.random.default_rng(100 + len(self.directions)).normal(size=value.shape)
        made = tapec.Variable(value + self.shift * direction, **options)
        self.directions.append((made, direction))
        return made


def outcome(make, wrap=lambda step: step, shift=0.0):
    """The loss, and the gradients' product with the directions; `None` counts as zero."""
    variable = Maker(shift)
    step, arguments, sources = make(variable)
    loss, gradients = wrap(step)(*arguments)
    along = {id(made): direction for made, direction in variable.directions}
    gradients = list(gradients.values()) if isinstance(gradients, dict) else gradients
    pairs = [(g, along[id(v)]) for g, v in zip(gradients, sources, strict=True) if g is not None]
    return float(np.sum(loss)), sum(float(np.sum(np.asarray(g) * d)) for g, d in pairs)


def difference(make, step=1e-5):
    """The central difference of the loss along the directions."""
    above, below = outcome(make, shift=step)[0], outcome(make, shift=-step)[0]
    return (above - below) / (2 * step)
