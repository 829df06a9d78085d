"""Lists of which nobody reads what is taken off them."""

from __future__ import annotations

from tapec.optimise.buffers.dead_lists import drop_dead_lists
from tests.optimise.reading import check, read


def test_a_list_goes_whose_values_nobody_reads():
    check(
        drop_dead_lists,
        before="""
        def f(n, x):
            kept_stack = stack()
            total = 0.0
            for i in range(n):
                y = x * total
                kept_stack.append(y)
                total = total + y
            for j in range(n):
                z = kept_stack.pop()
                total = total + x
            return total
        """,
        after="""
        def f(n, x):
            total = 0.0
            for i in range(n):
                y = x * total
                total += y
            for j in range(n):
                total += x
            return total
        """,
    )


def test_a_list_stays_of_which_one_value_is_read():
    function = read(
        """
        def f(n, x):
            kept_stack = stack()
            kept_stack.append(x)
            kept_stack.append(x)
            y = kept_stack.pop()
            z = kept_stack.pop()
            return z
        """
    )
    assert drop_dead_lists(function) is function


def test_a_list_that_comes_in_stays():
    function = read(
        """
        def f(kept_stack, x):
            y = kept_stack.pop()
            return x
        """
    )
    assert drop_dead_lists(function) is function
