"""Statements and loops: what is refused."""

from __future__ import annotations

import numpy as np

import tapec
from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])


class Context:
    def __enter__(self):
        return self

    def __exit__(self, *reason):
        return False


CONTEXT = Context()


@refused(1.0)
def handler_that_reads_what_it_caught(x):
    try:
        if x > 0.0:
            raise ValueError("positive")
        y = x * x
    except ValueError as error:
        y = x * len(str(error))
    return y


@refused(1.0)
def try_that_is_left_through_its_finally(x):
    y = x
    try:
        return y
    finally:
        y = y + 1.0


@refused(1.0)
def handler_of_an_unknown_class(x):
    y = x
    try:
        if x > 0.0:
            raise KeyError("k")
    except np.linalg.LinAlgError:
        y = x * x
    return y


@refused(1.0)
def bare_raise_in_try(x):
    try:
        if x > 0.0:
            raise
    except ValueError:
        return x
    return x * x


@refused(1.0)
def raise_in_a_loop_with_else(x):
    try:
        for _ in range(3):
            if x > 0.0:
                raise ValueError
        else:
            x = x * x
    except ValueError:
        return x
    return x * x


def steps(x):
    while x < 10.0:
        x = 1.5 * x
        yield x


@refused(1.0)
def generator_item_by_item(x):
    items = steps(x)
    return next(items) * next(items)


@refused(1.0)
def generator_that_is_unpacked(x):
    first, second = steps(x)
    return first * second


@refused(1.0)
def return_in_a_loop_over_a_generator(x):
    for y in steps(x):
        if y > 4.0:
            return y
    return x


def answering(x):
    for _ in range(3):
        told = yield x
        x = x if told is None else x + 1.0


@refused(1.0)
def break_out_of_a_generator_that_reads(x):
    total = 0.0
    for y in answering(x):
        total += y
        if total > 2.0:
            break
    return total


@refused(1.0)
def with_statement(x):
    with CONTEXT:
        y = x * x
    return y


@refused(1.0)
def yields(x):
    yield x


@refused(1.0)
def global_statement(x):
    global VECTOR
    VECTOR = x
    return x


def counter():
    count = 0.0

    def counted(x):
        nonlocal count
        count = count + 1.0
        return count * x

    return counted


COUNTED = counter()


@refused(1.0)
def nonlocal_of_a_function_outside(x):
    return COUNTED(x)


@refused(1.0)
def class_statement(x):
    class Inner:
        pass

    return x


@refused(1.0)
def dict_comprehension(x):
    d = {k: x for k in range(3)}
    return d[0]


def text_on_some_ways(x):
    if x > 0.0:
        return "large"


@refused(1.0)
def some_ways_only(x):
    return x if text_on_some_ways(x) == "large" else 2.0 * x


@refused(VECTOR)
def number_or_array_returned(x):
    if x[0] > 0.0:
        return x[0]
    return 2.0 * x


@refused(1.0)
def loop_over_a_number(x):
    s = 0.0
    for v in x:
        s += v
    return s


@refused(VECTOR)
def range_of_floats(x):
    s = 0.0
    for i in range(x[0]):
        s += i * x[1]
    return s


@refused(VECTOR)
def range_with_step_zero(x):
    s = 0.0
    for i in range(0, 3, 0):
        s += x[i]
    return s


@refused(VECTOR)
def carries_two_types(x):
    s = 1.0
    for i in range(3):
        s = x * s
    return x.sum()


@refused(VECTOR)
def carries_two_structures(x):
    t = (x[0],)
    for i in range(3):
        t = (x[i], x[i])
    return t[0]


@refused(VECTOR)
def carries_text(x):
    mode, total = "first", 0.0
    for i in range(3):
        total += x[i] if mode == "first" else 2.0 * x[i]
        mode = "later"
    return total


@refused(VECTOR)
def list_of_two_types_in_branches(x):
    values = [x[0]]
    if x[1] > 0.0:
        values.append(x)
    return values[0]


@refused(VECTOR)
def list_of_two_types_in_a_loop(x):
    values = []
    for i in range(x.shape[0]):
        values.append(x)
    return values[0].sum()


@refused(VECTOR)
def branches_with_two_types(x):
    if x[0] > 0.0:
        y = x
    else:
        y = x[0]
    return y.sum()


@refused(VECTOR)
def break_of_an_array_test(x):
    s = 0.0
    while x:
        s += x[0]
    return s


@refused(1.0)
def checkpointed_loop_with_break(x):
    for k in tapec.checkpointed(range(9), slots=2):
        x = x * x
        if x < 0.1:
            break
    return x


@refused(1.0)
def checkpointed_loop_with_return(x):
    for k in tapec.checkpointed(range(9), slots=2):
        x = x * x
        if x < 0.1:
            return 0.0
    return x


@refused(1.0)
def checkpointed_array(x):
    for k in tapec.checkpointed(VECTOR, slots=2):
        x = x * k
    return x


@refused(1.0)
def checkpointed_without_slots(x):
    for _ in tapec.checkpointed(range(9)):
        x = x * x
    return x


@refused(1.0)
def checkpointed_with_no_slots(x):
    for _ in tapec.checkpointed(range(9), slots=0):
        x = x * x
    return x


@refused(1.0)
def checkpointed_with_half_a_slot(x):
    for _ in tapec.checkpointed(range(9), slots=x):
        x = x * x
    return x


@refused(1.0)
def checkpointed_range_enumerated(x):
    for k, i in enumerate(tapec.checkpointed(range(9), slots=2)):
        x = x * k * i
    return x
