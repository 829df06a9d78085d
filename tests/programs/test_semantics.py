"""Many small functions, their generated code run by the interpreter: quick to check, and ugly.

What Python and NumPy say of evaluation order, names, views and aliases must hold for values and
derivatives alike.  Compilation is tested elsewhere.
"""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted
from tests.programs import (
    semantics_arrays,
    semantics_calls,
    semantics_complex,
    semantics_flow,
    semantics_iterators,
    semantics_lists,
    semantics_outside,
)
from tests.sampling import sampled

CASES = [
    *semantics_flow.CASES,
    *semantics_arrays.CASES,
    *semantics_calls.CASES,
    *semantics_complex.CASES,
    *semantics_iterators.CASES,
    *semantics_lists.CASES,
    *semantics_outside.CASES,
]
WITH_FORWARD_MODE = [f for f, _ in CASES[::3]]


@pytest.mark.parametrize(("f", "args"), sampled(CASES, 60), ids=lambda value: getattr(value, "__name__", ""))
def test_values_and_derivatives(f, args):
    """Reverse mode of each function, forward mode of every third."""
    with interpreted():
        check(f, args, skip_kinks=True, forward=f in WITH_FORWARD_MODE)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_forward_mode(f, args):
    with interpreted():
        check(f, args, skip_kinks=True)


def test_an_element_outside_a_list_cannot_be_taken():
    def f(x):
        rest = []
        for k in range(x.size):
            rest.append(x[k])
        return rest.pop(x.size)

    with interpreted(), pytest.raises(IndexError, match="out of range"):
        tapec.grad(f)(np.ones(3))
