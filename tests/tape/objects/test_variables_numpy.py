"""Variables as NumPy values: operators, conversions, assignment, and as arguments of compiled functions."""

from __future__ import annotations

import copy
import doctest
import math
import operator
import pickle
import sys
import threading

import numpy as np
import pytest
from numba import njit

import tapec
import tapec_runtime.variables
from tapec import GradientTape, Variable, constant

V = np.array([2.0, -3.0])

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, divmod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_binary_operators_on_either_side(op):
    x = np.array([4.0, 2.0])
    for found, wanted in (
        (op(Variable(V), x), op(V, x)),
        (op(x, Variable(V)), op(x, V)),
        (op(Variable(V), Variable(x)), op(V, x)),
    ):
        np.testing.assert_array_equal(found, wanted)
        assert not isinstance(found, Variable)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
def test_bitwise_operators(op):
    v = np.array([1, 6])
    np.testing.assert_array_equal(op(Variable(v), np.array([3, 2])), op(v, np.array([3, 2])))
    np.testing.assert_array_equal(op(np.array([3, 2]), Variable(v)), op(np.array([3, 2]), v))


@pytest.mark.parametrize("op", [operator.neg, operator.pos, abs, np.exp, np.sum, np.linalg.norm, np.cumsum])
def test_unary_operators_and_functions(op):
    np.testing.assert_array_equal(op(Variable(V)), op(V))


def test_conversions_to_python_numbers():
    v = Variable(2.5)
    assert float(v) == 2.5 and int(v) == 2 and complex(v) == 2.5 and bool(v) and round(v) == 2
    assert math.sqrt(v) == math.sqrt(2.5) and f"{v:.2f}" == "2.50" and round(Variable(2.26), 1) == 2.3
    assert operator.index(Variable(3)) == 3 and [1, 2, 3][Variable(1)] == 2
    with pytest.raises(TypeError):
        operator.index(v)


def test_sequences():
    v = Variable([[1.0, 2.0], [3.0, 4.0]])
    assert len(v) == 2 and v[1, 0] == 3.0 and 4.0 in v and 5.0 not in v
    np.testing.assert_array_equal([row.sum() for row in v], [3.0, 7.0])
    np.testing.assert_array_equal(v.T, [[1.0, 3.0], [2.0, 4.0]])
    np.testing.assert_array_equal(np.arange(3.0)[Variable([0, 2])], [0.0, 2.0])
    np.testing.assert_array_equal(np.where(v > 1.5, v, 0.0), [[0.0, 2.0], [3.0, 4.0]])


def test_as_an_array():
    v = Variable([1.0, 2.0])
    assert np.asarray(v).dtype == np.float64 and np.asarray(v, dtype=np.float32).dtype == np.float32
    assert not np.asarray(v).flags.writeable and np.array(v, copy=True).flags.writeable
    assert np.shares_memory(v.__array__(copy=False), v.value())
    with pytest.raises(ValueError, match="copy"):
        v.__array__(np.float32, copy=False)


def test_nothing_changes_a_variable_in_place():
    v = Variable([1.0, 2.0])
    for change in (
        lambda: operator.iadd(v, 1.0),
        lambda: operator.setitem(v, 0, 1.0),
        lambda: np.add(v, 1.0, out=v),
        lambda: np.add.at(v, 0, 1.0),
        lambda: np.cumsum(v, out=v),
    ):
        with pytest.raises(TypeError, match="in place"):
            change()
    with pytest.raises(ValueError, match="read-only"):
        v.value()[0] = 3.0
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_dtypes():
    assert [getattr(tapec, name) for name in ("float32", "float64", "complex64", "complex128", "int32", "int64")] == [
        np.float32, np.float64, np.complex64, np.complex128, np.int32, np.int64,
    ]  # fmt: skip
    assert Variable(1.0).dtype == np.float64 and Variable(1).dtype == np.int64
    assert Variable([1, 2], dtype=tapec.float32).dtype == np.float32
    assert constant(1.0, dtype=tapec.float32).dtype == np.float32 and constant([1, 2]).dtype == np.int64
    assert constant(1j).dtype == np.complex128 and constant(3, tapec.int32).dtype == np.int32
    with pytest.raises(TypeError, match="numbers"):
        Variable("text")


def test_assignment_checks_shape_and_dtype():
    v = Variable(np.zeros(2), dtype=tapec.float32, name="w")
    v.assign([1, 2]).assign_add(Variable([1.0, 1.0]))
    assert v.dtype == np.float32
    np.testing.assert_array_equal(v.numpy(), [2.0, 3.0])
    for wrong in ([1.0], 1.0, np.zeros((2, 2))):
        with pytest.raises(ValueError, match="w has shape"):
            v.assign(wrong)
    with pytest.raises(ValueError, match="w has shape"):
        v.assign_sub(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="w is float32"):
        v.assign([1j, 0.0])
    with pytest.raises(TypeError, match="is int64"):
        Variable(1).assign(1.5)
    np.testing.assert_array_equal(v, [2.0, 3.0])


def test_a_variable_keeps_nothing_of_what_it_was_made_of():
    x = np.array([1.0, 2.0])
    v = Variable(x)
    w = Variable(v, name="w")
    x[0] = v.numpy()[0] = 9.0
    v.assign([5.0, 6.0])
    np.testing.assert_array_equal(w, [1.0, 2.0])
    assert w.name == "w" and Variable(initial_value=2.0).value() == 2.0


def test_copies():
    v = Variable([1.0, 2.0], trainable=False, name="w", dtype=np.float32)
    shared = {"a": v, "b": v}
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        other.assign([7.0, 8.0])
        assert (other.name, other.trainable, other.dtype) == ("w", False, np.float32)
    both = copy.deepcopy(shared)
    assert both["a"] is both["b"] is not v
    np.testing.assert_array_equal(v, [1.0, 2.0])


def test_identity_and_hash():
    v, w = Variable(1.0), Variable(1.0)
    assert {v: 1, w: 2}[w] == 2 and len({v, w, v}) == 2 and v == w


def test_repr_tells_name_shape_dtype_and_value():
    assert repr(Variable([1.0, 2.0], name="w")) == "<Variable 'w' shape=(2,) dtype=float64 value=[1. 2.]>"


def scaled(x, s):
    return np.sum(x * x) * s


@pytest.mark.slow
@pytest.mark.compiled
def test_as_an_argument_of_jitted_functions():
    compiled = njit(scaled)
    v, s = Variable([1.0, 2.0]), Variable(3.0)
    assert compiled(v, s) == 15.0 and compiled(Variable([[1.0, 2.0]]), 1.0) == 5.0
    v.assign([0.0, 1.0])
    assert compiled(v, s) == 3.0
    held = v.value()
    before = sys.getrefcount(held)
    for _ in range(10):
        compiled(v, s)
    assert sys.getrefcount(held) == before


@pytest.mark.compiled
def test_a_jitted_call_is_a_read():
    v, frozen = Variable([1.0, 2.0]), Variable(3.0, trainable=False)
    compiled = njit(scaled)
    compiled(v, frozen)
    with GradientTape() as tape:
        compiled(v, frozen)
    assert tape.watched_variables() == (v,)


def test_as_an_argument_of_derivatives():
    v, s = Variable([1.0, 2.0]), Variable(3.0)
    found, by_s = tapec.grad(scaled, (0, 1))(v, s)
    np.testing.assert_array_equal(found, [6.0, 12.0])
    assert by_s == 5.0 and found.flags.writeable
    np.testing.assert_array_equal(tapec.jacobian(lambda x: x * x)(v), np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(tapec.grad(lambda p: np.sum(p["w"]) * p["b"])({"w": v, "b": s})["w"], [3.0, 3.0])
    assert tapec.jvp(scaled, (v, s), (np.ones(2), None)) == (15.0, 18.0)
    assert tapec.vjp(scaled, v, s)[0] == 15.0


def test_reads_are_those_of_the_thread():
    v = Variable(1.0)

    def read():
        v.value()

    with GradientTape() as tape:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert tape.watched_variables() == ()


def test_the_examples_of_the_docstrings():
    result = doctest.testmod(tapec_runtime.variables, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 5 and result.failed == 0


@pytest.mark.slow
def test_lists_beside_variables_are_arrays():
    x = Variable(2.0)

    def slopes():
        with tapec.GradientTape(persistent=True) as tape:
            found = [
                np.sum(x * [3.0, 4.0]), np.sum([3.0, 4.0] * x), np.sum(x + [1.0, 2.0]), np.sum((1.0, 2.0) - x),
                np.sum(x * [[1.0, 2.0], [3.0, 4.0]]), np.sum([1.0, 2.0] / x), np.sum([2.0, 3.0] ** x),
            ]  # fmt: skip
            first, second, third, fourth, fifth, sixth, seventh = found
        return [tape.gradient(one, x) for one in (first, second, third, fourth, fifth, sixth, seventh)]

    expected = [7.0, 7.0, 2.0, -2.0, 10.0, -0.75, 4.0 * np.log(2.0) + 9.0 * np.log(3.0)]
    assert np.allclose(slopes(), expected)
    assert np.allclose(tapec.function(slopes)(), expected)


@pytest.mark.slow
def test_squeeze_without_an_axis():
    for shape in [(1, 3, 1), (1, 1), (3,), (1, 0), (2, 1, 3)]:
        x = Variable(np.arange(float(np.prod(shape))).reshape(shape))
        with tapec.GradientTape(persistent=True) as tape:
            y = np.squeeze(x) * 1.0
            z = np.sum(y**2)
            pairs = np.squeeze(x[None, ..., None], axis=(0, -1)) * 1.0
            w = np.sum(pairs)
        assert np.allclose(tape.gradient(z, x), 2.0 * x.numpy()) and np.allclose(tape.gradient(w, x), 1.0)
    fixed = tapec.grad(lambda x: np.sum(np.squeeze(np.reshape(x, (1, 3, 1))) ** 2))
    assert np.allclose(fixed(np.arange(3.0)), 2.0 * np.arange(3.0))
