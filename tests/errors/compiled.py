"""Tapes in compiled functions: what is refused.

`zip(v, v)` is what no compiled function returns: with it at the end, the way that follows a run decision
by decision is closed, and the message is that of the way before it.
"""

from __future__ import annotations

import contextlib

import numpy as np

from tapec import GradientTape, Variable, constant, function
from tests.errors import Refusals

cases = Refusals()
misuse = cases.misuse
VECTOR = np.array([1.0, 2.0])


def recorded(tape, x):
    with tape:
        tape.watch(x)
        return x * x


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


# watching


@compiled
def watch_of_text(x, v):
    with GradientTape() as tape:
        tape.watch("x")


@compiled
def watch_of_a_range(x, v):
    with GradientTape() as tape:
        tape.watch(enumerate(v))


@compiled
def watch_in_a_branch(x, v):
    with GradientTape() as tape:
        if x > 0.0:
            tape.watch(x)
        y = x * x
    return tape.gradient(y, x), zip(v, v)


@compiled
def watch_of_what_a_branch_computed(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = v[0] * 2.0 if x > 0.0 else x * 2.0
        tape.watch(y)
        z = y * y
    return tape.gradient(z, y), zip(v, v)


@compiled
def watch_of_what_a_branch_left(x, v):
    a, b = x * 2.0, x * 3.0
    c = a
    if x > 0.0:
        c = b
    with GradientTape() as tape:
        tape.watch(c)
        z = c * b
    return tape.gradient(z, c), zip(v, v)


@compiled
def watch_of_an_element_of_a_filled_list(x, v):
    kept = []
    for k in range(len(v)):
        kept.append(x * v[k])
    with GradientTape() as tape:
        tape.watch(kept[0])
        y = kept[0] * kept[1]
    return tape.gradient(y, kept[0]), zip(v, v)


@compiled
def watch_of_a_literal_that_two_variables_hold(x, v):
    a = b = 3.0
    with GradientTape() as tape:
        tape.watch(a)
        y = a * b
    return tape.gradient(y, a)


# recording


@compiled
def entered_twice(x, v):
    with GradientTape() as tape, tape:
        y = x * x
    return tape.gradient(y, x)


@compiled
def entered_again_in_a_branch(x, v):
    tape = GradientTape()
    y = recorded(tape, x)
    if x > 0.0:
        y = recorded(tape, y)
    return tape.gradient(y, x), zip(v, v)


@compiled
def reset_behind_the_block(x, v):
    with GradientTape() as tape:
        pass
    tape.reset()


@compiled
def reset_in_a_branch(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        if x > 0.0:
            tape.reset()
    return tape.gradient(y, x), zip(v, v)


@compiled
def stopped_behind_the_block(x, v):
    with GradientTape() as tape:
        pass
    with tape.stop_recording():
        pass


@compiled
def written_while_stopped(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        w = v * 2.0
        with tape.stop_recording():
            w[0] = 1.0
        y = np.sum(w)
    return tape.gradient(y, v)


@compiled
def persistent_by_the_run(x, v):
    with GradientTape(persistent=x > 0.0) as tape:
        y = x * x
    return tape.gradient(y, x), zip(v, v)


# gradients


@compiled
def gradient_while_recording(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        tape.gradient(x * x, x)
    return zip(v, v)


@compiled
def gradient_of_a_tape_that_was_not_entered(x, v):
    return GradientTape().gradient(x, x), zip(v, v)


@compiled
def a_second_gradient(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x), tape.gradient(y, x), zip(v, v)


@compiled
def gradient_in_a_branch(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    g = 0.0
    if x > 0.0:
        g = tape.gradient(y, x)
    return g, zip(v, v)


@compiled
def text_as_target(x, v):
    with GradientTape() as tape:
        tape.watch(x)
    return tape.gradient("x", x)


@compiled
def text_as_source(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, "x"), zip(v, v)


@compiled
def a_filled_list_as_target(x, v):
    kept = []
    with GradientTape() as tape:
        tape.watch(x)
        for k in range(len(v)):
            kept.append(x * v[k])
    return tape.gradient(kept, x), zip(v, v)


@compiled
def an_element_of_a_filled_list_as_target(x, v):
    kept = []
    with GradientTape() as tape:
        tape.watch(x)
        for k in range(len(v)):
            kept.append(x * v[k])
    return tape.gradient(kept[0], x), zip(v, v)


@compiled
def a_source_that_a_branch_left(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        a, b = x * 2.0, x * 3.0
        c = a
        if x > 0.0:
            c = b
        z = c * b
    return tape.gradient(z, c), zip(v, v)


@misuse
def a_variable_as_target():
    w = Variable(2.0)

    @function
    def slope():
        with GradientTape() as tape:
            y = w * w
        return tape.gradient([y, w], w)

    slope()


@compiled
def another_policy(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, unconnected_gradients="both")


@compiled
def too_few_output_gradients(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient([y, y], x, output_gradients=[x])


@compiled
def an_output_gradient_of_another_rank(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, output_gradients=v)


@compiled
def rows_of_a_table(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        y = np.sum(v[np.array([0, 1])])
    return tape.gradient(y, v, indexed_slices=True)


@compiled
def an_outer_array_is_written(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        v[0] = 1.0
        y = np.sum(v)
    return tape.gradient(y, v)


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
def a_list_from_outside_is_changed():
    items = [1.0]

    @function
    def add(x):
        items.append(x)
        return x

    add(2.0)


@misuse
def a_dict_from_outside_is_changed():
    table = {"a": 1.0}

    @function
    def add(x):
        table["b"] = x
        return x

    add(2.0)


@misuse
def an_attribute_is_set():
    class Holder:
        value = 1.0

    holder = Holder()

    @function
    def put(x):
        holder.value = x
        return x

    put(2.0)


@misuse
def keyword_parameters():
    function(lambda **options: options)


@compiled
def an_iterator_is_returned(x, v):
    return zip(v, v)


@misuse
def its_own_variable_is_returned():
    function(lambda x: Variable(x))(2.0)


@misuse
def written_arguments_overlap():
    @function
    def f(a, b):
        a[0] = b[0]
        return a

    whole = np.ones(3)
    f(whole[:2], whole[1:])


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
        w = Variable(x)
        if x > 0.0:
            w.assign(1.0)
        y = w * w
    return tape.gradient(y, w), zip(v, v)


@compiled
def a_variable_of_another_rank(x, v):
    w = Variable(v)
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


table = Variable([1.0, 2.0])


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
