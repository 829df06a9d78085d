"""Lists that are used as stacks, where they are filled and emptied, and which have one height."""

from __future__ import annotations

import pytest

from tapec.analyses.scopes import scopes
from tapec.optimise.buffers.stack_lists import array_lists, number_lists, of_one_height
from tests.optimise.reading import read

NUMBERS = """
def f(a, c, n, x):
    {before}
    x_stack = stack()
    y_stack = stack()
    for i in range(n):
        x_stack.append(x)
        {push}
    {between}
    for j in range(n):
        z = x_stack.pop()
        {pop}
    return {result}
"""
PLAIN = {
    "before": "pass", "push": "y_stack.append(x)", "between": "pass", "pop": "w = y_stack.pop()", "result": "x"
}  # fmt: skip


def groups(**other: str) -> list[set[str]]:
    function = read(NUMBERS.format(**{**PLAIN, **other}))
    return [{one.name for one in group} for group in of_one_height(number_lists(function), scopes(function))]


def test_where_a_list_is_made_filled_and_emptied():
    one, other = number_lists(read(NUMBERS.format(**PLAIN)))
    assert (one.name, one.made.target, len(one.pushes), len(one.pops)) == ("x_stack", "x_stack", 1, 1)
    assert other.name == "y_stack"


def test_lists_that_the_same_blocks_fill_and_empty_have_one_height():
    assert groups() == [{"x_stack", "y_stack"}]


@pytest.mark.parametrize(
    "other",
    [
        {"push": "if c:\n            y_stack.append(x)"},
        {"push": "y_stack.append(x)\n        y_stack.append(x)"},
        {"pop": "if c:\n            w = y_stack.pop()"},
        {"pop": "w = y_stack.pop()\n        w1 = y_stack.pop()"},
        {"push": "pass", "between": "y_stack.append(x)"},
        {"pop": "pass"},
    ],
    ids=str,
)
def test_others_have_a_height_of_their_own(other):
    assert groups(**other) == [{"x_stack"}, {"y_stack"}]


@pytest.mark.parametrize(
    "other",
    [
        {"push": "pass"},
        {"result": "x, y_stack"},
        {"between": "n1 = len(y_stack)"},
        {"between": "z_stack = y_stack"},
        {"before": "y_stack = stack()"},
        {"before": "A_stack = stack()", "between": "A_stack.append(y_stack)"},
        {"between": "print(y_stack)"},
    ],
    ids=str,
)
def test_lists_that_are_used_for_more_are_not_among_them(other):
    assert groups(**other) == [{"x_stack"}]


def test_a_parameter_is_the_callers():
    function = read("def f(x_stack, x):\n    x_stack.append(x)\n    y = x_stack.pop()\n    return y\n")
    assert number_lists(function) == []


ARRAYS = """
def f(A, c, n, x):
    {before}
    A_stack = stack()
    for i in range(n):
        A_1 = {made}
        A_1[0, 0] = x
        {push}
    {between}
    for j in range(n):
        {pop}
    return x
"""
KEPT = {
    "before": "pass", "made": "np.empty((n, n))", "push": "A_stack.append(A_1)", "between": "pass",
    "pop": "B = A_stack.pop()",
}  # fmt: skip


def test_a_list_of_arrays_that_iterations_make():
    function = read(ARRAYS.format(**KEPT))
    (found,) = array_lists(function, scopes(function))
    assert (found.stack, found.made.target, found.put.stack, found.taken.target) == ("A_stack", "A_1", "A_stack", "B")


@pytest.mark.parametrize(
    "other",
    [
        {"push": "A_stack.append(A_1)\n        A_stack.append(A_1)"},
        {"pop": "B = A_stack.pop()\n        C = A_stack.pop()"},
        {"pop": "pass"},
        {"pop": "pass", "between": "B = A_stack.pop()"},
        {"push": "A_stack.append(A)"},
        {"push": "if c:\n            A_stack.append(A_1)"},
        {"push": "A_1 = A\n        A_stack.append(A_1)"},
        {"made": "np.zeros((n, n))"},
        {"made": "A.T"},
        {"between": "n1 = len(A_stack)"},
        {"between": "B_stack = A_stack"},
        {"before": "A_stack = stack()"},
        {"pop": "B = A_stack.pop()\n        B = A"},
        # rows can take the place of one list alone
        {"before": "B_stack = stack()", "push": "A_stack.append(A_1)\n        B_stack.append(A_1)"},
    ],
    ids=str,
)
def test_other_lists_of_arrays(other):
    function = read(ARRAYS.format(**{**KEPT, **other}))
    assert array_lists(function, scopes(function)) == []
