"""Loops of which LLVM is told that no iteration touches what another one stores."""

from __future__ import annotations

import textwrap

import pytest

from tapec.backend import printer
from tapec.optimise.simplify.value_numbering import number_values
from tapec.optimise.vectors.independence_hints import mark_independent_loops
from tests.optimise.reading import check, read

ROWS = """
def f(A, B, C, a, k, m, n, s, z):
    for i in range(n):
        for j in range({bounds}):
            {body}
    return s
"""


def rows(body: str, bounds: str = "1, m") -> str:
    return ROWS.format(bounds=bounds, body="\n            ".join(textwrap.dedent(body).strip().splitlines()))


def changed(text: str) -> str:
    return printer.function(mark_independent_loops(number_values(read(text))), quote=False)


def test_a_row_of_several_arrays():
    before = rows("x = B[i, j]\nA[i, j] += x\ny = C[i, j]\na[j] = y\ns += y")
    check(mark_independent_loops, before, before.replace("range(1, m)", "tapec_runtime.independent(range(1, m))"))


@pytest.mark.parametrize(
    "body",
    [
        # an element of the iteration before, of the one behind, and one for all
        "k = j - 1\nx = A[i, k]\nA[i, j] = x\ny = B[i, j]\na[j] = y",
        "k = j + 1\nx = A[i, k]\nA[i, j] = x\ny = B[i, j]\na[j] = y",
        "x = B[i, j]\nA[i, i] += x\ny = C[i, j]\na[j] = y",
        # a subscript that may be the last element, in one iteration or in all
        "k = j - 2\nx = B[i, j]\nA[i, k] += x\ny = C[i, j]\na[j] = y",
        "k = m - j\nx = B[i, j]\nA[i, k] += x\ny = C[i, j]\na[j] = y",
        # elements of a column, which LLVM would gather
        "x = B[j, i]\nA[i, j] += x\ny = C[i, j]\na[j] = y",
        # an effect
        "x = B[i, j]\nA[i, j] += x\ny = C[i, j]\na[j] = y\nprint(y)",
    ],
)
def test_other_loops_stay(body):
    assert "independent" not in changed(rows(body))


def test_a_difference_from_where_the_loop_begins():
    body = "k = j - n\nx = B[i, k]\nA[i, k] += x\ny = C[i, k]\na[k] = y"
    assert "independent" in changed(rows(body, "n, m"))
    assert "independent" not in changed(rows(body, "m, n"))


def test_a_few_iterations_are_better_written_out():
    body = "x = B[i, j]\nA[i, j] += x\ny = C[i, j]\na[j] = y"
    assert "independent" not in changed(rows(body, "3"))
    assert "independent" in changed(rows(body, "30"))


def test_a_loop_that_runs_once_is_left_to_llvm():
    before = """
    def f(A, a, m, s):
        for j in range(m):
            x = A[m, j]
            a[j] = x
            s += x
        return s
    """
    check(mark_independent_loops, before, before)


def test_neighbours_that_an_iteration_comes_to_all_of_are_a_row():
    text = """
    def f(a, a_1, n, s):
        for k in range(n):
            for i in range(n):
                i_0 = 3 * i
                i_1 = i_0 + 1
                i_2 = i_0 + 2
                x = a[i_0]
                y = a[i_1]
                z = a_1[i]
                a[i_0] = z
                a[i_1] = x
                a[i_2] = y
        return s
    """
    assert "independent(range(n))" in changed(text)
    # LLVM would scatter what has gaps, and gather what comes alone
    assert "independent" not in changed(text.replace("a[i_2] = y", "s += y"))
    assert "independent" not in changed(text.replace("a_1[i]", "a_1[i_1]"))
    # neighbours of two iterations meet
    assert "independent" not in changed(text.replace("3 * i", "2 * i"))
    # LLVM would load the second time what the iteration has not stored yet
    assert "independent" not in changed(text.replace("a[i_2] = y", "a[i_2] = y\n                a[i_1] += y"))
    assert "independent" not in changed(text.replace("y = a[i_1]", "a[i_1] = x\n                y = a[i_1]"))


def test_loops_in_steps_touch_an_element_once():
    before = rows("x = B[i, j]\nA[i, j] += x\ny = C[i, j]\na[j] = y", "0, m, 2")
    assert "independent" in changed(before)
    assert "independent" not in changed(before.replace("y = C[i, j]", "y = C[i, j]\n            A[i, j] += y"))


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("np.empty((n, 8))", "B.reshape((n, 8))", True),
        ("np.empty((n, 4))", "B.reshape((n, 8))", False),
        ("np.empty((n, k))", "B.reshape((n, 8))", False),
        ("A[1:]", "A.reshape((n, 8))", False),
    ],
)
def test_arrays_with_the_same_rows(first, second, found):
    before = f"""
def f(A, n, k):
    B = {first}
    C = {second}
    for i in range(n):
        for j in range(8):
            B[i, j] = 2.0
            C[i, j] = 3.0
    return B
"""
    assert ("independent" in changed(before)) == found
