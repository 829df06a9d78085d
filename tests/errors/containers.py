"""Dicts and lists: what is refused."""

from __future__ import annotations

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])


@refused(1.0)
def missing_key(x):
    p = {"a": x}
    return p["b"]


@refused(1.0)
def missing_key_of_pop(x):
    p = {"a": x}
    return p.pop("b")


@refused(1.0, 2)
def key_of_the_run(x, n):
    p = {1: x, 2: x * x}
    return p[n]


@refused(VECTOR)
def keys_that_change_in_a_loop(x):
    p = {}
    for i in range(3):
        p["a"] = x[i]
    return p["a"]


@refused(VECTOR)
def item_of_two_kinds(x):
    p = {"a": x[0]}
    if x[0] > 0.0:
        p["a"] = x
    return p["a"]


@refused(1.0)
def dict_of_a_number(x):
    p = dict(x)
    return p["a"]


@refused(VECTOR)
def list_of_two_types(x):
    values = [x[0] > 0.0]
    for i in range(3):
        values.append("text")
    return x[0]


@refused(VECTOR)
def list_with_other_types_in_branches(x):
    if x[0] > 0.0:
        values = [x, x]
    else:
        values = [1.0, 2.0]
    return values[0]


@refused(1.0)
def value_that_is_not_in_a_list(x):
    values = [1.0, 2.0]
    values.remove(3.0)
    return x * values[0]


@refused(1.0, 1)
def place_of_the_run(x, k):
    values = [x, x * x]
    values.insert(k, 2.0)
    return values[0]


@refused(1.0)
def order_of_the_run(x):
    values = [x, x * x]
    values.sort()
    return values[0]


@refused(1.0)
def filtered_by_the_run(x):
    return sum(filter(lambda v: v > 0.5, (x, x * x)))


@refused(VECTOR)
def mapped_over_an_array(x):
    return list(map(lambda v: v * v, x))[0]


@refused(VECTOR)
def out_is_a_tuple(x):
    y = (x, x)
    np.cumsum(x, out=y)
    return x[0]


@refused(VECTOR)
def out_of_a_ufunc_is_a_tuple(x):
    y = (x, x)
    np.sin(x, y)
    return x[0]


@refused(1.0)
def out_is_a_number(x):
    return np.sin(x, x)


@refused(1.0)
def type_of_a_list(x):
    return type([x])(x)


@refused(VECTOR)
def index_of_an_iteration(x):
    return enumerate(x)[0][1]


@refused(1.0)
def with_over_a_number(x):
    with x:
        return x


@refused(VECTOR)
def list_that_grows_under_its_loop(x):
    queue, total = [x[0]], 0.0
    for v in queue:
        total += v
        if v > x[1]:
            queue.append(v - 1.0)
    return total


@refused(VECTOR)
def list_that_shrinks_under_its_loop(x):
    values, total = [v for v in x], 0.0
    for k, v in enumerate(values):
        total += v * k
        if v > 1.5:
            values.pop()
    return total


@refused(1.0, 2)
def an_order_of_the_run(x, n):
    return sorted([x, 2.0 * x], reverse=n > 1)[0]


@refused(1.0)
def numbers_in_an_order_of_the_run(x):
    return sorted([x * x, x])[0]
