"""Fill an array where a loop adds to each of its elements, all of them zero.

    x_bar = np.zeros(n)                       x_bar = np.empty(n)
    for i in range(n):                 ->     for i in range(n):
        x_bar[i] += y_bar * w[i]                  x_bar[i] = y_bar * w[i]

The array is written once, instead of twice, and not read; a loop that loads the element, adds and stores finds a
zero.  Refused where anything else meets the array before the loop ends, or a trip may be left out.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.trips import Trips
from tapec.optimise.nests import Nests
from tapec.syntax.core import Assign, Block, Const, Expr, Function, Name, Op, Stmt, Store, map_blocks
from tapec.syntax.types import FLOAT64, Scalar


def fill_at_once(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays filled; see the module."""
    return replace(function, body=_Filled(function).block(function.body))


class Filling:
    """Loops that give every element of an array its value."""

    def __init__(self, function: Function) -> None:
        self.trips = Trips(function)
        self.nests = Nests(self.trips)

    def stores(self, stmt: Stmt, array: str, rank: int) -> tuple[dict[int, Stmt], tuple[Expr, ...]] | None:
        """The store with which a nest of loops gives elements their values, and loads of the same element before it.

        By identity; also how many elements of each axis the nest comes to, from the first on.  None if anything else
        in the nest meets the array.
        """
        found = self.nests.elements(stmt, array, rank)
        if found is None:
            return None
        body, index, extents = found
        *loads, store = (one for one in body if self.nests.memory(array) in self.nests.met(one))
        if not isinstance(store, Store) or store.array != array:
            return None
        element = Op("load", (Name(array), *index))
        plain = all(isinstance(load, Assign) and load.value == element for load in loads)
        return ({id(one): one for one in (*loads, store)}, extents) if plain else None

    def without_adding(self, stmt: Stmt, elements: dict[int, Stmt]) -> Stmt:
        """A statement of a nest, with zeros in place of these loads and without additions to them."""
        found = {Name(one.target) for one in elements.values() if isinstance(one, Assign)}
        match stmt:
            case Store() if id(stmt) in elements:
                return replace(stmt, accumulate=False)
            case Assign(target=target) if id(stmt) in elements:
                type_ = self.trips.types[target]
                assert isinstance(type_, Scalar)
                zero = Const(0.0) if type_ == FLOAT64 else Op(f"cast.{type_.dtype}", (Const(0.0),))
                return replace(stmt, value=zero)
            case Assign(target=target, value=Op(fn="+", args=(first, second))) if found & {first, second}:
                other = second if first in found else first
                alike = isinstance(other, Name) and self.trips.types[other.id] == self.trips.types[target]
                return replace(stmt, value=other) if alike else stmt
        return map_blocks(stmt, lambda block: tuple(self.without_adding(inner, elements) for inner in block))


class _Filled(Filling):
    def block(self, block: Block) -> Block:
        out = [map_blocks(stmt, self.block) for stmt in block]
        for place, stmt in enumerate(block):
            if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "zeros":
                self.fill(block, place, stmt, stmt.value, out)
        return tuple(out)

    def fill(self, block: Block, place: int, made: Assign, zeros: Op, out: list[Stmt]) -> None:
        """Change the array's allocation and the first loop that meets it, in `out`, if that loop writes all of it."""
        array, dims = made.target, zeros.args[1:]
        if len(self.trips.regions.defs[array]) != 1 or not all(map(self.nests.fixed, dims)):
            return
        first = self.nests.first(block, place, array)
        found = None if first is None else self.stores(block[first], array, len(dims))
        if first is not None and found is not None and found[1] == dims:
            out[place] = replace(made, value=Op("empty", zeros.args))
            # blocks inside may have changed, but loads and stores are the same objects
            out[first] = self.without_adding(out[first], found[0])
