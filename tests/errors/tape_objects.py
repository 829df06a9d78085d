"""Tapes on ordinary code: objects, random numbers, contexts and functions that cannot be followed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys

import numpy as np
from numba import float64
from numba.experimental import jitclass

from tapec import GradientTape, constant
from tests.errors import Refusals

cases = Refusals()
misuse = cases.misuse


# objects


class Watched:
    """Attributes that run code."""

    def __getattribute__(self, name):
        return 2.0


class Open:
    """Attributes that are not there."""

    def __getattr__(self, name):
        return 2.0


class Plain:
    value = 1.0


class Followed:
    """One attribute that code computes which is not followed; the others are as they are."""

    def __getattribute__(self, name):
        return 2.0 if name == "other" else object.__getattribute__(self, name)


class Settings:
    """A method that is no function."""

    def scaled(self, factor):
        return 3.0 * factor

    halved = functools.partialmethod(scaled, 0.5)


class Derived(Settings):
    def halved(self):
        return super().halved()


class Fixed:
    """An attribute that cannot be set."""

    @property
    def value(self):
        return 2.0


@dataclasses.dataclass
class Rates:
    rate: float
    labels: set[str] = dataclasses.field(default_factory=set)


@misuse
def a_computed_attribute():
    x, holder = constant(2.0), Watched()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * holder.other
    tape.gradient(y, x)


@misuse
def an_attribute_behind_code_for_all_of_them():
    x, holder = constant(2.0), Followed()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * holder.other
    tape.gradient(y, x)


@misuse
def an_inherited_attribute_that_is_computed():
    x, holder = constant(2.0), Derived()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * holder.halved()
    tape.gradient(y, x)


@misuse
def an_attribute_that_cannot_be_set():
    x, holder = constant(2.0), Fixed()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with contextlib.suppress(AttributeError):
            holder.value = y
    tape.gradient(y, x)


@misuse
def a_dict_of_a_dataclass_by_a_factory():
    x, rates = constant(2.0), Rates(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * dataclasses.asdict(rates, dict_factory=dict)["rate"]
    tape.gradient(y, x)


@misuse
def a_dict_of_a_dataclass_that_holds_a_set():
    x, rates = constant(2.0), Rates(3.0, {"a"})
    with GradientTape() as tape:
        tape.watch(x)
        y = x * dataclasses.asdict(rates)["rate"]
    tape.gradient(y, x)


@misuse
def the_fields_of_another_class():
    x, holder = constant(2.0), Plain()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with contextlib.suppress(TypeError):
            y = y * len(dataclasses.fields(holder))
    tape.gradient(y, x)


@misuse
def whether_a_computed_attribute_is_there():
    x, holder = constant(2.0), Open()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * hasattr(holder, "other")
    tape.gradient(y, x)


@misuse
def a_cached_function_of_a_source():
    x = constant(2.0)

    @functools.cache
    def square(x):
        return x * x

    with GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    tape.gradient(y, x)


@misuse
def a_cached_function_that_reads_a_source():
    x = constant(2.0)

    @functools.cache
    def square():
        return x * x

    with GradientTape() as tape:
        tape.watch(x)
        y = square()
    tape.gradient(y, x)


@misuse
def an_attribute_of_a_class():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        Plain.value = x
        y = x * x
    tape.gradient(y, x)


@misuse
def an_attribute_that_is_not_there():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        made = Plain()
        y = x * x
        try:
            y = y * made.other
        except AttributeError:
            pass
    tape.gradient(y, x)


@misuse
def an_attribute_by_a_number():
    x, names = constant(2.0), [1.0]
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with contextlib.suppress(TypeError):
            y = y * getattr(tape, names[0])
    tape.gradient(y, x)


@misuse
def a_subclass_of_a_number():
    x, k = constant(2.0), constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with contextlib.suppress(TypeError):
            y = y * issubclass(k, int)
    tape.gradient(y, x)


def outside(x):
    return super().value


@misuse
def super_outside_a_class():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x

        with contextlib.suppress(RuntimeError):
            y = outside(y)
    tape.gradient(y, x)


# random numbers


@misuse
def a_new_generator_without_a_seed():
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * np.random.default_rng().normal()
    tape.gradient(y, x)


@misuse
def a_draw_that_is_not_a_number():
    x, rng = constant(2.0), np.random.default_rng(1)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * len(rng.bytes(3))
    tape.gradient(y, x)


@misuse
def a_draw_of_a_shape_that_only_the_run_knows():
    x, rng = constant(2.0), np.random.default_rng(1)
    with GradientTape() as tape:
        tape.watch(x)
        y = rng.normal(x)
    tape.gradient(y, x)


# contexts and imports


@contextlib.contextmanager
def twice(x):
    with contextlib.suppress(RuntimeError):
        yield x
    yield x


@contextlib.contextmanager
def never(x):
    if x is None:
        yield x


@misuse
def a_context_that_yields_twice():
    x, tape = constant(2.0), GradientTape()
    with contextlib.suppress(RuntimeError), tape:
        tape.watch(x)
        with twice(x) as y:
            z = y * x
    tape.gradient(z, x)


@misuse
def a_context_that_does_not_yield():
    x, tape = constant(2.0), GradientTape()
    y = x * 1.0
    with contextlib.suppress(RuntimeError), tape:
        tape.watch(x)
        y = x * x
        with never(x):
            y = y * x
    tape.gradient(y, x)


@misuse
def a_module_that_is_not_loaded():
    sys.modules.pop("tests.errors.unloaded", None)
    x = constant(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        import tests.errors.unloaded as unloaded

        y = x * unloaded.FACTOR
    tape.gradient(y, x)


@misuse
def strides_of_an_array_that_is_not_contiguous():
    x, steps = constant(2.0), np.ones(6)[::2]
    with GradientTape() as tape:
        tape.watch(x)
        y = x * steps.strides[0]
    tape.gradient(y, x)


@misuse
def an_element_of_a_view_of_keys():
    x, keys = constant(2.0), {"a": 1}.keys()
    with GradientTape() as tape:
        tape.watch(x)
        y = x if "a" in keys else 2.0 * x
    tape.gradient(y, x)


# recursion


def power(x, n):
    return 1.0 if n < 0.5 else x * power(x, n - 1.0) * rate


rate = constant(1.5)


@misuse
def a_recursive_function_that_reads_from_outside():
    x, n = constant(2.0), constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = power(x, n)
        for _ in range(5001):
            pass
    tape.gradient(y, x)


@jitclass([("stiffness", float64)])
class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness


@misuse
def object_of_a_jitclass_in_a_tape():
    x = constant(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = Spring(x).stiffness
    tape.gradient(y, x)
