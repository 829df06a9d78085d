"""Slices whose bounds only the run knows: which are equally long, which must be, and which have one element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import float64, int64

import tapec
from tests.oracles import arr, check, interpreted
from tests.sampling import sampled

VECTOR, MATRIX = float64[::1], float64[:, ::1]


def limited_flux(field, scale):
    rows = scale.shape[0]
    lap = 2.0 * field[1 : rows + 3] - field[2 : rows + 4] - field[0 : rows + 2]
    flux = np.where(lap[1:] > lap[:-1], lap[1:], 0.0)
    return field[2 : rows + 2] - scale * (flux[1:] - flux[:-1])


def triangle(a, b):
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        out[i, i:] = a[i, i:] * b[i] - 2.0 * a[0, i:]
        out[i, : i + 1] += a[i, : i + 1] * a[0, : i + 1]
    return out


def windows(image, weights):
    k = weights.shape[0]
    out = np.empty(image.shape[0] - k + 1)
    for i in range(out.shape[0]):
        out[i] = np.sum(image[i : i + k] * weights)
    return out


def columns(p):
    x, y = p[:, 0:1], p[:, 1:2]
    return 1.0 / ((x.T - x) ** 2 + (y.T - y) ** 2 + 1.0)


def blocks(x, size):
    total = 0.0
    for first in range(0, x.shape[0], size):
        total += np.sum(x[first : first + size] * x[first : first + size])
    return total


PROGRAMS: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
    (limited_flux, (arr(9), arr(5)), (VECTOR, VECTOR)),
    (triangle, (arr(4, 4), arr(4)), (MATRIX, VECTOR)),
    (windows, (arr(7), arr(3)), (VECTOR, VECTOR)),
    (columns, (arr(5, 2),), (MATRIX,)),
    (blocks, (arr(7), 3), (VECTOR, int64)),
]


def named(one: Any) -> str:
    return getattr(one, "__name__", "")


@pytest.mark.parametrize(("program", "args"), sampled([one[:2] for one in PROGRAMS], 2), ids=named)
def test_derivatives(program: Any, args: Any):
    with interpreted():
        check(program, args, forward_level=0)


@pytest.mark.parametrize(
    ("program", "types"),
    [(program, types) for program, _, types in PROGRAMS if program is not triangle],
    ids=named,
)
def test_no_operand_may_be_stretched(program: Any, types: Any):
    def target(*args):
        return np.sum(program(*args))

    text = tapec.emit(target, signature=types, opt_level=2)
    assert "could not be broadcast together\")" not in text and "step" not in text


def test_a_slice_that_its_array_cuts_short_is_refused():
    def flux(field, scale):
        return np.sum(limited_flux(field, scale))

    def distances(p):
        return np.sum(columns(p))

    with interpreted():
        for function, args in ((flux, (arr(8), arr(5))), (distances, (arr(3, 1),))):
            with pytest.raises(ValueError, match="an array ends before a slice of it does"):
                tapec.grad(function)(*args)


def test_what_is_not_meant_to_be_as_long_is_stretched():
    def scaled(x, y, n, m):
        return np.sum(x[0:n] * y[0:m])

    with interpreted():
        found = tapec.grad(scaled)(arr(5), arr(4), 5, 1)
    np.testing.assert_allclose(found, np.full(5, arr(4)[0]))


def weighted(u, centre, width):
    n = centre.shape[0]
    total = np.zeros(n)
    for i in range(width):
        s = u[i : i + n]
        w = np.exp(-((s - centre) ** 2))
        total += w * s
    return np.sum(total * total)


def test_what_was_compared_is_known_to_be_as_long():
    # what the weights and their product with the slice are loops over is known to be one extent: one loop
    source = tapec.value_and_grad(weighted).source(VECTOR, VECTOR, int64)
    assert source.count("could not be broadcast together") == 1 and "w = np.empty" not in source
    with interpreted():
        check(weighted, (np.linspace(0.1, 0.9, 7), np.linspace(-0.5, 0.5, 5), 3), wrt=(0, 1), forward_level=0)


def perhaps(u, v, k):
    n = v.shape[0]
    s = u[1 : n + 1]
    total = 0.0
    if k > 1:
        total += np.sum(s * v)
    for _ in range(k - 1):
        total += np.sum(s * v)
    return total + np.sum(s * v)


@pytest.mark.parametrize("k", [1, 2])
def test_what_was_compared_in_a_branch_or_loop_is_not_known_after_it(k):
    with interpreted():
        check(perhaps, (np.linspace(0.1, 0.9, 4), np.linspace(-0.5, 0.5, 3), k), wrt=(0, 1), forward_level=0)
        with pytest.raises(ValueError, match="an array ends before a slice of it does"):
            tapec.grad(perhaps)(np.linspace(0.1, 0.9, 3), np.linspace(-0.5, 0.5, 3), k)


def patches(image, kernel):
    n, h, w, c = image.shape
    padded = np.zeros((n, h + 2, w + 2, c))
    padded[:, 1:-1, 1:-1] = image
    columns = np.concatenate([padded[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=3)
    made = (columns.reshape(n * h * w, 9 * c) @ kernel).reshape(n, h, w, -1)
    return np.sum(np.sin(made) * kernel[0])


@pytest.mark.slow
def test_slices_of_an_array_with_a_border_are_as_long_as_what_is_inside():
    source = tapec.grad(patches).source(float64[:, :, :, ::1], MATRIX)
    assert "must match" not in source and "broadcast" not in source
    # one nest pads an image and puts its shifted copies together
    assert source.partition("np.dot")[0].count("\n    for i in ") == 1
    with interpreted():
        check(patches, (arr(2, 3, 3, 2), arr(18, 2)), wrt=(0, 1), forward_level=0)


@pytest.mark.parametrize("shape", [(0, 3, 3, 2), (2, 0, 3, 2)])
def test_an_extent_that_is_left_open_needs_elements_as_in_numpy(shape):
    with interpreted():
        for function in (patches, tapec.grad(patches)):
            with pytest.raises(ValueError, match="cannot be reshaped|cannot reshape"):
                function(np.ones(shape), arr(18, 2))


def growing(x, m, k):
    total = 0.0
    n = 1
    for _ in range(k):
        made = np.zeros((n, m, 2)) + x[0]
        rows = made.reshape(m, -1)
        n = n + 1
        total += np.sum(rows[:, 0] * x[1]) + rows.shape[1] * x[0]
    return total + np.sum(np.ones((n, m)).reshape(n, -1)[0] * x[2])


def test_a_quotient_of_extents_is_that_of_its_iteration():
    with interpreted():
        check(growing, (arr(3), 2, 3), wrt=(0,), forward_level=0)
