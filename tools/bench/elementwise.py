"""Expressions over large arrays: little arithmetic per element, so that passes over memory count."""

from __future__ import annotations

from typing import Any

import numpy as np


def elementwise_waves(x: Any, y: Any) -> Any:
    """A product of two elementary functions, added up."""
    return (np.exp(x) * np.sin(y)).sum()


def elementwise_log_sum_exp(x: Any) -> Any:
    """The logarithm of a sum of exponentials, with the largest taken out."""
    top = x.max()
    return top + np.log(np.exp(x - top).sum())


def elementwise_entropy(x: Any) -> Any:
    """The entropy of a softmax."""
    e = np.exp(x - x.max())
    p = e / e.sum()
    return -(p * np.log(p)).sum()


def elementwise_norm(x: Any) -> Any:
    """Euclid's norm."""
    return np.sqrt((x * x).sum())


def elementwise_polynomial(x: Any) -> Any:
    """The mean of a polynomial, by Horner's rule."""
    return (((0.3 * x + 1.2) * x - 0.7) * x * x + 2.0 * x).mean()


def elementwise_rows(a: Any, w: Any, b: Any) -> Any:
    """Squares of rows that are scaled and shifted alike."""
    return ((a * w + b) ** 2).sum()


def elementwise_gates(x: Any, y: Any) -> Any:
    """Functions of machine learning, multiplied."""
    return (np.tanh(x) * np.log1p(y * y) / (1.0 + np.exp(-x))).sum()


PROGRAMS = (
    elementwise_waves,
    elementwise_log_sum_exp,
    elementwise_entropy,
    elementwise_norm,
    elementwise_polynomial,
    elementwise_rows,
    elementwise_gates,
)
SIZE = 1_000_000


def arguments(rng: np.random.Generator, program: Any) -> tuple[Any, ...]:
    """A million elements in each array, or in a matrix beside which the others are rows."""
    if program is elementwise_rows:
        return rng.normal(size=(SIZE // 100, 100)), rng.normal(size=100), rng.normal(size=100)
    return tuple(rng.normal(size=SIZE) for _ in range(program.__code__.co_argcount))
