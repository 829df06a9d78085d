"""The table of result types against Numba's own typing of the same functions."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.frontend.evaluator import matrix_types, numba_types
from tapec.syntax.types import Array, Scalar
from tests.sampling import sampled

SINGLE = ("inv", "pinv", "det", "slogdet", "cholesky", "eigh")
CASES = [
    *(("np.dot", ranks) for ranks in ((1, 1), (1, 2), (2, 1), (2, 2))),
    *((f"np.linalg.{name}", (2,)) for name in SINGLE),
    ("tapec_runtime.cholesky_seed", (2, 2)),
    *((f"tapec_runtime.{name}", (2,)) for name in ("thin_svd", "thin_qr", "eigen")),
    ("tapec_runtime.eigen_of_parts", (2, 2)),
    ("np.linalg.solve", (2, 1)),
    pytest.param("np.linalg.solve", (2, 2), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "ranks"), sampled(CASES, 20))
def test_agrees_with_numba(name, ranks):
    function = numba_types.callable_of(name)
    args = tuple(Array("float32" if name == "np.linalg.det" else "float64", rank, "C") for rank in ranks)
    asked = numba_types.result_type(function, args)
    assert asked is not None and matrix_types.result_type(name, function, args) == asked


TRANSFORMS = [("dft", 2, "int64"), ("real_dft", 1, ""), ("real_inverse", 2, "int64"), ("pseudo_inverse", 1, "float64")]


@pytest.mark.parametrize(("name", "arrays", "number"), TRANSFORMS)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_transforms_agree_with_numba(name, arrays, number, dtype):
    function = numba_types.callable_of(f"tapec_runtime.{name}")
    args = (Array(dtype, 2, "C"),) * arrays + ((Scalar(number),) if number else ())
    asked = numba_types.result_type(function, args)
    assert asked is not None and matrix_types.result_type(f"tapec_runtime.{name}", function, args) == asked


def test_other_arguments_are_left_to_numba():
    matrix, vector = Array("float64", 2, "C"), Array("int64", 1, "C")
    assert matrix_types.result_type("np.linalg.inv", np.linalg.inv, (Array("float64", 3, "C"),)) is None
    assert matrix_types.result_type("np.dot", np.dot, (matrix, vector)) is None
