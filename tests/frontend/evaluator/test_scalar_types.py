"""The table of types says what Numba says."""

from __future__ import annotations

import itertools
import operator

import numba
import numpy as np
import pytest
from numba.core import types as nt

from tapec.frontend.evaluator import numba_types, scalar_types
from tapec.syntax.types import Scalar

KINDS = (
    nt.float64,
    nt.int64,
    nt.boolean,
    nt.float32,
    nt.Array(nt.float64, 1, "C"),
    nt.Array(nt.float64, 2, "C"),
    nt.Array(nt.float64, 1, "C", readonly=True),
    nt.Array(nt.float64, 2, "F"),
    nt.Array(nt.float64, 1, "A"),
    nt.Array(nt.float64, 0, "C"),
    nt.Array(nt.int64, 1, "C"),
)


def name(function):
    return f"{getattr(function, '__module__', '')}.{function.__name__}"


@pytest.mark.compiled
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="Numba types some of them by compiling")
@pytest.mark.parametrize("count", [1, 2])
def test_every_entry(count):
    known = 0
    for function in sorted(scalar_types.FUNCTIONS[count], key=name):
        for args in itertools.product(KINDS, repeat=count):
            found = scalar_types.known_type(function, args)
            if found is None:
                continue
            known += 1
            right = numba_types._resolved_by_numba(function, args)
            # a literal's type is that of its numbers
            assert found == nt.unliteral(right), (name(function), args, right)
    assert known > 50


def test_what_is_left_to_numba():
    assert scalar_types.known_type(operator.pow, (nt.int64, nt.int64)) is None
    assert scalar_types.known_type(operator.add, (nt.float64, nt.boolean)) is None
    assert scalar_types.known_type(np.sin, (nt.float64, nt.float64)) is None
    assert scalar_types.known_type(operator.add, (nt.Array(nt.float64, 2, "F"), nt.float64)) is None


def test_common_types():
    for first, second in itertools.product(("float64", "int64", "float32", "bool"), repeat=2):
        known = scalar_types.common_type(first, second)
        if known is not None:
            context = numba_types.context()
            pair = [numba_types.to_numba(Scalar(dtype)) for dtype in (first, second)]
            assert numba_types.from_numba(context.unify_pairs(*pair)) == Scalar(known)
