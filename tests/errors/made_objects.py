"""Objects that a differentiated function makes: what is refused of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import float64
from numba.experimental import jitclass

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused
VECTOR = np.array([1.0, 2.0, 3.0])


class State:
    def __init__(self, place):
        self.place = place


class Watched(State):
    def __getattr__(self, name):
        return 1.0


class Logged(State):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, 2.0 * value)


class Track(list):
    def __init__(self, first):
        self.append(first)


class Slotted:
    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place


@dataclass
class Point:
    place: float
    speed: float


@jitclass([("stiffness", float64)])
class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness


@refused(1.0)
def class_with_a_getattr(x):
    return Watched(x).place


@refused(1.0)
def class_with_a_setattr(x):
    return Logged(x).place


@refused(1.0)
def class_above_a_list(x):
    return Track(x)[0]


@refused(1.0)
def arguments_that_a_dataclass_lacks(x):
    return Point(x, 1.0, 2.0).place


@refused(1.0)
def field_without_a_value(x):
    return Point(x).place


@refused(1.0)
def dataclass_compared_with_a_number(x):
    return x if Point(x, x) == x else 2.0 * x


@refused(1.0)
def attribute_that_is_not_set(x):
    return State(x).speed


@refused(VECTOR)
def attribute_of_some_ways(x):
    state = State(x[0])
    if x[1] > 0.0:
        state.speed = x[1]
    return state.place


@refused(VECTOR)
def object_with_another_name(x):
    first = state = State(x[0])
    if x[1] > 0.0:
        state = State(x[1])
    first.place = 2.0
    return state.place


@refused(1.0)
def dict_of_slots(x):
    return vars(Slotted(x))["place"]


@refused(1.0)
def vars_of_nothing(x):
    return vars()["x"]


@refused(1.0, "place")
def sets_by_text_of_the_run(x, name):
    state = State(x)
    setattr(state, name, x)
    return state.place


@refused(1.0)
def field_that_a_jitclass_lacks(x):
    spring = Spring(x)
    spring.length = x
    return spring.stiffness


@refused(VECTOR)
def field_of_another_type(x):
    return Spring(x).stiffness
