"""Functions that the tests build ahead of time, with a target and arguments for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Spring(NamedTuple):
    stiffness: float
    rest: Any


def energy(x, spring):
    total = 0.0
    for i in range(x.shape[0] - 1):
        stretch = x[i + 1] - x[i] - spring.rest[i]
        total += 0.5 * spring.stiffness * stretch * stretch
    return total


def cubes(a, b, c, d):
    """Ranks 0, 2, 3 and 4, of C, Fortran and any order."""
    total = a[()] * 2.0
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            total += np.sin(b[i, j]) * a[()]
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(c.shape[2]):
                total += c[i, j, k] ** 2 * (i + 2 * j + 3 * k)
    return total + np.sum(d**3)


def newton(a, tolerance):
    """A iteration count that is known only at the end: the reverse sweep has stacks."""
    if a < 0.0:
        raise ValueError('a is negative: "no" real root */')
    if a > 1e6:
        raise OverflowError
    x = a
    while abs(x * x - a) > tolerance:
        x = 0.5 * (x + a / x)
    return x * x * x


def mixed(x, n, flag, single, u):
    """Types other than float64."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * n * single
    if flag:
        total = total * u[0]
    return total


def scale_in_place(x, factor):
    for i in range(x.shape[0]):
        x[i] *= factor
    return x.sum()


def fibonacci_like(x, n):
    if n < 2:
        return x * n
    return fibonacci_like(x, n - 1) + np.sin(x) * fibonacci_like(x, n - 2)


TABLE = np.linspace(0.0, 1.0, 40) ** 2


def fails_late(x):
    """Holds arrays, lists of numbers and, in its adjoint, a list of arrays, when it raises."""
    steps = []
    total = 0.0
    v = 2.0 * x
    while total < x[0]:
        v = np.sin(v) * x
        steps.append(total * v[0])
        total += 0.5 + TABLE[len(steps)]
        if len(steps) > 20:
            raise RuntimeError("too many steps")
    for k in range(len(steps)):
        total += np.sum(steps[k] * v)
    return total


def descend(y, n):
    if n == 0:
        if y[0] > 1.0:
            raise RuntimeError("nothing below")
        return y[0]
    return descend(y, n - 1) * y[1]


def fails_below(x):
    """Holds an array when a function that it calls raises."""
    y = np.sqrt(x)
    return descend(y, 3) + y.sum()


def several(x, k):
    """Results of other shapes than the arguments'."""
    return 2.0 * x[:k], x.T, x.shape[0], (None, np.outer(x[0], x[0])), x.sum() > 0.0


def awkward(status, result, x, x_count, X, free, int, lambda_, θ):
    """Names that C, Fortran or the entry's own code has other uses for."""
    total = result * free * int + X + θ * lambda_
    for i in range(x.shape[0]):
        total += x[i] * x_count[i] * status
    return total


def waves(x, a):
    return np.sin(x) * a, a * a


def oscillator(x):
    return np.sum(np.exp(-x) * np.cos(x))


def dense(a, b):
    """One of each routine of linear algebra."""
    symmetric = a @ a.T + np.eye(a.shape[0])
    low = np.linalg.cholesky(symmetric)
    w, v = np.linalg.eigh(symmetric)
    y = np.linalg.solve(a, b) + np.linalg.inv(symmetric) @ b + v[0, 0] ** 2
    return np.dot(y, b) + np.linalg.det(a) + np.sum(low) + np.sum(w * w) + np.sum(np.linalg.pinv(a) * a)


@dataclass(frozen=True)
class Case:
    """A function, how it is built, and arguments for it."""

    f: Callable[..., Any]
    signature: str
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    wrt: Any = 0
    mode: str = "value_and_grad"

    @property
    def name(self) -> str:
        return f"{self.f.__name__}_{self.mode}"


CASES = (
    Case(
        energy,
        "",
        lambda rng: (rng.normal(size=6), Spring(3.0, rng.normal(size=5))),
        ("x", "spring"),
    ),
    Case(
        cubes,
        "Array(f8, 0, 'C'), f8[:, :], f8[::1, :, :], f8[:, :, :, ::1]",
        lambda rng: (
            np.array(1.5),
            rng.normal(size=(4, 6))[::2, ::-2],
            np.asfortranarray(rng.normal(size=(2, 3, 4))),
            rng.normal(size=(1, 2, 3, 2)),
        ),
        (0, 1, 2, 3),
    ),
    Case(newton, "f8, f8", lambda rng: (2.0, 1e-12), mode="grad"),
    Case(
        mixed,
        "f4[:], i2, b1, f4, u1[:]",
        lambda rng: (
            rng.normal(size=4).astype(np.float32),
            np.int16(-3),
            True,
            np.float32(0.5),
            np.array([7], np.uint8),
        ),
        (0, 3),
    ),
    Case(scale_in_place, "f8[:], f8", lambda rng: (rng.normal(size=5), 1.5), (0, 1)),
    Case(scale_in_place, "f8[:], f8", lambda rng: (rng.normal(size=5), 1.5, rng.normal(size=5)), mode="jvp"),
    Case(fibonacci_like, "f8, i8", lambda rng: (0.7, 7)),
    Case(fails_late, "f8[::1]", lambda rng: (rng.uniform(0.5, 1.0, 3),)),
    Case(fails_below, "f8[::1]", lambda rng: (rng.uniform(0.5, 1.0, 3),)),
    Case(several, "f8[:, :], i8", lambda rng: (rng.normal(size=(3, 4)), 2), (), "primal"),
    Case(several, "f8[:, :], i8", lambda rng: (rng.normal(size=(3, 4)), 2, rng.normal(size=(3, 4))), 0, "jvp"),
    Case(
        awkward,
        "f8, f8, f8[:], f8[:], f8, f8, f8, f8, f8",
        lambda rng: (1.0, 2.0, rng.normal(size=2), rng.normal(size=2), 3.0, 4.0, 5.0, 6.0, 7.0),
        (0, 1, 2, 3, 4, 5, 6, 7, 8),
    ),
    Case(oscillator, "f8[:]", lambda rng: (rng.normal(size=300), rng.normal(size=300)), mode="hvp"),
    Case(oscillator, "f8[:]", lambda rng: (rng.normal(size=3),), mode="hessian"),
    Case(oscillator, "f8[:]", lambda rng: (rng.normal(size=3),), mode="hessian_diag"),
    Case(oscillator, "f8[:]", lambda rng: (rng.normal(size=3), 2.0), mode="vjp"),
    Case(waves, "f8[:], f8", lambda rng: (rng.normal(size=3), 2.0, (rng.normal(size=3), 0.5)), (0, 1), "vjp"),
    Case(oscillator, "f8[:]", lambda rng: (rng.normal(size=3), rng.normal(size=3)), mode="gnvp"),
)
