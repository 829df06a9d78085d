"""Buffers of iterations that are parts of larger arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tapec.optimise import costs
from tests.oracles import check, interpreted
from tests.sampling import sampled

X = np.random.default_rng(5).uniform(0.2, 0.9, 6)


def steps(x, n):
    """Adaptive steps, each of which keeps buffers of one extent."""
    y, t, h = x.copy(), 0.0, 0.3
    k1, k2 = np.empty(n), np.empty(n)
    while t < 2.0:
        for i in range(n):
            k1[i] = np.sin(y[i]) * y[(i + 1) % n]
        for i in range(n):
            k2[i] = np.cos(y[i] + h * k1[i]) - y[i]
        if abs(k2[0]) > 0.9:
            h *= 0.5
        else:
            for i in range(n):
                y[i] += h * 0.5 * (k1[i] + k2[i])
            t += h
            h *= 1.2
    return y[0] * y[n - 1]


def merges(x, n):
    """Buffers of other extents in each iteration, of two kinds of numbers."""
    a, b = x * x, np.empty(x.shape[0])
    n, width = x.shape[0], 1
    while width < n:
        i = 0
        while i < n:
            mid, end = min(i + width, n), min(i + 2 * width, n)
            left, right = i, mid
            for k in range(i, end):
                if left < mid and (right >= end or a[left] <= a[right]):
                    b[k] = a[left] * 1.1
                    left += 1
                else:
                    b[k] = a[right] * a[right]
                    right += 1
            i += 2 * width
        a, b = b, a
        width *= 2
    total = 0.0
    for i in range(n):
        total += a[i] * x[i]
    return total


def some_empty(x, n):
    """Loops without iterations between others, also in the first iteration."""
    s, c = x[0], 0
    while c < 7:
        m = (c * c) % 4
        for i in range(m):
            s = np.sin(s * x[i]) + 0.1
        c += 1
    return s


def in_each_iteration(x, n):
    """A loop around, whose iterations are reversed as soon as they ran."""
    total = 0.0
    for r in range(3):
        s, c = x[r], 0
        while s < 2.0 and c < 5:
            for i in range(n - r):
                s = s * 1.1 + 0.1 * np.sin(s * x[i])
            c += 1
        total += s * s
    return total


PROGRAMS = (steps, merges, some_empty, in_each_iteration)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("room", sampled([20, 0, 3, 2048], 4))
def test_derivatives(f: Callable[..., Any], room: int, monkeypatch: pytest.MonkeyPatch):
    """Whatever fits into a chunk: nothing, some iterations, all of them."""
    monkeypatch.setattr(costs, "CHUNK_ELEMENTS", room)
    with interpreted():
        check(f, (X, 6), (0,), forward_level=0)


@pytest.mark.parametrize("f", [steps, merges, some_empty], ids=lambda f: f.__name__)
def test_buffers_of_iterations_are_parts_of_chunks(f: Callable[..., Any]):
    source = tapec.emit(f, signature="f8[::1], i8", opt_level=2)
    assert "= chunk[start:" in source
    assert "store_stack.append(chunk" in source


def test_buffers_of_one_extent_have_one_place():
    source = tapec.emit(merges, signature="f8[::1], i8", opt_level=2)
    assert source.count("chunk") > 6
    assert len(set(re.findall(r"chunk\w* = np.empty\(longest", source))) > 1
    assert len(set(re.findall(r"= chunk\w*\[max\((\w+), 0\):", source))) == 1


@pytest.mark.slow
def test_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(costs, "CHUNK_ELEMENTS", 16)
    for f in (steps, merges):
        value, gradient = tapec.value_and_grad(f, cache=False)(X, 6)
        with interpreted():
            plain = tapec.value_and_grad(f, opt_level=0)(X, 6)
        np.testing.assert_allclose(value, plain[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, plain[1], rtol=1e-10, atol=1e-13)


def test_explained():
    why = str(tapec.explain(steps, signature="f8[::1], i8"))
    line = steps.__code__.co_firstlineno + 7
    assert why.count(f"line {line}: kept in parts of larger arrays") == 1
