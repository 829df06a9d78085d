"""Programs on complex numbers as a user of JAX writes them; as in `peers_jax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp


def contour_integral(coefficients, pole, radius, n):
    step = radius * jnp.exp(2j * jnp.pi * jnp.arange(n) / n)
    z = pole + step
    return jnp.abs(jnp.mean(jnp.polyval(coefficients, z) * jnp.exp(-z) / (z - pole) * step)) ** 2


def fft_stages(z, twiddles, order):
    n, half = z.shape[0], 1
    a = z[order]
    while half < n:
        pairs = a.reshape(-1, 2, half)
        odd = twiddles[:: n // (2 * half)] * pairs[:, 1]
        a = jnp.stack([pairs[:, 0] + odd, pairs[:, 0] - odd], axis=1).ravel()
        half *= 2
    return jnp.sum(jnp.arange(n) * jnp.abs(a) ** 2) / n


PROGRAMS: dict[str, Callable[..., Any]] = {f.__name__: f for f in (contour_integral, fft_stages)}
