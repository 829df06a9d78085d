"""The sets of sources that stand beside values: their names, and unions of them.

A set is a number; that of an array is an array of numbers with the same aliasing.
"""

from __future__ import annotations

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases
from tapec.rules.table import no_rule
from tapec.syntax.core import Atom, Const, Expr, Function, Name, Op
from tapec.syntax.types import INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter

# sets that are joined at once
_PARTS = 12


class SetsOfValues:
    """The sets of the values of a function; those of values that depend on none of its sources are empty."""

    def __init__(self, function: Function, sources: tuple[str, ...]) -> None:
        self.types = dict(function.types)
        returned = {a.id for a in function.results if isinstance(a, Name)}
        self.activity = Activity(function, aliases(function), set(sources), set(self.types) | returned)
        self.emitter = Emitter(self.types, set(self.types))
        self.room = Name(self.emitter.fresh("sets", Array("int64", 1, "C")))
        self.sets: dict[str, str] = {}
        # of sets that elementwise operations give, those that they are the unions of
        self.parts: dict[str, tuple[str, ...]] = {}

    def name_of(self, name: str) -> str:
        """The name of the set of `name`."""
        if name not in self.sets:
            self.sets[name] = self.emitter.fresh(f"{name}_set", _type_of_sets(self.types[name]))
        return self.sets[name]

    def set_of(self, atom: Expr) -> Name | None:
        """The set of an atom; None for one without sources."""
        if isinstance(atom, Name) and atom.id in self.activity:
            return Name(self.name_of(atom.id))
        return None

    def zeros_like(self, base: str, array: str, out: Emitter) -> str:
        """Empty sets for the elements of an array, in the same order in memory."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        dims = out.extents(Name(array))
        if type_.layout == "F" and type_.ndim > 1:
            rows = out.let("t", Op("zeros", (Const("int64"), *reversed(dims))), Array("int64", type_.ndim))
            return out.let(base, Op("transpose", (rows,)), Array("int64", type_.ndim, "F")).id
        return out.let(base, Op("zeros", (Const("int64"), *dims)), Array("int64", type_.ndim)).id

    def apart(self, sets: list[str]) -> tuple[str, ...]:
        """Sets with the same union as others, of which those that are unions are taken apart, where that gives few.

        So no set is made for what an expression computes on its way.
        """
        found = tuple(dict.fromkeys(part for one in sets for part in self.parts.get(one, (one,))))
        return found if len(found) <= _PARTS else tuple(dict.fromkeys(sets))

    def union(self, sets: list[str], out: Emitter) -> Atom:
        """The union of sets."""
        parts = self.apart(sets)
        if len(parts) < 2:
            return Name(parts[0]) if parts else Const(0)
        return out.let("s", Op("tapec_runtime.union", (self.room, *map(Name, parts))), INT64)

    def union_of_all(self, atoms: list[Expr], out: Emitter) -> Atom:
        """The union of the sets of numbers, and of all elements of arrays."""
        parts: list[str] = []
        for atom in atoms:
            found = self.set_of(atom)
            if found is None:
                continue
            type_ = self.types[found.id]
            if isinstance(type_, Array):
                parts.append(out.let("s", Op("tapec_runtime.union_of", (self.room, found)), INT64).id)
            elif isinstance(type_, Scalar):
                parts.append(found.id)
            else:
                assert isinstance(atom, Name)
                raise no_rule(f"list `{atom.id}` among the arguments of a call", out.span)
        return self.union(parts, out)


def _type_of_sets(type_: Type) -> Type:
    """The type of the sets of something."""
    if isinstance(type_, Array):
        return Array("int64", type_.ndim, type_.layout)
    if isinstance(type_, Stack):
        element = _type_of_sets(type_.element)
        assert isinstance(element, Scalar | Array)
        return Stack(element)
    return INT64
