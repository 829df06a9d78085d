"""`tape.jacobian` and `tape.batch_jacobian`, in ordinary code and in compiled functions."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import tapec
import tapec.gradient_tape
from tapec import GradientTape, Variable, constant, function

X = np.array([0.5, -1.0, 2.0])
W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def jacobians(x, s, z, w):
    with GradientTape(persistent=True) as tape:
        tape.watch([x, s, z])
        y = x * s * np.sum(x)
        n = np.sum(y)
        h = w @ x
    return (
        tape.jacobian(y, [x, {"s": s, "z": z}]),
        tape.jacobian(n, (x, s)),
        tape.jacobian(h, [w, x]),
        tape.jacobian(y, z, unconnected_gradients="zero"),
        tape.jacobian(y, y),
        tape.jacobian(y, x, parallel_iterations=2, experimental_use_pfor=False),
        tape.gradient(y, x),
    )


BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["ordinary", "compiled"])


@pytest.mark.slow
@BOTH
def test_shapes_structures_and_values(compiled):
    f = function(jacobians) if compiled else jacobians
    x, s, z, w = X.copy(), constant(2.0), constant([1.0, 2.0]), Variable(W)
    first, (by_x, by_s), (by_w, h_by_x), zeros, own, again, gradient = f(x, s, z, w)
    y_by_x = 2.0 * (np.diag(np.full(3, X.sum())) + X[:, None])
    np.testing.assert_allclose(first[0], y_by_x, rtol=1e-14)
    np.testing.assert_allclose(first[1]["s"], X * X.sum(), rtol=1e-14)
    assert first[1]["z"] is None
    np.testing.assert_allclose(by_x, np.full(3, 4.0 * X.sum()), rtol=1e-14)
    assert by_s == pytest.approx(X.sum() ** 2)
    np.testing.assert_array_equal(by_w, np.einsum("ij,k->ijk", np.eye(2), X))
    np.testing.assert_array_equal(h_by_x, W)
    np.testing.assert_array_equal(zeros, np.zeros((3, 2)))
    np.testing.assert_array_equal(own, np.eye(3))
    np.testing.assert_array_equal(again, first[0])
    np.testing.assert_allclose(gradient, y_by_x.sum(axis=0), rtol=1e-14)


def second(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(x**4)
        slope = inner.gradient(y, x)
    return outer.jacobian(slope, x)


def of_jacobian(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        rows = inner.jacobian(y, x)
        total = np.sum(rows * rows)
    return outer.gradient(total, x)


@pytest.mark.slow
@BOTH
def test_hessians_and_gradients_of_jacobians(compiled):
    make = function if compiled else (lambda f: f)
    np.testing.assert_allclose(make(second)(X.copy()), np.diag(12.0 * X**2), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(make(of_jacobian)(X.copy()), 36.0 * X**3, rtol=1e-13)


def batches(b):
    with GradientTape(persistent=True) as tape:
        tape.watch(b)
        y = np.stack((b[:, 0] * b[:, 1], b[:, 1] ** 2, b[:, 0] * b[0, 0]), axis=1)
        z = np.ones((3, 4))
    return tape.batch_jacobian(y, b), tape.batch_jacobian(z, b), tape.jacobian(y, b)


@pytest.mark.slow
@BOTH
def test_batches(compiled):
    f = function(batches) if compiled else batches
    found, zeros, full = f(np.arange(1.0, 7.0).reshape(3, 2))
    assert found.shape == (3, 3, 2)
    # examples that depend on one another: the diagonal blocks of the full Jacobian
    for k in range(3):
        np.testing.assert_array_equal(found[k], full[k, :, k, :])
    np.testing.assert_array_equal(zeros, np.zeros((3, 4, 2)))


def of_more_axes(b):
    with GradientTape() as tape:
        tape.watch(b)
        y = b[:, :, 0] * 2.0 + b[:, :, 1] ** 2
    return tape.batch_jacobian(y, b)


@BOTH
def test_batches_of_more_axes(compiled):
    b = np.arange(12.0).reshape(2, 3, 2)
    found = (function(of_more_axes) if compiled else of_more_axes)(b)
    assert found.shape == (2, 3, 3, 2)
    wanted = np.zeros((2, 3, 3, 2))
    for k in range(3):
        wanted[:, k, k, 0] = 2.0
        wanted[:, k, k, 1] = 2.0 * b[:, k, 1]
    np.testing.assert_array_equal(found, wanted)


def wrong_shapes(a, b, c):
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b, c])
        y = a * 2.0
    return tape.batch_jacobian(y, c)


@BOTH
@pytest.mark.parametrize("shape", [(3, 2), (4,)])
def test_batches_that_do_not_fit(compiled, shape):
    f = function(wrong_shapes) if compiled else wrong_shapes
    a = np.ones((2, 2)) if len(shape) == 2 else np.ones(4)
    with pytest.raises(ValueError, match="batch_jacobian"):
        f(a, np.ones(2), np.ones(shape))


def rows_one_at_a_time(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.jacobian(y, x, experimental_use_pfor=False)


def twice(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    first = tape.gradient(y, x)
    return first, tape.jacobian(y, x)


def while_recording(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        rows = tape.jacobian(y, x)
    return rows


@BOTH
@pytest.mark.parametrize("misuse", [rows_one_at_a_time, twice, while_recording])
def test_misuse_raises_runtime_error(compiled, misuse):
    with pytest.raises(RuntimeError):
        (function(misuse) if compiled else misuse)(X.copy())


def several_targets(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.jacobian([y, y], x)


def variable_target(x):
    v = VARIABLE
    with GradientTape() as tape:
        y = v * x
    del y
    return tape.jacobian(v, v)


VARIABLE = Variable(1.0)


@BOTH
def test_targets(compiled):
    make = function if compiled else (lambda f: f)
    with pytest.raises(TypeError):
        make(several_targets)(X.copy())
    with pytest.raises(ValueError, match="target"):
        make(variable_target)(X.copy())


def test_a_failed_call_does_not_use_the_tape_up():
    x = X.copy()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="batch_jacobian"):
        tape.batch_jacobian(y, x)
    with pytest.raises(ValueError, match="at least 1"):
        tape.jacobian(y, x, parallel_iterations=0)
    np.testing.assert_array_equal(tape.jacobian(y, x), np.diag(2.0 * X))


def test_a_variable_assigned_between_reads():
    v = Variable([1.0, 2.0])
    with GradientTape() as tape:
        y = v * v
        v.assign([3.0, 4.0])
        z = y + v
    np.testing.assert_array_equal(tape.jacobian(z, v), np.diag([3.0, 5.0]))


def test_dtypes():
    x = X.astype(np.float32)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * np.float32(2.0)
    found = tape.jacobian(y, x)
    assert found.dtype == np.float32 and found.shape == (3, 3)


def connected_in_some_iterations(x, c, n):
    with GradientTape(persistent=True) as tape:
        tape.watch([x, c])
        y = x * 1.0
        for _ in range(n):
            y = y * c
    return tape.gradient(y, c), tape.jacobian(y, c)


@BOTH
def test_none_where_no_iteration_connects(compiled):
    f = function(connected_in_some_iterations) if compiled else connected_in_some_iterations
    assert f(X.copy(), constant(2.0), 0) == (None, None)
    gradient, rows = f(X.copy(), constant(2.0), 2)
    assert gradient == pytest.approx(4.0 * X.sum())
    np.testing.assert_allclose(rows, 4.0 * X)


@pytest.mark.slow
def test_the_examples_of_the_docstrings():
    result = doctest.testmod(
        tapec.gradient_tape, extraglobs={"np": np, "constant": constant, "tapec": tapec}, optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 5 and result.failed == 0
