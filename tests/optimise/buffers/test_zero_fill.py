"""Arrays of zeros that a loop fills."""

from __future__ import annotations

import textwrap

import pytest

from tapec.optimise.buffers.zero_fill import fuse_zero_fills
from tests.optimise.reading import check


def test_a_loop_that_adds_to_every_element_fills_the_array():
    check(
        fuse_zero_fills,
        before="""
        def f(x, n):
            a = np.zeros(n)
            y = x + x
            for i in range(n):
                t = y * x
                a[i] += t
            for i_1 in range(n):
                a[i_1] += y
            return a
        """,
        after="""
        def f(x, n):
            a = np.empty(n)
            y = x + x
            for i in range(n):
                t = y * x
                a[i] = t
            for i_1 in range(n):
                a[i_1] += y
            return a
        """,
    )


def test_where_the_loop_loads_the_element_it_finds_a_zero():
    check(
        fuse_zero_fills,
        before="""
        def f(x, n):
            a = np.zeros(n)
            for i in range(n):
                t = a[i]
                u = t + x
                a[i] = u
            return a
        """,
        after="""
        def f(x, n):
            a = np.empty(n)
            for i in range(n):
                t = 0.0
                u = x
                a[i] = u
            return a
        """,
    )


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(1, n):\n    a[i] += x",  # the first element stays zero
        "for i in range(n):\n    if c:\n        a[i] += x",
        "for i in range(n):\n    if c:\n        break\n    a[i] += x",
        "for i in range(n):\n    for j in range(k):\n        a[i] += x",
        "for i in range(n):\n    y = a[k]\n    a[i] += y",
        "for i in range(n):\n    a[i] += x\n    y = a[i]",
        "for i in range(n):\n    a[k] += x",
        "a_1 = a[1:]\nfor i in range(n):\n    a[i] += x",
        "if c:\n    for i in range(n):\n        a[i] += x",
    ],
)
def test_an_array_keeps_its_zeros_where_an_element_may_be_met_more_than_once_or_not_at_all(loop: str):
    body = "\n".join(f"    {line}" for line in loop.splitlines())
    text = f"""
def f(x, n, k, c):
    a = np.zeros(n)
{body}
    return a
"""
    check(fuse_zero_fills, text, text)


def test_a_loop_that_may_leave_out_elements_at_the_end_leaves_zeros_there():
    before = """
    def f(x, n, k):
        a = np.zeros(n)
        for i in range(k):
            a[i] += x
        return a
    """
    check(
        fuse_zero_fills,
        before=before,
        after="""
        def f(x, n, k):
            a = np.empty(n)
            size = max(k, 0)
            for i_1 in range(size, n):
                a[i_1] = 0.0
            for i in range(k):
                a[i] = x
            return a
        """,
    )
    head, _, rest = textwrap.dedent(before).lstrip().partition("\n")
    loop = textwrap.indent(rest.replace("    return a\n", ""), "    ")
    inside = f"{head}\n    for j in range(k):\n{loop}    return x\n"
    check(fuse_zero_fills, inside, inside)


def test_elements_at_the_end_that_the_loop_leaves_out_get_zeros_before():
    before = """
    def f(x, n):
        a = np.zeros(n)
        k = n - 2
        for i in range(k):
            a[i] += x
        return a
    """
    check(
        fuse_zero_fills,
        before=before,
        after="""
        def f(x, n):
            a = np.empty(n)
            k = n - 2
            size = max(k, 0)
            for i_1 in range(size, n):
                a[i_1] = 0.0
            for i in range(k):
                a[i] = x
            return a
        """,
    )
    longer = textwrap.dedent(before.replace("n - 2", "n + 2")).lstrip()
    check(fuse_zero_fills, longer, longer)
