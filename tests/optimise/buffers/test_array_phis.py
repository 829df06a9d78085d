"""Elements of small arrays are copied where two branches bring one each."""

from __future__ import annotations

import pytest

from tapec.optimise.buffers.array_phis import copy_array_phis
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, unchanged


def test_elements_are_copied_where_branches_join():
    check(
        copy_array_phis,
        before="""
        def f(c, x, y):
            if c:
                a_1 = np.empty(1)
                a_1[0] = x
                a = a_1
            else:
                a_2 = np.empty(1)
                a_2[0] = y
                a = a_2
            z = a[0]
            return z
        """,
        after="""
        def f(c, x, y):
            a = np.empty(1)
            if c:
                a_1 = np.empty(1)
                a_1[0] = x
                t = a_1[0]
                a[0] = t
            else:
                a_2 = np.empty(1)
                a_2[0] = y
                t_1 = a_2[0]
                a[0] = t_1
            z = a[0]
            return z
        """,
    )


def test_an_array_that_something_else_uses_is_not_copied():
    text = """
        def f(c, x, y):
            a_1 = np.empty(1)
            a_1[0] = x
            if c:
                a = a_1
            else:
                a_2 = np.empty(1)
                a_2[0] = y
                a = a_2
            a[0] = 3.0
            z = a_1[0]
            return z
        """
    unchanged(copy_array_phis, text)


def test_extents_that_differ_are_not_joined():
    text = """
        def f(c, x, y):
            if c:
                a_1 = np.empty(1)
                a = a_1
            else:
                a_2 = np.empty(2)
                a = a_2
            z = a[0]
            return z
        """
    unchanged(copy_array_phis, text)


BRANCHES = """
def f(a, c, n, x, y):
    {before}
    if c:
        a_1 = np.zeros({extent})
        a_1[0] = x
        {use}
        a_3 = a_1
        {after}
    else:
        a_2 = np.empty(2)
        a_2[0] = y
        a_2[1] = x
        a_3 = a_2
    z = a_3[0]
    w = a_3[1]
    return {result}
"""
PLAIN = {"before": "pass", "extent": "2", "use": "pass", "after": "pass", "result": "z, w"}


@pytest.mark.parametrize("other", [{}, {"use": "x = a_1[1]\n        a_1[1] = y"}, {"result": "a_3"}], ids=str)
def test_copies_have_the_elements(other):
    text = BRANCHES.format(**{**PLAIN, **other})
    keeps_values(copy_array_phis, text, *(([0.0], c, 1, 2.0, 3.0) for c in (False, True)))


@pytest.mark.parametrize(
    "other",
    [
        {"extent": "3"},
        {"extent": "n"},
        # somebody else can tell the copy from the array: by another name, a view, a list, or later
        {"use": "a = a_1"},
        {"use": "a_4 = a_1[1:]\n        a_4[0] = y"},
        {"use": "print(a_1)"},
        {"after": "a_1[1] = y"},
        {"after": "a_3[1] = y"},
        {"after": "w = a_1[1]"},
        {"result": "z, a_1"},
        # an array that a third place brings
        {"before": "a_3 = a"},
        # in an iteration it is the array of the one before until it is the new one
        {"use": "x = a_3[0]\n        a_1[1] = x"},
    ],
    ids=str,
)
def test_other_arrays_are_not_copied(other):
    unchanged(copy_array_phis, BRANCHES.format(**{**PLAIN, **other}))


def test_large_arrays_are_not_copied():
    unchanged(copy_array_phis, BRANCHES.format(**PLAIN).replace("(2)", "(99)"))
