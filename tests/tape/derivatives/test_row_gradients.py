"""Gradients of tables as the rows that a block takes of them."""

from __future__ import annotations

import copy
import doctest
import pickle

import numpy as np
import pytest

import tapec_runtime.indexed_slices
from tapec import GradientTape, IndexedSlices, Variable, constant
from tapec.errors import LoweringError

pytestmark = pytest.mark.usefixtures("mostly_plainly")

numbers = np.array([2, 0, 2, -1])


def table():
    return Variable(np.arange(12.0).reshape(4, 3))


def both(block, source):
    """The gradient as an array and as rows."""
    with GradientTape(persistent=True) as tape:
        tape.watch(source)
        y = block(source)
    return tape.gradient(y, source), tape.gradient(y, source, indexed_slices=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "indices"),
    [
        (lambda w: np.sum(w[numbers] ** 2), [2, 0, 2, 3]),
        (lambda w: np.sum(np.take(w, numbers, axis=0) ** 2), [2, 0, 2, 3]),
        (lambda w: np.sum(w[numbers] ** 2) + np.sum(w[numbers[:2]]), [2, 0, 2, 3, 2, 0]),
        (lambda w: np.sum(w[[0, 3]] ** 2) / w.shape[0], [0, 3]),
        (lambda w: np.sum(w[numbers.reshape(2, 2)] ** 2), [2, 0, 2, 3]),
        (lambda w: np.sum(np.tanh(w[numbers, :] @ np.ones(3)) ** 2), [2, 0, 2, 3]),
    ],
)
def test_rows(block, indices):
    for source in (table(), np.linspace(0.0, 1.0, 12).reshape(4, 3)):
        full, rows = both(block, source)
        assert isinstance(full, np.ndarray) and isinstance(rows, IndexedSlices)
        assert rows.indices.tolist() == indices and rows.dense_shape == (4, 3)
        assert rows.values.shape == (len(indices), 3)
        np.testing.assert_allclose(np.asarray(rows), full)


def overwritten(w):
    rows = w[numbers]
    rows[0] = 1.0
    return np.sum(rows * rows)


def numbers_that_change(w):
    chosen = numbers.copy()
    rows = w[chosen]
    chosen[0] = 1
    return np.sum(rows**2)


def in_a_loop(w):
    total = 0.0
    for k in range(len(numbers)):
        total = total + np.sum(w[numbers[k:]] ** 2)
    return total


def in_a_branch(w):
    if w[0, 0] < 100.0:
        return np.sum(w[numbers] ** 2)
    return np.sum(w[numbers])


@pytest.mark.parametrize(
    "block",
    [
        overwritten,
        numbers_that_change,
        in_a_loop,
        in_a_branch,
        lambda w: np.sum(w[numbers] ** 2) + np.sum(w),
        lambda w: np.sum(w[:, numbers[:2]] ** 2),
        lambda w: np.sum(w[1] ** 2),
        lambda w: np.sum(w[numbers, :2] ** 2),
    ],
)
def test_an_array_where_more_than_rows_is_used(block):
    full, rows = both(block, table())
    assert isinstance(rows, np.ndarray)
    np.testing.assert_array_equal(rows, full)


def test_a_table_of_numbers_and_structures():
    x, w, other = constant([1.0, 2.0, 3.0]), table(), constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        y = np.sum(x[numbers[:2]] ** 2) * other
    found = tape.gradient(y, {"x": x, "w": w, "other": other}, indexed_slices=True)
    assert found["x"].values.tolist() == [12.0, 4.0] and found["w"] is None and found["other"] == 10.0
    assert tape.gradient(y, [x])[0].tolist() == [4.0, 0.0, 12.0]


def test_a_training_loop():
    dense, sparse = table(), table()
    for k in range(4):
        chosen = np.array([k, 0, k])
        for w in (dense, sparse):
            with GradientTape() as tape:
                loss = np.mean((w[chosen] - 0.5) ** 2)
            if w is dense:
                w.assign_sub(0.5 * tape.gradient(loss, w))
            else:
                w.scatter_sub(0.5 * tape.gradient(loss, w, indexed_slices=True))
    np.testing.assert_allclose(sparse.numpy(), dense.numpy())


def test_no_array_of_the_tables_shape_is_made():
    """A table whose gradient would not fit into memory as an array."""
    big = np.broadcast_to(np.float64(1.0), (50_000_000, 1_000))
    rows = IndexedSlices(np.ones((2, 1_000)), [7, 7], big.shape)
    assert (2.0 * -rows / 4.0).values[0, 0] == -0.5 and rows.shape == big.shape


def test_arithmetic():
    rows = IndexedSlices([[1.0], [2.0], [3.0]], [1, 0, 1], (3, 1))
    full = np.array([[2.0], [4.0], [0.0]])
    assert np.array_equal(rows, full)
    for scaled in (np.float64(2.0) * rows, rows * 2, -rows * -2.0, rows / np.float32(0.5)):
        assert isinstance(scaled, IndexedSlices) and np.array_equal(np.asarray(scaled), 2.0 * full)
    ones = np.ones((3, 1))
    assert np.array_equal(ones - rows, ones - full) and np.array_equal(rows + ones, ones + full)
    assert np.array_equal(rows - ones, full - ones) and np.array_equal(ones * 3.0 * rows, 3.0 * full)
    assert np.array_equal(Variable(ones).assign_sub(rows).numpy(), ones - full)
    assert np.array_equal(Variable(ones).scatter_add(rows).numpy(), ones + full)
    assert "dense_shape=(3, 1)" in repr(rows)
    for made in (copy.copy(rows), copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert np.array_equal(made, full)


def test_errors():
    with pytest.raises(ValueError, match="are no rows of an array of shape"):
        IndexedSlices(np.ones((2, 3)), [0], (4, 3))
    rows = IndexedSlices(np.ones((1, 3)), [0], (4, 3))
    with pytest.raises(ValueError, match=r"has shape \(3,\); the rows are of an array of \(4, 3\)"):
        Variable(np.ones(3)).scatter_sub(rows)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(rows, copy=False)


def test_in_lowered_code():
    x = constant([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x[numbers[:2] % 2])
        rows = tape.gradient(y, x, indexed_slices=True)
        z = np.sum(x)
    assert rows.indices.tolist() == [0, 0]
    with pytest.raises(LoweringError, match="`indexed_slices` of a tape inside another one, or in a compiled function"):
        outer.gradient(z, x)


def test_the_example_of_the_docstring():
    names = {"GradientTape": GradientTape, "constant": constant}
    result = doctest.testmod(tapec_runtime.indexed_slices, extraglobs=names)
    assert result.attempted > 3 and result.failed == 0
