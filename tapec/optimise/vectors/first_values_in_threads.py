"""Give names a first value in the iterations of a loop on threads, where an iteration may read them unset for all Numba
knows.

    for chunk in numba.prange(chunks):          for chunk in numba.prange(chunks):
        for k in range(n):                          y = 0.0
            if c[k]:                                for k in range(n):
                y = x[k]              ->                if c[k]:
            if c[k]:                                        y = x[k]
                s += 1.0 / y                            if c[k]:
                                                            s += 1.0 / y

What is read where a branch alone has set it counts as a value from outside the loop, to Numba 0.68, and what is
computed of such values alone as the same in all iterations: `1.0 / y` was computed before the loop, of nothing.

Last of the passes, on the names that remain.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.optimise.simplify.unset_names import Initialised, Known, blank
from tapec.syntax.core import Assign, Block, Expr, For, Function, Op, Stmt, map_blocks, reads, written_in
from tapec.syntax.types import Array


def initialise_in_threads(function: Function) -> Function:
    """The function with first values in such loops; see the module."""

    def block(stmts: Block) -> Block:
        return tuple(_with_first(stmt, function) if _on_threads(stmt) else map_blocks(stmt, block) for stmt in stmts)

    return replace(function, body=block(function.body))


def _on_threads(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.parallel


def _with_first(stmt: Stmt, function: Function) -> Stmt:
    assert isinstance(stmt, For)
    worker = _Read()
    # what no iteration sets comes from before the loop
    own = written_in(stmt.body)
    worker.block(stmt.body, worker.names.mask([name for name in function.types if name not in own]))
    first = tuple(Assign(name, _first(function, name)) for name in worker.unset)
    return replace(stmt, body=(*first, *stmt.body))


class _Read(Initialised):
    """Notes all names that are read where they may be unset."""

    def statement(self, stmt: Stmt, known: Known) -> Known:
        if known is not None:
            for name in reads(stmt):
                if not known & self.names.bit(name):
                    self.unset[name] = None
        return super().statement(stmt, known)


def _first(function: Function, name: str) -> Expr:
    """A first value; that an array has no elements is hidden from Numba, to which extents of a name are equal."""
    type_, value = function.types[name], blank(function.types[name])
    if not isinstance(type_, Array):
        return value
    return _hidden(value)


def _hidden(value: Expr) -> Expr:
    if not isinstance(value, Op):
        return value
    if value.fn == "empty":
        dtype, *dims = value.args
        return Op("empty", (dtype, *(Op("tapec_runtime.opaque", (dim,)) for dim in dims)))
    return Op(value.fn, (_hidden(value.args[0]), *value.args[1:]))
