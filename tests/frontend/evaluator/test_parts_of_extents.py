"""Parts of an extent (`h = b.shape[0] // 4`): slices of that length, in gates that stand one behind the other."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.frontend.evaluator.symbolic_extents import ExtentPart, ExtentSums
from tapec.syntax.linear import Sum
from tests.oracles import check, interpreted
from tests.sampling import sampled

# one gradient for all extents
MADE = functools.cache(tapec.value_and_grad)


def gates(w, b, x):
    h = b.shape[0] // 4
    c, y = np.zeros(h), np.zeros(h)
    for t in range(x.shape[0]):
        z = np.dot(w, np.concatenate((x[t], y))) + b
        c = np.tanh(z[h : 2 * h]) * c + np.tanh(z[:h]) * z[2 * h : 3 * h]
        y = np.tanh(z[3 * h :]) * np.sin(c)
    return (y * y).sum() + c.sum()


def first_parts(b):
    """Nothing reaches the end, so that any number of elements will do."""
    h = b.shape[0] // 3
    c = np.ones(h)
    for _ in range(3):
        c = np.tanh(b[:h]) * c + b[h : 2 * h]
    return c.sum()


def halves(x):
    n = x.shape[0] // 2
    total = 0.0
    for k in range(3):
        total += (np.sin(x[:n]) * x[n:] * (k + 1.0)).sum()
    return total


def given_beside(b, c):
    """The parts are as long as another argument."""
    for _ in range(2):
        c = np.tanh(b[: b.shape[0] // 2]) * c + b[b.shape[0] // 2 :]
    return (c * c).sum()


def two_divisors(x):
    total = 0.0
    y = np.zeros(x.shape[0] // 2)
    for _ in range(2):
        y = y * x[: x.shape[0] // 2] + x[x.shape[0] // 2 :]
        total += (x[: x.shape[0] // 3] * x[-(x.shape[0] // 3) :]).sum() if x.shape[0] > 2 else 0.0
    return total + y.sum()


def in_a_branch(x, k):
    y = np.ones(x.shape[0] // 2)
    for _ in range(3):
        if k > 1:
            y = y * x[: x.shape[0] // 2]
        else:
            y = y + x[x.shape[0] // 2 :]
    return (y * y).sum()


def outcome(call: Any) -> Any:
    try:
        return call()
    except ValueError:
        return "ValueError"


# lengths that the parts go into, and others
LENGTHS = tuple(range(10))


@pytest.mark.parametrize("n", sampled(LENGTHS, 5))
@pytest.mark.parametrize("program", [first_parts, halves, two_divisors, in_a_branch], ids=lambda f: f.__name__)
def test_any_number_of_elements_gives_what_python_gives(program: Any, n: int, rng: np.random.Generator):
    """Multiples take the form for them, others that of all arguments, with its error where operands do not fit."""
    args = (rng.normal(size=n), 1 + n % 2)[: program.__code__.co_argcount]
    wanted = outcome(lambda: program(*args))
    with interpreted():
        found = outcome(lambda: MADE(program, wrt=(0,))(*args)[0])
        assert found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-12))
        if not isinstance(wanted, str):
            check(program, args, gradient=MADE, forward_level=0)


def test_a_slice_by_two_parts_may_end_early():
    """Which is refused, as where bounds are no parts: nobody means what is left of it to be stretched."""

    def by_two_parts(x):
        h, g = x.shape[0] // 4, x.shape[0] // 2
        y = np.ones(g)
        for _ in range(2):
            y = y * x[3 * h : 3 * h + g] + x[:g]
        return (y * y).sum()

    with interpreted():
        check(by_two_parts, (np.linspace(0.2, 1.0, 6),), forward_level=0)
        with pytest.raises(ValueError, match="ends before a slice"):
            tapec.grad(by_two_parts)(np.linspace(0.2, 1.0, 4))


@pytest.mark.parametrize(("n", "m"), sampled([(4, 2), (5, 2), (2, 1), (3, 1), (3, 2), (0, 0), (6, 2)], 4))
def test_parts_beside_another_argument(n: int, m: int, rng: np.random.Generator):
    args = rng.normal(size=n), rng.normal(size=m)
    wanted = outcome(lambda: given_beside(*args))
    with interpreted():
        found = outcome(lambda: MADE(given_beside, wrt=(0, 1))(*args)[0])
        assert found == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=1e-12))
        if not isinstance(wanted, str):
            check(given_beside, args, wrt=(0, 1), gradient=MADE, forward_level=0)


@pytest.mark.slow
@pytest.mark.parametrize("rows", sampled([8, 4, 0], 3))
def test_gates(rows: int, rng: np.random.Generator):
    w, b, x = rng.normal(size=(rows, 3 + rows // 4)), rng.normal(size=rows), rng.normal(size=(3, 3))
    with interpreted():
        check(gates, (w, b, x), wrt=(0, 1, 2), gradient=MADE, forward_level=0)


def test_what_is_never_negative_is_not():
    """Parts of one whole by different numbers are not taken from it twice."""
    lengths = ExtentSums()
    lengths.own_axes = {
        "n": ExtentPart("b", 0),
        "h": ExtentPart("b", 0, 4),
        "g": ExtentPart("b", 0, 2),
        "m": ExtentPart("b", 1),
    }
    proved = 0
    for n, h, g, m, number in itertools.product((0, 1, 2), (0, -1, -3, -4, -9), (0, -1, -2, 1), (0, 1, -1), (0, 1, -1)):
        made = Sum(number=number)
        for name, factor in (("n", n), ("h", h), ("g", g), ("m", m)):
            made = made.plus(Sum.of(name), factor)
        least = min(n * x + h * (x // 4) + g * (x // 2) + m * y + number for x in range(40) for y in range(40))
        if lengths.never_negative(made):
            assert least >= 0, made
            proved += 1
    assert proved > 50


@pytest.mark.slow
def test_the_usual_case_asks_for_multiples_and_stretches_nothing():
    text = tapec.emit(gates, (0, 1), signature="f8[:, ::1], f8[::1], f8[:, ::1]", opt_level=2)
    usual, _, _ = text.rpartition("@numba.njit")
    assert "4 * (b.shape[0] // 4)" in usual and "_general(" in usual
    assert "broadcast" not in usual and "negative dimensions" not in usual


def test_what_never_reaches_the_end_has_one_form():
    text = tapec.emit(first_parts, signature="f8[::1]", opt_level=2)
    assert "broadcast" not in text and "OtherVersion" not in text and "_stack" not in text
