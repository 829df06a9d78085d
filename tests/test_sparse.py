"""`sparse_jacobian` and `sparse_hessian`: patterns from programs that are awkward, against dense derivatives."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import tapec
from tapec.errors import NotDifferentiable, UsageError
from tests.oracles import arr
from tests.sparsity import agree, check_sparse, dense
from tests.typed import interpreted, typed


@pytest.fixture(autouse=True)
def by_python(request):
    """Programs run as Python, after Numba has inferred their types, but for tests of machine code."""
    if request.node.get_closest_marker("compiled"):
        yield
        return
    with typed():
        yield


class Pair(NamedTuple):
    left: np.ndarray
    right: float


def stencil(x):
    y = np.zeros(x.size)
    for i in range(1, x.size - 1):
        y[i] = x[i - 1] - 2.0 * x[i] ** 2 + x[i + 1]
    return y


def in_place(x):
    for i in range(1, x.size):
        x[i] += x[i - 1] * 0.5
    x[0] = 3.0
    return x


def through_views(x):
    left, right = x[: x.size // 2], x[::-1]
    left[0] = right[0] * right[1]
    y = x.copy()
    rows = y.reshape(2, x.size // 2)
    rows[1] *= rows[0]
    return y


def rotated_buffers(x):
    now, then = x.copy(), np.zeros(x.size)
    for _ in range(3):
        for i in range(x.size):
            then[i] = now[i] * now[i - 1]
        now, then = then, now
    return now


def scattered(x, places):
    y = np.zeros(5)
    for i in range(x.size):
        y[places[i]] += x[i] ** 2
    return y


def gathered_twice(x, places):
    return x[places] * np.roll(x[places], 1)


def running_sums(x):
    total = 0.0
    y = np.empty(x.size)
    for i in range(x.size):
        total += x[i]
        y[i] = total
    return y


def overwritten(x):
    y = x * 2.0
    y[1] = 7.0
    y[2] = y[1] * x[0]
    return y


def rounded(x):
    return np.floor(x) * x[::-1] + np.sign(x)


def chosen(x):
    return np.where(x > 0.8, x**2, x[::-1])


def branches(x):
    y = np.empty(x.size)
    for i in range(x.size):
        if x[i] > 0.8:
            y[i] = x[i - 1] * x[i]
        else:
            y[i] = x[(i + 1) % x.size]
    return y


def of_computed_place(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        k = int(x[i] * 10.0) % x.size
        y[i] = x[k] ** 2
    return y


def ordered(x):
    return np.sort(x)[:3] * np.median(x)


def until_small(x, limit):
    y = x.copy()
    count = 0
    while y[0] > limit and count < 5:
        y[1:] = y[:-1] * y[1:]
        y[0] *= 0.5
        count += 1
    return y


def list_of_numbers(x):
    found = []
    for value in x:
        if value > 0.8:
            found.append(value * x[0])
    return np.array(found)


def masked(x):
    return x[x > 0.8] * x[0]


def of_blocks(a, b):
    return a @ b


def solved(a, b):
    return np.linalg.solve(a + 5.0 * np.eye(3), b)


def inverse_diagonal(x):
    return np.diag(np.linalg.inv(np.diag(x) + 0.1 * np.ones((x.size, x.size))))


def _product(x, n):
    if n == 0:
        return x[0] * 0.0 + 1.0
    return x[n] * _product(x, n - 1)


def _fill(y, x, k):
    if k < x.size:
        y[k] = x[k] * x[k - 1]
        _fill(y, x, k + 1)


def recursive(x):
    y = np.zeros(x.size + 1)
    _fill(y, x, 1)
    y[-1] = _product(x, x.size - 1)
    return y


def with_numbers(a, x, b):
    return a * x + b, np.sum(x) * a, b**2


def of_matrices(x, y):
    return x[:, 0] * y.T[0], x.T @ y


def of_pair(pair, scale):
    return pair.left[1:] * pair.right * scale


def of_dict(p):
    return p["slope"] * p["x"] ** 2 + p["offset"]


def long_row(x):
    y = x**2
    y[0] = np.sum(x * x[0])
    return y


def nothing(x):
    return np.zeros(3) + np.floor(x[0])


def constant_result(x):
    return x * 2.0, 1.0


def ties(x):
    return np.maximum(x, x[::-1]) * np.minimum(x, 1.0)


def extremes(x):
    return np.array([np.max(x), x[np.argmin(x)]])


def of_halves(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] * x[-1]
    return y


JACOBIANS = [
    (stencil, (arr(6),)),
    (in_place, (arr(5),)),
    (through_views, (arr(6),)),
    (rotated_buffers, (arr(5),)),
    (scattered, (arr(6), np.array([0, 3, 3, 4, 0, 1]))),
    (gathered_twice, (arr(6), np.array([5, 3, 3, -1]))),
    (running_sums, (arr(5),)),
    (overwritten, (arr(4),)),
    (rounded, (arr(4),)),
    (chosen, (arr(6),)),
    (branches, (arr(7),)),
    (of_computed_place, (arr(6),)),
    (ordered, (arr(7),)),
    (until_small, (arr(5), 0.1)),
    (list_of_numbers, (arr(6),)),
    (masked, (arr(6),)),
    (of_blocks, (arr(2, 3), arr(3, 4))),
    (of_blocks, (arr(3), arr(3))),
    (solved, (arr(3, 3), arr(3))),
    (inverse_diagonal, (arr(3),)),
    (recursive, (arr(4),)),
    (with_numbers, (1.5, arr(3), 0.5)),
    (of_matrices, (arr(3, 2), np.asfortranarray(arr(3, 2)))),
    (of_matrices, (arr(6, 2)[::2], arr(3, 4)[:, ::-2])),
    (of_pair, (Pair(arr(4), 2.0), 3.0)),
    (long_row, (arr(12),)),
    (nothing, (arr(2),)),
    (constant_result, (arr(2),)),
    (ties, (arr(5),)),
    (extremes, (arr(5),)),
    (of_halves, (arr(4), 6)),
    # empty arrays, and single precision
    (stencil, (arr(0),)),
    (of_blocks, (arr(2, 0), arr(0, 3))),
    (running_sums, (arr(5).astype(np.float32),)),
    (of_blocks, (arr(2, 3).astype(np.float32), arr(3, 2))),
]


@pytest.mark.parametrize(("f", "args"), JACOBIANS, ids=lambda case: getattr(case, "__name__", ""))
def test_a_sparse_jacobian_is_the_dense_one(f, args):
    check_sparse(f, args)


def test_passes_for_speed_do_not_change_patterns():
    for level in (0, 1):
        check_sparse(through_views, (arr(6),), opt_level=level)
        check_sparse(branches, (arr(6),), opt_level=level)


def separable(x):
    return np.sum(np.exp(x))


def chain(x):
    s = 0.0
    for i in range(x.size - 1):
        s += (x[i + 1] - x[i] ** 2) ** 2
    return s


def coupled(x):
    return np.log(np.sum(np.exp(x)))


def linear(x):
    return np.sum(x * 3.0)


def bilinear(x, y, a):
    return a * np.sum(x * y) + np.sum(x) * 2.0


def arrow(x):
    return np.sum(x[1:] ** 2 * x[0])


def quadratic(x, a):
    return x @ a @ x


def by_pieces(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** 2 * x[i - 1] if x[i] > 0.8 else x[i] * x[0]
    return s


def residuals_of_zero(x):
    return np.sum((x - x) ** 2 * x[0]) + (x[1] - x[1]) ** 3


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (separable, (arr(4),)),
        (chain, (arr(6),)),
        (coupled, (arr(4),)),
        (linear, (arr(4),)),
        (bilinear, (arr(3), arr(3), 2.0)),
        (arrow, (arr(9),)),
        (quadratic, (arr(4), np.diag(arr(4)))),
        (by_pieces, (arr(6),)),
        (residuals_of_zero, (arr(3),)),
        (chain, (arr(0),)),
        (chain, (arr(5).astype(np.float32),)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_a_sparse_hessian_is_the_dense_one(f, args):
    check_sparse(f, args, hessian=True)
