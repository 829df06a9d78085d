"""Arrays that are shifted round a ring by a known distance are operands of loops, not copies."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numba import float64

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled

VECTOR = float64[::1]
# one gradient for all arguments
MADE = functools.cache(tapec.value_and_grad)


def differences(u):
    return np.sum((u - np.roll(u, 1)) ** 2 * np.roll(u, -2))


def in_place(u):
    u = u.copy()
    u += np.roll(u, 1) ** 2
    u[:] = np.roll(u, -1) * u
    u[1:] = np.roll(u, 1)[1:] * 2.0
    return np.sum(u**3)


def twice(u):
    v = np.roll(np.roll(u * u, 1), -2) + np.roll(np.roll(u, 2), 2)
    return np.sum(v * u)


def single_elements(u):
    return (np.roll(u, 1) * u)[-1] * (np.roll(u, -1) + u)[-1]


def stretched(u):
    v = np.roll(u, 1) * np.ones((3, 1))
    w = np.roll(v, -1, axis=0) * v + np.roll(v, 1, axis=-1) + u
    single = np.roll(np.array([2.0]), 1) * u + np.roll(u.reshape(1, -1), 1, axis=0)[0]
    return np.sum(w * np.roll(w, 2, axis=1) * np.arange(w.size).reshape(w.shape)) + np.sum(single * single)


def chosen(u):
    v = np.where(np.roll(u, 1) > 0.3, np.roll(u, 1) ** 2, np.sin(np.roll(u, -1)))
    return np.sum(v * u) + np.max(np.roll(u, 1) * u)


def stepped(u):
    s = np.zeros(1)
    for _ in range(3):
        s = np.roll(u * s + 1.0, 1) * u
        u = np.roll(s, -1) + u
    return np.sum(s * s)


PROGRAMS = (differences, in_place, twice, single_elements, stretched, chosen, stepped)


@pytest.mark.parametrize("extent", sampled([1, 2, 3, 5], 4))
@pytest.mark.parametrize("program", sampled(PROGRAMS, 7), ids=[one.__name__ for one in PROGRAMS])
def test_rings_of_any_length_go_round(program, extent):
    with interpreted():
        check(program, (np.random.default_rng(extent).uniform(0.1, 1.0, extent),), gradient=MADE)


def test_a_shift_that_is_known_makes_no_array():
    assert "np.empty" not in tapec.value_and_grad(differences).source(VECTOR).replace("u_bar = np.empty(n)", "")


def test_a_subscript_behind_the_end_is_an_error():
    def behind(u):
        return (np.roll(u, -1) + u)[3]

    with interpreted(), pytest.raises(IndexError):
        tapec.grad(behind, boundscheck=True)(np.ones(3))
