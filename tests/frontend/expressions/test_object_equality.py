"""What methods of objects read while they are compared is noted: a new derivative is of what they are now."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

import tapec
from tests.oracles import interpreted


class Sized:
    scale = 1

    def __init__(self, size):
        self.size = size

    def __eq__(self, other):
        if not isinstance(other, Sized):
            return NotImplemented
        return self.size * self.scale == other.size

    __hash__ = None


class Strict(Sized):
    def __ne__(self, other):
        return self.size >= other.size


@dataclasses.dataclass
class Point:
    a: float
    b: float = dataclasses.field(default=0.0, compare=False)


one, two = Sized(1), Sized(1)
pair = (one, 3)
strict = Strict(1)
here, there = Point(1.0, 2.0), Point(1.0)
path, same_path = pathlib.Path("a"), pathlib.Path("a")


def equal(x):
    return 2.0 * x if one == two else 3.0 * x


def unequal(x):
    return 2.0 * x if one != two else 3.0 * x


def inside(x):
    return 2.0 * x if two in [one] else 3.0 * x


def inside_of_a_module(x):
    return 2.0 * x if two in pair else 3.0 * x


def of_tuples(x):
    return 2.0 * x if (one, 3) == (two, 3) else 3.0 * x


def of_a_derived_class(x):
    return 2.0 * x if one != strict else 3.0 * x


@pytest.mark.parametrize("f", [equal, unequal, inside, inside_of_a_module, of_tuples, of_a_derived_class])
def test_a_new_derivative_is_of_what_the_objects_are_now(f, monkeypatch):
    def check():
        with interpreted():
            assert tapec.grad(f)(1.0) == f(1.0)

    check()
    monkeypatch.setattr(two, "size", 5)
    monkeypatch.setattr(strict, "size", 5)
    check()
    monkeypatch.setattr(Sized, "scale", 5)
    check()


def test_fields_of_dataclasses(monkeypatch):
    def f(x):
        return 2.0 * x if here == there else 3.0 * x

    with interpreted():
        assert tapec.grad(f)(1.0) == 2.0
        monkeypatch.setattr(there, "b", 7.0)
        assert tapec.grad(f)(1.0) == 2.0
        monkeypatch.setattr(there, "a", 7.0)
        assert tapec.grad(f)(1.0) == 3.0


def test_methods_that_do_not_know():
    def f(x):
        return 2.0 * x if one == here else 3.0 * x

    def of_a_library(x):
        return 2.0 * x if path == same_path else 3.0 * x

    with interpreted():
        assert tapec.grad(f)(1.0) == 3.0
        assert tapec.grad(of_a_library)(1.0) == 2.0
