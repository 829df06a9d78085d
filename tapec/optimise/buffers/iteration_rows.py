"""Arrays that the iterations of a counted loop make, and keep on a list, are rows of one array.

    p_stack = [np.empty((0, 0))][:0]          p_rows = np.empty((max(n, 0), m, m))
    for t in range(n):                        for t in range(n):
        p = np.empty((m, m))                      p = p_rows[t]
        p_stack.append(p)              ->         ...
        ...                                   for t in range(n - 1, -1, -1):
    for t in range(n - 1, -1, -1):                p = p_rows[t]
        p = p_stack.pop()                         ...
        ...

To make an array, to keep it on a list and to let go of it take as long as some forty operations, and a list as long to
compile as ten lines.  The memory is the same; it is there at once.  Both loops run once, the second one through the
iterations of the first; extents are known before, and not negative; the array is no result, which would keep all the
rows.

Late: other passes take arrays that iterations make for separate ones.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.analyses.scopes import Scopes
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.buffers.stack_lists import ArrayList, array_lists
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.identities import nonnegative
from tapec.optimise.thread_flags import has_threads
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Return,
    Stmt,
    map_blocks,
    may_leave,
    walk,
)
from tapec.syntax.types import INT64, Array


def keep_in_rows(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such rows; see the module."""
    if has_threads(function):
        return function
    rows = IterationRows(function)
    found = [(one, loops) for one in array_lists(function, rows.where) if (loops := rows.loops(one)) is not None]
    if not found:
        return function
    fresh = Fresh(function.types)
    # what becomes of a statement, by its id
    new: dict[int, list[Stmt]] = {}
    for one, (filling, emptying) in found:
        made = one.made.value
        assert isinstance(made, Op)
        dtype, *dims = made.args
        type_ = function.types[one.made.target]
        assert isinstance(type_, Array)
        store = fresh(f"{one.made.target}_rows", Array(type_.dtype, 1 + type_.ndim))
        before = new.setdefault(filling.key, [filling])
        count: Expr = filling.stop
        if not nonnegative(count, rows.nests):
            count = Name(fresh("size", INT64))
            before[:0] = [Assign(count.id, Op("max", (filling.stop, Const(0))), filling.span)]
        before[-1:-1] = [Assign(store, Op("empty", (dtype, count, *dims)), one.made.span)]
        new[one.begun.key] = new[one.put.key] = []
        for stmt, loop in ((one.made, filling), (one.taken, emptying)):
            new[stmt.key] = [replace(stmt, value=Op("view", (Name(store), Name(loop.var))))]
        what, why = "`{0}` is a row of one array for all iterations", "the iterations are counted before the loop"
        remark(one.made.span, "iteration_rows", what, why, Named(one.made.target, one.made.span))

    def block(stmts: Block) -> Block:
        return tuple(map_blocks(made, block) for stmt in stmts for made in new.get(stmt.key, (stmt,)))

    return replace(function, body=block(function.body), types=fresh.types)


class IterationRows:
    """Which lists of a function's can be rows."""

    def __init__(self, function: Function) -> None:
        known = facts(function)
        self.where: Scopes = known.scopes
        self.nests = Nests(Iterations(function))
        self.aliases = known.aliases
        results = [value for stmt in walk(function.body) if isinstance(stmt, Return) for value in stmt.values]
        named = (value.id for value in results if isinstance(value, Name) and is_memory(function.types[value.id]))
        self.results = set(map(self.aliases.find, named))

    def loops(self, one: ArrayList) -> tuple[For, For] | None:
        """The loop that makes a list's arrays, and the one that takes them back; None where they stay on the list."""
        body, back = self.where.of[one.put.key], self.where.of[one.taken.key]
        filling, emptying = body.owner, back.owner
        if not isinstance(filling, For) or not isinstance(emptying, For) or body.parent is not back.parent:
            return None
        if body.parent is None or body.parent.loops() or self.where.of[one.begun.key].loops():
            return None
        places = [self.where.place[stmt.key] for stmt in (one.begun, filling, emptying)]
        counted = filling.start == Const(0) and filling.step == Const(1) and not may_leave(filling.body)
        if places != sorted(places) or not counted or not self.is_reverse(emptying, filling):
            return None
        made = one.made.value
        assert isinstance(made, Op)
        if not all(self.is_known(dim, filling) and nonnegative(dim, self.nests) for dim in made.args[1:]):
            return None
        return None if self.aliases.find(one.made.target) in self.results else (filling, emptying)

    def is_reverse(self, loop: For, other: For) -> bool:
        """Whether a loop counts down through the iterations of another one."""
        if loop.step != Const(-1) or loop.stop != Const(-1) or not self.nests.fixed(other.stop):
            return False
        if isinstance(other.stop, Const):
            return isinstance(other.stop.value, int) and loop.start == Const(other.stop.value - 1)
        last = self.nests.definition(loop.start) if isinstance(loop.start, Name) else loop.start
        return last == Op("-", (other.stop, Const(1)))

    def is_known(self, extent: Expr, loop: For) -> bool:
        """Whether an extent is set once, before a loop."""
        if not isinstance(extent, Name):
            return isinstance(extent, Const)
        made = self.where.defs.get(extent.id, ())
        before = all(self.where.place[stmt.key] < self.where.place[loop.key] for stmt in made)
        return len(made) <= 1 and before and not any(self.where.of[stmt.key].loops() for stmt in made)
