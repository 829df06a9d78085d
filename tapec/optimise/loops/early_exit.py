"""Leave a loop as soon as nothing is left to spread.

The adjoint of a running maximum goes to the iteration that set it last, and is zero from there on.

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

from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Break,
    Const,
    Expr,
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


def exit_early(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with loops that end when an adjoint is used up; see the module."""
    return _Early(function).rewritten(False)


class _Early(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt, repeated: bool) -> Iterator[Stmt]:
        new = self.shortened(stmt) if isinstance(stmt, For) else None
        if new is None:
            inside = repeated or isinstance(stmt, For | Loop)
            yield map_blocks(stmt, lambda block: self.block(block, inside))
            return
        why = "the adjoint that goes back through it is used up by one iteration"
        remark(stmt.span, "early_exit", "the reverse sweep leaves the loop early", why)
        loop, carried = new
        if repeated:
            some = self.fresh("t", BOOL)
            yield Assign(some, Op("!=", (Name(carried), Const(0.0))), stmt.span)
            yield If(Name(some), (loop,), span=stmt.span)
        else:
            yield loop

    def shortened(self, loop: For) -> tuple[For, str] | None:
        """The loop with a `break` where the adjoint that it carries has become zero, and that adjoint."""
        place = next((k for k, stmt in enumerate(loop.body) if isinstance(stmt, If)), len(loop.body))
        before, (branch, *copies) = loop.body[:place], loop.body[place:] or (None,)
        if not isinstance(branch, If) or not copies:
            return None
        # what an iteration hands on, by the name that it has before that
        handed = {s.value.id: s.target for s in copies if isinstance(s, Assign) and isinstance(s.value, Name)}
        kept = {s.target: s.value for s in branch.orelse if isinstance(s, Assign)}
        if not len(handed) == len(copies) == len(branch.orelse) or kept != {m: Name(a) for m, a in handed.items()}:
            return None
        set_ = {s.target: s for s in branch.body if isinstance(s, Assign) and s.target in handed}
        cleared = [merged for merged, stmt in set_.items() if stmt.value == Const(0.0)]
        if len(cleared) != 1 or len(set_) != len(handed):
            return None
        carried = handed[cleared[0]]
        sums = {merged: again for merged, again in handed.items() if again != carried}
        spread = [s for s in branch.body if not isinstance(s, Assign) or s.target not in handed]
        pure = all(isinstance(s, Assign) and self.harmless(s) for s in before)
        if not pure or any(name in handed.values() for s in before for name in reads(s)):
            return None
        totals = self.spreads(spread, carried, set(sums.values()))
        if totals is None or {set_[merged].value: again for merged, again in sums.items()} != totals:
            return None
        if self.iterations.left_over(loop, {name for s in (*before, *branch.body) for name in writes(s)}):
            return None
        last = [replace(set_[merged], target=again) for merged, again in (*sums.items(), (cleared[0], carried))]
        body = (*spread, *last, Break(branch.span))
        return replace(loop, body=(*before, replace(branch, body=body, orelse=()))), carried

    def harmless(self, stmt: Assign) -> bool:
        """Whether a statement can be left out where nothing reads its result."""
        return isinstance(stmt.value, Op) and stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")

    def spreads(self, block: list[Stmt], carried: str, sums: set[str]) -> dict[Expr, str] | None:
        """What sums are after statements that do nothing but add multiples of an adjoint to elements and to sums.

        None if they do anything else.
        """
        names = {carried}
        totals: dict[Expr, str] = {Name(one): one for one in sums}
        for stmt in block:
            match stmt:
                case Assign(target=target, value=Op(fn="+" | "-", args=(Name() as total, Name(id=value)))) if (
                    total in totals and value in names
                ):
                    totals[Name(target)] = totals.pop(total)
                case Assign(target=target, value=Op(fn=fn, args=args)):
                    involved = [mentions(arg, names) for arg in args]
                    if fn == "neg" or (fn == "*" and sum(involved) == 1) or (fn == "/" and involved == [True, False]):
                        names.add(target)
                    elif any(involved) or not self.harmless(stmt) or any(Name(name) in totals for name in reads(stmt)):
                        return None
                case Store(index=index, value=Name(id=value), accumulate=True):
                    if value not in names or any(mentions(sub, names) for sub in index):
                        return None
                case _:
                    return None
        return totals
