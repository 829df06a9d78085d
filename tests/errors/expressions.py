"""Expressions: what is refused."""

from __future__ import annotations

import enum
import itertools
import types
from typing import Protocol, runtime_checkable

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
WORDS = np.array(["a", "b"])
HUGE = 2**70
DATE = np.datetime64("2020-01-01")
OBJECT = object()


class Kind(enum.IntEnum):
    EVEN = 0
    ODD = 1


@runtime_checkable
class HasSize(Protocol):
    """A protocol that objects have, not classes."""

    size: int


class Doubled(float):
    """A number that means something else by a product."""

    def __mul__(self, other):
        return 2.0 * float(self) * other


DOUBLED = Doubled(3.0)
FACTORS = types.MappingProxyType({None: 2.0, 1: 3.0})


@refused(1.0)
def undefined_name(x):
    return x * missing  # noqa: F821


@refused(1.0)
def undefined_attribute(x):
    return x * np.missing


@refused(1.0)
def huge_literal(x):
    return x * 1208925819614629174706176


@refused(1.0)
def huge_constant(x):
    return x * HUGE


@refused(1.0)
def date_constant(x):
    return x * DATE


@refused(1.0)
def array_of_words(x):
    return x * WORDS[0]


@refused(1.0)
def adds_a_string(x):
    return x + "text"


@refused(1.0)
def subtracts_strings(x):
    "a" - "b"
    return x


@refused(1.0)
def compares_a_function(x):
    return x if len < x else 0.0


@refused(1.0, 2)
def repeats_a_tuple(x, n):
    t = (x, x) * n
    return t[0]


@refused(1.0)
def multiplies_objects(x):
    return x * OBJECT


@refused(1.0)
def arithmetic_on_a_list(x):
    return -[x]


@refused(1.0)
def bits_of_floats(x):
    return x & 3


@refused(VECTOR)
def identity_of_what_arrays_do_not_have(x):
    return x[0] if x.base is None else x[1]


@refused(VECTOR)
def compares_what_arrays_do_not_have(x):
    return x[0] if x.kind == "rows" else x[1]


@refused(1.0)
def class_of_a_number_that_may_be_of_two(x):
    return x if isinstance(x, np.floating) else 2.0 * x


@refused((1.0, 2.0))
def class_of_a_tuple_that_may_be_a_list(x):
    return x[0] if isinstance(x, list) else x[1]


@refused((1.0, 2.0))
def type_of_a_tuple_that_may_be_a_list(x):
    return x[0] if type(x) is list else x[1]


@refused(1.0)
def type_of_a_number_that_may_be_of_two(x):
    return x if type(x) is float else 2.0 * x


@refused(1.0)
def classes_that_are_none(x):
    return x if isinstance(x, 3.0) else 2.0 * x


@refused(1.0)
def class_that_answers_nothing(x):
    return x if isinstance(x, HasSize) else 2.0 * x


@refused(1.0)
def class_of_an_iterator(x):
    return x if isinstance(zip((x,), (x,)), list) else 2.0 * x


@refused(1.0, 2.0)
def identity_of_numbers(x, y):
    return x if x is y else y


@refused(VECTOR)
def membership_in_pairs_that_grow(x):
    pairs = [(x[0], 1.0)]
    for i in range(x.size):
        pairs.append((x[i], 2.0))
    return x[0] if 2.0 in pairs else x[1]


@refused(1.0)
def star_of_a_number(x):
    t = [*x]
    return t[0]


@refused(VECTOR)
def truth_of_an_array(x):
    return x[0] if x else x[1]


@refused(VECTOR)
def conditional_expression_of_two_types(x):
    y = x if x[0] > 0.0 else x[0]
    return y.sum()


@refused(VECTOR)
def a_number_is_needed(x):
    s = 0.0
    for i in range(x):
        s += x[i]
    return s


@refused(1.0)
def matrix_product_of_a_number(x):
    return x @ x


@refused(1.0)
def type_of_a_string(x):
    t = str
    return t(x)


@refused(1.0)
def length_of_a_number(x):
    return x * len(x)


@refused(1.0)
def list_times_a_number(x):
    values = [x, x] + x
    return values[0]


@refused(VECTOR)
def extends_by_an_array(x):
    values = [x[0]]
    values.extend(x)
    return values[0]


@refused(VECTOR)
def pops_from_an_empty_list(x):
    values = []
    return values.pop() * x[0]


@refused(VECTOR)
def list_of_a_number(x):
    return list(x[0])[0]


@refused(VECTOR)
def tuple_of_an_array(x):
    return tuple(x)[0]


@refused(1.0)
def result_is_a_function(x):
    return len


@refused(1.0)
def a_generator(x):
    squares = (v * x for v in (1, 2))
    return sum(squares)


@refused(1.0)
def a_set(x):
    s = {x, 2.0}
    return x


@refused(1.0)
def calls_a_coroutine(x):
    return coroutine(x)


async def coroutine(x):
    return x


@refused(1.0)
def a_formatted_string(x):
    print(f"value {x}")
    return x


@refused(1.0)
def a_compared_formatted_string(x):
    return x if f"{x!r}" == "1.0" else 0.0


@refused(1.0)
def a_printed_tuple(x):
    print((x, x))
    return x


@refused(1.0)
def print_with_an_end(x):
    print(x, end="")
    return x


@refused(1.0, 2)
def member_of_a_value_that_is_not_known(x, n):
    return x if Kind(n % 2) is Kind.EVEN else x * x


@refused(1.0)
def member_of_a_value_that_none_has(x):
    return x if Kind(2) is Kind.EVEN else x * x


class Pairs:
    def __iter__(self):
        return iter([1.0, 2.0])


PAIRS = Pairs()


@refused(1.0)
def sum_of_an_object_with_items(x):
    return sum(PAIRS) * x


@refused(1.0)
def sum_of_a_number(x):
    return sum(x)


@refused(1.0)
def sum_of_an_object_by_numpy(x):
    return np.sum(PAIRS) * x


@refused(VECTOR)
def sum_of_what_a_filter_keeps(x):
    return sum(filter(lambda v: v > 1.5, x))


@refused(VECTOR)
def sum_over_a_starmap(x):
    return sum(itertools.starmap(lambda v, w: v * w, zip(x, x, strict=True)))


@refused(1.0)
def a_module_that_is_not_loaded(x):
    import tests.errors.unloaded as unloaded

    return x * unloaded.FACTOR


@refused(1.0, 2)
def negative_power_of_an_integer(x, n):
    return x * n**-1


@refused(1.0, "text")
def length_of_an_argument(x, mode):
    return x * len(mode)


@refused(1.0, "text")
def key_that_is_an_argument(x, mode):
    return x * {"text": 2.0}[mode]


@refused(1.0, 2)
def slice_of_text_with_bounds_of_the_run(x, n):
    return x if "text"[:n] == "te" else 2.0 * x


@refused(1.0, 1)
def mapping_outside_by_a_key_of_the_run(x, n):
    return x * FACTORS[n]


@refused(VECTOR)
def item_of_two_types(x):
    if x[0] > 0.0:
        pair = x, 1.0
    else:
        pair = x[0], 2.0
    return pair[0] * pair[1]


@refused(1.0)
def number_of_a_class_with_operators(x):
    return DOUBLED * x
