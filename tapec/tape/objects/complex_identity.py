"""Complex numbers as objects: each new one has parts of its own.

In the program a complex value is two numbers, and an operation may hand one of them on: `z - 1.0` has the imaginary
part of `z`, `z.real` is a part of it, and `1j * b` has a literal as its real part.  A tape tells values apart by the
names of their parts.  So what an expression gives gets new names for those parts that it has not computed itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import gast

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Complex, Sym, Value
from tapec.frontend.operations.complex_arithmetic import each
from tapec.syntax.core import Atom, Const, Name, Op
from tapec.syntax.types import Array, Scalar

_ARITHMETIC = (gast.BinOp, gast.UnaryOp)
# methods of a number that give another one, of the same value
_OTHERS = ("conj", "conjugate", "astype")


class WholeNumbers:
    """What `LiveObjects` knows of complex values.

    pairs      the parts of values that are known as objects; `whole_parts` are all of those
    operating  how many operations are being evaluated around an expression: what is not bound needs no names
    """

    ev: Evaluator

    def __init__(self) -> None:
        self.pairs: set[tuple[Atom, Atom]] = set()
        self.whole_parts: set[Atom] = set()
        self.operating = 0

    def evaluated(self, node: Any, handler: Callable[[Any, Any], Value]) -> Value:
        """The value of an expression; a new complex number has parts of its own."""
        kind = type(node)
        if kind not in (gast.BinOp, gast.UnaryOp, gast.Call, gast.Attribute):
            return handler(self.ev, node)
        outer, before = self.operating, len(self.ev.types)
        self.operating = outer + 1 if kind in _ARITHMETIC else 0
        try:
            value = handler(self.ev, node)
        finally:
            self.operating = outer
        if outer:
            return value
        if type(value) is Complex and not value.is_array:
            # an operation gives a new object, a call perhaps one of its arguments
            return self.with_own_parts(value, before, kind in _ARITHMETIC)
        if isinstance(value, Sym) and isinstance(value.atom, Name) and value.atom in self.whole_parts:
            return self.own_part(value)
        if isinstance(value, Sym) and isinstance(value.type, Scalar) and _makes_a_number(node):
            made = isinstance(value.atom, Const) or value.atom.id in self.names_since(before)
            return value if made else self.own_part(value)
        if kind is gast.Attribute and node.attr == "T" and isinstance(value, Sym | Complex):
            turned: Value = each(self.ev, value, lambda part: self.own_view(part, before))
            return turned
        return value

    def own_view(self, part: Sym, before: int) -> Sym:
        """A view of an array under a name of its own: `.T` of a vector is another object."""
        own = isinstance(part.atom, Name) and part.atom.id in self.names_since(before)
        return part if own else self.own_part(part)

    def names_since(self, before: int) -> set[str]:
        """The names behind the first `before`; inputs that an expression has reached are none of its results."""
        types_ = self.ev.types
        return {*islice(reversed(types_), max(len(types_) - before, 0))} - self.ev.fixed

    def new_number(self, value: Value, before: int) -> Value:
        """What an operation gives: an object of its own."""
        return self.with_own_parts(value, before, True) if type(value) is Complex and not value.is_array else value

    def with_own_parts(self, value: Complex, before: int, new_object: bool) -> Complex:
        """A value with parts that are defined behind the first `before` names, unless it is an object that is known."""
        pair = value.re.atom, value.im.atom
        literal = all(isinstance(part, Const) for part in pair)
        if not literal and (new_object or pair not in self.pairs):
            new = self.names_since(before)
            re, im = (
                part
                if isinstance(part.atom, Name) and part.atom.id in new and part.atom not in self.whole_parts
                else self.own_part(part)
                for part in (value.re, value.im)
            )
            value = Complex(re, im)
        self.note_whole(value)
        return value

    def note_whole(self, value: Complex) -> None:
        """Note a value as an object."""
        pair = value.re.atom, value.im.atom
        self.pairs.add(pair)
        self.whole_parts.update(pair)

    def own_part(self, part: Sym) -> Sym:
        """The same number, or view of the same array, under a name of its own."""
        ev, type_ = self.ev, part.type
        if not type_.is_float:
            return part
        if isinstance(type_, Array):
            return self._view(part, type_)
        # not a plain copy, which to a tape would be the same value under another name
        return ev.assign(part.atom if isinstance(part.atom, Const) else Op("pos", (part.atom,)), type_)

    def _view(self, part: Sym, type_: Array) -> Sym:
        if type_.ndim == 0:
            return part
        ev, whole = self.ev, Op("slice", (Const(None),) * 3)
        assert isinstance(part.atom, Name)
        made = ev.assign(Op("view", (part.atom, *(whole,) * type_.ndim)), type_)
        assert isinstance(made.atom, Name)
        ev.roots[made.atom.id] = ev.roots.get(part.atom.id, frozenset({part.atom.id}))
        for axis in range(type_.ndim):
            if (part.atom.id, axis) in ev.dims:
                ev.dims[made.atom.id, axis] = ev.dims[part.atom.id, axis]
            if (part.atom.id, axis) in ev.dim_keys:
                ev.dim_keys[made.atom.id, axis] = ev.dim_keys[part.atom.id, axis]
        return made


def _makes_a_number(node: Any) -> bool:
    """Whether an expression gives a new number, though the program may hand on another one: `+x`, `x.conj()`."""
    if isinstance(node, gast.UnaryOp):
        return isinstance(node.op, gast.UAdd)
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in _OTHERS
