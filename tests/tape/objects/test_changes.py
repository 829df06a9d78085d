"""A block that is met again after something that it depends on was replaced.

What takes the place of what a block met gives the same value and another gradient, x * x and 2 * x at 2: the
comparison of the target's value would not tell.
"""

from __future__ import annotations

import abc
import math
import types

import numba
import numpy as np
import pytest

import tapec
from tapec import GradientTape, constant
from tests.typed import interpreted


def square(x):
    return x * x


def twice(x):
    return 2.0 * x


class Cases(list):
    """Functions that change what a block depends on, by the block: `case(block)(change)`."""

    def __call__(self, block):
        def add(make):
            self.append((make.__name__, block, make))
            return make

        return add


case = Cases()


def slope(block, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = block(x)
    return tape.gradient(y, x)


class Plain:
    """An object, one of several."""


@case(lambda held: lambda x: square(x) if held.first is held.second else twice(x))
def objects_that_are_one_no_more():
    held = types.SimpleNamespace(first=Plain())
    held.second = held.first
    return held, lambda: setattr(held, "second", Plain())


@case(lambda held: lambda x: square(x) if held.first is not held.second else twice(x))
def objects_that_become_one():
    held = types.SimpleNamespace(first=Plain(), second=Plain())
    return held, lambda: setattr(held, "second", held.first)


@case(lambda held: lambda x: square(x) if held.first == held.second else twice(x))
def objects_that_are_equal_no_more():
    held = types.SimpleNamespace(first=Plain())
    held.second = held.first
    return held, lambda: setattr(held, "second", Plain())


@case(lambda held: lambda x: square(x) if held.item in held.items else twice(x))
def an_object_in_a_list():
    held = types.SimpleNamespace(item=Plain())
    held.items = [held.item]
    return held, lambda: setattr(held, "item", Plain())


@case(lambda held: lambda x: square(x) if held.item in held.items else twice(x))
def an_object_in_a_set():
    held = types.SimpleNamespace(item=Plain())
    held.items = {held.item}
    return held, lambda: setattr(held, "item", Plain())


@case(lambda held: lambda x: held.table[held.key](x))
def a_key_that_is_an_object():
    keys = Plain(), Plain()
    held = types.SimpleNamespace(key=keys[0], table=dict(zip(keys, (square, twice), strict=True)))
    return held, lambda: setattr(held, "key", keys[1])


@case(lambda held: lambda x: square(x) if held.chosen is square else twice(x))
def a_function_of_the_same_code():
    held = types.SimpleNamespace(chosen=square)
    return held, lambda: setattr(held, "chosen", types.FunctionType(square.__code__, globals()))


@case(lambda held: lambda x: twice(x) if any(isinstance(key, bool) for key in held.table) else square(x))
def keys_that_are_equal():
    held = types.SimpleNamespace(table={1: 2.0})
    return held, lambda: setattr(held, "table", {True: 2.0})


@case(lambda held: lambda x: held.f(x))
def functions_under_vectorize():
    held = types.SimpleNamespace(f=numba.vectorize(square))
    return held, lambda: setattr(held, "f", numba.vectorize(twice))


@case(lambda held: lambda x: held.f(x))
def derivatives():
    held = types.SimpleNamespace(f=tapec.grad(lambda x: x**3 / 3.0))
    return held, lambda: setattr(held, "f", tapec.grad(square))


@case(lambda held: lambda x: held.f(x))
def compiled_functions():
    held = types.SimpleNamespace(f=tapec.function(square))
    return held, lambda: setattr(held, "f", tapec.function(twice))


@case(lambda held: lambda x: twice(x) if held.item else square(x))
def a_special_method_in_the_place_of_another():
    class Falsy:
        def other(self):
            return 1

        def __bool__(self):
            return False

    def change():
        del Falsy.__bool__, Falsy.other
        Falsy.other = Falsy.one_more = None

    return types.SimpleNamespace(item=Falsy()), change


class First:
    def at(self, x):
        return square(x)


class Second:
    def at(self, x):
        return twice(x)


@case(lambda held: lambda x: held.item.at(x))
def another_base_behind_super():
    class Derived(First):
        def at(self, x):
            return super().at(x)

    return types.SimpleNamespace(item=Derived()), lambda: setattr(Derived, "__bases__", (Second,))


@case(lambda held: lambda x: square(x) if isinstance(held.item, First) else twice(x))
def another_base():
    class Derived(First):
        pass

    return types.SimpleNamespace(item=Derived()), lambda: setattr(Derived, "__bases__", (Second,))


@case(lambda held: lambda x: held.make().function(x))
def how_a_class_sets_attributes():
    class Made:
        def __init__(self):
            self.function = square

    def put(self, name, value):
        object.__setattr__(self, name, twice)

    return types.SimpleNamespace(make=Made), lambda: setattr(Made, "__setattr__", put)


@case(lambda held: lambda x: x * abs(x))
def a_name_of_pythons_that_the_module_defines():
    return None, lambda: globals().update(abs=lambda x: 2.0)


@pytest.fixture
def own_abs():
    """Whatever the case leaves, the module has no `abs` of its own."""
    yield
    globals().pop("abs", None)


@pytest.mark.usefixtures("own_abs")
@pytest.mark.parametrize(("name", "block", "make"), case, ids=[name for name, *_ in case])
def test_what_was_replaced_is_noticed(name, block, make):
    held, change = make()
    function, x = block(held), constant(2.0)
    before = [slope(function, x) for _ in range(2)]
    change()
    np.testing.assert_allclose([*before, *(slope(function, x) for _ in range(2))], [4.0, 4.0, 2.0, 2.0], rtol=1e-14)


def test_a_class_that_is_registered():
    class Kind(abc.ABC):
        pass

    def block(x):
        return twice(x) if isinstance(item, Kind) else square(x)

    item, x = Plain(), constant(2.0)
    assert slope(block, x) == 4.0
    Kind.register(Plain)
    assert slope(block, x) == 2.0


@pytest.mark.parametrize(
    ("module", "name"), [(np, "square"), (np, "pi"), (math, "exp"), (np.linalg, "norm"), (np, "linalg")]
)
def test_what_replaces_a_librarys_own_is_noticed(monkeypatch, module, name):
    """By tapes, and by a compiled function, which has no value to compare."""

    def block(x):
        return np.square(x) * np.pi + math.exp(x) + np.linalg.norm(np.stack((x, x)))

    def plainly(x):
        return (block(x + 1e-6) - block(x - 1e-6)) / 2e-6

    def derivative(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = block(x)
        return tape.gradient(y, x)

    other = {"pi": 3.0, "linalg": types.SimpleNamespace(norm=lambda x: 5.0 * x[0])}.get(name, lambda x: 7.0 * x)
    if name == "norm":
        other = lambda x: 7.0 * x[1]  # noqa: E731
    x = constant(2.0)
    with interpreted():
        compiled, both = tapec.function(block), tapec.function(derivative)
        for _ in range(2):
            assert np.isclose(compiled(2.0), block(2.0), rtol=1e-12)
            for found in (slope(block, x), both(x)):
                assert np.isclose(found, plainly(2.0), rtol=1e-6)
            monkeypatch.setattr(module, name, other)
