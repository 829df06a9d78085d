"""The generated function that collects what a block has left, where every object is one value.

A block that is met again leaves the same structure behind.  The values that the plan ends with, written out as straight
code, find the objects in a fixed order.  The function gives None where reality differs from the
plan in anything that decides about names, and where one object goes by two names: the walk of
`object_names.py` then tells what each object is, or that this cannot be told.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any, NamedTuple

import numpy as np

from tapec.frontend.evaluator.values import Complex, Dct, Instance, Items, Lst, Maybe, Record, Sym, Tup
from tapec.syntax.core import Atom, Name
from tapec.syntax.types import Array, Type
from tapec.tape.answers.object_names import attribute_of
from tapec.tape.plan.tape_plan import AtomOrPair, TapePlan

# what a tape may be asked for
_NUMBERS = (float, complex, np.inexact, np.ndarray)
# where `Names.lose` looks for it
_CONTAINERS = (*_NUMBERS, list, tuple, dict, deque)
# a look into others may add to them
_DICTS = (dict, OrderedDict)


class ObjectCollector(NamedTuple):
    """How a plan's leftovers are collected.

    collect  (the frame's variables, the inputs' objects, the live lists) -> the objects, or None
    atoms    the atoms that the objects stand for, in the same order
    """

    collect: Any
    atoms: tuple[AtomOrPair, ...]


class _Unforeseen(Exception):
    """The plan ends with something whose names only the general walk can find."""


def collector_for(plan: TapePlan) -> ObjectCollector | None:
    """The function for a plan; None where the general walk is needed every time."""
    if plan.escapes or plan.raised:
        return None
    text = _CollectorText(plan)
    try:
        for place, (leaf, atom) in enumerate(zip(plan.leaves, plan.leaf_atoms, strict=True)):
            if isinstance(atom, tuple):
                text.pair(atom, f"o{place}")
            elif atom is not None:
                text.number(atom, plan.types[leaf.name], f"o{place}")
        for name, value in plan.final.items():
            text.value(value, f"variables[{name!r}]")
        for place, (_, contents) in enumerate(plan.lists):
            text.value(contents, f"h{place}")
    except _Unforeseen:
        return None
    return ObjectCollector(text.function(len(plan.leaves), len(plan.lists)), tuple(text.atoms))


class _CollectorText:
    """Lines under construction."""

    def __init__(self, plan: TapePlan) -> None:
        self.plan = plan
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            "NUMBERS": _NUMBERS, "CONTAINERS": _CONTAINERS, "DICTS": _DICTS, "LISTS": (list, deque),
            "attribute_of": attribute_of,
        }  # fmt: skip
        self.atoms: list[AtomOrPair] = []
        self.results: list[str] = []
        # where each object was found first, by what makes it one
        self.first: dict[Any, str] = {}
        # what each name is, or is a part of
        self.owners: dict[Any, Any] = {}
        self.seen: dict[int, str] = {}
        self.count = 0

    def constant(self, obj: Any) -> str:
        name = f"c{len(self.namespace)}"
        self.namespace[name] = obj
        return name

    def fetched(self, text: str) -> str:
        """A variable that holds what `text` gives."""
        if text.isidentifier():
            return text
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def needs(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return None")

    def value(self, value: Any, text: str) -> None:
        """The lines for a value that the plan ends with and the object that `text` finds."""
        match value:
            case Sym(atom=atom, type=type_):
                found = self.fetched(text)
                if self.number(atom, type_, found):
                    self.atoms.append(atom)
                    self.results.append(found)
            case Complex(re=re, im=im):
                found = self.fetched(text)
                self.pair((re.atom, im.atom), found)
                self.atoms.append((re.atom, im.atom))
                self.results.append(found)
            case Maybe(value=inner):
                self.value(inner, text)
            case Tup(items=items):
                self._items(items, self.fetched(text), "tuple")
            case Record(cls=cls) if hasattr(cls, "sparse"):
                found = self.fetched(text)
                self.needs(f"type({found}) is {self.constant(cls.object_class)}")
                self.value(value.items[0], f"{found}.data")
            case Items(values=values):
                self._items(values, self.fetched(text), "LISTS")
            case Lst() if isinstance(self.plan.heap.get(value), Items):
                self.value(self.plan.heap[value], text)
            case Dct(cells=cells):
                found = self.fetched(text)
                self.needs(f"type({found}) in DICTS")
                if self._first(value, found):
                    for key, cell in cells.items():
                        self._cell(cell, f"{found}[{self._key(key)}]")
            case Instance(cells=cells, cls=cls):
                found = self.fetched(text)
                self.needs(f"type({found}) is {self.constant(cls)}")
                if self._first(value, found):
                    self._attributes(cells, found)
            case dict():
                self._attributes(value, text)
            case _ if value is None or isinstance(value, Lst):
                raise _Unforeseen
            case _:
                # it says nothing about numbers, and none may stand there
                found = self.fetched(text)
                self.needs(f"not isinstance({found}, CONTAINERS)")

    def _key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int) else self.constant(key)

    def _items(self, values: tuple[Any, ...], found: str, kind: str) -> None:
        self.needs(f"isinstance({found}, {kind}) and len({found}) == {len(values)}")
        for place, value in enumerate(values):
            self.value(value, f"{found}[{place}]")

    def _attributes(self, cells: dict[str, Lst], found: str) -> None:
        for name, cell in cells.items():
            self._cell(cell, f"attribute_of({found}, {name!r})")

    def _cell(self, cell: Lst, text: str) -> None:
        contents = self.plan.heap.get(cell)
        if contents is not None:
            self.value(contents.values[0], text)

    def _first(self, value: Any, found: str) -> bool:
        """Whether a dict or object of the plan is met for the first time; it is one object everywhere."""
        known = self.seen.setdefault(id(value), found)
        if known != found:
            self.needs(f"{found} is {known}")
        return known == found

    def number(self, atom: Atom, type_: Type, found: str) -> bool:
        """The lines for a number or array; whether a tape may be asked for it.

        What it may be asked for is told apart by identity; anything else must be of another kind.
        """
        if not isinstance(type_, Array) and not type_.is_float:
            self.needs(f"not isinstance({found}, NUMBERS)")
            return False
        same = self._original(atom.id) if isinstance(atom, Name) else (type(atom.value), atom.value)
        self._one(same, [same], found)
        return True

    def pair(self, atoms: tuple[Atom, Atom], found: str) -> None:
        """The lines for a complex number or array."""
        names = [self._original(atom.id) for atom in atoms if isinstance(atom, Name)]
        if len(names) < 2:
            raise _Unforeseen
        self._one(tuple(names), names, found)

    def _one(self, same: Any, parts: list[Any], found: str) -> None:
        """The lines that tell that `found` is the one object of its value."""
        for part in parts:
            if self.owners.setdefault(part, same) != same:
                # two values have a part in common
                raise _Unforeseen
        known = self.first.setdefault(same, found)
        if known != found:
            # a second object of the same history is not this one
            self.needs(f"{found} is {known}")

    def _original(self, name: str) -> str:
        """What a watch copies is the same object."""
        while name in self.plan.copies:
            name = self.plan.copies[name]
        return name

    def function(self, leaves: int, lists: int) -> Any:
        """The function of the lines."""
        body = []
        if leaves:
            body.append(f"{', '.join(f'o{k}' for k in range(leaves))}, = objects")
        if lists:
            body.append(f"{', '.join(f'h{k}' for k in range(lists))}, = holders")
        body += self.lines
        distinct = list(self.first.values())
        if len(distinct) == 2:
            body.append(f"if {distinct[0]} is {distinct[1]}: return None")
        elif len(distinct) > 2:
            # objects that are alive have identities of their own
            ids = ", ".join(f"id({found})" for found in distinct)
            body.append(f"if len({{{ids}}}) != {len(distinct)}: return None")
        body.append(f"return ({', '.join(self.results)}{',' if self.results else ''})")
        text = "def collect(variables, objects, holders):\n    try:\n"
        text += "\n".join(f"        {line}" for line in body)
        # a variable, key or attribute that is not there
        text += "\n    except (KeyError, IndexError, ValueError):\n        return None\n"
        exec(compile(text, "<tapec collector>", "exec"), self.namespace)
        return self.namespace["collect"]

