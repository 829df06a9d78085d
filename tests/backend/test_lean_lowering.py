"""Elements and variables in fewer instructions: what Numba's own code computes, and memory is given back."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import tapec
from tapec.backend.numba_internals import lean_compiler
from tapec.options import DEFAULT
from tests.sampling import sampled

pytestmark = pytest.mark.optimised


def elements(rows, columns, flags, small, k):
    u = np.uint64
    view = rows[::2, 1:]
    first = rows[1, -1] + columns[-1, 0] * view[0, -2] + rows[u(1), u(2)] + columns[u(0), k]
    rows[-1, k] = first
    columns[k, -1] = 3
    view[0, -1] = small[-1] + first
    small[k] = first
    flags[-k] = first > 2.0
    flags[u(0)] = not flags[k]
    line = rows[k]
    line[-1] += flags[0] + small[u(1)]
    return first, line[0], view[0, 0], flags[-1]


def names(n, x):
    for i in range(n):
        if i % 3 == 0:
            kept = x[: i + 1] * 2.0
        elif i % 3 == 1:
            kept = np.zeros(i)
        for j in range(i, -1, -1):
            part = kept[j:]
            if part.size > 1 and part[0] > 1.0:
                kept = part + 1.0
            x[0] += 1e-3 * part.size
    a, b = kept, x
    for _ in range(n):
        a, b = b, a * 0.5
        if a.size > 5:
            raise ValueError("as long as it gets")
    return a[0] + b.sum(), a


def powers(x, single, n):
    square = x**2
    inverse = 1.0 if x == 0.0 else x**-3, 1.0 if single == 0.0 else single**-2
    return square, x**1, x**7, x**13, *inverse, x**n, x**2.0, single**3, n**3, x**100000


def both(function):
    return numba.njit(function), numba.njit(**lean_compiler.flags(DEFAULT))(function)


@pytest.mark.slow
def test_elements_are_where_numba_finds_them():
    results = []
    for compiled in both(elements):
        rng = np.random.default_rng(0)
        arrays = [
            rng.normal(size=(4, 5)),
            np.asfortranarray(rng.integers(0, 9, size=(3, 4))),
            np.array([True, False, True]),
            rng.normal(size=3).astype(np.float32),
        ]
        results.append((compiled(*arrays, 1), *arrays))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_powers_have_the_bits_of_numbas():
    theirs, ours = both(powers)
    for x in (1.1, -0.3, 1e-50, 1e200, np.nan, -np.inf, -0.0):
        args = x, np.float32(min(x, 1e3)), 3
        found, expected = ours(*args), theirs(*args)
        np.testing.assert_array_equal(found, expected)
        assert [type(one) for one in found] == [type(one) for one in expected]


def inverses(r):
    total = 0.0
    for i in range(r.shape[0]):
        total += r[i] ** -1
    return total


def test_negative_powers_are_infinite_at_zero_as_quotients_are():
    value, gradient = tapec.value_and_grad(inverses)(np.array([1e-200, 2.0]))
    assert value == 1e200
    np.testing.assert_array_equal(gradient, [-np.inf, -0.25])
    assert tapec.jvp(inverses, (np.array([0.0, 2.0]),), (np.array([0.0, 1.0]),))[0] == np.inf


@pytest.fixture
def counted():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize("length", sampled([3, 8], 2))
def test_arrays_live_as_long_as_their_names(length, counted):
    compiled = numba.njit(**lean_compiler.flags(DEFAULT))(names)
    x, y = np.linspace(0.1, 2.0, length), np.linspace(0.1, 2.0, length)
    for _ in range(3):
        before = rtsys.get_allocation_stats()
        if length > 5:
            for function in (compiled, names):
                with pytest.raises(ValueError, match="as long"):
                    function(length, x if function is compiled else y)
        else:
            found, expected = compiled(length, x), names(length, y)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])
            del found
        np.testing.assert_array_equal(x, y)
        after = rtsys.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free
