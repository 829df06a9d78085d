"""Live objects as values, while the body of a tape is lowered over a running program.

Floats, arrays and variables become inputs of the residual program; everything else is structure.
Every object that is reached is noted with its path from the frame's variables and with a guard, as
lines of a Python function: the same place with the same structure need not be lowered again.
"""

from __future__ import annotations

import enum
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tapec.backend.packing import FEW, LARGE
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import COMPLEX_OF, Complex, Contents, Dct, Deque, Items, Lst, Static, Sym, Value
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.structures.dicts import new_dict
from tapec.syntax.core import Atom, Name
from tapec.syntax.types import Array, Scalar
from tapec.tape.objects.complex_identity import WholeNumbers
from tapec.tape.objects.object_standins import ForeignTape
from tapec.tape.objects.outer_variables import OuterVariables
from tapec.tape.objects.plan_guards import PlanGuards
from tapec.tape.objects.snapshots import PARTS, array_type, number_type, part_type
from tapec.tape.objects.variable_versions import Chosen, VariablePair, VariableSym, VariableVersions
from tapec.transforms.packed_columns import Rerolled
from tapec_runtime.variables import Variable

_IDENTITY = (np.ndarray, np.inexact, Variable, list, dict)
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_KEYS = 256
EXACT = (str, bytes, bool, type(None), type(Ellipsis), enum.Enum, np.bool_)


class Restart(Exception):
    """Something mutable was reached below a branch: lower again with its state there from the start."""

    def __init__(self, chain: list[tuple[Any, Any]]) -> None:
        self.chain = chain
        super().__init__()


@dataclass
class InputLeaf:
    """An input of the residual program.

    name         its core name
    obj          the object at entry
    slot         its place in the guard
    ident        whether the object's identity tells it from every other one
    is_variable  whether the object is a variable, whose value is taken at entry
    part         "real" or "imag" where the object is complex: it has two inputs, one after the other
    """

    name: str
    obj: Any
    slot: int
    ident: bool
    is_variable: bool = False
    part: str = ""


def packable(leaves: Sequence[InputLeaf], objects: Sequence[Any]) -> frozenset[str]:
    """The inputs that may be packed: not a few large ones, which would be copied at each call."""
    large = sum(map(np.size, objects)) >= LARGE // 8
    return frozenset() if large and len(leaves) <= 2 * FEW else frozenset(leaf.name for leaf in leaves)


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
    packs    whether derivatives inside may take inputs packed
    """

    variables: dict[str, Any]
    globals: dict[str, Any] | None
    preload: list[tuple[Any, Any]] = field(default_factory=list)
    pin: bool = False
    decide: bool = False
    overlays: bool = True
    tracked: frozenset[int] = frozenset()
    cell_names: frozenset[str] = frozenset()
    packs: bool = False


class Inputs(VariableVersions, OuterVariables, WholeNumbers):
    """What `LiveObjects` knows of objects that the block finds at entry.

    values   by identity, `by_slot` by their places in the guard: what stands for objects that were reached
    kept     objects whose identities must not be given to others
    origins  by identity: how an object was reached
    tapes    by identity: what stands for a tape; `own` is that of the block
    """

    def __init__(self, ev: Evaluator, shared: Shared) -> None:
        WholeNumbers.__init__(self)
        self.ev = ev
        self.pin = shared.pin
        self.entry = shared.variables
        self.globals = shared.globals
        self.guards = PlanGuards()
        self.leaves: list[InputLeaf] = []
        self.values: dict[int, Value] = {}
        self.by_slot: dict[int, Value] = {}
        self.kept: list[Any] = []
        # mutable objects, in the order in which they were reached
        self.reached: list[Any] = []
        self.lists: list[tuple[Any, int, Lst]] = []
        self.dicts: dict[Dct, tuple[Any, int]] = {}
        # what lists and dicts held at entry
        self.contents: dict[Lst | Dct, Any] = {}
        self.tapes: dict[int, Any] = {}
        self.versions: dict[int, tuple[Variable, list[str]]] = {}
        self.symbols: dict[int, VariableSym | VariablePair] = {}
        self.choices: list[Chosen] = []
        self.given: dict[Contents, Atom] = {}
        self.origins: dict[int, tuple[Any, ...]] = {}
        self.overlays = shared.overlays
        self.tracked = shared.tracked
        self.packs = shared.packs
        # derivatives inside that take inputs packed, and the arrays of which adjoints of those are views
        self.packed: list[Rerolled] = []
        self.adjoints: set[str] = set()
        self.own: Any = None
        self.named: set[Variable] = set()
        # variables of the frame that functions assign
        self.rebound: set[str] = set()
        self.outer: dict[int, tuple[Any, int, dict[str, Lst]]] = {}
        self.cell_names = shared.cell_names

    def reach(self, obj: Any, origin: tuple[Any, ...]) -> Value | None:
        """The value of an object; None where the evaluator's own treatment is right."""
        if type(obj).__module__.startswith("tapec.") and not hasattr(type(obj), "__tapec_tape__"):
            # such as a derivative, of which nobody sees what it was made of; not what stands for a tape
            inside = len(origin) == 3 and type(origin[1]).__module__.startswith("tapec.")
            if not inside and self.guards.access(obj, origin) is not None:
                self.guards.exactly(obj)
            return None
        rebound = self._rebound(obj, origin)
        if rebound is not None:
            return rebound
        slot = self.guards.access(obj, origin)
        if slot is None:
            return None
        self.origins.setdefault(id(obj), origin)
        known = self.values.get(id(obj)) if isinstance(obj, _IDENTITY) else self.by_slot.get(slot)
        if known is None:
            known = self._first(obj, slot, origin)
            if known is not None:
                self.by_slot[slot] = known
        elif isinstance(obj, _IDENTITY):
            self.guards.same(slot, obj)
        for part in complex_arithmetic.parts(known):
            # what a variable holds is an input since it was met
            if isinstance(part, Sym) and not part.changing and isinstance(part.atom, Name):
                self.ev.taken.add(part.atom.id)
        return known

    def _first(self, obj: Any, slot: int, origin: tuple[Any, ...]) -> Value | None:
        guards, label = self.guards, str(origin[-1])
        self.kept.append(obj)
        if hasattr(type(obj), "__tapec_tape__"):
            guards.guard(slot, f"type({{v}}) is {guards.constant(type(obj))}")
            return Static(self.tape(obj))
        if isinstance(obj, EXACT):
            guards.equal(slot, obj)
            return None
        if isinstance(obj, Variable):
            guards.variable(slot, obj)
            guards.distinct.append(slot)
            return self._variable(obj, label, slot)
        if isinstance(obj, int | np.integer):
            return self._integer(obj, slot, origin)
        if isinstance(obj, float | np.floating):
            guards.guard(slot, f"type({{v}}) is {guards.constant(type(obj))}")
            if isinstance(obj, np.floating):
                guards.distinct.append(slot)
            return self._leaf(obj, label, slot, number_type(obj), isinstance(obj, np.floating))
        if isinstance(obj, complex | np.complexfloating):
            guards.guard(slot, f"type({{v}}) is {guards.constant(type(obj))}")
            if isinstance(obj, np.complexfloating):
                guards.distinct.append(slot)
            return self._complex(obj, label, slot, part_type(obj), isinstance(obj, np.complexfloating))
        if isinstance(obj, np.ndarray):
            return self._array(obj, label, slot)
        if type(obj) in (list, deque):
            same = f"type({{v}}) is {guards.constant(type(obj))} and len({{v}}) == {len(obj)}"
            guards.guard(slot, same + (f" and {{v}}.maxlen == {obj.maxlen}" if isinstance(obj, deque) else ""))
            return self._list(obj, slot)
        guards.structure(slot, obj)
        if type(obj) in _DICTS and len(obj) <= _KEYS:
            return self._dict(obj, slot)
        return None

    def _integer(self, obj: Any, slot: int, origin: tuple[Any, ...]) -> Value | None:
        own = origin[0] in ("name", "attribute", "item") and -(2**63) <= obj < 2**63
        if self.pin or not own or isinstance(origin[1], types.ModuleType | type):
            self.guards.equal(slot, obj)
            return None
        self.guards.guard(slot, f"type({{v}}) is {self.guards.constant(type(obj))}")
        self.guards.guard(slot, "-(2**63) <= {v} < 2**63")
        return self._leaf(obj, str(origin[-1]), slot, number_type(obj), False)

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
        made = complex_arithmetic.joined(self.ev, re, im) if isinstance(type_, Array) else Complex(re, im)
        self.note_whole(made)
        if ident:
            self.values[id(obj)] = made
        return made

    def _leaf(self, obj: Any, label: str, slot: int, type_: Any, ident: bool, part: str = "") -> Sym | None:
        if not isinstance(type_, Scalar | Array):
            return None
        if isinstance(type_, Array) and not self.overlays:
            # a compiled function gets the array itself, not a copy
            type_ = replace(type_, readonly=isinstance(obj, Variable) or not obj.flags.writeable)
        base = label if label.isidentifier() else "x"
        name = self.ev.define(base, type_)
        self.ev.fixed.add(name)
        if isinstance(type_, Array):
            self.ev.roots[name] = frozenset({name})
            self.ev.parameters[name] = Sym(Name(name), type_)
        self.leaves.append(InputLeaf(name, obj, slot, ident, isinstance(obj, Variable), part))
        made = Sym(Name(name), type_)
        if ident:
            self.values[id(obj)] = made
        if id(obj) in self.tracked and type_.is_float and not self.own.was_reset:
            self.own.watched[name] = None
            self.own.inherited.add(name)
        return made

    def input(self, value: Any, label: str, slot: int) -> Sym | Complex | None:
        """A number or array that is found at entry, as an input; None for other values."""
        if isinstance(value, np.ndarray):
            type_: Any = array_type(value)
        elif isinstance(value, complex | np.complexfloating):
            type_ = part_type(value)
        elif isinstance(value, int | float | np.number):
            type_ = number_type(value)
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
        self.guards.array(slot, obj)
        if not self.overlays:
            self.guards.guard(slot, f"{{v}}.flags.writeable is {obj.flags.writeable}")
        self.guards.distinct.append(slot)
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
        self.guards.distinct.append(slot)
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
        self.guards.distinct.append(slot)
        return made

    def at_the_top(self, obj: Any) -> None:
        """Start again if a branch or loop is open: undoing it would lose the state of `obj`."""
        self.reached.append(obj)
        if self.ev.block is not self.ev.root:
            self.undone(-1)

    def undone(self, start: int) -> None:
        """Start again if mutable objects were reached since there were `start`: their state is undone, too."""
        chain: list[tuple[Any, Any]] = []
        for current in self.reached[start:]:
            place = len(chain)
            while current is not None and (origin := self.origins.get(id(current))) is not None:
                chain.insert(place, (current, origin))
                current = origin[1] if len(origin) == 3 else None
        if self.reached[start:]:
            raise Restart(chain)

    def tape(self, obj: Any) -> Any:
        """What stands for a native tape in lowered code."""
        known = self.tapes.get(id(obj))
        if known is None:
            known = self.tapes[id(obj)] = obj.__tapec_tape__() or ForeignTape()
        return known
