"""`with objmode(...)` in compiled functions: Python's statements, and the types of what they hand on."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba import njit, objmode, types

import tapec
from tapec.errors import TypeMismatch
from tests import oracles
from tests.oracles import arr


@njit
def ordered(v):
    with objmode(places="intp[:]", first=types.float64):
        places = np.argsort(v, kind="stable")
        first = float(v[0]) ** 2
    return np.sum(v[places] * np.arange(v.size)) + first


@njit
def truncated(v):
    with objmode(k="i8"):
        k = 20.0 * v[1]
    return v[0] * k


def around(v):
    @njit
    def in_a_loop(v):
        total = 0.0
        for i in range(v.size):
            with numba.objmode(y="f8"):
                y = v[i] * v[i]
            total += y * y
        return total

    return in_a_loop(v)


@pytest.mark.parametrize("f", [ordered, around])
def test_the_body_is_differentiated_as_python(f):
    oracles.check(f, (arr(4),), original=f)


def test_a_whole_number_is_handed_on_without_a_derivative():
    v = np.array([0.5, 0.2])
    assert tapec.value_and_grad(truncated)(v)[0] == truncated(v)
    assert tapec.grad(truncated)(v).tolist() == [4.0, 0.0]


def test_another_type_than_is_said_is_refused():
    @njit
    def f(v):
        with objmode(y="f4[:]"):
            y = v * 2.0
        return np.sum(y)

    with pytest.raises(TypeMismatch, match="objmode says that it is array"):
        tapec.grad(f)(arr(3))
