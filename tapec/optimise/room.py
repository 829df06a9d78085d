"""Have room made for several large arrays at once.

    a_store = np.empty((k, m, n))             tapec_runtime.make_room(8 * k * m * n + 8 * k * n)
    b_store = np.empty((k, n))          ->    a_store = np.empty((k, m, n))
    for i in range(k):                        b_store = np.empty((k, n))
        ...                                   for i in range(k):
                                                  ...

The memory of arrays that are freed together goes back to the system if it is more than twice the largest of them, and
each call of the function then waits for fresh pages: up to half of its time.  See `tapec_runtime.memory`.  Done before
loops for which two arrays with several axes are kept: those grow with the trips.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from tapec.optimise.names import Fresh
from tapec.syntax.core import Assign, Atom, Call, Const, Expr, For, Function, Loop, Name, Op, Stmt, names_in, writes
from tapec.syntax.types import INT64, Array


def make_room(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such requests; see the module."""
    fresh = Fresh(function.types)
    out: list[Stmt] = []
    group: list[Stmt] = []
    for stmt in function.body:
        if isinstance(stmt, For | Loop):
            out += [*_with_room(group, fresh), stmt]
            group = []
        else:
            group.append(stmt)
    return replace(function, body=(*out, *group), types=fresh.types)


def _with_room(block: list[Stmt], fresh: Fresh) -> list[Stmt]:
    large = [place for place, stmt in enumerate(block) if _is_large(stmt, fresh)]
    # what the extents are must be known before the first array is made
    while len(large) > 1 and not _known(block, large):
        large.pop(0)
    if len(large) < 2:
        return block
    # bytes of one element of each of the arrays that have the same extents
    bytes_of: Counter[tuple[Expr, ...]] = Counter()
    for place in large:
        stmt = block[place]
        assert isinstance(stmt, Assign) and isinstance(stmt.value, Op)
        type_ = fresh.types[stmt.target]
        assert isinstance(type_, Array)
        bytes_of[stmt.value.args[1:]] += np.dtype(type_.dtype).itemsize
    made: list[Stmt] = []
    total: Atom = Const(0)
    for extents, number in bytes_of.items():
        size: Atom = Const(number)
        for extent in extents:
            size = _named(Op("*", (size, extent)), fresh, made)
        total = size if total == Const(0) else _named(Op("+", (total, size)), fresh, made)
    request = Call((), "tapec_runtime.make_room", (total,))
    return [*block[: large[0]], *made, request, *block[large[0] :]]


def _is_large(stmt: Stmt, fresh: Fresh) -> bool:
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn != "empty":
        return False
    type_ = fresh.types[stmt.target]
    # an axis of lanes belongs to a small array
    return isinstance(type_, Array) and type_.ndim > 1 and all(isinstance(one, Name) for one in stmt.value.args[1:])


def _known(block: list[Stmt], large: list[int]) -> bool:
    """Whether the extents of all arrays are set before the first of them."""
    later = {name for stmt in block[large[0] :] for name in writes(stmt)}
    return all(later.isdisjoint(_extents(block[place])) for place in large)


def _extents(stmt: Stmt) -> set[str]:
    assert isinstance(stmt, Assign) and isinstance(stmt.value, Op)
    return {name for extent in stmt.value.args[1:] for name in names_in(extent)}


def _named(value: Op, fresh: Fresh, made: list[Stmt]) -> Name:
    name = fresh("n", INT64)
    made.append(Assign(name, value))
    return Name(name)
