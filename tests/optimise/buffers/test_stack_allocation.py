"""Small arrays of which nothing but elements is used are put on the stack."""

from __future__ import annotations

from tapec.optimise.buffers.stack_allocation import use_stack_arrays
from tests.optimise.reading import check


def test_a_small_array_of_elements():
    check(
        use_stack_arrays,
        """
def f(x, n):
    a = np.empty((2, 3))
    for i in range(3):
        a[0, i] = x
    s = a[1, 2]
    return s
""",
        """
def f(x, n):
    a = tapec_runtime.stack_array("float64", 2, 3)
    for i in range(3):
        a[0, i] = x
    s = a[1, 2]
    return s
""",
    )


def test_an_array_that_is_returned_or_of_unknown_extents_stays():
    text = """
def f(x, n):
    a = np.empty(2)
    a_1 = np.empty(n)
    a[0] = x
    a_1[0] = x
    return a
"""
    check(use_stack_arrays, text, text)


def test_an_array_at_places_that_only_the_run_knows_stays():
    text = """
def f(x, n):
    a = np.empty(4)
    for i in range(n):
        a[i] = x
    for j in range(4):
        x_1 = a[j]
    return x
"""
    check(use_stack_arrays, text, text)
