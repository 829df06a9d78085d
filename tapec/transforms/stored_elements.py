"""Values that an iteration stores in an array: the reverse sweep loads them from it.

    for i in range(n):                                 for i in range(n):
        for j in range(m):                                 for j in range(m):
            t = np.exp(x[i, j])                ->              x_bar[i, j] += e[i, j] * e_bar[i, j]
            e[i, j] = t

Else the exponential would be kept a second time, or computed again.  The array is one that the function makes itself;
nothing overwrites the element later, the store comes whenever the value does, and the reverse sweep does not put back
what the array held before it.

A cheap value, such as a quotient, is loaded only from an array that an operation reads as a whole, a product of
matrices, say: others may vanish when loops are joined, and a load of theirs would keep them.
"""

from __future__ import annotations

from functools import cached_property

from tapec.analyses.aliases import Memory
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Break, Expr, Name, Op, Raise, Return, Stmt, Store, may_leave, walk
from tapec.syntax.types import Array, Scalar
from tapec.transforms.checkpoint_contents import contents
from tapec.transforms.emitter import Emitter
from tapec.transforms.iteration_starts import IterationStarts
from tapec.transforms.loop_exits import Exits
from tapec.transforms.recomputation_costs import STORE


class StoredElements(IterationStarts):
    """Finds such elements, and has the values from them."""

    def __init__(
        self, emitter: Emitter, scopes: Scopes, memory: Memory, exits: Exits, shadows: frozenset[str]
    ) -> None:
        super().__init__(emitter, scopes, memory, exits, shadows)
        self._holders: dict[str, Store | None] = {}

    def held(self, name: str, scope: Scope) -> Store | None:
        """The store of a value into an element, if loading it from there takes least."""
        again = self._again(name, scope)
        return None if self._loaded(name, scope, again) is None else self.holder(name, scope, again)

    def from_element(self, name: str, stmt: Store, scope: Scope) -> None:
        """Load a value of an iteration from the element that it is stored in."""
        operands = (Name(stmt.array), *stmt.index)
        self.plan.recomputed.setdefault(scope.key, []).append(name)
        self.plan.elements[name] = stmt.array
        self.plan.reloaded[name] = Assign(name, Op("load", operands), stmt.span)
        for operand in operands:
            self._demand(operand, scope)

    def holder(self, name: str, scope: Scope, again: float) -> Store | None:
        if name not in self._holders:
            self._holders[name] = self._find(name, scope)
        found = self._holders[name]
        return found if found is None or again >= STORE or self._class(found.array) in self._whole else None

    def _find(self, name: str, scope: Scope) -> Store | None:
        type_ = self.types[name]
        if len(self.scopes.defs[name]) != 1 or not isinstance(type_, Scalar) or not type_.is_float:
            return None
        stores = (stmt for stmt in scope.block if isinstance(stmt, Store) and stmt.value == Name(name))
        return next((stmt for stmt in stores if self._holds(stmt, name, scope)), None)

    def _holds(self, stmt: Store, name: str, scope: Scope) -> bool:
        """Whether the element that a value is stored in holds it whenever the reversed iteration asks for it."""
        array, cls = self.types[stmt.array], self._class(stmt.array)
        if stmt.accumulate or not isinstance(array, Array) or array.element != self.types[name]:
            return False
        # others see parameters, and may change them before the reverse sweep
        if any(self._class(one) == cls for one in (*self.shadows, *self.undone, *self.scopes.params)):
            return False
        first, last = self.scopes.place[self.scopes.defs[name][0].key], self.scopes.place[stmt.key]
        between = tuple(one for one in scope.block if first < self.scopes.place[one.key] < last)
        if may_leave(between, Break, Return, Raise):
            return False
        # the load stands where the value is made
        made = (place for operand in stmt.index for place in self._made_in(operand, scope))
        return all(place < first for place in made) and self.memory.stable(stmt, stmt.array)

    def _made_in(self, operand: Expr, scope: Scope) -> list[int]:
        """Where a block makes an operand."""
        if not isinstance(operand, Name):
            return []
        defs = (one for one in self.scopes.defs.get(operand.id, ()) if self.scopes.of[one.key].inside(scope))
        return [self.scopes.place[one.key] for one in defs]

    def _class(self, array: str) -> str:
        return self.memory.aliases.find(array)

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The memory that some operation other than a load reads."""
        stmts = (stmt for stmt in walk(self.scopes.root.block) if not _in_loops(stmt))
        return frozenset(self._class(name) for stmt in stmts for name in contents(stmt, self.types))


def _in_loops(stmt: Stmt) -> bool:
    """Whether a statement reads an array by elements, or is written as a loop that does."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("load", "copy")
