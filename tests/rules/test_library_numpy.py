"""The array library gives NumPy's results when it runs as plain Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numba.np import extensions

from tapec.rules.library import LIBRARY, METHODS, library_function


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def same(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Equal values, shapes and kinds of dtype; sequences item by item."""
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            same(one, other, rtol)
        return
    assert np.shape(actual) == np.shape(expected)
    assert np.asarray(actual).dtype.kind == np.asarray(expected).dtype.kind
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def agrees(function: Any, *args: Any, rtol: float = 1e-12, **kwargs: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same(LIBRARY[function](*args, **kwargs), function(*args, **kwargs), rtol)


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of every layout, rank and kind of dtype, with ties and edge sizes."""
    r = rng()
    cube = r.normal(size=(2, 3, 4))
    return {
        "line": r.normal(size=5),
        "one": np.array([3.5]),
        "matrix": r.normal(size=(3, 4)),
        "square": r.normal(size=(3, 3)),
        "fortran": np.asfortranarray(r.normal(size=(3, 4))),
        "strided": r.normal(size=(6, 8))[::2, ::-2],
        "cube": cube,
        "turned": np.transpose(cube, (2, 0, 1)),
        "float32": r.normal(size=(2, 3)).astype(np.float32),
        "int": r.integers(-4, 5, (3, 3)),
        "int8": r.integers(-4, 5, 6).astype(np.int8),
        "uint8": np.array([200, 100, 3], np.uint8),
        "bool": np.array([[True, False], [True, True]]),
        "ties": np.array([1.0, 3.0, 3.0, 1.0, 3.0]),
        "four": r.normal(size=(2, 1, 3, 2)),
    }


ARRAYS = arrays()
EMPTY = {"empty": np.empty(0), "rows": np.empty((0, 3)), "columns": np.empty((2, 0))}
WITH_EMPTY = ARRAYS | EMPTY
FLOATS = {name: a for name, a in ARRAYS.items() if a.dtype.kind == "f"}


def tolerance(a: np.ndarray[Any, Any]) -> float:
    return 2e-6 if a.dtype == np.float32 else 1e-12


def over(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("a", table.values(), ids=table.keys())


@over(WITH_EMPTY)
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std, np.nansum, np.nanprod])
def test_reductions(function: Any, a: Any):
    agrees(function, a, rtol=tolerance(a))
    for axis in range(-a.ndim, a.ndim):
        agrees(function, a, axis=axis, rtol=tolerance(a))
        agrees(function, a, axis=axis, keepdims=True, rtol=tolerance(a))
    agrees(function, a, keepdims=True, rtol=tolerance(a))


@pytest.mark.parametrize(
    "function",
    [np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.ptp, np.nansum, np.nanmax, np.linalg.norm],
)
def test_reductions_over_several_axes(function: Any):
    for a in (ARRAYS["cube"], ARRAYS["turned"], ARRAYS["four"]):
        for axis in ((0, 1), (-1, 0), (1, 2), (2, 1)):
            agrees(function, a, axis=axis)
            agrees(function, a, axis=axis, keepdims=True)
    if function is not np.linalg.norm:
        for axis in ((), (1,), (3, 0, 1), (0, 1, 2, 3)):
            agrees(function, ARRAYS["four"], axis=axis)
            agrees(function, ARRAYS["four"], axis=axis, keepdims=True)


def test_axes_that_a_reduction_cannot_run_over_are_refused():
    a = np.ones((2, 3, 4))
    with pytest.raises(ValueError, match="duplicate"):
        LIBRARY[np.sum](a, (0, -3))
    with pytest.raises(ValueError, match="out of bounds"):
        LIBRARY[np.mean](a, (0, 3))
    with pytest.raises(TypeError, match="one axis"):
        LIBRARY[np.sort](a, (0, 1))
    with pytest.raises(ValueError, match="Improper number"):
        LIBRARY[np.linalg.norm](a, 1, (0, 1, 2))


@over({name: a for name, a in ARRAYS.items() if a.ndim == 2})
def test_spectral_norms(a: Any):
    agrees(np.linalg.norm, a, 2, rtol=tolerance(a))
    agrees(np.linalg.norm, a, 2, keepdims=True, rtol=tolerance(a))
    agrees(np.linalg.norm, 0 * a, 2)
    agrees(np.linalg.norm, a[:, :0], 2)


@over(ARRAYS)
@pytest.mark.parametrize("function", [np.max, np.min, np.nanmax, np.nanmin])
def test_extremes_are_exact(function: Any, a: Any):
    agrees(function, a, rtol=0.0)
    for axis in range(-a.ndim, a.ndim):
        agrees(function, a, axis=axis, rtol=0.0)
        agrees(function, a, axis=axis, keepdims=True, rtol=0.0)


@pytest.mark.parametrize("function", [np.max, np.min, np.nanmax, np.nanmin, np.ptp, np.median, np.nanmedian])
@pytest.mark.parametrize(
    "values", [[1.0, np.inf, np.inf], [-np.inf, -np.inf], [np.nan, 2.0, 2.0], [np.nan], [0.1, 0.1, 0.1], [1e308, 1e308]]
)
def test_reductions_of_special_values(function: Any, values: list[float]):
    agrees(function, np.array(values), rtol=0.0)


@pytest.mark.parametrize("function", [np.max, np.min])
def test_extremes_of_nothing_are_refused(function: Any):
    with pytest.raises(ValueError, match="zero-size"):
        LIBRARY[function](np.empty(0))


def test_an_axis_that_does_not_exist_is_refused():
    for function in (np.sum, np.mean, np.max, np.cumsum, np.sort, np.concatenate):
        with pytest.raises(ValueError, match="axis"):
            LIBRARY[function]((np.ones(2), np.ones(2)) if function is np.concatenate else np.ones((2, 2)), 2)


@over(FLOATS)
def test_reductions_with_options(a: Any):
    agrees(np.var, a, ddof=1, rtol=tolerance(a))
    agrees(np.std, a, axis=0, ddof=1, rtol=tolerance(a))
    agrees(np.sum, a, dtype=np.float32, rtol=2e-6)
    agrees(np.sum, a, axis=0, dtype=np.float64, rtol=2e-6)
    agrees(np.ptp, a, rtol=tolerance(a))
    agrees(np.average, a, rtol=tolerance(a))
    agrees(np.average, a, None, np.abs(a) + 1.0, rtol=tolerance(a))
    agrees(np.average, a, -1, np.abs(a) + 1.0, rtol=tolerance(a))
    agrees(np.average, a, 0, np.arange(1.0, a.shape[0] + 1.0), rtol=tolerance(a))
    agrees(np.sum, a.tolist(), rtol=tolerance(a))


@over(WITH_EMPTY)
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod])
def test_running_totals(function: Any, a: Any):
    agrees(function, a, rtol=tolerance(a))
    for axis in range(-a.ndim, a.ndim):
        agrees(function, a, axis, rtol=tolerance(a))


@pytest.mark.parametrize(
    "function",
    [
        np.nansum,
        np.nanprod,
        np.nanmean,
        np.nanvar,
        np.nanstd,
        np.nanmax,
        np.nanmin,
        np.nanmedian,
        np.nancumsum,
        np.nancumprod,
    ],
)
@pytest.mark.parametrize("values", [[1.0, np.nan, 3.0, 2.5], [np.nan, np.nan], [1.0], [[np.nan, 1.0], [2.0, 4.0]]])
def test_nan_is_left_out(function: Any, values: Any):
    agrees(function, np.array(values))


@over(FLOATS)
def test_trapezoids(a: Any):
    trapezoid: Any = getattr(np, "trapezoid", None) or np.trapz  # type: ignore[attr-defined]
    x = np.sort(rng().normal(size=a.shape[-1]))
    rtol = tolerance(a)
    agrees(trapezoid, a, rtol=rtol)
    agrees(trapezoid, a, dx=0.3, rtol=rtol)
    agrees(trapezoid, a, x, rtol=rtol)
    agrees(trapezoid, a, np.broadcast_to(x, a.shape), rtol=rtol)


@over(WITH_EMPTY)
def test_sorting(a: Any):
    agrees(np.sort, a, rtol=0.0)
    agrees(np.sort, a, None, rtol=0.0)
    for axis in range(-a.ndim, a.ndim):
        agrees(np.sort, a, axis, rtol=0.0)
    mine = a.copy()
    METHODS["sort"](mine)
    np.testing.assert_array_equal(mine, np.sort(a))
    agrees(np.unique, a, rtol=0.0)


@over({name: a for name, a in FLOATS.items() if a.shape[-1] > 2})
def test_partitions(a: Any):
    agrees(np.partition, a, 1, rtol=0.0)


@over({name: a for name, a in ARRAYS.items() if a.dtype.kind != "b"})
def test_medians_and_quantiles(a: Any):
    rtol = tolerance(a)
    agrees(np.median, a, rtol=rtol)
    for axis in range(-a.ndim, a.ndim):
        agrees(np.median, a, axis, rtol=rtol)
        agrees(np.median, a, axis, keepdims=True, rtol=rtol)
    for q in (0.0, 0.1, 0.5, 1.0, np.array([0.2, 0.9]), [0.25, 0.75]):
        agrees(np.quantile, a, q, rtol=rtol)
        agrees(np.nanquantile, a, q, rtol=rtol)
        agrees(np.percentile, a, np.multiply(q, 100.0), rtol=rtol)
        agrees(np.nanpercentile, a, np.multiply(q, 100.0), rtol=rtol)


def test_quantiles_of_nan_and_out_of_range():
    a = np.array([1.0, np.nan, 4.0, 2.0])
    agrees(np.quantile, a, 0.3)
    agrees(np.median, a)
    agrees(np.nanquantile, a, 0.3)
    agrees(np.nanmedian, a)
    for q in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="range"):
            LIBRARY[np.quantile](a, q)
    with pytest.raises(ValueError, match="range"):
        LIBRARY[np.percentile](a, np.array([5.0, 101.0]))


@pytest.mark.parametrize("function", [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d])
@pytest.mark.parametrize("first", [[3.0, 1.0, 3.0, 2.0], [], [[5.0, 1.0], [2.0, 2.0]]])
@pytest.mark.parametrize("second", [[2.0, 2.0, 7.0], [], [1.0]])
def test_sets(function: Any, first: Any, second: Any):
    agrees(function, np.array(first), np.array(second))


def test_counting():
    x = np.array([3, 1, 1, 0, 5])
    agrees(np.bincount, x)
    agrees(np.bincount, x, np.linspace(0.0, 1.0, 5))
    agrees(np.bincount, x, None, 9)
    agrees(np.bincount, np.empty(0, np.int64))
    with pytest.raises(ValueError, match="negative"):
        LIBRARY[np.bincount](np.array([-1]))
    a = rng().normal(size=40)
    for values in (a, np.round(a, 1), np.ones(3), np.empty(0), a.reshape(4, 10)):
        agrees(np.histogram, values)
        agrees(np.histogram, values, 7)
        agrees(np.histogram, values, 4, (-1.0, 0.5))
        agrees(np.histogram, values, np.array([-1.0, 0.0, 0.3, 2.0]))


@over(WITH_EMPTY)
def test_joining(a: Any):
    for axis in range(-a.ndim, a.ndim):
        agrees(np.concatenate, (a, a[..., :1] if axis in (-1, a.ndim - 1) else a), axis, rtol=0.0)
    for axis in range(-a.ndim - 1, a.ndim + 1):
        agrees(np.stack, (a, a, a), axis, rtol=0.0)
    agrees(np.concatenate, (a, a.ravel()[:2]), None, rtol=0.0)
    for function in (np.hstack, np.vstack, np.dstack, np.concatenate):
        agrees(function, (a, a), rtol=0.0)
        agrees(function, [a, a, a], rtol=0.0)
    if a.ndim <= 2:
        agrees(np.column_stack, (a, a), rtol=0.0)
    agrees(np.append, a, 2.0, rtol=0.0)
    agrees(np.append, a, a, 0, rtol=0.0)
    agrees(np.append, a, [1, 2], rtol=0.0)


def test_joining_mixed_dtypes_and_wrong_shapes():
    a = np.ones(2, np.float32)
    agrees(np.concatenate, (a, np.arange(2)))
    agrees(np.concatenate, (a, np.ones(1)))
    agrees(np.stack, (np.arange(2), np.ones(2)))
    agrees(np.concatenate, (np.ones(1, bool), np.arange(2, dtype=np.int8)))
    agrees(np.hstack, (1.0, 2.0))
    agrees(np.vstack, (np.ones(2), np.ones((1, 2))))
    for bad in (
        lambda: LIBRARY[np.concatenate]((np.ones((2, 2)), np.ones((1, 3)))),
        lambda: LIBRARY[np.stack]((np.ones(2), np.ones(3))),
    ):
        with pytest.raises(ValueError, match="match|same shape"):
            bad()


@pytest.mark.parametrize("function", [np.atleast_1d, np.atleast_2d, np.atleast_3d])
def test_at_least_so_many_axes(function: Any):
    for a in (2.5, 3, *ARRAYS.values()):
        agrees(function, a, rtol=0.0)
    agrees(function, 1.0, np.ones(2), np.ones((2, 2)))


@over(WITH_EMPTY)
def test_rearranging(a: Any):
    for function in (np.flip, np.flipud):
        agrees(function, a, rtol=0.0)
    for axis in range(-a.ndim, a.ndim):
        agrees(np.flip, a, axis, rtol=0.0)
        agrees(np.roll, a, 2, axis, rtol=0.0)
        agrees(np.repeat, a, 2, axis, rtol=0.0)
        agrees(np.repeat, a, np.arange(a.shape[axis]) % 3, axis, rtol=0.0)
        agrees(np.moveaxis, a, axis, 0, rtol=0.0)
        agrees(np.diff, a.astype(np.float64), 1, axis, rtol=0.0)
    for shift in (0, 1, -1, 7, -13):
        agrees(np.roll, a, shift, rtol=0.0)
    for repeats in (0, 1, 3, np.array([2])):
        agrees(np.repeat, a, repeats, rtol=0.0)
    for reps in (2, (2,), (2, 1), (1, 2, 3), (0, 1)):
        agrees(np.tile, a, reps, rtol=0.0)
    if a.ndim > 1:
        agrees(np.fliplr, a, rtol=0.0)
        for k in range(-2, 6):
            agrees(np.rot90, a, k, rtol=0.0)
        agrees(np.moveaxis, a, (0, 1), (1, 0), rtol=0.0)
        agrees(np.moveaxis, a, (1, 0), (-1, 0), rtol=0.0)
    for shape in (3, (2, 5), (0,)):
        agrees(np.resize, a, shape, rtol=0.0)


def test_reversed_arrays_are_views():
    a = np.zeros((2, 3))
    for function in (np.flip, np.fliplr, np.flipud, np.rot90):
        assert np.shares_memory(LIBRARY[function](a), a)


def test_shapes():
    agrees(np.squeeze, np.ones((2, 1, 3)), 1)
    with pytest.raises(ValueError, match="squeeze"):
        LIBRARY[np.squeeze](np.ones((2, 2)), 0)
    agrees(np.broadcast_to, np.arange(3.0), (2, 3))
    agrees(np.broadcast_to, 2.0, (2, 3))
    agrees(np.broadcast_to, np.ones((2, 1)), (4, 2, 3))
    agrees(np.broadcast_arrays, np.arange(3.0), np.ones((2, 1)), 4.0)
    agrees(np.broadcast_shapes, (2, 1), (3,), (4, 1, 1))
    with pytest.raises(ValueError, match="broadcast"):
        LIBRARY[np.broadcast_shapes]((2,), (3,))


@over(ARRAYS)
def test_splitting(a: Any):
    for function in (np.array_split, np.split):
        agrees(function, a, a.shape[0], rtol=0.0)
        agrees(function, a, (1,), rtol=0.0)
        agrees(function, a, [1, 2], -1, rtol=0.0)
    agrees(np.array_split, a, 2, rtol=0.0)
    agrees(np.array_split, a, 4, -1, rtol=0.0)
    agrees(np.hsplit, a, (1,), rtol=0.0)
    if a.ndim > 1:
        agrees(np.vsplit, a, (1,), rtol=0.0)
    if a.ndim > 2:
        agrees(np.dsplit, a, (1,), rtol=0.0)
    with pytest.raises(ValueError, match="equal division"):
        LIBRARY[np.split](np.ones(5), 2)


@over(ARRAYS)
def test_picking(a: Any):
    for indices in (0, -1, np.array([0, 0, -1]), np.array([[0], [0]]), (0, 0), [0]):
        agrees(np.take, a, indices, rtol=0.0)
        for axis in range(-a.ndim, a.ndim):
            agrees(np.take, a, indices, axis, rtol=0.0)
    for axis in range(-a.ndim, a.ndim):
        agrees(np.take_along_axis, a, np.argsort(a, axis), axis, rtol=0.0)
    agrees(np.extract, a > 0, a, rtol=0.0)
    agrees(np.compress, np.arange(a.shape[0]) % 2 == 0, a, rtol=0.0)
    agrees(np.select, [a > 1, a < 0], [a, a * 2], rtol=0.0)
    agrees(np.select, (a > 1, a < 0), (a * 1.0, a * 2.0), 5.0, rtol=0.0)
    agrees(np.diagflat, a, rtol=0.0)
    agrees(np.diagflat, a, -1, rtol=0.0)


@over(ARRAYS)
def test_removing_and_inserting(a: Any):
    n = a.size
    for obj in (0, n - 1, -1, -n, np.array([0, n - 1]), np.array([-1, 0, 0]), np.empty(0, np.int64), [0]):
        agrees(np.delete, a, obj, rtol=0.0)
        if np.size(obj):
            agrees(np.insert, a, obj, 1, rtol=0.0)
    agrees(np.insert, a, n, 1, rtol=0.0)
    agrees(np.insert, a, 1, [1, 0, 1], rtol=0.0)
    agrees(np.insert, a, np.array([1, 0, 1]), [1, 0, 1], rtol=0.0)
    for obj in (n, -n - 1, np.array([n])):
        with pytest.raises(IndexError):
            LIBRARY[np.delete](a, obj)
    with pytest.raises(IndexError):
        LIBRARY[np.insert](a, n + 1, 0)


@over({name: a for name, a in WITH_EMPTY.items() if a.ndim <= 2})
@pytest.mark.parametrize("k", [-4, -1, 0, 1, 3, 5])
def test_diagonals(a: Any, k: int):
    agrees(np.diag, a, k, rtol=0.0)
    if a.ndim == 2:
        agrees(np.trace, a, k)
        agrees(np.diagonal, a, k, rtol=0.0)


@over(WITH_EMPTY)
@pytest.mark.parametrize("k", [-4, -1, 0, 1, 3])
def test_triangles(a: Any, k: int):
    agrees(np.tril, a, k, rtol=0.0)
    agrees(np.triu, a, k, rtol=0.0)


@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (3, 7), (8, 1), (2, 2, 2), (4, 3), (5, 1), (9, 2)])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("value", [2.0, np.array([1.0, 2.0])])
def test_filling_diagonals(shape: tuple[int, ...], wrap: bool, value: Any):
    mine, theirs = np.zeros(shape), np.zeros(shape)
    LIBRARY[np.fill_diagonal](mine, value, wrap)
    np.fill_diagonal(theirs, value, wrap)
    np.testing.assert_array_equal(mine, theirs)


def test_creating():
    for args in [(5,), (2, 7), (7, 2), (2, 9, 3), (9, 2, -3), (0.5, 3.2), (3.0,), (0, 1, 0.1), (1.0, 0.0, -0.3), (0,)]:
        agrees(np.arange, *args)
    agrees(np.arange, 3, dtype=np.float32)
    with pytest.raises(ValueError, match="step"):
        LIBRARY[np.arange](0, 3, 0)
    for args in [(0, 1), (0.0, 2.0, 5), (3.0, -1.0, 4), (1.0, 2.0, 1), (1.0, 2.0, 0)]:
        agrees(np.linspace, *args)
        agrees(np.linspace, *args, endpoint=False)
        agrees(np.logspace, *args)
    for args in [(1.0, 1000.0, 4), (-1.0, -8.0, 4), (2.0, 3.0, 1), (8, 1, 4)]:
        agrees(np.geomspace, *args)
    for args in [(3,), (2, 4), (4, 2, 1), (3, 3, -2), (2, 2, 7), (0,)]:
        agrees(np.eye, *args)
        agrees(np.tri, *args)
    agrees(np.identity, 3, np.float32)
    agrees(np.eye, 2, dtype=np.int64)
    agrees(np.indices, (2, 3))
    agrees(np.meshgrid, np.arange(3.0), np.arange(2))
    agrees(np.meshgrid, np.arange(3.0), np.arange(2), indexing="ij")
    for x in (np.array([1.0, 2.0, -3.0]), np.arange(3), np.arange(3, dtype=np.int8), np.ones(2, np.float32)):
        agrees(np.vander, x)
        agrees(np.vander, x, 2)
        agrees(np.vander, x, 4, True)
    agrees(np.asarray_chkfinite, np.ones(3))
    with pytest.raises(ValueError, match="infs or NaNs"):
        LIBRARY[np.asarray_chkfinite](np.array([np.inf]))


def test_products():
    r = rng()
    a, b, m, n = r.normal(size=3), r.normal(size=4), r.normal(size=(2, 3)), r.normal(size=(3, 4))
    agrees(np.vdot, a, a)
    agrees(np.vdot, m, m.T.copy())
    agrees(np.vdot, np.arange(3), a)
    agrees(np.inner, a, a)
    agrees(np.inner, m, m)
    agrees(np.inner, m, a)
    agrees(np.matmul, m, n)
    agrees(np.outer, a, b)
    agrees(np.outer, m, np.arange(4))
    agrees(np.outer, a.astype(np.float32), b)
    for first in (a, m, n.T, r.normal(size=(2, 1, 2))):
        for second in (b, m, r.normal(size=(1, 2, 2))):
            agrees(np.kron, first, second)
    agrees(np.cross, a, b[:3])
    agrees(np.cross, r.normal(size=(5, 3)), r.normal(size=(5, 3)))
    agrees(np.cross, r.normal(size=(4, 1, 3)), r.normal(size=(5, 3)))
    agrees(np.cross, r.normal(size=(5, 3)), a)
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":  # later ones refuse vectors of length 2
        agrees(np.cross, a, b[:2])
        agrees(np.cross, b[:2], a)
    for wrong in ((b, a), (b[:2], a[:2])):
        with pytest.raises(ValueError, match="cross product"):
            LIBRARY[np.cross](*wrong)
    cross2d = getattr(extensions, "cross2d", None)
    if cross2d is None:
        pytest.skip("Numba has cross2d for NumPy before 2.5")
    assert library_function(cross2d)(a[:2], b[:2]) == pytest.approx(a[0] * b[1] - a[1] * b[0])
    same(library_function(cross2d)(m.T[:, :2], m.T[:, ::-1]), m.T[:, 0] ** 2 - m.T[:, 1] ** 2)


@pytest.mark.parametrize("order", [None, 1, 2, 3, 0.5, 0, -1, np.inf, -np.inf])
def test_vector_norms(order: Any):
    for a in (np.array([3.0, -4.0, 1.0]), np.array([2.0]), np.array([1, -2])):
        agrees(np.linalg.norm, a, order)
    m = rng().normal(size=(3, 4))
    agrees(np.linalg.norm, m, order, axis=1)
    agrees(np.linalg.norm, m, order, axis=0, keepdims=True)


@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
def test_matrix_norms(order: Any):
    for m in (rng().normal(size=(3, 4)), np.zeros((2, 2)), np.array([[1, -2], [3, 4]])):
        agrees(np.linalg.norm, m, order)


@pytest.mark.slow
def test_norms_by_singular_values():
    for a in (ARRAYS["matrix"], ARRAYS["square"]):
        for order in (-2, "nuc", 2):
            agrees(np.linalg.norm, a, order)
    for order in (2, "nuc", 1, -np.inf):
        agrees(np.linalg.norm, ARRAYS["cube"], order, (2, 0), keepdims=True)
    with pytest.raises(ValueError, match="Invalid norm order"):
        LIBRARY[np.linalg.norm](ARRAYS["matrix"], 3)


@pytest.mark.parametrize("function", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (1, 1), (6, 4), (4, 6), (1, 3)])
def test_filters(function: Any, mode: str, sizes: tuple[int, int]):
    r = rng()
    a, v = r.normal(size=sizes[0]), r.normal(size=sizes[1])
    agrees(function, a, v, mode)
    agrees(function, np.arange(sizes[0]), np.arange(sizes[1]), mode)


def test_filters_of_nothing_are_refused():
    for function in (np.convolve, np.correlate):
        with pytest.raises(ValueError, match="empty"):
            LIBRARY[function](np.ones(2), np.empty(0))


@over({name: a for name, a in WITH_EMPTY.items() if a.dtype.kind != "b"})
def test_differences(a: Any):
    for n in range(4):
        agrees(np.diff, a, n)
    agrees(np.ediff1d, a)
    agrees(np.ediff1d, a, a.ravel()[:2], a.ravel()[:1])
    with pytest.raises(ValueError, match="negative"):
        LIBRARY[np.diff](a, -1)


def test_unwrapping():
    r = rng()
    for p in (
        r.normal(size=30) * 8.0,
        np.cumsum(r.normal(size=(2, 9)) * 4.0, 1),
        np.array([0.0, np.pi, 2.0 * np.pi, 0.0]),
    ):
        agrees(np.unwrap, p)
        agrees(np.unwrap, p, 4.0)
        agrees(np.unwrap, p, axis=0)
        agrees(np.unwrap, p, period=3.0)
    agrees(np.unwrap, np.array([0.0, 2.0, 4.0, 2.0, 0.0, -2.0, 8.0]), period=4.0)


def test_interpolation():
    xp, fp = np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, -1.0, 4.0, 0.5])
    for x in (0.5, -1.0, 3.0, 9.0, 1.0, 2, np.nan, np.linspace(-1.0, 4.0, 23), np.array([[1.0, np.nan], [2.5, 3.0]])):
        agrees(np.interp, x, xp, fp)
    agrees(np.interp, 0.5, [0.0, 1.0], [2, 3])
    agrees(np.interp, 0.5, [0.3], [2.0])
    with pytest.raises(ValueError, match="empty"):
        LIBRARY[np.interp](1.0, np.empty(0), np.empty(0))
    with pytest.raises(ValueError, match="same length"):
        LIBRARY[np.interp](1.0, np.ones(2), np.ones(3))


def test_covariances():
    r = rng()
    m, y = r.normal(size=(3, 6)), r.normal(size=(2, 6))
    for function in (np.cov, np.corrcoef):
        agrees(function, m)
        agrees(function, m, y)
        agrees(function, m, m, False)
        agrees(function, m[0], y[0])
        agrees(function, m[0])
        agrees(function, m.T, rowvar=False)
    agrees(np.cov, m, bias=True)
    agrees(np.cov, m, ddof=2)
    agrees(np.cov, np.arange(4))


def test_polynomials():
    poly = np.polynomial.polynomial
    a, b = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, 0.0, -1.0])
    for first, second in ((a, b), (b, a), (a, -a), (a, np.array([2.0])), (b, b)):
        for function in (poly.polyadd, poly.polysub, poly.polymul, poly.polydiv):
            agrees(function, first, second)
    agrees(poly.polyint, a)
    agrees(poly.polyint, a, 3)
    for x in (0.3, np.array([0.1, -2.0]), np.arange(4.0).reshape(2, 2)):
        agrees(poly.polyval, x, a)
        agrees(np.polyval, a, x)
    agrees(np.polynomial.polyutils.trimseq, np.array([1.0, 0.0, 2.0, 0.0, 0.0]))
    with pytest.raises(ZeroDivisionError):
        LIBRARY[poly.polydiv](a, np.zeros(1))
    for trim in ("fb", "f", "b"):
        for values in (np.array([0.0, 0.0, 1.0, 0.0, 2.0, 0.0]), np.zeros(3), np.ones(2)):
            agrees(np.trim_zeros, values, trim)


@pytest.mark.parametrize(
    ("name", "args"),
    [("normal", (1.0, 2.0)), ("lognormal", (0.3, 0.5)), ("uniform", (2.0, 5.0)), ("exponential", (3.0,))],
)
def test_draws_use_the_stream_of_numpy(name: str, args: Any):
    function = getattr(np.random, name)
    for size in (None, 4, (2, 3)):
        np.random.seed(3)
        expected = function(*args, size=size)
        np.random.seed(3)
        same(LIBRARY[function](*args, size=size), expected)


def test_matrix_powers_and_eigenvalues():
    m = rng().normal(size=(3, 3))
    for n in (-2, 0, 1, 2, 5):
        agrees(np.linalg.matrix_power, m, n, rtol=1e-9)
    agrees(np.linalg.eigvalsh, m)


@over(ARRAYS)
def test_methods(a: Any):
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod"):
        same(METHODS[name](a), getattr(a, name)(), tolerance(a))
    same(METHODS["repeat"](a, 2), a.repeat(2))
    same(METHODS["take"](a, np.array([0])), a.take(np.array([0])))
    assert METHODS["conj"](a) is a
    if a.dtype.kind == "f":
        same(METHODS["clip"](a, -0.2, 0.4), a.clip(-0.2, 0.4))
        same(METHODS["clip"](a, None, 0.4), a.clip(None, 0.4))
        same(METHODS["clip"](a, 0.1), a.clip(0.1))
        out = np.empty_like(a)
        assert LIBRARY[np.clip](a, -0.2, 0.4, out) is out
        same(out, a.clip(-0.2, 0.4))


@over(ARRAYS)
def test_arguments_stay_as_they_are(a: Any):
    before = a.copy()
    with np.errstate(all="ignore"):
        for function in (np.sum, np.sort, np.diff, np.roll, np.cumprod, np.nancumsum, np.median, np.unique, np.tril):
            if a.dtype.kind == "b" and function is np.diff:
                continue
            LIBRARY[function](a, 1) if function in (np.roll, np.diff) else LIBRARY[function](a)
    np.testing.assert_array_equal(a, before)
