"""`tapec.function`: whole functions with tapes in them."""

from __future__ import annotations

import pickle
from collections import namedtuple

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, function
from tapec.errors import UnsupportedSyntax, UsageError

Pair = namedtuple("Pair", ["first", "second"])


@function
def slope(x, n=0):
    """The slope of a power."""
    with GradientTape() as tape:
        tape.watch(x)
        y = x**3
        for _ in range(n):
            y = y * x
    return tape.gradient(y, x), None, [y]


def test_values_keep_their_structure():
    assert slope(2.0) == (12.0, None, [8.0])
    assert slope(2.0, n=2) == (80.0, None, [32.0])
    assert slope.__name__ == "slope" and slope.__doc__ == "The slope of a power."
    assert "range" in slope.source()


def test_numbers_do_not_specialise():
    before = len(slope._plans)
    for k in range(4):
        slope(1.0 + k, k)
    assert len(slope._plans) <= before + 1


@pytest.mark.slow
def test_containers_as_arguments():
    @function
    def gradient(params, pair):
        with GradientTape() as tape:
            tape.watch([params, pair])
            y = np.sum(params["w"] * pair.first) + pair.second
        return tape.gradient(y, [params["w"], pair.first, pair.second]), Pair(y, pair.second)

    w, first = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    found, pair = gradient({"w": w}, Pair(first, 5.0))
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], w)
    assert found[2] == 1.0 and pair == Pair(16.0, 5.0)


def test_variables_are_read_and_assigned():
    w, steps = Variable([1.0, 2.0]), Variable(0.0)

    @function
    def step(x, rate):
        with GradientTape() as tape:
            loss = np.sum((x @ w - 1.0) ** 2)
        w.assign_sub(rate * tape.gradient(loss, w))
        steps.assign_add(1.0)
        return loss

    losses = [step(np.eye(2), 0.1) for _ in range(4)]
    np.testing.assert_allclose(losses, [0.64**k for k in range(4)])
    assert steps.numpy() == 4.0 and len(step._plans) == 1
    w.assign([1.0, 3.0])
    assert step(np.eye(2), 0.1) == 4.0


def test_second_order_inside():
    @function
    def curvature(x):
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = np.sum(x**3)
            first = inner.gradient(y, x)
            total = np.sum(first)
        return outer.gradient(total, x)

    np.testing.assert_array_equal(curvature(np.array([1.0, 2.0])), [6.0, 12.0])


def test_a_compiled_function_under_a_tape_and_under_grad():
    @function
    def cube(x):
        return x**3

    x = tapec.constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = cube(x) * x
    assert tape.gradient(y, x) == 32.0
    assert tapec.grad(cube)(2.0) == 12.0


def test_arguments_written_in_place():
    @function
    def scale(x):
        x *= 2.0
        return np.sum(x)

    x = np.array([1.0, 2.0])
    assert scale(x) == 6.0
    np.testing.assert_array_equal(x, [2.0, 4.0])


def test_methods():
    class Layer:
        def __init__(self):
            self.w = Variable(3.0)

        @function
        def slope(self, x):
            with GradientTape() as tape:
                y = self.w * x
            return tape.gradient(y, self.w)

    assert Layer().slope(2.0) == 2.0


def test_refusals():
    with pytest.raises(UsageError):
        function(len)

    @function
    def twice(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x) + tape.gradient(y, x)

    with pytest.raises(RuntimeError, match="not persistent"):
        twice(2.0)


def test_pickling():
    assert pickle.loads(pickle.dumps(slope))(3.0)[0] == 27.0


def test_what_a_tape_has_and_is_inside_a_compiled_function():
    @tapec.function
    def asked(x):
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = x * x if hasattr(tape, "gradient") and isinstance(tape, tapec.GradientTape) else x
            if hasattr(tape, "nonsense") or hasattr(tape, "recorded") or not hasattr(tape, "persistent"):
                y = y * 100.0
        return tape.gradient(y, x), hasattr(tape, "batch_jacobian"), hasattr(tape, "block")

    assert asked(3.0) == (6.0, True, False)


@pytest.mark.parametrize("make", [tapec.GradientTape, tapec.function, lambda **kw: tapec.Variable(1.0, **kw)])
def test_wrong_keywords_are_type_errors(make):
    with pytest.raises(TypeError, match="nonsense"):
        make(nonsense=1)

    @tapec.function
    def inside(x):
        made = make(nonsense=1)
        return x * 1.0 if made is None else x

    # functions are not made inside of functions, whatever the keywords
    with pytest.raises(tapec.errors.UnsupportedFunction if make is tapec.function else TypeError):
        inside(2.0)


@pytest.mark.parametrize(
    "value",
    [np.longdouble(1.0), np.ones(2, ">f8"), np.ma.array([1.0]), np.ones(2, np.float16), np.array(["a"]), np.half(1.0)],
    ids=lambda value: f"{type(value).__name__}-{value.dtype}",
)
def test_no_error_of_numba_leaves(value):
    @tapec.function
    def added(x, y):
        return x + y

    with pytest.raises(tapec.errors.TapecError):
        added(value, 1.0)

    with pytest.raises(tapec.errors.TapecError):
        x = Variable(2.0)
        with GradientTape() as tape:
            y = x * x if np.ndim(value) < 0 else x * (value if value.dtype.kind != "U" else 1.0)
            z = y if value.dtype.kind != "U" else x * len(value[0])
        tape.gradient(z, x)


def shared_with_a_copy(a, b):
    product = a * b
    flat = product.ravel()
    flat[0] = 2.0
    return np.sum(product * product)


def test_memory_that_numpy_shares_and_a_compiled_function_copies_is_refused():
    a = np.ones((2, 2))
    assert function(shared_with_a_copy)(a, a) == shared_with_a_copy(a, a) == 7.0
    with pytest.raises(UnsupportedSyntax, match="share memory in NumPy"):
        function(shared_with_a_copy)(a.T, a)
