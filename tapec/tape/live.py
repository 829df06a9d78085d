"""Live objects as values, while the body of a tape is lowered over a running program.

Floats, arrays and variables become inputs of the residual program; everything else is structure.
Every object that is reached is noted with its path from the frame's variables and with a guard, as
lines of a Python function: the same place with the same structure need not be lowered again.
"""

from __future__ import annotations

import enum
import functools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import typeof

from tapec.errors import LoweringError
from tapec.frontend import complexes
from tapec.frontend.context import SURROUNDINGS
from tapec.frontend.dicts import new_dict
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.merge import rebuild
from tapec.frontend.numba_types import from_numba
from tapec.frontend.recursion import writers
from tapec.frontend.values import (
    COMPLEX_OF,
    NONE,
    Complex,
    Dct,
    Deque,
    Instance,
    Items,
    Lst,
    Static,
    Sym,
    Unseen,
    Value,
)
from tapec.syntax.core import Name, reads, walk, writes
from tapec.syntax.types import Array, Scalar
from tapec.tape.objects import Objects, Super
from tapec.tape.outer import OuterVariables
from tapec.tape.protocols import operator
from tapec.tape.randomness import GENERATORS, Draws
from tapec.tape.recipe import Recipe
from tapec.tape.snapshots import PARTS, array_type, part_type
from tapec.tape.standins import DictMethod, ForeignTape, Refusing
from tapec.tape.versions import Versions, name_of
from tapec.tape.whole import WholeNumbers
from tapec_runtime.variables import Variable

_IDENTITY = (np.ndarray, np.inexact, Variable, list, dict)
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_KEYS = 256
# modules whose functions change nothing that a block computes with
_OUTSIDE = frozenset(
    ("_io", "_thread", "csv", "datetime", "gc", "io", "json", "logging", "os", "pathlib", "pickle", "pprint", "queue")
    + ("shutil", "subprocess", "sys", "threading", "time", "traceback", "warnings")
)
# those of them that a compiled function leaves out
_UNNOTICED = frozenset(("logging", "warnings"))
_EXACT = (str, bytes, bool, type(None), type(Ellipsis), enum.Enum, np.bool_)


class Restart(Exception):
    """Something mutable was reached below a branch: lower again with its state there from the start."""

    def __init__(self, chain: list[tuple[Any, Any]]) -> None:
        self.chain = chain
        super().__init__()


@dataclass
class Leaf:
    """An input of the residual program.

    name   its core name
    obj    the object at entry
    slot   its place in the recipe
    ident  whether the object's identity tells it from every other one
    kept   whether the object is a variable, whose value is taken at entry
    part   "real" or "imag" where the object is complex: it has two inputs, one after the other
    """

    name: str
    obj: Any
    slot: int
    ident: bool
    kept: bool = False
    part: str = ""


@dataclass
class Shared:
    """What survives a restart.

    variables  the frame's variables, and `globals` if those are the module's
    preload  objects whose state must exist from the beginning, each with its owners before it
    pin      whether integers are structure; otherwise those of variables and attributes are inputs
    decide   whether branches are decided and loops unrolled
    overlays whether the code that is lowered runs by itself, too: a tape's block does, a compiled function does not
    cell_names the frame's variables that functions inside it may share
    tracked  the objects that the tape knows from an earlier block, and that depend on watched ones
    """

    variables: dict[str, Any]
    globals: dict[str, Any] | None
    preload: list[tuple[Any, Any]] = field(default_factory=list)
    pin: bool = False
    decide: bool = False
    overlays: bool = True
    tracked: frozenset[int] = frozenset()
    cell_names: frozenset[str] = frozenset()


class LiveObjects(Versions, OuterVariables, WholeNumbers):
    """The `live` of an evaluator that lowers a running program."""

    def __init__(self, ev: Evaluator, shared: Shared) -> None:
        WholeNumbers.__init__(self)
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
        # what lists and dicts held at entry
        self.contents: dict[Lst | Dct, Any] = {}
        self.tapes: dict[int, Any] = {}
        self.regions: list[Any] = []
        # every tape that was entered so far
        self.begun: list[Any] = []
        self.versions: dict[int, tuple[Variable, list[str]]] = {}
        self.origins: dict[int, tuple[Any, ...]] = {}
        self.overlays = shared.overlays
        self.tracked = shared.tracked
        self.own: Any = None
        self.objects = Objects(ev, self)
        self.draws = Draws(ev, self)
        self.named: set[Variable] = set()
        # variables of the frame that functions assign
        self.rebound: set[str] = set()
        self.dicts: dict[Dct, tuple[Any, int]] = {}
        self.outer: dict[int, tuple[Any, int, dict[str, Lst]]] = {}
        self.cell_names = shared.cell_names
        ev.special = {**ev.special, **self.objects.specials(), isinstance: self._isinstance}
        ev.live, ev.gathers = self, {}
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
        known = self.values.get(id(obj)) if isinstance(obj, _IDENTITY) else self.by_slot.get(slot)
        if known is None:
            known = self._first(obj, slot, origin)
            if known is not None:
                self.by_slot[slot] = known
        elif isinstance(obj, _IDENTITY):
            self.recipe.same(slot, obj)
        for part in complexes.parts(known):
            if isinstance(part, Sym) and isinstance(part.atom, Name):
                self.ev.taken.add(part.atom.id)
        return known

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
        if isinstance(obj, complex | np.complexfloating):
            recipe.guard(slot, f"type({{v}}) is {recipe.constant(type(obj))}")
            if isinstance(obj, np.complexfloating):
                recipe.distinct.append(slot)
            return self._complex(obj, label, slot, part_type(obj), isinstance(obj, np.complexfloating))
        if isinstance(obj, np.ndarray):
            return self._array(obj, label, slot)
        if type(obj) in (list, deque):
            same = f"type({{v}}) is {recipe.constant(type(obj))} and len({{v}}) == {len(obj)}"
            recipe.guard(slot, same + (f" and {{v}}.maxlen == {obj.maxlen}" if isinstance(obj, deque) else ""))
            return self._list(obj, slot)
        recipe.structure(slot, obj)
        if type(obj) in _DICTS and len(obj) <= _KEYS:
            return self._dict(obj, slot)
        return None

    def _integer(self, obj: Any, slot: int, origin: tuple[Any, ...]) -> Value | None:
        own = origin[0] in ("name", "attribute", "item") and -(2**63) <= obj < 2**63
        if self.pin or not own or isinstance(origin[1], types.ModuleType | type):
            self.recipe.equal(slot, obj)
            return None
        self.recipe.guard(slot, f"type({{v}}) is {self.recipe.constant(type(obj))}")
        self.recipe.guard(slot, "-(2**63) <= {v} < 2**63")
        return self._leaf(obj, str(origin[-1]), slot, from_numba(typeof(obj)), False)

    def _complex(self, obj: Any, label: str, slot: int, type_: Scalar | Array, ident: bool) -> Complex | None:
        """A complex number, array or variable: two inputs."""
        if type_.dtype not in COMPLEX_OF:
            return None
        base = label if label.isidentifier() else "z"
        if isinstance(type_, Array) and not self.overlays:
            # a compiled function gets views, and writes through them
            type_ = Array(type_.dtype, type_.ndim, "A", type_.readonly)
        names = {"real": f"{base}_re", "imag": f"{base}_im"}
        re, im = (self._leaf(obj, names[part], slot, type_, False, part) for part in PARTS)
        assert re is not None and im is not None
        self.leaves[-2:] = [replace(leaf, ident=ident) for leaf in self.leaves[-2:]]
        made = complexes.joined(self.ev, re, im) if isinstance(type_, Array) else Complex(re, im)
        self.note_whole(made)
        if ident:
            self.values[id(obj)] = made
        return made

    def _leaf(self, obj: Any, label: str, slot: int, type_: Any, ident: bool, part: str = "") -> Sym | None:
        if not isinstance(type_, Scalar | Array):
            return None
        base = label if label.isidentifier() else "x"
        name = self.ev.define(base, type_)
        self.ev.fixed.add(name)
        if isinstance(type_, Array):
            self.ev.roots[name] = frozenset({name})
        self.leaves.append(Leaf(name, obj, slot, ident, isinstance(obj, Variable), part))
        made = Sym(Name(name), type_)
        if ident:
            self.values[id(obj)] = made
        if id(obj) in self.tracked and type_.is_float and not self.own.was_reset:
            self.own.watched[name] = None
        return made

    def input(self, value: Any, label: str, slot: int) -> Sym | Complex | None:
        """A number or array that is found at entry, as an input; None for other values."""
        if isinstance(value, np.ndarray):
            type_: Any = array_type(value)
        elif isinstance(value, complex | np.complexfloating):
            type_ = part_type(value)
        elif isinstance(value, int | float | np.number):
            type_ = from_numba(typeof(value))
        else:
            return None
        self.kept.append(value)
        ident = isinstance(value, np.ndarray | np.inexact)
        if type_ is not None and np.iscomplexobj(value):
            return self._complex(value, label, slot, type_, ident)
        return self._leaf(value, label, slot, type_, ident)

    def _array(self, obj: Any, label: str, slot: int) -> Sym | Complex | None:
        type_ = array_type(obj)
        if type_ is None:
            return None
        self.recipe.array(slot, obj)
        self.recipe.distinct.append(slot)
        if obj.dtype.kind == "c":
            return self._complex(obj, label, slot, type_, True)
        return self._leaf(obj, label, slot, type_, True)

    def _list(self, obj: list[Any] | deque[Any], slot: int) -> Lst:
        """A list or deque as it is at entry; what the body does to it stays in the evaluator's state."""
        ev = self.ev
        self.at_the_top(obj)
        items = tuple(ev.wrap(item, None, ("item", obj, k)) for k, item in enumerate(obj))
        made = Deque("deque", obj.maxlen) if isinstance(obj, deque) else Lst("list")
        ev.heap[made] = Items(items)
        self.contents[made] = items
        self.values[id(obj)] = made
        self.lists.append((obj, slot, made))
        self.recipe.distinct.append(slot)
        return made

    def _dict(self, obj: dict[Any, Any], slot: int) -> Dct:
        """A dict as it is at entry."""
        self.at_the_top(obj)
        items = {key: self.ev.materialise(self.ev.wrap(obj[key], None, ("item", obj, key))) for key in obj}
        missing = None
        if isinstance(obj, defaultdict) and obj.default_factory is not None:
            missing = self.ev.wrap(obj.default_factory, None, ("attribute", obj, "default_factory"))
        made = new_dict(self.ev, items, type(obj), missing)
        self.contents[made] = items
        self.values[id(obj)] = made
        self.dicts[made] = obj, slot
        self.recipe.distinct.append(slot)
        return made

    def at_the_top(self, obj: Any) -> None:
        """Start again if a branch or loop is open: undoing it would lose the state of `obj`."""
        if self.ev.block is self.ev.root:
            return
        chain: list[tuple[Any, Any]] = []
        current: Any = obj
        while current is not None and (origin := self.origins.get(id(current))) is not None:
            chain.insert(0, (current, origin))
            current = origin[1] if len(origin) == 3 else None
        raise Restart(chain)

    # mutable state

    def _another(self, default: Any) -> Evaluator:
        """An evaluator for a recursive function, which is lowered apart."""
        made: Evaluator = default()
        made.live = Refusing(made, "a recursive function")
        return made

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
        """What live lists, dicts and objects hold now, by their places in the recipe."""
        lists = [(slot, numbers(self.ev.heap.get(made))) for _, slot, made in self.lists]
        dicts = [(slot, made) for made, (_, slot) in self.dicts.items()]
        owners = self.recipe.owners
        objects = [(owners.get(id(obj), -id(obj)), dict(cells)) for obj, cells in self.objects.written.values()]
        outer = [(slot, dict(cells)) for _, slot, cells in self.outer.values()]
        return [*lists, *dicts, *objects, *outer]

    def entry_values(self) -> dict[str, Any]:
        """What is known of variables from outside, and of attributes of objects that such variables hold."""
        slots, found = self.recipe.slots, {}
        named = {slot: step for (kind, _, _, step), slot in slots.items() if kind in ("name", "module")}
        for (kind, owner, _, step), slot in slots.items():
            if kind in ("name", "module") and slot in self.by_slot:
                found[step] = self.by_slot[slot]
            elif kind == "attribute" and owner in named:
                cell = self.objects.cells.get((id(self.recipe.held[owner]), step))
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
                      self.begun, self.entry, self.dicts, self.contents, self.outer, self.objects.written,
                      self.recipe.held, self.recipe.owners, ev.frames, ev.reads, ev.functions, ev.seen, ev.divided,
                      ev.containers):
            table.clear()
        ev.frame, ev.live, ev.decider = None, None, None  # type: ignore[assignment]

    def check_callees(self) -> None:
        """A recursive function is lowered apart: what it reads from outside would be unknown to it."""
        for name in writers(self.ev.callees):
            raise LoweringError(f"the recursive function `{name}`, which writes into an argument, in a tape")
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

    # attributes

    def attribute(self, obj: Any, name: str, node: Any) -> Value | None:
        """Attributes that getattr must not fetch: properties run user code, dicts have methods."""
        if isinstance(obj, Super):
            return obj.lookup(name, node)
        if isinstance(obj, (types.ModuleType, type, *GENERATORS)) or type(obj).__module__.startswith("tapec."):
            return None
        if isinstance(obj, dict) and name in ("items", "keys", "values", "get"):
            return Static(DictMethod(obj, name))
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
        if not self.overlays and str(getattr(function, "__module__", None)).partition(".")[0] in _UNNOTICED:
            return NONE
        if not self.overlays:
            return self.draws.call(function, args, kwargs, node)
        if function is np.take and (rows := self._rows(args, kwargs)) is not None:
            return self.ev.load(*rows, node)
        if function is print:
            # the block prints when it runs
            return NONE
        if function in SURROUNDINGS:
            return None
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

    def may_vary(self, name: str) -> bool:
        if any(name in region.watched for region in self.begun):
            return True
        return not any(leaf.name == name and not leaf.kept for leaf in self.leaves) and name not in self.ev.constants

    def operator(self, name: str, args: list[Value], node: Any) -> Value | None:
        return operator(self.objects, name, args, node)

    def changed(self, owner: Dct) -> None:
        """What the block does to a dict is found again in the picture that it leaves."""

    # tapes

    def tape(self, obj: Any) -> Any:
        """What stands for a native tape in lowered code."""
        known = self.tapes.get(id(obj))
        if known is None:
            known = self.tapes[id(obj)] = obj.__tapec_tape__() or ForeignTape()
        return known
