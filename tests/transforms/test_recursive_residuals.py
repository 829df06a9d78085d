"""Recursive functions that are handed lists: what they keep comes back in order, whatever calls what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import typeof

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

X = np.random.default_rng(4).uniform(0.2, 0.9, 8)


def tree(x, n, s):
    if n == 0:
        return x * s
    y = np.sin(x) * s
    return tree(y, n - 1, s) * tree(y * 0.5 + 0.1, n - 1, s) + x


def of_tree(x):
    return tree(x[0], 4, x[1])


def quick(a, lo, hi):
    if lo >= hi:
        return
    p = a[(lo + hi) // 2]
    i, j = lo, hi
    while i <= j:
        while a[i] < p:
            i += 1
        while a[j] > p:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    quick(a, lo, j)
    quick(a, i, hi)


def sorted_in_place(x):
    a = x * x
    quick(a, 0, a.size - 1)
    total = 0.0
    for i in range(a.size):
        total += (i + 1) * a[i] * a[i]
    return total


def best(leaf, lo, hi, first, low, high):
    """Calls in a loop that is left early, by what they returned."""
    if hi - lo == 1:
        return leaf[lo] * leaf[lo]
    half = (hi - lo) // 2
    found = -10.0 if first else 10.0
    for k in range(2):
        v = best(leaf, lo + k * half, lo + (k + 1) * half, not first, low, high)
        if first:
            found = max(found, v)
            low = max(low, 0.9 * v)
        else:
            found = min(found, v)
            high = min(high, v)
        if low >= high:
            break
    return found * 1.1


def of_best(x):
    return best(x, 0, 8, True, -10.0, 10.0)


def levels(u, n):
    """An array of each call, changed by the calls below, and a view of what it is given."""
    if n < 2:
        u[0] *= u[0]
        return u[0]
    coarse = np.empty(n // 2)
    for i in range(n // 2):
        coarse[i] = 0.5 * u[2 * i] * u[2 * i + 1]
    s = levels(coarse, n // 2)
    half = u[: n // 2]
    for i in range(n // 2):
        half[i] += np.sin(coarse[i]) * s
    return s + levels(half, n // 2)


def of_levels(x):
    a = x.copy()
    return levels(a, 8) * a[0] * a[3]


def even(x, n, w):
    """A function that calls another one, and an array that nobody writes into while they run."""
    if n == 0:
        return x
    t = 0.0
    for i in range(2):
        t += odd(x * w[i], n - 1, w) * even(x * 0.9, n - 1, w)
    return t * w[n]


def odd(x, n, w):
    if n == 0:
        return 1.0 + x
    s = x
    while s < 1.5:
        s += 0.6 * odd(s * 0.5, n - 1, w) + 0.3
    return np.sin(s) * w[n] + odd(0.3 * x, n - 1, w)


def of_even(x):
    w = x * 1.0
    total = 0.0
    for i in range(2):
        total += even(w[i], 3, w) * w[2]
        w[1] = 0.5 * total
    return total


def after_calls(x, n):
    """Loops behind the calls keep what they need in buffers, and a `while` on a list."""
    if n == 0:
        return x
    a = after_calls(0.8 * x, n - 1)
    s, c = 0.1, 0
    while c < 2 and s < 3.0:
        c += 1
        b = after_calls(a * s + 0.1, n - 1)
        for i in range(n):
            s += 0.1 * np.sin(b * s) + 0.01 * i
    return s * a


def of_after_calls(x):
    return after_calls(x[0], 2) * x[1]


def merge(a, tmp):
    """Views of what it is given go on to its calls."""
    n = len(a)
    if n < 2:
        return
    m = n // 2
    merge(a[:m], tmp[:m])
    merge(a[m:], tmp[m:])
    i, j, k = 0, m, 0
    while k < n:
        if j >= n or (i < m and a[i] <= a[j]):
            tmp[k] = a[i] * 1.1
            i += 1
        else:
            tmp[k] = a[j] * a[j]
            j += 1
        k += 1
    a[:] = tmp


def of_halves(x):
    a = x * x
    merge(a, np.zeros(len(a)))
    return a[0] * a[7] + a[3]


def with_break(x, n):
    """A `while` that is left by its test or behind the call."""
    s = x
    while s < 1.5:
        s += 0.4 * np.cos(s)
        if n > 0:
            s += 0.3 * with_break(0.5 * s, n - 1)
        if s > 1.2:
            break
    return s * s


def of_with_break(x):
    return with_break(x[0], 3) * with_break(x[1], 2)


def called_for_nothing(x, w, n):
    """What the inner loop hands on is not needed again, nor what it calls with an array that only the way there has."""
    if n <= 0:
        return x
    s = x
    b = np.zeros(3)
    for i in range(n):
        for j in range(3):
            if np.sin(x) > 0.3:
                unread = called_for_nothing(0.5 + s, w, n - 1)
            else:
                s += w
        unread = called_for_nothing(x, b[0], n - 1)  # noqa: F841
    return s


def of_called_for_nothing(x):
    return called_for_nothing(x[0], x[1], 3) * x[2] + called_for_nothing(0.1 * x[0], x[1], 2)


PROGRAMS = (of_tree, sorted_in_place, of_best, of_even, of_after_calls, of_levels, of_halves, of_called_for_nothing)


@pytest.mark.parametrize("f", sampled([*PROGRAMS, of_with_break], 9), ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any]):
    check(f, (X,), (0,), forward_level=0)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_call_runs_again(f: Callable[..., Any]):
    source = tapec.value_and_grad(f).source(typeof(X))
    code = "\n".join(line.partition("#")[0] for line in source.splitlines())
    assert "_reverse(" in code
    assert "_adjoint(" not in code


def test_a_loop_that_is_left_before_its_last_call_runs_again():
    """Or behind it, in another way than by its test: what the last iteration began with would be on no list."""
    assert "with_break_adjoint(" in tapec.value_and_grad(of_with_break).source(typeof(X))
    why = tapec.explain(of_with_break, signature="f8[::1]")
    assert "its adjoint runs `with_break` again: a `break` may come before the last call in an iteration" in str(why)


def test_explained():
    assert "`tree` puts what its pullback takes on lists" in str(tapec.explain(of_tree, signature="f8[::1]"))


def test_every_call_is_made_once():
    """As many calls as the function itself makes, and as many of its pullback."""
    source = tapec.value_and_grad(of_tree).source(typeof(X))
    assert source.count("tree_forward(") == 4  # two inside, one outside, and its definition
    assert source.count("tree_reverse(") == 4


def test_by_a_pullback_and_in_second_derivatives():
    with interpreted():
        value, pullback = tapec.vjp(of_tree, X)
        plain = tapec.value_and_grad(of_tree, opt_level=0)(X)
        assert np.isclose(value, plain[0], rtol=1e-12)
        np.testing.assert_allclose(pullback(2.0)[0], 2.0 * plain[1], rtol=1e-12)
        np.testing.assert_allclose(
            tapec.hessian(of_tree)(X), tapec.hessian(of_tree, opt_level=0)(X), rtol=1e-9, atol=1e-12
        )


def test_threads_share_no_lists():
    """Lists that several threads fill would be in no order."""
    source = tapec.value_and_grad(of_tree, parallel=True).source(typeof(X))
    assert "_forward(" not in source


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("level", [0, 2])
def test_a_recursive_function_may_call_another_one(level: int):
    """Which stands before it in the generated source, whatever its name."""

    def a(x, n):
        return x if n == 0 else np.sin(a(x, n - 1) * later(x, n))

    def later(x, n):
        return 1.1 * x if n == 0 else x * later(0.5 * x, n - 1)

    def f(x):
        return a(x[0], 3) * x[1]

    value, gradient = tapec.value_and_grad(f, opt_level=level)(X)
    assert np.isclose(value, f(X), rtol=1e-12)
    ahead = X + np.array([1e-6, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(gradient[0], (f(ahead) - f(X)) / 1e-6, rtol=1e-4)


@pytest.mark.compiled
def test_arrays_of_booleans_are_passed_on():
    def chosen(x, mask, n):
        return 0.0 if n < 0 else chosen(x, mask, n - 1) * x[n] + (x[n] if mask[n] else x[0])

    def f(x, mask):
        return chosen(x, mask, 4)

    mask = np.array([True, False, True, False, True])
    value, gradient = tapec.value_and_grad(f)(X, mask)
    assert np.isclose(value, f(X, mask), rtol=1e-12)
    assert gradient.any()


def test_a_pullback_of_the_recursive_function_itself():
    """Its two functions and those that are handed lists have other names."""
    with interpreted():
        value, pullback = tapec.vjp(tree, 0.7, 3, 1.2)
        _, plain = tapec.value_and_grad(tree, (0, 2), opt_level=0)(0.7, 3, 1.2)
        assert np.isclose(value, tree(0.7, 3, 1.2), rtol=1e-12)
        found = pullback(2.0)
        np.testing.assert_allclose((found[0], found[2]), (2.0 * plain[0], 2.0 * plain[1]), rtol=1e-12)
