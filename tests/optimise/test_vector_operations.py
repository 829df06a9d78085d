"""The runtime's functions that LLVM vectorises, and what operations on vectors cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapec_runtime
from tapec.optimise import costs
from tapec.optimise.vector_operations import VECTORISED, operation_cost
from tapec.rules import rule_for

# numbers that each function is asked for; `power`, `maximum` and `minimum` take two
NUMBERS = (0.3, 0.75, 0.05)


def plain(operation: str):
    """What Python or NumPy calls an operation."""
    if operation == "**":
        return pow
    home, _, name = operation.partition(".")
    return getattr({"np": np, "math": math}[home], name, None)


@pytest.mark.parametrize("operation", [name for name in VECTORISED if not name.startswith("tapec_runtime.")])
def test_the_function_computes_what_the_operation_does(operation):
    function = getattr(tapec_runtime, VECTORISED[operation].removeprefix("tapec_runtime."))
    function, known = getattr(function, "py_func", function), plain(operation)
    if known is None:
        pytest.skip(f"this NumPy has no {operation}")
    assert rule_for(operation) is not None
    count = 2 if function.__name__ in ("power", "maximum", "minimum") else 1
    for place in range(len(NUMBERS) - count + 1):
        args = NUMBERS[place : place + count]
        assert function(*args) == pytest.approx(known(*args), rel=1e-15, abs=1e-15)


def test_all_are_functions_of_the_runtime():
    names = {name.removeprefix("tapec_runtime.") for name in VECTORISED.values()}
    assert all(callable(getattr(tapec_runtime, name)) for name in names)


def test_costs():
    assert all(operation_cost(fn) == 1 for fn in ("+", "-", "*", "neg", "load", "max", "min"))
    assert operation_cost("/") == costs.DIVISION
    assert operation_cost("np.sin") == operation_cost("anything.else") == costs.FUNCTION
