"""What stands before the outermost loop around one that a pass changes: buffers and their extents."""

from __future__ import annotations

from tapec.optimise.clean.names import Fresh
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Name, Op, Stmt, Store
from tapec.syntax.types import INT64, Array


class Outside:
    """Writes what stands before the outermost loop."""

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self._made: list[Stmt] = []

    def taken(self) -> list[Stmt]:
        """What was written since the last time."""
        made, self._made = self._made, []
        return made

    def computed(self, value: Expr, loop: For) -> Atom:
        """A whole number."""
        if isinstance(value, Name | Const):
            return value
        name = self.fresh("n", INT64)
        self._made.append(Assign(name, value, loop.span))
        return Name(name)

    def size(self, extent: Expr, room: int, loop: For) -> Atom:
        """The extent of a buffer for the values of a loop's trips, with room for more."""
        size = self.computed(Op("max", (self.computed(extent, loop), Const(0))), loop)
        return self.computed(Op("+", (size, Const(room))), loop) if room > 0 else size

    def write(self, stmt: Stmt) -> None:
        """One more statement."""
        self._made.append(stmt)

    def buffer(self, stmt: Store, made: str, sizes: tuple[Atom, ...]) -> str:
        """An array for what a statement adds; `made` is what makes it."""
        type_ = self.fresh.types[stmt.array]
        assert isinstance(type_, Array)
        stem = stmt.value.id if isinstance(stmt.value, Name) else "t"
        name = self.fresh(f"{stem}_kept", Array(type_.dtype, len(sizes)))
        self._made.append(Assign(name, Op(made, (Const(type_.dtype), *sizes)), stmt.span))
        return name
