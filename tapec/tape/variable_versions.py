"""Variables, while a block is lowered: each assignment makes a version without history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import typeof

from tapec.errors import LoweringError, UsageError
from tapec.frontend import class_tests, complex_arithmetic
from tapec.frontend.allocation import dim, dim_key
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.numba_types import from_numba
from tapec.frontend.values import (
    NONE,
    Complex,
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
from tapec.syntax.core import Const, If, Name, Raise
from tapec.syntax.types import Array, Scalar
from tapec.tape.plan_guards import PlanGuards
from tapec.tape.snapshots import array_type
from tapec_runtime.variables import Variable, stop_gradient


@dataclass(frozen=True)
class VariableSym(Sym):
    """The current version of a variable; `cell` is where the evaluator's state keeps it."""

    # its cell tells it from others; variables compare by their elements
    variable: Any = field(default=None, compare=False)
    cell: Any = None


@dataclass(frozen=True)
class VariablePair(Complex):
    """The current version of a complex variable."""

    variable: Any = field(default=None, compare=False)
    cell: Any = None


def keys_of(variable: Any) -> tuple[int, int]:
    """Where the versions of a complex variable's parts are noted; a real variable has the first alone."""
    return id(variable), -id(variable)


def symbol_of(value: Sym | Complex, variable: Any, cell: Any) -> VariableSym | VariablePair:
    """A version of a variable."""
    if isinstance(value, Complex):
        return VariablePair(value.re, value.im, variable, cell)
    return VariableSym(value.atom, value.type, variable, cell)


def plain_value(symbol: VariableSym | VariablePair) -> Sym | Complex:
    """The value of a version, for itself."""
    return Complex(symbol.re, symbol.im) if isinstance(symbol, Complex) else Sym(symbol.atom, symbol.type)


class VariableVersions:
    """What `LiveObjects` knows of variables.

    versions  by the variable's identity: the variable and the names of its versions; see `keys_of`
    named     the variables that the block makes under a known name
    """

    ev: Evaluator
    recipe: PlanGuards
    overlays: bool
    leaves: list[Any]
    scopes: list[Any]
    values: dict[int, Value]
    kept: list[Any]
    versions: dict[int, tuple[Variable, list[str]]]
    named: set[Variable]

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
            type_ = from_numba(typeof(np.real(value)))
        if value.dtype.kind == "c":
            made = None if type_ is None else self._complex(variable, label, slot, type_, True)
        else:
            made = self._leaf(variable, label, slot, type_, True)
        if made is None:
            return None
        self.at_the_top(variable)
        cell = Lst(variable.name)
        self.ev.heap[cell] = Items((made,))
        self._note_versions(variable, made)
        for part in complex_arithmetic.parts(made):
            for axis, extent in enumerate(np.shape(value)):
                self.ev.dims[name_of(part), axis] = Const(extent)
        symbol = symbol_of(made, variable, cell)
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

    def refresh(self, value: Value) -> Value:
        """A variable's version now; a read that tapes notice."""
        if not isinstance(value, VariableSym | VariablePair):
            return value
        contents = self.ev.heap.get(value.cell)
        if contents is None:
            raise AssertionError("a variable without state")
        assert isinstance(contents, Items)
        current = contents.values[0]
        assert isinstance(current, Sym | Complex)
        for region in self.scopes:
            region.read(value, current)
            contents = self.ev.heap[value.cell]
            assert isinstance(contents, Items) and isinstance(contents.values[0], Sym | Complex)
            current = contents.values[0]
        self._note_versions(value.variable, current)
        return symbol_of(current, value.variable, value.cell)

    def same(self, left: Value, right: Value) -> bool | None:
        """Whether two values are one variable."""
        own = [value.variable if isinstance(value, VariableSym | VariablePair) else None for value in (left, right)]
        return None if own == [None, None] else own[0] is own[1]

    def _method(
        self, default: Any, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
    ) -> Value | None:
        """Methods of variables."""
        if not isinstance(owner, VariableSym | VariablePair):
            result: Value | None = default(owner, name, args, kwargs, node)
            return result
        ev = self.ev
        if name in ("value", "read_value"):
            return plain_value(owner)
        if name == "numpy":
            return self._constant(plain_value(owner))
        if name not in ("assign", "assign_add", "assign_sub"):
            other: Value | None = default(owner, name, args, kwargs, node)
            return other
        value = (args or list(kwargs.values()))[0]
        if isinstance(value, Lst | Tup):
            value = ev.materialise(ev.call_object(np.array, [value], {}, node))
        if name != "assign":
            value = ev.binary("+" if name == "assign_add" else "-", owner, value, node)
        return self.assign(owner, ev.materialise(value))

    def new_variable(self, args: list[Value], kwargs: dict[str, Value], node: Any) -> VariableSym | VariablePair:
        """`Variable(...)` in the block."""
        ev = self.ev
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
        cell = Lst(stand_in.name)
        ev.heap[cell] = Items((made,))
        self._note_versions(stand_in, made)
        return symbol_of(made, stand_in, cell)

    def _named(self, value: Sym | Complex) -> Sym | Complex:
        """A value whose parts all have names."""

        def named(part: Sym) -> Sym:
            return part if isinstance(part.atom, Name) else self.ev.assign(part.atom, part.type, "variable")

        return Complex(named(value.re), named(value.im)) if isinstance(value, Complex) else named(value)

    def _isinstance(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        value, asked = args
        found = class_tests.isinstance_(ev, [self._itself(value), asked], kwargs, node)
        slot = self.recipe.owners.get(id(value.obj)) if isinstance(value, Static) else None
        kinds = class_tests.asked_of(ev, asked, node)
        # an abstract class says itself what its objects are, and learns of more
        if slot is not None and isinstance(found, Sym) and any(type(kind) is not type for kind in kinds):
            self.recipe.guard(slot, f"isinstance({{v}}, {self.recipe.constant(kinds)}) is {found.constant}")
        return found

    def _type(self, ev: Evaluator, args: list[Value], kwargs: Any, node: Any) -> Value:
        return class_tests.type_(ev, [self._itself(value) for value in args], kwargs, node)

    def _itself(self, value: Value) -> Value:
        """The object of which a number, found at entry, is the value: the program is one of its class."""
        if not isinstance(value, Sym) or not isinstance(value.type, Scalar):
            return value
        whole = (leaf for leaf in self.leaves if not leaf.kept and not leaf.part)
        return next((Static(leaf.obj) for leaf in whole if value.atom == Name(leaf.name)), value)

    def _constant(self, value: Value) -> Sym | Complex:
        made = self.ev.materialise(self.ev.call_object(stop_gradient, [value], {}, None))
        assert isinstance(made, Sym | Complex)
        return made

    def assign(self, symbol: VariableSym | VariablePair, value: Value) -> VariableSym | VariablePair:
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
        ev.heap[symbol.cell] = Items((made,))
        return symbol_of(made, symbol.variable, symbol.cell)

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
        slot = self.recipe.owners.get(id(variable))
        if slot is not None:
            self.recipe.guard(slot, f"{{v}}.name == {self.recipe.constant(variable.name)}")
        elif variable not in self.named:
            self.ev.fail(LoweringError, "the name of a variable that is made without one", node)
        return Static(variable.name)


def name_of(value: Sym) -> str:
    """The name of a number or array that has one."""
    assert isinstance(value.atom, Name)
    return value.atom.id
