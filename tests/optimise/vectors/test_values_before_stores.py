"""What an iteration leaves for the next one is computed before the iteration stores, and stays before it in the printed
text.
"""

from __future__ import annotations

import pytest

from tapec.optimise.simplify.renest import renest
from tapec.optimise.vectors.values_before_stores import compute_before_stores
from tests.optimise.reading import check

LOOP = """
def f(a, a_1, x, n, j_stack):
    y = x
    s = 0.0
    for i in range(n):
{iteration}
    return a, y, s
"""


def loop(iteration: str) -> str:
    return LOOP.format(iteration="\n".join(f"        {line}" for line in iteration.splitlines()))


def test_a_record_of_what_was_left_waits_for_what_is_left_next():
    check(
        compute_before_stores,
        before=loop("a_1[i] = y\nk = i + 1\nz = a[k]\nz_1 = y * z\na[i] = z_1\ns_1 = s + z_1\ny = z\ns = s_1"),
        after=loop("k = i + 1\nz = a[k]\na_1[i] = y\nz_1 = y * z\na[i] = z_1\ns_1 = s + z_1\ny = z\ns = s_1"),
    )


def test_a_sum_may_grow_in_several_statements():
    sums = "s_1 = s + z_1\ns_2 = s_1 - x\ny = z\ns = s_2"
    check(
        compute_before_stores,
        before=loop(f"a_1[i] = y\nk = i + 1\nz = a[k]\nz_1 = y * z\na[i] = z_1\n{sums}"),
        after=loop(f"k = i + 1\nz = a[k]\na_1[i] = y\nz_1 = y * z\na[i] = z_1\n{sums}"),
    )


@pytest.mark.parametrize(
    "iteration",
    [
        # it may be what was stored
        "a[i] = y\nk = i + 1\nz = a[k]\ny = z",
        # nothing is stored before it
        "z = a[i]\na_1[i] = y\ny = z",
        # it follows from what was left
        "a_1[i] = y\nz_1 = a[i]\nz = z_1 * y\ny = z",
        # a number that waits for the iteration before, and is no sum, keeps the loop from vectors
        "a_1[i] = y\nz = a[i]\ns_1 = s * z\ny = z\ns = s_1",
        "a_1[i] = y\nz = a[i]\ns_1 = s * z\ns_2 = s_1 + z\ny = z\ns = s_2",
        # the order of what is taken from a list counts
        "a_1[i] = y\nk = j_stack.pop()\nz = a[k]\ny = z",
        # there are ways
        "a_1[i] = y\nz = a[i]\nif x > s:\n    s = x\ny = z",
    ],
)
def test_other_statements_stay_in_order(iteration: str):
    text = loop(iteration)
    check(compute_before_stores, text, text)


def test_it_is_not_put_into_the_copy_that_ends_the_iteration():
    text = loop("t = a[i]\nt_1 = t * x\na[i] = y + t\ny = t_1")
    check(renest, before=loop("t = a[i]\nt_1 = t * x\nt_2 = y + t\na[i] = t_2\ny = t_1"), after=text)


def test_what_is_computed_behind_the_stores_goes_into_the_copy():
    before = loop("t = a[i]\nt_2 = y + t\na[i] = t_2\nt_1 = t * x\ny = t_1")
    check(renest, before=before, after=loop("t = a[i]\na[i] = y + t\ny = t * x"))
