"""First values for names that are copied where they may be unset."""

from __future__ import annotations

from tapec.optimise.simplify.unset_names import initialise_unset
from tests.optimise.reading import check


def test_a_copy_of_a_name_set_on_one_way_only():
    check(
        initialise_unset,
        before="""
        def f(c, x):
            if c:
                y = x * x
            z = y
            return z
        """,
        after="""
        def f(c, x):
            y = 0.0
            if c:
                y = x * x
            z = y
            return z
        """,
    )


def test_a_name_set_on_all_ways_needs_none():
    check(
        initialise_unset,
        before="""
        def f(c, x):
            if c:
                y = x * x
            else:
                y = x
            z = y
            return z
        """,
        after="""
        def f(c, x):
            if c:
                y = x * x
            else:
                y = x
            z = y
            return z
        """,
    )
