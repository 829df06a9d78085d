"""A call of a compiled function, as Python: variables read and assigned, the user's structure around the results."""

from __future__ import annotations

import enum
import itertools
from collections import deque
from typing import Any, NoReturn

import numpy as np

from tapec.errors import LoweringError, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Deque,
    Instance,
    Items,
    Lst,
    MaybeNone,
    Static,
    Sym,
    Template,
    Tup,
    Value,
    describe,
)
from tapec.frontend.structures import dicts
from tapec.syntax.core import Atom, Name
from tapec.syntax.types import Array
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.variable_versions import VariablePair, VariableSym
from tapec_runtime.aliasing import elements_overlap
from tapec_runtime.variables import Variable, active

_PLAIN = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis), enum.Enum, type, np.dtype, np.generic)
_serial = itertools.count(1)


class Outcome:
    """Collects the results of a program while the text is made that builds what the user gets.

    atoms    what the program returns: `results`
    slots    the places in the guard of objects that are handed through: `extra`; `objects` are those of now
    lines    statements that make lists, dicts, objects and variables, each once
    """

    def __init__(self, ev: Evaluator, live: LiveObjects) -> None:
        self.ev, self.live = ev, live
        self.atoms: list[Atom] = []
        self.slots: list[int] = []
        self.objects: list[Any] = []
        self.namespace: dict[str, Any] = {"Variable": Variable, "set_attribute": object.__setattr__}
        self.lines: list[str] = []
        self.made: dict[int, str] = {}
        # an array or variable that comes out as it went in is the same object
        self.inputs = {
            leaf.name: k for k, leaf in enumerate(live.leaves) if isinstance(leaf.obj, np.ndarray)
        }
        self.variables = {id(leaf.obj): k for k, leaf in enumerate(live.leaves) if isinstance(leaf.obj, Variable)}
        self.held = {id(made): (obj, slot) for obj, slot, made in live.lists}
        self.held |= {id(made): held for made, held in live.dicts.items()}

    def text(self, value: Value) -> str:
        """The Python expression of a value."""
        match value:
            case VariableSym() | VariablePair():
                place = self.variables.get(id(value.variable))
                return self.variable(value) if place is None else f"o{place}"
            case MaybeNone(value=inner, present=present):
                return f"({self.text(inner)} if {self.result(present)} else None)"
            case Sym(atom=Name(id=name), type=Array()) if name in self.inputs:
                return f"o{self.inputs[name]}"
            case Sym(atom=atom):
                return self.result(atom)
            case Complex(re=re, im=im):
                place = self.inputs.get(re.atom.id) if isinstance(re.atom, Name) and value.is_array else None
                if place is not None and self.inputs.get(getattr(im.atom, "id", "")) == place + 1:
                    return f"o{place}"
                return self.complex(value.type.dtype, self.result(re.atom), self.result(im.atom))
            case Tup(items=items, cls=cls):
                parts = [self.text(item) for item in items]
                if cls is not None:
                    return f"{self.constant(cls)}({', '.join(parts)})"
                return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
            case Lst() | Dct() if id(value) in self.held:
                return self.through(*self.held[id(value)])
            case Lst() | Dct() | Instance():
                return self.made.get(id(value)) or self.make(value)
            case Static(obj=obj):
                return self.known(obj)
        self.refuse(describe(value))

    def complex(self, dtype: str, re: str, im: str) -> str:
        """The text of a complex number or array of two results."""
        self.namespace["whole"] = _whole
        return f"whole({self.constant(np.dtype(dtype).type)}, {re}, {im})"

    def result(self, atom: Atom) -> str:
        """A result of the program."""
        if atom not in self.atoms:
            self.atoms.append(atom)
        return f"r{self.atoms.index(atom)}"

    def make(self, value: Lst | Dct | Instance) -> str:
        """The name of a new list, dict or object: filled where it has its name, since they may refer to one another."""
        ev = self.ev
        name = self.made[id(value)] = f"m{len(self.made)}"
        if isinstance(value, Instance):
            self.lines.append(f"{name} = object.__new__({self.constant(value.cls)})")
            for label, cell in value.cells.items():
                contents = ev.heap.get(cell)
                if isinstance(contents, Items):
                    self.lines.append(f"set_attribute({name}, {label!r}, {self.text(contents.values[0])})")
        elif isinstance(value, Dct):
            missing = "" if value.missing is None else self.text(value.missing)
            self.lines.append(f"{name} = {self.constant(value.cls)}({missing})")
            for key in dicts.keys_of(ev, value):
                text = self.text(dicts.get(ev, value, key, None))
                self.lines.append(f"{name}[{self.constant(key)}] = {text}")
        elif isinstance(contents := ev.heap[value], Items):
            fresh = f"{self.constant(deque)}(maxlen={value.capacity})" if isinstance(value, Deque) else "[]"
            self.lines.append(f"{name} = {fresh}")
            self.lines += [f"{name}.append({self.text(item)})" for item in contents.values]
        else:
            self.lines.append(f"{name} = list({self.text(ev.as_array(value, None))})")
        return name

    def variable(self, value: VariableSym | VariablePair) -> str:
        """A variable that the function makes."""
        stand_in = value.variable
        if id(stand_in) not in self.made:
            contents = self.ev.heap[value.cell]
            assert isinstance(contents, Items)
            label = f", name={stand_in.name!r}" if stand_in in self.live.named else ""
            made = f"Variable({self.text(contents.values[0])}, trainable={stand_in.trainable}{label})"
            name = self.made[id(stand_in)] = f"m{len(self.made)}"
            self.lines.append(f"{name} = {made}")
        return self.made[id(stand_in)]

    def known(self, obj: Any) -> str:
        """An object that was known when the function was lowered."""
        slot = self.live.guards.owners.get(id(obj))
        if isinstance(obj, Template):
            self.refuse("or stores text that only the run knows", "return the numbers, and make the text of them")
        if isinstance(obj, _PLAIN):
            return self.constant(obj)
        if slot is None:
            self.refuse(f"a {type(obj).__name__}")
        return self.through(obj, slot)

    def through(self, obj: Any, slot: int) -> str:
        """An object of the caller's, handed back."""
        if slot not in self.slots:
            self.slots.append(slot)
            self.objects.append(obj)
        return f"extra[{self.slots.index(slot)}]"

    def constant(self, obj: Any) -> str:
        if obj is None or isinstance(obj, str | bool):
            return repr(obj)
        name = f"c{len(self.namespace)}"
        self.namespace[name] = obj
        return name

    def refuse(
        self, what: str, hint: str = "return numbers, arrays, variables, or tuples, lists and dicts of those"
    ) -> NoReturn:
        self.ev.fail(UnsupportedSyntax, f"a compiled function returns {what}", hint=hint)

    def caller(
        self, text: str, effects: list[str], run: Any, assigned: dict[int, Atom], written: tuple[int, ...]
    ) -> Any:
        """The function (objects, extra) -> what the user gets.

        text      the expression of that
        effects   statements that change objects of the caller's
        run       the compiled program: it returns `atoms`, then new values of variables
        assigned  the new values, by the variables' places among the objects
        written   the places of arrays that are written
        """
        leaves = self.live.leaves
        objects = [f"o{k}" for k in range(len(leaves))]
        variables = [k for k, leaf in enumerate(leaves) if isinstance(leaf.obj, Variable)]
        values = [f"{name}._value" if k in variables else name for k, name in enumerate(objects)]
        values = [f"{value}.{leaf.part}" if leaf.part else value for value, leaf in zip(values, leaves, strict=True)]
        results = [f"r{k}" for k in range(len(self.atoms))]
        lines = []
        for k in assigned:
            results.append(f"new{k}")
            if leaves[k].part == "imag":
                continue
            if leaves[k].part:
                lines.append(f"new{k} = {self.complex(leaves[k].obj.dtype.name, f'new{k}', f'new{k + 1}')}")
            if leaves[k].obj.ndim > 1:
                lines.append(f"o{k}.take(new{k})")
            elif leaves[k].obj.ndim == 1:
                # what `take` does to a vector
                lines += [f"new{k}.setflags(write=False)", f"o{k}._value = new{k}"]
            else:
                lines.append(f"o{k}._value = {self.constant(leaves[k].obj.dtype.type)}(new{k})")
        body = []
        if objects:
            body.append(f"{', '.join(objects)}, = objects")
        if variables:
            # a read that tapes notice
            body.append(f"if active.tapes: announce(({', '.join(f'o{k}' for k in variables)},))")
        if written:
            body.append(f"check_sharing({written!r}, objects)")
        left = f"{', '.join(results)} = " if results else ""
        body += [f"{left}run({', '.join(values)})", *lines, *self.lines, *effects, f"return {text}"]
        source = "def call(objects, extra):\n" + "\n".join(f"    {line}" for line in body) + "\n"
        self.namespace.update(run=run, active=active, announce=_announce, check_sharing=_check_sharing)
        exec(compile(source, f"<tapec call {next(_serial)}>", "exec"), self.namespace)
        return self.namespace["call"]


def _whole(kind: Any, re: Any, im: Any) -> Any:
    """The complex number or array of two parts."""
    if not isinstance(re, np.ndarray):
        return kind(complex(re, im))
    made = np.empty(re.shape, kind)
    made.real, made.imag = re, im
    return made


def _announce(variables: tuple[Variable, ...]) -> None:
    for variable in variables:
        variable.value()


def _check_sharing(written: tuple[int, ...], objects: tuple[Any, ...]) -> None:
    """What is written shares memory with nothing else, nor do its elements with one another."""
    for position in written:
        own = objects[position]
        if isinstance(own, np.ndarray) and not own.flags.forc and elements_overlap(own):
            raise LoweringError("an argument that is written in place overlaps itself: elements of it share memory")
        for value in objects:
            # a complex array is two inputs
            shared = value is not objects[position] and isinstance(value, np.ndarray)
            if shared and np.may_share_memory(objects[position], value):
                raise LoweringError("an argument that is written in place shares memory with another one")
