"""The tape contract, section by section: gradient."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import tapec
from tapec import GradientTape, UnconnectedGradients, Variable, constant


def test_a_second_call():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) == 6.0
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_a_failed_call_does_not_use_the_tape_up():
    x, v = constant(3.0), Variable(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError):
        tape.gradient(None, x)
    with pytest.raises(ValueError):
        tape.gradient(v, x)
    with pytest.raises(ValueError):
        tape.gradient(y, x, unconnected_gradients="nonsense")
    assert tape.gradient(y, x) == 6.0


def test_a_persistent_tape_answers_any_number_of_calls():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    for _ in range(3):
        assert tape.gradient(y, x) == 6.0
    del tape


@pytest.mark.parametrize("persistent", [True, False])
def test_a_call_while_recording(persistent):
    x = constant(3.0)
    with GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(RuntimeError):
            tape.gradient(y, x)


def test_a_call_on_a_tape_that_was_never_entered():
    with pytest.raises(RuntimeError):
        GradientTape().gradient(constant(1.0), constant(1.0))


def test_targets():
    x, v = np.array([1.0, 2.0]), Variable(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * v, np.sum(x) * 3.0
    assert tape.gradient(y, x).tolist() == [2.0, 2.0]
    assert tape.gradient([y, {"z": (z,)}], x).tolist() == [5.0, 5.0]
    assert tape.gradient([], x) is None
    with pytest.raises(ValueError):
        tape.gradient(v, x)
    with pytest.raises(TypeError):
        tape.gradient(None, x)
    with pytest.raises(TypeError):
        tape.gradient([y, None], x)


Pair = namedtuple("Pair", "a b")


def test_sources_keep_their_structure():
    a, b, c = constant(2.0), constant(3.0), constant(5.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = a * b
    assert tape.gradient(y, a) == 3.0
    assert tape.gradient(y, [a, c, b]) == [3.0, None, 2.0]
    assert tape.gradient(y, (a, [b])) == (3.0, [2.0])
    assert tape.gradient(y, {"a": a, "c": {"b": b}}) == {"a": 3.0, "c": {"b": 2.0}}
    assert tape.gradient(y, Pair(a, b)) == Pair(3.0, 2.0)
    assert isinstance(tape.gradient(y, Pair(a, b)), Pair)
    assert tape.gradient(y, [a, a]) == [3.0, 3.0]


def test_intermediates_are_sources():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y * x
    assert tape.gradient(z, [x, y]) == [5 * 2.0**4, 2 * 4.0 * 2.0]
    assert tape.gradient(z, z) == 1.0
    assert tape.gradient([z, y], y) == 17.0
    assert tape.gradient(y, z) is None


def test_an_intermediate_that_is_overwritten_later():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        kept = y
        y = y * x
        kept_array = np.array([1.0, 2.0]) * y
        z = kept * y + kept_array[1]
    assert tape.gradient(z, kept) == 8.0 + 4.0 * 2.0 + 4.0
    assert tape.gradient(z, y) == 4.0 + 2.0


def test_intermediates_made_in_a_loop():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h, kept = x, []
        for _ in range(3):
            h = h * x
            kept.append(h)
        previous = kept[1]
    assert tape.gradient(h, kept[0]) == 4.0
    assert tape.gradient(h, previous) == 2.0
    assert tape.gradient(previous, x) == 12.0
    assert tape.gradient(h, x) == 32.0


def test_the_previous_value_of_a_loop():
    x, n = constant(2.0), np.arange(3)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = before = x
        for _ in range(len(n)):
            before, h = h, h * x
    assert tape.gradient(h, before) == 2.0
    assert tape.gradient(before, x) == 12.0


def test_output_gradients():
    x = np.array([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * 3.0
    assert tape.gradient(y, x, np.array([1.0, 10.0])).tolist() == [2.0, 40.0]
    assert tape.gradient([y, z], x, [np.array([1.0, 0.0]), np.array([0.0, 1.0])]).tolist() == [2.0, 3.0]
    with pytest.raises(ValueError):
        tape.gradient(y, x, 1.0)


def test_output_gradients_are_differentiable():
    x, w = constant(3.0), constant(2.0)
    with GradientTape() as outer:
        outer.watch(w)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x
        slope = inner.gradient(y, x, output_gradients=w * w)
    assert slope == 24.0
    assert outer.gradient(slope, w) == 24.0


def test_unconnected_gradients():
    x, u, n = constant(3.0), np.ones(2, np.float32), Variable([1.0])
    with GradientTape(persistent=True) as tape:
        tape.watch([x, u])
        y = x * 2.0
    for policy in (UnconnectedGradients.NONE, "none"):
        assert tape.gradient(y, [x, u, n], unconnected_gradients=policy) == [2.0, None, None]
    for policy in (UnconnectedGradients.ZERO, "zero"):
        found = tape.gradient(y, [x, u, n], unconnected_gradients=policy)
        assert found[1].dtype == np.float32 and found[1].tolist() == [0.0, 0.0]
        assert found[2].tolist() == [0.0]
    with pytest.raises(ValueError):
        tape.gradient(y, x, unconnected_gradients="zeros")


def test_connected_through_zero_is_zero():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z, u = x * 0.0, x - x, 0.0 * x + 1.0
    assert tape.gradient(y, x) == 0.0
    assert tape.gradient(z, x) == 0.0
    assert tape.gradient(u, x) == 0.0


def test_shape_and_dtype_of_the_source():
    x = np.array([[1.0, 2.0]], np.float32)
    s = np.float32(2.0)
    with GradientTape() as tape:
        tape.watch([x, s])
        y = np.sum(x * s)
    found = tape.gradient(y, [x, s])
    assert found[0].dtype == np.float32 and found[0].shape == (1, 2)
    assert found[1].dtype == np.float32 and found[1] == 3.0


def test_what_is_not_differentiable():
    x = np.array([1.0, 3.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = (x > 2.0).astype(np.float64)
        b = np.argmax(x) * 1.0
        c = x.astype(np.int64) * 1.0
        d = int(x[0]) * 2.0
    for target in (a, b, c, d):
        assert tape.gradient(target, x) is None


def test_higher_orders():
    x = constant(2.0)
    with GradientTape() as t4:
        t4.watch(x)
        with GradientTape() as t3:
            t3.watch(x)
            with GradientTape() as t2:
                t2.watch(x)
                with GradientTape() as t1:
                    t1.watch(x)
                    y = x**5
                g1 = t1.gradient(y, x)
            g2 = t2.gradient(g1, x)
        g3 = t3.gradient(g2, x)
    g4 = t4.gradient(g3, x)
    np.testing.assert_allclose([g1, g2, g3, g4], [80.0, 160.0, 240.0, 240.0])


def test_mixed_derivatives():
    x, y = constant(2.0), constant(3.0)
    with GradientTape(persistent=True) as outer:
        outer.watch([x, y])
        with GradientTape() as inner:
            inner.watch(x)
            z = x * x * y * y * y
        slope = inner.gradient(z, x)
    assert outer.gradient(slope, [x, y]) == [2 * 27.0, 2 * 2.0 * 3 * 9.0]


def test_a_gradient_penalty():
    w, x = Variable([1.0, 2.0]), np.array([0.5, -1.0])
    with GradientTape() as outer:
        with GradientTape() as inner:
            inner.watch(x)
            y = np.sum(w * x * x)
        slope = inner.gradient(y, x)
        loss = np.sum(slope * slope)
    np.testing.assert_allclose(outer.gradient(loss, w), 8.0 * w.numpy() * x * x)


def test_a_loss_over_an_inner_step():
    w, rate = constant(2.0), constant(0.1)
    with GradientTape() as outer:
        outer.watch([w, rate])
        with GradientTape() as inner:
            inner.watch(w)
            loss = w * w * w
        moved = w - rate * inner.gradient(loss, w)
        after = moved * moved
    moved = 2.0 - 0.1 * 12.0
    found = outer.gradient(after, [w, rate])
    np.testing.assert_allclose(found, [2 * moved * (1.0 - 0.1 * 12.0), -2 * moved * 12.0])


def test_an_inner_gradient_outside_the_outer_tape_is_constant():
    x = constant(3.0)
    with GradientTape() as inner:
        inner.watch(x)
        y = x * x
    slope = inner.gradient(y, x)
    with GradientTape() as outer:
        outer.watch(x)
        z = slope * x
    assert outer.gradient(z, x) == 6.0


def test_assignments_are_seen_in_order():
    v = Variable(2.0)
    with GradientTape(persistent=True) as tape:
        a = v * v
        v.assign(5.0)
        b = v * 3.0
        v.assign_add(1.0)
        c = v * v
        v.assign_sub(2.0)
        d = v * 1.0
    assert (a, b, c, d) == (4.0, 15.0, 36.0, 4.0)
    assert tape.gradient(a, v) == 4.0
    assert tape.gradient(b, v) == 3.0
    assert tape.gradient(c, v) == 12.0
    assert tape.gradient(d, v) == 1.0
    v.assign(100.0)
    assert tape.gradient(c, v) == 12.0


def test_an_assigned_value_has_no_history():
    v, x = Variable(2.0), constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        v.assign(x * x)
        y = v * 2.0
    assert tape.gradient(y, [v, x]) == [2.0, None]


def test_numpy_of_a_variable_is_constant():
    v = Variable(2.0)
    with GradientTape() as tape:
        y = v.numpy() * 3.0
    assert tape.gradient(y, v) is None


def test_operators_and_functions_take_variables_on_either_side():
    v, a = Variable([1.0, 2.0]), np.array([3.0, 4.0])
    with GradientTape() as tape:
        y = np.sum(a * v + v * a - a / v + v**2.0 + 2.0**v + np.exp(v) - v @ a + a @ v + (-v) + abs(v))
    n = v.numpy()
    expected = 2 * a + a / n**2 + 2 * n + np.log(2.0) * 2.0**n + np.exp(n)
    np.testing.assert_allclose(tape.gradient(y, v), expected)


def test_ties():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a, b = np.maximum(x, 2.0), np.minimum(x, 2.0)
        c = abs(x - 2.0)
    assert tape.gradient(a, x) == 0.5
    assert tape.gradient(b, x) == 0.5
    assert tape.gradient(c, x) == 0.0
    z = np.array([3.0, 1.0, 3.0])
    with GradientTape() as tape:
        tape.watch(z)
        y = np.max(z)
    assert tape.gradient(y, z).tolist() == [0.5, 0.0, 0.5]


def test_a_source_may_be_its_own_target():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x
    assert tape.gradient(x, x) == 1.0
    assert tape.gradient([y, x], x) == 2.0


def test_stop_gradient():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tapec.stop_gradient(x * x)
        z = y * x
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) == 4.0
