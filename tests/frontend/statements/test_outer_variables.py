"""`global` and `nonlocal` of variables that a function reads alone."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedSyntax
from tests.typed import interpreted

SCALE = 2.0


def read(x):
    global SCALE
    return np.sum(x) * SCALE


def read_inside(x):
    scale = 3.0

    def scaled(v):
        nonlocal scale
        global SCALE
        return v * scale * SCALE

    return np.sum(scaled(x))


def set_inside(x):
    def scaled(v):
        global SCALE

        def change():
            global SCALE
            SCALE = 3.0

        change()
        return v * SCALE

    return np.sum(scaled(x))


@pytest.mark.parametrize(("function", "slope"), [(read, 2.0), (read_inside, 6.0)])
def test_what_is_read_alone_is_an_outer_variable(function, slope):
    x = np.ones(2)
    with interpreted():
        assert tapec.grad(function)(x).tolist() == [slope] * 2
        assert tapec.function(function)(x) == function(x)


def test_what_a_function_inside_sets_is_refused():
    with interpreted(), pytest.raises(UnsupportedSyntax, match="global"):
        tapec.grad(set_inside)(np.ones(2))
