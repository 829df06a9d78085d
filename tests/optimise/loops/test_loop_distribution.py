"""Additions that scatter get loops of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.optimise.loops.loop_distribution import distribute, distribute_by_iteration
from tests.optimise.comparison import check_results
from tests.optimise.reading import check, read, unchanged


def same(text: str) -> None:
    """The pass leaves a function as it is."""
    unchanged(distribute, text)


def test_a_scattered_addition_gets_a_loop_of_its_own():
    check(
        distribute,
        before="""
        def f(a, a_1, n, s):
            for i in range(1, n):
                j = i - 1
                u = a_1[i]
                t = u * s
                a[i] += t
                a[j] += t
            return s
        """,
        after="""
        def f(a, a_1, n, s):
            size = max(n, 0)
            t_kept = np.empty(size)
            for i in range(1, n):
                j = i - 1
                u = a_1[i]
                t = u * s
                a[i] += t
                t_kept[i] = t
            for i_1 in range(1, n):
                t_1 = t_kept[i_1]
                t_2 = i_1 - 1
                a[t_2] += t_1
            return s
        """,
    )


@pytest.mark.parametrize(
    ("loop", "read"),
    [
        ("range(1, n)", "j = i - 1\nk = i + 1\nu = a[j]"),  # a later iteration reads what this one added to
        ("range(n, 0, -1)", "j = i + 1\nk = i - 1\nu = a[j]"),
        ("range(n)", "k = i - 1\nu = a[i]"),  # a[-1] may be any element
    ],
)
def test_an_addition_stays_where_a_later_iteration_may_see_it(loop: str, read: str):
    body = "\n".join(f"        {line}" for line in read.splitlines())
    same(
        f"""
def f(a, n, s):
    for i in {loop}:
{body}
        t = u * s
        a[k] += t
    return s
""",
    )


LOOP = """
def f(a, a_1, A, k, n, s, c, x_stack):
    for i in {}:
        {}
    return s
"""


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("range(1, n)", "j = i - 1\nk_1 = i + 1\nt = a_1[i]\na[j] += t\na[k_1] += t"),
        ("range(n, 0, -1)", "j = i - 1\nt = a_1[i]\na[i] += t\na[j] += 2.0"),
        ("range(1, n)", "j = i - 1\na[i] = s\na[j] += s"),  # no later iteration stores that
        ("range(1, n)", "j = i - 1\nt = a[i]\na[j] += t\na_1[i] += t"),  # nor reads it
        ("range(n, 0, -1)", "j = i + 1\nt = a[i]\na[j] += t\na_1[i] += t"),
        ("range(n)", "k_1 = n - 1\nj = k_1 - i\nt = a_1[i]\na[i] += t\na[j] += t"),  # from the other end
        ("range(n)", "j = i + 1\na[j] += s\na[i] += s\na_1[j] += s\na_1[i] += s"),
    ],
)
def test_what_waits_is_added_all_the_same(loop: str, body: str):
    text = LOOP.format(loop, body.replace("\n", "\n        "))
    arrays = np.linspace(0.1, 1.7, 8), np.linspace(-1.0, 2.0, 8)
    runs = [(*arrays, np.ones((1, 1)), 2, n, 0.3, True, [0.0]) for n in range(7)]
    check_results(distribute, text, *runs, tolerance=1e-14)


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("range(n)", "a[i] += s"),  # an element of its own
        ("range(n)", "a[k] += s\na[i] += s"),  # one element may be another one's
        ("range(1, n)", "j = i - 1\na[j] += s\nt = a[j]\na_1[i] += t"),  # the same iteration sees it
        ("range(1, n)", "j = i - 1\nA[0, i] += s\nA[0, j] += s\nt = A[k, j]\na_1[i] += t"),
        ("range(1, n)", "j = i - 1\na_2 = A[i]\na_2[i] += s\na_2[j] += s"),  # another row in each iteration
        ("range(1, n)", "j = i + 1\na[j] += s\na[i] = s"),  # the next one stores it
        ("range(1, n)", "j = i - 1\nt = a[k]\na[i] += t\na[j] += t"),
        ("range(1, n)", "j = i - 1\na_2 = a[1:]\nt = a_2[i]\na[i] += t\na[j] += t"),
        ("range(0, n, 2)", "j = i + 1\na[i] += s\na[j] += s"),
        ("range(k, n)", "j = i + 1\na[i] += s\na[j] += s"),  # where elements may count from the end
        ("range(1, n)", "j = i * 2\na_1[i] = s\na[j] += s\na[i] += s"),
        ("range(1, n)", "j = i + 1\na[i] += s\nif c:\n    a[j] += s"),
        ("range(1, n)", "j = i + 1\nprint(s)\na[i] += s\na[j] += s"),
        ("range(1, n)", "j = i + 1\nt = x_stack.pop()\na[i] += t\na[j] += t"),
    ],
)
def test_other_additions_stay(loop: str, body: str):
    same(LOOP.format(loop, body.replace("\n", "\n        ")))


NEST = """
def f(A, A_1, k, n):
{outside}    for i in range(n):
{inside}        for j in range(1, k):
            j_1 = j - 1
            u = A_1[i, j]
            A[i, j] += u
            {kept}
{after}    return k
"""
MADE = ["size = max(k, 0)", "u_kept = np.empty(size)"]
AFTER = ["for j_2 in range(1, k):", "    t = u_kept[j_2]", "    t_1 = j_2 - 1", "    A[i, t_1] += t"]


@pytest.mark.parametrize(("change", "alone"), [(distribute, False), (distribute_by_iteration, True)])
def test_a_buffer_is_made_once_or_by_each_iteration_on_threads(change, alone: bool):
    before = NEST.format(outside="", inside="", kept="A[i, j_1] += u", after="")
    made = {"inside": "".join(f"        {line}\n" for line in MADE), "outside": ""}
    if not alone:
        made = {"inside": "", "outside": "".join(f"    {line}\n" for line in MADE)}
    after = "".join(f"        {line}\n" for line in AFTER)
    check(change, before, NEST.format(**made, kept="u_kept[j] = u", after=after))
    arrays = np.ones((3, 5)), np.arange(15.0).reshape(3, 5)
    check_results(change, before, *((*arrays, k, n) for n in (0, 1, 3) for k in (-1, 0, 1, 5)), tolerance=1e-14)


def test_iterations_that_share_something_share_the_buffer():
    before = NEST.format(outside="", inside="        A[0, 0] += 1.0\n", kept="A[i, j_1] += u", after="")
    made = printer.function(distribute_by_iteration(read(before)))
    assert "u_kept" in made and made == printer.function(distribute(read(before)))
