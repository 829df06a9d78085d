"""Nests of loops that come to every element of an array, once."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.analyses.aliases import PRODUCTS, is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise.simplify.identities import fold
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, For, Name, Op, Stmt, blocks, may_leave, reads, writes
from tapec.syntax.types import Array, Type


class Nests:
    """Questions about the arrays and loops of one function, or of one that a pass makes of it."""

    def __init__(self, iterations: Iterations) -> None:
        self.iterations = iterations
        # by key, for the statement that is kept beside: an edited one has the same key
        self._met: dict[int, tuple[Stmt, frozenset[str]]] = {}
        self._fitting: dict[int, tuple[Stmt, frozenset[Expr]]] = {}

    def memory(self, array: str) -> str:
        """What names that may share memory have in common."""
        return self.iterations.aliases.find(array)

    def named(self, stmt: Stmt) -> frozenset[str]:
        """The memory that a statement itself names."""
        types = self.iterations.types
        return frozenset(self.memory(name) for name in (*reads(stmt), *writes(stmt)) if is_memory(types.get(name)))

    def met(self, stmt: Stmt) -> frozenset[str]:
        """The memory that a statement, or one inside it, names."""
        known = self._met.get(stmt.key)
        if known is None or known[0] is not stmt:
            inner = (self.met(one) for block in blocks(stmt) for one in block)
            known = self._met[stmt.key] = stmt, self.named(stmt).union(*inner)
        return known[1]

    def first(self, block: Block, place: int, array: str) -> int | None:
        """Where a block first meets an array's memory behind a place."""
        own = self.memory(array)
        return next((k for k in range(place + 1, len(block)) if own in self.met(block[k])), None)

    def type_of(self, atom: Atom) -> Type | None:
        return self.iterations.types.get(atom.id) if isinstance(atom, Name) else None

    def definition(self, atom: Atom) -> Expr | None:
        return self.iterations.definition(atom)

    def extent(self, array: str, axis: int) -> Expr:
        """An extent: a name or a number where the program has one for it, else the question for it."""
        asked = Op("dim", (Name(array), Const(axis)))
        found = fold(asked, self)
        return found if not isinstance(found, Name) or self.fixed(found) else asked

    def equal(self, first: Expr, second: Expr, ran: Sequence[Stmt]) -> bool:
        """Whether two extents are equal once some statements have run; matrix products ask for factors that fit."""
        pairs = [pair for stmt in ran if isinstance(stmt, Assign) and (pair := self.fitting(stmt))]
        found = {self.size(first)}
        while more := {one for pair in pairs if not found.isdisjoint(pair) for one in pair} - found:
            found |= more
        return self.size(second) in found

    def fitting(self, stmt: Assign) -> frozenset[Expr]:
        """The two extents that a matrix product asks to be equal; nothing for other values."""
        known = self._fitting.get(stmt.key)
        if known is None or known[0] is not stmt:
            known = self._fitting[stmt.key] = stmt, self._fitted(stmt.value)
        return known[1]

    def _fitted(self, value: Expr) -> frozenset[Expr]:
        match value:
            case Op(fn=fn, args=(Name(id=first), Name(id=second)) as factors) if (
                fn in PRODUCTS and all(map(self.fixed, factors))
            ):
                ranks = [
                    type_.ndim for name in (first, second) if isinstance(type_ := self.iterations.types[name], Array)
                ]
                axes = (ranks[0] - 1, max(ranks[1] - 2, 0))
                sizes = (Op("dim", (Name(one), Const(axis))) for one, axis in zip((first, second), axes, strict=True))
                return frozenset(map(self.size, sizes))
        return frozenset()

    def size(self, extent: Expr) -> Expr:
        """The same for extents that are known to be equal."""
        match self.definition(extent) if isinstance(extent, Name) else extent:
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))) as asked if self.fixed(Name(array)):
                found = self.extent(array, axis)
                return found if found == asked else self.size(found)
        return extent

    def fixed(self, atom: Expr) -> bool:
        return isinstance(atom, Name | Const) and self.iterations.fixed(atom)

    def element(self, stmt: Stmt, array: str, dims: tuple[Expr, ...]) -> tuple[Block, tuple[Expr, ...]] | None:
        """The innermost body of a nest over all elements, one an iteration, and the element's subscripts there.

        The nest is followed to where it meets the array; outside that body nothing in it does.
        """
        found = self.elements(stmt, array, len(dims))
        return found[:2] if found is not None and found[2] == dims else None

    def elements(self, stmt: Stmt, array: str, rank: int) -> tuple[Block, tuple[Expr, ...], tuple[Expr, ...]] | None:
        """The same of a nest over some elements, and how many of each axis: those from 0 on."""
        own = self.memory(array)
        extents: dict[Expr, Expr] = {}
        while isinstance(stmt, For) and len(extents) < rank:
            if stmt.start != Const(0) or stmt.step != Const(1) or not self.fixed(stmt.stop) or may_leave(stmt.body):
                return None
            extents[Name(stmt.var)] = stmt.stop
            meeting = [inner for inner in stmt.body if own in self.met(inner)]
            if len(extents) == rank:
                index = getattr(meeting[-1], "index", ()) if meeting else ()
                every = len(set(index)) == rank and all(one in extents for one in index)
                return (stmt.body, index, tuple(extents[one] for one in index)) if every else None
            if len(meeting) != 1:
                return None
            (stmt,) = meeting
        return None
