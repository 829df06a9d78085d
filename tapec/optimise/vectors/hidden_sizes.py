"""Hide sizes that change from Numba, where loops run on threads.

    w = np.empty(m)            ->    w = np.empty(tapec_runtime.opaque(m))
    ...                              ...
    m = m - 1                        m = m - 1

Numba takes a variable for one number, and axes of arrays for equal whose extents it was (see
`analyses/varying_extents.py`).
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS
from tapec.analyses.varying_extents import VaryingExtents
from tapec.optimise.rewriter import Rewriter
from tapec.syntax.core import Assign, Expr, Function, Name, Op, Stmt, map_blocks

_SIZED = (*ALLOCATIONS, "reshape", "view")


def hide_sizes(function: Function) -> Function:
    """The function with arrays and slices of sizes that Numba knows nothing of, where they change."""
    return _Hidden(function).rewritten()


class _Hidden(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.rebound = VaryingExtents(function)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(value=Op(fn=fn, args=(first, *sizes))) if fn in _SIZED:
                # a subscript is no size
                kept = [fn == "view" and not isinstance(size, Op) for size in sizes]
                out: list[Stmt] = []
                new = [s if keep else self.hidden(s, stmt, out) for s, keep in zip(sizes, kept, strict=True)]
                return [*out, stmt if new == sizes else replace(stmt, value=Op(fn, (first, *new)))]
        return [map_blocks(stmt, self.block)]

    def hidden(self, size: Expr, stmt: Assign, out: list[Stmt]) -> Expr:
        if isinstance(size, Op):
            return Op(size.fn, tuple(self.hidden(bound, stmt, out) for bound in size.args))
        if not isinstance(size, Name) or not self.rebound.changing(size):
            return size
        name = self.fresh(size.id, self.fresh.types[size.id])
        out.append(Assign(name, Op("tapec_runtime.opaque", (size,)), stmt.span))
        return Name(name)
