"""Values that are stored in the order of a run, also into a matrix that is there."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import arr
from tests.sparsity import agree, dense
from tests.transforms.test_local_partials import on_one_way, ring
from tests.typed import typed


@pytest.fixture(autouse=True)
def by_python():
    with typed():
        yield


def test_a_matrix_is_filled_where_a_way_is_not_taken():
    derivative = tapec.sparse_jacobian(on_one_way)
    args = arr(6), np.array([5, 5, 0, 1, 3, 3])
    matrix = derivative(*args)
    moved = (args[0][::-1].copy(), args[1])
    derivative.fill(matrix, *moved)
    agree("filled", matrix, dense(on_one_way, moved, (0,), tapec.jacrev))


def test_an_element_is_stored_once_where_it_is_met_once():
    plain, sums = tapec.sparse_jacobian(ring), tapec.sparse_jacobian(ring)
    plain(arr(5), 2.0)
    assert "_elements(" in plain.source() and "]] +=" not in plain.source()
    # of two cells, the one before is the one behind
    matrix = sums(arr(2), 2.0)
    assert "_sums(" in sums.source()
    agree("two cells", matrix, dense(ring, (arr(2), 2.0), (0,), tapec.jacrev))
