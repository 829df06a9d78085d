"""Small arrays become numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.buffers.scalar_replacement import replace_small_arrays, small_arrays
from tapec.syntax.types import Array
from tests.optimise.comparison import keeps_values
from tests.optimise.reading import check, read, unchanged


def test_a_small_array_becomes_numbers():
    check(
        replace_small_arrays,
        before="""
        def f(x, y):
            a = np.zeros(2)
            a[0] = x
            a[-1] += y
            s = a[1]
            t = a[0]
            return s, t
        """,
        after="""
        def f(x, y):
            a0 = 0.0
            a1 = 0.0
            a0 = x
            a1 += y
            s = a1
            t = a0
            return s, t
        """,
    )


@pytest.mark.parametrize(
    "use",
    ["a[i] = y", "s = np.sum(a)", "a_1 = a[1:]\n    a_1[0] = y", "s = a[2]", "a_1 = a"],
)
def test_an_array_that_is_used_as_a_whole_stays(use: str):
    unchanged(
        replace_small_arrays,
        f"""
def f(i, y):
    a = np.zeros(2)
    {use}
    t = a[0]
    return t
""",
    )


MATRIX = """
def f(c, n, x, y):
    for i in range(n):
        A = np.zeros((2, 3))
        k = A.shape[1]
        A[1, 2] = x
        if c:
            A[-1, -1] += y
        else:
            A[0, 0] = 2
        t = A[1, 2]
        s = A[0, 0]
        x = t * k + s
    return x
"""


def test_a_matrix_that_each_iteration_makes_becomes_numbers():
    text = printer.function(replace_small_arrays(read(MATRIX)), quote=False)
    assert "A" not in text.replace("A0", "").replace("A1", "")
    keeps_values(replace_small_arrays, MATRIX, *((c, n, 0.5, 2.0) for c in (False, True) for n in (0, 1, 3)))


def test_a_number_is_converted_to_the_type_of_the_array():
    function = read("def f(x):\n    a = np.empty(1)\n    a[0] = x\n    a[0] += 1\n    y = a[0]\n    return y\n")
    single = replace(function, types={**function.types, "a": Array("float32", 1)})
    text = printer.function(replace_small_arrays(single), quote=False)
    assert "np.float32(x)" in text and "np.float32(1)" in text


@pytest.mark.parametrize(
    ("made", "small"),
    [
        ("np.zeros(4)", True),
        ("np.zeros(5)", False),
        ("np.zeros(0)", False),
        ("np.zeros(n)", False),
        ("np.copy(a)", False),
    ],
)
def test_which_arrays_are_small(made, small):
    function = read(f"def f(a, n, x):\n    a_1 = {made}\n    a_1[0] = x\n    return x\n")
    assert ("a_1" in small_arrays(function, largest=4)) == small


@pytest.mark.parametrize(
    "use",
    ["a = np.zeros(2)", "a_1 = a[:]", "a_stack = stack()\n    a_stack.append(a)", "print(a)", "a_1 = a if c else a_2"],
)
def test_arrays_that_are_made_twice_or_have_other_names_are_not(use):
    function = read(f"def f(c, a_2, x):\n    a = np.zeros(2)\n    a[0] = x\n    {use}\n    return x\n")
    assert "a" not in small_arrays(function)


def test_an_element_that_was_not_set_is_zero():
    text = "def f(x):\n    a = np.zeros(2)\n    a[0] = x\n    y = a[1]\n    return y\n"
    keeps_values(replace_small_arrays, text, (np.float64(3.0),))
