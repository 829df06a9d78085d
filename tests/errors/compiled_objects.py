"""Compiled functions: Jacobians, objects, variables and other functions, where they are refused; see
`compiled_function.py`.
"""

from __future__ import annotations

import contextlib
import copy

import numpy as np

from tapec import GradientTape, Variable, constant, function
from tests.errors import Refusals
from tests.errors.compiled import VECTOR

cases = Refusals()
misuse = cases.misuse


def compiled(f):
    """A case: the function is compiled, and called with 2.0 and a vector."""

    def run():
        function(f)(2.0, VECTOR.copy())

    run.__name__, run.__wrapped__ = f.__name__, f  # type: ignore[attr-defined]
    return misuse(run)


@contextlib.contextmanager
def doubling(x):
    yield x * 2.0


def pairs(x):
    yield x
    yield x


# Jacobians


@compiled
def jacobian_of_two(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    return tape.jacobian([y, y], v)


@compiled
def no_rows_at_once(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    return tape.jacobian(y, v, parallel_iterations=0)


@compiled
def row_by_row_of_a_tape_that_is_used_up(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    return tape.jacobian(y, v, experimental_use_pfor=False), zip(v, v)


@compiled
def batch_of_vectors(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = v * v
    return tape.batch_jacobian(y, v)


@compiled
def batch_by_two_sources(x, v):
    m = np.outer(v, v)
    with GradientTape() as tape:
        tape.watch(m)
        y = m * m
    return tape.batch_jacobian(y, [m, m])


# objects


@misuse
def keyword_parameters():
    function(lambda **options: options)


@compiled
def an_iterator_is_returned(x, v):
    return zip(v, v)


@misuse
def written_arguments_overlap():
    @function
    def f(a, b):
        a[0] = b[0]
        return a

    whole = np.ones(3)
    f(whole[:2], whole[1:])


@misuse
def a_written_argument_overlaps_itself():
    @function
    def f(a):
        a[0] = 2.0
        return a.sum()

    f(np.lib.stride_tricks.sliding_window_view(np.ones(4), 2, writeable=True))


@misuse
def every_call_another_way():
    @function
    def f(n):
        with GradientTape(persistent=True) as tape:
            x = constant(1.0) * 1.0
            for k in range(40):
                if k == n * 1.0:
                    tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    for n in range(33):
        f(float(n))


# other functions


@compiled
def a_generator_in_a_branch(x, v):
    total = 0.0
    if x > 0.0:
        for value in pairs(x):
            total += value
    return total, zip(v, v)


@compiled
def a_context_of_a_generator(x, v):
    with doubling(x) as y:
        return y, zip(v, v)


@compiled
def a_variable_in_a_branch(x, v):
    with GradientTape() as tape:
        w = Variable(x, name="w")
        if x > 0.0:
            w.assign(1.0)
        y = w * w
    return tape.gradient(y, w), zip(v, v)


@compiled
def a_variable_of_another_rank(x, v):
    w = Variable(v, name="w")
    w.assign(np.outer(v, v))
    return w.numpy()


@compiled
def trainable_by_the_run(x, v):
    w = Variable(x, trainable=x > 0.0)
    return w.numpy(), zip(v, v)


@compiled
def the_name_of_a_new_variable(x, v):
    w = Variable(x)
    return w.numpy() if w.name == "a" else x


@compiled
def a_variable_is_written(x, v):
    return written(table)


table = Variable([1.0, 2.0], name="table")


def written(w):
    rows = np.asarray(w)
    rows[0] = 1.0
    return rows


@compiled
def gradient_while_recording_that_cannot_be_decided(x, v):
    for _ in range(5001):
        pass
    with GradientTape() as tape:
        tape.watch(x)
        tape.gradient(x * x, x)
    return x


@compiled
def an_attribute_in_a_branch(x, v):
    holder = Holder()
    if x > 0.0:
        holder.value = x
    return x, zip(v, v)


class Holder:
    pass


@misuse
def a_draw_before_a_watch_that_the_run_decides():
    @function
    def slope(n):
        with GradientTape(persistent=True) as tape:
            x = constant(1.0) * np.random.random()
            for k in range(3):
                if k == n * 1.0:
                    tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    slope(1.0)


@misuse
def draws_in_a_loop_of_a_tape():
    w = Variable(1.0)

    @function
    def step(x):
        with GradientTape() as tape:
            y = w * 1.0
            for k in range(x.size):
                y = y + w * x[k] * np.random.random()
        return tape.gradient(y, w)

    step(np.ones(6000))


# contexts, iterators and copies


@compiled
def a_stack_of_other_contexts(x, v):
    with contextlib.ExitStack() as stack:
        stack.enter_context(doubling(x))
    return x


@compiled
def a_stack_in_a_branch(x, v):
    with contextlib.ExitStack() as stack:
        if x > 0.0:
            stack.enter_context(GradientTape())
    return x, zip(v, v)


@compiled
def a_generator_is_closed(x, v):
    made = pairs(x)
    made.close()
    return x


@compiled
def a_shallow_copy_of_a_tuple(x, v):
    return copy.copy((x, x))


@compiled
def a_deep_copy(x, v):
    return copy.deepcopy([x, iter((x,))])


@compiled
def a_deep_copy_with_a_memo(x, v):
    return copy.deepcopy([x], {})


@compiled
def a_slice_of_a_growing_list(x, v):
    found = [x]
    for value in v:
        found.append(value)
    found[1:2] = [x, x]
    return found, zip(v, v)


@compiled
def a_target_that_a_loop_has_chosen(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        a, b = x * x, x**3
    for value in v:
        if value > x:
            a = b
    return tape.gradient(a, x), zip(v, v)


class Items:
    def __next__(self):
        return 1.0


@compiled
def next_with_a_default(x, v):
    items = Items()
    for _ in v:
        x = x + next(items, 0.0)
    return x, zip(v, v)
