"""The standard library: deques, `itertools` and `math`; types, and the classes of patterns: what is refused."""

from __future__ import annotations

import itertools
import math
from collections import deque

import numpy as np

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])
NUMBERS = (int, float)


class Point:
    __match_args__ = ("x",)

    def __init__(self, x, y):
        self.x, self.y = x, y


@refused(VECTOR, 2)
def room_of_the_run(x, n):
    return sum(deque((x[0], x[1]), maxlen=n))


@refused(VECTOR)
def deque_that_grows_in_a_loop(x):
    seen = deque()
    for v in x:
        seen.append(v)
    return seen[0]


@refused(VECTOR)
def deque_that_grows_in_a_branch(x):
    seen = deque([x[0]])
    if x[0] > 0.5:
        seen.append(x[1])
    return seen.pop()


@refused(VECTOR)
def pop_from_an_empty_deque(x):
    waiting = deque([x[0]])
    return waiting.pop() * waiting.popleft()


@refused(VECTOR, 2)
def rotation_of_the_run(x, n):
    ring = deque((x[0], x[1]))
    ring.rotate(n)
    return ring[0]


@refused(VECTOR, 2)
def bounds_of_the_run(x, n):
    return sum(itertools.islice(x, n))


@refused(VECTOR)
def items_taken_by_the_run(x):
    return sum(itertools.takewhile(lambda v: v < 2.5, (x[0], x[1])))


@refused(VECTOR, 2)
def repeats_of_the_run(x, n):
    return sum(itertools.repeat(x[0], n))


@refused(VECTOR)
def distance_of_points_in_different_spaces(x):
    return math.dist((x[0], x[1]), (0.0, 0.0, 0.0))


@refused(VECTOR)
def attribute_of_some_numbers(x):
    return x[0] * 2.0 if hasattr(x[0], "shape") else x[1]


@refused(VECTOR)
def type_of_an_iterator(x):
    return x[0] if type(zip(x, x)) is list else x[1]


@refused(1.0)
def pattern_of_several_classes(x):
    match 2:
        case NUMBERS(n):
            return x * n
    return x


@refused(Point(1.0, 2.0))
def more_patterns_than_a_class_names(p):
    match p:
        case Point(x, y):
            return x * y
    return p.x


@refused(VECTOR)
def a_parameter_that_a_sum_lacks(x):
    return np.sum(x, out=x)


@refused(VECTOR)
def text_where_an_array_is_wanted(x):
    return np.meshgrid(x, x, "ij")[0].sum()


@refused(VECTOR)
def an_axis_twice(x):
    return np.add.reduce(x, 0, axis=0)
