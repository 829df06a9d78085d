"""Derivatives at the edges of numbers: huge and tiny operands, zeros under roots, eigenvalues that are one."""

from __future__ import annotations

import itertools
import math
import runpy
from pathlib import Path

import mpmath
import numpy as np
import pytest

import tapec
from tapec.rules import RULES
from tapec.transforms.strong_zeros import POLES
from tests.rules.evaluation import adjoints, along, primal
from tests.rules.references import REFERENCES
from tests.sampling import sampled
from tests.typed import interpreted

# a function, its derivative, and what an operand is above
UNARY = {
    "arcsinh": (np.arcsinh, lambda x: 1 / mpmath.sqrt(1 + x**2), -np.inf),
    "arccosh": (np.arccosh, lambda x: 1 / mpmath.sqrt(x**2 - 1), 1.0),
    "arctan": (np.arctan, lambda x: 1 / (1 + x**2), -np.inf),
    "sqrt": (np.sqrt, lambda x: 1 / (2 * mpmath.sqrt(x)), 0.0),
    "cbrt": (np.cbrt, lambda x: 1 / (3 * mpmath.cbrt(x) ** 2), 0.0),
    "log": (np.log, lambda x: 1 / x, 0.0),
    "log2": (np.log2, lambda x: 1 / (x * mpmath.log(2)), 0.0),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), -1.0),
    "expm1": (np.expm1, mpmath.exp, -np.inf),
    "reciprocal": (np.reciprocal, lambda x: -1 / x**2, -np.inf),
    "exp": (np.exp, mpmath.exp, -np.inf),
    "sinh": (np.sinh, mpmath.cosh, -np.inf),
    "cosh": (np.cosh, mpmath.sinh, -np.inf),
    "square": (np.square, lambda x: 2 * x, -np.inf),
}


def near(found, wanted, dtype) -> bool:
    """Whether a derivative is right to a few roundings, or out of the range of its type as it should be."""
    largest, least = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_normal)
    size = abs(wanted)
    if size > largest / 8:
        return bool(abs(found) > largest / 64)
    if size < least * 8:
        return bool(abs(found) <= least * 64)
    return bool(abs(mpmath.mpf(float(found)) - wanted) <= 32 * float(np.finfo(dtype).eps) * size)


@pytest.mark.generated
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("name", UNARY)
def test_derivatives_over_the_whole_range(name: str, dtype: type):
    function, exact, low = UNARY[name]
    most = 300 if dtype is np.float64 else 37
    points = [sign * 1.25 * 10.0**k for k in range(-most, most, 23) for sign in (-1, 1)]
    kept = [dtype(x) for x in points if x > low]
    f = lambda x: function(x)  # noqa: E731
    gradient = tapec.grad(f)
    with np.errstate(all="ignore"), mpmath.workdps(80):
        for x in kept:
            wanted = exact(mpmath.mpf(float(x)))
            assert near(gradient(x), wanted, dtype), (x, gradient(x), wanted)
            moved = tapec.jvp(f, (x,), (dtype(1.0),))[1]
            assert near(moved, wanted, dtype), (x, moved, wanted)


SIZES = {
    np.float64: [sign * 1.37 * 10.0**k for k in (-290, -40, -9, 0, 10, 17, 290) for sign in (1, -1)],
    np.float32: [sign * np.float32(1.37 * 10.0**k) for k in (-36, -20, -9, 0, 5, 17, 36) for sign in (1, -1)],
}
# remainders step; a power of a negative number has no neighbours, and of one next to nothing an infinite derivative
NOT_SMOOTH = ("%", "mod", "sign", "gamma", "sinc", "known", "**")


def exact(function, values: list, place: int) -> mpmath.mpf:
    """The derivative by a central difference, with more digits than the sizes of the operands are apart."""
    at = [mpmath.mpf(float(value)) if isinstance(value, float | np.float32) else value for value in values]
    step = abs(at[place]) * mpmath.mpf(10) ** -14
    ways = (function(*at[:place], at[place] + way * step, *at[place + 1 :]) for way in (1, -1))
    above, below = ways
    return (above - below) / (2 * step)


@pytest.mark.slow
@pytest.mark.parametrize("heading", [one for one in REFERENCES if not any(part in one for part in NOT_SMOOTH)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_every_row_over_the_whole_range(heading: str, dtype: type):
    rule = next(one for one in RULES.values() if one.heading == heading)
    function, points = REFERENCES[heading]
    names = [name for name, value in points[0].items() if isinstance(value, float)]
    # mpmath needs as many digits as a period goes into an operand, and gives up on the tail of `erfc`
    sizes = [x for x in SIZES[dtype] if abs(x) < 1e9 or heading not in ("sin(x)", "cos(x)", "tan(x)", "erfc(x)")]
    asked = 0
    with mpmath.workdps(640), np.errstate(all="ignore"):
        for numbers in itertools.product(sizes, repeat=len(names)):
            values = {**points[0], **dict(zip(names, numbers, strict=True))}
            if not np.isfinite(primal(rule, values)):
                continue
            for name, found in zip(values, adjoints(rule, values), strict=True):
                if name not in names or found is None:
                    continue
                wanted = exact(function, list(values.values()), list(values).index(name))
                if isinstance(wanted, mpmath.mpf):
                    asked += 1
                    assert near(found, wanted, dtype), (values, name, found, float(wanted))
                    moved = along(rule, values, name)
                    assert near(moved, wanted, dtype), ("forward", values, name, moved, float(wanted))
    assert asked


def length(x):
    return np.linalg.norm(x)


def distance(x):
    return np.linalg.norm(2.0 * x - x)


def rows(x):
    return np.sum(np.linalg.norm(np.stack((x, x)), axis=1)) / 2.0


@pytest.mark.slow
@pytest.mark.parametrize("f", [length, distance, rows])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_norms_of_huge_and_tiny_vectors(f, dtype: type):
    powers = (-304, -200, -150, -140, -3, 0, 130, 139, 150, 200, 307)
    for k in powers if dtype is np.float64 else (-36, -20, -14, -3, 0, 12, 15, 20, 37):
        x = dtype([3.0, 4.0]) * dtype(10.0) ** dtype(k) if k < 307 else dtype([3.0e306, 4.0e306])
        value, gradient = tapec.value_and_grad(f)(x)
        close = 1e-13 if dtype is np.float64 else 1e-5
        assert np.isclose(value / x[1], 1.25, rtol=close), k
        assert np.allclose(gradient, [0.6, 0.8], rtol=close), k
        assert np.isclose(tapec.jvp(f, (x,), (dtype([1.0, 0.0]),))[1], 0.6, rtol=close), k


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_norms_of_subnormal_vectors(dtype: type):
    for k in (-310, -315, -318) if dtype is np.float64 else (-40, -41):
        x = dtype([float(f"3e{k}"), float(f"4e{k}")])
        wide = [mpmath.mpf(float(one)) for one in x]
        unit = np.array([float(one / mpmath.sqrt(wide[0] ** 2 + wide[1] ** 2)) for one in wide])
        close = 1e-13 if dtype is np.float64 else 1e-6
        for f in (length, distance):
            assert np.allclose(tapec.grad(f)(x), unit, rtol=close), k
            assert np.isclose(tapec.jvp(f, (x,), (dtype([1.0, 0.0]),))[1], unit[0], rtol=close), k


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "dtype"),
    sampled([(order, t) for t in (np.float64, np.float32) for order in (-2, -1, -0.5, 0.5, 2.5, 3, 4)], 1, default=2),
)
def test_norms_of_other_orders_of_huge_and_tiny_vectors(order: float, dtype: type):
    """Norms of vectors, and of the rows of a matrix."""
    f = lambda x: np.linalg.norm(x, order)  # noqa: E731
    rows = lambda x: np.linalg.norm(np.stack((x, x)), order, axis=1)[1]  # noqa: E731
    close = 1e-12 if dtype is np.float64 else 1e-5
    powers = (-316, -300, -100, 0, 100, 300) if dtype is np.float64 else (-40, -36, -20, 0, 20, 36)
    with interpreted(), mpmath.workdps(60):
        for k in powers:
            x = dtype([float(f"3e{k}"), float(f"-4e{k}")])
            sizes = [abs(mpmath.mpf(float(one))) for one in x]
            length = sum(one**order for one in sizes) ** (mpmath.mpf(1) / order)
            slopes = [float(np.sign(one) * (size / length) ** (order - 1)) for one, size in zip(x, sizes, strict=True)]
            value, gradient = tapec.value_and_grad(f)(x)
            assert near(value, length, dtype) and gradient.dtype == dtype, k
            np.testing.assert_allclose(gradient, slopes, rtol=close, err_msg=str(k))
            np.testing.assert_allclose(tapec.grad(rows)(x), slopes, rtol=close, err_msg=str(k))
            assert np.isclose(tapec.jvp(f, (x,), (dtype([1.0, 0.0]),))[1], slopes[0], rtol=close), k


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "dtype"),
    sampled([(np.std, np.float64), (np.std, np.float32), (np.nanstd, np.float32), (np.nanstd, np.float64)], 1, 2),
    ids=lambda one: one.__name__,
)
def test_deviations_of_huge_and_tiny_numbers(f, dtype: type):
    whole = lambda x: f(x, ddof=1)  # noqa: E731
    columns = lambda x: np.sum(f(x.reshape(2, 3), axis=0))  # noqa: E731
    rows = lambda x: np.sum(f(x.reshape(1, 2, 3), axis=(0, 2), keepdims=True))  # noqa: E731
    x = dtype([3.0, 4.0, -5.0, 7.0, 1.0, -2.0])
    close = 1e-13 if dtype is np.float64 else 1e-5
    powers = (-1020, -540, -537, -520, 510, 516, 1000) if dtype is np.float64 else (-120, -74, -60, 62, 66, 120)
    with interpreted(), np.errstate(all="ignore"):
        for g in (whole, columns, rows):
            gradient = tapec.grad(g)
            for k in powers:
                moved = np.ldexp(x, k).astype(dtype)
                np.testing.assert_allclose(gradient(moved), gradient(x), rtol=close, err_msg=str(k))
                along = tapec.jvp(g, (moved,), (np.arange(6.0).astype(dtype),))[1]
                assert np.isclose(along, gradient(x) @ np.arange(6.0), rtol=10 * close), k
        # second derivatives are right or not finite
        for k in (-900, -540, -100, 100, 540, 900) if dtype is np.float64 else ():
            found = tapec.hessian(whole)(np.ldexp(x, k)) * 2.0**k
            near = np.allclose(found, tapec.hessian(whole)(x), rtol=1e-10)
            assert near if abs(k) == 100 else not np.isfinite(found).any(), k


def test_correlations_of_huge_and_tiny_numbers():
    f = lambda x, y: np.corrcoef(x, y)[0, 1]  # noqa: E731
    x, y = np.array([1.0, 3.0, 2.0, 7.0]), np.array([2.0, 5.0, 4.0, 3.0])
    with interpreted():
        wanted = tapec.grad(f)(x, y)
        for k in (-900, -540, 540, 900):
            np.testing.assert_allclose(tapec.grad(f)(np.ldexp(x, k), y) * 2.0**k, wanted, rtol=1e-12)


def test_determinants_out_of_range():
    det = lambda a: np.linalg.det(a)  # noqa: E731
    a = np.array([[1.0, 2.0, 0.5], [-1.0, 3.0, 2.0], [0.25, 1.0, -2.0]])
    with interpreted():
        for k in (-500, -358, 358, 500):
            found = tapec.grad(det)(np.ldexp(a, k))
            np.testing.assert_allclose(np.ldexp(found, -2 * k), tapec.grad(det)(a), rtol=1e-12)


def test_unit_vectors_of_huge_and_tiny_ones():
    # the adjoint of the norm is next to 1 / x, that of its square out of range
    first = tapec.grad(lambda x: (x / np.linalg.norm(x))[0])
    for k in (-300, -200, -20, 20, 200, 300):
        assert np.allclose(first(np.array([3.0, 4.0]) * 10.0**k) * 10.0**k, [0.128, -0.096], rtol=1e-12), k


@pytest.mark.slow
@pytest.mark.generated
def test_spectral_norms_of_huge_and_tiny_matrices():
    largest = tapec.value_and_grad(lambda a: np.linalg.norm(a, 2))
    a = np.array([[3.0, 1.0], [2.0, 4.0]])
    for k in (-300, -200, 0, 200, 300):
        value, by = largest(a * 10.0**k)
        assert np.isclose(value, np.linalg.norm(a * 10.0**k, 2), rtol=1e-12), k
        assert np.allclose(by, largest(a)[1], rtol=1e-12), k
    assert largest(np.zeros((2, 2)))[0] == 0.0


@pytest.mark.generated
@pytest.mark.parametrize("size", [1e-300, 1e-101, 1e-99, 1e-20, 1e20, 1e99, 1e101, 1e300])
def test_second_derivatives_of_norms_are_right_or_not_finite(size: float):
    found = tapec.hessian(length)(np.array([3.0, 4.0]) * size) * size
    if 1e-100 < size < 1e100:
        assert np.allclose(found, [[0.128, -0.096], [-0.096, 0.072]], rtol=1e-10)
    else:
        assert not np.isfinite(found).any()


@pytest.mark.generated
def test_the_square_of_a_norm_is_the_sum_of_squares():
    for size in (0.0, 1e-200, 1.0):
        assert np.array_equal(tapec.hessian(lambda x: np.linalg.norm(x) ** 2)(np.full(2, size)), 2.0 * np.eye(2))


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_an_angle_of_tiny_and_huge_pairs(size: float):
    by = tapec.grad(lambda y, x: np.arctan2(y, x), (0, 1))(3.0 * size, 4.0 * size)
    assert np.allclose(np.array(by) * size, [4.0 / 25.0, -3.0 / 25.0], rtol=1e-14)


def test_a_tangent_of_zero_stays_zero_at_a_pole():
    x = np.array([0.0, 1.0])
    assert tapec.jvp(lambda x: np.log(x).sum(), (x,), (np.array([0.0, 1.0]),))[1] == 1.0
    assert tapec.jvp(lambda x: np.sqrt(x).sum(), (x,), (np.array([0.0, 1.0]),))[1] == 0.5
    assert tapec.jvp(lambda x: np.log1p(x - 1.0).sum(), (x,), (np.array([0.0, 1.0]),))[1] == 1.0


def poles(x):
    return np.log(x[0]) + np.sqrt(x[1]) + np.cbrt(x[2]) + np.arcsin(1.0 - x[3]) + np.log1p(x[4] - 1.0)


def test_a_tiny_tangent_at_a_pole_is_infinite():
    # divided by the smallest number it was 2e123
    zero, moved = np.zeros(5), np.eye(5)
    for k, sign in enumerate((1, 1, 1, -1, 1)):
        assert tapec.jvp(poles, (zero,), (1e-200 * moved[k],))[1] == sign * np.inf
    assert tapec.jvp(poles, (zero,), (zero,))[1] == 0.0
    # nor is the smallest number added to another one
    assert tapec.jvp(lambda x: np.log(x), (1e-320,), (1e-320,))[1] == 1.0


def test_an_angle_at_the_origin_that_nobody_uses():
    f = lambda x: np.arctan2(x, 2.0 * x)[1]  # noqa: E731
    assert np.array_equal(tapec.grad(f)(np.array([0.0, 1.0])), [0.0, 0.0])


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
    # there would be one, of rows it is not found
    rows = lambda x: np.sum(np.linalg.norm(x.reshape(2, 1), axis=1) ** 2)  # noqa: E731
    assert np.isnan(tapec.hessian(rows)(zero)).any()
    assert np.isnan(tapec.hessian(lambda x: np.linalg.norm(x) ** 2, opt_level=0)(zero)).all()


def exponential(a):
    w, v = np.linalg.eigh(a)
    return ((v * np.exp(w)) @ v.T)[0, 1]


@pytest.mark.slow
@pytest.mark.generated
def test_vectors_of_one_eigenvalue_have_no_derivative():
    a = np.diag([1.0, 1.0, 2.0]) + 1e-17
    assert np.isnan(tapec.grad(exponential)(a)).any()
    assert np.isfinite(tapec.grad(exponential)(np.diag([1.0, 1.5, 2.0]) + 0.1)).all()
    # eigenvalues alone have one
    assert np.isfinite(tapec.grad(lambda a: np.linalg.eigh(a)[0].sum())(a)).all()


@pytest.mark.slow
@pytest.mark.generated
def test_a_singular_determinant():
    det = lambda a: np.linalg.det(a)  # noqa: E731
    assert np.allclose(tapec.grad(det)(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4.0, -2.0], [-2.0, 1.0]])
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    assert np.allclose(tapec.grad(det)(a), [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]])
    assert tapec.jvp(det, (a,), (np.ones((3, 3)),))[1] == pytest.approx(2.0)
    assert tapec.grad(det)(np.array([[0.0]])) == 1.0


def quotients(s, m):
    r, q, z = np.log(m), s / m, m**0.5
    return r[1] + q[1] + z[1] + np.where(m > 0.0, s / m, 0.0).sum() + np.arccosh(1.0 + m)[1]


def soft_alignment(d, gamma):
    n = d.shape[0]
    r = np.full((n + 1, n + 1), np.inf)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            a, b, c = r[i - 1, j - 1], r[i - 1, j], r[i, j - 1]
            least = min(a, b, c)
            total = np.exp(-(a - least) / gamma) + np.exp(-(b - least) / gamma) + np.exp(-(c - least) / gamma)
            r[i, j] = d[i - 1, j - 1] + least - gamma * np.log(total)
    return r[n, n]


@pytest.mark.slow
@pytest.mark.generated
@pytest.mark.parametrize("opt_level", [0, 1, 2])
def test_an_adjoint_of_zero_contributes_zero(opt_level: int):
    s, m = np.array([1.0, 2.0]), np.array([0.0, 4.0])
    by = tapec.grad(quotients, (0, 1), opt_level=opt_level)(s, m)
    assert np.array_equal(by[0], [0.0, 0.5]) and np.isfinite(by[1]).all() and by[1][0] == 0.0
    d = np.arange(9.0).reshape(3, 3) / 9.0
    slope = (soft_alignment(d, 1.0 + 1e-6) - soft_alignment(d, 1.0 - 1e-6)) / 2e-6
    assert tapec.grad(soft_alignment, 1, opt_level=opt_level)(d, 1.0) == pytest.approx(slope, rel=1e-6)


@pytest.mark.slow
@pytest.mark.generated
def test_without_strong_zeros_a_product_with_infinity_is_nan():
    d = np.arange(9.0).reshape(3, 3) / 9.0
    assert np.isnan(tapec.grad(soft_alignment, 1, strong_zero=False)(d, 1.0))
    s, m = np.array([1.0, 2.0]), np.array([0.0, 4.0])
    assert np.isfinite(tapec.vjp(quotients, s, m)[1](1.0)[1]).all()
    assert np.isnan(tapec.vjp(quotients, s, m, strong_zero=False)[1](1.0)[1][0])


def logistic(x):
    return np.sum(np.where(x > 0.0, 1.0 / (1.0 + np.exp(-x)), np.exp(x) / (1.0 + np.exp(x))))


def elements(x):
    e = np.exp(x)
    return e[1] + np.cosh(x)[x < 100.0].sum()


def branches(x):
    total = 0.0
    for i in range(x.size):
        e = np.exp2(x[i])
        if x[i] > 700.0:
            total += x[i]
        else:
            total += e
    return total


@pytest.mark.generated
@pytest.mark.parametrize("f", [logistic, elements, branches])
@pytest.mark.parametrize("opt_level", [0, 2])
def test_what_overflows_and_is_left_out_contributes_nothing(f, opt_level: int):
    x, small = np.array([1100.0, -1.5]), np.array([10.0 if f is not elements else -2.0, -1.5])
    with np.errstate(all="ignore"):
        found = tapec.grad(f, opt_level=opt_level)(x)
        assert found[0] == (1.0 if f is branches else 0.0)
        np.testing.assert_allclose(found[1], tapec.grad(f, opt_level=opt_level)(small)[1], rtol=1e-14)
        np.testing.assert_array_equal(tapec.vjp(f, x, opt_level=opt_level)[1](1.0)[0], found)
        curved = tapec.hessian(f, opt_level=opt_level)(x)
        wanted = tapec.hessian(f, opt_level=opt_level)(small)[1, 1]
        np.testing.assert_allclose(curved, np.diag([0.0, wanted]), rtol=1e-12)
        # a product of adjoints may be chosen against as a whole
        assert f is logistic or np.isnan(tapec.grad(f, opt_level=opt_level, strong_zero=False)(x)[0])


def all_distances(p, w):
    s = 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            s += w[i, j] * np.sqrt((p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2)
    return s


@pytest.mark.slow
@pytest.mark.parametrize("opt_level", [0, 2])
def test_the_root_of_a_sum_of_squares_is_flat_at_zero(opt_level: int):
    p, w = np.random.default_rng(0).random((4, 2)), np.ones((4, 4))
    apart = p[:, None] - p[None]
    lengths = np.sqrt((apart**2).sum(axis=2)) + np.eye(4)
    expected = 2 * (apart / lengths[:, :, None]).sum(axis=1)
    np.testing.assert_allclose(tapec.grad(all_distances, opt_level=opt_level)(p, w), expected, rtol=1e-13)
    for f in (lambda x: np.sqrt(np.sum(x**2)), lambda x: np.sum(np.sqrt(x**2)), lambda x: math.sqrt(x[0] ** 2)):
        assert not tapec.grad(f, opt_level=opt_level)(np.zeros(3)).any()
        assert not tapec.jvp(f, (np.zeros(3),), (np.ones(3),))[1]
        assert np.isnan(tapec.hessian(f)(np.zeros(3))[0, 0])
    # others are not flat
    assert tapec.grad(lambda x: math.sqrt(abs(x)), opt_level=opt_level)(1e-300) > 1e140


@pytest.mark.slow
@pytest.mark.generated
def test_a_gradient_of_a_gradient_does_not_see_the_tip():
    # the branch that is not taken has an adjoint of zero, times what is infinite
    def turn(x):
        square = x[0] * x[0] + x[1] * x[1]
        angle = np.sqrt(square)
        return np.sin(angle) * x[0] if square > 0.0 else x[0]

    x = np.array([0.3, -0.4])
    found = tapec.grad(lambda x: np.sum(tapec.grad(turn)(x)))(x)
    np.testing.assert_allclose(found, tapec.hvp(turn)(x, np.ones(2)), rtol=1e-12)


def _residual(fn: str) -> str:
    """The square of how far a function of two numbers is from what it is at the first one's 0.5, or 1.5."""
    if fn in ("/", "**"):
        call, at = f"(1.5 {fn} {{}})", 0.5
    elif fn in BINARY:
        call, at = f"{fn}({{}}, 2.5)", 0.5
    else:
        call, at = f"{fn}({{}})", 1.5 if fn.endswith("acosh") or fn.endswith("arccosh") else 0.5
    return f"def f(x):\n    return ({call.format('x')} - {call.format(at)}) ** 2\n\n\nAT = {at}\n"


BINARY = frozenset(
    {
        *("np.power", "np.float_power", "np.pow", "math.pow", "pow", "np.divide", "np.true_divide"),
        *("np.arctan2", "np.atan2", "math.atan2"),
    }
)


@pytest.mark.generated
@pytest.mark.parametrize("fn", sorted(POLES))
def test_second_derivatives_where_the_first_adjoint_is_zero(fn: str, tmp_path: Path):
    """A residual of zero: the second derivative is twice the square of the function's own."""
    path = tmp_path / "residual.py"
    path.write_text(f"import math\n\nimport numpy as np\n\n\n{_residual(fn)}")
    if not all(hasattr(np, name.removeprefix("np.")) for name in [fn] if name.startswith("np.")):
        pytest.skip("this NumPy has no such function")
    module = runpy.run_path(str(path))
    f, at = module["f"], module["AT"]
    # forward mode twice knows no adjoints
    wanted = tapec.jvp(lambda x: tapec.jvp(f, (x,), (1.0,))[1], (at,), (1.0,))[1]
    assert wanted > 0.1
    for found in (tapec.hvp(f)(at, 1.0), tapec.hessian(f)(at), tapec.grad(tapec.grad(f))(at)):
        assert found == pytest.approx(wanted, rel=1e-12)
    masked = tapec.grad(tapec.grad(lambda x: f(x) if x > at else 0.0 * x))(at)
    assert masked == 0.0


def squares_in_a_recursion(x, n):
    return 0.0 if n == 0 else np.log(x[n - 1]) ** 2 + squares_in_a_recursion(x, n - 1)


@pytest.mark.slow
@pytest.mark.generated
def test_a_residual_of_zero_has_a_curvature():
    x = np.array([1.0, 2.0, 0.5])
    curvature = np.diag((2.0 - 2.0 * np.log(x)) / x**2)
    for f in (lambda x: np.sum(np.log(x) ** 2), lambda x: squares_in_a_recursion(x, 3)):
        np.testing.assert_allclose(tapec.hessian(f)(x), curvature, rtol=1e-12)
        np.testing.assert_allclose(tapec.jacrev(tapec.grad(f))(x), curvature, rtol=1e-12)
        v = tapec.Variable(x)
        with tapec.GradientTape(persistent=True) as outer:
            with tapec.GradientTape() as inner:
                y = f(v)
            g = inner.gradient(y, v)
        np.testing.assert_allclose(outer.jacobian(g, v), curvature, rtol=1e-12)
    cube = lambda x: math.log(x) ** 3  # noqa: E731
    assert tapec.grad(tapec.grad(tapec.grad(cube)))(1.0) == 6.0 == tapec.grad(lambda x: tapec.hvp(cube)(x, 1.0))(1.0)


@pytest.mark.slow
@pytest.mark.generated
def test_where_a_second_derivative_is_masked_it_is_zero():
    f = lambda x: np.where(x > 1.0, np.sqrt(np.maximum(x - 1.0, 0.0)), 0.0).sum()  # noqa: E731
    x = np.array([0.5, 1.0, 5.0])
    for second in (tapec.hessian(f)(x), tapec.jacrev(tapec.grad(f))(x)):
        np.testing.assert_allclose(second, np.diag([0.0, 0.0, -1.0 / 32.0]), rtol=1e-12)
