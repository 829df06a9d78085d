"""Adjoints of stencils that overwrite their array count upward."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.upward import count_upward
from tests.optimise.reading import check
from tests.oracles import interpreted

LOOP = """
def f(a, a_1, x, n, j, c):
    s = 0.0
    y = x
    for i in range(n, 0, -1):
{trip}
        s_1 = s + z
        y = {handed}
        s = s_1
    return a, s, y
"""


def loop(trip: str, handed: str = "z") -> str:
    return LOOP.format(trip="\n".join(f"        {line}" for line in trip.splitlines()), handed=handed)


def test_what_a_trip_hands_down_is_computed_again_by_the_next_one():
    check(
        count_upward,
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
    ("trip", "handed"),
    [
        # what is handed on follows from what was handed on
        ("z_1 = a[i]\nz = x * y\nz_3 = z + z_1\na[i] = z_3", "z"),
        # ... from an element that another trip sets, ...
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
        # trips meet in another array
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na_1[j] = z\na[i] = z_3", "z"),
        # ways
        ("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\nif c:\n    a[i] = z_3", "z"),
        ("z_1 = a[i]\nz = x * z_1\nif c:\n    raise ValueError()\nz_3 = y + z_1\na[i] = z_3", "z"),
        # what is handed on is read after it was set for the next trip
        ("z_1 = a[i]\nz = x * z_1\ny = z\nz_3 = y + z_1\na[i] = z_3", "z"),
    ],
)
def test_loops_go_on_downward_where_trips_share_more(trip: str, handed: str):
    text = loop(trip, handed)
    check(count_upward, text, text)


def test_a_loop_whose_last_value_is_read_goes_on_downward():
    text = loop("z_1 = a[i]\nz = x * z_1\nz_3 = y + z_1\na[i] = z_3").replace("return a,", "return z_3,")
    check(count_upward, text, text)


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


PROGRAMS = (diffused, steepened, blown_round, handed_to_the_next_step, two_fields, each_row)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
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


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_buffer_is_left(f):
    text = tapec.emit(f, wrt=(0, 1), signature="f8[::1], f8[::1], i8")
    reverse = text[text.index("# reverse sweep") :]
    assert "_bar_kept" not in reverse
    assert "range(n - 2, 0, -1)" not in reverse


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_loops_have_the_results_of_the_textbook_adjoint(f):
    fast, plain = tapec.value_and_grad(f, wrt=(0, 1)), tapec.value_and_grad(f, wrt=(0, 1), opt_level=0)
    for n in (2, 3, 8, 19, 70):
        args = np.linspace(-1.0, 1.0, n), np.linspace(0.1, 0.3, n), 4
        (value, found), (wanted, others) = fast(*args), plain(*args)
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        for one, other in zip(found, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
