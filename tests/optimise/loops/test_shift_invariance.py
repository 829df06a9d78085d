"""Shifts that cancel are constants for derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.shift_invariance import cancel_shifts
from tests import oracles
from tests.optimise.reading import check, read


def test_what_is_taken_out_of_a_sum_of_exponentials_is_a_constant():
    check(
        cancel_shifts,
        before="""
        def f(a, n, x):
            top = x * x
            total = 0.0
            for i in range(n):
                s = a[i]
                t = s - top
                u = np.exp(t)
                total = total + u
            v = np.log(total)
            y = top + v
            return y
        """,
        after="""
        def f(a, n, x):
            top = x * x
            shift = top
            total = 0.0
            for i in range(n):
                s = a[i]
                t = s - shift
                u = np.exp(t)
                total += u
            v = np.log(total)
            y = shift + v
            return y
        """,
    )


def test_what_is_known_of_a_number_takes_its_place():
    changed = cancel_shifts(
        read("""
        def f(x, z, best, mean):
            top = known(best, mean)
            s = x - top
            t = z - top
            u = np.exp(s)
            v = np.exp(t)
            y = u / v
            return y
        """)
    )
    assert "shift = stop_gradient(best)" in repr_of(changed)


def repr_of(function) -> str:
    """The one assignment of a constant, as text."""
    stops = [s for s in function.body if getattr(getattr(s, "value", None), "fn", "") == "stop_gradient"]
    return "\n".join(f"{s.target} = stop_gradient({s.value.args[0].id})" for s in stops)


REFUSED = {
    "half of it is added": "v = np.log(total)\n    w = 0.5 * top\n    y = w + v",
    "it is not added": "y = np.log(total)",
    "something else is in the sum": "total = total + 1.0\n    v = np.log(total)\n    y = top + v",
    "its square is added": "v = np.log(total)\n    w = top * top\n    y = w + v",
    "a function that is not known": "v = np.log(total)\n    y = top + v\n    w = np.sin(total)\n    y = y + w",
    "it is stored where others read": "v = np.log(total)\n    y = top + v\n    a[0] = top",
    "it is added twice": "v = np.log(total)\n    y = top + v\n    y = y + top",
}


def test_other_shifts_stay():
    for why, rest in REFUSED.items():
        text = f"""
def f(a, n, x):
    top = x * x
    total = 0.0
    for i in range(n):
        s = a[i]
        t = s - top
        u = np.exp(t)
        total = total + u
    {rest}
    return y
"""
        function = read(text)
        assert cancel_shifts(function).body == function.body, why


def test_a_sum_over_several_shifts_stays():
    # each iteration has a number of its own, and in proportion to one of them follows a part of the sum only
    function = read("""
    def f(a, A, n, x):
        total = 0.0
        for i in range(n):
            top = a[i]
            for j in range(n):
                s = A[i, j]
                t = s - top
                u = np.exp(t)
                total = total + u
        y = np.log(total)
        return y
    """)
    assert cancel_shifts(function).body == function.body


def softmax(x, w):
    e = np.exp(x - x.max())
    p = e / e.sum()
    return (p * w).sum()


def by_loops(x, w):
    loss = 0.0
    for i in range(w.shape[0]):
        top = -np.inf
        for j in range(x.shape[0]):
            if x[j] * w[i] > top:
                top = x[j] * w[i]
        total = 0.0
        for j in range(x.shape[0]):
            total += math.exp(0.5 * (x[j] * w[i] - top))
        loss -= 0.5 * top + math.log(total)
    return loss


def tempered(x, w):
    top = np.max(x)
    return 2.0 * np.log(np.exp((x - top) / 2.0).sum()) + top + (w * x).sum()


def ratio(x, w):
    top = x.max()
    weights = np.exp(top - x)
    return np.sqrt((weights * w * w).sum() / weights.sum())


def taken_twice(x, w):
    # the second one does not cancel
    top = x.max()
    low = x.min()
    return top + np.log(np.exp(x - top).sum()) + np.log(np.exp(x - low).sum()) + 0.5 * low * w[0]


@pytest.mark.slow
def left_behind(x, w):
    # the shift is not added back, and an integer is among the operands of what follows
    s = np.log(np.sum(np.exp(x - np.max(x))))
    s += np.mean(w)
    return s


def left_behind_in_an_array(x, w):
    scaled = np.empty(2)
    scaled[0] = np.log(np.sum(np.exp(x - np.max(x)))) * w.size
    scaled[1] = w.sum() / x.shape[0]
    return scaled.sum()


@pytest.mark.slow
def test_gradients_are_those_without_the_pass():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=5), rng.normal(size=5)
    with oracles.interpreted():
        for f in (softmax, by_loops, tempered, ratio, taken_twice, left_behind, left_behind_in_an_array):
            for k in (0, 1):
                value, gradient = tapec.value_and_grad(f, wrt=k)(x, w)
                plain_value, plain = tapec.value_and_grad(f, wrt=k, opt_level=0)(x, w)
                assert abs(value - plain_value) <= 1e-14 * abs(plain_value), f.__name__
                np.testing.assert_allclose(gradient, plain, rtol=1e-12, atol=1e-14, err_msg=f.__name__)


@pytest.mark.slow
def test_the_generated_source_looks_for_no_ties():
    for f in (softmax, tempered, ratio):
        text = tapec.emit(f, signature="f8[:], f8[:]", opt_level=2)
        assert "count" not in text and "best" in text, f.__name__
    assert "_bar -= " not in tapec.emit(by_loops, signature="f8[:], f8[:]", opt_level=2).split("top = ")[0]
