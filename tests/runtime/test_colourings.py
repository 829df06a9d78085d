"""Colours, by matrices that are read back from sums of their columns."""

from __future__ import annotations

import numpy as np
import pytest

from tapec_runtime.colourings import (
    distance_two,
    gathered,
    merged,
    places_by_columns,
    places_in_star,
    star,
    transposed,
)


def pattern(matrix):
    rows, columns = np.nonzero(matrix)
    return np.searchsorted(rows, np.arange(matrix.shape[0] + 1)), columns.astype(np.int64)


def random_matrix(rng, height, width, share):
    return rng.standard_normal((height, width)) * (rng.random((height, width)) < share)


def read_back(matrix, colours, places):
    """The elements of a matrix, from the sums of its columns of each colour."""
    sums = np.array([matrix[:, colours == k].sum(axis=1) for k in range(max(colours.max(initial=-1) + 1, 1))])
    values = np.empty(places.size)
    gathered(sums.ravel(), places, values)
    return values


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_one_colour_share_no_row(seed):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(rng, *rng.integers(0, 30, 2), rng.random() * 0.4)
    starts, columns = pattern(matrix)
    colours = distance_two(starts, columns, rng.permutation(matrix.shape[1]))
    places = np.zeros(columns.size, np.int64)
    places_by_columns(starts, columns, colours, places)
    np.testing.assert_allclose(read_back(matrix, colours, places), matrix[matrix != 0], atol=1e-12)


def arrow(size):
    matrix = np.diag(np.arange(1.0, size + 1))
    matrix[0] = matrix[:, 0] = np.arange(2.0, size + 2)
    return matrix


def symmetric(seed):
    rng = np.random.default_rng(seed)
    matrix = random_matrix(rng, *(int(rng.integers(1, 30)),) * 2, rng.random() * 0.3)
    return matrix + matrix.T


SYMMETRIC = [arrow(9), arrow(600), np.ones((300, 300)), np.zeros((3, 3)), *map(symmetric, range(20))]


@pytest.mark.parametrize("matrix", SYMMETRIC, ids=lambda matrix: str(len(matrix)))
def test_a_symmetric_matrix_is_read_from_a_star_colouring(matrix):
    starts, columns = pattern(matrix)
    colours = star(starts, columns)
    places = np.zeros(columns.size, np.int64)
    places_in_star(starts, columns, colours, places)
    np.testing.assert_allclose(read_back(matrix, colours, places), matrix[matrix != 0], atol=1e-12)


def test_few_colours_are_enough_where_few_are_needed():
    assert star(*pattern(arrow(9))).max() == star(*pattern(arrow(600))).max() == 1
    line = np.eye(50) + np.eye(50, k=1) + np.eye(50, k=-1)
    assert star(*pattern(line)).max() == distance_two(*pattern(line), np.arange(50)).max() == 2


@pytest.mark.parametrize("seed", range(5))
def test_patterns_are_transposed_and_joined(seed):
    rng = np.random.default_rng(seed)
    one, other = (random_matrix(rng, 7, 9, 0.3) for _ in range(2))
    starts, columns, places = transposed(*pattern(one), 9)
    wanted = pattern(one.T)
    np.testing.assert_array_equal(starts, wanted[0])
    np.testing.assert_array_equal(columns, wanted[1])
    np.testing.assert_array_equal(one[one != 0][places], one.T[one.T != 0])
    for found, both in zip(merged(*pattern(one), *pattern(other)), pattern((one != 0) | (other != 0)), strict=True):
        np.testing.assert_array_equal(found, both)
