"""Tapes in undecorated code: values, None rules, identity, and structure."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.frontend.iteration import generators
from tapec.tape.plan import block_lowering
from tapec.tape.plan import tape_plan as plans
from tapec.tape.run import branch_decisions, compiled_derivative

X = constant(3.0)
with GradientTape() as module_tape:
    module_tape.watch(X)
    Y = X * X + 1.0


def test_a_tape_at_module_level():
    assert module_tape.gradient(Y, X) == 6.0


def test_a_plain_float():
    x = 3.0
    with GradientTape() as tape:
        tape.watch(x)
        y = x**3
    assert tape.gradient(y, x) == 27.0


def test_gradients_have_shape_and_dtype_of_the_source():
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * x)
    gradient = tape.gradient(y, x)
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, 2 * x)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_layouts_of_arrays(layout):
    base = np.arange(12.0).reshape(3, 4)
    x = {"C": base, "F": np.asfortranarray(base), "strided": np.arange(24.0).reshape(3, 8)[:, ::2]}[layout]
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x.reshape(4, 3) ** 2) + np.sum(x.T[1])
    expected = 2 * x
    expected[:, 1] += 1.0
    np.testing.assert_allclose(tape.gradient(y, x), expected)


def test_sources_keep_their_structure():
    a, b = constant(2.0), np.array([1.0, 4.0])
    with GradientTape() as tape:
        tape.watch((a, [b]))
        y = np.sum(a * b)
    found = tape.gradient(y, {"a": a, "b": (b, [a])})
    assert found["a"] == 5.0 and found["b"][1] == [5.0]
    np.testing.assert_array_equal(found["b"][0], [2.0, 2.0])


def test_several_targets_are_summed():
    x = np.array([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, np.sum(x)
    np.testing.assert_array_equal(tape.gradient([y, z], x), [3.0, 5.0])
    weighted = tape.gradient([y, z], x, output_gradients=[np.array([1.0, 10.0]), 100.0])
    np.testing.assert_array_equal(weighted, [102.0, 140.0])


def test_targets_that_are_sources():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(x, x) == 1.0
    assert tape.gradient(y, y) == 1.0
    assert tape.gradient([y, y], x) == 8.0


def test_intermediates_as_sources():
    x = np.array([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * x
        k = h * h
        s = np.sum(k) + h[0]
    found = tape.gradient(s, [h, x, k])
    np.testing.assert_array_equal(found[0], [3.0, 8.0])
    np.testing.assert_array_equal(found[1], [6.0, 32.0])
    np.testing.assert_array_equal(found[2], [1.0, 1.0])


# None


def test_what_is_not_connected_is_none():
    x, other = constant(1.0), np.ones(2, np.float32)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
        above = np.floor(x) + (x > 0.5)
        n = 3
    assert tape.gradient(y, other) is None
    zeros = tape.gradient(y, other, unconnected_gradients="zero")
    assert zeros.dtype == np.float32 and zeros.tolist() == [0.0, 0.0]
    assert tape.gradient(above, x) is None
    assert tape.gradient(n, x) is None
    assert tape.gradient([], x) is None
    assert tape.gradient(y, constant(1.0)) is None


def test_connected_through_zero_is_zero():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x - x
    assert tape.gradient(y, x) == 0.0


def test_what_happens_after_the_block_is_not_recorded():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    z = y * 2.0
    assert tape.gradient(z, x) is None


def test_what_was_computed_before_the_watch_is_not_connected():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        y = x * x
        tape.watch(x)
        z = x * y
        tape.watch(y)
        u = y * 3.0
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) == 4.0
    assert tape.gradient(z, y) is None
    assert tape.gradient(u, y) == 3.0


def test_a_watch_of_an_intermediate_cuts_nothing_behind_it():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.watch(y)
        z = y * y
    assert tape.gradient(z, x) == 32.0
    assert tape.gradient(z, y) == 8.0


def test_a_constant_is_not_watched():
    x = constant(2.0)
    with GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_only_the_branch_that_was_taken_is_connected():
    x, first, second = constant(1.0), Variable(2.0), Variable(2.0)
    for value, expected in ((1.0, [None, 1.0, None]), (-1.0, [None, None, 4.0])):
        x = constant(value)
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            if x > 0.0:
                y = first
            else:
                y = second**2
            z = y * 1.0
        assert tape.gradient(z, [x, first, second]) == expected
        if value < 0.0:
            assert tape.gradient(z, y) == 1.0


def test_nested_branches():
    found = []
    for value in (0.5, 1.5, 2.5):
        x, a, b = constant(value), Variable(3.0), Variable(5.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = 1.0
            if x > 1.0:
                y = x * a
                if x > 2.0:
                    y = y * b
        found.append(tape.gradient(y, [x, a, b]))
    assert found == [[None, None, None], [3.0, 1.5, None], [15.0, 12.5, 7.5]]


# identity


def test_another_name_is_the_same_value():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        y = x
        tape.watch(y)
        z = x * 3.0
        pair = (z, x)
        again, swapped = pair
    assert tape.gradient(z, y) == 3.0
    assert tape.gradient(again, swapped) == 3.0


def test_a_rebound_source_still_means_the_watched_value():
    x = first = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        x = x * x
        x = x * 5.0
    assert tape.gradient(x, first) == 20.0
    assert tape.gradient(x, x) == 1.0
    x = constant(2.0)
    assert tape.gradient(x, first) is None


def test_a_choice_is_the_chosen_value():
    x, y = constant(1.0), constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = max(x, y)
        u = z * z * x
    assert tape.gradient(u, y) == 4.0
    assert tape.gradient(u, z) == 4.0


def test_equal_constants_are_distinct():
    a, b = constant(3.0), constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = a * b
    assert tape.gradient(y, a) == 3.0
    assert tape.gradient(y, b) is None


def test_values_kept_in_lists():
    xs = [constant(1.0), constant(2.0)]
    out = []
    with GradientTape(persistent=True) as tape:
        tape.watch(xs)
        for x in xs:
            out.append(x * x)
        total = sum(out)
    assert tape.gradient(total, xs) == [2.0, 4.0]
    assert tape.gradient(out, xs) == [2.0, 4.0]
    assert tape.gradient(total, out) == [1.0, 1.0]


# code


def helper(a, k=2):
    return math.sin(a) * k if a > 0.0 else a


class Model:
    """Layers in a list, numbers in a dict, a property, and a call."""

    def __init__(self):
        self.w = np.array([1.0, 2.0])
        self.layers = [np.eye(2), 2.0 * np.eye(2)]
        self.params = {"b": constant(1.5)}

    @property
    def total(self):
        return np.sum(self.w)

    def __call__(self, x):
        for layer in self.layers:
            x = np.tanh(layer @ x)
        return x * self.w + self.params["b"]


@pytest.mark.slow
def test_methods_properties_lists_and_dicts():
    model, x = Model(), np.array([0.1, 0.2])
    with GradientTape(persistent=True) as tape:
        tape.watch([model.w, model.layers, model.params])
        out = model(x)
        y = np.sum(out) + model.total * helper(x[0])
    inner = np.tanh(np.eye(2) @ x)
    outer = np.tanh(2.0 * inner)
    np.testing.assert_allclose(tape.gradient(y, model.w), outer + 2.0 * math.sin(0.1))
    assert tape.gradient(y, model.params["b"]) == 2.0
    slope = model.w * (1.0 - outer**2)
    np.testing.assert_allclose(tape.gradient(y, model.layers)[1], np.outer(slope, inner))
    assert tape.gradient(y, x) is None


def test_loops_and_branches_on_numbers():
    x, y = constant(2.0), 0.0
    with GradientTape() as tape:
        tape.watch(x)
        for i in range(5):
            y = y + x**i
        if y > 3.0:
            y = y * 2.0
        while y > 40.0:
            y = y * 0.5
    assert tape.gradient(y, x) == pytest.approx(0.5 * 2 * sum(i * 2.0 ** (i - 1) for i in range(5)))


def power(x, n):
    if n <= 0:
        return 1.0
    return x * power(x, n - 1)


SCALE = constant(2.0)


def scaled_power(x, n):
    if n <= 0:
        return 1.0
    return SCALE * x * scaled_power(x, n - 1)


def test_recursion():
    x = constant(2.0)
    for n in (3, 4):
        with GradientTape() as tape:
            tape.watch(x)
            y = power(x, n)
        assert tape.gradient(y, x) == n * 2.0 ** (n - 1)


def test_a_recursive_function_reads_from_outside():
    x, n = constant(2.0), 3
    with GradientTape() as tape:
        tape.watch(x)
        y = scaled_power(x, n)
    assert tape.gradient(y, x) == 3 * 2.0**2 * 2.0**3


def test_closures_see_rebound_variables():
    scale = 1.0

    def scaled(x):
        return x * scale

    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        scale = 5.0
        y = scaled(x)
    assert tape.gradient(y, x) == 5.0


def test_an_array_written_in_place():
    x = np.array([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        x *= 2.0
        y = np.sum(x * x)
    np.testing.assert_array_equal(tape.gradient(y, x), [8.0, 16.0])


def test_code_after_a_raise_in_a_branch():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        if x < 0.0:
            raise ValueError("negative")
        y = x * x
        z = y * y
    assert tape.gradient(z, [x, y]) == [32.0, 8.0]


def test_leaving_by_continue_and_return():
    x = constant(2.0)
    found = []
    for k in range(3):
        y = x
        with GradientTape() as tape:
            tape.watch(x)
            y = x * k
            if k == 1:
                continue
            y = y * x
        found.append(tape.gradient(y, x))
    assert found == [0.0, 8.0]

    def inside(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            return tape, y

    tape, y = inside(x)
    assert tape.gradient(y, x) == 4.0


def test_two_tapes_in_one_statement():
    x = constant(2.0)
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        y = x * x
        second.watch(x)
        z = x * y
    assert first.gradient(z, x) == 12.0
    assert second.gradient(z, x) == 4.0


def test_stop_gradient_and_stop_recording():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        u = tapec.stop_gradient(y) * x
        with tape.stop_recording():
            v = y * 2.0
        w = v * x
    assert tape.gradient(u, x) == 9.0
    assert tape.gradient(w, x) == 18.0
    assert tape.gradient(v, x) is None


def test_reset_forgets():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = x * y
    assert tape.gradient(z, x) == 9.0
    assert tape.gradient(y, x) is None


# plans


def test_a_training_loop_is_lowered_once():
    weights, bias = Variable([1.0, 2.0]), Variable(0.5)
    inputs = np.arange(6.0).reshape(3, 2)
    losses = []
    before = {key: list(known) for key, known in plans._plans.items()}
    for _ in range(4):
        with GradientTape() as tape:
            loss = np.sum((inputs @ weights + bias) ** 2)
        slope = tape.gradient(loss, [weights, bias])
        weights.assign_sub(0.01 * slope[0])
        bias.assign_sub(0.01 * slope[1])
        losses.append(loss)
    assert losses == sorted(losses, reverse=True)
    new = [known for key, known in plans._plans.items() if key not in before]
    assert [len(known) for known in new] == [1]


def slope_and_reference(value, persistent):
    with GradientTape(persistent=persistent) as tape:
        tape.watch(value)
        y = np.sum(value * value)
    tape.gradient(y, value)
    return tape, weakref.ref(value)


def test_nothing_is_held_on_to():
    gc.disable()
    try:
        tape, alive = slope_and_reference(np.array([1.0, 2.0]), False)
        assert alive() is None
        tape, alive = slope_and_reference(np.array([1.0, 2.0]), True)
        assert alive() is not None
        del tape
        assert alive() is None
    finally:
        gc.enable()


def test_another_structure_is_lowered_anew():
    found = []
    layers = [constant(2.0)]
    x = constant(3.0)
    for _ in range(3):
        with GradientTape() as tape:
            tape.watch(x)
            y = x
            for layer in layers:
                y = y * layer
        found.append(tape.gradient(y, x))
        layers.append(constant(2.0))
    assert found == [2.0, 4.0, 8.0]


def test_integers_may_change_from_step_to_step():
    x = constant(2.0)
    found = []
    for step in range(4):
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = x * step
        found.append(tape.gradient(y, x))
    assert found == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("jit", [True, False])
def test_python_and_compiled_code_agree(jit):
    x = np.array([0.5, 1.5])
    with GradientTape(jit=jit) as tape:
        tape.watch(x)
        y = np.sum(np.exp(x) / x)
    np.testing.assert_allclose(tape.gradient(y, x), np.exp(x) * (x - 1.0) / x**2)


def filled(n):
    """A block whose loop fills a list: it is read iteration by iteration."""
    kept, x = [], constant(1.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        s = 0.0
        for k in range(n):
            s = s + x * k
            kept.append(s)
    return tape.gradient(kept[n // 2], x)


def test_many_iterations_are_announced(monkeypatch):
    monkeypatch.setattr(branch_decisions, "_MANY", 30)
    with pytest.warns(RuntimeWarning, match="is read iteration by iteration, 31 of them, which takes long"):
        assert filled(31) == sum(range(16))


def test_a_long_program_is_not_compiled_for_a_few_answers(monkeypatch):
    """The compiler would take seconds for what runs in milliseconds."""
    monkeypatch.setattr(compiled_derivative, "_LONG", 30)
    assert [filled(40) for _ in range(3)] == [sum(range(21))] * 3
    kept = [plan for (code, *_), found in plans._plans.items() if code is filled.__code__ for plan in found]
    programs = [program for plan in kept if len(plan.block) >= 80 for program in plan.compiled.values()]
    assert programs and all(program.jitted is None for program in programs)


def test_too_many_iterations_are_named(monkeypatch):
    monkeypatch.setattr(generators, "_ITERATIONS", 50)
    with pytest.raises(tapec.errors.LoweringError, match="a loop that is unrolled beyond 50 iterations"):
        filled(51)
    # which is no reason to refuse fewer
    assert filled(7) == 0 + 1 + 2 + 3


def test_too_long_a_block_is_named(monkeypatch):
    monkeypatch.setattr(block_lowering, "_UNROLLED", 100)
    with pytest.raises(tapec.errors.LoweringError, match="read iteration by iteration the block has 120 operations"):
        filled(60)


def chosen_behind(b, d, k):
    with GradientTape(persistent=True) as tape:
        d = d * W
    a = d if b > k else k * 1.5
    return tape.gradient(a, a), tape.gradient(a, d), tape.gradient(a, W)


def test_a_source_that_a_branch_behind_the_block_chooses_is_the_value_or_another_one():
    compiled = tapec.function(chosen_behind)
    for b in (5.0, 1.0, 5.0):
        found, wanted = compiled(b, 0.2, 2.0), chosen_behind(b, 0.2, 2.0)
        assert wanted[0] == (1.0 if b > 2.0 else None)
        assert [one if one is None else float(one) for one in found] == [
            one if one is None else float(one) for one in wanted
        ]


W = Variable(0.7)
