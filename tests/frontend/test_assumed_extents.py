"""Loops that set arrays anew: they keep their extents, and have a form for operands that need not be stretched."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from numba import float64, int64

import tapec
from tests.oracles import arr, check, interpreted
from tests.sampling import sampled

MATRIX = float64[:, ::1]
# one gradient for all arguments
MADE = functools.cache(tapec.value_and_grad)


def smoothed(u, steps):
    for _ in range(steps):
        u = u + 0.1 * (np.roll(u, 1, axis=0) - u) * u
    return u


def reaction(u, v, feed, steps):
    for _ in range(steps):
        uvv = u * v * v
        u = u + 0.1 * np.roll(u, 1, axis=1) - uvv + feed * (1.0 - u)
        v = v + uvv - feed * v
    return np.sum(u * u) + np.sum(u * v)


def growing(x, steps):
    total = 0.0
    y = x
    for k in range(steps):
        total += np.sum(y * y)
        y = np.concatenate((y, x)) if k % 2 else y * 2.0
    return total + np.sum(y)


def turned(x, steps):
    for k in range(steps):
        x = (x * (k + 1.0)).T
        if k == 1:
            continue
        x = x + x[0, 0]
    return x


def until_small(x, y):
    while np.sum(x * x) > 1.0:
        x = 0.5 * x * y
        if x.shape[0] < 2:
            break
    return x


def gates(x, w, b, steps):
    n = w.shape[0]
    h = np.zeros((x.shape[0], n))
    total = 0.0
    for _ in range(steps):
        keep = np.exp(-((x[:, :n] + h @ w[:, :n]) ** 2))
        new = np.tanh(x[:, n:] + (keep * h) @ w[:, n:] + b)
        h = keep * h + new
        total += np.sum(h * b)
    return total


def halves(x, y, steps):
    n = y.shape[0]
    for _ in range(steps):
        y = y * x[n:] + 0.5 * x[:n]
    return np.sum(y * y)


def steps_between(x, y, steps):
    for _ in range(steps):
        y = y + (x[1:] - x[:-1]) * y
    return np.sum(y * y)


def films(index, phase):
    m = np.eye(2, dtype=np.complex128)
    for j in range(index.shape[0]):
        c, s = np.cos(phase[j]), 1j * np.sin(phase[j])
        m = m @ np.array([[c + 0j, s / index[j]], [s * index[j], c + 0j]])
    return abs(m[0, 0] + m[0, 1] - m[1, 0]) ** 2


def shorter(x, steps):
    z = x * (1.0 + 0.5j)
    for k in range(steps):
        z = z[1:] * z[:-1] if k % 2 else z * (1.0 - 0.5j)
    return np.sum(np.abs(z) ** 2)


def complex_pair(x, steps):
    pair = x + 1j, x * (2.0 - 1j)
    for _ in range(steps):
        pair = pair[1] * x, pair[0] + pair[1][0]
    return np.sum((pair[0] * pair[1]).real)


def layers(w, x):
    h = x
    for k in range(w.shape[0]):
        h = np.tanh(h @ w[k])
    return np.sum(h * h)


def power(a, steps):
    p = np.eye(3)
    total = 0.0
    for _ in range(steps):
        p = p @ a
        total += p[0, 0]
    return total + np.sum(p * p)


def narrowing(a, x, steps):
    v = x
    for _ in range(steps):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v) + 1.0)
    return np.sum(v * v * v)


def exchanged(u, v, steps):
    for _ in range(steps):
        for i in range(1, v.size - 1):
            u[i] = 2.0 * v[i] * u[i] - v[i + 1]
        u, v = v, u
    return np.sum(u * v[0])


def accepted(u, w, steps):
    """Steps that are taken, or not."""
    taken, h = 0, 0.4
    u = u.copy()
    while taken < steps:
        new = u + h * np.sin(u * w)
        if h < 0.1:
            u = new
            taken += 1
        else:
            h *= 0.7
    return (u * u).sum()


def taken_by_turns(u, w, steps):
    """Of two arrays, and in every third iteration of a longer one, or another one than before."""
    for i in range(steps):
        if i % 3 == 2:
            u = u + w
        elif i % 3 == 1:
            u = np.sin(u)
    return (u * u).sum()


def shortened(u, w, steps):
    """One side leaves fewer elements."""
    for i in range(steps):
        if u[0] > 0.5:
            u = u[1:] * u[:-1]
        else:
            u = u * 2.0 + w
    return (u * u).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "args"),
    sampled(
        [
            # as the form has it, and not so, which is no error where there is one iteration
            (layers, (arr(3, 2, 2), arr(4, 2))),
            (layers, (arr(1, 2, 3), arr(4, 2))),
            (layers, (arr(0, 2, 3), arr(4, 1))),
            (power, (arr(3, 3), 4)),
            (power, (arr(3, 2), 1)),
            (power, (arr(2, 5), 0)),
            (narrowing, (arr(3, 3), arr(3), 4)),
            (narrowing, (arr(2, 3), arr(3), 1)),
            (narrowing, (arr(1, 3), arr(3), 1)),
            (exchanged, (arr(4), arr(4), 3)),
            (exchanged, (arr(5), arr(4), 1)),
            (films, (arr(3) + 2.0, arr(3))),
            (shorter, (arr(5), 4)),
            (complex_pair, (arr(3), 3)),
            (smoothed, (arr(3, 2), 3)),
            (reaction, (arr(2, 3), arr(3, 2).T.copy(), 0.2, 3)),
            (accepted, (arr(3), arr(3), 4)),
            (accepted, (arr(3), arr(1), 4)),
            (taken_by_turns, (arr(3), arr(3), 7)),
            (taken_by_turns, (arr(1), arr(3), 7)),
            (taken_by_turns, (arr(1), arr(3), 2)),
            (shortened, (arr(5), arr(1), 3)),
            # operands that are stretched, in the first iteration or in all
            (reaction, (arr(1, 3), arr(2, 3), 0.2, 3)),
            (reaction, (arr(2, 3), arr(1, 1), 0.2, 3)),
            (growing, (arr(3), 4)),
            (turned, (arr(2, 3), 4)),
            (turned, (arr(2, 2), 3)),
            (until_small, (arr(4), arr(4))),
            (until_small, (arr(1), arr(3))),
            # extents that are sums of others, and others
            (gates, (arr(2, 4), arr(2, 4), arr(2), 2)),
            (gates, (arr(2, 3), arr(2, 4), arr(2), 2)),
            (gates, (arr(2, 3), arr(2, 3), arr(1), 2)),
            (halves, (arr(6), arr(3), 2)),
            (halves, (arr(4), arr(3), 2)),
            (halves, (arr(2), arr(1), 2)),
            (steps_between, (arr(4), arr(3), 2)),
            (steps_between, (arr(4), arr(1), 2)),
            (steps_between, (arr(2), arr(3), 2)),
        ],
        18,
    ),
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_derivatives(program: Any, args: Any):
    with interpreted():
        check(program, args, gradient=MADE, forward_level=0)


def test_arrays_that_one_side_sets_anew_keep_their_extents():
    """As `u = new` on all ways does: no operand is asked whether it has to be stretched in each iteration."""
    text = tapec.emit(accepted, wrt=(0, 1), signature="f8[::1], f8[::1], i8", opt_level=2)
    first, _, _ = text.rpartition("@numba.njit")
    assert "!= 1" not in first and "== 1" not in first


def test_extents_are_those_before_the_loop():
    def total(u, steps):
        return np.sum(smoothed(u, steps))

    text = tapec.emit(total, signature=(MATRIX, int64), opt_level=2)
    assert "stack" not in text and "broadcast" not in text


def test_complex_arrays_keep_their_extents():
    text = tapec.emit(films, wrt=(0, 1), signature=(float64[::1], float64[::1]), opt_level=2)
    assert "stack" not in text and "np.dot" not in text


@pytest.mark.slow
def test_the_usual_case_has_a_form_of_its_own():
    text = tapec.emit(reaction, wrt=(0, 1), signature=(MATRIX, MATRIX, float64, int64), opt_level=2)
    asked, _, rest = text.rpartition("@numba.njit")
    assert "if v.shape[0] != u.shape[0] or v.shape[1] != u.shape[1]:" in asked
    assert "stack" not in asked and "broadcast" not in asked
    assert "broadcast" in rest


@pytest.mark.parametrize(
    ("program", "wrt", "signature", "asked"),
    [
        (layers, (0, 1), (float64[:, :, ::1], MATRIX), ["w.shape[2] != x.shape[1]"]),
        (power, 0, (MATRIX, int64), ["a.shape[1] != 3"]),
        (narrowing, (0, 1), (MATRIX, float64[::1], int64), ["a.shape[0] != x.shape[0]"]),
        (exchanged, (0, 1), (float64[::1], float64[::1], int64), ["v.shape[0] != u.shape[0]"]),
    ],
)
def test_arrays_that_iterations_hand_on_have_a_form_in_which_they_keep_their_extents(program, wrt, signature, asked):
    text = tapec.emit(program, wrt=wrt, signature=signature, opt_level=2)
    first, _, rest = text.rpartition("@numba.njit")
    assert "def " in first and all(one in first for one in asked), first


@pytest.mark.slow
def test_slices_of_one_matrix_say_how_many_columns_it_has():
    text = tapec.emit(gates, wrt=("w", "b"), signature=(MATRIX, MATRIX, float64[::1], int64), opt_level=2)
    asked, _, rest = text.rpartition("@numba.njit")
    assert "x.shape[1] == 2 * w.shape[0]" in asked and "b.shape[0] == w.shape[0]" in asked
    assert "broadcast" not in asked and "broadcast" in rest


def test_one_array_may_be_shorter_by_some_than_another_one():
    text = tapec.emit(steps_between, wrt=(0, 1), signature=(float64[::1], float64[::1], int64), opt_level=2)
    asked, _, rest = text.rpartition("@numba.njit")
    assert "x.shape[0] != 1 + y.shape[0]" in asked
    assert "stack" not in asked and "stack" in rest


def cut_short(x, y, steps):
    for _ in range(steps):
        x = 0.5 * x + y[: 2 * y.shape[0]]
    return np.sum(x * x)


def both_cut_short(x, y, z, steps):
    n = y.shape[0]
    for _ in range(steps):
        x = 0.5 * x + z[n : 2 * n] * y[1 : n + 1]
    return np.sum(x * x)


@pytest.mark.parametrize(
    ("program", "shapes"),
    [
        # of slices that end early one element is left, which is stretched
        (cut_short, [((2,), (1,)), ((1,), (1,))]),
        (both_cut_short, [((2,), (2,), (3,)), ((1,), (2,), (3,))]),
        (halves, [((6,), (3,)), ((4,), (3,)), ((2,), (1,)), ((3,), (1,)), ((0,), (0,))]),
        (steps_between, [((4,), (3,)), ((4,), (1,)), ((2,), (3,)), ((1,), (0,)), ((0,), (1,))]),
        pytest.param(
            gates,
            [((2, 4), (2, 4), (2,)), ((2, 3), (2, 4), (2,)), ((2, 3), (2, 3), (1,)), ((1, 2), (1, 2), (1,))],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_both_forms_give_what_the_program_gives_without_them(rng: np.random.Generator, program: Any, shapes: Any):
    with interpreted():
        wrt = tuple(range(len(shapes[0])))
        in_two, in_one = (tapec.value_and_grad(program, wrt, opt_level=level) for level in (2, 1))
        for case in shapes:
            args = [rng.uniform(0.5, 1.5, shape) for shape in case]
            try:
                expected, plain = in_one(*args, 2)
            except ValueError:
                with pytest.raises(ValueError):
                    in_two(*args, 2)
                continue
            value, gradients = in_two(*args, 2)
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            for one, other in zip(gradients, plain, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12, err_msg=str(case))


def longer(x, steps):
    y = x
    for _ in range(steps):
        y = np.concatenate((y, x))
    return np.sum(y * y)


def doubled(x, steps):
    y = x * 2.0
    for _ in range(steps):
        y = np.concatenate((y, y))
    return np.sum(y * y)


@pytest.mark.parametrize("program", sampled([longer, doubled], 2))
def test_arrays_that_grow_have_no_form_for_none(program):
    assert "shape[0] == 0" not in tapec.emit(program, signature=(float64[::1], int64), opt_level=2)
    with interpreted():
        check(program, (arr(3), 3), forward_level=0)
        check(program, (arr(0), 2), forward_level=0)
