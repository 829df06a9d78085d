"""The tape contract inside `@tapec.function`."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import tapec
from tapec import GradientTape, UnconnectedGradients, Variable, constant, function

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("mostly_plainly")]

Pair = namedtuple("Pair", ["first", "second"])


# watching


def test_a_constant_is_watched_only_by_watch():
    @function
    def f(x, c):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * c
        return tape.gradient(y, x), tape.gradient(y, c), tape.gradient(y, [c, x])

    assert f(3.0, 2.0) == (12.0, None, [None, 12.0])


def test_variables_are_watched_when_they_are_read():
    v, frozen = Variable(2.0), Variable(3.0, trainable=False)

    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            y = v * frozen * x
        with GradientTape(persistent=True, watch_accessed_variables=False) as other:
            y2 = v * frozen * x
            other.watch(frozen)
            z = v * frozen * x
        with GradientTape(watch_accessed_variables=False) as hand:
            hand.watch(frozen)
            w = v * frozen * frozen
        return (
            tape.gradient(y, [v, frozen]), other.gradient(y2, v), other.gradient(z, [v, frozen]),
            hand.gradient(w, [v, frozen]),
        )  # fmt: skip

    assert f(5.0) == ([15.0, None], None, [None, 10.0], [None, 12.0])


def test_watched_variables():
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)

    @function
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = c * a * x
            during = len(tape.watched_variables())
        g = tape.gradient(y, x)
        return tape.watched_variables(), during, g

    variables, during, g = f(2.0)
    assert variables[0] is a and variables[1] is c and len(variables) == 2
    assert during == 2 and g == 3.0 and b.numpy() == 2.0


def test_structures_are_watched():
    @function
    def f(d, p, lst):
        with GradientTape() as tape:
            tape.watch([d, p, lst, []])
            y = d["a"] * p.first * lst[1]
        return tape.gradient(y, {"d": d["a"], "p": (p.first, p.second), "l": lst})

    assert f({"a": 2.0}, Pair(3.0, 4.0), [1.0, 5.0]) == {"d": 15.0, "p": (10.0, None), "l": [None, 6.0]}


@pytest.mark.parametrize("value", ["text", None, [1.0, "text"]])
def test_what_is_no_value_cannot_be_watched(value):
    @function
    def f(x):
        with GradientTape() as tape:
            tape.watch(value)
            y = x * x
        return y

    with pytest.raises(ValueError, match="only numbers, arrays and variables can be watched"):
        f(1.0)


def test_integers_are_never_differentiable():
    @function
    def f(n, x):
        with GradientTape() as tape:
            tape.watch([n, x])
            y = x * n
        return tape.gradient(y, [n, x])

    assert f(3, 2.0) == [None, 3.0]


def test_a_watch_of_an_intermediate_cuts_nothing():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            h = x * x
            tape.watch(h)
            y = h * h
        return tape.gradient(y, x), tape.gradient(y, h)

    assert f(2.0) == (32.0, 8.0)


def test_what_came_before_the_watch():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            y = x * x
            tape.watch(x)
            z = x * 3.0
        return tape.gradient(y, x), tape.gradient(z, x)

    assert f(2.0) == (None, 3.0)


def test_a_watch_under_a_condition():
    @function
    def f(x, c):
        with GradientTape() as tape:
            if c > 0.0:
                tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert f(3.0, 1.0) == 6.0
    assert f(3.0, -1.0) is None
    assert f(4.0, 2.0) == 8.0


def test_a_watch_in_a_loop():
    @function
    def f(x, n):
        y = x
        with GradientTape() as tape:
            for i in range(n):
                if i == 1:
                    tape.watch(y)
                z = y * y
        return tape.gradient(z, x)

    assert f(3.0, 3) == 6.0
    assert f(3.0, 1) is None


def test_watching_is_local_to_one_tape():
    @function
    def f(x):
        with GradientTape() as a, GradientTape() as b:
            a.watch(x)
            y = x * x
        return a.gradient(y, x), b.gradient(y, x)

    assert f(3.0) == (6.0, None)


# recording


def test_work_after_the_context_is_not_recorded():
    @function
    def f(x):
        h = x * 2.0
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = h * x
        z = y * x
        return tape.gradient(y, x), tape.gradient(z, x), tape.gradient(y, h)

    assert f(3.0) == (6.0, None, None)


def test_identity_is_the_values():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x
            pair = [y, (y * y, {"k": x})]
            z = pair[1][0] * pair[1][1]["k"]
        old = x
        x = x * 1.0
        return tape.gradient(z, old), tape.gradient(z, x), tape.gradient(z, y), tape.gradient(z, pair[0])

    assert f(2.0) == (12.0, None, 12.0, 12.0)


def test_a_tape_made_first_and_entered_later():
    @function
    def f(x):
        tape = GradientTape()
        y = x * 2.0
        with tape:
            tape.watch(x)
            z = x * y
        return tape.gradient(z, x)

    assert f(3.0) == 6.0


def test_a_tape_entered_by_hand():
    @function
    def f(x):
        tape = GradientTape()
        tape.__enter__()
        tape.watch(x)
        z = x * x
        tape.__exit__(None, None, None)
        return tape.gradient(z, x)

    assert f(3.0) == 6.0


def test_a_tape_entered_again():
    @function
    def f(x):
        tape = GradientTape(persistent=True)
        with tape:
            tape.watch(x)
            y = x * x
        between = x * y
        with tape:
            z = y * y
            w = between * x
        return tape.gradient(z, x), tape.gradient(y, x), tape.gradient(w, x)

    assert f(2.0) == (32.0, 4.0, 8.0)


def test_reset():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            tape.reset()
            z = y * x
            tape.watch(x)
            w = z * x
        return tape.gradient(y, x), tape.gradient(z, x), tape.gradient(w, x), tape.gradient(w, z)

    assert f(2.0) == (None, None, 8.0, None)


def test_reset_under_a_condition_and_in_a_loop():
    @function
    def f(x, c):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if c > 0.0:
                tape.reset()
                tape.watch(x)
            z = y * x
        return tape.gradient(z, x)

    assert f(2.0, 1.0) == 4.0
    assert f(2.0, -1.0) == 12.0

    @function
    def g(x, n):
        with GradientTape() as tape:
            y = x
            for _ in range(n):
                tape.reset()
                tape.watch(y)
                start = y
                y = y * y
        return tape.gradient(y, start), tape.gradient(y, x) if n < 0 else None

    assert g(2.0, 2) == (8.0, None)


def test_stop_recording():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                s = y * x
            z = s * y
        return tape.gradient(z, x), tape.gradient(s, x)

    assert f(2.0) == (32.0, None)


def test_a_gradient_inside_stop_recording():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                g = tape.gradient(y, x)
            z = y * g
        return g, tape.gradient(z, x)

    assert f(3.0) == (6.0, 36.0)


def test_stop_recording_concerns_its_own_tape():
    @function
    def f(x):
        with GradientTape() as a, GradientTape() as b:
            a.watch(x)
            b.watch(x)
            with a.stop_recording():
                y = x * x
            z = y * x
        return a.gradient(z, x), b.gradient(z, x)

    assert f(2.0) == (4.0, 12.0)


def helper_watch(tape, *values):
    for value in values:
        tape.watch(value)


def helper_loss(x, *, power=2):
    return x if power == 0 else x * helper_loss(x, power=power - 1)


def test_helpers():
    class Layer:
        def __init__(self):
            self.w = Variable(2.0)

        def __call__(self, x):
            return self.w * x

    layers = [Layer(), Layer()]

    def slope(tape, y, x):
        return tape.gradient(y, x)

    def terms(x):
        for k in range(3):
            yield x * k

    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            helper_watch(tape, x)
            y = x
            for layer in layers:
                y = layer(y)
            y = y + helper_loss(x, power=3)
            y = y + sum([t for t in terms(x)])
        return slope(tape, y, x), tape.gradient(y, [layer.w for layer in layers])

    assert f(2.0) == (4.0 + 32.0 + 3.0, [4.0, 4.0])


# gradient


@pytest.mark.slow
def test_second_gradients():
    @function
    def f(x, n):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        total = 0.0
        for _ in range(n):
            total = total + tape.gradient(y, x)
        return total

    assert f(3.0, 1) == 6.0
    assert f(3.0, 0) == 0.0
    with pytest.raises(RuntimeError):
        f(3.0, 2)
    assert f(4.0, 1) == 8.0

    @function
    def g(x, c):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        first = 0.0
        if c > 0.0:
            first = tape.gradient(y, x)
        return tape.gradient(y, x) + first

    assert g(3.0, -1.0) == 6.0
    with pytest.raises(RuntimeError):
        g(3.0, 1.0)


def test_a_persistent_tape_in_a_loop():
    @function
    def f(x, n):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
        total = 0.0
        for _ in range(n):
            total += tape.gradient(y, x)
        return total

    assert f(3.0, 4) == 24.0


def test_a_tape_in_a_loop():
    @function
    def f(x, n):
        for _ in range(n):
            with GradientTape() as tape:
                tape.watch(x)
                y = x * x
            x = x - 0.1 * tape.gradient(y, x)
        return x

    assert f(1.0, 3) == pytest.approx(0.512)


def test_misuse_raises_runtime_error():
    @function
    def recording(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            g = tape.gradient(y, x)
        return g

    @function
    def never(x):
        tape = GradientTape()
        return tape.gradient(x, x)

    @function
    def twice(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x) + tape.gradient(y, x)

    @function
    def stopped(x):
        tape = GradientTape()
        with tape.stop_recording():
            y = x * x
        return y

    @function
    def reset(x):
        with GradientTape() as tape:
            y = x * x
        tape.reset()
        return y

    for f in (recording, never, twice, stopped, reset):
        with pytest.raises(RuntimeError):
            f(3.0)


def test_entering_a_recording_tape():
    @function
    def f(x):
        tape = GradientTape()
        with tape:
            with tape:
                y = x * x
        return y

    with pytest.raises(ValueError):
        f(1.0)


@pytest.mark.slow
def test_targets():
    v = Variable(1.0)

    @function
    def several(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * 2.0, np.sum(x) * 3.0
        return tape.gradient([y, {"z": (z,)}], x), tape.gradient([], x), tape.gradient(y, y), tape.gradient([y, x], x)

    first, nothing, own, both = several(np.array([1.0, 2.0]))
    assert first.tolist() == [5.0, 5.0] and nothing is None and own.tolist() == [1.0, 1.0]
    assert both.tolist() == [3.0, 3.0]

    @function
    def variable(x):
        with GradientTape() as tape:
            y = v * x
        del y
        return tape.gradient(v, v)

    @function
    def none(x):
        with GradientTape() as tape:
            tape.watch(x)
        return tape.gradient(None, x)

    with pytest.raises(ValueError):
        variable(1.0)
    with pytest.raises(TypeError):
        none(1.0)


def test_sources_keep_their_structure():
    @function
    def f(x, z):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x * z
        return tape.gradient(y, {"a": x, "b": [z, (x, Pair(z, x))]})

    assert f(2.0, 3.0) == {"a": 12.0, "b": [None, (12.0, Pair(None, 12.0))]}


def test_intermediates_made_in_a_loop():
    @function
    def f(x):
        kept = []
        with GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(3):
                y = y * y
                kept.append(y)
            z = y * 2.0
        return tape.gradient(z, kept)

    assert f(2.0) == [2.0 * 4 * 4.0**3, 2.0 * 2 * 16.0, 2.0]


@pytest.mark.slow
def test_output_gradients():
    @function
    def f(x, w):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * x, x * 3.0
        return tape.gradient(y, x, output_gradients=w), tape.gradient([y, z], x, [w, None])

    first, second = f(np.array([1.0, 2.0]), np.array([10.0, 1.0]))
    assert first.tolist() == [20.0, 4.0] and second.tolist() == [23.0, 7.0]


def test_output_gradients_are_differentiable():
    @function
    def f(x, w):
        with GradientTape() as outer:
            outer.watch(w)
            with GradientTape() as tape:
                tape.watch(x)
                y = x * x
            g = tape.gradient(y, x, w)
        return outer.gradient(g, w)

    assert f(3.0, 2.0) == 6.0


@pytest.mark.parametrize("policy", ["none", UnconnectedGradients.NONE, "zero", UnconnectedGradients.ZERO])
def test_unconnected_gradients(policy):
    @function
    def f(x, z):
        with GradientTape(persistent=True) as tape:
            tape.watch([x, z])
            y = np.sum(x)
        return tape.gradient(y, z, unconnected_gradients=policy)

    found = f(np.array([1.0]), np.array([[1.0, 2.0]], dtype=np.float32))
    if UnconnectedGradients(policy) is UnconnectedGradients.NONE:
        assert found is None
    else:
        assert found.dtype == np.float32 and found.tolist() == [[0.0, 0.0]]


def test_another_policy():
    @function
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, unconnected_gradients="other")

    with pytest.raises(ValueError):
        f(1.0)


def test_connected_through_zero():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * 0.0, x - x
        return tape.gradient(y, x), tape.gradient(z, x)

    assert f(3.0) == (0.0, 0.0)


@pytest.mark.slow
def test_dtypes():
    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.sum(x.astype(np.float64) * 2.0)
            n = x.astype(np.int64)
            z = np.sum(n * 1.0)
        return tape.gradient(y, x), tape.gradient(z, x)

    found, none = f(np.ones(2, dtype=np.float32))
    assert found.dtype == np.float32 and found.tolist() == [2.0, 2.0] and none is None


def test_the_fourth_order():
    @function
    def f(x):
        with GradientTape() as a:
            a.watch(x)
            with GradientTape() as b:
                b.watch(x)
                with GradientTape() as c:
                    c.watch(x)
                    with GradientTape() as d:
                        d.watch(x)
                        y = x**5
                    first = d.gradient(y, x)
                second = c.gradient(first, x)
            third = b.gradient(second, x)
        return first, second, third, a.gradient(third, x)

    assert f(2.0) == (80.0, 160.0, 240.0, 240.0)


@pytest.mark.slow
def test_a_gradient_penalty_and_a_step_inside():
    w = Variable([1.0, 2.0])

    @function
    def penalty(x):
        with GradientTape() as outer:
            with GradientTape() as inner:
                inner.watch(x)
                y = np.sum((w * x) ** 2)
            g = inner.gradient(y, x)
            loss = y + np.sum(g * g)
        return outer.gradient(loss, w)

    x = np.array([3.0, -1.0])
    wv = w.numpy()
    np.testing.assert_allclose(penalty(x), 2 * wv * x**2 + 16 * wv**3 * x**2)

    @function
    def step_inside(a):
        with GradientTape() as outer:
            outer.watch(a)
            with GradientTape() as inner:
                inner.watch(a)
                y = a**3
            b = a - 0.1 * inner.gradient(y, a)
            loss = b**2
        return outer.gradient(loss, a)

    b = 2.0 - 0.3 * 4.0
    assert step_inside(2.0) == pytest.approx(2.0 * b * (1.0 - 0.6 * 2.0))


def test_an_inner_gradient_outside_the_outer_tape_is_constant():
    @function
    def f(x):
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        g = inner.gradient(y, x)
        with GradientTape() as outer:
            outer.watch(x)
            z = g * x
        return outer.gradient(z, x)

    assert f(2.0) == 12.0


def test_variables_are_assigned_in_order():
    v = Variable(2.0)

    @function
    def f(x):
        with GradientTape(persistent=True) as tape:
            y = v * v * x
            v.assign_add(1.0)
            z = v * v * x
            n = v.numpy() * v
        return tape.gradient(y, v), tape.gradient(z, v), tape.gradient(n, v)

    assert f(10.0) == (40.0, 60.0, 3.0)
    assert v.numpy() == 3.0


def test_an_assigned_value_has_no_history():
    v = Variable(2.0)

    @function
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            v.assign(x * x)
            y = v * x
        return tape.gradient(y, [x, v])

    assert f(3.0) == [9.0, 3.0]


@pytest.mark.slow
def test_ties():
    @function
    def f(x, a):
        with GradientTape(persistent=True) as tape:
            tape.watch([x, a])
            y, z, w = np.maximum(a, 2.0), np.max(x), abs(a - 2.0)
        return tape.gradient(y, a), tape.gradient(z, x), tape.gradient(w, a)

    y, z, w = f(np.array([1.0, 3.0, 3.0]), 2.0)
    assert y == 0.5 and z.tolist() == [0.0, 0.5, 0.5] and w == 0.0


def test_constants_and_stops_inside():
    @function
    def f():
        x = constant(3.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = tapec.stop_gradient(x * x) * x
        return tape.gradient(y, x)

    assert f() == 9.0


def test_returned_structures():
    @function
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        g = tape.gradient(y, x)
        return {"g": g, "none": None, "list": [y, None, (g, "text")], "pair": Pair(1, True)}, "name"

    assert f(2.0) == ({"g": 4.0, "none": None, "list": [4.0, None, (4.0, "text")], "pair": Pair(1, True)}, "name")


def test_elements_of_a_list_that_a_loop_fills():
    """Each is the value that the loop computed, read at any place."""

    @function
    def sources(x, n):
        kept = []
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x
            for _ in range(n):
                kept.append(y)
                y = y * 2.0
        return tape.gradient(y, kept[2]), tape.gradient(y, kept[1]), tape.gradient(y, kept[0])

    @function
    def targets(x, n):
        kept = []
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x
            for _ in range(n):
                y = y * x
                kept.append(y)
        last = kept.pop()
        return tape.gradient(kept[0], x), tape.gradient(last, x)

    @function
    def watched(x, n):
        kept = []
        for k in range(n):
            kept.append(x * k)
        with GradientTape() as tape:
            tape.watch(kept[1])
            y = kept[1] * kept[1] * kept[2]
        return tape.gradient(y, kept[1])

    assert sources(2.0, 3) == (2.0, 4.0, 8.0)
    assert targets(2.0, 3) == (4.0, 32.0)
    assert watched(3.0, 3) == 36.0


def test_variables_are_told_apart():
    @function
    def f(a, b):
        with GradientTape() as tape:
            y = b * a
        first, second = tape.watched_variables()
        return first is a, second is b, first is b, y is a

    assert f(Variable(2.0), Variable(3.0)) == (True, True, False, False)


def test_constants_of_integers_have_no_gradient():
    @tapec.function
    def run(n):
        x, m, y = tapec.constant(3), tapec.constant(n), tapec.constant(2.0)
        with tapec.GradientTape() as tape:
            tape.watch([x, m, y])
            z = x * m * y
        return tape.gradient(z, [x, m, y])

    assert run(4) == [None, None, 12.0]


@pytest.mark.slow
def test_a_jacobian_of_a_gradient_that_loops_connect():
    @tapec.function
    def run(x):
        with tapec.GradientTape() as outer:
            outer.watch(x)
            with tapec.GradientTape() as inner:
                inner.watch(x)
                y = np.sum(x**3)
            g = inner.gradient(y, x)
        return outer.jacobian(g, x)

    np.testing.assert_allclose(run(np.array([1.0, 2.0])), [[6.0, 0.0], [0.0, 12.0]])
