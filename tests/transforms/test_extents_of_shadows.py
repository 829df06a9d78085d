"""Adjoints of products, inverses and factors, which the reverse sweep makes anew where extents tell how large."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tests.oracles import check, interpreted
from tests.sampling import sampled


def covariance(a, q):
    p = np.eye(a.shape[0])
    for _ in range(3):
        p = a @ p @ a.T + q
    return np.sin(p).sum()


def updates(a, q):
    """A filter's: the inverse is used in other products, whose results are added to other matrices."""
    p = q.copy()
    x = q[0].copy()
    total = 0.0
    for _ in range(3):
        p = a @ p + q
        s = p @ p.T + np.eye(a.shape[0])
        inverse = np.linalg.inv(s)
        gain = p @ inverse
        x = x + gain @ x
        total += x @ inverse @ x
        p = p - gain @ p
    return total + p.sum()


def factors(a, q):
    total = 0.0
    for k in range(3):
        lower = np.linalg.cholesky(a @ a.T + (k + 1.0) * np.eye(a.shape[0]))
        solved = np.linalg.solve(lower, q)
        total += np.log(np.diag(lower)).sum() + np.tanh(solved + q).sum()
    return total


def narrowing(a, q):
    """Each iteration's product has one row less than the one before."""
    x = q.copy()
    for k in range(a.shape[0] - 1, 0, -1):
        x = np.tanh(a[:k, : k + 1] @ x) + 1.0
    return (x * x).sum()


def of_either(a, q):
    """The factor is another one in every other iteration, of other extents."""
    w = a
    total = 0.0
    for k in range(4):
        y = w @ q[: w.shape[1]] + 0.5
        total += (y * y * y).sum()
        w = a[:2] if k % 2 == 0 else a[:, :2]
    return total


PROGRAMS = (covariance, narrowing, updates, factors, of_either)


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled(PROGRAMS, 3), ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any], rng: np.random.Generator):
    args = 0.5 * rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    with interpreted():
        check(f, args, wrt=(0, 1), forward_level=0)


@pytest.mark.parametrize("f", [covariance, factors], ids=lambda f: f.__name__)
def test_no_list_keeps_adjoints(f: Callable[..., Any]):
    """But those of arrays that are set in iterations and read in later ones."""
    text = tapec.emit(f, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=0)
    kept = re.findall(r"(\w+)_bar_stack = ", text)
    assert not [name for name in kept if name.startswith("t")]


@pytest.mark.slow
def test_an_inverse_has_the_extents_of_its_matrix():
    """So that products with it may have a form for few elements, and what their loops keep is in buffers."""
    text = tapec.emit(updates, (0, 1), signature="f8[:, ::1], f8[:, ::1]", opt_level=2)
    few, _, _ = text.partition("_larger(")[2].partition("@numba.njit")
    assert "gain = np.dot(" not in few and "_bar_stack" not in few and "[0.0][:0]" not in few
