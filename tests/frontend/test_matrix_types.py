"""The table of result types against Numba's own typing of the same functions."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.frontend import matrix_types, numba_types
from tapec.syntax.types import Array
from tests.sampling import sampled

SINGLE = ("inv", "pinv", "det", "slogdet", "cholesky", "eigh")
CASES = [
    *(("np.dot", ranks) for ranks in ((1, 1), (1, 2), (2, 1), (2, 2))),
    *((f"np.linalg.{name}", (2,)) for name in SINGLE),
    ("tapec_runtime.cholesky_seed", (2, 2)),
    ("np.linalg.solve", (2, 1)),
    pytest.param("np.linalg.solve", (2, 2), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "ranks"), sampled(CASES, 20))
def test_agrees_with_numba(name, ranks):
    function = numba_types.callable_of(name)
    args = tuple(Array("float32" if name == "np.linalg.det" else "float64", rank, "C") for rank in ranks)
    asked = numba_types.result_type(function, args)
    assert asked is not None and matrix_types.result_type(name, function, args) == asked


def test_other_arguments_are_left_to_numba():
    matrix, vector = Array("float64", 2, "C"), Array("int64", 1, "C")
    assert matrix_types.result_type("np.linalg.inv", np.linalg.inv, (Array("float64", 3, "C"),)) is None
    assert matrix_types.result_type("np.dot", np.dot, (matrix, vector)) is None
