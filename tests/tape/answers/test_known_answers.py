"""Blocks that are met again: straight code answers the same question, and the general way any other one."""

from __future__ import annotations

import functools
import gc
import math
import weakref

import numba
import numpy as np
import pytest

from tapec import GradientTape, Variable, constant
from tapec.errors import LoweringError
from tapec.tape.answers import known_answers
from tapec.tape.plan import tape_plan as plans

pytestmark = pytest.mark.compiled

ROUNDS = 5


@pytest.fixture
def answered(monkeypatch):
    """How many gradients were answered by generated code."""
    count = [0]
    made = known_answers._AnswerText.function

    def function(self, program):
        answer = made(self, program)

        def counted(*args):
            found = answer(*args)
            count[0] += found is not known_answers.ANOTHER
            return found

        return counted

    monkeypatch.setattr(known_answers._AnswerText, "function", function)
    return count


def test_a_loop_asks_the_same_question(answered):
    for k in range(ROUNDS):
        a, b = constant(1.5 + k), constant(0.5)
        with GradientTape(jit=False) as tape:
            tape.watch([a, b])
            y = (a * b + a) * b
        slopes = tape.gradient(y, [a, b])
        assert [type(one) for one in slopes] == [np.float64] * 2
        assert slopes == [b * b + b, 2 * a * b + a]
        with pytest.raises(RuntimeError, match="one gradient"):
            tape.gradient(y, a)
    assert answered[0] == ROUNDS - 2


def test_structures_of_sources(answered):
    def ask(sources, rounds=3):
        for _ in range(rounds):
            with GradientTape(jit=False) as tape:
                tape.watch([a, b])
                y = a * b
                z = y * a
            found = tape.gradient([z, y], sources)
        return found

    a, b, other = constant(3.0), constant(0.5), constant(1.0)
    # z + y is a * a * b + a * b
    assert ask(a) == 3.5
    assert ask([b, a]) == [12.0, 3.5]
    assert ask((a,)) == (3.5,)
    assert ask({"one": a, "two": [b, (other, a)]}) == {"one": 3.5, "two": [12.0, (None, 3.5)]}
    assert ask({"two": a}) == {"two": 3.5}
    assert ask(other) is None
    assert answered[0] >= 6


def test_other_questions_about_a_known_block(answered):
    x, w = constant([1.0, 2.0]), constant([3.0, 4.0])
    for asked in (0, 0, 0, 1, 2, 3, 0, 1, 4):
        with GradientTape(jit=False) as tape:
            tape.watch([x, w])
            h = x * w
            y = np.sum(h * h)
        if asked == 0:
            np.testing.assert_allclose(tape.gradient(y, x), 2 * w * w * x)
        elif asked == 1:
            np.testing.assert_allclose(tape.gradient(y, h), 2 * x * w)
        elif asked == 2:
            np.testing.assert_allclose(tape.gradient(h, [w, x], output_gradients=x), [x * x, w * x])
        elif asked == 3:
            assert tape.gradient(y, x.copy()) is None
        else:
            zero = tape.gradient(y, constant([1.0]), unconnected_gradients="zero")
            assert np.array_equal(zero, [0.0])
    assert answered[0] > 0


def test_a_float_with_two_meanings_after_floats_with_one():
    def slope(p, q):
        with GradientTape(jit=False) as tape:
            tape.watch(p)
            tape.watch(q)
            y = p * q * q
        return tape.gradient([y], [p])

    for k in range(ROUNDS):
        p, q = 1.5 + k, 0.25 * (k + 1)
        assert slope(p, q) == [q * q]
    shared, asked = 1.75, []
    assert slope(shared, shared) == [shared * shared]
    for p, q in ((1.5, 2.5), (shared, shared)):
        with GradientTape(jit=False) as tape:
            tape.watch([p, q])
            y = p * q * q
        asked.append((tape, y))
    assert asked[0][0].gradient(asked[0][1], 1.5) == 6.25
    with pytest.raises(LoweringError, match="several values"):
        # the text does not tell which one is meant
        asked[1][0].gradient(asked[1][1], [shared][0])


def test_the_value_that_a_block_leaves_may_be_its_input():
    def slope(x, scale):
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = identity(x) if scale is None else x * scale
            z = y * y
        return tape.gradient(z, y), tape

    def identity(u):
        return u

    x = constant(3.0)
    for _ in range(ROUNDS):
        assert slope(x, 2.0)[0] == 12.0
        assert slope(x, None)[0] == 6.0


def test_a_source_that_some_runs_do_not_reach():
    x = constant(2.0)
    for count in (3, 2, 4, 3, 0, 1, 0):
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = constant(1.0)
            for _ in range(count):
                y = y * x
        found = tape.gradient(y, x)
        assert found is None if count == 0 else math.isclose(found, count * 2.0 ** (count - 1))


def test_a_gradient_of_zeros_is_zero():
    x, w = constant([1.0, 2.0]), Variable([0.0, 0.0])
    for k in range(ROUNDS):
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = np.sum(w * x)
        found = tape.gradient(y, x)
        assert np.array_equal(found, w.numpy())
        w.assign([0.0, k % 2])


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="the derivative then calls what replaces the function, too")
def test_a_replaced_function_is_that_of_the_next_block(monkeypatch):
    x = constant(0.5)

    def slope():
        with GradientTape(jit=True) as tape:
            tape.watch(x)
            y = np.sin(x)
        return tape.gradient(y, x)

    for _ in range(ROUNDS):
        assert math.isclose(slope(), np.cos(x))
    monkeypatch.setattr(np, "sin", np.tan)
    assert math.isclose(slope(), 1.0 / np.cos(x) ** 2)


def test_values_that_are_no_numbers():
    for value in (0.5, 2.0, 0.25, math.nan, 0.5, math.inf):
        x, array = constant(value), constant([value, 1.0])
        with GradientTape(persistent=True, jit=False) as tape:
            tape.watch([x, array])
            y, h = x * 3.0, array * 3.0
        assert tape.gradient(y, x) == 3.0
        assert np.array_equal(tape.gradient(h, array), [3.0, 3.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_and_shapes(dtype, answered):
    for k in range(ROUNDS):
        w, n = Variable(np.full((2, 2), 1.0 + k), dtype=dtype), Variable(2.0, dtype=dtype)
        zero = np.array(1.5, dtype)
        with GradientTape(jit=False) as tape:
            tape.watch(zero)
            h = w * w
            y = np.sum(h) * n * zero
        by_w, by_h, by_n, by_zero = tape.gradient(y, [w, h, n, zero])
        rights = w.numpy() * 6.0, np.full((2, 2), 3.0), 1.5 * np.sum(w.numpy() ** 2)
        for found, right in zip((by_w, by_h, by_n), rights, strict=True):
            assert found.dtype == dtype and np.shape(found) == np.shape(right)
            np.testing.assert_allclose(found, right, rtol=1e-6)
        assert isinstance(by_zero, np.ndarray) and by_zero.shape == ()
    assert answered[0] > 0


def test_variables_that_the_block_assigns(answered):
    v = Variable(3.0)
    for _ in range(ROUNDS):
        v.assign(3.0)
        with GradientTape(jit=False) as tape:
            y = v * v
            v.assign(y)
            z = v * y
        # the version of before by y, and y as the variable's second version
        assert tape.gradient(z, v) == 9.0 + 9.0 * 6.0
    assert answered[0] > 0


class Layers:
    def __init__(self):
        self.parts = [{"w": Variable(0.5 + k)} for k in range(3)]
        self.seen = []
        self.last = None

    def __call__(self, x):
        for part in self.parts:
            x = np.tanh(x * part["w"])
            self.last = x
        self.seen.append(x)
        return x


def test_objects_that_hold_values(answered):
    model = Layers()
    for k in range(ROUNDS):
        model.seen = []
        x = constant(0.25 * (k + 1))
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = model(x) * 2.0
        assert tape.gradient(y, model.last) == 2.0
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = model(x) * 2.0
        found = tape.gradient(y, [part["w"] for part in model.parts])

        def at(k, w):
            weights = [w if k == j else part["w"].numpy() for j, part in enumerate(model.parts)]
            value = x
            for weight in weights:
                value = np.tanh(value * weight)
            return 2.0 * value

        for j, part in enumerate(model.parts):
            w = part["w"].numpy()
            assert math.isclose(found[j], (at(j, w + 1e-6) - at(j, w - 1e-6)) / 2e-6, rel_tol=1e-7)
    assert answered[0] > 0


class Scale:
    def __init__(self, w):
        self.w = w
        self.last = None

    def __call__(self, x):
        return x * self.w

    def method(self, x):
        return x * self.w

    @property
    def factor(self):
        return self.w * 1.0

    @factor.setter
    def factor(self, value):
        self.last = value * self.w

    @functools.cached_property
    def kept(self):
        return self.w * 1.0

    @classmethod
    def of_class(cls, x, w):
        return x * w

    def __mul__(self, x):
        return x * self.w

    def __getitem__(self, k):
        return self.w * 1.0


def use_setter(model, x):
    model.factor = x
    return model.last


USES = {
    "__call__": (lambda model, x: model(x), lambda self, x: x * 3.0),
    "method": (lambda model, x: model.method(x), lambda self, x: x * 3.0),
    "factor": (lambda model, x: model.factor * x, property(lambda self: 3.0)),
    "factor set": (use_setter, property(lambda self: 3.0, lambda self, value: setattr(self, "last", value * 3.0))),
    "kept": (lambda model, x: Scale(model.w).kept * x, functools.cached_property(lambda self: 3.0)),
    "of_class": (lambda model, x: model.of_class(x, model.w), classmethod(lambda cls, x, w: x * 3.0)),
    "of_class made": (lambda model, x: Scale(x).of_class(x, model.w), classmethod(lambda cls, x, w: x * 3.0)),
    "factor made": (lambda model, x: Scale(model.w).factor * x, property(lambda self: 3.0)),
    "__mul__": (lambda model, x: model * x, lambda self, x: x * 3.0),
    "__getitem__": (lambda model, x: model[0] * x, lambda self, k: 3.0),
    "__init__": (lambda model, x: Scale(model.w).w * x, lambda self, w: setattr(self, "w", 3.0)),
}


@pytest.mark.parametrize("name", USES)
def test_a_class_that_is_changed(name, monkeypatch):
    use, other = USES[name]
    w, x = Variable(3.0), constant(0.5)
    model = Scale(w)

    def slope():
        model.last = None
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = use(model, x)
        return tape.gradient(y, [x, w])

    for _ in range(ROUNDS):
        assert slope() == [3.0, 0.5]
    # the same value, and another history
    if isinstance(other, functools.cached_property):
        other.__set_name__(Scale, name)
    monkeypatch.setattr(Scale, name.split()[0], other)
    assert slope() == [3.0, None]


def test_what_structure_says_is_checked_each_time():
    x, w = constant(0.5), Variable(3.0)
    modes = {"variable"}

    class Plain:
        pass

    plain = Plain()

    def slope(use):
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            y = use()
        return tape.gradient(y, [x, w])

    def in_set():
        return x * w if "variable" in modes else x * 3.0

    def truth():
        return x * w if plain else x * 3.0

    for _ in range(ROUNDS):
        assert slope(in_set) == slope(truth) == [3.0, 0.5]
    modes.clear()
    assert slope(in_set) == [3.0, None]
    Plain.__bool__ = lambda self: False
    assert slope(truth) == [3.0, None]


def test_extents_that_only_the_run_knows(answered):
    weights = [Variable(np.full((3, 2), 0.5)), Variable(np.full((2, 1), 0.25))]
    x, wanted = np.arange(12.0).reshape(4, 3) / 12.0, np.ones((4, 1))
    for _ in range(ROUNDS):
        with GradientTape(jit=False) as tape:
            out = np.tanh(x @ weights[0]) @ weights[1]
            loss = np.mean((out - wanted) ** 2)
        found = tape.gradient(loss, weights)
        hidden = np.tanh(x @ weights[0].numpy())
        error = 2.0 * (hidden @ weights[1].numpy() - wanted) / 4.0
        np.testing.assert_allclose(found[1], hidden.T @ error)
        np.testing.assert_allclose(found[0], x.T @ ((1.0 - hidden**2) * (error @ weights[1].numpy().T)))
    # branches that compute extents do not decide what is connected
    assert answered[0] == ROUNDS - 2


def test_module_variables_and_cells():
    total = constant(0.0)

    def run(x):
        nonlocal total
        with GradientTape(jit=False) as tape:
            tape.watch(x)
            total = x * x
        return tape

    for k in range(ROUNDS):
        x = constant(1.0 + k)
        assert run(x).gradient(total, x) == 2 * x


@pytest.mark.slow
def test_nothing_is_kept_alive():
    w = Variable(np.ones(4))
    alive = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            x = constant(np.arange(4.0))
            with GradientTape() as tape:
                h = x * w
                y = np.sum(h * h)
            tape.gradient(y, w)
            alive += [weakref.ref(x), weakref.ref(h)]
            del x, h
        assert all(one() is None for one in alive)
    finally:
        gc.enable()


def test_the_place_is_known_by_the_identity_of_its_code():
    text = "with GradientTape(jit=False) as tape:\n    tape.watch(x)\n    y = x * {}\n"
    x = constant(2.0)
    for factor in (3.0, 5.0) * 3:
        # code objects that come and go may have the same identity
        before = len(plans._plans)
        with pytest.raises(LoweringError, match="source"):
            namespace = {"GradientTape": GradientTape, "x": x}
            exec(compile(text.format(factor), "<nowhere>", "exec"), namespace)
            namespace["tape"].gradient(namespace["y"], x)
        assert len(plans._plans) == before


def test_functions_of_numpy_are_told_apart():
    # of the same class, and with the same value here
    x, found = np.array([2.0, 2.0]), []
    for f in (np.sum, np.prod, np.sum):
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found.append(tape.gradient(y, x).tolist())
    assert found == [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]]
