"""The tape contract, section by section: recording."""

from __future__ import annotations

import numpy as np
import pytest

from tapec import GradientTape, Variable, constant
from tapec.errors import LoweringError


def test_work_before_and_after_the_context_is_not_recorded():
    x = constant(3.0)
    before = x * x
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        inside = x * before
    after = inside * x
    assert tape.gradient(before, x) is None
    assert tape.gradient(inside, x) == 9.0
    assert tape.gradient(after, x) is None


def test_identity_is_the_values_not_the_names():
    x = first = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    x = constant(3.0)
    assert tape.gradient(y, x) is None
    assert tape.gradient(y, first) == 6.0


class Box:
    """Something to store values in."""


def test_stored_values_keep_their_identity():
    x, box, d, s = constant(2.0), Box(), {}, []
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        box.y, d["y"] = y, y
        s.append(y)
        pair = (x, y)
        a, b = b, a = pair
        z = box.y * d["y"] * s[0] * a
    assert a is y and b is x
    assert tape.gradient(z, b) == 8 * 2.0**7
    for source in (y, box.y, d["y"], s[0], pair[1], a):
        assert tape.gradient(z, source) == 4 * 4.0**3
    assert tape.gradient(box.y, s[0]) == 1.0


def test_attributes_are_rebound():
    box, x = Box(), constant(3.0)
    box.value = x
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        box.value = box.value * x
        box.value *= 2.0
        y = box.value + 1.0
    assert tape.gradient(y, x) == 12.0
    assert tape.gradient(box.value, x) == 12.0
    assert tape.gradient(y, box.value) == 1.0


def test_items_are_rebound():
    d, s, x = {"a": constant(2.0)}, [constant(5.0), constant(7.0)], constant(3.0)
    first = d["a"]
    with GradientTape(persistent=True) as tape:
        tape.watch([x, d, s])
        d["b"] = d["a"] * x
        d["a"] = s[1]
        s[0] = d["b"] * s[0]
        s[1] = x
        y = s[0] * s[1] * d["a"]
    assert tape.gradient(y, x) == 2 * 2.0 * 5.0 * 3.0 * 7.0
    assert tape.gradient(y, first) == 5.0 * 9.0 * 7.0
    assert tape.gradient(y, d["b"]) == 5.0 * 3.0 * 7.0
    assert tape.gradient(y, d["a"]) == 90.0
    assert tape.gradient(y, s[0]) == 21.0


def test_a_tape_made_first_and_entered_later():
    tape = GradientTape()
    x = constant(3.0)
    with tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) == 6.0


def test_entered_and_left_by_hand():
    tape = GradientTape()
    x = constant(3.0)
    tape.__enter__()
    tape.watch(x)
    y = x * x
    z = y * x
    tape.__exit__(None, None, None)
    after = z * x
    assert after == 81.0
    assert tape.gradient(z, x) == 27.0


def test_entered_by_hand_with_try_and_finally():
    tape = GradientTape(persistent=True)
    x = constant(3.0)
    tape.__enter__()
    try:
        tape.watch(x)
        y = x * x
    finally:
        tape.__exit__(None, None, None)
    after = y * x
    assert tape.gradient(y, x) == 6.0
    assert tape.gradient(after, x) is None


def test_entered_again():
    x = constant(3.0)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    between = y * 2.0
    with tape:
        z = y * x
        u = between * x
    assert tape.gradient(y, x) == 6.0
    assert tape.gradient(z, x) == 27.0
    assert tape.gradient(z, y) == 3.0
    assert tape.gradient(between, x) is None
    assert tape.gradient(u, x) == 18.0


def test_entering_a_recording_tape():
    tape = GradientTape()
    with tape, pytest.raises(ValueError), tape:
        pass


def test_two_tapes_at_once():
    x = constant(2.0)
    with GradientTape() as first, GradientTape(persistent=True) as second:
        first.watch(x)
        y = x * x
        second.watch(x)
        z = x * y
    assert first.gradient(z, x) == 12.0
    assert second.gradient(z, x) == 4.0


def test_an_exception_propagates_and_leaves_what_was_recorded():
    x = constant(3.0)
    with pytest.raises(ZeroDivisionError, match="mine"), GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        raise ZeroDivisionError("mine")
    assert tape.gradient(y, x) == 6.0
    with GradientTape() as later:
        later.watch(x)
        z = x * 2.0
    assert later.gradient(z, x) == 2.0


def fails(x):
    raise KeyError(float(x))


def test_an_exception_out_of_a_helper():
    x = constant(3.0)
    try:
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = fails(y)
    except KeyError as error:
        z = error
    assert z.args == (9.0,)
    assert tape.gradient(y, x) == 6.0


def test_reset_makes_everything_constant():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        z = x * y
        tape.watch(x)
        u = x * z
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) is None
    assert tape.gradient(u, x) == 27.0


def test_reset_in_a_branch_and_in_a_loop():
    for flag in (1.0, -1.0):
        x, c = constant(3.0), constant(flag)
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if c > 0.0:
                tape.reset()
                tape.watch(x)
            y = y * x
        assert tape.gradient(y, x) == (9.0 if flag > 0.0 else 27.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x
        for k in range(4):
            if k == 2:
                tape.reset()
                tape.watch(x)
            y = y * x
    assert tape.gradient(y, x) == 2 * 3.0 * 27.0


def test_reset_outside_the_context():
    tape = GradientTape()
    with pytest.raises((RuntimeError, ValueError)):
        tape.reset()
    with tape:
        pass
    with pytest.raises((RuntimeError, ValueError)):
        tape.reset()


def test_stop_recording():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            inside = y * x
        z = y * inside
    assert tape.gradient(inside, x) is None
    assert tape.gradient(z, x) == 6.0 * 27.0
    assert tape.gradient(z, inside) is None


def test_stop_recording_concerns_its_own_tape():
    x = constant(3.0)
    with GradientTape() as outer, GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        with inner.stop_recording():
            y = x * x
        z = y * x
    assert outer.gradient(z, x) == 27.0
    assert inner.gradient(z, x) == 9.0


def test_stop_recording_in_a_branch_and_in_a_loop():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x
        for k in range(3):
            if k == 1:
                with tape.stop_recording():
                    y = y * x
            else:
                y = y * x
    assert tape.gradient(y, x) == 8.0


@pytest.mark.parametrize("flag", [0.3, 0.0])
def test_what_is_chosen_in_a_pause_is_what_it_was_before(flag: float):
    x, b, s, v = constant(2.0), constant(flag), constant(0.1), Variable(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            c = x if b > 0.1 else s * 0.7
            if b > 0.1:
                d = y
            else:
                d = y * 0.5
            e = v if b > 0.1 else s * 0.7
        of_source, of_value, of_variable = c * 1.0, d * 1.0, e * 1.0
    recorded = flag > 0.1
    assert tape.gradient(of_source, x) == (1.0 if recorded else None)
    assert tape.gradient(of_value, x) == (4.0 if recorded else None)
    assert tape.gradient(of_variable, v) == (1.0 if recorded else None)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_watched_variable_stays_watched_in_later_blocks(trainable: bool):
    v, w = Variable(2.0, trainable=trainable), Variable(3.0)
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch([v])
        v.assign(5.0)
    v.assign(4.0)
    for _ in range(2):
        with tape:
            v.assign_add(w * 0.0)
            y = v * v * w
        assert tape.gradient(y, [v, w]) == [24.0, None]
    with tape:
        tape.reset()
        y = v * v
    assert tape.gradient(y, v) is None


def test_stop_recording_outside_the_context():
    tape = GradientTape()
    with pytest.raises(RuntimeError):
        tape.stop_recording().__enter__()
    with tape:
        pass
    with pytest.raises(RuntimeError):
        tape.stop_recording().__enter__()


def test_a_gradient_inside_stop_recording():
    x = constant(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            slope = tape.gradient(y, x)
        z = y * slope
    assert slope == 6.0
    assert tape.gradient(z, x) == 36.0


# helpers


def branching(a, b, *, scale=2.0):
    if a > b:
        return a * scale
    total = 0.0
    for _ in range(3):
        total = total + b * a
    return total


def factorial_like(x, n):
    return x if n == 0 else x * factorial_like(x, n - 1)


def powers(x, n):
    y = x
    for _ in range(n):
        yield y
        y = y * x


def apply(f, *args, **kwargs):
    return f(*args, **kwargs)


@pytest.mark.slow
def test_helpers_are_part_of_the_body():
    a, b = constant(1.5), constant(2.5)
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        first = branching(a, b)
        second = branching(b, a, scale=3.0)
        third = factorial_like(a, 3)
        fourth = apply(lambda u, v=2.0: u * v, b)
        fifth = apply(branching, a=a, b=b)
    assert tape.gradient(first, [a, b]) == [7.5, 4.5]
    assert tape.gradient(second, [a, b]) == [None, 3.0]
    assert tape.gradient(third, a) == 4 * 1.5**3
    assert tape.gradient(fourth, b) == 2.0
    assert tape.gradient(fifth, [a, b]) == [7.5, 4.5]


def test_a_generator_feeds_a_loop():
    x = constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        total, kept = 0.0, []
        for power in powers(x, 3):
            total = total + power
            kept.append(power)
    assert tape.gradient(total, x) == 1.0 + 4.0 + 12.0
    assert tape.gradient(kept[2], x) == 12.0


def test_a_closure_that_rebinds():
    x = constant(2.0)
    state = constant(1.0)

    def advance(y):
        nonlocal state
        state = state * y
        return state

    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = advance(x)
        b = advance(x)
    assert tape.gradient(b, x) == 4.0
    assert tape.gradient(state, x) == 4.0
    assert tape.gradient(b, a) == 2.0


def watching(tape, x):
    tape.watch(x)
    return x * x


def slope_of(tape, y, x):
    return tape.gradient(y, x)


def test_a_tape_is_handed_to_helpers():
    x = constant(3.0)
    with GradientTape() as tape:
        y = watching(tape, x)
    assert slope_of(tape, y, x) == 6.0


def recorded(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape, y


def returned_inside(x):
    with GradientTape() as tape:
        tape.watch(x)
        return tape, x * x


def test_tape_and_target_are_returned():
    x = constant(3.0)
    tape, y = recorded(x)
    assert tape.gradient(y, x) == 6.0
    tape, y = returned_inside(x)
    assert tape.gradient(y, x) == 6.0


# connectivity along loops and branches


def test_iterations_decide_what_is_connected():
    for n, expected in ((0, [None, None]), (1, [1.0, None]), (3, [1.0, 2.0])):
        x, w, steps = constant(1.0), Variable(2.0), np.arange(n)
        with GradientTape() as tape:
            tape.watch(x)
            y = 0.0
            for k in range(len(steps)):
                if k == 0:
                    y = y + x
                else:
                    y = y + w * 1.0
            y = y * 1.0
        expected = [1.0 if n > 0 else None, float(n - 1) if n > 1 else None]
        assert tape.gradient(y, [x, w]) == expected


def test_a_zero_that_is_connected_and_one_that_is_not():
    x, n = constant(0.0), constant(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, k = 1.0, 0.0
        while k < n:
            y = y * x * x
            k = k + 1.0
        z, k = 1.0, 5.0
        while k < n:
            z = z * x
            k = k + 1.0
    assert tape.gradient(y, x) == 0.0
    assert tape.gradient(z, x) is None


def test_an_element_read_before_it_was_written():
    x, a = constant(2.0), np.zeros(2)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        early = a[0] * 1.0
        a[0] = x
        late = a[0] * 3.0
    assert tape.gradient(early, x) is None
    assert tape.gradient(late, x) == 3.0


def test_a_variable_of_another_kind_on_each_way():
    for flag in (1.0, -1.0):
        x, c, extra = constant(3.0), constant(flag), None
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            if c > 0.0:
                extra = y * 2.0
                y = y + extra
        assert tape.gradient(y, x) == (18.0 if flag > 0.0 else 6.0)
        if extra is not None:
            assert tape.gradient(extra, x) == 12.0
            assert tape.gradient(y, extra) == 1.0


def test_arrays_stored_in_a_list_as_they_are_computed():
    x, h = constant(3.0), [np.ones(2), np.ones(2)]
    w = np.array([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        h[1] = x * w
        y = np.sum(h[1])
    assert tape.gradient(h[1], x) == 3.0
    assert tape.gradient(y, h[1]).tolist() == [1.0, 1.0]


def test_entered_again_after_a_reset_and_a_pause():
    x = constant(3.0)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        with tape.stop_recording():
            fixed = x * 2.0
    with tape:
        z = x * y * fixed
    assert tape.gradient(z, x) == 9.0 * 6.0
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("held", [lambda v: v, lambda v: [v], lambda v: {"v": v}, lambda v: Held(v)])
def test_entered_again_where_a_variable_is_only_handed_on(held):
    v, a = Variable(0.5), constant(0.3)
    with GradientTape(persistent=True) as t:
        c = a * v
    with t:
        kept = held(v)
    assert kept is not None
    assert t.gradient(c, v) == 0.3
    with t:
        last = c * v
    assert t.gradient(last, v) == pytest.approx(0.3)


class Held:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(("turn", "expected"), [(0.4, 2.0), (-0.4, None)])
def test_entered_again_behind_a_branch_that_records_or_does_not(turn, expected):
    x, other, turn = constant(0.9), constant(0.7), constant(turn)
    with GradientTape(persistent=True) as t:
        t.watch(x)
        d = x if turn > 0.0 else other * 0.7
    with t:
        d = d * 1.0
        e = d * 2.0
    assert t.gradient(e, d) == expected
    assert t.gradient(e, x) == expected


def test_entered_again_to_watch_what_the_earlier_block_may_have_recorded():
    x, other, turn = constant(0.9), constant(0.7), constant(-0.4)
    with GradientTape(persistent=True) as t:
        t.watch(x)
        d = x if turn > 0.0 else other * 0.7
    with t:
        t.watch(d)
        e = d * 2.0
    with pytest.raises(LoweringError, match="has or has not computed from watched ones"):
        t.gradient(e, d)
