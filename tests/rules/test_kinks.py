"""Derivatives where a root has none and what is made of it has one, and at values that coincide."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import tapec
from tests.typed import interpreted

ROWS = np.zeros((2, 3))
LEVEL = np.full((2, 3), 2.0)
# of the variance of three numbers, by two of the same row
SPREAD = np.kron(np.eye(2), 2.0 / 3.0 * (np.eye(3) - 1.0 / 3.0))


def length(x):
    return np.linalg.norm(x)


def scaled_square(x):
    root = np.linalg.norm(x)
    half = 1.5 * root
    return half * (root * 2.0)


def scaled_squares(x):
    roots = np.linalg.norm(x, axis=1)
    return np.sum(3.0 * roots * roots)


# a function, and its Hessian where the operand is zero, or one level
SMOOTH = {
    "norm along an axis": (lambda x: np.sum(np.linalg.norm(x, axis=1) ** 2), ROWS, 2.0 * np.eye(6)),
    "norm, kept axes": (lambda x: np.sum(np.square(np.linalg.norm(x, axis=0, keepdims=True))), ROWS, 2.0 * np.eye(6)),
    "single precision": (
        lambda x: np.sum(np.linalg.norm(x, axis=1) ** 2),
        ROWS.astype(np.float32),
        2.0 * np.eye(6),
    ),
    "norm to the fourth": (lambda x: np.linalg.norm(x) ** 4, ROWS, np.zeros((6, 6))),
    "deviations of rows": (lambda x: np.sum(np.std(x, axis=1) ** 2), LEVEL, SPREAD),
    "deviations, corrected": (lambda x: np.sum(np.std(x, axis=1, ddof=1) ** 2), LEVEL, 1.5 * SPREAD),
    "deviations of numbers": (lambda x: np.sum(np.nanstd(x, axis=1) ** 2), LEVEL, SPREAD),
    "absolute values": (lambda x: np.sum(np.abs(x) ** 2), ROWS, 2.0 * np.eye(6)),
    "a distance": (lambda x: math.dist((x[0, 0], x[0, 1]), (0.0, 0.0)) ** 2, ROWS, np.diag([2.0, 2, 0, 0, 0, 0])),
    "deviations, single": (
        lambda x: np.sum(np.std(x, axis=1) ** 2),
        LEVEL.astype(np.float32),
        SPREAD,
    ),
    "a norm by itself": (lambda x: np.linalg.norm(x) * np.linalg.norm(x), ROWS, 2.0 * np.eye(6)),
    "norms of rows by themselves": (
        lambda x: np.sum(np.linalg.norm(x, axis=1) * np.linalg.norm(x, axis=1)),
        ROWS,
        2.0 * np.eye(6),
    ),
    "a deviation by itself": (
        lambda x: np.std(x) * np.std(x),
        LEVEL,
        (np.eye(6) - 1.0 / 6.0) / 3.0,
    ),
    "a root by itself": (lambda x: np.sqrt(np.sum(x * x)) * np.sqrt(np.sum(x * x)), ROWS, 2.0 * np.eye(6)),
    "a root of a product": (lambda x: np.sqrt(x.ravel() @ x.ravel()) ** 2, ROWS, 2.0 * np.eye(6)),
    "a function of the user's": (lambda x: length(x) * length(x), ROWS, 2.0 * np.eye(6)),
    "among other factors": (lambda x: -3.0 * length(x) / 2 * 4.0 * length(x), ROWS, -12.0 * np.eye(6)),
    "through names": (scaled_square, ROWS, 6.0 * np.eye(6)),
    "through names of rows": (scaled_squares, ROWS, 6.0 * np.eye(6)),
    "a power of the library's": (lambda x: math.pow(np.linalg.norm(x), 2), ROWS, 2.0 * np.eye(6)),
    "distances of all pairs": (
        lambda x: np.sum(np.exp(-(np.linalg.norm(x[:, None] - x[None], axis=-1) ** 2))),
        ROWS[:, :1],
        [[-4.0, 4.0], [4.0, -4.0]],
    ),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_even_powers_of_lengths_have_second_derivatives(name: str):
    f, x, wanted = SMOOTH[name]
    with interpreted(), np.errstate(all="ignore"):
        assert not tapec.grad(f)(x).any()
        assert tapec.jvp(f, (x,), (np.ones_like(x),))[1] == 0.0
        np.testing.assert_allclose(tapec.hessian(f)(x).reshape(x.size, x.size), wanted, atol=1e-6)


def test_whole_powers_of_roots_have_the_limit_from_inside():
    zero = np.zeros(2)
    for f in (
        lambda x: np.sum(np.sqrt(x) ** 2),
        lambda x: np.sum(np.sqrt(x) * np.sqrt(x)),
        lambda x: np.sum((x**0.5) ** 2),
        lambda x: np.sum(np.cbrt(x) ** 3),
    ):
        with interpreted(), np.errstate(all="ignore"):
            assert tapec.grad(f)(zero).tolist() == [1.0, 1.0]
            assert tapec.jvp(f, (zero,), (np.ones(2),))[1] == 2.0
            assert not tapec.hessian(f)(zero).any()
    with interpreted(), np.errstate(all="ignore"):
        value, by = tapec.value_and_grad(lambda x: np.sum(np.sqrt(x) ** 2))(np.array([-1.0, 4.0]))
        assert np.isnan(value) and np.isnan(by[0]) and by[1] == 1.0


@pytest.mark.slow
@pytest.mark.generated
def test_kinks_that_cancel():
    zero = np.zeros(2)
    twice = 2.0 * np.eye(2)
    assert np.array_equal(tapec.hessian(lambda x: np.linalg.norm(x) ** 2)(zero), twice)
    assert np.array_equal(tapec.hessian(lambda x: np.sqrt(np.sum(x * x)) ** 2)(zero), twice)
    assert np.array_equal(tapec.hessian(lambda x: np.std(x) ** 2)(zero), [[0.5, -0.5], [-0.5, 0.5]])
    assert np.array_equal(tapec.grad(lambda x: np.linalg.norm(x))(zero), zero)
    found = tapec.hessian(lambda x: np.linalg.norm(x, 3) ** 3)(zero)
    assert (np.isnan(found) | (found == 0.0)).all()
    # there is none
    assert np.isnan(tapec.hessian(lambda x: np.linalg.norm(x))(zero)).all()
    rows = lambda x: np.sum(np.linalg.norm(x.reshape(2, 1), axis=1) ** 2)  # noqa: E731
    assert np.array_equal(tapec.hessian(rows)(zero), twice)
    assert np.isnan(tapec.hessian(lambda x: np.linalg.norm(x) ** 2, opt_level=0)(zero)).all()


def test_the_norm_of_zero_is_flat_in_single_precision():
    zero = np.zeros(2, np.float32)
    with interpreted(), np.errstate(all="ignore"):
        for f in (lambda x: np.linalg.norm(x), lambda x: np.sqrt(np.sum(x * x)), lambda x: np.sqrt(np.sum(x**2))):
            assert not tapec.grad(f)(zero).any()
            assert np.isnan(tapec.hessian(f)(zero)).all()


def test_a_spectral_norm_of_zero_has_no_second_derivative():
    with interpreted(), np.errstate(all="ignore"):
        assert not tapec.grad(lambda x: np.linalg.norm(x, 2))(np.zeros((3, 2))).any()
        assert np.isnan(tapec.hessian(lambda x: np.linalg.norm(x, 2) ** 2)(np.zeros((2, 1)))).all()


def test_operands_far_apart_have_second_derivatives():
    with interpreted(), np.errstate(all="ignore"):
        for f in (np.logaddexp, np.logaddexp2):
            second = tapec.hessian(lambda x, f=f: f(x[0], x[1]))
            for x in ([0.0, 1100.0], [1100.0, 0.0], [-np.inf, 1.0], [-1e300, 3.0]):
                assert not second(np.array(x)).any()
        np.testing.assert_allclose(second(np.ones(2)), np.log(2.0) * np.array([[0.25, -0.25], [-0.25, 0.25]]))


def test_a_product_with_a_logarithm_at_zero():
    with interpreted(), np.errstate(all="ignore"):
        for f in (lambda x: scipy.special.xlogy(x, x), lambda x: scipy.special.xlog1py(x, x - 1.0)):
            assert tapec.grad(lambda x, f=f: np.sum(f(x)))(np.array([0.0, 1.0])).tolist() == [-np.inf, 1.0]


def exponential(a):
    w, v = np.linalg.eigh(a)
    return ((v * np.exp(w)) @ v.T)[0, 1]


def cubed(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return ((u * s**3) @ vt)[0, 1]


def _turned(values, rows: int):
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (rows, 3))
    return left, right, (left[:, :3] * values) @ right.T


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-6])
def test_vectors_of_values_next_to_each_other_are_right_or_not_finite(gap: float):
    """Smooth functions of matrices, through vectors: the rounding of these is in units of the gap."""
    _, right, _ = _turned(np.ones(3), 3)
    a = (right * np.array([1.0, 1.0 + gap, 2.0])) @ right.T
    a = (a + a.T) / 2.0
    way = np.zeros((3, 3))
    way[0, 1] = way[1, 0] = 0.5
    change = scipy.linalg.expm_frechet(a, way)[1]
    close = 1e-13 + 3e-15 / max(gap, 1e-300)
    with interpreted(), np.errstate(all="ignore"):
        _right_or_nan(tapec.grad(exponential)(a), np.tril(change) + np.tril(change.T, -1), min(close, 0.02))
        one = np.zeros((4, 3))
        one[0, 1] = 1.0
        for values in ([2.0, 1.0 + gap, 1.0], [2.0, 1.0, gap]):
            b = _turned(np.array(values), 4)[2]
            wanted = one @ b.T @ b + b @ one.T @ b + b @ b.T @ one
            _right_or_nan(tapec.grad(cubed)(b), wanted, min(close, 0.02))
            along = tapec.jvp(cubed, (b,), (np.ones((4, 3)),))[1]
            assert np.isnan(along) or abs(along - wanted.sum()) < 20.0 * close


def _right_or_nan(found, wanted, close: float) -> None:
    assert (np.isnan(found) | (np.abs(found - wanted) <= close * np.abs(wanted).max())).all()


def test_small_singular_values_are_told_from_each_other():
    b = _turned(np.array([1.0, 2e-10, 1e-10]), 4)[2]
    with interpreted():
        assert np.isfinite(tapec.grad(lambda b: np.linalg.svd(b, full_matrices=False)[2][2, 1] ** 2)(b)).all()


def test_sums_of_nothing_but_zero_exponentials():
    """As in SciPy and JAX: the value is -inf, and there is no share of it; what leaves it out has derivatives."""
    nothing = np.full((2, 3), -np.inf)
    nothing[1] = 1.0
    with interpreted(), np.errstate(all="ignore"):
        value, by = tapec.value_and_grad(lambda x: scipy.special.logsumexp(x[0]))(nothing)
        assert value == -np.inf and np.isnan(by[0]).all() and not by[1].any()
        _, by = tapec.value_and_grad(
            lambda x: np.sum(np.where(np.isfinite(np.max(x, axis=1)), scipy.special.logsumexp(x, axis=1), 0.0))
        )(nothing)
        np.testing.assert_allclose(by, [[0.0] * 3, [1.0 / 3.0] * 3])


def test_remainders_of_the_library():
    with interpreted():
        value, by = tapec.value_and_grad(lambda x, y: math.fmod(x, y), wrt=(0, 1))(-7.5, 2.0)
        assert (value, by) == (-1.5, (1.0, 3.0))
        assert tapec.value_and_grad(lambda x, n: x * math.fmod(n, 3))(2.0, -7) == (-2.0, -1.0)
