"""Buffers that an iteration writes as rows of the store in which the next iteration would keep them."""

from __future__ import annotations

import textwrap
from unittest import mock

import numba
import numpy as np
import pytest

import tapec
from tapec import optimise
from tapec.backend import printer
from tapec.optimise.buffers.row_copies import drop_row_copies
from tests.optimise.reading import check, read
from tests.oracles import clone, interpreted
from tests.programs.overwriting import make_water, shallow_water

STEPS = """
def f(a_6, n, m, s):
    a = np.zeros(n)
    a_1 = np.zeros({extent})
    S = np.{made}((m, n))
    a_2 = a
    a_3 = a_1
    for k in range(m):
        a_4 = S[k]
        n_1 = a_2.shape[0]
        for i in range(n_1):
            t = a_2[i]
            a_4[i] = t
        n_2 = n - 1
        {extra}
        for i_1 in range({bounds}):
            i_2 = i_1 - 1
            u = a_2[i_2]
            {body}
        a_5 = a_2
        a_2 = a_3
        a_3 = a_5
    {after}
    for k_1 in range(m):
        a_7 = S[k_1]
        for i_3 in range(n):
            v = a_7[i_3]
            a_6[i_3] += v
    return s
"""


def steps(body="a_3[i_1] = u", made="empty", extent="n", bounds="1, n_2", extra="w = s + s", after="z = s + s"):
    lines = {"body": body.replace("\n", "\n            "), "extra": extra.replace("\n", "\n        ")}
    return STEPS.format(**lines, made=made, extent=extent, bounds=bounds, after=after)


def test_the_row_is_filled_where_it_is_kept():
    check(
        drop_row_copies,
        before=steps("w_1 = a_3[i_1]\nx = w_1 + u\na_3[i_1] = x"),
        after="""
        def f(a_6, n, m, s):
            a = np.zeros(n)
            a_1 = np.zeros(n)
            size_3 = m + 1
            S = np.empty((size_3, n))
            a_2 = a
            a_3 = a_1
            size = min(1, n)
            size_1 = n - 1
            size_2 = max(size, size_1)
            a_4_1 = S[0]
            for i_4 in range(n):
                t_1 = a_2[i_4]
                a_4_1[i_4] = t_1
            a_2 = a_4_1
            for k in range(m):
                t_2 = k + 1
                a_4_2 = S[t_2]
                for i_5 in range(size):
                    t_3 = a_3[i_5]
                    a_4_2[i_5] = t_3
                for i_6 in range(size_2, n):
                    t_4 = a_3[i_6]
                    a_4_2[i_6] = t_4
                a_3_1 = a_3
                a_3 = a_4_2
                n_2 = n - 1
                w = s + s
                for i_1 in range(1, n_2):
                    i_2 = i_1 - 1
                    u = a_2[i_2]
                    w_1 = a_3_1[i_1]
                    x = w_1 + u
                    a_3[i_1] = x
                a_5 = a_2
                a_2 = a_3
                a_3 = a_5
            z = s + s
            for k_1 in range(m):
                a_7 = S[k_1]
                for i_3 in range(n):
                    v = a_7[i_3]
                    a_6[i_3] += v
            return s
        """,
    )


@pytest.mark.parametrize(
    "how",
    [
        # what is read of the buffer may be what the iteration has written, or not
        {"body": "w_1 = a_3[i_2]\nx = w_1 + u\na_3[i_1] = x"},
        {"extra": "w = a_3[0]"},
        # not every element of a box
        {"body": "if c:\n    a_3[i_1] = u"},
        {"body": "a_3[i_1] += u"},
        {"body": "a_3[0] = u"},
        {"bounds": "k, n"},
        # what is kept changes, in the iteration or afterwards
        {"body": "a_3[i_1] = u\na_2[i_1] = s"},
        {"after": "a_3[0] = s"},
        {"after": "S[0, 0] = s"},
        {"extra": "S[0, 0] = s"},
        # another name, which may be stored into
        {"extra": "a_11 = a_2[:n]\na_11[0] = s"},
        {"after": "a[0] = s"},
        # more than rows is asked of the store, or it is larger than the array
        {"made": "zeros"},
        {"after": "n_9 = S.shape[0]"},
        {"after": "a_11 = S[:, 0]"},
        {"extra": "w = a_4[0]"},
        {"extent": "m"},
    ],
)
def test_other_copies_stay(how):
    program = read(steps(**how))
    before = textwrap.dedent(printer.function(program, quote=False))
    assert printer.function(drop_row_copies(program), quote=False) == before


def three_levels(u0, speed, steps):
    """Waves in two dimensions: three buffers change places, the corners of which are never written."""
    n, m = u0.shape
    old, now, new = u0.copy(), u0.copy(), np.zeros((n, m))
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(2, m - 1):
                around = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] * now[i, j - 2]
                new[i, j] = 2.0 * now[i, j] * speed[i, j] - old[i, j] * now[i, j] + speed[i, j] * around * now[i, j]
        old, now, new = now, new, old
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += now[i, j] * now[i, j] * (1.0 + i + j)
    return total


def water_of(rng, n, iterations):
    return (*(0.1 * rng.random((n + 1, n + 2)) for _ in range(3)), 0.1, iterations)


def waves_of(rng, n, iterations):
    return 0.3 * rng.normal(size=(n, n + 1)), rng.random((n, n + 1)), iterations


@pytest.mark.slow
@pytest.mark.parametrize(("f", "make", "wrt"), [(shallow_water, water_of, (0, 1, 2)), (three_levels, waves_of, (0, 1))])
def test_gradients_are_the_same_without(rng, f, make, wrt):
    """The same bits, for few iterations and for extents at which nothing is written."""
    cases = [make(rng, n, iterations) for n in (1, 2, 4) for iterations in (0, 1, 3)]
    results = []
    for passes in (optimise.IN_PLACE, ()):
        with interpreted(), mock.patch.object(optimise, "IN_PLACE", passes):
            gradient = tapec.value_and_grad(f, wrt=wrt, cache=False)
            results.append([gradient(*clone(args)) for args in cases])
    for (value, mine), (wanted, expected) in zip(*results, strict=True):
        np.testing.assert_array_equal(value, wanted)
        for one, other in zip(mine, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_it_is_told():
    types = tuple(map(numba.typeof, make_water(np.random.default_rng(1), 5)))
    assert "is written where it is kept" in str(tapec.explain(shallow_water, (0, 1, 2), types))
