"""Tapes on ordinary code: blocks that cannot be followed, and values that are not known."""

from __future__ import annotations

import contextlib
import threading
import time

import numpy as np

from tapec import GradientTape, Variable, constant
from tests.errors import Refusals

cases = Refusals()
misuse = cases.misuse


@misuse
def numbers_with_two_meanings():
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a * b
    both = [a, b]
    tape.gradient(y, both)


@misuse
def numbers_with_two_meanings_in_the_first_block():
    a = b = 3.0
    tape = GradientTape()
    with tape:
        tape.watch([a, b])
        y = a * b
    with tape:
        y = y * a
    tape.gradient(y, a)


@misuse
def a_value_of_the_clock():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * time.time()
    tape.gradient(y, x)


@misuse
def a_decision_by_the_clock():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0 if time.time() > 1.0 else x
    tape.gradient(y, x)


class Rising:
    """An object whose copy on the way into the block is another one than the block meets."""

    def __init__(self, first=1.0, second=2.0):
        self.values = [first, second]


@misuse
def another_value_than_the_source_says():
    x, holder = constant(3.0), Rising()
    thread = threading.Thread(target=holder.values.reverse)
    with GradientTape() as tape:
        tape.watch(x)
        started, finished = thread.start(), thread.join()
        y = x * holder.values[0]
    tape.gradient(y, x)


@misuse
def a_complex_value_where_the_source_says_a_real_one():
    x, holder = constant(3.0), Rising(1.0, 2j)
    thread = threading.Thread(target=holder.values.reverse)
    with GradientTape() as tape:
        tape.watch(x)
        started, finished = thread.start(), thread.join()
        y = x * holder.values[0]
    tape.gradient(y, x)


@misuse
def a_complex_source_that_is_watched_in_part():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        z = x + 1j
        y = abs(z * z)
    tape.gradient(y, z)


@misuse
def a_value_in_a_place_that_is_not_followed():
    kept, x = [], constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        for k in range(3):
            kept.append(x * k)
        for _ in range(5001):
            pass
    tape.gradient(kept[2], x)


@misuse
def a_loop_of_too_many_iterations():
    x = constant(1.0)

    def numbers():
        yield from range(5001)

    with GradientTape() as tape:
        tape.watch(x)
        y = x * sum(numbers())
    tape.gradient(y, x)


@misuse
def an_overwritten_array():
    x = np.array([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        z = x * 2.0
        y = np.sum(z)
        z[0] = 0.0
        y = y + np.sum(z)
    tape.gradient(y, z)


@misuse
def shared_memory():
    whole = np.ones(4)
    a, b = whole[:3], whole[1:]
    with GradientTape() as tape:
        tape.watch(b)
        a[0] = 2.0
        y = np.sum(a * b)
    tape.gradient(y, b)


@misuse
def an_array_that_overlaps_itself():
    a = np.lib.stride_tricks.sliding_window_view(np.ones(4), 2, writeable=True)
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        a[0, 1] = 2.0
        y = a[1, 0] * x
    tape.gradient(y, x)


@misuse
def a_variable_that_is_written():
    w = Variable([1.0, 2.0], name="w")
    with GradientTape() as tape:
        try:
            w[0] = 2.0
        except TypeError:
            pass
        y = np.sum(w * w)
    tape.gradient(y, w)


# how blocks begin and end


@misuse
def not_left():
    x, tape = constant(2.0), GradientTape()
    tape.__enter__()
    tape.watch(x)
    y = x * x
    with tape.stop_recording():
        tape.gradient(y, x)


@misuse
def entered_by_a_helper():
    x, tape = constant(2.0), GradientTape()
    [entered for entered in [tape.__enter__()]]
    tape.watch(x)
    y = x * x
    tape.__exit__(None, None, None)
    tape.gradient(y, x)


@misuse
def text_without_a_file():
    space = {"x": constant(2.0), "GradientTape": GradientTape}
    exec("with GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\ntape.gradient(y, x)", space)


@misuse
def ended_by_a_foreign_exception():
    x, tape = constant(2.0), GradientTape()
    with contextlib.suppress(ValueError), tape:
        tape.watch(x)
        y = x * x
        int("a")
    tape.gradient(y * 1.0, x)


@misuse
def raised_inside_a_statement():
    x, tape = constant(2.0), GradientTape()
    try:
        with tape:
            tape.watch(x)
            y = x * x
            z = [y * 2.0, int("a")]
    except ValueError:
        z = y * 3.0
    tape.gradient(z, x)


@misuse
def a_gradient_of_a_pause_in_a_second_block():
    x, tape = constant(2.0), GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
        with tape.stop_recording():
            tape.gradient(z, x)


# other tapes


@misuse
def a_gradient_of_a_tape_of_another_block():
    x = constant(2.0)
    with GradientTape(persistent=True) as first:
        first.watch(x)
        y = x * x
    with GradientTape() as second:
        second.watch(x)
        z = x * first.gradient(y, x)
    second.gradient(z, x)


@misuse
def an_iterator_from_outside():
    items, x = iter([1.0, 2.0]), constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * next(items)
    tape.gradient(y, x)


@misuse
def a_block_goes_on():
    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = np.clip(x, None, None)
    tape.gradient(y, x)


@misuse
def a_seed_that_the_system_gives():
    x = Variable(3.0)
    with GradientTape() as tape:
        np.random.seed()
        y = x * np.random.normal()
    tape.gradient(y, x)


@misuse
def a_watch_of_what_an_earlier_block_may_have_recorded():
    x, other = constant(3.0), constant(2.0)
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x if other > 2.5 else other * 2.0
    with tape:
        tape.watch(y)
        z = y * y
    tape.gradient(z, y)


@misuse
def an_error_in_the_middle_of_a_statement_that_changes_an_array():
    x, z = np.ones((2, 2)), np.zeros(3)
    with GradientTape() as tape:
        tape.watch(x)
        try:
            y = z.fill(2.0), np.sum(np.linalg.inv(x))
        except np.linalg.LinAlgError:
            y = np.sum(x) * np.sum(z)
    tape.gradient(y, x)
