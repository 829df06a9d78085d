"""Core form's place for `break`."""

from __future__ import annotations

from tapec.optimise.simplify.tail_breaks import move_breaks_last
from tests.optimise.reading import check


def test_what_follows_a_way_out_moves_into_the_other_ways():
    check(
        move_breaks_last,
        before="""
        def f(x, n):
            k = 0
            while True:
                if k < n:
                    if x > 3.0:
                        k_1 = k + 2
                    else:
                        break
                else:
                    break
                k = k_1
            return k
        """,
        after="""
        def f(x, n):
            k = 0
            while True:
                if k < n:
                    if x > 3.0:
                        k_1 = k + 2
                        k = k_1
                    else:
                        break
                else:
                    break
            return k
        """,
    )


def test_branches_without_a_break_stay():
    text = """
        def f(x, n):
            while True:
                if x > 3.0:
                    n = 2
                y = x + 1.0
                if y > 9.0:
                    break
            return n
        """
    check(move_breaks_last, before=text, after=text)
