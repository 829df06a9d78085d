"""Elements copied where an operand, or its stretched copy, is what a name stands for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float64

import tapec
from tapec.optimise.shapes.broadcast_copies import copy_broadcast
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

BRANCH = """
            if c:
                a_1 = np.empty(2)
                a_1[0] = t
                a_1[1] = t
                a_2 = a_1
            else:
                a_2 = a
"""
COPIED = """
            a_2 = np.empty(2)
            if c:
                a_1 = np.empty(2)
                a_1[0] = t
                a_1[1] = t
                t_1 = a_1[0]
                a_2[0] = t_1
                t_2 = a_1[1]
                a_2[1] = t_2
            else:
                t_3 = a[0]
                a_2[0] = t_3
                t_4 = a[1]
                a_2[1] = t_4
"""


def program(before: str, branch: str, after: str) -> str:
    return "\n        def f(a, n, t):" + "".join(part.rstrip() for part in (before, branch, after)) + "\n"


SAID_BY_BRANCH = """
            n_1 = a.shape[0]
            c = n_1 != 2
"""
SAID_BY_CHECK = """
            n_1 = a.shape[0]
            c_1 = n_1 != 2
            if c_1:
                raise IndexError()
            c = n > 3
"""
READ = """
            t_9 = a_2[1]
            return t_9
"""


@pytest.mark.parametrize("said", [SAID_BY_BRANCH, SAID_BY_CHECK], ids=["branch", "check"])
def test_elements_are_copied_where_extents_are_known(said):
    # run again, the pass finds the arrays copied
    check(copy_broadcast, program(said, BRANCH, READ), program(said, COPIED, READ))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n            c = n > 3\n", READ),
        ("\n            n_1 = a.shape[0]\n            c = n_1 != 3\n", READ),
        (SAID_BY_BRANCH, "\n            a[0] = t\n            t_9 = a_2[1]\n            return t_9\n"),
        (SAID_BY_BRANCH, "\n            a_2[0] = t\n            t_9 = a_2[1]\n            return t_9\n"),
        (SAID_BY_BRANCH, "\n            a_3 = a_2[:1]\n            t_9 = a_3[0]\n            return t_9\n"),
        (SAID_BY_BRANCH, "\n            return a_2\n"),
    ],
    ids=["unknown", "another extent", "written later", "written", "viewed", "returned"],
)
def test_arrays_that_somebody_could_tell_from_copies_stay(before, after):
    text = program(before, BRANCH, after)
    check(copy_broadcast, text, text)


def turned(x, y, w):
    """Of `x`, one or three elements."""
    d = (x - y[1:4]) * w
    return np.array([d[0] * d[1], np.sin(d[2])]) * y[4]


def summed(x, y, w):
    return turned(x, y, w).sum()


@pytest.mark.slow
def test_derivatives_of_a_stretched_operand():
    rng = np.random.default_rng(1)
    with interpreted():
        for n in (1, 3):
            args = rng.normal(size=n), rng.normal(size=5), 0.7
            check_derivative(summed, args, wrt=(0, 1, 2))
            plain = tapec.jacfwd(turned, wrt=(0, 1), opt_level=0)(*args)
            for found in (tapec.jacrev(turned, wrt=(0, 1))(*args), tapec.jacfwd(turned, wrt=(0, 1))(*args)):
                for block, wanted in zip(found, plain, strict=True):
                    np.testing.assert_allclose(block, wanted, rtol=1e-13, atol=1e-15)
        with pytest.raises(ValueError, match="broadcast"):
            tapec.jacrev(turned)(np.ones(2), np.ones(5), 0.7)


def test_small_operands_become_numbers_in_gradients_and_rows_of_jacobians():
    vector = float64[::1]
    gradient = tapec.emit(summed, (0, 1, 2), (vector, vector, float64), opt_level=2)
    assert gradient.count("np.empty") == 0 and gradient.count("np.zeros") == 2
    rows = tapec.jacrev(turned).source(vector, vector, float64)
    # nothing but the rows themselves
    assert rows.count("np.empty") == 0 and rows.count("np.zeros") == 1
