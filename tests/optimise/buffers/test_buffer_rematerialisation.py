"""What a scratch array holds between two loops is computed again where it is read."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.buffers.buffer_rematerialisation import rematerialise_buffers
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, unchanged


def test_an_element_is_computed_again():
    check(
        rematerialise_buffers,
        before="""
        def f(a, a_1, a_2, n, w):
            a_3 = np.empty(n)
            for i in range(n):
                x = a[i]
                y = x * w
                a_3[i] = y
            for j in range(n):
                for k in range(j, n):
                    z = a_3[j]
                    a_1[k] += z
            return w
        """,
        after="""
        def f(a, a_1, a_2, n, w):
            a_3 = np.empty(n)
            for i in range(n):
                x = a[i]
                y = x * w
                a_3[i] = y
            for j in range(n):
                x_1 = a[j]
                y_1 = x_1 * w
                for k in range(j, n):
                    a_1[k] += y_1
            return w
        """,
    )


@pytest.mark.parametrize(
    "use",
    [
        "a[i] = w",  # what it is computed from changes
        "t = a_3[0]",  # another use than in a loop over all of it
        "t = math.exp(w)\n                a_3[j] = t",  # filled twice
    ],
)
def test_an_array_that_may_hold_something_else_stays(use):
    unchanged(
        rematerialise_buffers,
        f"""
        def f(a, a_1, i, n, w):
            a_3 = np.empty(n)
            for j in range(n):
                x = a[j]
                y = x * w
                a_3[j] = y
                {use}
            for k in range(n):
                z = a_3[k]
                a_1[k] += z
            return w
        """,
    )


KEPT = """
def f(a, a_1, c, n, k, w):
    {before}
    a_3 = {made}
    for i in range({filled}):
        {compute}
        {store} = y
    {between}
    for j in range({read}):
        z = a_3[{place}]
        a_1[j] += z
    return w
"""
PLAIN = {
    "before": "w_1 = w",
    "made": "np.empty(n)",
    "filled": "n",
    "compute": "x = a[i]\n        y = x * w_1",
    "store": "a_3[i]",
    "between": "a_4 = np.zeros(n)",
    "read": "n",
    "place": "j",
}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"compute": "y = a[i]"},
        {"before": "a_2 = a", "compute": "x = a[i]\n        x1 = a_2[i]\n        y = x - x1"},
    ],
    ids=str,
)
def test_values_stay(other):
    text = KEPT.format(**{**PLAIN, **other})
    keeps_values(rematerialise_buffers, text, *((np.arange(4.0), np.zeros(4), True, n, 0, 0.5) for n in (0, 1, 4)))


@pytest.mark.parametrize(
    "other",
    [
        # not all of it is filled, or read
        {"filled": "k"},
        {"filled": "1, n"},
        {"filled": "0, n, 2"},
        {"read": "k"},
        {"read": "1, n"},
        {"read": "n - 1, -1, -1"},
        {"place": "0"},
        {"store": "a_3[0]"},
        {"made": "np.empty(k)"},
        {"made": "np.copy(a)"},
        # by a loop that may end early, or only in one branch
        {"compute": "x = a[i]\n        y = x * w_1\n        if c:\n            break"},
        {"compute": "if c:\n            y = 1.0\n        else:\n            y = 2.0"},
        # from what is other by then
        {"before": "w_1 = w", "compute": "x = a[i]\n        y = x * w_1\n        w_1 = y"},
        {"between": "a[0] = w"},
        {"before": "w_1 = w; a_2 = a[1:]", "between": "a_2[0] = w"},
        # from a number of its own in each iteration, or at a price
        {"compute": "y = tapec_runtime.draw(w_1)"},
        {"compute": "x = a[i]\n        x1 = x * x\n        x2 = x1 * x\n        y = x2 * w_1"},
        # used elsewhere, or by another name
        {"between": "a_4 = a_3"},
        {"between": "a_4 = a_3[1:]"},
        {"between": "w_2 = a_3[0]"},
        {"between": "a_3[0] = w"},
        {"between": "print(a_3)"},
    ],
    ids=str,
)
def test_other_arrays_stay(other):
    unchanged(rematerialise_buffers, KEPT.format(**{**PLAIN, **other}).replace("; ", "\n    "))
