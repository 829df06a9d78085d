"""Variables, while a block is lowered: each assignment makes a version without history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError, UsageError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Contents,
    Items,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    is_none,
    is_scalar,
    number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import dim, dim_key
from tapec.frontend.structures import isinstance_tests
from tapec.syntax.core import Atom, Const, If, Name, Raise
from tapec.syntax.types import Array, Scalar, Type
from tapec.tape.objects.class_lookup import check_constructor
from tapec.tape.objects.plan_guards import PlanGuards
from tapec.tape.objects.snapshots import array_type, number_type
from tapec_runtime.variables import Variable, stop_gradient


class VariableSym(Sym):
    """A variable, or a part of a complex one.  Who asks for its atom reads it, as it is then.

    cell  where the evaluator's state keeps what it holds
    part  the place among the parts of what is complex
    """

    changing = True

    def __init__(self, live: VariableVersions, variable: Variable, cell: Lst, part: int = 0) -> None:
        for key, value in (("live", live), ("variable", variable), ("cell", cell), ("part", part)):
            object.__setattr__(self, key, value)

    if TYPE_CHECKING:
        live: VariableVersions
        variable: Variable
        cell: Lst
        part: int

    @property
    def atom(self) -> Atom:
        return self.now.atom

    @property
    def type(self) -> Type:
        return self._held(self.live.version(self.cell)).type

    @property
    def now(self) -> Sym:
        return self._held(self.live.read(self))

    def _held(self, version: Sym | Complex) -> Sym:
        return complex_arithmetic.parts(version)[self.part]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableSym) and (self.cell, self.part) == (other.cell, other.part)

    def __hash__(self) -> int:
        return hash((self.cell, self.part))


@dataclass(frozen=True)
class VariablePair(Complex):
    """A complex variable: its parts are those of what it holds when they are read."""

    variable: Any = field(default=None, compare=False)
    cell: Any = None

    def __post_init__(self) -> None:
        """The parts stay what they are."""

    @property
    def now(self) -> Complex:
        return Complex(self.re, self.im, contiguous=self.contiguous)


class Chosen(Sym):
    """A number that was chosen among others of which some were variables: `w if test else b`.

    In Python it may still be such a variable.  It cannot be read any more once that is assigned.

    versions  the cells of those variables, with what they held when it was chosen
    """

    changing = True

    def __init__(self, live: VariableVersions, made: Sym, cells: Iterable[Lst]) -> None:
        for key, value in (("live", live), ("made", made), ("versions", dict.fromkeys(cells))):
            object.__setattr__(self, key, value)

    if TYPE_CHECKING:
        live: VariableVersions
        made: Sym
        versions: dict[Lst, Contents | None]

    @property
    def atom(self) -> Atom:
        return self.now.atom

    @property
    def now(self) -> Sym:
        self.live.check_chosen(self)
        return self.made

    @property
    def type(self) -> Type:
        return self.made.type

    def replaced(self, made: Sym) -> Chosen:
        """The same choice under another name."""
        other = Chosen(self.live, made, self.versions)
        other.versions.update(self.versions)
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chosen) and self.made == other.made

    def __hash__(self) -> int:
        return hash(self.made)


def keys_of(variable: Any) -> tuple[int, int]:
    """Where the versions of a complex variable's parts are noted; a real variable has the first alone."""
    return id(variable), -id(variable)


class VariableVersions:
    """What `LiveObjects` knows of variables.

    versions  by the variable's identity: the variable and the names of its versions; see `keys_of`
    named     the variables that the block makes under a known name
    symbols   by the variable's identity: what stands for it
    choices   numbers that may be variables, chosen just now; `given` what variables were assigned of such numbers
    """

    ev: Evaluator
    guards: PlanGuards
    overlays: bool
    leaves: list[Any]
    scopes: list[Any]
    values: dict[int, Value]
    kept: list[Any]
    versions: dict[int, tuple[Variable, list[str]]]
    named: set[Variable]
    symbols: dict[int, VariableSym | VariablePair]
    choices: list[Chosen]
    given: dict[Contents, Atom]

    if TYPE_CHECKING:

        def _leaf(self, obj: Any, label: str, slot: int, type_: Any, ident: bool) -> Sym | None: ...

        def _complex(self, obj: Any, label: str, slot: int, type_: Any, ident: bool) -> Complex | None: ...

        def at_the_top(self, obj: Any) -> None: ...

        def note_whole(self, value: Complex) -> None: ...

    def _variable(self, variable: Variable, label: str, slot: int) -> VariableSym | VariablePair | None:
        """The version that a variable holds at entry, and the cell for later ones."""
        value = variable._value
        made: Sym | Complex | None
        if isinstance(value, np.ndarray):
            type_: Any = array_type(value)
        else:
            type_ = number_type(np.real(value))
        if value.dtype.kind == "c":
            made = None if type_ is None else self._complex(variable, label, slot, type_, True)
        else:
            made = self._leaf(variable, label, slot, type_, True)
        if made is None:
            return None
        self.at_the_top(variable)
        symbol = self._new(made, variable, Lst(variable.name))
        for part in complex_arithmetic.parts(made):
            for axis, extent in enumerate(np.shape(value)):
                self.ev.dims[name_of(part), axis] = Const(extent)
        self.values[id(variable)] = symbol
        return symbol

    def _note_versions(self, variable: Variable, value: Sym | Complex) -> None:
        """Note a value as a version of a variable."""
        for key, part in zip(keys_of(variable), complex_arithmetic.parts(value), strict=False):
            _, names = self.versions.setdefault(key, (variable, []))
            # where ways meet there may be one more
            if name_of(part) not in names:
                names.append(name_of(part))
        if isinstance(value, Complex):
            self.note_whole(value)

    def _new(self, value: Sym | Complex, variable: Variable, cell: Lst) -> VariableSym | VariablePair:
        """A variable that is met or made, with its first version."""
        self.ev.heap[cell] = Items((value,))
        self._note_versions(variable, value)
        made: VariableSym | VariablePair = VariableSym(self, variable, cell)
        if isinstance(value, Complex):
            made = VariablePair(made, VariableSym(self, variable, cell, 1), variable, cell, contiguous=value.contiguous)
        self.symbols[id(variable)] = made
        return made

    def version(self, cell: Lst) -> Sym | Complex:
        """What a variable holds now."""
        contents = self.ev.heap.get(cell)
        if contents is None:
            raise AssertionError("a variable without state")
        assert isinstance(contents, Items)
        current = contents.values[0]
        assert isinstance(current, Sym | Complex)
        return current

    def read(self, value: VariableSym) -> Sym | Complex:
        """What a variable holds now; a read that tapes notice."""
        current = self.version(value.cell)
        for region in self.scopes:
            region.read(value.variable, current)
        self._note_versions(value.variable, current)
        return current

    # choices among variables

    def met(self, made: Sym, sources: tuple[Sym, ...]) -> Sym:
        """A merge name for one of several values."""
        cells: dict[Lst, None] = {}
        for source in sources:
            if isinstance(source, VariableSym):
                cells[source.cell] = None
            elif isinstance(source, Chosen):
                cells.update(dict.fromkeys(source.versions))
        if not cells:
            return made
        self.choices.append(Chosen(self, made, cells))
        return self.choices[-1]

    def all_met(self) -> None:
        """All values have met: what variables hold is known."""
        for chosen in self.choices:
            chosen.versions.update((cell, self.ev.heap.get(cell)) for cell in chosen.versions)
        self.choices.clear()

    def check_chosen(self, chosen: Chosen) -> None:
        """Refuse a number that may be a variable which was assigned after it was chosen."""
        for cell, before in chosen.versions.items():
            now = self.ev.heap.get(cell)
            if before is not None and now not in (before, None) and self.given.get(now) != chosen.made.atom:
                self.ev.fail(
                    LoweringError,
                    "this may be a variable that was assigned since, depending on a branch or loop",
                    hint="choose among numbers, not variables: `w + 0.0` is one",
                )

    def same(self, left: Value, right: Value) -> bool | None:
        """Whether two values are one variable."""
        one, other = (getattr(value, "variable", None) for value in (left, right))
        chosen = isinstance(left, Chosen) or isinstance(right, Chosen)
        return None if chosen or (one is None and other is None) else one is other

    def method(self, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
        """Methods of variables."""
        if not isinstance(owner, VariableSym | VariablePair):
            return None
        ev = self.ev
        if name in ("value", "read_value"):
            current: Value = owner.now
            return current
        if name == "numpy":
            return self._constant(owner.now)
        if name not in ("assign", "assign_add", "assign_sub"):
            return None
        value = (args or list(kwargs.values()))[0]
        if isinstance(value, Lst | Tup):
            value = ev.materialise(ev.call_object(np.array, [value], {}, node))
        if name != "assign":
            value = ev.binary("+" if name == "assign_add" else "-", owner, value, node)
        self.assign(owner, ev.materialise(value))
        return owner

    def new_variable(self, args: list[Value], kwargs: dict[str, Value], node: Any) -> VariableSym | VariablePair:
        """`Variable(...)` in the block."""
        ev = self.ev
        check_constructor(ev, Variable, args, kwargs, node)
        given = dict(zip(("initial_value", "trainable", "name", "dtype"), args, strict=False)) | kwargs
        trainable = given.get("trainable", number(True))
        value, dtype = ev.materialise(given["initial_value"]), given.get("dtype", NONE)
        if not isinstance(trainable, Sym) or not isinstance(trainable.constant, bool):
            ev.fail(LoweringError, "`trainable` must be True or False", node)
        if (is_scalar(value) or (isinstance(value, Complex) and not value.is_array)) and is_none(dtype):
            made = self._constant(value)
        else:
            made = self._constant(ev.materialise(ev.call_object(np.array, [value, dtype], {}, node)))
        made = self._named(made)
        stand_in = Variable(0.0, trainable=trainable.constant)
        label = given.get("name", NONE)
        if isinstance(label, Static) and isinstance(label.obj, str):
            stand_in.name = label.obj
            self.named.add(stand_in)
        self.kept.append(stand_in)
        return self._new(made, stand_in, Lst(stand_in.name))

    def _named(self, value: Sym | Complex) -> Sym | Complex:
        """A value whose parts all have names."""

        def named(part: Sym) -> Sym:
            return part if isinstance(part.atom, Name) else self.ev.assign(part.atom, part.type, "variable")

        return Complex(named(value.re), named(value.im)) if isinstance(value, Complex) else named(value)

    def _isinstance(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        value, asked = args
        found = isinstance_tests.isinstance_(ev, [self._itself(value), asked], kwargs, node)
        slot = self.guards.owners.get(id(value.obj)) if isinstance(value, Static) else None
        kinds = isinstance_tests.asked_of(ev, asked, node)
        # an abstract class says itself what its objects are, and learns of more
        if slot is not None and isinstance(found, Sym) and any(type(kind) is not type for kind in kinds):
            self.guards.guard(slot, f"isinstance({{v}}, {self.guards.constant(kinds)}) is {found.constant}")
        return found

    def _type(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        return isinstance_tests.type_(ev, [self._itself(value) for value in args], kwargs, node)

    def _itself(self, value: Value) -> Value:
        """The object of which a number, found at entry, is the value: the program is one of its class."""
        if not isinstance(value, Sym) or not isinstance(value.type, Scalar):
            return value
        whole = (leaf for leaf in self.leaves if not leaf.is_variable and not leaf.part)
        return next((Static(leaf.obj) for leaf in whole if value.atom == Name(leaf.name)), value)

    def _constant(self, value: Value) -> Sym | Complex:
        made = self.ev.materialise(self.ev.call_object(stop_gradient, [value], {}, None))
        assert isinstance(made, Sym | Complex)
        return made

    def assign(self, symbol: VariableSym | VariablePair, value: Value) -> None:
        """A new version of a variable, without history."""
        ev, old = self.ev, symbol.type
        if any(region.entered and region.end is None and ev.block is not region.block for region in self.scopes):
            ev.fail(LoweringError, f"{symbol.variable.name} is assigned inside a branch or loop of a tape's block")
        if isinstance(old, Scalar) and isinstance(symbol, Complex):
            made = self._constant(complex_arithmetic.converted(ev, value, old.dtype))
        elif isinstance(old, Scalar):
            made = self._constant(ev.cast(ev.scalar(value), old))
        else:
            assert isinstance(old, Array)
            own = value.type if isinstance(value, Sym | Complex) else None
            if not isinstance(own, Array) or own.dtype != old.dtype:
                value = ev.call_object(np.array, [value, Static(np.dtype(old.dtype))], {}, None)
            # a copy, which has no history
            made = self._constant(value)
            if not isinstance(made.type, Array) or made.type.ndim != old.ndim:
                ev.fail(UsageError, f"{symbol.variable.name} is {old}; it is assigned {made.type}")
            self._keep_shape(symbol, made)
        made = self._named(made)
        self._note_versions(symbol.variable, made)
        ev.heap[symbol.cell] = contents = Items((made,))
        if isinstance(value, Chosen) and symbol.cell in value.versions:
            # that holds the same then, whether it is the variable or not
            self.given[contents] = value.made.atom

    def _keep_shape(self, version: VariableSym | VariablePair, value: Sym | Complex) -> None:
        """Every version of a variable has its shape; what says otherwise raises."""
        ev, variable = self.ev, version.variable
        symbol, made = complex_arithmetic.lead(version), complex_arithmetic.lead(value)
        for axis in range(symbol.type.ndim):
            own, new = dim_key(ev, symbol, axis), dim_key(ev, made, axis)
            if own == new:
                continue
            extent = dim(ev, symbol, axis)
            differs = ev.op("!=", dim(ev, made, axis), extent)
            if differs.constant is not False:
                message = Const(f"{variable.name} is assigned a value of another shape")
                ev.emit(If(differs.atom, (Raise("ValueError", (message,), ev.span),), (), ev.span))
            ev.dims[name_of(made), axis] = extent.atom
            ev.dim_keys[name_of(made), axis] = own

    def check_writes(self, written: frozenset[str]) -> None:
        """A variable is assigned, never written in place."""
        for variable, versions in self.versions.values():
            if versions[0] in written and versions[0] in {leaf.name for leaf in self.leaves}:
                raise LoweringError(
                    f"the variable {variable.name} is written in place", hint="use assign, assign_add or assign_sub"
                )

    def symbol_attribute(self, owner: Value, name: str, node: Any) -> Value | None:
        """A variable's name and whether it is trainable; steps in memory are no more those of the array itself."""
        kind = getattr(owner, "type", None)
        if name == "strides" and self.overlays and isinstance(kind, Array) and kind.layout == "A":
            self.ev.fail(
                LoweringError,
                "the strides of an array that is not contiguous",
                node,
                reason="the block's program works on copies",
                hint="bind them to a name before the tape",
            )
        if not isinstance(owner, VariableSym | VariablePair) or name not in ("name", "trainable"):
            return None
        variable = owner.variable
        if name == "trainable":
            return number(variable.trainable)
        slot = self.guards.owners.get(id(variable))
        if slot is not None:
            self.guards.guard(slot, f"{{v}}.name == {self.guards.constant(variable.name)}")
        elif variable not in self.named:
            self.ev.fail(LoweringError, "the name of a variable that is made without one", node)
        return Static(variable.name)


def name_of(value: Sym) -> str:
    """The name of a number or array that has one."""
    assert isinstance(value.atom, Name)
    return value.atom.id
