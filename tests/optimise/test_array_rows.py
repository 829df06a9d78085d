"""Expressions over the rows of matrices: what is written with whole arrays runs row by row."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests import oracles


def log_softmax(m, t):
    z = m - m.max(axis=1)[:, None]
    return -(t * (z - np.log(np.exp(z).sum(axis=1))[:, None])).sum()


def layer_norm(m, g):
    mean = m.mean(axis=1)[:, None]
    variance = ((m - mean) ** 2).mean(axis=1)[:, None]
    y = (m - mean) / np.sqrt(variance + 1e-5) * g
    return (y * y * y).sum()


def distances(m, t):
    return np.exp(-((m[:, None, :] - t[None, :, :]) ** 2).sum(axis=2)).sum()


def outer(m, g):
    return (np.sin(m)[:, :, None] * g[None, None, :] + m[:, :, None]).sum() * g[0]


CASES = [
    (log_softmax, [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 4), (3, 1)), ((1, 1), (3, 4))]),
    (layer_norm, [((3, 4), (4,)), ((3, 4), (1,)), ((3, 1), (4,))]),
    (distances, [((3, 2), (4, 2)), ((3, 2), (1, 2)), ((3, 2), (4, 1)), ((1, 1), (4, 2))]),
    (outer, [((3, 2), (4,)), ((1, 2), (1,))]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("f", "shapes"), CASES)
def test_rows_have_the_derivatives_of_arrays(rng: np.random.Generator, f, shapes):
    with oracles.interpreted():
        made, plain = tapec.value_and_grad(f, (0, 1)), tapec.value_and_grad(f, (0, 1), opt_level=1)
        for shape in shapes:
            args = [rng.normal(size=one) for one in shape]
            value, gradients = made(*args)
            np.testing.assert_allclose(value, f(*args), rtol=1e-12)
            for one, other in zip(gradients, plain(*args)[1], strict=True):
                assert one.shape == other.shape, shape
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=str(shape))


def lines(f):
    """The statements of the form for operands of one shape, from its condition on."""
    made = tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2).rpartition("@numba.njit")[0]
    text = made[made.index("\n    if ") :].splitlines()
    return [line for line in text if line.strip() and not line.strip().startswith("#")]


@pytest.mark.slow
def test_one_loop_does_all_that_a_row_needs():
    assert sum(line.startswith("    for ") for line in lines(log_softmax)) == 1


def test_an_axis_that_is_certainly_one_is_not_compared():
    condition, *rest = lines(distances)
    assert " and " not in condition and condition.count(".shape[1]") == 2
    assert not any("raise" in line or "None" in line for line in rest)
