"""Take remainders without a division where there is nothing to take off, and index with them as they are.

    grid = np.zeros(n)                     grid = np.zeros(n)
    for p in range(m):                     for p in range(m):
        cell = k[p] % n            ->          cell = tapec_runtime.remainder(k[p], n)
        grid[cell] += q[p]                     grid[np.uint64(cell)] += q[p]

In loops, remainders are mostly taken of subscripts around a ring, few of which are outside.  A division takes longer
than all the rest of such an iteration.  A remainder by an extent is not negative: Numba need not ask whether a
subscript counts from the end.  (An extent of 0 has raised an error before.)
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
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
    reads,
)
from tapec.syntax.types import INT64, UINT64, Array


def cheap_remainders(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such remainders; see the module."""
    return _Remainders(function).rewritten(False)


class _Remainders(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt, inside: bool) -> list[Stmt]:
        match stmt:
            case Assign(value=Op(fn="%", args=(number, divisor))) if inside and self.divides(stmt):
                why = "most subscripts around a ring are inside"
                remark(stmt.span, "cheap_remainders", "the remainder divides only where it has to", why)
                return [replace(stmt, value=Op("tapec_runtime.remainder", (number, divisor)))]
            case Assign(value=Op(fn="load", args=(Name(id=array), *index))) if inside:
                casts, subs = self.casts(array, tuple(index), stmt)
                return [*casts, replace(stmt, value=Op("load", (Name(array), *subs)))]
            case Store(array=array, index=index) if inside:
                casts, subs = self.casts(array, index, stmt)
                return [*casts, replace(stmt, index=subs)]  # type: ignore[arg-type]
        within = inside or isinstance(stmt, For | Loop)
        return [map_blocks(stmt, lambda block: self.block(block, within))]

    def divides(self, stmt: Assign) -> bool:
        """Whether a remainder is one of 64 bits that LLVM has no better way for than a division."""
        assert isinstance(stmt.value, Op)
        known = isinstance(stmt.value.args[1], Const)
        return not known and all(self.iterations.types[name] == INT64 for name in (stmt.target, *reads(stmt)))

    def casts(self, array: str, index: tuple[Expr, ...], stmt: Stmt) -> tuple[list[Stmt], tuple[Expr, ...]]:
        """Subscripts, those that are remainders by an extent without a sign, and what makes them so."""
        before: list[Stmt] = []
        subs: list[Expr] = []
        for sub in index:
            if isinstance(sub, Name) and self.from_start(array, sub):
                new = self.fresh(sub.id, UINT64)
                before.append(Assign(new, Op("cast.uint64", (sub,)), stmt.span))
                sub = Name(new)
            subs.append(sub)
        return before, tuple(subs)

    def from_start(self, array: str, sub: Name) -> bool:
        """Whether a subscript is a remainder by an extent."""
        made = self.iterations.definition(sub)
        if not isinstance(self.iterations.types[array], Array) or not isinstance(made, Op) or made.fn != "%":
            return False
        divisor = made.args[1]
        return isinstance(divisor, Name | Const) and self.iterations.fixed(divisor) and self.is_extent(divisor, array)

    def is_extent(self, number: Atom, array: str) -> bool:
        """Whether a number with one value can be an extent: of any array, or it is one that `array` was made with."""
        if self.iterations.never_negative(number):
            return True
        made = self.iterations.definition(Name(array))
        return isinstance(made, Op) and made.fn in ALLOCATIONS and number in made.args[1:]
