"""Variables and constants: by themselves, and under tapes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant


def test_variables_look_like_numpy_values():
    v = Variable([1.0, 2.0])
    assert v.shape == (2,) and v.dtype == np.float64 and v.ndim == 1 and len(v) == 2
    np.testing.assert_array_equal(2.0 * v + v, [3.0, 6.0])
    np.testing.assert_array_equal(np.exp(v), np.exp([1.0, 2.0]))
    np.testing.assert_array_equal(np.concatenate([v, v]), [1.0, 2.0, 1.0, 2.0])
    assert v @ v == 5.0 and v[1] == 2.0 and v.sum() == 3.0 and np.sum(v) == 3.0
    assert "Variable" in repr(v) and float(Variable(2.0)) == 2.0


def test_assignment_keeps_shape_and_dtype():
    v = Variable([1.0, 2.0])
    assert v.assign([3.0, 4.0]) is v
    np.testing.assert_array_equal(v.assign_add([1.0, 1.0]).assign_sub([0.5, 0.5]).numpy(), [3.5, 4.5])
    with pytest.raises(ValueError, match="shape"):
        v.assign([1.0])
    with pytest.raises(TypeError, match="cannot assign"):
        v.assign([1.0 + 2.0j, 0.0])
    with pytest.raises(TypeError, match="in place"):
        v += 1.0


def test_what_numpy_returns_is_a_copy():
    v = Variable([1.0, 2.0])
    v.numpy()[0] = 9.0
    assert v[0] == 1.0


def test_variables_are_copied_and_pickled():
    v = Variable([1.0, 2.0], trainable=False, name="w")
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert other is not v and other.name == "w" and not other.trainable
        np.testing.assert_array_equal(other.numpy(), v.numpy())


def test_constants_have_an_identity():
    assert constant(3.0) is not constant(3.0)
    assert constant(3).dtype == np.int64 and constant([1, 2], dtype=np.float32).dtype == np.float32


def test_variables_are_watched_when_they_are_read():
    v, frozen = Variable(2.0), Variable(3.0, trainable=False)
    with GradientTape(persistent=True) as tape:
        y = v * frozen
    assert tape.gradient(y, [v, frozen]) == [3.0, None]
    assert tape.watched_variables() == (v,)


def test_watching_by_hand():
    v = Variable(2.0)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        y = v * v
        tape.watch(v)
        z = v * v
    assert tape.gradient(z, v) == 4.0
    assert tape.gradient(y, v) == 4.0 or tape.gradient(y, v) is None


def test_assignments_are_seen_in_order():
    v = Variable(2.0)
    with GradientTape(persistent=True) as tape:
        y = v * v
        v.assign_add(1.0)
        z = v * v * v
        n = v.numpy() * v
        total = y + z
    assert tape.gradient(y, v) == 4.0
    assert tape.gradient(z, v) == 27.0
    assert tape.gradient(n, v) == 3.0
    assert tape.gradient(total, v) == 31.0
    v.assign(100.0)
    assert tape.gradient(z, v) == 27.0


def test_assignments_in_loops_and_branches():
    v, x = Variable(1.0), constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        for _ in range(3):
            v.assign(v * 2.0)
        if x > 1.0:
            v.assign_add(1.0)
        y = v * x
    assert tape.gradient(y, x) == 9.0


def test_values_made_from_variables_have_no_history_after_an_assignment():
    a, b = Variable(2.0), Variable(3.0)
    with GradientTape() as tape:
        b.assign(a * 5.0)
        y = b * 2.0
    assert tape.gradient(y, [a, b]) == [None, 2.0]


def test_a_variable_is_no_target():
    v = Variable(1.0)
    with GradientTape() as tape:
        y = v * 2.0
    with pytest.raises(ValueError, match="target"):
        tape.gradient(v, v)
    assert tape.gradient(y, v) == 2.0


def test_in_place_changes_of_variables_are_refused():
    v = Variable([1.0, 2.0])
    with pytest.raises(TypeError), GradientTape():
        v += 1.0


def test_unconnected_gradients_enum():
    assert tapec.UnconnectedGradients("zero") is tapec.UnconnectedGradients.ZERO
