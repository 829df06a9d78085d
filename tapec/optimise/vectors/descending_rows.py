"""Let loops over rows run on vectors where the rows are counted down.

    for k in range(n - 1, -1, -1):            for k in range(n - 1, -1, -1):
        for i in range(m):                        row = tapec_runtime.opaque(k)
            s += x_store[k, i] * y[i]             for i in range(m):
            y[i] = c * y[i]            ->             s += x_store[row, i] * y[i]
                                                      y[i] = c * y[i]

`runtime/tapec_runtime/opaque_numbers.py` says why; the number is the same.  Done for loops that add up elements of a
row and store elsewhere: those lose most where they do not run on vectors.  Others would pay more than they gain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from tapec.optimise.rewriter import Rewriter
from tapec.optimise.vectors.strided_sums import sums
from tapec.syntax.core import Assign, Block, Const, Expr, For, Function, Loop, Name, Op, Stmt, Store, map_blocks, walk
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64


def hide_descent(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such rows; see the module."""
    return _Rows(function).rewritten()


class _Rows(Rewriter):
    def statement(self, stmt: Stmt) -> tuple[Stmt, ...]:
        return (self.hidden(map_blocks(stmt, self.block)),)

    def hidden(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For) or stmt.step != Const(-1) or not self.sums_of_row(stmt.body, stmt.var):
            return stmt
        row = self.fresh("row", INT64)
        hidden = Assign(row, Op("tapec_runtime.opaque", (Name(stmt.var),)), stmt.span)
        return replace(stmt, body=(hidden, *replaced(stmt.body, {stmt.var: Name(row)})))

    def sums_of_row(self, block: Block, row: str) -> bool:
        """Whether an innermost loop adds up elements of a row, and stores elsewhere."""
        rows = [Name(s.target) for s in walk(block) if isinstance(s, Assign) and _views(s.value, row)]
        for loop in walk(block):
            if not isinstance(loop, For) or any(isinstance(s, For | Loop) for s in walk(loop.body)):
                continue
            inside = list(walk(loop.body))
            stored = [s.index for s in inside if isinstance(s, Store)]
            loaded = [s.value.args for s in inside if isinstance(s, Assign) and _loads(s.value)]
            elsewhere = bool(stored) and not any(Name(row) in index for index in stored)
            of_row = any(array in rows or Name(row) in subs[:-1] for array, *subs in loaded)
            if elsewhere and of_row and sums(loop, self.fresh.types):
                return True
        return False


def _loads(value: Expr) -> TypeGuard[Op]:
    return isinstance(value, Op) and value.fn == "load"


def _views(value: Expr, row: str) -> bool:
    return isinstance(value, Op) and value.fn == "view" and Name(row) in value.args[1:]
