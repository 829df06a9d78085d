"""`jvp` and `vjp` inside lowered code: products where they stand, and pullbacks where they are called."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError


def pair(x, k):
    return k * x * x, x + k


def pushed(x):
    value, tangent = tapec.jvp(pair, (x, 3.0), (1.0, 0.0))
    return tangent[0] * value[1]


def pulled(x):
    value, pull = tapec.vjp(pair, x, 3.0)
    return pull((value[1], 0.0))[0]


def pulled_twice(x):
    _, pull = tapec.vjp(pair, x, 3.0)
    return pull((1.0, 0.0))[0] * pull((0.0, 2.0))[0]


@pytest.mark.parametrize(
    ("f", "value", "slope"),
    # 6 x (x + 3), the same, and 6 x times 2
    [(pushed, 60.0, 42.0), (pulled, 60.0, 42.0), (pulled_twice, 24.0, 12.0)],
)
def test_products_are_differentiated(f, value, slope):
    assert tapec.value_and_grad(f)(2.0) == (value, slope)


def overwritten(x):
    y = x.copy()
    _, pull = tapec.vjp(lambda z: np.sum(z * z), y)
    y[0] = 7.0
    return np.sum(pull(1.0)[0])


def of_other_length(x):
    return tapec.jvp(pair, (x, 3.0), (1.0,))[1][0]


@pytest.mark.parametrize("f, given", [(overwritten, np.ones(2)), (of_other_length, 2.0)])
def test_what_cannot_be_right_is_refused(f, given):
    with pytest.raises(TapecError):
        tapec.grad(f)(given)
