"""Run loops upward whose iterations can run in any order.

The reverse sweep visits iterations last to first.  Memory is read faster upward, and only upward does
LLVM prove that a subscript such as `i - 1` is not negative.

    for i in range(n - 1, -1, -1):            for i in range(n):
        x_bar[i] += y * w[i]           ->         x_bar[i] += y * w[i]

Refused where an iteration uses what another one left, see `analyses.iterations`.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    map_blocks,
)
from tapec.syntax.types import INT64


def reverse_loops(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with ascending loops where order does not matter; see the module."""
    return _Ascend(function).rewritten()


class _Ascend(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        made = map_blocks(stmt, self.block)
        if not isinstance(stmt, For) or stmt.step != Const(-1) or not self.iterations.is_parallel(stmt):
            return [made]
        assert isinstance(made, For)
        remark(stmt.span, "loop_reversal", "the reverse sweep counts upward", "no iteration uses what another one left")
        before: list[Stmt] = []
        loop = counts_upward(made, self.iterations, self.fresh, before)
        return [*before, loop]


def counts_upward(loop: For, iterations: Iterations, fresh: Fresh, out: list[Stmt]) -> For:
    """A loop that counts down, with the same iterations upward; `out` gets what computes its bounds."""
    first, behind = (_one_more(bound, loop, iterations, fresh, out) for bound in (loop.stop, loop.start))
    return replace(loop, start=first, stop=behind, step=Const(1))


def _one_more(bound: Atom, loop: For, iterations: Iterations, fresh: Fresh, out: list[Stmt]) -> Atom:
    """`bound + 1`, without computing it where `bound` is something less one."""
    if isinstance(bound, Const):
        assert isinstance(bound.value, int)
        return Const(bound.value + 1)
    made: Expr | None = iterations.definition(bound)
    value: Expr = Op("+", (bound, Const(1)))
    if isinstance(made, Op) and made.fn == "-":
        whole, less = made.args
        if isinstance(less, Const) and isinstance(less.value, int) and isinstance(whole, Name):
            if iterations.fixed(whole) and less == Const(1):
                return whole
            if iterations.fixed(whole):
                value = Op("-", (whole, Const(less.value - 1)))
    name = fresh("t", INT64)
    out.append(Assign(name, value, loop.span))
    return Name(name)
