"""When the values of a block go on lists that the calls in it are handed, too.

The reverse sweep takes what a block keeps before it reverses the block's calls, so it must have been put on the list
after what those have put there: what all values of a type share, at the block's end; what is a value's own, after the
last call, since a `break` may follow.
"""

from __future__ import annotations

from tapec.analyses.scopes import Scope
from tapec.syntax.core import Block, Break, If, Stmt, may_leave, walk
from tapec.transforms.residual_requests import Unhandable
from tapec.transforms.storage import Planner
from tapec.transforms.storage_plan import Slot, StoragePlan
from tapec.transforms.sweep import always_breaks


class LatePushes:
    """The values of one block that wait."""

    def __init__(
        self,
        planner: Planner,
        region: Scope,
        plan: StoragePlan,
        block: Block,
        waiting: dict[str, Slot] | None,
        headed: bool,
    ) -> None:
        self.planner = planner
        self.plan = plan
        self.block = block
        # whether the block is that of a loop which counts an iteration when it has passed its test
        self.headed = headed
        self.shared: set[str] = set()
        self.own = dict(waiting or {})
        self.own |= {name: slot for name, slot in plan.starts.get(region.key, {}).items() if slot.late}
        # the last statement with calls in it
        places = (place for place, stmt in enumerate(block) if planner.handed and self.calls(stmt))
        self.last = max(places, default=-1)
        self.passed = False

    def calls(self, stmt: Stmt) -> bool:
        return any(one.key in self.planner.handed for one in walk((stmt,)))

    def takes(self, name: str, slot: Slot) -> bool:
        """Whether a value has to wait; it does then."""
        if slot.late and slot.name in self.planner.lists.values():
            self.shared.add(name)
            return True
        if slot.late and not self.passed:
            self.own[name] = slot
            return True
        return False

    def handed_on(self, place: int) -> tuple[dict[str, Slot], dict[str, Slot]]:
        """What waits for the calls on one side of a branch, where the other side leaves the loop: a `while`.

        Only where the iteration that ends the loop is none that the reverse sweep knows.
        """
        stmt = self.block[place]
        if not self.headed or place != self.last or not isinstance(stmt, If):
            return {}, {}
        for side, other in ((0, stmt.orelse), (1, stmt.body)):
            if always_breaks(other) and not any(map(self.calls, other)):
                given, self.own = self.own, {}
                return (given, {}) if side == 0 else ({}, given)
        return {}, {}

    def after(self, place: int) -> list[tuple[str, Slot]]:
        """What goes on lists of its own after a statement.

        raises  Unhandable where a `break` may come before
        """
        if place != self.last:
            return []
        self.passed = True
        if self.own and may_leave(self.block[: place + 1], Break):
            raise Unhandable("a `break` may come before the last call in an iteration")
        return list(self.own.items())

    def at_end(self) -> list[tuple[str, Slot]]:
        """What goes on shared lists: the reverse sweep takes it in the order of the plan."""
        stored = reversed(self.plan.stored.items()) if self.shared else ()
        return [(name, slot) for name, slot in stored if name in self.shared]
