"""Remarks on the plan for primal values in the reverse sweep.

Sizes are expressions in what the function is given: parameters and their extents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.analyses.aliases import Memory
from tapec.analyses.scopes import Scopes
from tapec.remarks import Named, remark
from tapec.syntax.core import Assign, Const, Expr, Name, Op, Stmt
from tapec.syntax.types import Array, Scalar, Type
from tapec.transforms.storage_plan import Slot, StoragePlan

# so many operations does an expression have at most
_LARGEST = 60


def remark_plan(
    plan: StoragePlan,
    scopes: Scopes,
    memory: Memory,
    types: dict[str, Type],
    shadows: frozenset[str],
) -> None:
    """Remark what is stored, recomputed, run again and handed on, in program order."""
    remarks = _PlanRemarks(plan, scopes, memory, types, shadows)
    for _, span, what, why, *about in sorted(remarks.all(), key=lambda one: one[0]):
        remark(span, "storage", what, why, *about)


class _PlanRemarks:
    def __init__(
        self, plan: StoragePlan, scopes: Scopes, memory: Memory, types: dict[str, Type], shadows: frozenset[str]
    ) -> None:
        self.plan = plan
        self.scopes = scopes
        self.memory = memory
        self.types = types
        self.shadows = shadows
        self.owners = {
            region.key: region.owner for inner in scopes.body.values() for region in inner if region.owner is not None
        }

    def all(self) -> list[tuple[Any, ...]]:
        """The place in the program, and the parts of a remark, of each that the plan holds."""
        plan, found = self.plan, list[tuple[Any, ...]]()
        groups = (plan.stored, *plan.starts.values())
        buffers = {slot.name for slots in groups for slot in slots.values() if slot.around}
        for name, slot in plan.stored.items():
            if name not in buffers:
                found.append(self.stored(name, slot, self.reason(name)))
        for region, slots in plan.starts.items():
            owner = self.owners[region]
            for name, slot in slots.items():
                shadow = name in self.shadows
                why = "it is another array in each iteration" if shadow else "the iteration before it set it"
                found.append((self.place(owner), owner.span, *self.stored(name, slot, why)[2:]))
        for region in plan.replayed:
            owner = self.owners[region]
            why = "its iterations depend on nothing that is gone, and nothing of them is kept"
            found.append((self.place(owner), owner.span, "run again", why))
        for names in plan.recomputed.values():
            for name in names:
                made = self.scopes.defs[name][0]
                array = plan.elements.get(name)
                if array is not None and made.span is not None:
                    why = "the iteration has stored it there, and nothing overwrites it"
                    found.append((self.place(made), made.span, "loaded from `{0}`", why, self.named(array)))
                    continue
                if made.span is not None and name not in self.shadows and not is_extent(made):
                    about = self.named(name), self.value(name)
                    found.append((self.place(made), made.span, "computed again", "", *about))
        for loop, copies in plan.snapshots.items():
            for copy in copies:
                place, span = self.scopes.place.get(loop, -1), getattr(copy.statements[0], "span", None)
                if copy.slot is not None:
                    why = "the elements that the loop reads are overwritten later"
                    kept = self.named(copy.array), Name(copy.array), self.room(copy.slot, copy.name), ()
                    found.append((place, span, "stored", why, *kept))
                    continue
                found.append((place, span, "`{0}` is copied", "its elements are read again", self.named(copy.array)))
        for region, turned in plan.rotated.items():
            owner = self.owners[region]
            for cycle in turned:
                why = "the iterations exchange `{0}` and `{1}`: the reverse sweep exchanges them back"
                found.append((self.place(owner), owner.span, "not kept", why, *map(self.named, cycle)))
        for region, handed in plan.handed.items():
            owner = self.owners[region]
            for one in handed:
                why = "the iterations hand on one array at a time: each makes `{0}` anew"
                found.append((self.place(owner), owner.span, "not kept", why, self.named(one.made)))
        return found

    def place(self, stmt: Stmt) -> int:
        return self.scopes.place.get(stmt.key, -1)

    def stored(self, name: str, slot: Slot, why: str) -> tuple[Any, ...]:
        """A value that is kept: its name, what computes it, the bytes, and the loops that multiply them."""
        made = self.scopes.defs[name][0] if self.scopes.defs.get(name) else None
        size = self.room(slot, name) if slot.dense else self.bytes_of(name)
        anew = slot.around if slot.dense else slot.loops
        loops = tuple(region.owner.span for region in anew if region.owner is not None)
        about = self.named(name), self.value(name), size, loops
        if made is None:
            return -1, None, "stored", why, *about
        return self.place(made), made.span, "stored", why, *about

    def room(self, slot: Slot, name: str) -> Expr:
        """The bytes of a buffer."""
        type_ = self.types[name]
        assert isinstance(type_, Scalar | Array)
        size: Expr = Const(np.dtype(type_.dtype).itemsize)
        for extent in slot.extents:
            size = times(size, self.formula(extent))
        return size

    def named(self, name: str) -> Named:
        return Named(name, self.scopes.line_of(name))

    def reason(self, name: str) -> str:
        """Why a value is kept rather than computed again."""
        defs = self.scopes.defs[name]
        if len(defs) != 1 or not isinstance(defs[0], Assign):
            return "how it came about depends on a branch"
        value = defs[0].value
        if isinstance(value, Op) and value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            return "the element is overwritten later" if not self.memory.stable(defs[0], array.id) else ""
        if isinstance(value, Op) and (value.fn == "copy" or isinstance(self.types[name], Array)):
            return "the array is overwritten later"
        return "computing it again costs more"

    # expressions

    def value(self, name: str) -> Expr:
        """What computes a value, as one expression; its name where that is not one operation after another."""
        return self.nested(Name(name), [_LARGEST])

    def nested(self, expr: Expr, room: list[int]) -> Expr:
        """An expression with names replaced by what computes them, as long as there is room for an operation."""
        if isinstance(expr, Op):
            return Op(expr.fn, tuple(self.nested(arg, room) for arg in expr.args))
        if isinstance(expr, Const) or room[0] == 0:
            return expr
        defs = self.scopes.defs.get(expr.id, [])
        made = defs[0] if len(defs) == 1 else None
        if not isinstance(made, Assign) or not isinstance(self.types.get(expr.id), Scalar):
            return expr
        if isinstance(made.value, Op) and made.value.fn == "pop":
            return expr
        room[0] -= 1
        return self.nested(made.value, room)

    def formula(self, expr: Expr) -> Expr:
        """A number of elements in terms of parameters and their extents, as far as that is known."""
        return self.nested(expr, [_LARGEST])

    def bytes_of(self, name: str) -> Expr:
        """The size of one value."""
        type_ = self.types[name]
        assert isinstance(type_, Scalar | Array)
        item = Const(np.dtype(type_.dtype).itemsize)
        if isinstance(type_, Scalar):
            return item
        defs = self.scopes.defs.get(name, [])
        value = defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None
        if isinstance(value, Op) and value.fn in ("empty", "zeros"):
            size: Expr = item
            for extent in value.args[1:]:
                size = times(size, self.formula(extent))
            return size
        if isinstance(value, Op) and value.fn == "copy" and isinstance(value.args[0], Name):
            return Op("nbytes", (value.args[0],))
        return Op("nbytes", (Name(name),))


def is_extent(stmt: Stmt) -> bool:
    """Whether a statement asks for an extent: nobody wants to hear of it."""
    return not isinstance(stmt, Assign) or (isinstance(stmt.value, Op) and stmt.value.fn == "dim")


def times(first: Expr, second: Expr) -> Expr:
    """A product, of numbers as a number."""
    if isinstance(first, Const) and isinstance(second, Const):
        assert isinstance(first.value, int) and isinstance(second.value, int)
        return Const(first.value * second.value)
    return Op("*", (first, second))
