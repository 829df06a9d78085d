"""What threads of `tools.stress` do: derivatives of all kinds, each with its answer by hand.

A job is a function without arguments that raises AssertionError for a wrong answer.  Jobs share functions, derivatives
and tapes, as threads of a program do.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

import tapec

Job = Callable[[], None]

POINTS = np.linspace(0.5, 1.5, 4)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-9, atol=1e-12)


def energy(x: Any) -> Any:
    return np.sum(np.exp(x) * x)


def scan(x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        s = s * 0.5 + np.sin(x[i])
    return s


def cube(x: Any) -> Any:
    return x * x * x


def squares(x: Any) -> Any:
    return np.array([x[0] * x[0], x[0] * x[1]])


@numba.njit
def bent(x):  # type: ignore[no-untyped-def]
    return np.tanh(x) * x


def of_bent(x: Any) -> Any:
    return bent(x) + 1.0


class Model:
    def __init__(self, k: float) -> None:
        self.k = k

    def loss(self, x: Any) -> Any:
        return self.k * np.sum(x * x)


def _scan_gradient(x: Any) -> Any:
    return np.cos(x) * 0.5 ** np.arange(len(x) - 1, -1, -1)


def new_gradient() -> None:
    near(tapec.grad(energy)(POINTS), np.exp(POINTS) * (1 + POINTS))


def new_pair() -> None:
    value, gradient = tapec.value_and_grad(scan)(POINTS)
    near(gradient, _scan_gradient(POINTS))
    near(value, scan(POINTS))


shared_gradient = functools.cache(lambda: tapec.grad(scan))


def common_gradient() -> None:
    near(shared_gradient()(POINTS), _scan_gradient(POINTS))


def of_lambda() -> None:
    near(tapec.grad(lambda x: math.log(x) * x)(2.0), math.log(2.0) + 1.0)


def of_closure(k: float = 3.0) -> None:
    def scaled(x: Any) -> Any:
        return k * x * x

    near(tapec.grad(scaled)(2.0), 4.0 * k)


def forward() -> None:
    value, tangent = tapec.jvp(energy, (POINTS,), (np.ones(4),))
    near(value, energy(POINTS))
    near(tangent, np.sum(np.exp(POINTS) * (1 + POINTS)))


def backward() -> None:
    value, pullback = tapec.vjp(squares, POINTS[:2])
    x, y = POINTS[:2]
    near(pullback(np.array([1.0, 10.0]))[0], [2 * x + 10 * y, 10 * x])


def second() -> None:
    near(tapec.grad(tapec.grad(cube))(2.0), 12.0)
    near(tapec.hessian(cube)(2.0), 12.0)
    near(tapec.hvp(cube)(2.0, 3.0), 36.0)


def rows() -> None:
    x, y = POINTS[:2]
    near(tapec.jacobian(squares)(POINTS[:2]), [[2 * x, 0.0], [y, x]])


def of_jitted() -> None:
    x = 0.7
    near(tapec.grad(of_bent)(x), math.tanh(x) + x * (1 - math.tanh(x) ** 2))


def from_jitted() -> None:
    gradient = tapec.grad(cube)

    @numba.njit
    def step(x: float) -> Any:
        return x - 0.1 * gradient(x)

    near(step(2.0), 0.8)


def of_method() -> None:
    near(tapec.grad(Model(2.5).loss)(POINTS), 5.0 * POINTS)


def text() -> None:
    assert "def cube" in tapec.emit(cube, signature="f8")


def tape() -> None:
    x = tapec.constant(POINTS)
    with tapec.GradientTape() as t:
        t.watch(x)
        y = np.sum(np.sin(x) * x)
    near(t.gradient(y, x), np.sin(POINTS) + np.cos(POINTS) * POINTS)


def training() -> None:
    w = tapec.Variable(np.ones(3))
    for step in range(4):
        with tapec.GradientTape() as t:
            loss = np.sum((w - 2.0) ** 2) * (1.0 + 0.0 * step)
        gradient = t.gradient(loss, w)
        near(gradient, 2 * (w.numpy() - 2.0))
        w.assign_sub(0.25 * gradient)
    near(w, 2.0 - 0.5**4)


def branching(sign: float = 1.0) -> None:
    x = tapec.constant(3.0)
    with tapec.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x if sign > 0 else x * x * x
        z = y * 2.0
    near(t.gradient(z, x), 12.0 if sign > 0 else 54.0)
    near(t.gradient(y, x), 6.0 if sign > 0 else 27.0)


def other_way() -> None:
    branching(-1.0)


def _powers(x: Any) -> Iterator[Any]:
    made = x
    while True:
        yield made
        made = made * x + np.log(x) * 0.0


def generator() -> None:
    x = tapec.constant(1.5)
    with tapec.GradientTape() as t:
        t.watch(x)
        powers = _powers(x)
        y = next(powers) + next(powers) * next(powers)
    near(t.gradient(y, x), 1.0 + 5.0 * 1.5**4)


@functools.cache
def slope() -> Any:
    return tapec.function(_slope)


def _slope(x: Any) -> Any:
    with tapec.GradientTape() as t:
        t.watch(x)
        y = np.sum(x**3)
    return t.gradient(y, x)


def compiled_tape() -> None:
    near(slope()(POINTS), 3 * POINTS**2)


@functools.cache
def _kept_tape() -> Any:
    x = tapec.constant(POINTS)
    with tapec.GradientTape(persistent=True) as t:
        t.watch(x)
        y = np.sum(x * x * x)
    return t, y, x


def common_tape() -> None:
    t, y, x = _kept_tape()
    near(t.gradient(y, x), 3 * POINTS**2)


def forked() -> None:
    """A child process, which other threads may be compiling beside, differentiates."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert status == 0, f"the child ended with {status}"
        return
    code = 1
    try:
        near(tapec.grad(lambda x: x * x * 3.0)(2.0), 12.0)
        tape()
        code = 0
    finally:
        os._exit(code)


JOBS: tuple[Job, ...] = (
    *(new_gradient, new_pair, common_gradient, of_lambda, of_closure, forward, backward, second, rows),
    *(of_jitted, from_jitted, of_method, text, tape, training, branching, other_way, generator, compiled_tape),
    *(common_tape, forked),
)
