"""Complex analysis and signals: contour integrals, Fourier transforms, waves with a phase."""

from __future__ import annotations

import numpy as np

from tests.programs import Program


def contour_integral(coefficients, pole, radius, n):
    """The squared size of a polynomial times an exponential at `pole`, by Cauchy's formula on a circle."""
    total = 0.0
    for k in range(n):
        step = radius * np.exp(2j * np.pi * k / n)
        z = pole + step
        value = 0j
        for c in coefficients:
            value = value * z + c
        total += value * np.exp(-z) / (z - pole) * step
    return abs(total / n) ** 2


def fft_stages(z, twiddles, order):
    """The power of a spectrum weighted by frequency, by a transform of radix 2 in place."""
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
    return power / n


def schroedinger(psi0, potential, dt, steps):
    """The mean position of a particle after Cayley steps, each a tridiagonal system."""
    n = psi0.shape[0]
    psi = psi0.copy()
    ratio = np.empty(n, np.complex128)
    rest = np.empty(n, np.complex128)
    for _ in range(steps):
        off = -0.25j * dt
        for k in range(n):
            here = 1j * dt * (0.5 + 0.5 * potential[k])
            left = psi[k - 1] if k > 0 else 0j
            right = psi[k + 1] if k < n - 1 else 0j
            value = (1.0 - here) * psi[k] - off * (left + right)
            if k == 0:
                pivot = 1.0 + here
                rest[k] = value / pivot
            else:
                pivot = 1.0 + here - off * ratio[k - 1]
                rest[k] = (value - off * rest[k - 1]) / pivot
            ratio[k] = off / pivot
        psi[n - 1] = rest[n - 1]
        for k in range(n - 2, -1, -1):
            psi[k] = rest[k] - ratio[k] * psi[k + 1]
    weight = np.abs(psi) ** 2
    return np.sum(weight * np.arange(n)) / np.sum(weight)


def impedance(r, c, frequencies, seen):
    """How far a chain of resistors and capacitors is from its measured response."""
    loss = 0.0
    for k in range(frequencies.size):
        w = 2j * np.pi * frequencies[k]
        z = 0j
        for i in range(r.size):
            z += r[i] / (1.0 + w * r[i] * c[i])
        d = np.log(z) - seen[k]
        loss += (d * d.conjugate()).real
    return loss / frequencies.size


def bit_reversed(n):
    """The order in which a transform of radix 2 takes its elements."""
    order = np.zeros(n, np.int64)
    half = 1
    while half < n:
        order[half : 2 * half] = order[:half] + n // (2 * half)
        half *= 2
    return order


def signal(rng, n):
    """A signal, the roots of unity and the order for `fft_stages`; `n` is a power of two."""
    z = rng.normal(size=n) + 1j * rng.normal(size=n)
    return z, np.exp(-2j * np.pi * np.arange(max(n // 2, 1)) / n), bit_reversed(n)


def packet(rng, n):
    place = np.arange(n)
    wave = np.exp(-(((place - n / 3) / 2.0) ** 2) + 0.7j * place)
    return wave, 0.3 * rng.uniform(size=n), 0.2, 4


def circuit(rng, n):
    r, c = rng.uniform(0.5, 2.0, 3), rng.uniform(0.2, 1.0, 3)
    return r, c, rng.uniform(0.1, 2.0, n), rng.normal(size=n) + 1j * rng.normal(size=n)


PROGRAMS = (
    Program(
        contour_integral,
        lambda rng, n: (rng.normal(size=4) + 1j * rng.normal(size=4), 0.3 - 0.2j, 0.8, n),
        (8, 40),
        (0, 1, 2),
    ),
    Program(fft_stages, signal, (1, 2, 16), (0, 1), note="with respect to the twiddle factors, too"),
    Program(schroedinger, packet, (2, 12), (0, 1, 2)),
    Program(impedance, circuit, (1, 6), (0, 1, 3)),
)
