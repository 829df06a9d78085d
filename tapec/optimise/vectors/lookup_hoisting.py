"""Look up once, before a loop, which rows all its iterations use.

    for k in range(n):                        if 0 < n:
        i = rows[m]                               i = rows[m]
        u_bar[i, k] += v[k] * s   ->              for k in range(n):
                                                      u_bar[i, k] += v[k] * s

LLVM does not see that what the loop stores leaves the table of rows alone, and takes the place of each element for
unknown.  Only tables of whole numbers that the loop does not write; where it makes no iteration nothing is looked up.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.analyses.loop_invariance import some_iteration
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    names_in,
    written_in,
)
from tapec.syntax.types import BOOL, INT64


def hoist_lookups(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops; see the module."""
    iterations = Iterations(function)
    fresh = Fresh(function.types)

    def block(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: Stmt) -> Block:
        moved = _invariant(stmt, iterations) if isinstance(stmt, For) else []
        if not moved:
            return (map_blocks(stmt, block),)
        assert isinstance(stmt, For)
        gone = {one.key for one in moved}
        loop = replace(stmt, body=tuple(one for one in stmt.body if one.key not in gone))
        asked, test = some_iteration(iterations, stmt, fresh("t", BOOL))
        return asked, If(test, (*moved, loop), (), stmt.span)

    return replace(function, body=block(function.body), types=fresh.types)


def _invariant(loop: For, iterations: Iterations) -> list[Assign]:
    """The statements of an innermost loop that look up the same in all iterations."""
    stores = [stmt for stmt in loop.body if isinstance(stmt, Store)]
    if not stores or loop.parallel or not all(isinstance(stmt, Assign | Store) for stmt in loop.body):
        return []
    inside = written_in((loop,))
    found: list[Assign] = []
    for stmt in loop.body:
        match stmt:
            case Assign(target=target, value=Op(fn="load", args=(Name(id=table), *_)) as value):
                whole = iterations.types.get(target) == INT64 and iterations.fixed(Name(target))
                alike = inside.isdisjoint(names_in(value)) and not iterations.left_over(loop, {target})
                if whole and alike and not any(iterations.may_share(table, store.array) for store in stores):
                    found.append(stmt)
                    inside.discard(target)
    return found
