"""Leave a loop as soon as nothing is left to spread.

The adjoint of a running maximum goes to the trip that set it last, and is zero from there on.

    for i in range(n - 1, -1, -1):              for i in range(n - 1, -1, -1):
        if taken[i]:                                if taken[i]:
            x_bar[i] += top_bar         ->              x_bar[i] += top_bar
            top_bar = 0.0                               top_bar = 0.0
                                                        break

In a loop, it does not begin if there is nothing to spread: of the states of a most likely path, one in each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.trips import Trips
from tapec.journal import Listener
from tapec.optimise.clean.names import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    mentions,
    reads,
    writes,
)
from tapec.syntax.types import BOOL


def leave_early(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with loops that end when an adjoint is used up; see the module."""
    worker = _Early(function, listener)
    return replace(function, body=worker.block(function.body, False), types=worker.fresh.types)


class _Early:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.trips = Trips(function)
        self.fresh = Fresh(function.types)

    def block(self, block: Block, repeated: bool) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt, repeated))

    def statement(self, stmt: Stmt, repeated: bool) -> Iterator[Stmt]:
        new = self.shortened(stmt) if isinstance(stmt, For) else None
        if new is None:
            inside = repeated or isinstance(stmt, For | Loop)
            yield map_blocks(stmt, lambda block: self.block(block, inside))
            return
        if self.listener is not None:
            why = "the adjoint that goes back through it is used up by one trip"
            self.listener.decide(stmt.span, "early", "the reverse sweep leaves the loop early", why)
        loop, carried = new
        if repeated:
            some = self.fresh("t", BOOL)
            yield Assign(some, Op("!=", (Name(carried), Const(0.0))), stmt.span)
            yield If(Name(some), (loop,), span=stmt.span)
        else:
            yield loop

    def shortened(self, loop: For) -> tuple[For, str] | None:
        """The loop with a `break` where the adjoint that it carries has become zero, and that adjoint."""
        match loop.body:
            case (
                *before,
                If(orelse=(Assign(target=kept, value=Name(id=carried)),)) as branch,
                Assign(target=again, value=Name(id=merged)),
            ) if again == carried and kept == merged:
                pass
            case _:
                return None
        cleared = [s for s in branch.body if isinstance(s, Assign) and s.target == merged]
        spread = [s for s in branch.body if s not in cleared]
        pure = all(isinstance(s, Assign) and carried not in reads(s) and self.harmless(s) for s in before)
        if not pure or [s.value for s in cleared] != [Const(0.0)] or not self.spreads(spread, carried):
            return None
        inside = {name for s in (*before, *branch.body) for name in writes(s)} - {merged}
        if self.trips.left_over(loop, inside | {merged}):
            return None
        last = (Assign(carried, Const(0.0), cleared[0].span), Break(branch.span))
        return replace(loop, body=(*before, replace(branch, body=(*spread, *last), orelse=()))), carried

    def harmless(self, stmt: Assign) -> bool:
        """Whether a statement can be left out where nothing reads its result."""
        return isinstance(stmt.value, Op) and stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")

    def spreads(self, block: list[Stmt], carried: str) -> bool:
        """Whether statements do nothing but add multiples of an adjoint to elements."""
        names = {carried}
        for stmt in block:
            match stmt:
                case Assign(target=target, value=Op(fn=fn, args=args)):
                    involved = [mentions(arg, names) for arg in args]
                    if fn == "neg" or (fn == "*" and sum(involved) == 1) or (fn == "/" and involved == [True, False]):
                        names.add(target)
                    elif any(involved) or not self.harmless(stmt):
                        return False
                case Store(index=index, value=Name(id=value), accumulate=True):
                    if value not in names or any(mentions(sub, names) for sub in index):
                        return False
                case _:
                    return False
        return True
