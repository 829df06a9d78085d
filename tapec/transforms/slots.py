"""The buffers and stacks on which values go from the forward sweep to the reverse sweep, by the plan."""

from __future__ import annotations

from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Loop, Name, Op, Push, Stmt, Store
from tapec.syntax.types import Array, Scalar, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.storage_plan import Slot, StoragePlan


class Slots:
    """Makes them, fills them, and takes the values back."""

    types: dict[str, Type]
    emitter: Emitter
    plan: StoragePlan

    def counter(self, region: Scope, stmt: For | Loop) -> list[Stmt]:
        """The iteration's number, where the loop's variable is something else."""
        name = self.plan.counters.get(region.key)
        if name is None or not isinstance(stmt, For):
            return []
        out = self.emitter.child()
        out.span = stmt.span
        if stmt.step == Const(-1):
            out.assign(name, Op("-", (stmt.start, Name(stmt.var))))
            return out.out
        offset = out.atom(Op("-", (Name(stmt.var), stmt.start)))
        if stmt.step == Const(1):
            out.assign(name, offset)
        else:
            out.assign(name, Op("//", (offset, stmt.step)))
        return out.out

    def allocate(self, stmt: For | Loop) -> list[Stmt]:
        """Buffers and stacks for a nest of loops, made before it."""
        out = self.emitter.child()
        out.span = stmt.span
        made: dict[Expr, Atom] = {}
        for slot, name in self.plan.buffers.get(stmt.key, ()):
            type_ = self.types[name]
            if slot.dense:
                assert isinstance(type_, Scalar | Array)
                dims = []
                for extent in slot.extents:
                    if extent not in made:
                        made[extent] = out.atom(extent)
                    dims.append(made[extent])
                out.assign(slot.name, Op("empty", (Const(type_.dtype), *dims)))
                if slot.around and not self.plan.stored[slot.name].late:
                    out.add(self.put(slot.name, self.plan.stored[slot.name]))
            else:
                out.assign(slot.name, Op("stack", stack_args(type_)))
        return out.out

    def buffers_of(self, stmt: For | Loop) -> list[Slot]:
        """The buffers for a nest of loops of which there is one in each iteration of the loops around."""
        return [slot for slot, _ in self.plan.buffers.get(stmt.key, ()) if slot.around]

    def index(self, slot: Slot) -> tuple[Atom, ...]:
        out: list[Atom] = []
        for region in slot.loops:
            loop = region.owner
            assert isinstance(loop, For)
            out.append(Name(self.plan.counters.get(region.key, loop.var)))
        return tuple(out)

    def put(self, name: str, slot: Slot) -> Stmt:
        if slot.dense:
            return Store(slot.name, self.index(slot), Name(name))
        return Push(slot.name, Name(name))

    def get(self, name: str, slot: Slot) -> Stmt:
        if slot.dense:
            return Assign(name, Op("load", (Name(slot.name), *self.index(slot))))
        return Assign(name, Op("pop", (Name(slot.name),)))


def stack_args(type_: Type) -> tuple[Expr, ...]:
    if isinstance(type_, Array):
        return (Const(type_.dtype), Const(type_.ndim), Const(type_.layout))
    assert isinstance(type_, Scalar)
    return (Const(type_.dtype),)
