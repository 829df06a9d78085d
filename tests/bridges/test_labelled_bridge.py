"""`tapec.labelled`: gradients by arrays of xarray and pandas have the labels of what they belong to."""

from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

import tapec.labelled  # noqa: E402  after the libraries are known to be there
from tapec.errors import UnsupportedType, UsageError  # noqa: E402

pytestmark = pytest.mark.slow


def misfit(w, x, y=0.0):
    return np.mean((x @ w - y) ** 2)


def total(p):
    return np.sum(p["a"] ** 2) * p["b"][0] + p["b"][1]


FRAME = pd.DataFrame({"age": [1.0, 2.0, 4.0], "size": [0.0, 1.0, -1.0]}, index=["p", "q", "r"])
WEIGHTS = pd.Series([1.0, 2.0], index=["age", "size"], name="w")


def test_series_and_data_frames():
    y = pd.Series([0.0, 1.0, 2.0], index=FRAME.index)
    value, (w_bar, x_bar) = tapec.labelled.value_and_grad(misfit, wrt=("w", "x"))(WEIGHTS, FRAME, y)
    plain = tapec.value_and_grad(misfit, wrt=("w", "x"))(WEIGHTS.to_numpy(), FRAME.to_numpy(), y.to_numpy())
    assert value == plain[0] and w_bar.name == "w"
    pd.testing.assert_series_equal(w_bar, pd.Series(plain[1][0], index=["age", "size"], name="w"))
    pd.testing.assert_frame_equal(x_bar, pd.DataFrame(plain[1][1], FRAME.index, FRAME.columns))


def test_arguments_by_name_and_defaults():
    w_bar = tapec.labelled.grad(misfit, wrt="w")(x=FRAME, w=WEIGHTS)
    assert list(w_bar.index) == ["age", "size"]
    with pytest.raises(UsageError, match="`z`"):
        tapec.labelled.grad(misfit, wrt="z")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_data_arrays(dtype):
    field = xr.DataArray(
        np.arange(6.0, dtype=dtype).reshape(2, 3),
        dims=("time", "place"),
        coords={"time": [2001, 2002], "place": list("abc"), "height": ("place", [1.0, 2.0, 3.0])},
        attrs={"units": "K"},
        name="T",
    )
    gradient = tapec.labelled.grad(lambda T, h: np.sum(h * T**2))(field, field.height)
    assert gradient.dtype == dtype
    xr.testing.assert_identical(gradient, (2 * field * field.height).astype(dtype).assign_attrs(units="K").rename("T"))
    transposed = tapec.labelled.grad(lambda T: np.sum(T**2))(field.T)
    assert transposed.dims == ("place", "time")


def test_data_sets_and_dicts():
    values = {"a": ("x", np.array([1.0, 2.0])), "b": ("y", np.array([3.0, 0.5]))}
    data = xr.Dataset(values, coords={"x": [10, 20]})
    gradient = tapec.labelled.grad(total)(data)
    xr.testing.assert_identical(gradient["a"], 6 * data["a"])
    np.testing.assert_array_equal(gradient["b"], [5.0, 1.0])
    nested = tapec.labelled.grad(total)({"a": data["a"], "b": np.array([3.0, 0.5])})
    xr.testing.assert_identical(nested["a"], 6 * data["a"])
    assert type(nested["b"]) is np.ndarray


def test_values_are_not_copied():
    array, seen = np.ones(4), []
    f = tapec.labelled.grad(lambda x: np.sum(x))
    f.derivative = lambda x: seen.append(x) or x
    f(pd.Series(array, copy=False)), f(xr.DataArray(array)), f(pd.DataFrame(array[:, None], copy=False))
    assert all(np.shares_memory(one, array) for one in seen)


def test_labels_in_another_order_are_refused():
    f = tapec.labelled.grad(misfit)
    with pytest.raises(ValueError, match="arguments 0 and 1 have the same labels in another order"):
        f(WEIGHTS[::-1], FRAME)
    field = xr.DataArray(np.ones(2), {"t": [1, 2]}, ("t",))
    with pytest.raises(ValueError, match="different labels along 't'"):
        tapec.labelled.grad(lambda a, b: a @ b)(field, field.assign_coords(t=[2, 3]))
    # no labels in common, or none at all, are nobody's mistake
    assert len(f(WEIGHTS.reset_index(drop=True), FRAME)) == 2


def test_errors_are_not_hidden():
    with pytest.raises(UnsupportedType):
        tapec.labelled.grad(misfit)(WEIGHTS, FRAME.assign(size="large"))
    with pytest.raises(TypeError, match="not enough arguments"):
        tapec.labelled.grad(misfit)(WEIGHTS)


def test_frames_without_rows_and_pickles():
    gradient = pickle.loads(pickle.dumps(tapec.labelled.grad(misfit, wrt=1)))(WEIGHTS, FRAME[:0])
    assert gradient.shape == (0, 2) and list(gradient.columns) == ["age", "size"]


def test_the_examples_of_the_module():
    assert doctest.testmod(tapec.labelled).failed == 0
