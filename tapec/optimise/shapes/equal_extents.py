"""Know the extents of a variable that stands for several arrays of one size, such as buffers that change places.

    now, old = np.empty(n), np.empty(n)           now, old = np.empty(n), np.empty(n)
    for t in range(steps):                        for t in range(steps):
        for i in range(1, now.shape[0] - 1):  ->      for i in range(1, n - 1):
            ...                                           ...
        now, old = old, now                           now, old = old, now

The iteration count of the inner loop is known before the outer one then, and what it keeps goes into a buffer that the
loops' variables index, not on a list.  Which extents are equal, `analyses/merged_extents.py` says.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.analyses.merged_extents import EqualExtents, pushed_on_lists
from tapec.analyses.scopes import Scopes
from tapec.syntax.core import Assign, Block, Const, Expr, Function, Name, Op, Push, Stmt, map_blocks, walk


def extents_of_one_size(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such extents known; see the module."""
    worker = _Extents(function, facts(function).scopes)
    return replace(function, body=worker.block(function.body))


def extents_of_kept(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function of a gradient with the extents known of what lists keep, too, and of arrays that are set once."""
    if not any(isinstance(stmt, Push) for stmt in walk(function.body)):
        return function
    worker = _Extents(function, facts(function).scopes, kept=True)
    return replace(function, body=worker.block(function.body))


class _Extents:
    """Writes such extents.

    kept  whether lists of arrays count, too, and arrays that are set once, of which other passes know before
          a function is differentiated
    """

    def __init__(self, function: Function, found: Scopes, kept: bool = False) -> None:
        self.scopes = found
        self.kept = kept
        self.equal = EqualExtents(function.types, found, *(pushed_on_lists(function) if kept else ()))

    def block(self, block: Block) -> Block:
        return tuple(map(self.statement, block))

    def statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis))))):
                several = len(self.scopes.defs.get(array, ())) > 1
                extent = self.equal.extent(array, axis) if several or self.kept else None
                known = extent is not None and self.is_known(extent, stmt)
                return replace(stmt, value=extent) if extent is not None and known else stmt
        return map_blocks(stmt, self.block)

    def is_known(self, extent: Expr, stmt: Stmt) -> bool:
        """Whether a number is known where a statement stands."""
        defs = self.scopes.defs.get(extent.id, ()) if isinstance(extent, Name) else ()
        return all(self.scopes.place[made.key] < self.scopes.place[stmt.key] for made in defs)
