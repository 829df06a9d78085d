"""Values that the reverse sweep loads from where the iteration has stored them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.optimise.reading import loops_over_elements
from tests.oracles import check, interpreted
from tests.sampling import sampled


def scaled(x, s):
    """A quotient whose array goes into a product of matrices."""
    z = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] / s[j]
    return np.sum((z.T @ z) ** 2)


def weights(x, v):
    """As an expression, with exponentials: rows of weights that add up to one."""
    e = np.exp(x)
    p = e / e.sum(axis=1).reshape((x.shape[0], 1))
    return np.sum((p @ v) ** 2)


def overwritten(x, s):
    """The elements are others by the time that the reverse sweep begins."""
    z = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] / s[j]
    total = np.sum((z.T @ z) ** 2)
    for i in range(x.shape[0]):
        z[i, 0] = 0.0
    return total + np.sum(z @ s)


def met_again(x, s, order):
    """Iterations store into elements of others."""
    z = np.zeros((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        z[order[i], order[i]] = x[i, 0] / s[i]
    return np.sum((z @ x) ** 2)


def left(x, s):
    """The last iteration leaves the loop between the quotient and the store."""
    z = np.zeros((x.shape[0], x.shape[0]))
    total = 0.0
    for i in range(x.shape[0]):
        q = x[i, 0] / s[i]
        total += q * q
        if total > 1.0:
            break
        z[i, i] = q
    return total + np.sum((z @ x) ** 2)


def places(x, s):
    """The element is known after the quotient only."""
    z = np.zeros((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        q = x[i, 0] / s[i]
        k = int(np.floor(q)) % x.shape[0]
        z[i, k] = q
    return np.sum((z @ x) ** 2)


def rounded(x, s):
    """The array has fewer digits than the value."""
    z = np.zeros((x.shape[0], x.shape[0]), dtype=np.float32)
    total = 0.0
    for i in range(x.shape[0]):
        q = x[i, 0] / s[i]
        z[i, i] = q
        total += q * q * q
    return total + np.sum(z @ z)


def by_elements(x, s):
    """Nobody wants the array as a whole: it may vanish."""
    z = np.empty(x.shape[0])
    total = 0.0
    for i in range(x.shape[0]):
        z[i] = x[i, 0] / s[i]
    for i in range(x.shape[0]):
        total += z[i] * z[i]
    return total


def costly(x):
    """An exponential beside a use that does not vanish with the array."""
    e = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        e[i] = np.exp(x[i])
    total = 0.0
    for i in range(x.shape[0]):
        total += e[i] * e[x.shape[0] - 1 - i]
    return total


def again_changed(x, s):
    """Elements that another loop multiplies by others."""
    z = np.exp(x)
    y = z @ s
    for i in range(x.shape[0]):
        z[i, i] *= s[i]
    return np.sum(y * (z @ s))


def viewed_later(x, s):
    """A row that there is a view of only after the value has been computed: no iteration finds that of another one."""
    state = np.ones(3)
    total = 0.0
    for t in range(x.shape[0]):
        points = np.zeros((2, 3))
        for i in range(2):
            points[i] = state
        seen = np.zeros((2, 2))
        seen[1] = np.array([np.sqrt(points[1][0] + points[1][1]), points[1][1]])
        spread = 2.0 + np.outer(seen[1], seen[1])
        state = np.full((3, 2), 0.5) @ (x[t, :2] * x[t, :2]) + s[t]
        total -= x[t, 2:] @ np.linalg.solve(spread, x[t, :2])
    return total


def checkpointed_rows(x):
    """Rows of an array from outside that the iterations of a checkpointed loop set and do not read."""
    rows = np.zeros(x.shape)
    state = np.zeros(x.shape[1])
    for t in tapec.checkpointed(range(x.shape[0]), slots=2):
        for j in range(x.shape[1]):
            rows[t, j] = np.exp(x[t, j] - state[j])
        state = state * 0.5 + np.tanh(x[t])
    return np.sum(rows @ x.T) + state @ state


def reverse(f, signature, wrt=(0, 1), opt_level=1):
    with loops_over_elements():
        text = tapec.emit(f, wrt=wrt, signature=signature, opt_level=opt_level)
    return text[text.index("# reverse sweep") :]


def test_the_element_is_loaded():
    assert "z[i, j] * " in reverse(scaled, "f8[:,::1], f8[::1]")
    text = reverse(weights, "f8[:,::1], f8[:,::1]")
    assert "p[i, j] * " in text and "e[i, j] * " in text and text.count("exp(") == 1


def test_the_user_is_told():
    notes = tapec.explain(weights, wrt=(0, 1), signature="f8[:,::1], f8[:,::1]").notes
    said = [note.what for note in notes if note.by == "storage" and note.what.startswith("loaded")]
    assert said == ["loaded from `e`", "loaded from `p`"]


def test_elements_that_may_vanish_hold_costly_values_only():
    assert "x[i, 0] / s[i] * z_bar[i]" in reverse(by_elements, "f8[:,::1], f8[::1]")
    with interpreted():
        gradient = tapec.grad(costly, opt_level=1)
        gradient(np.ones(3))
    # in files this function is computed again
    assert "np.exp(x[i]) * e_bar[i]" in reverse(costly, "f8[::1]", wrt=0)
    assert "e[i] * e_bar[i]" in gradient.source()


@pytest.mark.parametrize(
    ("f", "again"),
    [
        (overwritten, "x[i, j] / s[j]"),
        (met_again, "x[i, 0] / s[i]"),
        (left, "x[i, 0] / s[i]"),
        (places, "x[i, 0] / s[i]"),
        (rounded, "x[i, 0] / s[i]"),
    ],
)
def test_others_divide_again(f, again):
    signature = "f8[:,::1], f8[::1]" + (", i8[::1]" if f is met_again else "")
    assert again in reverse(f, signature)


PROGRAMS = (scaled, weights, overwritten, left, places, by_elements, again_changed, viewed_later)


@pytest.mark.parametrize("f", sampled(PROGRAMS, 4))
def test_gradients_are_right(rng, f):
    x = rng.normal(size=(4, 4))
    s = rng.normal(size=(4, 4)) if f is weights else 1.0 + rng.random(4)
    check(f, (x, s), forward_level=0)
    with interpreted():
        made, expected = (tapec.grad(f, wrt=(0, 1), opt_level=level)(x, s) for level in (1, 0))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.slow
def test_so_are_those_of_iterations_that_are_run_again(rng):
    check(checkpointed_rows, (rng.normal(size=(5, 3)),), forward_level=0)


def test_so_are_second_derivatives(rng):
    x, s, way = rng.normal(size=(3, 2)), 1.0 + rng.random(2), np.array([0.3, -0.7])
    with interpreted():
        made = tapec.hessian(scaled, wrt=1)(x, s) @ way
        slope = tapec.grad(scaled, wrt=1)
        expected = (slope(x, s + 1e-5 * way) - slope(x, s - 1e-5 * way)) / 2e-5
    np.testing.assert_allclose(made, expected, rtol=1e-7)
