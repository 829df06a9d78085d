"""Partial derivatives stored in the order of a run: which programs have one, and that the elements are right."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapec
from tests.oracles import arr
from tests.sparsity import check_sparse
from tests.typed import typed


@pytest.fixture(autouse=True)
def by_python():
    with typed():
        yield


def ring(x, rate):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i - 1] * x[i] + rate * x[(i + 1) % x.size]
    return y


def upwind(x):
    y = np.empty(x.size)
    for i in range(x.size):
        left, right = x[i - 1], x[(i + 1) % x.size]
        if x[i] > 0.8:
            y[i] = x[i] * (x[i] - left)
        else:
            y[i] = x[i] * (right - x[i])
    return y


def with_ends(x):
    n = x.size
    y = np.empty(n)
    for i in range(n):
        left = x[i - 1] if i > 0 else 2.0 * x[0]
        right = 0.0
        if i < n - 1:
            right = x[i + 1] ** 2
        y[i] = left * x[i] - right
    return y


def assembled(x, ends):
    y = np.zeros(x.size)
    for k in range(ends.shape[0]):
        i, j = ends[k, 0], ends[k, 1]
        force = np.sin(x[j] - x[i])
        y[i] += force
        y[j] -= force
    return y


def on_one_way(x, places):
    y = np.zeros(x.size)
    for i in range(x.size):
        k = places[i]
        if x[i] > 0.8:
            y[k] += x[i] ** 2
        else:
            y[i] += x[i - 1] * x[i]
    return y


def sliced(x):
    return np.sqrt(x[1:] * x[:-1]) + x[2] * x[1:]


def of_numbers(x, a):
    return x[0] * a, a**2 * x[-1], x[1:] * a


def at_poles(x):
    """Where a partial derivative is infinite, and one before it zero."""
    return np.sqrt((x - x) ** 2) + x


def read_through_views(x):
    z = x.reshape(2, x.size // 2)
    return z.T[::-1] * z[0, 0]


def handed_on(x):
    """Numbers that iterations hand on, two of them in turn."""
    y = np.empty(x.size)
    before, last = x[0] * 2.0, 1.0
    for i in range(x.size):
        y[i] = before * x[i] - last**2
        before, last = x[i] ** 2, before
    y[0] = before * last
    return y[1:]


def stored_in_branches(x, k):
    """An element that a branch has stored in, and then another branch, of which both ways count."""
    y = np.zeros(x.size)
    for i in range(x.size):
        if k[i] < 2:
            y[i] += x[i - 1] * x[i]
        else:
            y[i] += x[k[i]]
        if x[i] > 0.9:
            y[i] += x[0] ** 2
    return y


IN_ORDER = [
    (stored_in_branches, (arr(6), np.array([3, 0, 1, 2, 0, 5]))),
    (handed_on, (arr(6),)),
    (handed_on, (arr(6).astype(np.float32),)),
    (ring, (arr(5), 2.0)),
    (ring, (arr(2), 2.0)),
    (ring, (arr(1), 2.0)),
    (upwind, (arr(7),)),
    (with_ends, (arr(5),)),
    (assembled, (arr(5), np.array([[0, 1], [1, 4], [4, 0], [2, 2]]))),
    (on_one_way, (arr(6), np.array([5, 5, 0, 1, 3, 3]))),
    (sliced, (arr(6),)),
    (of_numbers, (arr(4), 1.5)),
    (at_poles, (arr(3),)),
    (read_through_views, (arr(6),)),
    (upwind, (arr(7).astype(np.float32),)),
    (ring, (arr(12)[::-2], 0.5)),
]


def way(f, args, derivative=None):
    derivative = derivative or tapec.sparse_jacobian(f, tuple(k for k, one in enumerate(args) if is_source(one)))
    derivative(*args)
    return re.search(r"^def \w+_(columns|rows)\(", derivative.source(), re.MULTILINE) is None


def is_source(value):
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


@pytest.mark.parametrize(("f", "args"), IN_ORDER, ids=lambda case: getattr(case, "__name__", ""))
def test_elements_that_are_stored_as_the_function_runs(f, args):
    assert way(f, args)
    check_sparse(f, args)


def running(x):
    y = np.empty(x.size)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        y[i] = total
    return y


def in_two_steps(x):
    y = np.empty(x.size - 1)
    for i in range(x.size - 1):
        y[i] = x[i + 1] - x[i]
    return y[1:] * y[:-1]


def overwritten(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = x[i] ** 2
    for i in range(2):
        y[i] = x[i + 1]
    return y


def decided_by_numbers(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[int(x[i]) % x.size] = x[i]
    return y


def many_times(x, steps):
    y = np.zeros(x.size)
    for _ in range(steps):
        for i in range(x.size):
            y[i] += x[i] ** 2
    return y


def solved(x):
    return np.linalg.solve(np.diag(x), x)


def returned(x):
    return x, x[1:] * x[:-1]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (running, (arr(4),)),
        (in_two_steps, (arr(5),)),
        (overwritten, (arr(4),)),
        (decided_by_numbers, (arr(4),)),
        (many_times, (arr(4), 20)),
        (solved, (arr(3),)),
        (returned, (arr(4),)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_others_are_computed_by_colours(f, args):
    assert not way(f, args)
    check_sparse(f, args)


def test_hessians_are_stored_as_the_gradient_runs():
    def chain(x, stiffness):
        total = 0.0
        for i in range(x.size):
            total += np.exp(x[i])
            if i > 0:
                step = x[i] - x[i - 1]
                total += stiffness * step**4
        return total

    assert way(chain, (arr(6), 2.0), tapec.sparse_hessian(chain))
    check_sparse(chain, (arr(6), 2.0), (0,), hessian=True)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (ring, "stored as the function runs: each result follows from elements that are read for it"),
        (running, "share no row .*: an iteration hands `total` on to the next one"),
        (in_two_steps, "share no row .*: an element of `y` is read, where numbers that move are stored"),
    ],
)
def test_explain_tells_the_way(function, why):
    signature = "f8[::1], f8" if function is ring else "f8[::1]"
    told = tapec.explain(function, signature=signature, mode="sparse_jacobian")
    (note,) = (str(note) for note in told.notes if note.by == "compressed")
    assert re.search(why, note), note
    assert told.title == f"{function.__name__}, sparse Jacobian by x"
