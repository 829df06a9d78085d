"""Divisions of adjoints that share a divisor."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import clone, interpreted


def elimination(a, b, c):
    """Two divisions by a pivot that changes from iteration to iteration."""
    p, q, total = 0.0, 0.0, 0.0
    for i in range(a.shape[0]):
        pivot = a[i] - b[i] * p
        p = b[i] / pivot
        q = (c[i] - q) / pivot
        total += q * q
    return total + p


def spaced(u, h):
    """A divisor that does not change in the innermost loop."""
    total = 0.0
    for k in range(3):
        step = h * (1.0 + k)
        for i in range(1, u.shape[0]):
            total += ((u[i] - u[i - 1]) / step) ** 3
    return total


def weighed(w, x):
    """A divisor that a loop has added up, beside others that do not change it."""
    total = 0.0
    for i in range(x.shape[0]):
        norm = 0.0
        for j in range(w.shape[0]):
            norm += w[j] * x[i, j]
        for k in range(3):
            for j in range(w.shape[0]):
                total += (w[j] / norm + k) ** 2
    return total


def once(a, b):
    """One division in an iteration, by a number of its own."""
    total = 0.0
    for i in range(a.shape[0]):
        total += np.sin(2.0 / (a[i] * b[i]))
    return total


def carried(a, h):
    """A divisor that the iteration before has left."""
    total, scale = 0.0, h
    for i in range(a.shape[0]):
        total += a[i] / scale + 3.0 * a[i] ** 2 / scale
        scale = scale * a[i]
    return total


def joined(a, h):
    """A divisor that a branch changes, and hands on."""
    total, scale = 0.0, h
    for i in range(a.shape[0]):
        if a[i] > 1.0:
            scale = scale * a[i]
        total += a[i] / scale + 3.0 * a[i] ** 2 / scale
    return total


def chosen(a, b):
    """A divisor that a branch of the iteration leaves."""
    total = 0.0
    for i in range(a.shape[0]):
        if a[i] > 1.0:
            depth = a[i] * b[i]
        else:
            depth = 2.0 + b[i] ** 2
        total += (a[i] / depth) ** 2 + np.sin(b[i] / depth)
    return total


def straight(x, y):
    return x / y + np.sin(x) / y


def source(f, signature, wrt=(0, 1), **options):
    return tapec.emit(f, wrt=wrt, signature=signature, **{"opt_level": 2, **options})


def test_an_iteration_divides_once():
    text = source(elimination, "f8[::1], f8[::1], f8[::1]", (0, 1, 2))
    reverse = text[text.index("# reverse sweep") :]
    assert reverse.count("inverse = 1.0 / pivot") == 1
    assert "_bar / pivot" not in reverse


def test_what_does_not_change_is_divided_by_in_advance():
    text = source(spaced, "f8[::1], f8")
    assert "inverse = 1.0 / step" in text


def test_so_is_what_an_earlier_loop_has_added_up(rng):
    text = source(weighed, "f8[::1], f8[:,::1]")
    assert text.count("inverse = 1.0 / norm") == 1 and text.count("/ norm\n") == 2
    args = rng.random(3), rng.random((4, 3))
    with interpreted():
        made, expected = (tapec.grad(weighed, wrt=(0, 1), strict=strict)(*args) for strict in (False, True))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_so_is_what_a_branch_of_the_iteration_leaves():
    text = source(chosen, "f8[::1], f8[::1]")
    assert text.count("inverse = 1.0 / depth") == 1 and text.count("/ depth\n") == 3
    text = source(joined, "f8[::1], f8")
    assert text.count("inverse = 1.0 / scale") == 1


def own(x):
    total = 0.0
    for i in range(x.shape[0]):
        w = 1.0 / (x[i] * np.sqrt(x[i]))
        total += w * w + np.sin(w)
    return total


def test_a_reciprocal_that_the_program_has_is_taken(rng):
    text = source(own, "f8[::1]", 0)
    assert "inverse" not in text and "w * w_bar * w" in text
    x = 0.5 + rng.random(6)
    with interpreted():
        made, expected = tapec.grad(own)(x), tapec.grad(own, strict=True)(x)
    np.testing.assert_allclose(made, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "signature", "options"),
    [
        (once, "f8[::1], f8[::1]", {}),
        (carried, "f8[::1], f8", {}),
        (straight, "f8, f8", {}),
        (elimination, "f8[::1], f8[::1], f8[::1]", {"strict": True}),
        (elimination, "f8[::1], f8[::1], f8[::1]", {"opt_level": 1}),
    ],
)
def test_others_divide_as_the_rule_says(f, signature, options):
    assert "inverse" not in source(f, signature, **options)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_the_same_and_gradients_up_to_rounding(rng, dtype):
    cases = [
        (elimination, (0, 1, 2), [2.0 + rng.random(5), rng.random(5), rng.normal(size=5)]),
        (spaced, (0, 1), [rng.normal(size=5), 0.3]),
        (joined, (0, 1), [0.5 + rng.random(5), 0.3]),
        (carried, (0, 1), [0.5 + rng.random(5), 0.3]),
        (chosen, (0, 1), [0.5 + rng.random(5), 0.5 + rng.random(5)]),
    ]
    for f, wrt, args in cases:
        args = tuple(arg.astype(dtype) if isinstance(arg, np.ndarray) else dtype(arg) for arg in args)
        with interpreted():
            value, gradient = tapec.value_and_grad(f, wrt=wrt)(*clone(args))
            wanted, expected = tapec.value_and_grad(f, wrt=wrt, strict=True)(*clone(args))
        assert value == wanted
        for one, other in zip(gradient, expected, strict=True):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=1e-13 if dtype is np.float64 else 1e-5)
