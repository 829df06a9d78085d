"""Variables of outer functions and modules that functions in a block assign."""

from __future__ import annotations

import types
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Items, Lst, Value
from tapec.tape.objects.plan_guards import PlanGuards


class OuterVariables:
    """What `LiveObjects` knows of them.

    entry    the frame's variables at entry; `globals` if those are the module's
    outer    by identity: a cell or module, its place in the guard, and what is assigned there
    rebound  variables of the frame itself
    """

    ev: Evaluator
    guards: PlanGuards
    entry: dict[str, Any]
    globals: dict[str, Any] | None
    cell_names: frozenset[str]
    outer: dict[int, tuple[Any, int, dict[str, Lst]]]
    rebound: set[str]

    def _rebound(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        """A variable that the block has assigned and that a function reads."""
        if origin[0] not in ("global", "cell") or not self.ev.frames:
            return None
        if self.shares_frame(origin, obj):
            return self.ev.frames[0].env.get(origin[2])
        return self._assigned_outer(origin)

    def shares_frame(self, origin: tuple[Any, ...], obj: Any) -> bool:
        """Whether a function's variable is one of the frame that enters the block."""
        kind, function, name = origin
        if kind == "global":
            return self.globals is getattr(function, "__globals__", None)
        return name in self.cell_names and self.entry.get(name, self) is obj

    def store_outer(self, function: Any, ident: str, value: Value) -> None:
        """Assign a variable that a function shares with the frame, an outer function or the module."""
        free = function.__code__.co_freevars
        kind = "cell" if ident in free else "global"
        origin = (kind, function, ident)
        if kind == "cell":
            holder = function.__closure__[free.index(ident)]
            current, key = holder.cell_contents, "cell_contents"
            path = f"v{{}}.__closure__[{free.index(ident)}]"
        else:
            holder = function.__globals__
            # the frame itself stands in for a function
            own = isinstance(function, types.SimpleNamespace)
            current, key, path = holder.get(ident), ident, "module" if own else "v{}.__globals__"
        if self.shares_frame(origin, current):
            self.ev.frames[0].env[ident] = value
            self.rebound.add(ident)
            return
        if id(holder) not in self.outer:
            place = self.guards.owners.get(id(function), -1)
            reached = place >= 0 or path == "module"
            slot = self.guards.new(holder, path.format(place)) if reached else -id(holder)
            self.guards.complete = self.guards.complete and reached
            self.outer[id(holder)] = holder, slot, {}
        cells = self.outer[id(holder)][2]
        cells.setdefault(key, Lst(ident))
        self.ev.heap[cells[key]] = Items((value,))

    def _assigned_outer(self, origin: tuple[Any, ...]) -> Value | None:
        """What the block has assigned to a variable of an outer function or module."""
        kind, function, ident = origin
        if kind == "cell":
            holder: Any = function.__closure__[function.__code__.co_freevars.index(ident)]
            key = "cell_contents"
        else:
            holder, key = function.__globals__, ident
        return self._held(holder, key)

    def assigned_global(self, module: dict[str, Any], ident: str) -> Value | None:
        """What the block, or a function that it calls, has assigned to a variable of the module."""
        return self._held(module, ident)

    def _held(self, holder: Any, key: str) -> Value | None:
        found = self.outer.get(id(holder))
        cell = found[2].get(key) if found is not None else None
        contents = self.ev.heap.get(cell) if cell is not None else None
        return contents.values[0] if isinstance(contents, Items) else None
