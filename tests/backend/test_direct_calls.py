"""Calls of NumPy without the functions of Numba for them: the results and errors are the same."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from numba.core import compiler

from tapec.backend.numba_internals import lean_compiler
from tapec.options import DEFAULT

pytestmark = pytest.mark.optimised


def jitted(function):
    return numba.njit(**lean_compiler.flags(DEFAULT))(function)


@pytest.fixture
def compiled(monkeypatch):
    """The names of the functions that Numba has compiled."""
    names, original = [], compiler.CompilerBase._compile_core

    def recorded(self):
        names.append(self.state.func_id.func_name)
        return original(self)

    monkeypatch.setattr(compiler.CompilerBase, "_compile_core", recorded)
    return names


def arrays(n, m):
    made = np.empty((n, m))
    made[:] = 1.5
    return (
        made,
        np.zeros(n),
        np.zeros((2, n, m), dtype=np.bool_),
        np.empty(64, np.int64),
        np.zeros(()),
        max(n, m),
        min(n, m),
    )


def test_arrays_are_made_in_place(compiled):
    f = jitted(arrays)
    for shape in ((3, 4), (0, 5), (1, 0)):
        for found, expected in zip(f(*shape), arrays(*shape), strict=True):
            assert np.shape(found) == np.shape(expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            assert np.asarray(found).strides == np.asarray(expected).strides or not np.size(found)
            if np.shape(found) != (64,):
                np.testing.assert_array_equal(found, expected)
    assert compiled == ["arrays"]
    for shape, error, said in (
        ((-1, 2), ValueError, "negative dimensions not allowed"),
        ((2, -1), ValueError, "negative dimensions not allowed"),
        ((2**40, 2**40), ValueError, "array is too big"),
        ((2**29, 2**29), MemoryError, "Allocation failed"),
    ):
        with pytest.raises(error, match=said):
            f(*shape)


def test_other_forms_are_left_to_numba():
    def others(n):
        return np.empty(np.int32(n)).size, max(1.5, n), min(n, 2, 1)

    assert jitted(others)(2) == others(2)


def permuted(a, axes):
    return np.transpose(a, axes)


@pytest.mark.slow
def test_axes_are_permuted_in_place(compiled):
    f = jitted(permuted)
    x = np.arange(24.0).reshape(2, 3, 4)
    for axes in ((0, 1, 2), (2, 0, 1), (-1, -3, -2)):
        found, expected = f(x, axes), np.transpose(x, axes)
        assert found.strides == expected.strides and np.shares_memory(found, x)
        np.testing.assert_array_equal(found, expected)
    assert compiled == ["permuted"]
    for axes, said in (((0, 1, 3), "out of bounds"), ((-4, 1, 2), "out of bounds"), ((0, 2, -1), "repeated axis")):
        with pytest.raises(ValueError, match=said):
            f(x, axes)
    # a view keeps the memory, what may not be written stays so, and an array may have any layout
    assert jitted(lambda n: np.transpose(np.ones((n, 2)), (1, 0)))(3).sum() == 6.0
    x.flags.writeable = False
    assert not f(x[:, ::2], (1, 0, 2)).flags.writeable
    assert f(np.zeros((0, 3)), (1, 0)).shape == (3, 0)
    assert f(x, None).shape == (4, 3, 2)


def product(a, b):
    return np.dot(a, b)


@pytest.mark.slow
def test_products_call_blas(compiled):
    f = jitted(product)
    rng = np.random.default_rng(1)
    for rows, inner, columns in itertools.product((0, 1, 3), (0, 1, 4), (0, 1, 5)):
        a, b = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns))
        v = rng.normal(size=inner)
        for x, y in ((a, b), (np.asfortranarray(a), np.asfortranarray(b)), (a, v), (v, b)):
            found = f(x, y)
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found, x @ y, rtol=1e-13, atol=1e-14)
    assert set(compiled) == {"product"}
    for x, y, said in (
        (np.ones((2, 3)), np.ones((2, 3)), "matrix . matrix"),
        (np.ones((2, 3)), np.ones(2), "matrix . vector"),
        (np.ones(3), np.ones((2, 2)), "vector . matrix"),
    ):
        with pytest.raises(ValueError, match=f"incompatible array sizes for np.dot.*{said}"):
            f(x, y)
