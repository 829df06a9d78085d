"""What an iteration adds to the next one's element is carried to it."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.register_rotation import rotate_additions
from tests.optimise.reading import check
from tests.oracles import interpreted


def test_an_addition_to_the_next_element_is_carried():
    check(
        rotate_additions,
        before="""
        def f(a, x, n):
            for i in range(n):
                y = x * x
                a[i] += y
                k = i + 1
                z = x + x
                a[k] += z
            return a
        """,
        after="""
        def f(a, x, n):
            a_carried = 0.0
            for i in range(n):
                y = x * x
                k = i + 1
                z = x + x
                t = y + a_carried
                a[i] += t
                a_carried = z
            t_1 = 0 < n
            if t_1:
                a[n] += a_carried
            return a
        """,
    )


def test_a_loop_that_counts_down_counts_upward_if_it_can():
    check(
        rotate_additions,
        before="""
        def f(a, x, n, m):
            for i in range(n, m, -1):
                y = x * x
                a[i] += y
                k = i + 1
                a[k] += y
        """,
        after="""
        def f(a, x, n, m):
            t = m + 1
            t_1 = n + 1
            a_carried = 0.0
            for i in range(t, t_1):
                y = x * x
                k = i + 1
                t_2 = y + a_carried
                a[i] += t_2
                a_carried = y
            t_3 = t < t_1
            if t_3:
                a[t_1] += a_carried
        """,
    )


def test_a_loop_that_must_count_down_carries_the_other_one():
    check(
        rotate_additions,
        before="""
        def f(a, x, n, m):
            y = x
            for i in range(n, m, -1):
                z = y * x
                a[i] += z
                k = i + 1
                a[k] += z
                y = z
        """,
        after="""
        def f(a, x, n, m):
            y = x
            a_carried = 0.0
            for i in range(n, m, -1):
                z = y * x
                k = i + 1
                y = z
                t = z + a_carried
                a[k] += t
                a_carried = z
            t_1 = m < n
            if t_1:
                t_2 = m + 1
                a[t_2] += a_carried
        """,
    )


ADDED = "    a[i] += z\n    j = i + 1\n    a[j] += x"
STEPS = """
def f(a, b, x, n, c):
    y = x
    for k in range(n):
{iterations}
        y *= b
    return a
"""


def steps(iterations: str) -> str:
    return STEPS.format(iterations="\n".join(f"        {line}" for line in iterations.splitlines()))


def test_loops_in_loops_whose_iterations_wait_for_each_other_carry_too():
    check(
        rotate_additions,
        before=steps(f"for i in range(n):\n    z = y * x\n{ADDED}"),
        after=steps(
            "a_carried = 0.0\nfor i in range(n):\n    z = y * x\n    j = i + 1\n    t = z + a_carried\n"
            "    a[i] += t\n    a_carried = x\nt_1 = 0 < n\nif t_1:\n    a[n] += a_carried"
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        # a loop inside that has ways cannot run on vectors
        steps(f"for i in range(n):\n    if c:\n        z = y\n    else:\n        z = x\n{ADDED}"),
        # the iterations of the loop around can run in any order
        steps(f"for i in range(n):\n    z = y * x\n{ADDED}").replace("y *= b", "w = y"),
    ],
)
def test_other_loops_in_loops_stay(text: str):
    check(rotate_additions, text, text)


def test_two_iterations_know_what_is_added_two_elements_further_on():
    before = """
    def f(a, x, n):
        for i in range(n):
            y = x * x
            k = i + 1
            a[i] += y
            k_1 = i - 1
            z = x + x
            a[k] += z
            a[k_1] += x
        return a
    """
    check(
        rotate_additions,
        before=before,
        after="""
        def f(a, x, n):
            a_carried = 0.0
            a_carried_1 = 0.0
            for i in range(n):
                y = x * x
                k = i + 1
                k_1 = i - 1
                z = x + x
                t_1 = y + a_carried_1
                t = x + a_carried
                a[k_1] += t
                a_carried = t_1
                a_carried_1 = z
            t_2 = 0 < n
            if t_2:
                t_3 = n - 1
                a[t_3] += a_carried
                a[n] += a_carried_1
            return a
        """,
    )


@pytest.mark.parametrize(
    "iteration",
    [
        "a[i] += x\nk = i + 5\na[k] += x",
        "a[i] += x\na[i] += x",
        "a[i] += x\na[j] += x",
        "a[i] += x\nk = i + 1\nif c:\n    a[k] += x",
        "a[i] += x\nk = i + 1\na[k] = x",
        "a[i] += x\nk = i + 1\na[k] += x\ny = a[j]",
        "a[i] += x\nk = i + 1\na[k] += x\nk_1 = i - 1\na[k_1] += x\na[k] += x",
        "a[i] += x\nk = i + 1\na[k] += x\nk_1 = i - 4\na[k_1] += x",
        "a[i] += x\nk = i + 1\na[k] += x\nif c:\n    raise ValueError()",
        "y = 1.0\na[i] += y\nk = i + 1\na[k] += y\ny = x",
        "k = i + 1\nfor j_1 in range(n):\n    a[i] += x\n    a[k] += x",
    ],
)
def test_additions_stay_where_others_meet_the_array_or_may_be_left_out(iteration: str):
    body = "\n".join(f"        {line}" for line in iteration.splitlines())
    text = f"""
def f(a, x, n, j, c):
    for i in range(n):
{body}
    return a
"""
    check(rotate_additions, text, text)


def valley(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def downhill(x):
    total = 0.0
    for i in range(x.shape[0] - 2, 0, -1):
        total += np.sin(x[i + 1]) * x[i]
    return total


def curvature(x):
    return ((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2).sum()


def slopes(x):
    total = 0.0
    for i in range(x.shape[0] - 2, 0, -1):
        total += np.sin(x[i + 1] - x[i - 1])
    return total


def fourth_order(x):
    total = 0.0
    for i in range(2, x.shape[0] - 2):
        total += (16.0 * (x[i - 1] + x[i + 1]) - x[i - 2] - x[i + 2] - 30.0 * x[i]) ** 2
    return total


def shocks(x):
    u = x.copy()
    flux = np.zeros(x.shape[0] + 1)
    for _ in range(3):
        for i in range(1, u.shape[0]):
            flux[i] = max(max(u[i - 1], 0.0) ** 2, min(u[i], 0.0) ** 2)
        for i in range(u.shape[0]):
            u[i] -= 0.3 * (flux[i + 1] - flux[i])
    return np.sum(u * u)


def leapfrog(x):
    old, now = x.copy(), x * 0.9
    for _ in range(3):
        for i in range(1, x.shape[0] - 1):
            old[i] = 2.0 * now[i] - old[i] + 0.2 * now[i] * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        old, now = now, old
    return np.sum(now * now)


@pytest.mark.slow
@pytest.mark.compiled
def test_results_are_the_same_for_all_lengths():
    programs = (valley, downhill, curvature, slopes, fourth_order, shocks, leapfrog)
    cases = tuple((f, np.float64) for f in programs)
    with interpreted():
        for f, dtype in (*cases, (valley, np.float32)):
            fast, plain = tapec.value_and_grad(f), tapec.value_and_grad(f, opt_level=0)
            for n in (0, 1, 2, 3, 7):
                x = np.linspace(-1.0, 2.0, n).astype(dtype)
                for found, wanted in zip(fast(x), plain(x), strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == np.float32 else 1e-13)


def test_loops_on_threads_do_not_wait_for_each_other():
    assert "_carried" in tapec.emit(valley, signature="f8[::1]", opt_level=2)
    assert "_carried" not in tapec.emit(valley, signature="f8[::1]", parallel=True, opt_level=2)
