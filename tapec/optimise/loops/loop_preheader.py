"""What stands before the outermost loop around one that a pass changes: buffers and their extents."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    walk,
)
from tapec.syntax.types import INT64, Array

Around = tuple[For | Loop, ...]


class Outside:
    """Writes what stands before the outermost loop."""

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self._made: list[Stmt] = []

    def taken(self) -> list[Stmt]:
        """What was written since the last time."""
        made, self._made = self._made, []
        return made

    def computed(self, value: Expr, loop: For) -> Atom:
        """A whole number."""
        if isinstance(value, Name | Const):
            return value
        name = self.fresh("size", INT64)
        self._made.append(Assign(name, value, loop.span))
        return Name(name)

    def size(self, extent: Expr, room: int, loop: For) -> Atom:
        """The extent of a buffer for the values of a loop's iterations, with room for more."""
        size = self.computed(Op("max", (self.computed(extent, loop), Const(0))), loop)
        return self.computed(Op("+", (size, Const(room))), loop) if room > 0 else size

    def write(self, stmt: Stmt) -> None:
        """One more statement."""
        self._made.append(stmt)

    def buffer(self, stmt: Store, made: str, sizes: tuple[Atom, ...]) -> str:
        """An array for what a statement adds; `made` is what makes it."""
        type_ = self.fresh.types[stmt.array]
        assert isinstance(type_, Array)
        stem = stmt.value.id if isinstance(stmt.value, Name) else "t"
        name = self.fresh(f"{stem}_kept", Array(type_.dtype, len(sizes)))
        self._made.append(Assign(name, Op(made, (Const(type_.dtype), *sizes)), stmt.span))
        return name


class LoopPass:
    """Goes through the loops of a function, from the outer ones to the inner ones, and puts others in their place.

    by_iteration  what loops inside an outermost one need is made in each of its iterations, where those share nothing:
                  they can run on threads
    """

    def __init__(self, function: Function, by_iteration: bool = False) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)
        self.outside = Outside(self.fresh)
        self._by_iteration = by_iteration

    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        """What takes the place of a loop, the last one of `around`; None if it stays, and those inside may change."""
        raise NotImplementedError

    def rewritten(self) -> Function:
        """The function with all its loops looked at."""
        return replace(self.function, body=self.block(self.function.body), types=self.fresh.types)

    def block(self, block: Block, around: Around = ()) -> Block:
        """A block that stands in these loops, with others in place of its own."""
        out: list[Stmt] = []
        for stmt in block:
            loops = (*around, stmt) if isinstance(stmt, For | Loop) else around
            if self._by_iteration and not around and isinstance(stmt, For) and self._iteration_is_alone(stmt):
                loops = ()
            new = self.loop(stmt, loops) if isinstance(stmt, For) and loops else None
            if new is None:
                new = [map_blocks(stmt, partial(self.block, around=loops))]
            if not around:
                out += self.outside.taken()
            out += new
        return tuple(out)

    def _iteration_is_alone(self, loop: For) -> bool:
        """Whether a loop has loops inside, and its iterations share nothing."""
        return any(isinstance(stmt, For | Loop) for stmt in walk(loop.body)) and self.iterations.is_independent(loop)
