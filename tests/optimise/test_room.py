"""Room for several large arrays is made at once."""

from __future__ import annotations

import numpy as np
from numba import njit

import tapec
import tapec_runtime
from tests.oracles import interpreted


def two_fields(x, steps):
    u, v = x.copy(), x.copy()
    for _ in range(steps):
        for i in range(x.shape[0]):
            for j in range(1, x.shape[1]):
                u[i, j] = np.sin(u[i, j - 1]) * v[i, j]
                v[i, j] = np.cos(v[i, j - 1]) * u[i, j]
    return np.sum(u * v)


def test_room_is_made_for_what_a_loop_keeps():
    text = tapec.emit(two_fields, signature="f8[:, ::1], i8")
    assert 0 < text.rindex("make_room(") < text.index("_store = np.empty")
    assert "make_room" not in tapec.emit(two_fields, signature="f8[:, ::1], i8", math="libm")


def test_one_array_needs_no_request():
    def one_field(x, steps):
        u = x.copy()
        for _ in range(steps):
            for i in range(x.size):
                u[i] = np.sin(u[i])
        return np.sum(u)

    assert "make_room" not in tapec.emit(one_field, signature="f8[::1], i8")


def test_results_are_the_same():
    x = np.linspace(0.1, 1.0, 12).reshape(3, 4)
    with interpreted():
        with_room = tapec.grad(two_fields)(x, 2)
        without = tapec.grad(two_fields, math="libm")(x, 2)
    np.testing.assert_allclose(with_room, without, rtol=1e-13)


@njit
def asked(sizes):
    for size in sizes:
        tapec_runtime.make_room(size)
    return len(sizes)


def test_any_number_may_be_asked_for():
    assert asked((-1, 0, 10**6, 2**62)) == 4
    assert tapec_runtime.make_room(10**6) is None
