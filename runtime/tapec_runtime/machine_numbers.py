"""Numbers of generated machine code, with the operators of Python.

A formula written for `Lane` values builds LLVM instructions when it is called: for one number, or
for a vector of them, lane by lane.  Nothing is reordered or contracted behind its back: a product
and a sum are fused only where the formula says `fma`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

_NUMBER = ir.DoubleType()
_INTEGER = ir.IntType(64)

_SIGN = 1 << 63
_OTHERS = _SIGN - 1


def bits_of(number: float) -> int:
    """The 64 bits of a float64 as an integer."""
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return found


class Lane:
    """A float64, a 64-bit integer or a truth value of generated code; one, or one per lane."""

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder = builder
        self.value = value

    @property
    def _element(self) -> ir.Type:
        """The type of one lane."""
        found: ir.Type = self.value.type.element if isinstance(self.value.type, ir.VectorType) else self.value.type
        return found

    @property
    def _is_number(self) -> bool:
        return isinstance(self._element, ir.DoubleType)

    def _spread(self, element: ir.Type) -> ir.Type:
        """The type of as many lanes as this has."""
        own = self.value.type
        return ir.VectorType(element, own.count) if isinstance(own, ir.VectorType) else element

    def _with(self, value: ir.Value) -> Lane:
        return Lane(self.builder, value)

    def like(self, other: Lane | float) -> Lane:
        """`other`, which may be a literal, as a value of this type."""
        return other if isinstance(other, Lane) else self._with(_constant(self.value.type, other))

    def number(self, literal: float) -> Lane:
        """A float64 in as many lanes."""
        return self._with(_constant(self._spread(_NUMBER), literal))

    def _apply(self, other: Lane | float, number: str, integer: str, swap: bool = False) -> Lane:
        first, second = self.value, self.like(other).value
        if swap:
            first, second = second, first
        return self._with(getattr(self.builder, number if self._is_number else integer)(first, second))

    def __add__(self, other: Lane | float) -> Lane:
        return self._apply(other, "fadd", "add")

    def __radd__(self, other: float) -> Lane:
        return self._apply(other, "fadd", "add", swap=True)

    def __sub__(self, other: Lane | float) -> Lane:
        return self._apply(other, "fsub", "sub")

    def __rsub__(self, other: float) -> Lane:
        return self._apply(other, "fsub", "sub", swap=True)

    def __mul__(self, other: Lane | float) -> Lane:
        return self._apply(other, "fmul", "mul")

    def __rmul__(self, other: float) -> Lane:
        return self._apply(other, "fmul", "mul", swap=True)

    def __truediv__(self, other: Lane | float) -> Lane:
        return self._apply(other, "fdiv", "")

    def __rtruediv__(self, other: float) -> Lane:
        return self._apply(other, "fdiv", "", swap=True)

    def __neg__(self) -> Lane:
        return self._with(self.builder.fneg(self.value))

    def __and__(self, other: Lane | int) -> Lane:
        return self._apply(other, "", "and_")

    def __or__(self, other: Lane | int) -> Lane:
        return self._apply(other, "", "or_")

    def __xor__(self, other: Lane | int) -> Lane:
        return self._apply(other, "", "xor")

    def __invert__(self) -> Lane:
        return self._with(self.builder.not_(self.value))

    def __lshift__(self, places: int) -> Lane:
        return self._apply(places, "", "shl")

    def __rshift__(self, places: int) -> Lane:
        """Zeros enter at the top."""
        return self._apply(places, "", "lshr")

    def _compare(self, sign: str, other: Lane | float) -> Lane:
        compare = self.builder.fcmp_ordered if self._is_number else self.builder.icmp_signed
        return self._with(compare(sign, self.value, self.like(other).value))

    def __lt__(self, other: Lane | float) -> Lane:
        return self._compare("<", other)

    def __le__(self, other: Lane | float) -> Lane:
        return self._compare("<=", other)

    def __gt__(self, other: Lane | float) -> Lane:
        return self._compare(">", other)

    def __ge__(self, other: Lane | float) -> Lane:
        return self._compare(">=", other)

    def equals(self, other: Lane | float) -> Lane:
        """Whether both are the same number; false for nan."""
        return self._compare("==", other)

    def bits(self) -> Lane:
        """The bits of a float64, as an integer."""
        return self._with(self.builder.bitcast(self.value, self._spread(_INTEGER)))

    def from_bits(self) -> Lane:
        """The float64 with these bits."""
        return self._with(self.builder.bitcast(self.value, self._spread(_NUMBER)))

    def size(self) -> Lane:
        """The absolute value."""
        return (self.bits() & _OTHERS).from_bits()

    def sign(self) -> Lane:
        """The sign bit, in its place."""
        return self.bits() & -_SIGN

    def signed(self, sign: Lane) -> Lane:
        """The number with its sign bit turned where `sign` has one."""
        return (self.bits() ^ sign).from_bits()

    def rounded(self) -> Lane:
        """The nearest integer, as a float64; ties go to the even one."""
        return self.call("roundeven", self)

    def call(self, intrinsic: str, *args: Lane) -> Lane:
        """A function that LLVM knows, of float64."""
        kind = self.value.type
        name = f"llvm.{intrinsic}.{'' if kind == _NUMBER else f'v{kind.count}'}f64"
        module: Any = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), name)
        return self._with(self.builder.call(function, [arg.value for arg in args]))


def _constant(kind: ir.Type, literal: float) -> ir.Constant:
    if isinstance(kind, ir.VectorType):
        return ir.Constant(kind, [literal] * kind.count)
    return ir.Constant(kind, literal)


def fma(first: Lane, second: Lane | float, third: Lane | float) -> Lane:
    """`first * second + third`, rounded once."""
    return first.call("fma", first, first.like(second), first.like(third))


def where(test: Lane, then: Lane | float, otherwise: Lane | float) -> Lane:
    """`then` in the lanes where the test holds, `otherwise` in the rest; both are computed."""
    if isinstance(then, Lane):
        otherwise = then.like(otherwise)
    else:
        otherwise = otherwise if isinstance(otherwise, Lane) else test.number(otherwise)
        then = otherwise.like(then)
    return Lane(test.builder, test.builder.select(test.value, then.value, otherwise.value))


def polynomial(x: Lane, coefficients: Sequence[float]) -> Lane:
    """The polynomial with these coefficients, lowest power first.

    Even and odd powers go side by side, which halves the chain of operations that wait for each other.
    """
    square = x * x
    sums = []
    for first in (0, 1):
        part = coefficients[first::2]
        total: Lane | float = part[-1]
        for coefficient in reversed(part[:-1]):
            total = fma(square, total, coefficient)
        sums.append(total)
    even, odd = sums
    return fma(x, odd, even)


def two_sum(first: Lane, second: Lane) -> tuple[Lane, Lane]:
    """A sum and what rounding took from it (Knuth, TAOCP 2, 4.2.2)."""
    total = first + second
    other = total - first
    return total, (first - (total - other)) + (second - other)
