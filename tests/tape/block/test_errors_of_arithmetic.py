"""What Python's numbers raise in a block that catches it is raised as in Python; NumPy's give infinity or nan."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import tapec

zero, minus, of_numpy = 0.0, -1.0, np.float64(0.0)
variable = tapec.Variable(2.0)

RAISE = {
    "literals": lambda: 1.5 / 0,
    "a number": lambda: 1.5 / zero,
    "remainder": lambda: 1.5 % zero,
    "quotient": lambda: 1.5 // zero,
    "power": lambda: zero**minus,
    "overflow": lambda: 10.0**400,
    "of math": lambda: math.exp(-minus * 1e5),
    "domain": lambda: math.log(zero),
    "of math, of a number of NumPy": lambda: math.sqrt(of_numpy - 1.0),
    "of math, of a variable": lambda: math.acos(variable),
    "computed": lambda: 1.5 / (zero * 2),
    "converted": lambda: 1.5 / (float(variable) - 2.0),
}
RUN = {
    "of NumPy": lambda: 1.0 if 1.5 / of_numpy > 5.0 else 7.0,
    "power of NumPy": lambda: 1.0 if of_numpy**minus > 5.0 else 7.0,
    "a variable": lambda: 1.0 if 1.0 / (variable - 2.0) > 5.0 else 7.0,
    "a function of NumPy": lambda: 1.0 if np.log(zero) < 0.0 else 5.0,
    "nothing": lambda: math.sqrt(4.0) / (zero + 2.0),
}


@pytest.mark.parametrize("name", [*RAISE, *RUN])
def test_blocks_that_catch_what_they_raise(name):
    compute, expected = (RAISE[name], 2.0) if name in RAISE else (RUN[name], 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tapec.GradientTape() as tape:
            try:
                k = compute()
            except (ArithmeticError, ValueError):
                k = 2.0
            y = variable * variable * k
    assert k == expected
    assert tape.gradient(y, variable) == 4.0 * expected


def test_arrays_are_as_they_were_where_a_stretch_is_run_again():
    x = np.array([1.0, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        try:
            counts = np.zeros(2)
            counts[0] += 1.0
            counts[1] += 1.0 / zero
        except ZeroDivisionError:
            counts[1] += 3.0
        y = np.sum(x * counts)
    assert np.array_equal(tape.gradient(y, x), [1.0, 3.0])
