"""Keep what the reverse sweep stores below a limit: loops that would store more are checkpointed.

    for t in range(n):                     if n * bytes_of_an_iteration <= limit:
        iteration                                   for t in range(n): iteration
                                  ->       else:
                                               for t in checkpointed(range(n), (limit - bytes_of_an_iteration) //
                                               snapshot):
                                                   iteration

A loop that stores nothing, since it is fused or its iterations are run again anyway, stays as it is; what one iteration
of such a loop keeps is not counted.  Several loops share the limit evenly.  What is kept on lists, since an inner
loop's iterations are not known before the nest begins, has no size beforehand: such a loop is always checkpointed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tapec.errors import NotDifferentiable
from tapec.syntax.core import (
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
    map_blocks,
    walk,
)
from tapec.syntax.types import INT64, Array, Scalar, Type
from tapec.transforms.checkpoint_contents import Checkpointed, find
from tapec.transforms.emitter import Emitter
from tapec.transforms.iteration_bounds import iteration_count
from tapec.transforms.loop_exits import count_breaks
from tapec.transforms.ssa import to_ssa
from tapec.transforms.storage_plan import Slot

# what a loop stores: slots with the types of their values
Stored = list[tuple[Slot, Type]]


def limited(
    function: Function,
    constants: frozenset[str],
    limit: int,
    stored: Callable[[Function], list[tuple[For | Loop, Stored]]],
) -> Function:
    """The function with loops that keep within `limit` bytes; `stored` says what the outermost loops would keep.

    Where even one snapshot is too much, the function raises MemoryError.

    raises  NotDifferentiable for a loop of which nothing tells beforehand how much it stores
    """
    loops: dict[str, Stored] = {}
    for loop, slots in stored(function):
        if not all(isinstance(region.owner, For) for slot, _ in slots for region in slot.loops):
            raise _unknown(loop)
        assert isinstance(loop, For)
        loops[loop.var] = slots
    if not loops:
        return function
    share = limit // len(loops)
    body = _Limits(function, constants, loops, share).block(function.body)
    return to_ssa(replace(function, body=body), constants)


def _unknown(loop: For | Loop) -> NotDifferentiable:
    return NotDifferentiable(
        "how much this loop keeps for its derivative is not known before it has run",
        loop.span,
        reason="the option `memory` asks for a limit",
        hint="loop over a range without `break`, or leave the option out",
    )


class _Limits:
    def __init__(self, function: Function, constants: frozenset[str], loops: dict[str, Stored], share: int) -> None:
        self.function = function
        self.constants = constants
        self.loops = loops
        self.share = share
        self.emitter = Emitter(function.types, set(function.types))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and stmt.var in self.loops:
                out += self.either(stmt, self.loops[stmt.var])
            elif isinstance(stmt, For | Loop):
                out.append(stmt)
            else:
                out.append(map_blocks(stmt, self.block))
        return tuple(out)

    def either(self, loop: For, stored: Stored) -> list[Stmt]:
        """The loop as it is if it keeps within its share, else checkpointed."""
        out = self.emitter.child()
        out.span = loop.span
        counted = self.counted(loop, out)
        info = self.checkpointable(loop, counted)
        known = all(slot.dense for slot, _ in stored)
        total = self.total(out, [(slot.extents, type_) for slot, type_ in stored if slot.dense])
        if info is None and not known:
            raise _unknown(loop)
        more = out.atom(Op(">", (total, Const(self.share))))
        if info is None:
            message = _message(loop, "cannot be checkpointed, and keeps more than")
            out.add(If(more, (Raise("MemoryError", (Const(message),), loop.span),), (), loop.span))
            return [*out.out, loop]
        iterations = out.atom(Op("max", (counted.stop, Const(1))))
        lists = sum(not slot.dense for slot, _ in stored)
        fewer = self.checkpointed(counted, info, out.atom(Op("//", (total, iterations))), lists)
        # the variable goes with the iterations; where nothing is known beforehand, the loop is always checkpointed
        out.extend([If(more, tuple(fewer), (loop,), loop.span)] if known else fewer)
        return out.out

    def counted(self, loop: For, out: Emitter) -> For:
        """The loop with a variable that counts its iterations."""
        if (loop.start, loop.step) == (Const(0), Const(1)):
            return loop
        count = out.atom(Op("max", (iteration_count(loop.start, loop.stop, loop.step), Const(0))))
        iteration = out.fresh("iteration", INT64)
        inner = out.child()
        inner.assign(loop.var, inner.atom(Op("+", (loop.start, Op("*", (Name(iteration), loop.step))))))
        return replace(loop, var=iteration, start=Const(0), stop=count, step=Const(1), body=(*inner.out, *loop.body))

    def checkpointable(self, loop: For, counted: For) -> Checkpointed | None:
        """What a snapshot of the loop would hold; None if its iterations cannot be run again."""
        if count_breaks(loop.body):
            return None
        trial = replace(counted, slots=Const(1))
        body = tuple(_replaced(stmt, loop, trial) for stmt in self.function.body)
        try:
            return find(replace(self.function, body=body), self.constants).get(trial.var)
        except NotDifferentiable:
            return None

    def checkpointed(self, loop: For, info: Checkpointed, iteration: Atom, lists: int) -> list[Stmt]:
        """The loop with as many snapshots as there is room for, beside what one iteration keeps.

        iteration   the bytes in arrays
        lists  the number of lists, each of which is taken to be as large as a snapshot
        """
        out = self.emitter.child()
        out.span = loop.span
        arrays = (*info.values, *info.state)
        # what the caller sees is copied once more
        last = [name for name in (*info.state, *info.frozen) if name in info.visible]
        snapshot = self.sizes(out, arrays, 8 * (1 + len(info.numbers)))
        beside = out.atom(Op("+", (iteration, self.sizes(out, (*last, *info.frozen), 0))))
        beside = out.atom(Op("+", (beside, Op("*", (snapshot, Const(lists))))))
        room = out.atom(Op("-", (Const(self.share), beside)))
        slots = out.atom(Op("//", (room, snapshot)))
        none = out.atom(Op("<", (slots, Const(1))))
        message = _message(loop, "has no room for a snapshot and for what an iteration keeps within")
        out.add(If(none, (Raise("MemoryError", (Const(message),), loop.span),), (), loop.span))
        return [*out.out, replace(loop, slots=slots)]

    def sizes(self, out: Emitter, names: tuple[str, ...], more: int) -> Atom:
        """The bytes of arrays, and some more."""
        total: Atom = Const(more)
        for name in names:
            type_ = self.function.types[name]
            assert isinstance(type_, Array)
            dims = tuple(out.let("size", Op("dim", (Name(name), Const(k))), INT64) for k in range(type_.ndim))
            total = out.atom(Op("+", (total, self.product(out, dims, type_))))
        return total

    def total(self, out: Emitter, parts: list[tuple[tuple[Expr, ...], Type]]) -> Atom:
        found: Atom = Const(0)
        for extents, type_ in parts:
            found = out.atom(Op("+", (found, self.product(out, extents, type_))))
        return found

    def product(self, out: Emitter, extents: tuple[Expr, ...], type_: Type) -> Atom:
        assert isinstance(type_, Scalar | Array)
        size: Atom = Const(np.dtype(type_.dtype).itemsize)
        for extent in extents:
            size = out.atom(Op("*", (size, extent)))
        return size


def _message(loop: For, what: str) -> str:
    where = f"line {loop.span.line}, {loop.span.function}" if loop.span is not None else "generated code"
    return f"the loop at {where}, {what} what the option `memory` allows"


def _replaced(stmt: Stmt, old: For, new: For) -> Stmt:
    if stmt is old:
        return new
    if not any(inner is old for inner in walk((stmt,))):
        return stmt
    return map_blocks(stmt, lambda block: tuple(_replaced(one, old, new) for one in block))
