"""Recursive functions that write into the arrays they are given."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec
from tapec.errors import ArgumentOverlap
from tests.oracles import check
from tests.sampling import sampled


def quick(a, lo, hi):
    if lo < hi:
        p = a[hi]
        i = lo
        for j in range(lo, hi):
            if a[j] < p:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[hi] = a[hi], a[i]
        quick(a, lo, i - 1)
        quick(a, i + 1, hi)


def median(a):
    b = a.copy()
    quick(b, 0, len(b) - 1)
    return b[len(b) // 2] * b[0]


def fill(x, out, k):
    if k >= len(x):
        return 0.0
    out[k] = x[k] ** 2 + (out[k - 1] if k > 0 else 0.0)
    return out[k] * 1.5 + fill(x, out, k + 1)


def filled(x):
    out = np.zeros(len(x))
    s = fill(x, out, 0)
    return s + np.sum(out**2)


def merge(a, tmp):
    n = len(a)
    if n < 2:
        return
    m = n // 2
    merge(a[:m], tmp[:m])
    merge(a[m:], tmp[m:])
    i = 0
    j = m
    k = 0
    while k < n:
        if j >= n or (i < m and a[i] <= a[j]):
            tmp[k] = a[i]
            i += 1
        else:
            tmp[k] = a[j]
            j += 1
        k += 1
    for q in range(n):
        a[q] = tmp[q]


def merge_sorted(x, w):
    a = x * 2.0
    t = np.empty_like(a)
    merge(a, t)
    return np.sum(a * w)


def fft_in_place(re, im, ore, oim, n, s):
    if n == 1:
        ore[0] = re[0]
        oim[0] = im[0]
        return
    h = n // 2
    fft_in_place(re, im, ore[:h], oim[:h], h, 2 * s)
    fft_in_place(re[s:], im[s:], ore[h:], oim[h:], h, 2 * s)
    for k in range(h):
        c = np.cos(-2 * np.pi * k / n)
        d = np.sin(-2 * np.pi * k / n)
        tr = c * ore[k + h] - d * oim[k + h]
        ti = c * oim[k + h] + d * ore[k + h]
        ar = ore[k]
        ai = oim[k]
        ore[k] = ar + tr
        oim[k] = ai + ti
        ore[k + h] = ar - tr
        oim[k + h] = ai - ti


def spectrum(x):
    n = len(x)
    im = np.zeros(n)
    a = np.zeros(n)
    b = np.zeros(n)
    fft_in_place(x, im, a, b, n, 1)
    return np.sum(a**3 + np.sin(b) * a)


def argument_written(x, k):
    # the argument itself is written in recursion, used before and after, in a loop
    def rec(y, k, w):
        if k == 0:
            return
        y[0] = y[0] * w + y[1] ** 2
        rec(y[1:] if len(y) > 2 else y, k - 1, w * 1.1)
        y[1] = y[1] * y[0]

    s = 0.0
    for i in range(3):
        s += x[0] * x[1]
        rec(x, k, 0.5 + i)
        s += np.sin(x[1])
    return s


def even(y, n):
    if n == 0:
        return
    y[0] = y[0] * y[1]
    odd(y, n - 1)


def odd(y, n):
    if n == 0:
        return
    y[1] = np.sin(y[0]) + y[1]
    even(y, n - 1)


def mutual(x):
    y = x.copy()
    even(y, 5)
    return y[0] + y[1] ** 2


def overlapping(a, b, k):
    if k == 0:
        return
    a[0] = b[0] * a[0]
    overlapping(a, b, k - 1)


def use_overlapping(x):
    y = x.copy()
    overlapping(y, y[:2], 2)
    return y[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "sizes"),
    sampled([(median, (7,)), (filled, (5,)), (merge_sorted, (9, 9)), (spectrum, (8,)), (mutual, (2,))], 5),
)
def test_reverse_agrees_with_forward_and_differences(f, sizes):
    rng = np.random.default_rng(1)
    check(f, tuple(rng.normal(size=size) for size in sizes))


@pytest.mark.slow
def test_an_argument_written_by_recursion_within_a_loop():
    made = functools.cache(tapec.value_and_grad)
    for k in (0, 1, 3):
        check(
            argument_written, (np.array([0.3, 0.5, 0.2, 0.4]), k), compiled="reverse", gradient=made, forward=k == 1
        )


@pytest.mark.slow
def test_sharing_memory_with_what_is_written_is_an_error():
    with pytest.raises(ArgumentOverlap, match="share memory"):
        tapec.grad(use_overlapping)(np.arange(1.0, 4.0))


@pytest.mark.slow
@pytest.mark.generated
@pytest.mark.parametrize(("f", "size"), [(filled, 4), (mutual, 2)])
def test_second_derivatives(f, size):
    x = np.random.default_rng(3).uniform(0.2, 0.8, size)
    step = 1e-5
    moved = np.eye(size) * step
    slope = tapec.grad(f)
    numeric = np.array([(slope(x + h) - slope(x - h)) / (2 * step) for h in moved])
    np.testing.assert_allclose(tapec.hessian(f)(x), numeric, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(tapec.grad(lambda v: tapec.grad(f)(v).sum())(x), numeric.sum(0), rtol=1e-6, atol=1e-7)
