"""What an iteration adds to the next elements of rows is carried along them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.loops.register_rotation import rotate_rows
from tests.optimise.reading import check
from tests.oracles import check as check_derivative
from tests.oracles import clone, interpreted
from tests.sampling import sampled

NEST = """
def f(A, x, n, n_1):
    for i in range(n):
{iterations}
    return A
"""


def nest(iterations: str) -> str:
    return NEST.format(iterations="\n".join(f"        {line}" for line in iterations.splitlines()))


CROSS = """for j in range(n_1):
    y = x * x
    i_1 = i - 1
    A[i_1, j] += y
    i_2 = i + 1
    A[i_2, j] += y
    k = j + 1
    A[i, j] += y
    A[i, k] += x"""


def test_a_cross_is_carried_along_its_own_row():
    check(
        rotate_rows,
        before=nest(CROSS),
        after=nest(
            """A_carried = 0.0
for j in range(n_1):
    y = x * x
    i_1 = i - 1
    A[i_1, j] += y
    i_2 = i + 1
    A[i_2, j] += y
    k = j + 1
    t = y + A_carried
    A[i, j] += t
    A_carried = x
t_1 = 0 < n_1
if t_1:
    A[i, n_1] += A_carried"""
        ),
    )


def test_each_row_of_several_is_carried():
    rows = """for j in range(n_1):
    k = j + 1
    i_2 = i + 1
    A[i, j] += x
    A[i, k] += x
    A[i_2, j] += x
    A[i_2, k] += x"""
    check(
        rotate_rows,
        before=nest(rows),
        after=nest(
            """A_carried = 0.0
A_carried_1 = 0.0
for j in range(n_1):
    k = j + 1
    i_2 = i + 1
    t = x + A_carried
    A[i, j] += t
    A_carried = x
    t_2 = x + A_carried_1
    A[i_2, j] += t_2
    A_carried_1 = x
t_1 = 0 < n_1
if t_1:
    A[i, n_1] += A_carried
t_3 = 0 < n_1
if t_3:
    t_4 = i + 1
    A[t_4, n_1] += A_carried_1"""
        ),
    )


@pytest.mark.parametrize(
    "iterations",
    [
        # iterations that keep to a row of their own may run in lanes
        "for j in range(n_1):\n    k = j + 1\n    A[i, j] += x\n    A[i, k] += x",
        # the row is another one in each iteration
        "i_2 = i + 1\nfor j in range(n_1):\n    k = j + 1\n    A[j, i] += x\n    A[k, i_2] += x",
        # the array is read
        f"{CROSS}\n    z = A[i, j]",
        # it is overwritten
        f"{CROSS}\n    A[i, j] = x",
        # two additions to one element
        CROSS.replace("k = j + 1", "k = j + 0"),
    ],
)
def test_other_nests_stay(iterations: str):
    check(rotate_rows, nest(iterations), nest(iterations))


def water(h, u, v, steps):
    """Three fields that move each other; the last array has rows of another kind at its ends."""
    h, u, v = h.copy(), u.copy(), v.copy()
    g, p, q = h.copy(), u.copy(), v.copy()
    n, m = h.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                p[i, j] = u[i, j] - 0.1 * (h[i + 1, j] - h[i - 1, j] + u[i, j] * (u[i, j + 1] - u[i, j - 1]))
                q[i, j] = v[i, j] - 0.1 * (h[i, j + 1] - h[i, j - 1] + u[i, j] * (v[i + 1, j] - v[i - 1, j]))
                g[i, j] = h[i, j] - 0.1 * (u[i + 1, j] * h[i + 1, j] - v[i, j - 1] * h[i, j - 1])
        h, g, u, p, v, q = g, h, p, u, q, v
    return np.sum(h * u + v * v)


def staggered(e, c, steps):
    """Two half steps: differences forward, then backward, in place."""
    e = e.copy()
    hx, hy = np.zeros_like(e), np.zeros_like(e)
    n, m = e.shape
    for _ in range(steps):
        for i in range(n - 1):
            for j in range(m - 1):
                hx[i, j] -= 0.5 * (e[i, j + 1] - e[i, j])
                hy[i, j] += 0.5 * (e[i + 1, j] - e[i, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                e[i, j] += c[i, j] * (hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1])
    return np.sum(e * e)


def backward(x, c, steps):
    """Rows and columns from the last one, nine points wide, two columns further on."""
    x, y = x.copy(), x.copy()
    n, m = x.shape
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 3, 0, -1):
                around = x[i - 1, j - 1] + x[i + 1, j + 2] * x[i, j] + x[i - 1, j + 1] + x[i + 1, j - 1]
                y[i, j] = c[i, j] * (around + x[i, j + 2] + x[i, j - 1] + x[i - 1, j] * x[i + 1, j])
        x, y = y, x
    return np.sum(x * x)


def box(x, c, steps):
    """A cross in three dimensions, of an array that stands twice in it."""
    x = np.stack((x, c, x * c))
    y = x.copy()
    for _ in range(steps):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                for k in range(1, x.shape[2] - 1):
                    around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k]
                    y[i, j, k] = 0.2 * (around + x[i, j, k - 1] - x[i, j, k + 1]) ** 2
        x, y = y, x
    return np.sum(x)


SHAPES = [(0, 3), (1, 1), (2, 2), (3, 3), (3, 4), (5, 9), (7, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("f", sampled([staggered, backward, box], 3))
def test_results_are_those_of_the_textbook_adjoint(f):
    assert "_carried" in tapec.emit(f, wrt=(0, 1), signature="f8[:,::1],f8[:,::1],i8", opt_level=2)
    with interpreted():
        fast, plain = (tapec.value_and_grad(f, wrt=(0, 1), opt_level=level) for level in (2, 0))
        rng = np.random.default_rng(2)
        for shape in SHAPES:
            args = rng.normal(size=shape), rng.normal(size=shape)
            for given in (args, tuple(one.astype(np.float32) for one in args)):
                (value, found), (expected, wanted) = (g(*clone(given), 3) for g in (fast, plain))
                rtol = 1e-12 if given is args else 2e-4
                np.testing.assert_allclose(value, expected, rtol=rtol)
                for one, other in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max(initial=1.0))


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (6, 9)], ids=str)
def test_three_fields_compiled(shape):
    rng = np.random.default_rng(4)
    args = tuple(1.0 + 0.2 * rng.normal(size=shape) for _ in range(3))
    check_derivative(water, (*args, 3), (0, 1, 2))


def test_nests_on_threads_do_not_carry():
    signature = "f8[:,::1],f8[:,::1],i8"
    assert "_carried" not in tapec.emit(staggered, wrt=(0, 1), signature=signature, parallel=True, opt_level=2)


def test_what_is_carried_is_told():
    notes = tapec.explain(staggered, wrt=0, signature="f8[:,::1],f8[:,::1],i8").notes
    told = {str(note) for note in notes if note.by == "register_rotation"}
    assert told == {
        f"carried over: an addition to the next iteration's element of `{array}` is carried to that iteration"
        for array in ("e_bar", "hx_bar")
    }
