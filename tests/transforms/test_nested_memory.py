"""Arrays that share memory, given to a derivative inside lowered code: asked for where one of them is written."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import ArgumentOverlap
from tapec_runtime import AliasedInside
from tests.oracles import interpreted

X = np.array([1.0, 2.0, 3.0, 4.0])
TABLE = np.array([0.5, 1.5, 2.5, 3.5])


def written(a, b):
    a[0] = 3.0 * a[1]
    return (a * b * b).sum()


def through_a_view(a, b):
    part = a[1:]
    part[0] = 3.0 * a[0]
    return (a * b * b).sum()


def unchanged(a, b):
    return (a * b * b).sum()


def copied(a, b):
    a = a.copy()
    a[0] = 3.0 * a[1]
    return (a * b * b).sum()


def asks(inner, arguments) -> bool:
    """Whether the generated source asks whether arrays meet."""

    def f(x):
        return tapec.grad(inner)(*arguments(x)).sum()

    return "tapec_runtime.meet(" in tapec.emit(f, signature="f8[::1]", opt_level=0)


@pytest.mark.parametrize(
    ("inner", "arguments", "wanted"),
    [
        (written, lambda x: (x[:3], x[1:]), True),
        (through_a_view, lambda x: (x[:3], x[1:]), True),
        (lambda a, b: written(b, a), lambda x: (x[:3], x[1:]), True),
        (unchanged, lambda x: (x[:3], x[1:]), False),
        (copied, lambda x: (x[:3], x[1:]), False),
        # memory of its own
        (written, lambda x: (x, x + 1.0), False),
        (written, lambda x: (x.copy(), x), False),
        (written, lambda x: (x, np.ones(4)), False),
    ],
)
def test_only_what_may_meet_and_is_written(inner, arguments, wanted):
    assert asks(inner, arguments) == wanted


def two_parts(x, k):
    return tapec.value_and_grad(written)(x[:2], x[k : k + 2])[0]


def test_the_run_is_asked():
    with interpreted():
        derivative = tapec.value_and_grad(two_parts)
        value, gradient = derivative(X.copy(), 2)
        assert value == 6.0 * 9.0 + 2.0 * 16.0
        np.testing.assert_allclose(gradient, [0.0, 3.0 * 9.0 + 16.0, 2.0 * 6.0 * 3.0, 2.0 * 2.0 * 4.0])
        for k in (0, 1):
            with pytest.raises(AliasedInside, match="`a` and `b` of a function that is differentiated share memory"):
                derivative(X.copy(), k)


def test_an_array_that_is_passed_twice_is_one_parameter():
    def twice(x):
        return tapec.value_and_grad(written)(x, x)[0]

    def once(x):
        y = x.copy()
        y[0] = 3.0 * y[1]
        return (y**3).sum()

    with interpreted():
        (value, gradient), (wanted, slope) = (tapec.value_and_grad(f)(X.copy()) for f in (twice, once))
    assert value == pytest.approx(wanted)
    np.testing.assert_allclose(gradient, slope)


@pytest.mark.parametrize(
    ("derivative", "says"),
    [
        (lambda x: tapec.grad(written, (0, 1))(x, x)[0].sum(), "`b` is the same array as another argument"),
        (lambda x: tapec.grad(lambda a: written(x, a))(x).sum(), "has from outside, too"),
    ],
)
def test_refusals(derivative, says):
    with interpreted(), pytest.raises(ArgumentOverlap, match=says):
        tapec.value_and_grad(derivative)(X.copy())
