"""Adjoints of programs on complex numbers, written by hand; as in `adjoints`."""

from __future__ import annotations

import numpy as np


def fft_stages(z, twiddles, order):
    """The transform is linear: its adjoint runs the stages backwards with conjugate factors, and keeps nothing."""
    n = z.shape[0]
    a = np.empty_like(z)
    for k in range(n):
        a[k] = z[order[k]]
    half = 1
    while half < n:
        stride = n // (2 * half)
        for start in range(0, n, 2 * half):
            for k in range(half):
                even = a[start + k]
                odd = twiddles[k * stride] * a[start + k + half]
                a[start + k] = even + odd
                a[start + k + half] = even - odd
        half *= 2
    power = 0.0
    for k in range(n):
        power += k * (a[k].real ** 2 + a[k].imag ** 2)
        a[k] = 2.0 * k / n * a[k]
    while half > 1:
        half //= 2
        stride = n // (2 * half)
        for start in range(0, n, 2 * half):
            for k in range(half):
                even_bar = a[start + k] + a[start + k + half]
                odd_bar = a[start + k] - a[start + k + half]
                a[start + k] = even_bar
                a[start + k + half] = twiddles[k * stride].conjugate() * odd_bar
    z_bar = np.empty_like(z)
    for k in range(n):
        z_bar[order[k]] = a[k]
    return power / n, (z_bar,)
