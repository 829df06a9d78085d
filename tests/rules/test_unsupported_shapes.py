"""Shapes that NumPy takes and a derivative does not: the error of the run has the user's line."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
import tapec_runtime

TALL = np.array([[1.0, 0.2], [0.3, 2.0], [0.5, 0.4]])


def all_vectors(a):
    u, s, _ = np.linalg.svd(a)
    return s.sum() + u[0, 0]


def all_columns(a):
    q, r = np.linalg.qr(a, mode="complete")
    return r[0, 0] + q[0, 0]


@pytest.mark.parametrize(
    ("function", "line"), [(all_vectors, "np.linalg.svd(a)"), (all_columns, 'np.linalg.qr(a, mode="complete")')]
)
def test_vectors_that_are_any_are_refused_at_the_line(function, line):
    gradient = tapec.grad(function)
    with pytest.raises(tapec_runtime.Unsupported) as caught:
        gradient(TALL)
    assert line in str(caught.value)
    assert np.isfinite(gradient(TALL[:2])).all()
