"""Live objects as values, while the body of a tape is lowered over a running program.

Floats, arrays and variables become inputs of the residual program; everything else is structure.
Every object that is reached is noted with its path from the frame's variables and with a guard, as
lines of a Python function: the same place with the same structure need not be lowered again.
"""

from __future__ import annotations

import enum
import functools
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import typeof

from tapec.errors import LoweringError
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.merge import rebuild
from tapec.frontend.numba_types import from_numba
from tapec.frontend.values import Items, Lst, Static, Sym, Value
from tapec.syntax.core import Name, reads, walk, writes
from tapec.syntax.types import Array, Scalar
from tapec.tape.recipe import Recipe
from tapec.tape.snapshots import array_type
from tapec.tape.standins import DictMethod, ForeignTape, Refusing
from tapec_runtime.variables import Variable, stop_gradient

_IDENTITY = (np.ndarray, np.floating, Variable)
_EXACT = (str, bytes, bool, type(None), type(Ellipsis), enum.Enum, np.bool_)
_PLAIN_DESCRIPTORS = (
    types.FunctionType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.BuiltinMethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    classmethod,
    staticmethod,
)


class Restart(Exception):
    """Something mutable was reached below a branch: lower again with its state there from the start."""

    def __init__(self, chain: list[tuple[Any, Any]]) -> None:
        self.chain = chain
        super().__init__()


@dataclass(frozen=True)
class VariableSym(Sym):
    """The current version of a variable; `cell` is where the evaluator's state keeps it."""

    variable: Any = None
    cell: Any = None


@dataclass
class Leaf:
    """An input of the residual program.

    name   its core name
    obj    the object at entry
    slot   its place in the recipe
    ident  whether the object's identity tells it from every other one
    """

    name: str
    obj: Any
    slot: int
    ident: bool


@dataclass
class Shared:
    """What survives a restart.

    variables  the frame's variables, and `globals` if those are the module's
    preload  objects whose state must exist from the beginning, each with its owners before it
    pin      whether integers are structure; otherwise those of variables and attributes are inputs
    """

    variables: dict[str, Any]
    globals: dict[str, Any] | None
    preload: list[tuple[Any, Any]] = field(default_factory=list)
    pin: bool = False


class LiveObjects:
    """The `live` of an evaluator that lowers a running program."""

    def __init__(self, ev: Evaluator, shared: Shared) -> None:
        self.ev = ev
        self.pin = shared.pin
        self.entry = shared.variables
        self.globals = shared.globals
        self.recipe = Recipe()
        self.leaves: list[Leaf] = []
        self.values: dict[int, Value] = {}
        self.by_slot: dict[int, Value] = {}
        self.kept: list[Any] = []
        self.lists: list[tuple[Any, int, Lst]] = []
        self.tapes: dict[int, Any] = {}
        self.regions: list[Any] = []
        self.versions: dict[int, tuple[Variable, list[str]]] = {}
        self.origins: dict[int, tuple[Any, ...]] = {}
        ev.live = self
        ev.another = functools.partial(self._another, ev.another)
        ev.method = functools.partial(self._method, ev.method)
        for obj, origin in shared.preload:
            ev.wrap(obj, None, origin)

    # reaching objects

    def reach(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        """The value of an object; None where the evaluator's own treatment is right."""
        if type(obj).__module__.startswith("tapec.") and not hasattr(type(obj), "__tapec_tape__"):
            return None
        rebound = self._rebound(obj, origin)
        if rebound is not None:
            return rebound
        slot = self.recipe.access(obj, origin)
        if slot is None:
            return None
        self.origins.setdefault(id(obj), origin)
        known = self.values.get(id(obj)) if isinstance(obj, (*_IDENTITY, list)) else self.by_slot.get(slot)
        if known is None:
            known = self._first(obj, slot, origin)
            if known is not None:
                self.by_slot[slot] = known
        elif isinstance(obj, (*_IDENTITY, list)):
            self.recipe.same(slot, obj)
        if isinstance(known, Sym) and isinstance(known.atom, Name):
            self.ev.taken.add(known.atom.id)
        return known

    def _rebound(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        """A variable of the region's own frame, read by a function that shares it."""
        if origin[0] not in ("global", "cell") or not self.ev.frames:
            return None
        root, name = self.ev.frames[0], origin[2]
        shared = self.globals is getattr(origin[1], "__globals__", None) if origin[0] == "global" else (
            self.entry.get(name, self) is obj
        )
        return root.env.get(name) if shared else None

    def _first(self, obj: Any, slot: int, origin: tuple[Any, ...]) -> Value | None:
        recipe, label = self.recipe, str(origin[-1])
        self.kept.append(obj)
        if hasattr(type(obj), "__tapec_tape__"):
            recipe.guard(slot, f"type({{v}}) is {recipe.constant(type(obj))}")
            return Static(self.tape(obj))
        if isinstance(obj, _EXACT):
            recipe.equal(slot, obj)
            return None
        if isinstance(obj, Variable):
            recipe.variable(slot, obj)
            recipe.distinct.append(slot)
            return self._variable(obj, label, slot)
        if isinstance(obj, int | np.integer):
            return self._integer(obj, slot, origin)
        if isinstance(obj, float | np.floating):
            recipe.guard(slot, f"type({{v}}) is {recipe.constant(type(obj))}")
            if isinstance(obj, np.floating):
                recipe.distinct.append(slot)
            return self._leaf(obj, label, slot, from_numba(typeof(obj)), isinstance(obj, np.floating))
        if isinstance(obj, np.ndarray):
            return self._array(obj, label, slot)
        if isinstance(obj, list) and type(obj) is list:
            recipe.guard(slot, f"type({{v}}) is list and len({{v}}) == {len(obj)}")
            return self._list(obj, slot)
        recipe.structure(slot, obj)
        return None

    def _integer(self, obj: Any, slot: int, origin: tuple[Any, ...]) -> Value | None:
        own = origin[0] in ("name", "attribute", "item") and -(2**63) <= obj < 2**63
        if self.pin or not own or isinstance(origin[1], types.ModuleType | type):
            self.recipe.equal(slot, obj)
            return None
        self.recipe.guard(slot, f"type({{v}}) is {self.recipe.constant(type(obj))}")
        self.recipe.guard(slot, "-(2**63) <= {v} < 2**63")
        return self._leaf(obj, str(origin[-1]), slot, from_numba(typeof(obj)), False)

    def _leaf(self, obj: Any, label: str, slot: int, type_: Any, ident: bool) -> Sym | None:
        if not isinstance(type_, Scalar | Array):
            return None
        base = label if label.isidentifier() else "x"
        name = self.ev.define(base, type_)
        self.ev.fixed.add(name)
        if isinstance(type_, Array):
            self.ev.roots[name] = frozenset({name})
        self.leaves.append(Leaf(name, obj, slot, ident))
        made = Sym(Name(name), type_)
        if ident:
            self.values[id(obj)] = made
        return made

    def _array(self, obj: Any, label: str, slot: int) -> Sym | None:
        type_ = array_type(obj)
        if type_ is None:
            return None
        self.recipe.array(slot, obj)
        self.recipe.distinct.append(slot)
        return self._leaf(obj, label, slot, type_, True)

    def _variable(self, variable: Variable, label: str, slot: int) -> VariableSym | None:
        """The version that a variable holds at entry, and the cell for later ones."""
        value = variable._value
        type_: Any = array_type(value) if isinstance(value, np.ndarray) else from_numba(typeof(value))
        made = self._leaf(variable, label, slot, type_, True)
        if made is None:
            return None
        self.at_the_top(variable)
        cell = Lst(variable.name)
        self.ev.heap[cell] = Items((made,))
        assert isinstance(made.atom, Name)
        self.versions[id(variable)] = variable, [made.atom.id]
        symbol = VariableSym(made.atom, made.type, variable, cell)
        self.values[id(variable)] = symbol
        return symbol

    def _list(self, obj: list[Any], slot: int) -> Lst:
        """A list as it is at entry; what the body does to it stays in the evaluator's state."""
        ev = self.ev
        self.at_the_top(obj)
        items = tuple(ev.wrap(item, None, ("item", obj, k)) for k, item in enumerate(obj))
        made = Lst("list")
        ev.heap[made] = Items(items)
        self.values[id(obj)] = made
        self.lists.append((obj, slot, made))
        self.recipe.distinct.append(slot)
        return made

    def at_the_top(self, obj: Any) -> None:
        """Start again if a branch or loop is open: undoing it would lose the state of `obj`."""
        if self.ev.block is self.ev.root:
            return
        chain: list[tuple[Any, Any]] = []
        current: Any = obj
        while (origin := self.origins.get(id(current))) is not None:
            chain.insert(0, (current, origin))
            current = origin[1] if len(origin) == 3 else None
        raise Restart(chain)

    # mutable state

    def refresh(self, value: Value) -> Value:
        """A variable's version now; a read that tapes notice."""
        if not isinstance(value, VariableSym):
            return value
        contents = self.ev.heap.get(value.cell)
        if contents is None:
            raise AssertionError("a variable without state")
        assert isinstance(contents, Items)
        current = contents.values[0]
        assert isinstance(current, Sym)
        for region in self.regions:
            region.read(value.variable, current)
            contents = self.ev.heap[value.cell]
            assert isinstance(contents, Items) and isinstance(contents.values[0], Sym)
            current = contents.values[0]
        return VariableSym(current.atom, current.type, value.variable, value.cell)

    def _another(self, default: Any) -> Evaluator:
        """An evaluator for a recursive function, which is lowered apart."""
        made: Evaluator = default()
        made.live = Refusing(made, "a recursive function")
        return made

    def _method(
        self, default: Any, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
    ) -> Value | None:
        """Methods of variables."""
        if not isinstance(owner, VariableSym):
            result: Value | None = default(owner, name, args, kwargs, node)
            return result
        ev = self.ev
        if name in ("value", "read_value"):
            return Sym(owner.atom, owner.type)
        if name == "numpy":
            return self._constant(Sym(owner.atom, owner.type))
        if name not in ("assign", "assign_add", "assign_sub"):
            other: Value | None = default(owner, name, args, kwargs, node)
            return other
        value = (args or list(kwargs.values()))[0]
        if name != "assign":
            value = ev.binary("+" if name == "assign_add" else "-", owner, value, node)
        return self.assign(owner, ev.materialise(value))

    def _constant(self, value: Value) -> Sym:
        made = self.ev.materialise(self.ev.call_object(stop_gradient, [value], {}, None))
        assert isinstance(made, Sym)
        return made

    def assign(self, symbol: VariableSym, value: Value) -> VariableSym:
        """A new version of a variable, without history."""
        ev, old = self.ev, symbol.type
        if isinstance(old, Scalar):
            made = self._constant(ev.cast(ev.scalar(value), old))
        else:
            assert isinstance(old, Array)
            shaped = ev.call_object(np.array, [value, Static(np.dtype(old.dtype))], {}, None)
            made = self._constant(shaped)
        if not isinstance(made.atom, Name):
            made = ev.assign(made.atom, made.type, "variable")
        self.versions[id(symbol.variable)][1].append(_id(made))
        ev.heap[symbol.cell] = Items((made,))
        return VariableSym(made.atom, made.type, symbol.variable, symbol.cell)

    def replace(self, new: dict[str, Sym], changed: Any) -> None:
        """Copies now stand for objects that were reached before."""
        own = {leaf.name for leaf in self.leaves} & new.keys()
        if own and self.ev.block is not self.ev.root:
            self.ev.fail(LoweringError, "a watch or stop, inside a branch or loop, of a value from outside")
        for table in (self.values, self.by_slot):
            for key, value in table.items():
                table[key] = rebuild(value, changed)
        for _, versions in self.versions.values():
            versions += [_id(new[name]) for name in versions if name in new]

    def release(self) -> None:
        """Let go of every object of the running program; the evaluator is part of reference cycles."""
        ev = self.ev
        for table in (self.leaves, self.values, self.by_slot, self.kept, self.lists, self.origins, self.tapes,
                      self.entry, self.recipe.held, self.recipe.owners, ev.frames, ev.reads, ev.functions):
            table.clear()
        ev.frame, ev.live = None, None  # type: ignore[assignment]

    def check_callees(self) -> None:
        """A recursive function is lowered apart: what it reads from outside would be unknown to it."""
        names = {leaf.name for leaf in self.leaves}
        for callee in self.ev.callees.known.values():
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

    def check_writes(self, written: frozenset[str]) -> None:
        """A variable is assigned, never written in place."""
        for variable, versions in self.versions.values():
            if versions[0] in written:
                raise LoweringError(
                    f"the variable {variable.name} is written in place", hint="use assign, assign_add or assign_sub"
                )

    # attributes

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        """Attributes that getattr must not fetch: properties run user code, dicts have methods."""
        if isinstance(obj, types.ModuleType | type) or type(obj).__module__.startswith("tapec."):
            return None
        if isinstance(obj, dict) and name in ("items", "keys", "values", "get"):
            return Static(DictMethod(obj, name))
        found = _static_lookup(type(obj), name)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return self.ev.call_object(found.fget, [Static(obj)], {}, node)
        own = getattr(obj, "__dict__", {})
        if isinstance(found, functools.cached_property) and name not in own:
            return self.ev.call_object(found.func, [Static(obj)], {}, node)
        if name in own or isinstance(found, _PLAIN_DESCRIPTORS):
            return None
        if found is None or hasattr(type(found), "__get__"):
            self.ev.fail(
                LoweringError,
                f"the attribute `{name}` is computed by code that cannot be followed",
                node,
                hint="bind it to a name before the tape",
            )
        return None

    # tapes

    def tape(self, obj: Any) -> Any:
        """What stands for a native tape in lowered code."""
        known = self.tapes.get(id(obj))
        if known is None:
            known = self.tapes[id(obj)] = obj.__tapec_tape__() or ForeignTape()
        return known


def _id(value: Sym) -> str:
    assert isinstance(value.atom, Name)
    return value.atom.id


def _static_lookup(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None
