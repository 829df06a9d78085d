"""The shorter way through Numba: what it leaves out is not missed."""

from __future__ import annotations

import gc
import operator

import numba
import numpy as np
import pytest
from numba.core import typed_passes
from numba.core.registry import cpu_target

from tapec.backend.numba_internals import lean_compiler
from tapec.backend.numba_internals.operator_types import remembered
from tapec.options import DEFAULT, Options

pytestmark = pytest.mark.optimised


def lists_and_expressions(x):
    squares = np.array([v * v for v in x])
    pair = np.array([1.0, 2.0])
    total = 0.0
    for row in (squares, x * 2.0 + np.sin(x) - squares):
        total += row.sum()

    def inner(v):
        return v + total

    return inner(pair[1]), pair, -squares


@pytest.mark.slow
def test_all_of_numba_is_there_for_what_needs_it():
    x = np.linspace(0.1, 1.0, 7)
    expected = lists_and_expressions(x)
    found = numba.njit(**lean_compiler.flags(DEFAULT))(lists_and_expressions)(x)
    assert found[0] == pytest.approx(expected[0], rel=1e-14)
    assert all((one == two).all() for one, two in zip(found[1:], expected[1:], strict=True))


def test_threads_take_numbas_own_way():
    assert "pipeline_class" in lean_compiler.flags(DEFAULT)
    replaced = lean_compiler.flags(Options(parallel=True))["pipeline_class"].replaced
    # what takes arguments from Python looks at their classes
    assert list(replaced) == [typed_passes.NativeParforLowering]


def test_operators_have_the_types_that_numba_finds():
    context = cpu_target.typing_context
    kinds = [numba.float64, numba.float32, numba.int64, numba.uint8, numba.boolean]
    times = np.multiply  # not an operator: always asked for
    asked = [(one, two) for one in kinds for two in kinds]

    def answers():
        return [context.resolve_function_type(one, pair, {}) for pair in asked for one in (operator.mul, times)]

    expected = answers()
    for _ in range(2):
        with remembered(context):
            assert answers() == expected
    with pytest.raises(ZeroDivisionError), remembered(context), remembered(context):
        raise ZeroDivisionError
    assert "resolve_function_type" not in vars(context)


def test_the_collector_is_as_it_was():
    assert gc.isenabled()
    with pytest.raises(ValueError), lean_compiler.uncollected():
        assert not gc.isenabled()
        with lean_compiler.uncollected():
            pass
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
