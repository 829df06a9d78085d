"""Complex numbers and arrays: what Python and NumPy make of them, in small functions."""

from __future__ import annotations

import cmath
import math

import numpy as np

from tests.programs.semantics import collector

CASES, case = collector()

Z = 1.3 - 0.7j
W = -0.4 + 0.9j
IMAGINARY = 2.0j
SINGLE = np.complex64(0.5 - 1.25j)
TABLE = np.array([0.5 + 1j, -1.0 + 0.25j, 2.0 - 0.5j])


def numbers(*shape: int) -> np.ndarray:
    """Complex numbers away from 0 and from the branch cuts."""
    rng = np.random.default_rng([3, *shape])
    return rng.uniform(0.4, 1.5, shape) + 1j * rng.uniform(-1.2, 1.2, shape)


def reals(*shape: int) -> np.ndarray:
    return np.random.default_rng([5, *shape]).uniform(0.3, 1.4, shape)


# scalars


@case(Z, W)
def arithmetic(z, w):
    return z * w + w / z - (z - w) * 2.0 + 3 / z


@case(Z, 0.8)
def with_real_numbers(z, x):
    return x * z, z * x, x / z, z / x, x + z, x - z, z - x, z + 1, 1 - z, 2 * z, z / 2


@case(Z)
def imaginary_literals(z):
    return z * 2j, 1j * z, z + 1j, z / 1j, 1j - z, (1 + 2j) * z, -1j * z, IMAGINARY * z


@case(0.6)
def real_to_complex(x):
    return np.exp(1j * x), (1j * x) * (2j * x), x + 1j * x, 1j * x - x, 2j / x, np.exp(-2j * np.pi * x / 5)


@case(Z)
def whole_powers(z):
    return z**2, z**3, z**0, z**1, z**-1, z**-2, z**2.0, z**7


@case(Z, 3, 0.7)
def powers(z, n, x):
    return z**n, z ** (-n), z**x, x**z, z**z, z**0.5, 2.0**z, np.power(z, 1.5)


@case(Z, 0)
def power_of_zero_times(z, n):
    return z**n


@case(Z)
def exponential_and_logarithm(z):
    return np.exp(z), np.log(z), np.log2(z), np.log10(z), np.log1p(z), np.expm1(z), np.exp2(z), np.sqrt(z)


@case(W)
def in_the_left_half_plane(z):
    return np.sqrt(z), np.log(z), z**0.3, np.angle(z), np.sqrt(z.conjugate()), cmath.sqrt(z)


@case(Z)
def circular(z):
    return np.sin(z), np.cos(z), np.tan(z), np.sinh(z), np.cosh(z), np.tanh(z)


@case(W)
def inverses(z):
    return np.arcsin(z), np.arccos(z), np.arctan(z), np.arcsinh(z), np.arccosh(z), np.arctanh(z)


@case(Z)
def of_cmath(z):
    return cmath.exp(z), cmath.log(z), cmath.log(z, 3.0), cmath.sin(z), cmath.acosh(z), cmath.phase(z), cmath.atan(z)


@case(-1.7)
def cmath_of_a_real_number(x):
    return cmath.sqrt(x), cmath.log(x), cmath.exp(x), cmath.phase(x)


@case(Z)
def polar_and_rect(z):
    r, phi = cmath.polar(z)
    return cmath.rect(r * r, phi / 2), cmath.rect(1.0, phi)


@case(Z)
def parts_and_conjugates(z):
    return z.real * z.imag, z.conjugate() * z, np.conj(z), np.conjugate(z), np.real(z), np.imag(z), abs(z), np.abs(z)


@case(Z)
def squares(z):
    return np.square(z), np.reciprocal(z), -z, +z, np.absolute(z), np.negative(z)


@case(0.3, 0.9)
def made_of_parts(x, y):
    return complex(x, y), complex(x), complex(1, y), np.complex128(x) * 1j, complex(real=y, imag=x)


@case(-4.0 + 0.0j)
def square_root_on_the_cut(z):
    return np.sqrt(z)


@case(Z)
def square_root_of_a_negative(z):
    x = z.real
    return np.sqrt(complex(-x, 0.0)), np.sqrt(-1.0 * complex(x, 0.0)), np.sqrt(complex(-x, -0.0)), np.log(-x + 0j)


@case(3e180 + 1e180j, 2e170 - 1e170j)
def quotients_of_large_numbers(z, w):
    return (z / w).real / 1e10, (1e160 / z).imag * 1e20


@case(Z, W)
def comparisons(z, w):
    count = 0
    if z == w:
        count += 1
    if z != w:
        count += 2
    if z:
        count += 8
    if not z * 0:
        count += 16
    if z.real > w.real and abs(z) > 0.5:
        count += 32
    return count * z


@case(Z)
def questions(z):
    count = np.isnan(z) + 2 * np.isinf(z) + 4 * np.isfinite(z) + 8 * cmath.isfinite(z)
    return count * z if isinstance(z, complex) else 0 * z


@case(Z, 4)
def real_becomes_complex(z, n):
    s = 0.0
    for k in range(n):
        s += z * k
    return s


@case(Z, 4)
def integer_becomes_complex(z, n):
    s = 0
    for k in range(n):
        s = s * z + k
    return s


@case(Z, 5)
def newton(z, n):
    for _ in range(n):
        z = z - (z**3 - 1) / (3 * z**2)
    return z


@case(Z)
def while_it_is_large(z):
    count = 0
    while abs(z) > 0.1 and count < 50:
        z = z * (0.5 + 0.3j) + 0.01
        count += 1
    return z * count


@case(Z, 0.5)
@case(Z, -0.5)
def one_way_is_real(z, x):
    if x > 0:
        w = z * x
    else:
        w = x
    return w * 2j, abs(w)


@case(Z, 0.5)
@case(Z, -0.5)
def returns_early(z, x):
    if x > 0:
        return z * x
    return 1j * x + z


@case(Z, 0.5)
@case(Z, -0.5)
def chosen(z, x):
    return z if x > 0 else z.conjugate() * x


def _helper(z, factor=2j):
    if z.real > 1.0:
        return z * factor
    return z + factor


@case(Z)
def through_helpers(z):
    def inner(w):
        return w * z

    return _helper(z) + _helper(z * 0.1, 3.0) + inner(_helper(z, factor=1 - 1j))


@case(Z)
def pairs(z):
    a, b = z * 2, z.conjugate()
    a, b = b, a
    both = (a, b)
    return both[0] * both[1] + sum(both)


def _horner(z, n):
    if n == 0:
        return z * 0 + 1.0
    return _horner(z, n - 1) * z + n


@case(Z, 4)
def recursive(z, n):
    return _horner(z, n)


@case(Z)
def constants(z):
    return z * IMAGINARY + TABLE[1] * z + np.complex128(SINGLE) * z


@case(np.complex64(0.6 + 0.8j), np.float32(0.5))
def single_precision(z, x):
    w = z * x + z / (1 + z)
    return w * w, abs(w), np.exp(z), np.sqrt(z)


@case((Z, 0.5, W))
def in_a_tuple(t):
    return t[0] * t[1] + t[2]


@case(Z, W, 0.5)
def swapped_in_a_loop(z, w, x):
    for _ in range(5):
        z, w = w * x, z + w
    return z, w


# arrays


@case(numbers(5))
def sum_of_squares(z):
    s = 0.0
    for k in range(z.shape[0]):
        s += abs(z[k]) ** 2
    return s


@case(numbers(5))
def sum_in_a_loop(z):
    s = 0j
    for value in z:
        s += value * value
    return s


@case(numbers(6))
def written_in_place(z):
    for k in range(1, z.size):
        z[k] = z[k] * z[k - 1] + 0.5
    return z[-1]


@case(numbers(6), reals(6))
def updates(z, x):
    w = np.zeros(z.size, np.complex128)
    for k in range(z.size):
        w[k] += z[k] * x[k]
        w[k] -= x[k]
        w[k] *= 1j
        w[0] += x[k]
    return w


@case(numbers(6))
def written_parts(z):
    z.real[1:] = z.imag[:-1] * 2
    z.imag[2] = 0.5
    x = z.real
    x[0] = 3.0
    return z * z


@case(numbers(4, 3))
def rows_and_columns(z):
    w = z.copy()
    for i in range(z.shape[0]):
        w[i] *= z[i, 0]
    w[:, 1] += w[:, 0]
    return w.T[1], w[1:, ::2]


@case(numbers(7))
def slices(z):
    z[1:] = z[:-1]
    z[::2] = z[::2] * 1j
    w = z[2:5]
    w[0] = 2.0
    w += 1j
    return z


@case(np.asfortranarray(numbers(3, 4)))
def fortran_order(z):
    return z * z.real, z[1, 2] * z[2, 1]


@case(numbers(12)[::2])
def strided(z):
    return (z * z).sum()


@case(numbers(5), reals(5))
def elementwise(z, x):
    return np.exp(1j * x) * z, z / x + np.sqrt(z) ** 2, np.abs(z) * x, z**2 - x * z.conj(), -z + 2j


@case(numbers(3, 1), numbers(4))
def broadcast(z, w):
    return z * w + 1.0, (z + w).real, np.angle(z * w)


@case(numbers(5))
def conditions(z):
    return np.where(z.real > 0.9, z, z.conj() * 2), np.where(z.imag > 0, z, 0.0), z[z.real > 0.9]


@case(numbers(5))
def masks_and_indices(z):
    z[z.imag < 0] = 1j
    w = z[np.array([3, 0, 0])]
    z[np.array([1, 2])] = w[:2] * 2
    return z, w


@case(numbers(4), reals(4))
def creation(z, x):
    a = np.zeros(4, np.complex128) + z
    b = np.ones(4, dtype=complex) * x
    c = np.full(4, 1 + 2j) * z
    d = np.array([1j, 2.0, z[0], 3])
    e = np.empty_like(z)
    e[:] = x
    return a + b, c + d, e + np.ones_like(z) + np.zeros_like(z), np.array([[z[0], 1.0], [x[0], 2j]])


@case(reals(4))
def conversions(x):
    return x.astype(np.complex128) * 1j, np.complex128(2.0) * x, (x + 0j).real, np.asarray([1j, 2]) * x[:2]


@case(numbers(5))
def reductions(z):
    return z.sum(), np.sum(z * z), z.mean(), np.prod(z), np.cumsum(z), np.cumprod(z), z.var(), np.std(z)


@case(numbers(3, 4))
def reductions_along_axes(z):
    return z.sum(axis=0), np.mean(z, axis=1), np.cumsum(z, axis=1), np.sum(z, axis=1).prod()


@case(numbers(3, 4), numbers(4, 3))
def matrix_products(z, w):
    return z @ w, w.conj() @ z[:, 0], z[0] @ w, np.dot(z, w).trace(), z @ w.real, np.trace(z @ w)


@case(numbers(4), numbers(4))
def vector_products(z, w):
    return z @ w, np.dot(z, w), np.vdot(z, w), np.outer(z, w), np.inner(z, w), np.kron(z, w), np.linalg.norm(z - w)


@case(numbers(5))
def shapes(z):
    a = z * 1.0
    b = a[:4].reshape(2, 2)
    c = np.transpose(b).ravel()
    return b, c, np.flip(z), np.roll(z, 2), np.concatenate((z, a[1:])), np.stack((z, a)), a.flatten()


@case(numbers(3), reals(3))
def joined_with_reals(z, x):
    return np.concatenate((x, z)), np.stack((z, x)), np.append(z, 1.0), np.hstack((x, z)), np.vstack((z, x))


@case(numbers(4, 4))
def pieces(z):
    return np.diag(z), np.triu(z), np.diagonal(z) * 2, np.trace(z), np.diff(z), np.tile(z[0], 2), np.repeat(z[1], 2)


@case(numbers(4), numbers(3))
def filters(z, w):
    return np.convolve(z, w), np.correlate(z, w), np.correlate(z, w, "full"), np.polyval(z, w[0]), np.vander(w)


@case(0.7)
def ranges(x):
    k = np.arange(5)
    return np.exp(2j * np.pi * k * x / 5), np.linspace(0.0, x, 4) * 1j, (k + 1j * x).sum()


@case(numbers(4))
def lists(z):
    squares = [value * value for value in z]
    values = []
    for k in range(z.size):
        if z[k].imag > 0:
            values.append(z[k] * 2j)
    total = 0j
    for value in values:
        total += value
    return np.array(squares), total, [z[0], z[1]][1]


@case(numbers(4))
def iterates(z):
    total = 0j
    for k, value in enumerate(z):
        total += k * value
    for a, b in zip(z, z.conj()):
        total += a * b * b
    return total, len(z) * z[0]


@case(numbers(3, 2))
def every_index(z):
    total = 0j
    for index in np.ndindex(z.shape):
        total += z[index] ** 2
    for value in z.flat:
        total += value
    return total


@case(numbers(4), numbers(4))
def buffers_swapped(z, w):
    for _ in range(3):
        for k in range(z.size):
            w[k] = z[k] * (0.5 + 0.1j) + z[k - 1]
        z, w = w, z
    return z


@case(numbers(4), 1)
@case(numbers(4), -1)
def array_of_one_way(z, n):
    if n > 0:
        w = z * 2
    else:
        w = z.conj()
    w = w + 1j
    return w


@case(numbers(8))
def transform(z):
    n = z.size
    out = np.zeros(n, dtype=np.complex128)
    for k in range(n):
        for j in range(n):
            out[k] += z[j] * np.exp(-2j * np.pi * k * j / n)
    return out


@case(np.array([0j, 1 + 1j]))
def absolute_at_zero(z):
    return np.abs(z[1:]).sum() + abs(z[0] * 0) + abs(z[1])


@case(np.array([0.5 + 1j, 2 - 1j], np.complex64), np.array([0.25, 2.0], np.float32))
def single_arrays(z, x):
    return z * x, np.exp(z), (z * z).sum(), np.abs(z), z * np.float32(2) + 1


@case(numbers(3))
def known_table(z):
    return z * TABLE, (TABLE * z).sum(), TABLE[0] * z[0], TABLE.real * z


@case(numbers(3))
def in_and_out_of_order(z):
    w = z[::-1]
    w[0] = w[2] * 1j
    z *= 2
    return w, z[0]


@case(reals(3), numbers(3))
def real_views_of_results(x, z):
    w = z * x
    a, b = w.real, w.imag
    a[0] = b[1] * 2
    return w, math.sqrt(a[1])
