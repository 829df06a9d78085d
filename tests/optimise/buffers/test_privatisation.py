"""Each iteration of a loop gets the scratch array that the program makes once for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.optimise.buffers.privatisation import privatise
from tapec.syntax.core import For
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, open_axes, opened, read, unchanged


def test_a_scratch_array_is_made_in_the_iteration_that_uses_it():
    check(
        privatise,
        before="""
        def f(a, n, k, y):
            a_1 = np.empty(k)
            for i in range(n):
                for j in range(k):
                    a_1[j] = y
                for j in range(k):
                    t = a_1[j]
                    a[i] += t
            return y
        """,
        after="""
        def f(a, n, k, y):
            for i in range(n):
                a_1 = np.empty(k)
                for j in range(k):
                    a_1[j] = y
                for j in range(k):
                    t = a_1[j]
                    a[i] += t
            return y
        """,
    )


@pytest.mark.parametrize(
    "iteration",
    [
        "t = a_1[0]\na_1[0] = y\na_1[1] = y",  # the first iteration reads what an earlier one left
        "a_1[0] = y\nt = a_1[1]",  # the other element was never written
        "for j in range(n):\n    a_1[j] = y\nt = a_1[1]",  # n may be less than 2
        "if c:\n    a_1[0] = y\na_1[1] = y\nt = a_1[0]",
        "a_1[0] += y\na_1[1] = y",
    ],
)
def test_an_array_that_carries_values_from_iteration_to_iteration_stays(iteration: str):
    body = "\n".join(f"        {line}" for line in iteration.splitlines())
    unchanged(
        privatise,
        f"""
def f(a, n, c, y):
    a_1 = np.zeros(2)
    for i in range(n):
{body}
    return y
""",
    )


def test_of_an_array_as_long_as_the_loop_an_iteration_has_one_element():
    check(
        privatise,
        before="""
        def f(a, n, c, y):
            a_1 = np.empty(n)
            for i in range(n):
                if c:
                    a_1[i] = y
                else:
                    x = a[i]
                    a_1[i] = x
                t = a_1[i]
                y += t
            return y
        """,
        after="""
        def f(a, n, c, y):
            for i in range(n):
                a_1 = np.empty(1)
                if c:
                    a_1[0] = y
                else:
                    x = a[i]
                    a_1[0] = x
                t = a_1[0]
                y += t
            return y
        """,
    )


@pytest.mark.parametrize(("stop", "sub"), [("k", "i"), ("n", "j")])
def test_an_array_of_which_an_iteration_uses_some_element_stays(stop, sub):
    unchanged(
        privatise,
        f"""
def f(a, n, k, y):
    a_1 = np.empty(n)
    for i in range({stop}):
        j = i + 1
        a_1[{sub}] = y
        t = a_1[{sub}]
        y += t
    return y
""",
    )


ROWS = """
def f(A, n, k, y):
    {made}
    for i in range({stop}):
        for j in range(k):
            x = A[i, j]
            A_1[i, j] = x
        for j in range(k):
            t = A_1[{row}, j]
            y += t
    return {result}
"""


OF_AN_ITERATION = {"made": "A_1 = np.empty((n, k))", "stop": "n", "row": "i", "result": "y"}


def test_of_a_matrix_with_a_row_for_each_iteration_an_iteration_has_the_row():
    check(
        privatise,
        before=ROWS.format(**OF_AN_ITERATION),
        after="""
        def f(A, n, k, y):
            for i in range(n):
                A_1 = np.empty(k)
                for j in range(k):
                    x = A[i, j]
                    A_1[j] = x
                for j in range(k):
                    t = A_1[j]
                    y += t
            return y
        """,
    )


@pytest.mark.parametrize(
    "other",
    [{"stop": "k"}, {"row": "j"}, {"row": "0"}, {"result": "A_1"}, {"made": "A_1 = np.zeros((k, n))"}],
    ids=str,
)
def test_a_matrix_of_which_an_iteration_uses_other_rows_stays(other):
    unchanged(privatise, ROWS.format(**{**OF_AN_ITERATION, **other}))


def test_a_row_of_zeros_is_one_in_each_iteration():
    text = ROWS.format(**{**OF_AN_ITERATION, "made": "A_1 = np.zeros((n, k))"})
    text = text.replace("A_1[i, j] = x", "A_1[i, j] += x")
    (loop,) = (stmt for stmt in privatise(read(text)).body if isinstance(stmt, For))
    assert loop.body[0].value.fn == "zeros"


def test_an_array_that_is_used_after_the_loop_stays():
    unchanged(
        privatise,
        """
        def f(n, y):
            a_1 = np.empty(1)
            for i in range(n):
                a_1[0] = y
            t = a_1[0]
            return t
        """,
    )


SCRATCH = """
def f(a, n, k, c, y):
    {before}
    a_1 = np.zeros(k)
    {between}
    for i in range(n):
        for j in range(k):
            a_1[j] = y
        {use}
        y = y + t
        {last}
    return y
"""
PLAIN = {"before": "pass", "between": "pass", "use": "t = a_1[0]", "last": "pass"}


@pytest.mark.parametrize(
    "other",
    [
        # extents that are others in the loop, or by then
        {"last": "k = k - 1"},
        {"between": "k = k - 1"},
        # other names for the memory
        {"before": "a_2 = a", "between": "a_2 = a_1"},
        {"use": "a_2 = a_1[1:]\n        t = a_2[0]"},
        {"between": "y = a_1[0]"},
    ],
    ids=str,
)
def test_an_array_of_which_an_iteration_may_use_more_stays(other):
    unchanged(privatise, SCRATCH.format(**{**PLAIN, **other}))


@pytest.mark.parametrize(
    "use",
    [
        "t = a_1[0]",
        "if c:\n            t = a_1[1]\n        else:\n            t = a_1[2]",
        "t = 0.0\n        for j1 in range(k):\n            t1 = a_1[j1]\n            t = t + t1",
    ],
)
def test_values_stay(use):
    text = SCRATCH.format(**{**PLAIN, "use": use})
    keeps_values(privatise, text, *((np.zeros(1), n, 3, c, 0.5) for n in (0, 1, 3) for c in (False, True)))


def test_subscripts_of_a_row_stay_open_that_were_open_in_the_array():
    changed = privatise(opened(read(ROWS.format(**OF_AN_ITERATION)), A_1=(0, 1)))
    assert open_axes(changed, "A_1") == [(0,), (0,)]
