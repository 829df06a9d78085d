"""Dicts and lists: what is refused."""

from __future__ import annotations

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])


@refused({"a": 1.0})
def item_of_an_argument_set(p):
    p["a"] = p["a"] * 2.0
    return p["a"]


@refused({"a": 1.0})
def item_of_an_argument_removed(p):
    return p.pop("a")


@refused({"a": 1.0})
def argument_united_in_place(p):
    p |= {"a": 2.0}
    return p["a"]


@refused({"a": 1.0})
def item_of_an_argument_deleted(p):
    del p["a"]
    return 1.0


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
    for i in range(x.shape[0]):
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
def tuple_of_unknown_length(x):
    return tuple(map(lambda v: v * v, x))[0]


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


@refused(VECTOR)
def iterator_made_outside_the_loop(x):
    pairs = enumerate(x)
    s = 0.0
    for k in range(3):
        for i, v in pairs:
            s += v * (k + i)
    return s


@refused(VECTOR)
def iterator_of_a_loop_left_early(x):
    pairs = zip(x, x)
    s = 0.0
    for a, b in pairs:
        if a > 2.0:
            break
        s += a * b
    for a, b in pairs:
        s += a
    return s


@refused(VECTOR)
def iterator_used_in_its_own_loop(x):
    it = iter(x)
    s = 0.0
    for a in it:
        s += a * next(it)
    return s


@refused(VECTOR)
def iterator_handed_to_another(x):
    it = iter(x)
    pairs = zip(it, x)
    return next(it) * sum([a * b for a, b in pairs])


@refused(VECTOR)
def iterator_that_a_branch_takes_from(x):
    it = iter((x[0], x[1], x[2]))
    s = x[0]
    if x[0] > 0.5:
        s = next(it)
    return s * next(it)


@refused(VECTOR)
def reversed_iterator(x):
    return sum(reversed(map(np.sin, x)))


@refused(VECTOR)
def next_of_a_list(x):
    return next([x[0], x[1]])


@refused(VECTOR)
def iter_with_a_sentinel(x):
    return sum(iter(lambda: x[0], 0.0))


@refused(VECTOR)
def filter_left_by_break(x):
    s = 0.0
    for k in filter(lambda k: k % 2, (1, 2, 3)):
        if x[0] > k:
            break
        s += x[k - 1]
    return s


OUTSIDE = [1.0, 2.0]
LONG = [0.5 * k for k in range(12)]
SETTINGS = {"rate": 0.1}


@refused(1.0)
def list_of_a_module_appended_to(x):
    OUTSIDE.append(3.0)
    return x * OUTSIDE[0]


@refused(1.0)
def element_of_a_module_list_set(x):
    kept = OUTSIDE
    kept[0] = x
    return kept[0]


@refused(1.0)
def module_list_extended_under_another_name(x):
    kept = OUTSIDE
    kept += [x]
    return x


@refused(1.0)
def index_beyond_a_long_list(x):
    return x * LONG[20]


@refused(1.0)
def item_of_a_module_dict_set(x):
    SETTINGS["rate"] = x
    return x


@refused(1.0)
def module_dict_updated(x):
    SETTINGS.update(low=x)
    return x


@refused((1.0, 2.0))
def attribute_of_a_tuple(p):
    return p.first * 2.0


@refused(VECTOR)
def tuples_of_several_lengths_in_a_list(x):
    found = []
    for i in range(x.size):
        if i < 2:
            found.append((i, x[i]))
        else:
            found.append((i, x[i], 1.0))
    return x[0] * len(found)


@refused(VECTOR)
def number_into_a_list_of_tuples(x):
    found = []
    for i in range(x.size):
        found.append((i, x[i]))
    found[0] = 1.0
    return found[0][1]


@refused(VECTOR)
def numbers_and_tuples_in_a_list(x):
    found = [x[0]]
    for i in range(x.size):
        found.append((i, x[i]))
    return found[0]


@refused(VECTOR)
def display_of_an_array(x):
    return [*x][0]


@refused(VECTOR)
def filter_over_an_array(x):
    s = 0.0
    for v in filter(lambda v: v > 1.0, x):
        s += v
    return s


@refused(1.0)
def list_that_a_loop_made_anew(x):
    values = [x, x]
    for _ in range(3):
        values[0] = 2.0 * values[0]
        values = [1.5 * v for v in values]
    return values[0]


@refused(1.0)
def class_of_a_tuple_made_by_new(x):
    return tuple.__new__(tuple, (x, x))[0]


@refused(VECTOR)
def sorted_list_of_tuples(x):
    pairs = [(v, v * v) for v in x]
    pairs.sort()
    return pairs[0][0]


@refused(VECTOR)
def order_of_tuples_of_arrays(x):
    return x[0] if (x, 1) < (x, 2) else x[1]
