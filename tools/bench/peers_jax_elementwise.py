"""The expressions over large arrays as a user of JAX writes them."""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy.special import logsumexp


def elementwise_waves(x, y):
    return (jnp.exp(x) * jnp.sin(y)).sum()


def elementwise_log_sum_exp(x):
    return logsumexp(x)


def elementwise_entropy(x):
    e = jnp.exp(x - x.max())
    p = e / e.sum()
    return -(p * jnp.log(p)).sum()


def elementwise_norm(x):
    return jnp.sqrt((x * x).sum())


def elementwise_polynomial(x):
    return (((0.3 * x + 1.2) * x - 0.7) * x * x + 2.0 * x).mean()


def elementwise_rows(a, w, b):
    return ((a * w + b) ** 2).sum()


def elementwise_gates(x, y):
    return (jnp.tanh(x) * jnp.log1p(y * y) / (1.0 + jnp.exp(-x))).sum()


PROGRAMS = {
    f.__name__: f
    for f in (
        elementwise_waves, elementwise_log_sum_exp, elementwise_entropy, elementwise_norm, elementwise_polynomial,
        elementwise_rows, elementwise_gates,
    )
}  # fmt: skip
