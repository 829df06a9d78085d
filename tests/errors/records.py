"""Objects with classes, as arguments: what is refused of their attributes and of `super`."""

from __future__ import annotations

from typing import NamedTuple

from tests.errors import Refusals

cases = Refusals()
refused = cases.refused


class Doubled:
    def __get__(self, owner, cls=None):
        return 2.0 * owner.k


class Model:
    doubled = Doubled()

    def __init__(self):
        self.k = 2.0
        self.parts = {1.0}

    def of_none_above(self, x):
        return super().value(x)


@refused(Model(), 1.0, wrt=1)
def attribute_of_no_class_above(m, x):
    return m.of_none_above(x)


class Named:
    """Objects that are equal to their names."""

    def __init__(self, name):
        self.name, self.k = name, 1.0

    def __eq__(self, other):
        return self.name == other

    __hash__ = None


@refused(Named("first"), 1.0, wrt=1)
def equality_that_a_class_defines(m, x):
    return x * x if m == "first" else x


class Circular(list):
    """A list that goes on from its beginning."""

    def __getitem__(self, place):
        return super().__getitem__(place % len(self))


@refused(Circular([1.0, 2.0]), 1.0, wrt=1)
def list_of_a_class(m, x):
    return m[3] * x


@refused(Model(), 1.0, wrt=1)
def attribute_that_has_no_type(m, x):
    return sum(m.parts) * x


@refused(Model(), 1.0, wrt=1)
def attribute_that_is_missing(m, x):
    return m.width * x


@refused(Model(), 1.0, wrt=1)
def attribute_by_a_descriptor(m, x):
    return m.doubled * x


@refused(1.0)
def super_in_a_plain_function(x):
    return super(float, x).real


@refused(Model(), 1.0, wrt=1)
def attribute_by_a_number(m, x):
    return getattr(m, x) * x


@refused(Model(), 1.0, 1, wrt=1)
def attribute_by_text_of_the_run(m, x, n):
    return getattr(m, f"k{n}", 3.0) * x


@refused(Model(), 1.0, 1, wrt=1)
def whether_there_is_an_attribute_by_text_of_the_run(m, x, n):
    return x if hasattr(m, f"k{n}") else x * x


@refused(1.0, 12)
def length_of_the_text_of_an_array(x, n):
    return x * len(f"{(n, n)}")


@refused(1.0, 12)
def letters_of_text_of_the_run(x, n):
    for letter in f"{n}":
        x = x * float(letter)
    return x


@refused(1.0, 12)
def parts_of_text_of_the_run(x, n):
    return x * float(f"{n}.".split(".")[0])


@refused(1.0, 12)
def text_of_the_run_among_numbers(x, n):
    return x if f"{n}" in (12, 13) else x * x


@refused(1.0, {"a": 1.0}, 1)
def a_key_of_the_run(x, d, n):
    return x * d[f"b{n}"]


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)


@refused(Vector(1.0, 2.0))
def named_tuple_with_operators(v):
    return (v + v)[0]


@refused(1.0)
def named_tuple_with_operators_that_is_made(x):
    return (Vector(x, x) + Vector(x, x))[0]
