"""Functions of two numbers, against mpmath, from subnormal numbers to the largest ones, in both modes."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
import scipy.special

import tapec
from tests.typed import interpreted


def _shares(x: list) -> list:
    """The softmax."""
    terms = [mpmath.exp(one - max(x)) for one in x]
    return [one / sum(terms) for one in terms]


def _of_share(x: list) -> list:
    first, second = _shares(x)
    return [first * second, -first * second]


def _of_length(x: list) -> list:
    length = mpmath.sqrt(x[0] ** 2 + x[1] ** 2)
    return [x[0] / length, x[1] / length]


def _of_angle(x: list) -> list:
    square = x[0] ** 2 + x[1] ** 2
    return [x[1] / square, -x[0] / square]


def _of_power(x: list) -> list:
    return [x[1] * x[0] ** (x[1] - 1), x[0] ** x[1] * mpmath.log(x[0])]


# a function, its derivatives, and whether their rounding is that of 1
FUNCTIONS = {
    "logaddexp": (lambda x: np.logaddexp(x[0], x[1]), _shares, False),
    "logsumexp": (lambda x: scipy.special.logsumexp(x), _shares, False),
    "softmax": (lambda x: scipy.special.softmax(x)[0], _of_share, True),
    "log_softmax": (lambda x: scipy.special.log_softmax(x)[0], lambda x: [_shares(x)[1], -_shares(x)[1]], True),
    "hypot": (lambda x: np.hypot(x[0], x[1]), _of_length, False),
    "norm": (lambda x: np.linalg.norm(x), _of_length, True),
    "arctan2": (lambda x: np.arctan2(x[0], x[1]), _of_angle, False),
    "power": (lambda x: np.abs(x[0]) ** x[1], _of_power, False),
}
SIZES = {np.float64: (-310, -8, 0, 2, 290), np.float32: (-40, -5, 0, 1, 36)}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", SIZES, ids=["double", "single"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_from_subnormal_numbers_to_the_largest(name: str, dtype: type):
    f, exact, of_one = FUNCTIONS[name]
    info = np.finfo(dtype)
    sizes = [sign * 1.37 * 10.0**k for k in SIZES[dtype] for sign in (1, -1)]
    least = float(info.smallest_normal)
    with interpreted(), mpmath.workdps(60), np.errstate(all="ignore"):
        gradient = tapec.value_and_grad(f)
        for pair in itertools.product(sizes, repeat=2):
            x = np.array(pair, dtype)
            value, found = gradient(x)
            # next to nothing all powers but those by numbers next to 0 are out of range
            if not np.isfinite(value) or (name == "power" and (x[0] < 0 or min(abs(x)) < 1e-9)):
                continue
            # lengths of subnormal numbers have few digits
            digits = info.nmant if name != "hypot" or value > least else 20
            for k, wanted in enumerate(exact([mpmath.mpf(float(one)) for one in x])):
                along = tapec.jvp(f, (x,), (np.eye(2, dtype=dtype)[k],))[1]
                for one in (found[k], along):
                    _check(one, wanted, 64 * 2.0**-digits, of_one, info, (name, pair, k))


def _check(found, wanted, close: float, of_one: bool, info, where) -> None:
    size = abs(wanted)
    if size > float(info.max) / 8:
        assert abs(found) > info.max / 64, where
        return
    within = close * max(size, 1 if of_one else 8 * float(info.smallest_normal))
    assert abs(mpmath.mpf(float(found)) - wanted) <= max(within, 64 * float(info.smallest_normal)), where
