"""Inputs of a block that had equal extents: its program takes them to be so, and holds only where they are."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.tape.plan import tape_plan

pytestmark = pytest.mark.usefixtures("mostly_plainly")

SHAPES = [
    ((3,), (3,)), ((4,), (4,)), ((3,), (1,)), ((1,), (3,)), ((1,), (1,)), ((5,), (5,)), ((1,), (4,)),
    ((2, 3), (3,)), ((3, 3), (3,)), ((2, 3), (2, 3)), ((2, 3), (2, 1)), ((2, 1), (2, 3)), ((2, 2), (1, 1)),
    ((0,), (0,)),
]  # fmt: skip


def loss(x, a):
    y = np.sin(x) * a + a
    z = y * x - 0.5 * a
    return np.sum(z * y)


def slopes(x, a):
    with tapec.GradientTape() as tape:
        tape.watch([x, a])
        y = np.sin(x) * a + a
        z = y * x - 0.5 * a
        s = np.sum(z * y)
    return s, tape.gradient(s, [x, a])


def central(f, x, step=1e-6):
    by = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][k] += step
        moved[1][k] -= step
        by[k] = (f(moved[0]) - f(moved[1])) / (2.0 * step)
    return by


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "function"])
def test_other_extents_are_met(order: int, compiled: bool):
    f = tapec.function(slopes) if compiled else slopes
    rng = np.random.default_rng(0)
    for first, second in [*SHAPES, *SHAPES][::order]:
        x, a = rng.normal(size=first), rng.normal(size=second)
        value, (by_x, by_a) = f(x, a)
        assert np.isclose(value, loss(x, a), rtol=1e-12)
        assert np.allclose(by_x, central(lambda v: loss(v, a), x), rtol=1e-5, atol=1e-7)  # noqa: B023
        assert np.allclose(by_a, central(lambda v: loss(x, v), a), rtol=1e-5, atol=1e-7)  # noqa: B023


def test_a_block_is_read_once_for_extents_that_are_equal():
    def step(x, a):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * a + a)
        return tape.gradient(y, x)

    for size in (3, 4, 5, 6):
        assert np.array_equal(step(np.ones(size), np.full(size, 2.0)), np.full(size, 2.0))
    plans = [one for (code, *_), one in tape_plan._plans.items() if code is step.__code__]
    assert len(plans) == 1 and len(plans[0]) == 1


@pytest.mark.slow
def test_extents_with_names():
    def windows(x, k):
        with tapec.GradientTape() as tape:
            tape.watch(k)
            n, h, w, _ = x.shape
            out = np.zeros((n, h - 1, w - 1))
            for i in range(2):
                for j in range(2):
                    out = out + x[:, i : i + h - 1, j : j + w - 1, 0] * k[i, j]
            y = np.sum(out * out)
        return tape.gradient(y, k)

    for shape in ((2, 5, 5, 1), (2, 4, 6, 1), (3, 3, 3, 1), (1, 4, 4, 2)):
        x, k = np.random.default_rng(0).normal(size=shape), np.ones((2, 2))
        n, h, w, _ = shape

        def value(k):
            out = sum(x[:, i : i + h - 1, j : j + w - 1, 0] * k[i, j] for i in range(2) for j in range(2))  # noqa: B023
            return np.sum(out * out)

        assert np.allclose(windows(x, k), central(value, k), rtol=1e-5)


@pytest.mark.slow
def test_long_chains_of_statements():
    lines = ["x = np.sin(x) * a + b", "y = x * y + np.tanh(a)", "x = x - 0.1 * y", "b = b + 0.01 * x"]
    body = "\n".join(f"        {lines[k % 4]}" for k in range(60))
    text = (
        "def chain(x, a, b, y):\n    x0 = x\n    with tapec.GradientTape() as tape:\n        tape.watch(x)\n"
        f"{body}\n        s = np.sum(x * y)\n    return s, tape.gradient(s, x0)\n"
    )
    space = {"np": np, "tapec": tapec, "__name__": __name__}
    import linecache

    linecache.cache["<chain>"] = (len(text), None, text.splitlines(True), "<chain>")
    exec(compile(text, "<chain>", "exec", dont_inherit=True), space)
    given = [np.linspace(0.1, 1.0, 4) * (k + 1) / 5.0 for k in range(4)]
    _, by = space["chain"](*given)
    assert np.allclose(by, central(lambda v: space["chain"](v, *given[1:])[0], given[0]), rtol=1e-5)
