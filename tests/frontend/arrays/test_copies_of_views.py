"""Copies of what may be contiguous: the program finds out whether NumPy makes one, and raises if it does not."""

from __future__ import annotations

import numpy as np
import pytest

import tapec


def written(x, n):
    y = x * 1.0
    flat = y[:, :n].ravel()
    flat[0] = 7.0 * x[1, 1]
    return (y * y).sum() + flat.sum()


def only_read(x, n):
    y = x * 1.0
    flat = y[:, :n].ravel()
    y = y * 2.0
    y[0, 0] = 7.0 * x[1, 1]
    return (y * y).sum() + flat.sum()


@pytest.mark.slow
@pytest.mark.compiled
def test_a_store_that_numpy_shows_in_both_is_an_error():
    x = np.arange(12.0).reshape(3, 4)
    derivative = tapec.value_and_grad(written)
    assert derivative(x, 2)[0] == written(x, 2)
    with pytest.raises(ValueError, match="`ravel` of a contiguous array makes no copy"):
        derivative(x, 4)


def test_no_question_is_asked_where_nobody_can_tell():
    x = np.arange(12.0).reshape(3, 4)
    assert tapec.value_and_grad(only_read)(x, 4)[0] == only_read(x, 4)
    assert "strides" not in tapec.emit(only_read, signature="float64[:, ::1], int64")
    assert "strides" in tapec.emit(written, signature="float64[:, ::1], int64")
