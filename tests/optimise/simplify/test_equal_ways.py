"""Numbers that are equal on both ways of a branch."""

from __future__ import annotations

from tapec.optimise.simplify.equal_ways import join_equal_ways
from tests.optimise.reading import check, unchanged


def test_the_number_of_the_test_is_the_one_that_the_other_way_sets():
    check(
        join_equal_ways,
        before="""
        def f(n):
            c = n != 1
            if c:
                k = n
            else:
                k = 1
            return k
        """,
        after="""
        def f(n):
            c = n != 1
            if c:
                k = n
            else:
                k = n
            return k
        """,
    )


def test_other_numbers_stay():
    unchanged(
        join_equal_ways,
        """
        def f(n):
            c = n != 1
            if c:
                k = n
            else:
                k = 2
            return k
        """,
    )
