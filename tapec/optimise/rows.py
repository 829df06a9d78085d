"""Let loops over rows run on vectors where the rows are counted down.

    for k in range(n - 1, -1, -1):            for k in range(n - 1, -1, -1):
        for i in range(m):                        row = tapec_runtime.unforeseen(k)
            y[i] += x_store[k, i]      ->         for i in range(m):
                                                      y[i] += x_store[row, i]

`runtime/tapec_runtime/counting.py` says why; the number is the same.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise.counters import renamed
from tapec.optimise.names import Fresh
from tapec.syntax.core import Assign, Block, Const, For, Function, Loop, Name, Op, Stmt, Store, map_blocks, walk
from tapec.syntax.types import INT64


def hide_descent(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such rows; see the module."""
    worker = _Rows(Fresh(function.types))
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


class _Rows:
    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh

    def block(self, block: Block) -> Block:
        return tuple(map(self.statement, block))

    def statement(self, stmt: Stmt) -> Stmt:
        stmt = map_blocks(stmt, self.block)
        if not isinstance(stmt, For) or stmt.step != Const(-1) or not _works_on_row(stmt.body, stmt.var):
            return stmt
        row = self.fresh("row", INT64)
        hidden = Assign(row, Op("tapec_runtime.unforeseen", (Name(stmt.var),)), stmt.span)
        return replace(stmt, body=(hidden, *renamed(stmt.body, stmt.var, Name(row))))


def _works_on_row(block: Block, row: str) -> bool:
    """Whether a block has in it an innermost loop that stores, and reads or stores elements of a row."""
    for loop in walk(block):
        if not isinstance(loop, For) or any(isinstance(s, For | Loop) for s in walk(loop.body)):
            continue
        inside = list(walk(loop.body))
        if any(isinstance(s, Store) for s in inside) and any(_of_row(s, row, loop.var) for s in inside):
            return True
    return False


def _of_row(stmt: Stmt, row: str, element: str) -> bool:
    match stmt:
        case Store(index=index):
            subscripts = list(index)
        case Assign(value=Op(fn="load", args=(_, *subs))):
            subscripts = subs
        case _:
            return False
    return Name(row) in subscripts[:-1] and subscripts[-1] != Name(row) and element != row
