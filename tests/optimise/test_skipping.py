"""Work without effect: additions of zero, and iterations after an adjoint is used up."""

from __future__ import annotations

import pytest

from tapec.optimise.loops.early_exit import exit_early
from tapec.optimise.loops.zero_skipping import skip_zeros
from tests.optimise.reading import check


def same(change, text: str) -> None:
    """A pass leaves a function as it is."""
    check(change, text, text)


def test_what_spreads_a_zero_moves_to_the_other_side():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, c, i, y_bar, w):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            t_1 = t_bar * w
            a[i] += t_1
            a_1[i] += t_bar
            return w
        """,
        after="""
        def f(a, a_1, c, i, y_bar, w):
            if c:
                t_bar = y_bar
                t_1 = t_bar * w
                a[i] += t_1
                a_1[i] += t_bar
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    "use",
    [
        "a[i] += t_bar",  # one addition is not worth a branch
        "a[i] = t_bar\n    a_1[i] += t_bar",  # a zero is stored
        "a[i] += t_bar\n    a_1[i] += t_bar\n    s = t_bar + w\n    a[i] += s",
        "s = a[i]\n    a[i] += t_bar\n    a_1[i] += t_bar\n    a_1[0] = s",  # the element is read before
        "s = math.exp(t_bar)\n    a[i] += s\n    a_1[i] += t_bar",  # exp(0) is not 0
    ],
)
def test_other_uses_of_a_zero_stay(use: str):
    same(
        skip_zeros,
        f"""
def f(a, a_1, c, i, y_bar, w):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {use}
    return w
""",
    )


def test_short_loops_that_spread_a_zero_move_too():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, a_2, c, y_bar, w):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            t_1 = t_bar / w
            for i in range(3):
                s = a_2[i]
                u = s * t_1
                v = u + u
                a[i] += v
                a_1[i] += u
            return w
        """,
        after="""
        def f(a, a_1, a_2, c, y_bar, w):
            if c:
                t_bar = y_bar
                t_1 = t_bar / w
                for i in range(3):
                    s = a_2[i]
                    u = s * t_1
                    v = u + u
                    a[i] += v
                    a_1[i] += u
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    ("count", "before", "body"),
    [
        # a loop that may be long; another value of what it adds; what the loop reads changes before, or is read after
        ("k", "w = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "u = a_2[i]\n        v = u + t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] = v"),
        ("3", "a_2[k] = 2.0", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = a[k]", "u = a_2[i]\n        v = u * t_bar\n        a[i] += v\n        a_1[i] += v"),
        ("3", "w = 2.0", "z = a_2[i]\n        v = z * t_bar\n        a[i] += v\n        a_1[i] += v"),
    ],
)
def test_other_loops_stay(count: str, before: str, body: str):
    same(
        skip_zeros,
        f"""
def f(a, a_1, a_2, c, k, y_bar):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {before}
    for i in range({count}):
        {body}
    return {"z" if "z =" in body else "k"}
""",
    )


def test_what_only_they_need_moves_with_them():
    check(
        skip_zeros,
        before="""
        def f(a, a_1, c, i, y_bar, w, x):
            if c:
                t_bar = y_bar
            else:
                t_bar = 0.0
            s = 2.0 * x
            r = s * w
            t_1 = r * t_bar
            a[i] += t_1
            a_1[i] += t_bar
            return w
        """,
        after="""
        def f(a, a_1, c, i, y_bar, w, x):
            if c:
                t_bar = y_bar
                s = 2.0 * x
                r = s * w
                t_1 = r * t_bar
                a[i] += t_1
                a_1[i] += t_bar
            else:
                t_bar = 0.0
            return w
        """,
    )


@pytest.mark.parametrize(
    ("passed", "result"),
    # what is needed elsewhere, too, or read from an array that changes between
    [("s = 2.0 * x\n    a_2[i] = s", "w"), ("s = 2.0 * x", "s"), ("s = a_2[i]\n    a_2[i] = x", "w")],
)
def test_what_others_need_stays(passed: str, result: str):
    same(
        skip_zeros,
        f"""
def f(a, a_1, a_2, c, i, y_bar, w, x):
    if c:
        t_bar = y_bar
    else:
        t_bar = 0.0
    {passed}
    t_1 = s * t_bar
    a[i] += t_1
    a_1[i] += t_bar
    return {result}
""",
    )


def test_a_loop_ends_where_its_adjoint_does():
    check(
        exit_early,
        before="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    a[i] += t_bar
                    t_bar_1 = 0.0
                else:
                    t_bar_1 = t_bar
                t_bar = t_bar_1
            return t_bar
        """,
        after="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    a[i] += t_bar
                    t_bar = 0.0
                    break
            return t_bar
        """,
    )


def test_a_loop_in_a_loop_does_not_begin_with_nothing_to_spread():
    check(
        exit_early,
        before="""
        def f(a, a_1, k, n):
            for j in range(k):
                t_bar = a_1[j]
                for i in range(n):
                    s = a_1[i]
                    c = s > 0.0
                    if c:
                        a[i] += t_bar
                        t_bar_1 = 0.0
                    else:
                        t_bar_1 = t_bar
                    t_bar = t_bar_1
            return k
        """,
        after="""
        def f(a, a_1, k, n):
            for j in range(k):
                t_bar = a_1[j]
                t = t_bar != 0.0
                if t:
                    for i in range(n):
                        s = a_1[i]
                        c = s > 0.0
                        if c:
                            a[i] += t_bar
                            t_bar = 0.0
                            break
            return k
        """,
    )


SUMS = """
def f(a, a_1, n, y_bar):
    t_bar = y_bar
    x_bar = 0.0
    for i in range(n):
        s = a_1[i]
        {before}
        c = s > 0.0
        if c:
            w = s * t_bar
            a[i] += w
            {first}
            z = x_bar - w
            {last}
            x_bar_1 = {sum}
            t_bar_1 = 0.0
        else:
            x_bar_1 = x_bar
            t_bar_1 = t_bar
        x_bar = x_bar_1
        t_bar = t_bar_1
    return x_bar
"""


def test_a_loop_that_adds_to_a_sum_ends_too():
    plain = {"before": "pass", "first": "pass", "last": "pass", "sum": "z"}
    check(
        exit_early,
        before=SUMS.format(**plain),
        after="""
        def f(a, a_1, n, y_bar):
            t_bar = y_bar
            x_bar = 0.0
            for i in range(n):
                s = a_1[i]
                c = s > 0.0
                if c:
                    w = s * t_bar
                    a[i] += w
                    z = x_bar - w
                    x_bar = z
                    t_bar = 0.0
                    break
            return x_bar
        """,
    )


@pytest.mark.parametrize(
    "other",
    [
        # a sum that is read, multiplied, added to otherwise, or something else than the sum in the end
        {"before": "s = x_bar * 2.0"},
        {"first": "a[i] += x_bar"},
        {"first": "x_bar = s * 2.0"},
        {"last": "z *= s"},
        {"last": "z -= s"},
        {"sum": "w"},
        {"sum": "x_bar"},
    ],
)
def test_a_loop_that_does_more_with_a_sum_runs_to_its_end(other: dict[str, str]):
    plain = {"before": "r = s", "first": "v = s", "last": "u = s", "sum": "z"}
    same(exit_early, SUMS.format(**plain | other))


@pytest.mark.parametrize(
    ("before", "taken"),
    [
        ("s = x_stack.pop()", "a[i] += t_bar"),  # every iteration takes one
        ("s = t_bar * 2.0", "a[i] += s"),
        ("s = a_1[i]", "a[i] = t_bar"),
        ("s = a_1[i]", "a[i] += s"),
    ],
)
def test_a_loop_that_does_more_runs_to_its_end(before: str, taken: str):
    same(
        exit_early,
        f"""
def f(a, a_1, n, y_bar, x_stack):
    t_bar = y_bar
    for i in range(n):
        {before}
        c = s > 0.0
        if c:
            {taken}
            t_bar_1 = 0.0
        else:
            t_bar_1 = t_bar
        t_bar = t_bar_1
    return t_bar
""",
    )
