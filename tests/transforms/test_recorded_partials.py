"""Places of partial derivatives: they belong to integers, and are found on both ways of a branch."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import arr
from tests.sparsity import agree, dense
from tests.transforms.test_local_partials import assembled, way
from tests.typed import typed


@pytest.fixture(autouse=True)
def by_python():
    with typed():
        yield


def test_places_belong_to_the_integers_that_decide():
    derivative = tapec.sparse_jacobian(assembled)
    x = arr(5)
    sizes = []
    for seed in (1, 2, 1, 3):
        ends = np.random.default_rng(seed).integers(0, 5, (4, 2))
        matrix = derivative(x, ends)
        agree(f"ends {seed}", matrix, dense(assembled, (x, ends), (0,), tapec.jacrev))
        assert derivative.fill(matrix, 2.0 * x, ends) is matrix
        agree(f"ends {seed}, filled", matrix, dense(assembled, (2.0 * x, ends), (0,), tapec.jacrev))
        sizes.append(matrix.nnz)
    # patterns of several ways are joined
    assert sizes[1] == sizes[2] >= sizes[0]
    for seed in range(4, 30):
        ends = np.random.default_rng(seed).integers(0, 5, (4, 2))
        agree(f"ends {seed}", derivative(x, ends), dense(assembled, (x, ends), (0,), tapec.jacrev))


def test_a_way_that_is_not_taken_may_store_and_read_out_of_range():
    def near(x, places):
        y = np.zeros(x.size)
        for i in range(x.size):
            k = places[i]
            if x[i] > 0.0:
                y[k] += x[k]
        return y

    x, places = np.array([1.0, -2.0, 3.0]), np.array([1, 77, 0])
    assert way(near, (x, places), tapec.sparse_jacobian(near))
    agree("near", tapec.sparse_jacobian(near)(x, places), dense(near, (x, places), (0,), tapec.jacrev))
