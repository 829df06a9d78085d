"""Arrays that iterations make and drop again change places."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.dead_buffer_reuse import reuse_dead_buffers
from tests.optimise.reading import check
from tests.oracles import interpreted

STEPS = """
def f(x, n, m, c):
    a = np.empty(n)
    a_1 = np.empty(n)
    a_old = a
    a_now = a_1
    for k in range(m):
        a_new = np.zeros(n)
        z = a_now[0]
        z_1 = a_old[0]
        z_2 = z - z_1
        a_new[0] = z_2
        a_old = a_now
        a_now = a_new
    y = a_now[0]
    return y
"""


def test_an_iteration_writes_into_the_array_that_the_one_before_has_dropped():
    check(
        reuse_dead_buffers,
        before=STEPS,
        after="""
        def f(x, n, m, c):
            a = np.empty(n)
            a_1 = np.empty(n)
            a_old = a
            a_now = a_1
            a_new = np.empty(n)
            for k in range(m):
                t = 0.0
                for i in range(n):
                    a_new[i] = t
                z = a_now[0]
                z_1 = a_old[0]
                z_2 = z - z_1
                a_new[0] = z_2
                a_old, a_now, a_new = a_now, a_new, a_old
            y = a_now[0]
            return y
        """,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the caller gets one of them, or had it
        ("return y", "return a_now"),
        ("a_old = a\n", "a_old = x\n"),
        # both begin as one array, or one is of another size, or of one that changes
        ("a_now = a_1\n", "a_now = a\n"),
        ("a_1 = np.empty(n)", "a_1 = np.empty(k)"),
        ("        a_old = a_now\n", "        n += 1\n        a_old = a_now\n"),
        # the array is read under the name that it had at first, in the loop or behind it, or under another one
        ("z_1 = a_old[0]", "z_1 = a[0]"),
        ("y = a_now[0]", "y = a[0]"),
        ("y = a_now[0]", "y = a_new[0]"),
        ("        a_old = a_now\n", "        a_2 = a_now\n        a_old = a_now\n"),
        # it is handed on only sometimes, or not dropped
        ("        a_now = a_new", "        if c:\n            a_now = a_new"),
        ("        a_old = a_now\n", "        if c:\n            break\n        a_old = a_now\n"),
        # the next iteration gets no other
        ("        a_old = a_now\n", ""),
    ],
)
def test_arrays_that_may_be_needed_stay(old: str, new: str):
    assert STEPS.count(old) == 1
    text = STEPS.replace(old, new)
    check(reuse_dead_buffers, text, text)


def leapfrog(u0, k, steps):
    n = u0.shape[0]
    u, old = u0.copy(), 0.5 * u0
    for _ in range(steps):
        new = np.zeros(n)
        for i in range(1, n - 1):
            new[i] = 2.0 * u[i] - old[i] + k[i] * u[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        old = u
        u = new
    return np.sum(u * u) + np.sum(old)


def three_levels(u0, k, steps):
    n = u0.shape[0]
    u, old, older = u0.copy(), np.zeros(n), 0.1 * u0
    for _ in range(steps):
        new = u.copy()
        for i in range(n):
            new[i] += 0.1 * older[i] * u[i] - k[i] * old[i]
        older, old, u = old, u, new
    return np.sum(u * older) + np.sum(old * old)


def plane(u0, k, steps):
    n, m = u0.shape[0], k.shape[0]
    u, old = np.outer(u0, k), np.zeros((n, m))
    for _ in range(steps):
        new = np.zeros((n, m))
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = u[i, j] ** 2 - old[i, j] + 0.2 * (u[i - 1, j] + u[i, j + 1] - 2.0 * u[i, j])
        old = u
        u = new
    return np.sum(u * u) + np.sum(old)


PROGRAMS = (leapfrog, three_levels, plane)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_the_same_for_all_lengths(f):
    with interpreted():
        fast, plain = tapec.value_and_grad(f, wrt=(0, 1)), tapec.value_and_grad(f, wrt=(0, 1), opt_level=0)
        for n in (1, 2, 3, 6):
            for steps in (0, 1, 2, 3, 5):
                args = np.linspace(-1.0, 2.0, n), np.linspace(0.1, 0.3, n), steps
                (value, found), (wanted, others) = fast(*args), plain(*args)
                np.testing.assert_allclose(value, wanted, rtol=1e-13)
                for one, other in zip(found, others, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def single(u0, steps):
    n = u0.shape[0]
    u, old = u0.copy(), u0.copy()
    for _ in range(steps):
        new = np.zeros(n, dtype=np.float32)
        for i in range(1, n):
            new[i] = u[i] * old[i - 1]
        old = u
        u = new
    return np.sum(u)


def test_other_numbers_are_set_to_zero_too():
    with interpreted():
        x = np.linspace(0.5, 1.0, 5).astype(np.float32)
        fast, plain = tapec.grad(single)(x, 3), tapec.grad(single, opt_level=0)(x, 3)
    assert "_stack" not in tapec.emit(single, signature="f4[::1], i8", opt_level=2)
    np.testing.assert_allclose(fast, plain, rtol=1e-5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_nothing_goes_on_a_list(f):
    assert "_stack" not in tapec.emit(f, wrt=(0, 1), signature="f8[::1], f8[::1], i8", opt_level=2)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_loops_have_the_results_of_the_textbook_adjoint(f):
    fast = tapec.value_and_grad(f, wrt=(0, 1))
    with interpreted():
        plain = tapec.value_and_grad(f, wrt=(0, 1), opt_level=0)
    for n in (2, 3, 19):
        args = np.linspace(-1.0, 1.0, n), np.linspace(0.1, 0.3, n), 4
        value, found = fast(*args)
        with interpreted():
            wanted, others = plain(*args)
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-15)
        for one, other in zip(found, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
