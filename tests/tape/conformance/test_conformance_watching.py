"""The tape contract, section by section: watching."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant

pytestmark = pytest.mark.compiled


def test_a_constant_is_watched_only_by_watch():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) == 6.0


def test_a_trainable_variable_is_watched_by_itself():
    v, fixed = Variable(3.0), Variable(2.0, trainable=False)
    with GradientTape() as tape:
        y = v * v * fixed
    assert tape.gradient(y, [v, fixed]) == [12.0, None]


def test_automatic_watching_can_be_turned_off():
    v, w = Variable(3.0), Variable(2.0)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, [v, w]) == [2.0, None]


def test_an_untrainable_variable_can_be_watched():
    v = Variable(3.0, trainable=False)
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert tape.gradient(y, v) == 6.0


@pytest.mark.parametrize("shape", ["list", "tuple", "dict", "nest", "empty"])
def test_structures_are_watched(shape):
    a, b = constant(2.0), np.array([1.0, 3.0])
    with GradientTape() as tape:
        if shape == "list":
            tape.watch([a, b])
        elif shape == "tuple":
            tape.watch((a, b))
        elif shape == "dict":
            tape.watch({"a": a, "b": b})
        elif shape == "nest":
            tape.watch({"a": [a], "b": (b, {})})
        else:
            tape.watch([])
            tape.watch({})
        y = np.sum(a * b)
    found = tape.gradient(y, [a, b])
    if shape == "empty":
        assert found == [None, None]
    else:
        assert found[0] == 4.0 and found[1].tolist() == [2.0, 2.0]


def test_watching_twice_counts_once():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        tape.watch(x)
        y = x * x
        tape.watch(x)
    assert tape.gradient(y, x) == 6.0


@pytest.mark.parametrize("value", ["text", None, [1.0, "text"], [constant(1.0), None], object(), {"a": None}])
def test_what_is_no_value_cannot_be_watched(value):
    with GradientTape() as tape, pytest.raises(ValueError):
        tape.watch(value)


def test_integers_are_never_differentiable():
    n, x, array = 3, constant(2.0), np.array([1, 2])
    with GradientTape(persistent=True) as tape:
        tape.watch([n, x, array])
        y = x * n + np.sum(array)
    assert tape.gradient(y, [n, x, array]) == [None, 3.0, None]
    assert tape.gradient(n, x) is None


def test_watching_an_intermediate_cuts_nothing():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.watch(y)
        z = y * y
    assert tape.gradient(z, [x, y]) == [32.0, 8.0]


def test_what_came_before_the_watch_is_not_connected():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        before = x * x
        tape.watch(x)
        after = x * before
    assert tape.gradient(before, x) is None
    assert tape.gradient(after, x) == 4.0


def test_a_watch_in_a_branch_of_a_value_used_before():
    for flag in (1.0, -1.0):
        x, c = constant(2.0), constant(flag)
        with GradientTape(persistent=True) as tape:
            early = x * 5.0
            if c > 0.0:
                tape.watch(x)
            late = x * x
        assert tape.gradient(early, x) is None
        assert tape.gradient(late, x) == (4.0 if flag > 0.0 else None)


def test_a_watch_in_a_loop_of_a_value_used_before():
    x = constant(2.0)
    with GradientTape() as tape:
        y = x * 1.0
        for k in range(4):
            if k == 2:
                tape.watch(x)
            y = y * x
    # two iterations after the watch
    assert tape.gradient(y, x) == 2 * 2.0 * (2.0 * 4.0)


def test_watching_is_local_to_one_tape():
    x = constant(2.0)
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        y = x * x
    assert first.gradient(y, x) == 4.0
    assert second.gradient(y, x) is None


def test_watched_variables_are_in_order_of_construction():
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)
    x = constant(1.0)
    with GradientTape() as tape:
        assert tape.watched_variables() == ()
        tape.watch(x)
        y = c * 2.0
        assert tape.watched_variables() == (c,)
        y = y + a
    assert tape.watched_variables() == (a, c)
    assert tape.gradient(y, [a, b, c]) == [1.0, None, 2.0]
    assert tape.watched_variables() == (a, c)


def test_reset_clears_watched_variables():
    a, b = Variable(1.0), Variable(2.0)
    with GradientTape() as tape:
        y = a * 2.0
        tape.reset()
        assert tape.watched_variables() == ()
        z = b * y
    assert tape.watched_variables() == (b,)
    assert tape.gradient(z, [a, b]) == [None, 2.0]


def test_variables_made_inside_count():
    with GradientTape() as tape:
        v = Variable(3.0)
        y = v * v
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, v) == 6.0


def test_a_variable_read_while_stopped_does_not_count():
    a, b = Variable(3.0), Variable(2.0)
    with GradientTape() as tape:
        with tape.stop_recording():
            fixed = a * 2.0
        y = b * fixed
    assert tape.watched_variables() == (b,)
    assert tape.gradient(y, [a, b]) == [None, 6.0]


class Lazy:
    """A layer that makes its variables when it is first called."""

    def __init__(self):
        self.variables = []

    def __call__(self, x):
        if not self.variables:
            self.variables = [Variable(np.full(x.shape, 2.0), name="w"), Variable(0.5, name="b")]
        w, b = self.variables
        return np.sum(w * x) + b


def test_a_layer_built_after_an_empty_watch():
    layer, x = Lazy(), np.array([1.0, 2.0])
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(layer.variables)
        y = layer(x)
    assert tape.watched_variables() == ()
    assert tape.gradient(y, layer.variables) == [None, None]


@pytest.mark.slow
def test_a_layer_built_on_its_first_call():
    layer, x = Lazy(), np.array([1.0, 2.0])
    for _ in range(3):
        with GradientTape() as tape:
            y = layer(x)
        assert tape.watched_variables() == tuple(layer.variables)
        found = tape.gradient(y, layer.variables)
        np.testing.assert_array_equal(found[0], x)
        assert found[1] == 1.0


def test_dtypes_have_names():
    for name in ("float32", "float64", "int32", "int64"):
        assert constant(3, dtype=getattr(tapec, name)).dtype == np.dtype(name)
    assert constant(3.0).dtype == np.float64
    assert constant(3.0) is not constant(3.0)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_watched_variable_stays_watched_when_it_is_assigned(trainable: bool):
    v = Variable(3.0, trainable=trainable)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(v)
        v.assign(5.0)
        y = v * v
        v.assign_add(1.0)
        z = v * 2.0
    assert tape.gradient(y, v) == 10.0
    assert tape.gradient(z, v) == 2.0
    assert tape.watched_variables() == (v,)


def test_a_watch_behind_a_loop_and_a_reset():
    x, d = constant(0.6), constant(0.2)
    held = {"x": x}
    with GradientTape(persistent=True) as tape:
        for _ in range(2):
            d = held["x"]
        tape.reset()
        tape.watch(d)
        y = d * d
    assert tape.gradient([y, d], x) == 2.2
    assert tape.gradient(d, d) == 1.0


@pytest.mark.parametrize("start, right", [(-0.4, None), (0.5, 1.0)])
def test_a_value_by_itself_where_a_loop_leads_to_what_is_watched(start: float, right: float | None):
    c, w = constant(start), constant(0.3)
    with GradientTape() as tape:
        tape.watch(w)
        n = 0
        while n < 2:
            n += 1
            c = w * 2.0 if c > 0.1 else c * 0.7
    assert tape.gradient(c, c) == right
