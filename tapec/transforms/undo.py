"""Arrays whose stores the reverse sweep undoes, so that their elements can be read again.

    for s in range(sites):                      for s in range(sites):
        for m in range(n):                          for m in range(n):
            for b in range(4):             ->           for b in range(4):
                y += p[k[m], b] * e                         y += p[k[m], b] * e
            p[m, 0] = y                                 old_store[s, m] = p[m, 0]
                                                        p[m, 0] = y
                                                ...
                                                for s in range(sites - 1, -1, -1):
                                                    for m in range(n - 1, -1, -1):
                                                        p[m, 0] = old_store[s, m]
                                                        for b in range(4):
                                                            e_bar += p[k[m], b] * y_bar

Where nothing tells which elements a loop reads (`k[m]`), each of them would be kept as it is read: four per store here.
One number per store is enough if the array is as it was when the reverse sweep comes to the loop.  That takes

- an array that nobody sees afterwards, and that has one name: it is made in the function, outside of loops that are
  reversed at once or run again, and is not returned;
- loads in a block that does not store into the array itself: at its end the array is as its loads found it.

It is worth it if the stores stand in fewer loops than the loads, or if there are fewer of them.
"""

from __future__ import annotations

from tapec.analyses.aliases import is_memory
from tapec.analyses.scopes import Scopes
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    has_checkpoints,
    map_blocks,
    names_in,
    walk,
)
from tapec.syntax.types import Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.immediate_reversal import ReversedAtOnce
from tapec.transforms.recomputation_costs import repeatable
from tapec.transforms.storage import Planner

# so deep are expressions that elements can give
_DEPTH = 4
_MADE = frozenset({"empty", "zeros", "copy"})


def arrays_to_undo(function: Function, program: Function, planner: Planner) -> frozenset[str]:
    """The arrays for which it is worth it, given what is kept without; `program` is the function with its shadows."""
    if has_checkpoints(function.body):
        return frozenset()
    results = {name for value in function.results for name in names_in(value)}
    return _Search(program, planner, frozenset(function.types) - results).run()


class _Search:
    def __init__(self, program: Function, planner: Planner, names: frozenset[str]) -> None:
        self.planner = planner
        self.scopes = planner.scopes
        self.memory = planner.memory
        self.types = planner.types
        self.plan = planner.plan
        self.params = frozenset(program.params)
        self.names = names
        # the block that a loop stands in, by the loop's id
        self.around = {stmt.key: planner.scopes.of[stmt.key] for stmt in walk(program.body)}
        self._candidates: dict[str, bool] = {}

    def run(self) -> frozenset[str]:
        # the arrays whose elements give a number that is kept, by the number of loops that it is kept for; a copy
        # of an array is as much as a number kept for a loop per axis
        found: list[tuple[int, set[str]]] = []
        for name, slot in self.plan.stored.items():
            if isinstance(self.types[name], Scalar):
                arrays = self.elements(name, _DEPTH)
                if arrays:
                    found.append((len(slot.loops), arrays))
        for owner, copies in self.plan.snapshots.items():
            assert owner is not None
            around = self.around[owner]
            for copy in copies:
                type_ = self.types[copy.array]
                if isinstance(type_, Array) and self.candidate(copy.array):
                    found.append((len(self.planner.chain(around)) + type_.ndim, {copy.array}))
        chosen = {array for _, arrays in found for array in arrays}
        while True:
            kept = [(depth, arrays) for depth, arrays in found if arrays <= chosen]
            worth = {array for array in chosen if self.worth(array, [d for d, arrays in kept if array in arrays])}
            if worth == chosen:
                return frozenset(chosen)
            chosen = worth

    def worth(self, array: str, depths: list[int]) -> bool:
        stores = [self.depth(stmt) for stmt in self.stores(array)]
        deepest = max(stores)
        return max(depths, default=0) > deepest or depths.count(deepest) > 2 * stores.count(deepest)

    def depth(self, stmt: Stmt) -> int:
        return len(self.planner.chain(self.scopes.of[stmt.key]))

    def stores(self, array: str) -> list[Stmt]:
        return self.memory.stores.get(self.memory.aliases.find(array), [])

    def elements(self, name: str, depth: int) -> set[str] | None:
        """The arrays whose elements give a number; None if it takes more than they."""
        scope = self.scopes.scope_of.get(name)
        if scope is None or not self.planner.chain(scope):
            return set()
        defs = self.scopes.defs[name]
        if len(defs) == 1 and isinstance(defs[0], For):
            return set()
        if len(defs) != 1 or depth == 0 or not isinstance(defs[0], Assign) or not repeatable(defs[0]):
            return None
        value: Expr = defs[0].value
        found: set[str] = set()
        if isinstance(value, Op) and value.fn == "load":
            array, *subs = value.args
            assert isinstance(array, Name)
            if not self.memory.stable(defs[0], array.id):
                if not self.candidate(array.id) or not self.memory.whole_in(array.id, scope):
                    return None
                found.add(array.id)
            value = Op("load", tuple(subs))
        elif not isinstance(self.types[name], Scalar) or self.planner.expensive(defs[0]):
            return None
        for operand in names_in(value):
            more = self.elements(operand, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    def candidate(self, array: str) -> bool:
        if array not in self._candidates:
            self._candidates[array] = self._candidate(array)
        return self._candidates[array]

    def _candidate(self, array: str) -> bool:
        defs = self.scopes.defs.get(array, [])
        made = defs[0] if len(defs) == 1 else None
        fresh = isinstance(made, Assign) and isinstance(made.value, Op) and made.value.fn in _MADE
        if not fresh or array in self.params or array not in self.names:
            return False
        if self.planner.chain(self.scopes.scope_of[array]):
            return False
        cls = self.memory.aliases.find(array)
        if any(n != array and is_memory(t) and self.memory.aliases.find(n) == cls for n, t in self.types.items()):
            return False
        for stmt in self.stores(array):
            if not isinstance(stmt, Store):
                return False
            for around in self.scopes.of[stmt.key].ancestors():
                again = around.key in self.plan.fused or around.key in self.plan.replayed
                if again and not self.scopes.scope_of[array].inside(around):
                    return False
        return True


def with_old_values(block: Block, arrays: frozenset[str], emitter: Emitter) -> tuple[Block, frozenset[str]]:
    """A block that reads each element before it stores into it, and the names of what is read."""
    names: set[str] = set()

    def changed(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Store) and stmt.array in arrays:
                type_ = emitter.types[stmt.array]
                assert isinstance(type_, Array)
                old = emitter.fresh("old", type_.element)
                names.add(old)
                out.append(Assign(old, Op("load", (Name(stmt.array), *stmt.index)), stmt.span))
            out.append(map_blocks(stmt, changed))
        return tuple(out)

    return changed(block), frozenset(names)


def only_reversed(arrays: frozenset[str], fused: ReversedAtOnce) -> bool:
    """Whether none of the stores that put elements back stands before a loop of the forward sweep."""
    moved = [stmt for block in fused.before.values() for stmt in walk(block)]
    return not any(isinstance(stmt, Store) and stmt.array in arrays for stmt in moved)


def remark_undo(arrays: frozenset[str], scopes: Scopes) -> None:
    for array in sorted(arrays):
        span = getattr(scopes.defs[array][0], "span", None)
        why = "the reverse sweep undoes what is stored into it, so that its elements can be read again"
        remark(span, "storage", "`{0}` is put back", why, Named(array, span))
