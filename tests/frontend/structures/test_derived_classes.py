"""Classes derived from numbers, text and containers: refused where they define what counts, taken where they do not."""

from __future__ import annotations

import collections
import enum
from typing import Any

import numba
import numpy as np
import pytest

import tapec
from tapec.errors import TapecError, UnsupportedType
from tapec.frontend.structures.derived_classes import redefined
from tests.typed import interpreted


class Dual(float):
    def __mul__(self, other):
        return 7.0 * other

    __rmul__ = __mul__


class Unit(int):
    def __rmul__(self, other):
        return 7.0 * other


class Plain(int):
    """An integer with nothing of its own."""


class Plane(complex):
    def __abs__(self):
        return 7.0


class Cyclic(tuple):
    def __getitem__(self, place):
        return super().__getitem__(place % len(self))


class Loose(str):
    def __eq__(self, other):
        return self.lower() == other

    __hash__ = str.__hash__


class Shouted(str):
    def upper(self):
        return "x"


class Default(dict):
    def get(self, key, other=7.0):
        return 7.0


class Reversed(list):
    def __iter__(self):
        return reversed(list(self))


class Length(float):
    """A number with a method more, and another text."""

    def doubled(self):
        return Length(2.0 * self)

    def __repr__(self):
        return f"{float(self)} m"


class Place(enum.IntEnum):
    FIRST = 1

    def next(self):
        return self + 1


class Bits(enum.IntFlag):
    LOW = 1


OWN = (
    Dual(3.0),
    Unit(3),
    Plane(1.0),
    Cyclic((1.0, 2.0)),
    Loose("A"),
    Shouted("a"),
    Default(a=1.0),
    Reversed([1.0, 2.0]),
)


@pytest.mark.parametrize("value", OWN, ids=lambda one: type(one).__name__)
def test_what_a_class_defines_anew_is_refused(value: Any):
    """As an argument, in one, in a closure, and where a tape meets it."""

    def f(x, given):
        return x if given is None else x * 2.0

    def captured(x):
        return f(x, value)

    def held(x, given):
        return f(x, given["one"])

    for call in (
        lambda: tapec.grad(f)(2.0, value),
        lambda: tapec.grad(f)(2.0, (1.0, value)),
        lambda: tapec.grad(f)(2.0, [value]),
        lambda: tapec.grad(captured)(2.0),
        lambda: tapec.grad(held)(2.0, {"one": value}),
        lambda: tapec.function(f)(2.0, value),
        lambda: tapec.function(captured)(2.0),
    ):
        with pytest.raises(UnsupportedType, match=f"of the class `{type(value).__name__}`, which defines `"):
            call()


def test_a_tape_says_where():
    p, v = Dual(3.0), tapec.Variable(2.0)
    with tapec.GradientTape() as tape:
        y = p * v
    with pytest.raises(TapecError, match=r"`p` is of the class `Dual`.*\n.*test_derived_classes"):
        tape.gradient(y, v)


@pytest.mark.parametrize(
    "kind",
    [Length, Place, Bits, bool, np.float64, np.float32, np.int8, np.complex64]
    + [collections.Counter, collections.OrderedDict, collections.defaultdict, collections.namedtuple("Pair", "a b")],
    ids=lambda kind: kind.__name__,
)
def test_other_classes_behave_as_their_bases(kind: Any):
    assert redefined(kind) is None


def test_they_are_taken():
    def f(x, length, place, bits, counts, table):
        return x * length * place * bits * counts["a"] * table[0, 1]

    # of arrays the plain data count
    table = np.asmatrix([[3.0, 5.0]])
    with interpreted():
        assert tapec.grad(f)(2.0, Length(3.0), Place.FIRST, Bits.LOW, collections.Counter(a=2), table) == 30.0


@pytest.mark.compiled
def test_a_class_is_asked_at_every_call():
    """Numba's C code knows a float of any class again, once it has met one."""

    def f(x, p):
        return x * p

    df = tapec.grad(f)
    assert df(2.0, 3.0) == 3.0
    assert df(2.0, Length(3.0)) == 3.0
    with pytest.raises(UnsupportedType, match="`Dual`"):
        df(2.0, Dual(3.0))
    assert df(2.0, Length(4.0)) == 4.0
    assert df(Length(2.0), 4.0) == 4.0
    assert df(2.0, 3) == df(2.0, Plain(3)) == 3.0
    with pytest.raises(UnsupportedType, match="`Unit`"):
        df(2.0, Unit(3))


class Double(np.float64):
    def __mul__(self, other):
        return 7.0 * other


Both = collections.namedtuple("Both", ["first", "second"])


@pytest.mark.compiled
@pytest.mark.parametrize("parallel", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_class_is_asked_after_other_functions_have_met_it(parallel: bool):
    """Numba's C code has one table of what it has met, for all functions."""

    @numba.njit
    def meets(value):
        return value

    for value in (Dual(1.0), (1.0, Dual(1.0)), Both(1.0, Dual(1.0)), ((1.0, 2.0), Dual(2.0)), (Unit(1), 2.0)):
        meets(value)

    def scaled(x, p):
        return x * p

    def items(x, p):
        return x * p[0] * p[1]

    def nested(x, p):
        return x * p[0][1] * p[1]

    df, dg, dh = (tapec.grad(f, parallel=parallel) for f in (scaled, items, nested))
    for other in (3.0, Length(3.0), np.float64(3.0)):
        assert df(2.0, other) == dg(2.0, (1.0, other)) == dg(2.0, Both(1.0, other)) == 3.0
        assert dh(2.0, ((0.0, other), 1.0)) == 3.0
    assert dg(2.0, (3, 1.0)) == dg(2.0, (Plain(3), 1.0)) == 3.0
    for own in (Dual(3.0), Double(3.0)):
        for call in (
            lambda: df(2.0, own),
            lambda: df(own, 2.0),
            lambda: dg(2.0, (1.0, own)),
            lambda: dg(2.0, Both(own, 1.0)),
            lambda: dh(2.0, ((0.0, 1.0), own)),
            lambda: dh(2.0, ((0.0, own), 1.0)),
        ):
            with pytest.raises(UnsupportedType, match=f"`[px]` is of the class `{type(own).__name__}`"):
                call()
    with pytest.raises(UnsupportedType, match="`Unit`"):
        dg(2.0, (Unit(3), 1.0))
    with pytest.raises(UnsupportedType, match="`Cyclic`"):
        dh(2.0, (Cyclic((1.0, 2.0)), 1.0))
