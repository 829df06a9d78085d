"""How much room the iterations of a loop ask for that make arrays of different extents.

    for i in range(n):                        room = 0
        m = start[i + 1] - start[i]           for i in range(n):
        x = np.empty(m)                ->         m = start[i + 1] - start[i]
        for p in range(m):                        room = max(room, m)
            x[p] = ...                        x = np.empty(room)
                                              for i in range(n):
                                                  m = start[i + 1] - start[i]
                                                  for p in range(m):
                                                      x[p] = ...

Rows of a sparse matrix are short, and an array takes longer to make than to fill then.  Only for vectors of which
elements alone are used, with extents that follow from whole numbers which are given and stay, in loops that nothing
ends early: the iterations that are asked are those that run.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    may_leave,
    names_in,
    reads,
    walk,
    written_in,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import INT64, Array

_WHOLE = frozenset({"+", "-", "*", "//", "max", "min", "dim", "load"})


class Largest:
    """Asks the iterations of a function's loops."""

    def __init__(self, function: Function, fresh: Fresh) -> None:
        self.iterations = Iterations(function)
        self.fresh = fresh
        # what is used in any other way than by its elements, and what is given, not made
        self.whole: set[str] = set()
        stored = [one.array for one in self.iterations.accesses(function.body) if one.kind != "load"]
        self.given = {
            name for name in function.params if not any(self.iterations.may_share(name, other) for other in stored)
        }
        for stmt in walk(function.body):
            match stmt:
                case Store(index=index, value=value):
                    self.whole.update(name for atom in (*index, value) for name in names_in(atom))
                case Assign(value=Op(fn="load", args=(_, *index))):
                    self.whole.update(name for atom in index for name in names_in(atom))
                case _:
                    self.whole.update(reads(stmt))

    def capacity(self, made: Assign, loop: For, at_top: Mapping[str, Assign]) -> tuple[Block, Name] | None:
        """Statements that stand before a loop, and the largest extent of an array that its iterations make."""
        if not isinstance(made.value, Op) or len(made.value.args) != 2 or made.target in self.whole:
            return None
        if may_leave(loop.body) or any(isinstance(stmt, Raise) for stmt in walk(loop.body)):
            return None
        extent = made.value.args[1]
        needed = self.needed(extent, loop, at_top)
        if needed is None or not isinstance(extent, Name):
            return None
        room = Name(self.fresh("room", INT64))
        names = self.fresh.anew(dict.fromkeys((loop.var, *(stmt.target for stmt in needed))))
        larger: Stmt = Assign(room.id, Op("max", (room, extent)), made.span)
        body = renamed((*needed, larger), names)
        header = For(names[loop.var], loop.start, loop.stop, loop.step, body, span=made.span)
        return (Assign(room.id, Const(0), made.span), header), room

    def needed(self, extent: Expr, loop: For, at_top: Mapping[str, Assign]) -> list[Assign] | None:
        """The statements of an iteration from which an extent follows; None if it follows from more than whole
        numbers.
        """
        inside = written_in((loop,))
        found: set[str] = set()
        wanted = [*names_in(extent)]
        while wanted:
            name = wanted.pop()
            if name in found or name == loop.var or name not in inside:
                continue
            made = at_top.get(name)
            value = None if made is None or not self.iterations.fixed(Name(name)) else made.value
            if not isinstance(value, Op) or value.fn not in _WHOLE or not self._whole_number(name):
                return None
            if value.fn in ("load", "dim") and self.given.isdisjoint(names_in(value.args[0])):
                return None
            found.add(name)
            wanted += names_in(value)
        return [stmt for stmt in at_top.values() if stmt.target in found]

    def _whole_number(self, name: str) -> bool:
        type_ = self.fresh.types[name]
        return not isinstance(type_, Array) and type_ == INT64

