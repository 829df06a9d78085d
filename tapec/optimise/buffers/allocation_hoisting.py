"""Allocate once what every iteration of a loop would allocate anew.

    for k in range(steps):               room = max(n, 0)
        tmp = np.zeros(n)                tmp = np.empty(room)
        ...                       ->     for k in range(steps):
                                             if n < 0:
                                                 raise ValueError("negative dimensions not allowed")
                                             for i in range(room):
                                                 tmp[i] = 0.0
                                             ...

Where extents differ from iteration to iteration, the array gets room for the largest (rows of a sparse matrix), see
`largest_extent.py`.

Only where no memory of an iteration outlives it.  An allocation that raises must not run where the loop makes no
iteration: that is asked in the iteration, unless the extents are known not to be negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from tapec.analyses.facts import facts
from tapec.analyses.liveness import Liveness
from tapec.optimise.buffers.largest_extent import Largest
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.simplify.identities import nonnegative
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    names_in,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import BOOL, INT64, Array, Type

WHOLE_NUMBERS = frozenset({"+", "-", "*", "max", "min", "dim"})


def hoist_allocations(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with allocations moved out of loops; see the module."""
    return _Hoist(function).rewritten()


class _Hoist(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        known = facts(function)
        self.aliases, self.members = known.aliases, known.members
        self.largest = Largest(function, self.fresh)
        self.definitions: dict[str, Expr | None] = {}
        for stmt in walk(function.body):
            for name in writes(stmt):
                single = isinstance(stmt, Assign) and name not in self.definitions
                self.definitions[name] = stmt.value if single and isinstance(stmt, Assign) else None

    def statement(self, stmt: Stmt) -> list[Stmt]:
        # innermost loops first, so that an allocation rises as far as it can
        new = map_blocks(stmt, self.block)
        # threads need memory of their own
        if not isinstance(new, Loop) and (not isinstance(new, For) or new.parallel):
            return [new]
        before, instead = self.lifted(new)
        return [*before, replace(new, body=tuple(s for old in new.body for s in instead.get(old.key, (old,))))]

    def lifted(self, loop: For | Loop) -> tuple[list[Stmt], dict[int, Block]]:
        """What stands before a loop, and, for statements of its body (by id), what stands in their place."""
        inside = written_in((loop,))
        at_top = {s.target: s for s in loop.body if isinstance(s, Assign)}
        # how much room extents that may be negative are given: they are asked once
        self.rooms: dict[Atom, Name] = {}
        moved: dict[int, Block] = {}
        instead: dict[int, Block] = {}
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or not self.makes(stmt):
                continue
            own = self.members[self.aliases.find(stmt.target)]
            if own <= inside and self.definitions.get(stmt.target) is not None and not self.handed_on(own, loop):
                needed = self.extents(stmt.value.args[1:], inside, at_top)
                if needed is not None:
                    moved |= {one.key: (one,) for one in needed}
                    moved[stmt.key], instead[stmt.key] = self.parted(stmt, stmt.value)
                elif isinstance(loop, For) and (asked := self.largest.capacity(stmt, loop, at_top)) is not None:
                    before_it, room = asked
                    empty = replace(stmt, value=Op("empty", (stmt.value.args[0], room)))
                    moved[stmt.key], instead[stmt.key] = (*before_it, empty), self.filled(stmt, stmt.value)
                    self.definitions[stmt.target] = None
                else:
                    continue
                why = "no iteration of {1} hands it on"
                about = Named(stmt.target, stmt.span), loop.span
                remark(stmt.span, "allocation_hoisting", "`{0}` is allocated once", why, *about)
        before = [one for stmt in loop.body for one in moved.get(stmt.key, ())]
        return before, dict.fromkeys(moved, ()) | instead

    @cached_property
    def liveness(self) -> Liveness:
        return Liveness(self.function)

    def handed_on(self, names: set[str], loop: For | Loop) -> bool:
        """Whether an iteration may read one of some names before it sets it: an earlier one has, then."""
        return bool(self.liveness.head[loop.key] & self.liveness.names.mask(names))

    def makes(self, stmt: Assign) -> bool:
        """Whether a statement makes an array of any numbers, or of zeros."""
        type_ = self.fresh.types[stmt.target]
        if not isinstance(stmt.value, Op) or not isinstance(type_, Array):
            return False
        return stmt.value.fn == "empty" or (stmt.value.fn == "zeros" and type_.dtype == "float64")

    def parted(self, made: Assign, value: Op) -> tuple[Block, Block]:
        """The allocation that leaves a loop, and what stays of it: a check of its extents, and zeros."""
        dtype, *dims = value.args
        before: list[Stmt] = []
        inside: list[Stmt] = []
        rooms: list[Atom] = []
        for dim in dims:
            assert isinstance(dim, Name | Const)
            if dim not in self.rooms and not nonnegative(dim, self):
                room = Name(self.fresh("size", INT64))
                self.rooms[dim] = room
                at_least = Op("max", (dim, Const(0)))
                self.definitions[room.id] = at_least
                before.append(Assign(room.id, at_least, made.span))
                inside += self.checked(dim, made)
            rooms.append(self.rooms.get(dim, dim))
        empty = Op("empty", (dtype, *rooms))
        self.definitions[made.target] = empty
        return (*before, replace(made, value=empty)), (*inside, *self.zeros(made, value, rooms))

    def filled(self, made: Assign, value: Op) -> Block:
        """What stays of an allocation with room for the largest: a check of the iteration's own extent, and zeros."""
        (extent,) = value.args[1:]
        assert isinstance(extent, Name)
        checked = () if nonnegative(extent, self) else self.checked(extent, made)
        return (*checked, *self.zeros(made, value, [extent]))

    def checked(self, extent: Atom, made: Assign) -> Block:
        """What raises the error for an extent that is negative."""
        negative = Name(self.fresh("t", BOOL))
        error = Raise("ValueError", (Const("negative dimensions not allowed"),), made.span)
        return Assign(negative.id, Op("<", (extent, Const(0))), made.span), If(negative, (error,), (), made.span)

    def zeros(self, made: Assign, value: Op, extents: list[Atom]) -> Block:
        """Loops that set an array to zero, if the allocation did."""
        if value.fn != "zeros":
            return ()
        index = tuple(Name(self.fresh("i", INT64)) for _ in extents)
        zeros: Block = (Store(made.target, index, Const(0.0), False, made.span),)
        for name, extent in reversed(list(zip(index, extents, strict=True))):
            zeros = (For(name.id, Const(0), extent, Const(1), zeros, span=made.span),)
        return zeros

    def extents(self, dims: tuple[Expr, ...], inside: set[str], at_top: dict[str, Assign]) -> list[Assign] | None:
        """The statements that must move along; None if an extent is not known before the loop."""
        found: list[Assign] = []
        for dim in dims:
            for name in self.reached(dim, inside):
                made = at_top.get(name)
                value = self.definitions.get(name)
                if made is None or not isinstance(value, Op) or value.fn not in WHOLE_NUMBERS:
                    return None
                found.append(made)
        return found

    def reached(self, expr: Expr, inside: set[str]) -> Iterator[str]:
        """The names set in the loop from which an expression is computed."""
        for name in names_in(expr):
            if name in inside:
                yield name
                value = self.definitions.get(name)
                if value is not None:
                    yield from self.reached(value, inside)

    def type_of(self, atom: Atom) -> Type | None:
        return self.fresh.types.get(atom.id) if isinstance(atom, Name) else None

    def definition(self, atom: Atom) -> Expr | None:
        return self.definitions.get(atom.id) if isinstance(atom, Name) else None
