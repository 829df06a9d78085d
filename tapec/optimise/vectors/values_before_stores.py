"""Compute what an iteration leaves for the next one before the iteration stores anything.

    for i in range(n):                        for i in range(n):
        left_store[i] = left                      here = u[i]
        here = u[i]                   ->          left_store[i] = left
        u[i] = here + left                        u[i] = here + left
        left = here                               left = here

Otherwise LLVM cannot shift a vector of it, see `analyses/first_order_recurrences.py`.  Refused where what is stored may
be what it is computed from.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.first_order_recurrences import shifted
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import Assign, Block, For, Function, Name, Stmt, Store, map_blocks, reads, writes


def compute_before_stores(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops; see the module."""
    iterations = Iterations(function)

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and (values := set(shifted(stmt.body).values())):
            return replace(stmt, body=_ordered(stmt.body, values, iterations))
        return map_blocks(stmt, lambda block: tuple(map(statement, block)))

    return replace(function, body=tuple(map(statement, function.body)))


def _ordered(body: Block, values: set[str], iterations: Iterations) -> Block:
    """An iteration that computes the values, and what they follow from, before its first store, if it can."""
    first = next((k for k, stmt in enumerate(body) if isinstance(stmt, Store)), len(body))
    needed: list[Stmt] = []
    wanted = set(values)
    for k in range(len(body) - 1, first, -1):
        stmt = body[k]
        if not isinstance(stmt, Assign) or stmt.target not in wanted:
            continue
        stores = (one for one in body[first:k] if isinstance(one, Store))
        loads = [access.array for access in iterations.accesses((stmt,))]
        if any(iterations.may_share(store.array, array) for store in stores for array in loads):
            return body
        # a variable that iterations hand on is another one before it is set
        between = {name for one in body[first:k] for name in writes(one)}
        handed = (name for name in reads(stmt) if name in between and not iterations.fixed(Name(name)))
        if not iterations.fixed(Name(stmt.target)) or any(handed):
            return body
        wanted.update(reads(stmt))
        needed.append(stmt)
    moved = {stmt.key for stmt in needed}
    return (*body[:first], *reversed(needed), *(stmt for stmt in body[first:] if stmt.key not in moved))
