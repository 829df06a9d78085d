"""The `live` of an evaluator that lowers a running program: what objects, their attributes and calls give.

What the block does to objects stays in the evaluator's state; at its end that tells what they hold.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend.calls.recursion import writers
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, Dct, Instance, Items, Static, Sym, Unseen, Value
from tapec.frontend.statements.context_managers import SURROUNDINGS, Entering
from tapec.frontend.structures.merging import rebuild
from tapec.syntax.core import Name, reads, walk, writes
from tapec.syntax.types import Array, Scalar
from tapec.tape.objects.block_inputs import EXACT, Inputs, Shared, packable
from tapec.tape.objects.object_calls import ObjectCalls, SuperObject
from tapec.tape.objects.object_standins import DictMethod, Refusing
from tapec.tape.objects.random_state import GENERATORS, Draws
from tapec.tape.objects.special_methods import operator
from tapec.tape.objects.user_objects import Objects
from tapec.tape.objects.variable_versions import name_of
from tapec_runtime.variables import Variable

# modules whose functions change nothing that a block computes with
_OUTSIDE = frozenset(
    ("_io", "_thread", "asyncio", "csv", "datetime", "gc", "io", "json", "logging", "os", "pathlib", "pickle", "pprint")
    + ("queue", "shutil", "subprocess", "sys", "threading", "time", "traceback", "warnings")
)
# those of them that a compiled function leaves out
_UNNOTICED = frozenset(("logging", "warnings"))


class LiveObjects(Inputs):
    """The `live` of an evaluator that lowers a running program."""

    def __init__(self, ev: Evaluator, shared: Shared) -> None:
        super().__init__(ev, shared)
        self.scopes: list[Any] = []
        # every tape that was entered so far
        self.begun: list[Any] = []
        # what their answers take for granted; see merged_objects.py
        self.claims: list[Any] = []
        # the inputs and axes of each extent that was asked for
        self.extents: dict[int, list[tuple[str, int]]] = {}
        self.objects = Objects(ev, self)
        self.draws = Draws(ev, self)
        specials = ObjectCalls(self.objects).specials()
        ev.special = {**ev.special, **specials, isinstance: self._isinstance, type: self._type}
        ev.live, ev.gathers = self, {}
        self.preload = shared.preload

    def variables(self, names: Iterable[str]) -> list[str]:
        held = {leaf.name for leaf in self.leaves if isinstance(leaf.obj, Variable)}
        return [name for name in names if name in held]

    def extent(self, name: str, axis: int) -> tuple[str, int] | int | None:
        """The first input with the extent of another one; 1 for that."""
        leaf = next((leaf for leaf in self.leaves if leaf.name == name), None)
        if leaf is None or not isinstance(leaf.obj, np.ndarray) or leaf.is_variable:
            return None
        found = leaf.obj.shape[axis]
        equal = self.extents.setdefault(found, [])
        if (name, axis) not in equal:
            equal.append((name, axis))
        if found == 1:
            return 1
        return None if equal[0] == (name, axis) else equal[0]

    def packed_by_derivatives(self) -> frozenset[str]:
        """The inputs that derivatives inside may take packed."""
        return packable(self.leaves, [leaf.obj for leaf in self.leaves]) if self.packs else frozenset()

    # mutable state

    def reach_preloaded(self) -> None:
        """Reach the objects whose state must exist from the beginning."""
        for obj, origin in self.preload:
            self.ev.wrap(obj, None, origin)

    def lowered_apart(self, ev: Evaluator) -> None:
        """A recursive function reads nothing from outside."""
        ev.live = Refusing(ev, "a recursive function")

    def replace(self, new: dict[str, Sym], changed: Any) -> None:
        """Copies now stand for objects that were reached before."""
        own = {leaf.name for leaf in self.leaves} & new.keys()
        if own and self.ev.block is not self.ev.root:
            self.ev.fail(LoweringError, "a watch or stop, inside a branch or loop, of a value from outside")
        for table in (self.values, self.by_slot):
            for key, value in table.items():
                table[key] = rebuild(value, changed)
        for _, versions in self.versions.values():
            versions += [name_of(new[name]) for name in versions if name in new]

    def outcome(self, numbers: Any) -> list[tuple[int, Any]]:
        """What live lists, dicts and objects hold now, by their places in the guard."""
        lists = [(slot, numbers(self.ev.heap.get(made))) for _, slot, made in self.lists]
        dicts = [(slot, made) for made, (_, slot) in self.dicts.items()]
        owners = self.guards.owners
        objects = [(owners.get(id(obj), -id(obj)), dict(cells)) for obj, cells in self.objects.written.values()]
        outer = [(slot, dict(cells)) for _, slot, cells in self.outer.values()]
        return [*lists, *dicts, *objects, *outer]

    def entry_values(self) -> dict[str, Any]:
        """What is known of variables from outside, and of attributes of objects that such variables hold."""
        slots, found = self.guards.slots, {}
        named = {slot: step for (kind, _, _, step), slot in slots.items() if kind in ("name", "module")}
        for (kind, owner, _, step), slot in slots.items():
            if kind in ("name", "module") and slot in self.by_slot:
                found[step] = self.by_slot[slot]
            elif kind == "attribute" and owner in named:
                cell = self.objects.cells.get((id(self.guards.held[owner]), step))
                contents = self.ev.heap.get(cell) if cell is not None else None
                value = contents.values[0] if isinstance(contents, Items) else self.by_slot.get(slot)
                if value is not None:
                    found[f"{named[owner]}.{step}"] = value
        return found

    def holders(self) -> tuple[Any, ...]:
        """The live lists, dicts and objects."""
        return (
            *(obj for obj, _, _ in self.lists),
            *(obj for obj, _ in self.dicts.values()),
            *(obj for obj, _ in self.objects.written.values()),
            *(holder for holder, _, _ in self.outer.values()),
        )

    def release(self) -> None:
        """Let go of every object of the running program; the evaluator is part of reference cycles."""
        ev = self.ev
        for table in (self.leaves, self.values, self.by_slot, self.kept, self.lists, self.origins, self.tapes,
                      self.begun, self.claims, self.symbols, self.choices, self.given, self.entry, self.dicts,
                      self.contents, self.outer, self.objects.written, self.guards.held, self.guards.owners,
                      ev.frames, ev.reads, ev.functions, ev.seen, ev.complex_constants, ev.containers):
            table.clear()
        self.preload = []
        ev.frame, ev.live, ev.decider = None, None, None  # type: ignore[assignment]

    def check_callees(self) -> None:
        """A recursive function is lowered apart: what it reads from outside would be unknown to it."""
        for name in writers(self.ev.callees):
            raise LoweringError(f"the recursive function `{name}`, which writes into an argument, in a tape")
        names = {leaf.name for leaf in self.leaves}
        for callee in self.ev.callees.made:
            if callee.function is None:
                continue
            own = {*callee.function.params, *(w for stmt in walk(callee.function.body) for w in writes(stmt))}
            for stmt in walk(callee.function.body):
                for name in reads(stmt):
                    if name in names - own:
                        raise LoweringError(
                            f"a recursive function that reads `{name}` from outside",
                            getattr(stmt, "span", None),
                            hint="pass it as an argument",
                        )

    # attributes

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        """Attributes that getattr must not fetch: properties run user code, dicts have methods."""
        if isinstance(obj, SuperObject):
            return obj.lookup(name, node)
        if isinstance(obj, (types.ModuleType, type, *GENERATORS)) or type(obj).__module__.startswith("tapec."):
            return None
        if isinstance(obj, dict) and name in ("items", "keys", "values", "get"):
            return Static(DictMethod(obj, name))
        if isinstance(obj, contextlib.ExitStack) and name == "enter_context":
            return Static(Entering())
        return self.objects.attribute(obj, name, node)

    def store_attribute(self, owner: Value, name: str, value: Value, node: Any) -> None:
        self.objects.store(owner, name, value, node)

    def instance_attribute(self, owner: Instance, name: str, node: Any) -> Value:
        return self.objects.of_instance(owner, name, node)

    def construct(self, cls: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        if issubclass(cls, Variable):
            return self.new_variable(args, kwargs, node)
        return self.objects.construct(cls, args, kwargs, node)

    def call(self, function: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        if any(function is one for one in SURROUNDINGS):
            return None
        if not self.overlays and str(getattr(function, "__module__", None)).partition(".")[0] in _UNNOTICED:
            return NONE
        if not self.overlays:
            return self.draws.call(function, args, kwargs, node)
        if function is np.take and (rows := self._rows(args, kwargs)) is not None:
            return self.ev.load(*rows, node)
        if function is print:
            # the block prints when it runs
            return NONE
        module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
        if str(module).partition(".")[0] in _OUTSIDE:
            name = getattr(function, "__qualname__", "a call")
            return Unseen(f"`{name}` gives what only the run knows; bind its result to a name before the tape", name)
        return self.draws.call(function, args, kwargs, node)

    def _rows(self, args: list[Value], kwargs: dict[str, Value]) -> tuple[Sym, Sym] | None:
        """The array and the integers of `np.take(array, integers, axis=0)`; None for other calls."""
        given = dict(zip(("a", "indices", "axis"), args, strict=False)) | kwargs
        axis = given.get("axis")
        if given.keys() != {"a", "indices", "axis"} or not isinstance(axis, Sym) or axis.constant != 0:
            return None
        array, integers = (self.ev.materialise(given[key]) for key in ("a", "indices"))
        for one in (array, integers):
            if not isinstance(one, Sym) or not isinstance(one.type, Array) or one.type.ndim == 0:
                return None
        return array, integers

    def is_of_numpy(self, value: Sym) -> bool:
        if not isinstance(value.type, Scalar) or not value.type.is_float or value.constant is not None:
            return False
        if getattr(value, "variable", None) is not None:
            return True
        # of other numbers a block itself knows whether they are Python's; a compiled function does not
        return self.overlays

    def may_vary(self, name: str) -> bool:
        if any(name in region.watched for region in self.begun):
            return True
        is_input = any(leaf.name == name and not leaf.is_variable for leaf in self.leaves)
        return not is_input and name not in self.ev.constants

    def same(self, left: Value, right: Value) -> bool | None:
        distinct = [Name(leaf.name) for leaf in self.leaves if leaf.ident and not leaf.is_variable]
        if isinstance(left, Sym) and isinstance(right, Sym) and not (left.changing or right.changing):
            return left.atom == right.atom if left.atom in distinct and right.atom in distinct else None
        if not isinstance(left, Static) or not isinstance(right, Static):
            return super().same(left, right)
        self.guards.identical(left.obj, right.obj)
        return left.obj is right.obj

    def asked(self, obj: Any) -> None:
        if not isinstance(obj, EXACT):
            self.guards.exactly(obj)

    def unshadowed(self, function: Any, ident: str) -> None:
        # the frame itself stands in for a function
        self.guards.unshadowed(function if isinstance(function, types.FunctionType) else None, ident)

    def operator(self, name: str, args: list[Value], node: Any) -> Value | None:
        return operator(self.objects, name, args, node)

    def changed(self, owner: Dct) -> None:
        """What the block does to a dict is found again in the values that it leaves."""
