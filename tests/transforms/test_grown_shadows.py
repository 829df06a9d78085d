"""Arrays that grow: one shadow for all of them, lists in place of names for one array or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import typeof

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

X = np.random.default_rng(3).uniform(0.1, 1.0, 9)


def stack(x):
    """Work that makes more work."""
    todo, total = [x[0], x[1]], 0.0
    for _ in range(30):
        if len(todo) == 0:
            break
        a = todo.pop()
        if a > 0.3:
            todo.append(0.4 * a * x[2])
            todo.append(0.5 * a + 0.01 * x[3])
            total += a * a
        else:
            total += np.sin(a)
    return total


def pairs(x):
    todo, length = [(x[0], x[4] + 2.0)], 0.0
    while len(todo) > 0:
        a, b = todo.pop()
        if b - a < 0.3:
            length += np.sqrt((b - a) * (b - a) + (b * b - a * a) ** 2)
        else:
            m = 0.5 * (a + b)
            todo.append((a, m))
            todo.append((m, b))
    return length


def segments(x):
    """Appended under branches, read and changed from both ends."""
    found, held = [0.5], 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            found.append(held)
            held = 0.0
        else:
            held += x[i] * x[i]
        found[i % len(found)] *= x[i]
        found[-1] += 0.1 * found[0] * x[i]
    total = 0.0
    for k in range(len(found)):
        total += found[k] * found[-k]
    return total + held


def a_list_per_iteration(x):
    total = 0.0
    for i in range(x.shape[0]):
        row = [x[i]]
        for k in range(i):
            if x[k] > 0.4:
                row.append(x[k] * row[-1])
        for v in row:
            total += v * v
        if total > 3.0:
            break
    return total


def in_a_branch(x):
    total = x[0]
    if x[0] < 2.0:
        row = [x[1]]
        for i in range(x.shape[0]):
            if x[i] > 0.3:
                row.append(x[i] * row[len(row) // 2])
        total += row[-1] * row[0]
    return total


def by_hand(x):
    """As users write it without lists."""
    room, count = np.empty(2), 0
    for i in range(x.shape[0]):
        if x[i] > 0.2:
            if count == room.shape[0]:
                more = np.empty(2 * count)
                for k in range(count):
                    more[k] = room[k]
                room = more
            room[count] = x[i] * x[i]
            if count > 0:
                room[count - 1] *= room[count]
            count += 1
    total = 0.0
    for k in range(count):
        total += np.sin(room[k])
    return total


def as_an_array_afterwards(x):
    values = [x[0]]
    for i in range(x.shape[0]):
        if x[i] > 0.3:
            values.append(values[-1] * x[i] + 0.1)
    a = np.array(values)
    return (a * a).sum() + values[0]


PROGRAMS = (stack, pairs, segments, a_list_per_iteration, in_a_branch, by_hand, as_an_array_afterwards)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 4), ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any]):
    with interpreted():
        check(f, (X,), (0,), forward_level=0)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not by_hand], ids=lambda f: f.__name__)
def test_there_is_one_shadow(f: Callable[..., Any]):
    source = tapec.value_and_grad(f).source(typeof(X))
    _, reverse = source.split("# reverse sweep")
    assert "grown_bar" in reverse
    assert "list_bar" not in source
    assert "room_bar" not in source
    # an array of each iteration has a shadow of each iteration
    assert f is a_list_per_iteration or "bar_stack" not in source


def test_explained():
    why = str(tapec.explain(stack, signature="f8[::1]"))
    assert "one shadow for `todo`, however often it grows" in why


@pytest.mark.slow
def test_compiled():
    for f in (pairs, by_hand, a_list_per_iteration):
        value, gradient = tapec.value_and_grad(f)(X)
        with interpreted():
            plain = tapec.value_and_grad(f, opt_level=0)(X)
        np.testing.assert_allclose(value, plain[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, plain[1], rtol=1e-10)


def test_a_pullback_runs_twice():
    def f(x):
        out, kept = np.zeros(x.shape[0]), [x[0]]
        for i in range(x.shape[0]):
            if x[i] > 0.3:
                kept.append(kept[-1] * x[i])
            out[i] = kept[-1] * kept[0]
        return out

    with interpreted():
        _, pullback = tapec.vjp(f, X)
        once = pullback(np.ones(9))[0].copy()
        np.testing.assert_array_equal(once, pullback(np.ones(9))[0])
        np.testing.assert_allclose(once, tapec.jacobian(f, opt_level=0)(X).sum(0), rtol=1e-12)


# what is refused: all of these keep a shadow per array


def asked_for_later(x):
    """The array before is read when a larger one has taken its place."""
    room = np.empty(2)
    first = room
    room[0] = x[0]
    for i in range(3):
        if i + 1 == room.shape[0]:
            more = np.empty(2 * i + 4)
            for k in range(i + 1):
                more[k] = room[k]
            room = more
        room[i + 1] = x[i] * room[i]
        room[0] *= x[i]
    return room[3] + first[0] * room[0]


def changing_places(x):
    """Two arrays, of which each grows when the other one's turn comes."""
    a, b = np.empty(1), np.empty(1)
    a[0], b[0] = x[0], x[1]
    for i in range(4):
        if i + 1 == a.shape[0]:
            more = np.empty(i + 3)
            for k in range(i + 1):
                more[k] = a[k]
            a = more
        a[min(i + 1, a.shape[0] - 1)] = x[i] * a[0]
        a, b = b, a
    return a[0] * b[0]


def a_view_that_stays(x):
    room, seen = np.empty(2), 0.0
    room[0] = room[1] = x[0]
    head = room[:1]
    for i in range(1, 4):
        if i + 1 == room.shape[0]:
            more = np.empty(i + 3)
            for k in range(i + 1):
                more[k] = room[k]
            room = more
        room[0] = x[i] * room[i]
        room[i + 1] = x[i]
        seen += head[0]
    return seen + room[0]


def shrinking(x):
    """A copy into an array that may be smaller: the last one has no room for the adjoints of the others."""
    room = np.empty(9)
    total = 0.0
    for i in range(9):
        room[i % room.shape[0]] = x[i] * x[i]
        total += room[i % room.shape[0]] * x[0]
        if i + 1 == 6:
            less = np.empty(4)
            for k in range(4):
                less[k] = room[k]
            room = less
    return total * room[2]


def full_and_smaller(x):
    room, count = np.empty(8), 0
    total = 0.0
    for i in range(14):
        if count == room.shape[0]:
            less = np.empty(count // 2)
            for k in range(count // 2):
                less[k] = room[k]
            room = less
            count = 0
        room[count] = x[i % 9] * x[0]
        total += room[count] * room[0]
        count += 1
    return total


def left_out_of_the_iteration(x):
    """A way out of the iteration that makes the array, before it is large enough."""
    total = 0.0
    for i in range(x.shape[0]):
        row = [x[i]]
        if x[i] > 0.9:
            break
        for k in range(i):
            if x[k] > 0.4:
                row.append(x[k] * row[-1])
        total += row[-1] * row[0]
    return total


REFUSED = (asked_for_later, changing_places, a_view_that_stays, shrinking, full_and_smaller)


@pytest.mark.parametrize("f", sampled([*REFUSED, left_out_of_the_iteration], 3), ids=lambda f: f.__name__)
def test_others_are_right_too(f: Callable[..., Any]):
    with interpreted():
        fast = tapec.value_and_grad(f)(X)
        check(f, (X,), (0,), forward_level=0)
    with interpreted():
        plain = tapec.value_and_grad(f, opt_level=0)(X)
    np.testing.assert_allclose(fast[1], plain[1], rtol=1e-12)


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_which_keep_a_shadow_each(f: Callable[..., Any]):
    assert "grown_bar" not in tapec.value_and_grad(f).source(typeof(X))
