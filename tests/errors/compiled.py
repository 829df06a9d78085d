"""Tapes in compiled functions: what is refused.

`zip(v, v)` is what no compiled function returns: with it at the end, the way that follows a run decision
by decision is closed, and the message is that of the way before it.
"""

from __future__ import annotations

import numpy as np

from tapec import GradientTape, Variable, custom_gradient, function
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


# variables


@compiled
def a_variable_that_is_assigned_after_it_was_chosen(x, v):
    w, other = Variable(2.0), Variable(3.0)
    chosen = w if x > 1.0 else other
    w.assign(5.0)
    return chosen * x, zip(v, v)


@compiled
def a_variable_that_is_added_to(x, v):
    w = Variable(2.0)
    w += x
    return w, zip(v, v)


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
def a_complex_output_gradient_of_a_real_target(x, v):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, output_gradients=2j)


@compiled
def a_complex_source_that_is_watched_in_part(x, v):
    with GradientTape() as tape:
        tape.watch(v)
        z = v + 1j
        y = np.sum(np.abs(z))
    return tape.gradient(y, z)


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


@misuse
def a_custom_gradient_of_a_number():
    @function
    def run(x):
        return custom_gradient(x)(x)

    run(2.0)


@misuse
def the_id_of_a_number():
    @function
    def run(x):
        return x * id(x)

    run(2.0)


# constructors


@compiled
def a_keyword_that_no_tape_has(x, v):
    with GradientTape(persist=True) as tape:
        tape.watch(x)
    return tape


@compiled
def a_keyword_that_no_variable_has(x, v):
    return Variable(x, trained=False).value()
