"""Functions that the tests build into one extension module."""

# annotations in Numba's notation
# ruff: noqa: F821

from typing import NamedTuple

import numpy as np

TABLE = np.array([1.0, 2.0])


class Refused(Exception):
    """An exception of this module's own."""


class Moments(NamedTuple):
    mean: float
    spread: float


def weighted(x: "f8[:]", w: "UniTuple(f8, 2)", s: float = 2.0):
    """Weighted squares, with "quotes" and a \\ backslash.

    x  any numbers
    """
    total = 0.0
    for i in range(x.shape[0]):
        total += s * x[i] ** 2 * w[0] * TABLE[1]
    return total


def powers(x: "f8[:]", n: "i4" = 3, signed: bool = True, scale: "f4" = 0.5, shift: "u1" = 1):
    if n < 0:
        raise ValueError("n must not be negative")
    if n > 100:
        raise KeyError("too large")
    if n == 99:
        raise Refused("not 99")
    total = 0.0
    for i in range(x.shape[0]):
        total += scale * (x[i] if signed else abs(x[i])) ** n + shift
    return total


def halve(x: "f8[::1]"):
    for i in range(x.shape[0]):
        x[i] *= 0.5
    return np.sum(x * x)


def moments(x: "f8[:]"):
    return Moments(np.sum(x) / x.shape[0], np.sum(x * x) / x.shape[0])


def rows(a: "f8[:, :]", flags: "b1[:]", counts: "i8[:]"):
    total = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if flags[j]:
                total[i] += counts[j] * a[i, j] ** 2
    return total


def columns(a: "f8[::1, :]", y: "f4[:]"):
    return np.sum(a * a) + np.sum(y * y)


def blend(x: "f8[:]", y: "f8[:]"):
    for i in range(x.shape[0]):
        x[i] = x[i] * y[i]
    return np.sum(x)


def fixed(x: "f8[:]", how="sum", offset=None):
    return np.sum(x) if how == "sum" else np.prod(x)


def several(*args):
    return args[0] * args[1]


def wait(n: int, x: float):
    for i in range(n):
        x = np.sin(x + i)
    return x


def total(x, n=2):
    if n < 0:
        raise ValueError("n must be positive")
    return np.sum(x**n)


def steps(n: int, x: float):
    if n == 0:
        return x
    return x * steps(n - 1, np.sin(x))


def watch(flag: "f8[::1]", seen: "f8[::1]", limit: int):
    for i in range(limit):
        seen[0] = i + 1.0
        if flag[0] != 0.0:
            return float(i)
    return float(limit)
