"""NumPy's rarer functions and keywords, and index arrays that are stretched."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import Case, Cases, arr
from tests.sampling import sampled

cases = Cases()
LINE = arr(5) - 0.5
PLACES = np.array([0.0, 1.0, 3.0, 4.0, 6.5])


@cases((LINE,), (arr(3),))
def slopes(x):
    return np.gradient(x), np.gradient(x, 0.5) ** 2, np.gradient(x, 0.3, edge_order=2), np.gradient(x, x**3 + 3.0 * x)


@cases((LINE,))
def slopes_between_places(x):
    return np.gradient(x, PLACES) ** 2, np.gradient(x, PLACES, edge_order=2)


@cases((arr(3, 4), arr(4)))
def slopes_of_a_grid(a, x):
    down, across = np.gradient(a, 0.5, np.cumsum(x))
    return down * across, np.gradient(a, axis=1) ** 2, np.gradient(a, 2.0, axis=(1,))


@cases((arr(2, 3),), compiled="reverse")
def by_axes_and_to_a_tolerance(x):
    # Numba's own np.isclose writes behind its result where arrays of rank 2 are not square
    near = np.isclose(x, x + 0.05, atol=0.1), np.isclose(x, x[0]), np.isclose(x.T, x.T + np.nan, equal_nan=True)
    return np.pad(x, {0: (1, 0)}, "edge") ** 2, np.pad(x, {-1: 2}) ** 2, near[0] * x * x, near[1] * x, near[2] * x.T


@cases((arr(2, 3),), compiled="reverse")
def by_python_own_sum_and_items(x):
    return sum(x) ** 2, sum(x[0]) ** 2, x.item(1, 2) ** 2, x.item((0, 1)) * x.item(3), sum(x, 1.0) ** 2


@cases((LINE,), compiled="reverse")
def of_those_that_are_chosen(x):
    return (
        np.sum(x * x, where=x > 0.0, initial=3.0),
        np.mean(x * x, where=x > 0.0),
        np.std(x, where=x > 0.0),
        np.var(x, where=x > -0.3, correction=1),
        x.var(where=x > -0.3, ddof=1),
        np.prod(2.0 * x, where=x > 0.0, initial=2.0),
        np.max(x, initial=0.1),
        np.min(x * x, initial=0.3, where=x > 0.5),
        np.var(x, mean=np.mean(x)),
    )


@cases((arr(3, 4),))
def of_those_that_are_chosen_along_axes(a):
    large = a > 0.8
    return (
        np.sum(a * a, axis=0, where=large, keepdims=True),
        np.mean(a, axis=1, where=a > 0.1),
        a.max(axis=(0, 1), initial=-1.0, where=large),
        np.var(a, axis=0, where=a > 0.1, keepdims=True),
    )


@cases((LINE,), (arr(2),))
def running(x):
    return np.cumulative_sum(x * x), np.cumulative_sum(x, include_initial=True) ** 2, np.cumulative_prod(x + 2.0)


@cases((arr(3, 2),))
def running_along_an_axis(a):
    return np.cumulative_prod(a, axis=1, include_initial=True) * 2.0, np.cumulative_sum(a * a, axis=0)


@cases((arr(3), arr(2, 3)))
def products_of_vectors(x, a):
    return np.vecdot(a, x), np.matvec(a, x) ** 2, np.vecmat(a[:, 0], a), np.vecdot(a, a, axis=0)


@cases((arr(4), arr(2)))
def polynomials(p, q):
    return (
        np.polyadd(p, q) ** 2,
        np.polysub(q, p),
        np.polymul(p, q),
        np.polyder(p) ** 2,
        np.polyder(p, 2),
        np.polyint(p),
        np.polyint(q, 2) ** 2,
    )


@cases((LINE,))
def by_cases(x):
    return (
        np.piecewise(x, [x < 0.0, x > 0.5], [lambda v: -v, 2.0, lambda v: v * v]),
        np.piecewise(x, [x < 0.0], [lambda v: v * v.sum()]),
        np.piecewise(x, [x < 0.0], [lambda v, k: v * k, 0.5], 3.0),
        np.choose(np.array([0, 1, 2, 1, 1]), (x, 2.0 * x[0], x * x)),
    )


@cases((arr(2), arr(2, 3)))
def padded_with_its_own(x, a):
    return (
        np.pad(x, 5, mode="reflect") ** 2,
        np.pad(x, (7, 4), mode="symmetric") ** 2,
        np.pad(a, ((1, 2), (3, 7)), mode="wrap") ** 2,
        np.pad(x[:1], 3, mode="reflect"),
    )


@cases((arr(2, 3, 4),))
def axes_moved(a):
    turned = np.matrix_transpose(a) * 2.0, a.mT**2
    return np.rollaxis(a, 2, -1) ** 2, np.rollaxis(a, 1), *turned, np.astype(a, np.float64)


GRID = np.array([[0], [2]]), np.array([[1, 3, 1]])
ONE = np.array([1]), np.array([0, 2, 0])
EACH = np.array([2, 0]), np.array([1, 3])


@cases((arr(3, 4), *GRID), (arr(3, 4), *ONE), (arr(3, 4), *EACH))
def stretched_index_arrays(a, rows, columns):
    b = a * 1.0
    b[rows, columns] = a[rows, columns] ** 2
    np.add.at(b, (rows, columns), 0.5)
    b[rows, columns] *= 2.0
    return b * b, a[rows, columns], a[np.ix_(rows.ravel(), columns.ravel())] ** 2


CUBE = arr(2, 3, 4)
PAIRS = (
    (CUBE, np.array([0, 1]), np.array([2, 0])),
    (CUBE, np.array([1]), np.array([2, 0, 2])),
    (CUBE, np.array([[0], [1]]), np.array([[0, 2]])),
    (CUBE, np.array([0, 1]), np.array([[2, 0], [1, 1]])),
)


# the functions by index arrays of all shapes
by_all_pairs = Cases()


def by_pairs(*numbers: int):
    """A case with index arrays of some shapes; the functions between them see each pair of shapes twice."""

    def add(f):
        return by_all_pairs(*PAIRS)(cases(*(PAIRS[k] for k in numbers))(f))

    return add


def weighted(a):
    """A number that tells where each element stands."""
    return (a * a * np.arange(1.0, 1.0 + a.size).reshape(a.shape)).sum()


@by_pairs(0, 2)
def index_arrays_beside_slices(a, i, j):
    return weighted(a[i, j]) + weighted(a[:, i, j]) + weighted(a[i, :, j]) + weighted(a[..., i, j])


@by_pairs(1, 3)
def index_arrays_beside_integers(a, i, j):
    return weighted(a[i, j, 1]) + weighted(a[1, i, j]) + weighted(a[i, 1, j]) + weighted(a[-i - 1, j, -1])


@by_pairs(0, 1)
def index_arrays_apart(a, i, j):
    return weighted(a[i, :, 1]) + weighted(a[1, :, i]) + weighted(a[i, 1:, j]) + weighted(a[i, None, j])


@by_pairs(2, 3)
def stores_through_index_arrays(a, i, j):
    b = a * 1.0
    b[i, j] = a[j % 2, i] ** 2
    np.add.at(b, (i, j), 1.5 * a[j % 2, i])
    b[:, i, j] *= a[:1, :1, 0]
    return weighted(b)


@by_pairs(1, 2)
def stores_through_index_arrays_apart(a, i, j):
    b = a * 1.0
    b[i, :, j] = a[0, :, 1] ** 2
    b[1, :, i] += a[1, :, 0]
    np.add.at(b, (i, slice(None), j), a[1, :, 0])
    return weighted(b)


@by_pairs(0, 3)
def index_arrays_that_an_ellipsis_keeps_apart(a, i, j):
    b = a * 1.0
    b[:, i, ..., j] *= a[1, 0, 0]
    return weighted(a[:, i, ..., j]) + weighted(a[i, ..., 0, j]) + weighted(a[0, ..., i, j]) + weighted(b)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases, ids=str)
def test_array_forms(case: Case):
    case.check()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", by_all_pairs, ids=str)
def test_index_arrays_of_all_shapes(case: Case):
    case.check()


@pytest.mark.generated
def test_index_arrays_that_do_not_fit():
    def f(a, rows, columns):
        return a[rows, columns].sum()

    with pytest.raises(ValueError, match="could not be broadcast"):
        tapec.grad(f)(arr(3, 4), np.array([0, 1]), np.array([0, 1, 2]))


@pytest.mark.generated
@pytest.mark.parametrize(
    ("f", "message"),
    sampled(
        [
            (lambda x: np.max(x, where=x > 0.0), "initial"),
            (lambda x: np.gradient(x[:1])[0], "too small"),
            (lambda x: np.gradient(x, x[:2]).sum(), "must match"),
            (lambda x: np.choose(np.array([0, 3, 0]), (x, x)).sum(), "choice array"),
            (lambda x: np.vecdot(x, x[:1]), "core dimension"),
            (lambda x: np.matvec(np.outer(x, x), x[:1]).sum(), "core dimension"),
            (lambda x: np.vecmat(x[:1], np.outer(x, x)).sum(), "core dimension"),
            (lambda x: np.var(x, ddof=1, correction=1), "simultaneously"),
        ],
        4,
    ),
)
def test_what_numpy_refuses(f, message):
    with pytest.raises((ValueError, tapec.errors.TapecError), match=message):
        tapec.grad(f)(arr(3))
