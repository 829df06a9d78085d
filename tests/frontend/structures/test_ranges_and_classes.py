"""Ranges as values, objects with `__slots__`, and `super` in class methods."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError

EVEN = range(2, 9, 2)


def known_range(x):
    some = len(EVEN) + EVEN[1] * EVEN[-1] + sum(EVEN[::2]) + EVEN.start + EVEN.stop * EVEN.step
    return x * some + (x if 4 in EVEN else 0.0) + (x if 5 in EVEN else 0.0) + x * range(5)[2]


def range_of_arguments(x, n, k):
    steps = range(n, 0, -2)
    return x * steps[k] * len(steps) + (x if k in steps else 0.0) + x * steps.start


class Slotted:
    __slots__ = ("__scale", "row", "weight")

    def __init__(self, weight):
        self.weight, self.row = weight, np.array([1.0, weight])
        self.__scale = 2.0

    def applied(self, x):
        return self.weight * x * self.__scale


class Both(Slotted):
    def __init__(self, weight):
        super().__init__(weight)
        self.more = 3.0


def of_object(one, x):
    return one.applied(x) * one.more + np.sum(one.row * x)


class Base:
    factor = 2.0

    @classmethod
    def scaled(cls, x):
        return cls.factor * x


class Derived(Base):
    factor = 3.0

    @classmethod
    def scaled(cls, x):
        return super().scaled(x) + x

    def twice(self, x):
        return super().scaled(x) * 2.0


def of_classes(x):
    return Derived.scaled(x)


def of_an_object(one, x):
    return one.twice(x) + one.scaled(x)


CASES = [
    (known_range, (), 1.5),
    (range_of_arguments, (), 1.5, 9, 1),
    (range_of_arguments, (), 1.5, 9, -2),
    (of_object, (Both(2.0),), 1.5),
    (of_classes, (), 1.5),
    (of_an_object, (Derived(),), 1.5),
]


@pytest.mark.parametrize(("f", "before", "x", "behind"), [(f, given, x, rest) for f, given, x, *rest in CASES])
def test_derivatives_and_tapes_have_pythons_values(f, before, x, behind):
    expected = f(*before, x, *behind)
    value, by = tapec.value_and_grad(f, len(before))(*before, x, *behind)
    assert value == pytest.approx(expected)
    assert by == pytest.approx(expected / x)
    variable = tapec.Variable(x)
    with tapec.GradientTape() as tape:
        y = f(*before, variable, *behind)
    assert tape.gradient(y, variable) == pytest.approx(expected / x)


def test_a_gradient_by_an_object_with_slots_is_one():
    found = tapec.grad(of_object)(Both(2.0), 1.5)
    assert (found.weight, found.more) == (9.0, 6.0)
    assert np.array_equal(found.row, [1.5, 1.5])


def test_items_beyond_a_range():
    with pytest.raises(IndexError, match="range object index"):
        tapec.grad(range_of_arguments)(1.5, 9, 7)
    with pytest.raises((IndexError, TapecError), match="range object index"):
        tapec.grad(lambda x: x * EVEN[9])(1.5)


class Private:
    def __init__(self):
        self.__scale = 2.0

    def applied(self, x):
        return self.__scale * x


class BelowPrivate(Private):
    def __init__(self):
        super().__init__()
        self.__scale = 5.0

    def applied(self, x):
        return super().applied(x) * self.__scale


def test_private_attributes_are_those_of_the_class_that_names_them():
    assert tapec.grad(BelowPrivate().applied)(1.5) == 10.0
    x, one = tapec.Variable(1.5), BelowPrivate()
    with tapec.GradientTape() as tape:
        y = one.applied(x)
    assert tape.gradient(y, x) == 10.0
