"""Generators of compiled functions: the body of the loop that takes an item stands at each `yield`."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedSyntax
from tests.oracles import check

X = np.array([0.7, 1.3, 2.1, 0.4])


def scaled(x):
    for i in range(len(x)):
        yield x[i] * i


def growing(x):
    a = x[0]
    while a < 10:
        a = a * 1.5 + x[1]
        yield a
        a = a + 0.1


def endless(x):
    k = 0
    while True:
        yield x[k % 4] * k
        k += 1


def pairs(x):
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                yield i, x[i] * x[j]
            else:
                yield j, x[i] - x[j]


def chained(x):
    yield from scaled(x)
    yield x[0] ** 3
    yield from scaled(x * 2)


def backwards(x, n):
    if n > 0:
        yield x[n]
        yield from backwards(x, n - 1)


def waves(x):
    y = x
    for k in range(3):
        y = np.sin(y) * x[k]
        yield y


def left_early(x):
    product = 1.0
    for k, v in enumerate(x):
        for w in growing(x * v):
            if w > 5:
                break
            product = product * w + k
    return product


def an_endless_one(x):
    s = x[0]
    for v in endless(x):
        if v < 0.5:
            continue
        s = s * 0.5 + v
        if s > 4:
            break
    return s * s


def scattered(x):
    out = np.zeros(4)
    for i, v in pairs(x):
        out[i] += v
    return np.sum(out**2)


def of_other_generators(x):
    total, last = 0.0, 1.0
    for v in chained(x):
        total += v * last
        last = v
    for v in backwards(x, 3):
        total = total * v + 1
    return total + last


def arrays(x):
    total = np.zeros(4)
    for y in waves(x):
        total = total + y * y
    return np.sum(total)


def kept(x):
    total, items = 0.0, []
    for v in scaled(x):
        items.append(v)
        total += len(items) * v
    return total * items[2]


def all_at_once(x):
    values = np.array(list(scaled(x)))
    return np.sum(values**2) + sum(growing(x)) * max(scaled(x)) + sum([v * v for v in scaled(x)])


def local(x):
    def large():
        for v in x:
            if v > 1:
                yield v**2

    total = 0.0
    for v in large():
        total = total + v
    return total


def tried(x):
    def signed(n):
        k = 0
        while k < n:
            try:
                if x[k] > 2:
                    raise ValueError
                yield x[k]
            except ValueError:
                yield -x[k]
            k += 1

    total = 1.0
    for v in signed(4):
        for w in signed(2):
            try:
                if v < 0.5:
                    raise KeyError
                total = total + v * w
            except KeyError:
                total = total - v
            if total > 8:
                break
    return total


def left_through_a_finally(x):
    def steps():
        y = x[0]
        try:
            for k in range(3):
                yield y * k
            return
        finally:
            y = 0.0

    total = 0.0
    for v in steps():
        total += v
    return total


FUNCTIONS = [tried, left_early, an_endless_one, scattered, of_other_generators, arrays, kept, all_at_once, local]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_loops_over_generators(function):
    check(function, (X,), compiled="")


def test_second_derivatives():
    hessian = tapec.hessian(scattered)(X)
    gradient = tapec.grad(scattered)
    rows = [(gradient(X + step) - gradient(X - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(hessian, rows, rtol=1e-6, atol=1e-6)


def one_by_one(x):
    items = growing(x)
    return next(items) * next(items)


def returned(x):
    for v in endless(x):
        if v > 2:
            return v * v


def read_later(x):
    for v in scaled(x):
        z = v
    return z


def read_by_the_generator(x):
    t = x[0]

    def products():
        for k in range(4):
            yield t * k

    for v in products():
        t = t + v
    return t


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (read_by_the_generator, "a generator reads what"),
        (one_by_one, "one by one"),
        (left_through_a_finally, "cannot differentiate this `try`"),
        (returned, "`return` inside a loop"),
        (read_later, "not before it"),
    ],
)
def test_what_is_refused(function, message):
    with pytest.raises(tapec.errors.TapecError) as caught:
        tapec.grad(function)(X)
    assert message in str(caught.value)


def test_the_way_out_is_a_tape():
    with pytest.raises(UnsupportedSyntax, match="by a tape"):
        tapec.grad(one_by_one)(X)
    with tapec.GradientTape() as tape:
        x = tapec.Variable(X)
        y = one_by_one(x)
    np.testing.assert_allclose(tape.gradient(y, x)[0], 1.5 * 2 * 2.35 * 1.5 + 0.5, atol=20)
