"""Additions to neighbours on two axes that become one nest over the elements that receive them."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import tapec
from tapec.backend import printer
from tapec.optimise.loops.gather_planes import gather_planes
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import clone

CROSS = """
    def f(A, B, n, m, s):
        n_1 = n - 1
        n_2 = m - 1
        for k in range(n):
            for i in range(1, n_1):
                i_1 = i - 1
                i_2 = i + 1
                for j in range(1, n_2):
                    u = B[i, j]
                    t = u * s
                    A[i, j] += u
                    A[i_1, j] += t
                    v = -t
                    A[i_2, j] += v
                    j_1 = j - 1
                    A[i, j_1] += t
                    j_2 = j + 1
                    A[i, j_2] += t
        return s
"""


def test_a_cross_is_gathered_from_a_plane_with_zeros_around_it():
    check(
        gather_planes,
        before=CROSS,
        after="""
        def f(A, B, n, m, s):
            n_1 = n - 1
            n_2 = m - 1
            size = n - 1
            size_1 = max(size, 0)
            size_2 = size_1 + 3
            size_3 = m - 1
            size_4 = max(size_3, 0)
            size_5 = size_4 + 3
            t_kept = np.zeros((size_2, size_5))
            size_6 = n - 1
            size_7 = size_6 > 1
            size_8 = n if size_7 else 0
            size_9 = m - 1
            size_10 = size_9 > 1
            size_11 = m if size_10 else 0
            for k in range(n):
                for i in range(1, n_1):
                    i_1 = i - 1
                    i_2 = i + 1
                    for j in range(1, n_2):
                        u = B[i, j]
                        t = u * s
                        A[i, j] += u
                        t_14 = i + 1
                        t_15 = j + 1
                        t_kept[t_14, t_15] = t
                        v = -t
                        j_1 = j - 1
                        j_2 = j + 1
                for i_3 in range(size_8):
                    for j_3 in range(size_11):
                        t_1 = i_3 + 2
                        t_2 = j_3 + 1
                        t_3 = t_kept[t_1, t_2]
                        t_4 = i_3 + 1
                        t_5 = j_3 + 2
                        t_6 = t_kept[t_4, t_5]
                        t_7 = t_3 + t_6
                        t_8 = i_3 + 1
                        t_9 = t_kept[t_8, j_3]
                        t_10 = t_7 + t_9
                        t_11 = j_3 + 1
                        t_12 = t_kept[i_3, t_11]
                        t_13 = t_10 - t_12
                        A[i_3, j_3] += t_13
            return s
        """,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # an iteration reads what others add to
        ("u = B[i, j]", "u = A[i, j]"),
        # bounds that are not those of every run of the nest
        ("for i in range(1, n_1)", "for i in range(1, k)"),
        ("for j in range(1, n_2)", "for j in range(1, i)"),
        # subscripts that count from the end in the first iteration
        ("for i in range(1, n_1)", "for i in range(n_1)"),
        # both axes count with one loop
        ("A[i_2, j] += v", "A[j, j] += v"),
        # a value that is another one at each of its additions
        ("v = -t\n", "v = -t\n                    t = u\n"),
        # as many values as elements
        (
            "A[i, j_1] += t\n                    j_2 = j + 1\n                    A[i, j_2] += t",
            "A[i, j_1] += s\n                    j_2 = j + 1\n                    A[i, j_2] += u",
        ),
    ],
)
def test_near_misses_stay(old, new):
    assert old in CROSS
    before = read(CROSS.replace(old, new))
    assert printer.function(gather_planes(before), quote=False) == printer.function(before, quote=False)


def diffuse(u, w, first, last, left, right, steps):
    """A cross with a different weight at each point, and a corner."""
    new = np.empty_like(u)
    for _ in range(steps):
        for i in range(first, last):
            for j in range(left, right):
                around = u[i - 1, j] + u[i + 2, j] + u[i, j - 1] + u[i, j + 1] - u[i + 1, j - 1]
                new[i, j] = u[i, j] ** 2 + w[i, j] * (around - 3.0 * u[i, j])
        for i in range(first, last):
            for j in range(left, right):
                u[i, j] = new[i, j]
    return np.sum(u * u)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param((1, 5, 1, 6), marks=pytest.mark.compiled),
        *((2, 4, 3, 4), (1, 1, 1, 6), (1, 5, 6, 6), (4, 5, 1, 2), (3, 1, 5, 2), (1, 2, 1, 6)),
    ],
)
def test_gathered_gradients_are_those_of_the_textbook_adjoint(bounds):
    rng = np.random.default_rng(3)
    u, w = rng.normal(size=(7, 7)), rng.normal(size=(7, 7))

    def inner(u, w, last, right, steps):
        return diffuse(u, w, 1, last, 1, right, steps)

    for f, some in ((diffuse, bounds), (inner, (bounds[1], bounds[3]))):
        found, expected = (
            tapec.value_and_grad(f, wrt=(0, 1), opt_level=level)(*clone((u, w)), *some, 2) for level in (2, 0)
        )
        for mine, wanted in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-12)
        assert found[0] == pytest.approx(expected[0], rel=1e-13)


def blocks(x, w):
    """A cross in each of several planes, which are as many as the array has."""
    out = np.zeros_like(x)
    for b in numba.prange(x.shape[0]):
        for i in range(1, x.shape[1] - 1):
            for j in range(1, x.shape[2] - 1):
                out[b, i, j] = w[i, j] * (x[b, i - 1, j] + x[b, i + 1, j] + x[b, i, j - 1] + x[b, i, j + 1])
    return np.sum(out * out * out)


def box(u0, kappa, steps):
    """A cross in three dimensions, of which the innermost loop counts the second: two of its axes are gathered."""
    u, new = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for k in range(1, u.shape[2] - 1):
                for j in range(1, u.shape[1] - 1):
                    around = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                    new[i, j, k] = kappa * (around + u[i, j, k - 1] - u[i, j, k + 1]) ** 2
        u, new = new, u
    return np.sum(u)


def turned(x, w):
    """The outer loop counts the last axis."""
    total = 0.0
    for j in range(1, x.shape[1] - 1):
        for i in range(1, x.shape[0] - 1):
            d = w * (x[i - 1, j] + x[i + 1, j] - x[i, j - 1] - x[i, j + 1])
            total += d * d
    return total


CROSSES = [pytest.param(shape) for shape in ((3, 5), (0, 3), (2, 2), (3, 3), (6, 4))]


@pytest.mark.slow
@pytest.mark.parametrize("shape", CROSSES, ids=str)
def test_crosses_of_every_size(shape):
    rng = np.random.default_rng(5)
    for f, args, signature in (
        (blocks, (rng.normal(size=(2, *shape)), rng.normal(size=shape)), "f8[:,:,::1],f8[:,::1]"),
        (box, (rng.normal(size=(3, *shape)), 0.7, 2), "f8[:,:,::1],f8,i8"),
        (turned, (rng.normal(size=shape), 1.5), "f8[:,::1],f8"),
    ):
        assert "_kept" in tapec.emit(f, wrt=(0, 1), signature=signature, opt_level=2)
        check_derivative(f, args, (0, 1))


def test_planes_are_those_of_an_iteration_where_iterations_run_on_threads():
    text = tapec.emit(blocks, signature="f8[:,:,::1],f8[:,::1]", parallel=True, opt_level=2)
    threads, _, rest = text.partition("_kept = np.empty")
    assert "numba.prange(chunks" in threads.rpartition("reverse sweep")[2]
    assert "raise" not in rest


def test_a_plane_is_told():
    notes = tapec.explain(turned, signature="f8[:,::1],f8").notes
    (told,) = [str(note) for note in notes if note.by == "gather_planes"]
    assert told == "gathered: what an iteration adds to neighbours in `x_bar` waits: each element is then written once"
