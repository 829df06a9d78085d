"""Adjoints of stencils that overwrite their array count upward."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.upward_recurrences import reverse_recurrences
from tests.optimise.reading import check, read
from tests.oracles import interpreted
from tests.sampling import sampled

LOOP = """
def f(a, a_1, x, n, j, c):
    s = 0.0
    y = x
    for i in range(n, 0, -1):
{iteration}
        s_1 = s + z
        y = {handed}
        s = s_1
    return a, s, y
"""


def loop(iteration: str, handed: str = "z") -> str:
    return LOOP.format(iteration="\n".join(f"        {line}" for line in iteration.splitlines()), handed=handed)


def test_what_an_iteration_hands_down_is_computed_again_by_the_next_one():
    check(
        reverse_recurrences,
        before=loop("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nk = i + 1\na[k] += z\na[i] = z_3"),
        after="""
        def f(a, a_1, x, n, j, c):
            s = 0.0
            y = x
            y_1 = y
            t = 0 + 1
            t_1 = t <= n
            if t_1:
                z_1_1 = a[t]
                z_2 = x * z_1_1
                y_2 = z_2
                y = y_2
            a_carried = 0.0
            for i in range(t, n):
                t_4 = i + 1
                z_1_2 = a[t_4]
                z_4 = x * z_1_2
                y_3 = z_4
                z_1 = a[i]
                z = x * z_1
                z_3 = y_3 + z_1
                k = i + 1
                t_2 = z_3 + a_carried
                a[i] = t_2
                s_1 = s + z
                s = s_1
                a_carried = z
            if t_1:
                z_1_3 = a[n]
                z_5 = x * z_1_3
                z_3_1 = y_1 + z_1_3
                k_1 = n + 1
                a[k_1] += z_5
                t_3_1 = z_3_1 + a_carried
                a[n] = t_3_1
                s_1_1 = s + z_5
                s = s_1_1
            return a, s, y
        """,
    )


@pytest.mark.parametrize(
    ("iteration", "handed"),
    [
        # what is handed on follows from what was handed on
        ("z_1 = a[i]\nz = x * y\nz_3 = z + z_1\na[i] = z_3", "z"),
        # ... from an element that another iteration sets, ...
        ("z_1 = a[i]\nk = i - 1\nz = a[k]\nz_3 = y + z_1\na[i] = z_3", "z"),
        ("z_1 = a[i]\nz = a[j]\nz_3 = y + z_1\na[i] = z_3", "z"),
        # ... from another array that the loop changes, which nothing reads first, ...
        ("z_1 = a[i]\nz = x * z_1\na_1[i] = z\nz_2 = a_1[i]\nz_3 = y + z_1\na[i] = z_3", "z_2"),
        # ... from a sum, ...
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na[i] = z_3", "s"),
        # ... or takes more than products
        ("z_1 = a[i]\nz = np.exp(z_1)\nz_3 = y + z_1\na[i] = z_3", "z"),
        # the element is read after it was set
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na[i] = z_3\nz_4 = a[i]\na_1[i] = z_4", "z"),
        # an addition to an element farther away, or behind, or to two
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nk = i + 2\na[k] += z\na[i] = z_3", "z"),
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nk = i - 1\na[k] += z\na[i] = z_3", "z"),
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nk = i + 1\na[k] += z\na[k] += x\na[i] = z_3", "z"),
        # the next element is set, not added to
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nk = i + 1\na[k] = z\na[i] = z_3", "z"),
        # iterations meet in another array
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na_1[j] = z\na[i] = z_3", "z"),
        # ways
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nif c:\n    a[i] = z_3", "z"),
        ("z_1 = a[i]\nz = x * z_1\nif c:\n    raise ValueError()\nz_3 = y + z_1\na[i] = z_3", "z"),
        # what is handed on is read after it was set for the next iteration
        ("z_1 = a[i]\nz = x * z_1\ny = z\nz_3 = y + z_1\na[i] = z_3", "z"),
    ],
)
def test_loops_go_on_downward_where_iterations_share_more(iteration: str, handed: str):
    text = loop(iteration, handed)
    check(reverse_recurrences, text, text)


ALONE = """
def f(a, A, x, n, j, c):
    s = 0.0
    for i in range(n, 0, -1):
{iteration}
    return a, s
"""


def alone(iteration: str) -> str:
    return ALONE.format(iteration="\n".join(f"        {line}" for line in iteration.splitlines()))


def test_what_the_last_iteration_leaves_for_the_next_element_is_added_behind_the_loop():
    check(
        reverse_recurrences,
        before=alone("z = a[i]\nz_1 = x * z\nk = i + 1\na[k] += z_1\na[i] = z_1"),
        after="""
        def f(a, A, x, n, j, c):
            s = 0.0
            t = 0 + 1
            t_1 = t <= n
            a_carried = 0.0
            t_3 = n + 1
            for i in range(t, t_3):
                z = a[i]
                z_1 = x * z
                k = i + 1
                t_2 = z_1 + a_carried
                a[i] = t_2
                a_carried = z_1
            if t_1:
                t_4 = n + 1
                a[t_4] += a_carried
            return a, s
        """,
    )


def test_columns_that_differ_in_a_number_wait_in_variables_of_their_own():
    iteration = "z = A[i, {0}]\nz_1 = x * z\nk = i + 1\nA[k, {0}] += z_1\nA[i, {0}] = z_1"
    both = iteration.format(0) + "\n" + iteration.format(1).replace("z", "y").replace("k ", "m ").replace("k,", "m,")
    changed = reverse_recurrences(read(alone(both)))
    text = printer.function(changed, quote=False)
    assert "A_carried_1 = 0.0" in text
    assert text.count("] += ") == 2


@pytest.mark.parametrize(
    "iteration",
    [
        # rows that may be the same one
        "z = A[i, j]\nk = i + 1\nA[k, j] += z\nA[i, j] = x\ny = A[i, n]\nA[k, n] += y\nA[i, n] = x",
        # the row changes
        "j = i + n\nz = A[j, i]\nk = i + 1\nA[j, k] += z\nA[j, i] = x",
        # the element is on a diagonal
        "z = A[i, i]\nk = i + 1\nA[i, k] += z\nA[i, i] = x",
        # the element is only added to
        "z = x * x\nk = i + 1\na[k] += z",
        # and may count from the end
        "m = i - j\nz = a[m]\nk = m + 1\na[k] += z\na[m] = x",
    ],
)
def test_other_additions_go_on_downward(iteration: str):
    check(reverse_recurrences, alone(iteration), alone(iteration))


def test_a_loop_whose_last_value_is_read_goes_on_downward():
    text = loop("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na[i] = z_3").replace("return a,", "return z_3,")
    check(reverse_recurrences, text, text)


def diffused(u0, k, steps):
    u = u0.copy()
    for _ in range(steps):
        left = u[0]
        for i in range(1, u.shape[0] - 1):
            here = u[i]
            u[i] = here + k[i] * (left - 2.0 * here + u[i + 1])
            left = here
        u[0] += left
    return np.sum(u * u)


def steepened(u0, k, steps):
    u = u0.copy()
    for _ in range(steps):
        left = u[0]
        for i in range(1, u.shape[0] - 1):
            here = u[i]
            u[i] = here - k[0] * here * (here - left) + 0.1 * (left - 2.0 * here + u[i + 1])
            left = here
    return np.sum(u * u)


def blown_round(u0, k, steps):
    u = u0.copy()
    for _ in range(steps):
        left = u[u.shape[0] - 1]
        for i in range(u.shape[0]):
            here = u[i]
            u[i] = here - k[i] * (here - left)
            left = here
    return np.sum(u * u * u)


def handed_to_the_next_step(u0, k, steps):
    u = u0.copy()
    left = 2.0 * k[0]
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            here = u[i]
            u[i] = 0.9 * here + k[1] * left * u[i + 1]
            left = here
    return np.sum(u * u) * left


def two_fields(u0, k, steps):
    u, w = u0.copy(), k.copy()
    for _ in range(steps):
        left = u[0]
        for i in range(1, u.shape[0] - 1):
            here = u[i]
            u[i] = here + 0.2 * (left - 2.0 * here + u[i + 1]) * w[i]
            w[i] = w[i] * 0.99 + 0.01 * here
            left = here
    return np.sum(u * u) + np.sum(w)


def each_row(u0, k, steps):
    u = np.outer(u0, u0)
    for _ in range(steps):
        for r in range(u.shape[0]):
            left = 0.0
            for i in range(u.shape[1] - 1):
                here = u[r, i]
                u[r, i] = here + k[r] * (left - 2.0 * here + u[r, i + 1])
                left = here
    return np.sum(u * u)


def halved(b0, k, steps):
    b = b0.copy()
    for m in range(1, min(steps + 2, b.shape[0])):
        for i in range(b.shape[0] - m):
            b[i] = (1.0 - k[0]) * b[i] + k[1] * b[i + 1] * b[i + 1]
    return b[0] * b[1]


def halved_points(b0, k, steps):
    b = np.empty((b0.shape[0], 2))
    total = 0.0
    for t in range(steps):
        s = k[0] + 0.1 * t
        for i in range(b.shape[0]):
            b[i, 0] = b0[i]
            b[i, 1] = k[i]
        for m in range(1, b.shape[0]):
            for i in range(b.shape[0] - m):
                b[i, 0] = (1.0 - s) * b[i, 0] + s * b[i + 1, 0]
                b[i, 1] = (1.0 - s) * b[i, 1] + s * b[i + 1, 1] * b[i, 0]
        total += b[0, 0] * b[0, 1]
    return total


def until_one_is_left(b0, k, steps):
    b = b0.copy()
    m = b.shape[0] - 1
    while m > steps:
        for i in range(m):
            b[i] = b[i] * k[i] + b[i + 1] * b[i]
        m -= 1
    return np.sum(b * b)


PROGRAMS = (
    diffused,
    steepened,
    blown_round,
    handed_to_the_next_step,
    two_fields,
    each_row,
    halved,
    halved_points,
    until_one_is_left,
)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 3), ids=lambda f: f.__name__)
def test_results_are_the_same_for_all_lengths(f):
    with interpreted():
        fast, plain = tapec.value_and_grad(f, wrt=(0, 1)), tapec.value_and_grad(f, wrt=(0, 1), opt_level=0)
        for n in (2, 3, 4, 5, 9):
            for steps in (0, 1, 3):
                args = np.linspace(-1.0, 2.0, n), np.linspace(0.1, 0.3, n), steps
                (value, found), (wanted, others) = fast(*args), plain(*args)
                np.testing.assert_allclose(value, wanted, rtol=1e-13)
                for one, other in zip(found, others, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 3), ids=lambda f: f.__name__)
def test_no_buffer_is_left(f):
    text = tapec.emit(f, wrt=(0, 1), signature="f8[::1], f8[::1], i8", opt_level=2)
    reverse = text[text.index("# reverse sweep") :]
    assert "_bar_kept" not in reverse
    assert "range(n - 2, 0, -1)" not in reverse


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", sampled(PROGRAMS, 1, default=3), ids=lambda f: f.__name__)
def test_compiled_loops_have_the_results_of_the_textbook_adjoint(f):
    fast = tapec.value_and_grad(f, wrt=(0, 1))
    with interpreted():
        plain = tapec.value_and_grad(f, wrt=(0, 1), opt_level=0)
    for n in (2, 3, 8, 19, 70):
        args = np.linspace(-1.0, 1.0, n), np.linspace(0.1, 0.3, n), 4
        value, found = fast(*args)
        with interpreted():
            wanted, others = plain(*args)
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-15)
        for one, other in zip(found, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
