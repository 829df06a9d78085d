"""Arrays that are copied for the reverse sweep: where one copy takes the place of many values, and is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted


def two_fields(x, steps):
    """Two fields of a grid, whose buffers change places."""
    n = x.shape[0]
    u, v = x.copy(), 0.5 * x
    u_new, v_new = np.zeros_like(x), np.zeros_like(x)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, x.shape[1] - 1):
                u_new[i, j] = u[i, j] + 0.1 * v[i, j] * (u[i + 1, j] - u[i - 1, j])
                v_new[i, j] = v[i, j] - 0.2 * u[i, j] * (v[i, j + 1] - v[i, j - 1]) * v[i, j]
        u, u_new = u_new, u
        v, v_new = v_new, v
    return (u * u).sum() + (u * v).sum()


def in_place(x, steps):
    """One array, which a second nest overwrites."""
    n, m = x.shape
    u = x.copy()
    change = np.empty((n, m))
    for _ in range(steps):
        for i in range(n - 1):
            for j in range(m - 1):
                change[i, j] = u[i, j] * u[i + 1, j] * u[i, j + 1] - u[i, j] ** 3
        for i in range(n - 1):
            for j in range(m - 1):
                u[i, j] += 0.1 * change[i, j]
    return u[0, 0] * u[1, 1] + u.sum()


def behind_a_branch(x, steps):
    """The nest runs in some iterations only, and counts its rows down."""
    n, m = x.shape
    u, new = x.copy(), 0.5 * x
    for step in range(2, 2 + steps):
        if step % 3 != 1:
            for i in range(n - 2, 0, -1):
                for j in range(m):
                    new[i, j] = u[i, j] * (u[i + 1, j] - u[i - 1, j]) + u[i - 1, j] * u[i + 1, j]
        u, new = new, u
    return (u**2).sum()


def overwritten(x, steps):
    """The nest stores into what it reads: of half of it, a copy before it would be of another state."""
    n, m = x.shape
    u = x.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = u[i, j] * u[i + 1, j] * u[i, j + 1] - u[i - 1, j] * u[i, j] * u[i, j - 1]
    return u.sum()


def downward(x, steps):
    """The same, with rows counted down: the row above is the one that is stored later."""
    n, m = x.shape
    u = x.copy()
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            for j in range(1, m - 1):
                u[i, j] = u[i, j] * u[i - 1, j] * u[i, j + 1] - 0.1 * u[i + 1, j] * u[i, j] * u[i, j - 1]
    return u.sum()


def of_an_iteration(x, steps):
    """A scratch array that each iteration makes, or might as well make, and branches on it."""
    n, m = x.shape
    u = x.copy()
    old = np.empty((n, m))
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                old[i, j] = u[i, j]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                if old[i, j] > 0.8:
                    slope = old[i, j] * (old[i, j] - old[i - 1, j])
                else:
                    slope = old[i, j] * (old[i + 1, j] - old[i, j])
                u[i, j] = old[i, j] - 0.1 * slope * (old[i, j + 1] - 2.0 * old[i, j] + old[i, j - 1])
    return (u * u).sum()


def triangular_product(x, steps):
    """Products in place: of the rows below, which are stored later, and of those above, which are final."""
    n, m = x.shape
    u = x.copy()
    for i in range(n):
        for j in range(m):
            for k in range(i + 1, n):
                u[i, j] += x[k, i] * u[k, j] ** 2
            u[i, j] *= 0.5 * steps
    for i in range(n):
        for j in range(m):
            for k in range(i):
                u[i, j] += x[k, i] * u[k, j] ** 2
    return (u * u).sum()


def one_array_under_two_names(x, steps):
    n, m = x.shape
    u = x.copy()
    rows = u[1:]
    for _ in range(steps):
        for i in range(n - 1):
            for j in range(m - 1):
                rows[i, j] = 0.5 * u[i, j] * u[i, j + 1] * u[i + 1, j + 1]
    return (u * u).sum()


def other_extents(x, steps):
    """The buffers that change places are not of one size."""
    n, m = x.shape
    u, new = x.copy(), np.zeros((n + 1, m + 2))
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = u[i, j] * (u[i + 1, j] - u[i - 1, j]) + u[i, j + 1] * u[i, j - 1]
        u, new = new, u
    return (u[:n, :m] ** 2).sum()


def a_corner_of_a_table(x, steps):
    """Loops over three elements are no reason to copy an array of any size."""
    table = x.copy()
    total = 0.0
    for t in range(steps):
        for i in range(2):
            for j in range(3):
                total += table[i, j] * table[i + 1, j] * table[i, j + 1]
        table[t % 2, 1] *= 1.1
    return total


def made_anew(x, steps):
    """Each iteration makes the array that it stores into, and hands it on; branches choose the side."""
    n, m = x.shape
    u = x.copy()
    for _ in range(steps):
        new = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                if x[i, j] > 1.0:
                    new[i, j] = u[i, j] - 0.1 * x[i, j] * (u[i, j] - u[i - 1, j]) * u[i, j - 1]
                else:
                    new[i, j] = u[i, j] + 0.1 * x[i, j] * (u[i + 1, j] - u[i, j]) * u[i, j + 1]
        u = new
    return (u * u).sum()


def taken_at_once(x, steps):
    """What an iteration makes is what it reads, in some iterations."""
    n, m = x.shape
    u = x.copy()
    for t in range(steps):
        new = 0.5 * u
        if t % 2 == 1:
            u = new
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = u[i, j] - 0.1 * x[i, j] * (u[i, j] - u[i - 1, j]) * u[i, j - 1] * u[i + 1, j]
        u = new
    return (u * u).sum()


def centres(x, steps):
    """Distances of all rows from centres, which move in each step: a difference per coordinate follows from both."""
    n, m = x.shape
    c = x[:3].copy()
    total = 0.0
    for _ in range(steps):
        near = np.zeros((n, 3))
        for i in range(n):
            for k in range(3):
                for j in range(m):
                    d = x[i, j] - c[k, j]
                    near[i, k] += d * d * d * d
        total += np.sum(np.sqrt(1.0 + near))
        moved = np.zeros((3, m))
        for i in range(n):
            for k in range(3):
                for j in range(m):
                    moved[k, j] += x[i, j] / (1.0 + near[i, k])
        c = moved
    return total


def power_method(x, steps):
    """Vectors that change places until they are good enough, rows of a matrix that changes afterwards."""
    n = x.shape[0]
    a = x.copy()
    total = 0.0
    for e in range(steps):
        u, v = np.ones(n), np.empty(n)
        size = new = 0.0
        for _ in range(6):
            for i in range(n):
                row = a[i]
                t = 0.0
                for j in range(n):
                    t += row[j] * u[j]
                v[i] = t
            new = np.sqrt((v * v).sum())
            for i in range(n):
                v[i] /= new
            u, v = v, u
            if abs(new - size) < 1e-3 * new:
                break
            size = new
        for i in range(n):
            for j in range(n):
                a[i, j] -= 0.1 * new * u[i] * u[j]
        total += new * (e + 1.0)
    return total


def both_used_behind(x, steps):
    """After an iteration that leaves the loop, two names stand for one array."""
    n = x.shape[0]
    u, v = x[:, 0].copy(), x[:, 1].copy()
    total = 0.0
    for k in range(steps):
        for i in range(n):
            t = 0.0
            for j in range(n):
                t += x[i, j] * u[j]
            v[i] = 0.3 * t
        if v[0] > 1.2:
            u = v
            break
        u, v = v, u
    for i in range(n):
        for j in range(n):
            v[j] *= 1.0 + 0.01 * u[i] * u[j]
        total += v[i] * u[i]
    return total


COPIED = (made_anew, two_fields, in_place, behind_a_branch, overwritten, downward, of_an_iteration)
ONCE = (triangular_product, centres)
SWAPPED = (power_method, both_used_behind)
NOT_COPIED = (taken_at_once, one_array_under_two_names, other_extents, a_corner_of_a_table)


@pytest.mark.slow
@pytest.mark.parametrize("f", (*COPIED, *ONCE, *SWAPPED, *NOT_COPIED), ids=lambda f: f.__name__)
def test_reverse_is_forward(f: Callable[..., Any]):
    rng = np.random.default_rng(5)
    x, direction = rng.uniform(0.5, 1.5, (4, 5)), rng.standard_normal((4, 5))
    with interpreted():
        for steps in (0, 1, 4):
            _, tangent = tapec.jvp(f, (x, steps), (direction, None), opt_level=0)
            for level in (1, 2):
                value, x_bar = tapec.value_and_grad(f, opt_level=level)(x, steps)
                assert value == pytest.approx(f(x, steps), rel=1e-12)
                assert np.sum(x_bar * direction) == pytest.approx(tangent, rel=1e-10)


def row_copies(f: Callable[..., Any]) -> int:
    """The number of arrays that are copied to a row of a buffer."""
    forward, _, _ = tapec.emit(f, signature="f8[:,::1], i8", opt_level=1).partition("# reverse sweep")
    return len(re.findall(r"_kept(?:_\d+)? = \w+_store(?:_\d+)?\[", forward))


@pytest.mark.parametrize(("f", "arrays"), [(f, 2 if f is two_fields else 1) for f in COPIED])
def test_values_of_a_grid_come_from_copies(f: Callable[..., Any], arrays: int):
    assert row_copies(f) == arrays


def test_elements_that_a_product_in_place_reads_again_and_again_come_from_one_copy():
    forward, _, _ = tapec.emit(triangular_product, signature="f8[:,::1], i8", opt_level=1).partition("# reverse sweep")
    assert len(re.findall(r"_kept = \w+\.copy\(\)", forward)) == 1


def test_what_follows_from_such_elements_is_not_kept():
    forward, _, _ = tapec.emit(centres, signature="f8[:,::1], i8", opt_level=1).partition("# reverse sweep")
    kept = [line for line in forward.splitlines() if "d_store" in line]
    assert len(re.findall(r"c\w* = c(?:_\d+)?\.copy\(\)|c\w*_kept = c\w*_store", forward)) == 1 and not kept, forward


def test_vectors_that_change_places_and_rows_come_from_copies():
    forward, _, _ = tapec.emit(power_method, signature="f8[:,::1], i8", opt_level=1).partition("# reverse sweep")
    assert row_copies(power_method) == 2
    # nothing is kept for each element of the matrix in each of the inner iterations
    assert not re.search(r"np\.empty\(\(\w+, 6, \w+, \w+\)\)", forward)


@pytest.mark.parametrize("f", NOT_COPIED, ids=lambda f: f.__name__)
def test_no_copy_where_it_would_be_another_state_or_too_large(f: Callable[..., Any]):
    assert row_copies(f) == 0


@pytest.mark.slow
@pytest.mark.parametrize("f", COPIED, ids=lambda f: f.__name__)
def test_pullbacks_and_second_derivatives(f: Callable[..., Any]):
    rng = np.random.default_rng(6)
    x, direction = rng.uniform(0.5, 1.5, (4, 5)), rng.standard_normal((4, 5))
    with interpreted():
        wanted = tapec.grad(f)(x, 3)
        _, pull = tapec.vjp(f, x, 3)
        for _ in range(2):
            np.testing.assert_allclose(pull(1.0)[0], wanted, rtol=1e-12)
        step = 1e-5
        ahead, behind = (tapec.grad(f)(x + sign * step * direction, 3) for sign in (1.0, -1.0))
        product = tapec.hvp(f)(x, 3, direction)
        np.testing.assert_allclose(product, (ahead - behind) / (2.0 * step), rtol=1e-6, atol=1e-6)


def pairs_of_rows(x, begin, end):
    """Integers tell which few elements an iteration reads; it writes one."""
    total = 0.0
    for r in range(begin.shape[0]):
        a, b = begin[r], end[r]
        for i in range(a, b):
            for j in range(i + 1, b):
                total += x[i] * x[j]
        x[a] += x[b - 1] * 0.1
    return total


def band(x, begin, end):
    """Three neighbours, each with three others."""
    total = 0.0
    for r in range(begin.shape[0]):
        for i in range(r, r + 3):
            for j in range(max(i - 1, 0), min(i + 2, x.shape[0])):
                total += x[i] * x[j] * x[r]
        x[r] *= 1.1 * x[end[r]]
    return total


@pytest.mark.slow
@pytest.mark.parametrize("f", [pairs_of_rows, band], ids=lambda f: f.__name__)
def test_no_copy_of_what_an_iteration_reads_a_part_of(f: Callable[..., Any]):
    begin = np.array([3, 0, 2, 3, 1])
    args = np.random.default_rng(3).uniform(0.5, 1.5, 8), begin, begin + 4
    forward, _, _ = tapec.emit(f, signature="f8[::1], i8[::1], i8[::1]", opt_level=2).partition("# reverse sweep")
    assert not re.findall(r"_kept(?:_\d+)? = \w+_store", forward)
    with interpreted():
        check(f, args, forward_level=0)
