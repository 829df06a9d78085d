"""Binary elementwise functions of operands of every two types, of which one has a derivative."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapec
from tests.sampling import sampled

pytestmark = pytest.mark.usefixtures("mostly_plainly")

FUNCTIONS = (
    *(np.add, np.subtract, np.multiply, np.divide, np.power, np.float_power, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.arctan2, np.hypot, np.logaddexp, np.logaddexp2, np.fmod, np.remainder, np.ldexp),
)
# no operation has a kink or step at them
FIRST, SECOND = 2.5, 1.2
TYPES = ("float64", "float32", "int64", "int32", "int8", "uint64", "uint8", "bool")


def cases():
    for function, first, second in itertools.product(FUNCTIONS, TYPES, TYPES):
        operands = np.array([FIRST, FIRST], dtype=first), np.array([SECOND, SECOND], dtype=second)
        whole = first[0] != "f" and second[0] != "f"
        if whole or (function is np.ldexp and second not in ("int64", "int32", "int8", "uint8", "bool")):
            continue
        yield pytest.param(function, operands, id=f"{function.__name__}-{first}-{second}")


@pytest.mark.parametrize(("function", "operands"), sampled(cases(), 40, default=5))
def test_a_pair_of_types(function, operands):
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(operands)
        y = np.sum(function(*operands))
    for place, operand in enumerate(operands):
        if operand.dtype.kind != "f":
            continue
        found = tape.gradient(y, operand)
        # in double precision, of numbers as they are in the array
        values = [float(one[0]) if one.dtype.kind == "f" else one[0] for one in operands]
        above, below = list(values), list(values)
        above[place] += 1e-6
        below[place] -= 1e-6
        wanted = (function(*above) - function(*below)) / 2e-6
        assert found.dtype == operand.dtype
        np.testing.assert_allclose(found, np.full(2, wanted), rtol=1e-5, atol=1e-6)
