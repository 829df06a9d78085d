"""Live objects to the names of the residual program, by identity."""

from __future__ import annotations

import inspect
import types
from collections import deque
from typing import Any

import numpy as np

from tapec.frontend.evaluator.values import (
    Complex,
    Dct,
    Instance,
    Items,
    Lst,
    Maybe,
    MaybeNone,
    Record,
    Sym,
    Tup,
    Unseen,
)
from tapec.syntax.core import Atom, Const, Name
from tapec.tape.objects.block_inputs import InputLeaf
from tapec.tape.plan.tape_plan import AtomOrPair, TapePlan
from tapec_runtime.variables import Variable


def atoms_of(meant: AtomOrPair | None) -> tuple[Atom, ...]:
    """The names and literals of what an object means: one, or those of both parts of what is complex."""
    return () if meant is None else meant if isinstance(meant, tuple) else (meant,)


class ObjectNames:
    """Live objects to the names of the residual program, by identity.

    An object with several names goes by the one that was defined first; inputs come before all.
    Python shares floats of equal value where they are constants: a float with more than one
    meaning is told apart by nothing.

    order  where in the program each name is defined
    """

    def __init__(self, order: dict[str, int]) -> None:
        self.order = order
        self.of: dict[int, AtomOrPair | None] = {}
        self.held: dict[int, Any] = {}
        self.kept: list[Any] = []
        self.taken: list[tuple[tuple[AtomOrPair | None, ...], tuple[Any, ...]]] = []
        self.doubtful: set[int] = set()
        self.objects: dict[Atom, int] = {}
        self.twins: set[int] = set()
        self.seen: set[tuple[int, int]] = set()
        self.again: dict[int, list[str]] = {}
        self.again_imaginary: dict[int, list[str]] = {}
        self.lost: dict[int, Any] = {}
        self.reasons: dict[int, str] = {}

    def take(
        self, plan: TapePlan, objects: tuple[Any, ...], atoms: tuple[AtomOrPair, ...], left: tuple[Any, ...]
    ) -> None:
        """Name the inputs of a plan, and what it left where every object is one value (`object_collectors.py`)."""
        of = self.of
        for leaf, name, obj in zip(plan.leaves, plan.leaf_atoms, objects, strict=True):
            key = id(obj)
            if name is None:
                continue
            if key not in of:
                of[key] = name
            elif not leaf.ident:
                self.doubtful.add(key)
        for atom, obj in zip(atoms, left, strict=True):
            known = of.setdefault(id(obj), atom)
            # copies of a value are the same object
            if known is not atom and (known is None or self._stands_before(atom, known, obj)):
                of[id(obj)] = atom
        self.kept += [objects, left]
        self.taken.append(((*plan.leaf_atoms, *atoms), (*objects, *left)))

    def _remember(self) -> None:
        """Which object each name stands for, so far."""
        for atoms, objects in self.taken:
            for atom, obj in zip(atoms, objects, strict=True):
                for one in atoms_of(atom):
                    self.objects.setdefault(one, id(obj))
        self.taken = []

    def copied(self, order: dict[str, int]) -> ObjectNames:
        """Names of their own that know what these know."""
        self._remember()
        made = ObjectNames(order)
        made.kept = [*self.kept]
        for key in ("of", "held", "objects", "again", "again_imaginary", "lost", "reasons"):
            setattr(made, key, dict(getattr(self, key)))
        made.doubtful, made.twins = set(self.doubtful), set(self.twins)
        return made

    def leaf(self, obj: Any, leaf: InputLeaf) -> None:
        if self.taken:
            self._remember()
        if leaf.part == "imag":
            self._second_part(obj, Name(leaf.name))
            return
        if id(obj) in self.of and not leaf.ident:
            self.doubtful.add(id(obj))
        if id(obj) in self.of and isinstance(obj, Variable):
            # a tape that is entered again reads it again
            self.again.setdefault(id(obj), []).append(leaf.name)
        self.held[id(obj)] = obj
        self.of.setdefault(id(obj), Name(leaf.name))
        self.objects.setdefault(Name(leaf.name), id(obj))

    def _second_part(self, obj: Any, atom: Name) -> None:
        """The imaginary part of an input whose real part was named before."""
        first = self.of[id(obj)]
        if isinstance(first, Name):
            self.of[id(obj)] = first, atom
        elif isinstance(obj, Variable):
            self.again_imaginary.setdefault(id(obj), []).append(atom.id)
        self.objects.setdefault(atom, id(obj))

    def note(self, obj: Any, atom: AtomOrPair) -> None:
        if self.taken:
            self._remember()
        key = id(obj)
        known = self.of.get(key, atom)
        literal = any(isinstance(one, Const) for one in (*atoms_of(atom), *atoms_of(known)))
        if isinstance(obj, float | complex) and known != atom and literal:
            self.doubtful.add(key)
        self.held[key] = obj
        if known is None or self._stands_before(atom, known, obj):
            self.of[key] = atom
        for one in atoms_of(atom):
            if isinstance(one, Name) and (owner := self.objects.setdefault(one, key)) != key:
                # another object with the same value and history, such as float(x)
                self.twins.add(key)
                if self._place(one) >= 0:
                    # which of the two was first is not known, unless one is an input
                    self.twins.add(owner)

    def _stands_before(self, atom: AtomOrPair, known: AtomOrPair, obj: Any) -> bool:
        place, other = self._place(atom), self._place(known)
        # a variable that a tape which is entered again reads again goes by the name that it was read by first
        return place < other or (place == other and id(obj) not in self.again)

    def _place(self, atom: AtomOrPair) -> int:
        return max(self.order.get(one.id, -1) if isinstance(one, Name) else -2 for one in atoms_of(atom))

    def name_objects(self, value: Any, obj: Any, heap: dict[Lst, Any], names: dict[str, str]) -> None:
        """Walk a final value and the object that it stands for side by side; `names` renames atoms."""
        match value:
            case Sym(atom=Name(id=name)):
                self.note(obj, Name(names.get(name, name)))
            case Sym():
                self.note(obj, value.atom)
            case Complex(re=re, im=im):
                first, second = (
                    Name(names.get(one.id, one.id)) if isinstance(one, Name) else one for one in (re.atom, im.atom)
                )
                self.note(obj, (first, second))
            case MaybeNone() if obj is None:
                pass
            case Maybe(value=inner) | MaybeNone(value=inner):
                self.name_objects(inner, obj, heap, names)
            case Tup(items=items) if isinstance(obj, tuple) and len(obj) == len(items):
                for item, inner_obj in zip(items, obj, strict=True):
                    self.name_objects(item, inner_obj, heap, names)
            case Record(cls=cls) if hasattr(cls, "sparse") and type(obj) is cls.object_class:
                self.name_objects(value.items[0], obj.data, heap, names)
            case Lst() if isinstance(obj, list | deque) and value in heap:
                self.name_objects(heap[value], obj, heap, names)
            case Items(values=values) if isinstance(obj, list | deque) and len(obj) == len(values):
                for item, inner_obj in zip(values, obj, strict=True):
                    self.name_objects(item, inner_obj, heap, names)
            case Dct(cells=cells) if isinstance(obj, dict) and self._first(value, obj):
                for key, cell in cells.items():
                    if cell in heap and key in obj:
                        self.name_objects(heap[cell].values[0], obj[key], heap, names)
            case Instance(cells=cells) if type(obj) is value.cls and self._first(value, obj):
                self._attributes(cells, obj, heap, names)
            case dict():
                self._attributes(value, obj, heap, names)
            case Dct() | Instance() if (id(value), id(obj)) in self.seen:
                pass
            case Unseen(reason=reason):
                self.lose(obj)
                self.reasons[id(obj)] = reason
            case _:
                # not what the program says it is, or more than it knows
                self.lose(obj)

    def lose(self, obj: Any) -> None:
        """Numbers whose names are not known: whoever asks for them is told so."""
        if isinstance(obj, float | complex | np.inexact | np.ndarray):
            if id(obj) not in self.of:
                self.lost[id(obj)] = obj
        elif isinstance(obj, list | tuple | deque):
            for item in obj:
                self.lose(item)
        elif isinstance(obj, dict):
            for item in obj.values():
                self.lose(item)

    def _first(self, value: Any, obj: Any) -> bool:
        """Whether this pair is met for the first time: objects may refer to one another."""
        pair = id(value), id(obj)
        new = pair not in self.seen
        self.seen.add(pair)
        return new

    def _attributes(self, cells: dict[str, Lst], obj: Any, heap: dict[Lst, Any], names: dict[str, str]) -> None:
        for name, cell in cells.items():
            held = attribute_of(obj, name)
            if cell in heap and (held is not None or isinstance(obj, dict | types.CellType)):
                self.name_objects(heap[cell].values[0], held, heap, names)


def attribute_of(obj: Any, name: str) -> Any:
    """What an object, dict or cell holds under a name, without calling anything of its class; None if nothing."""
    if isinstance(obj, dict):
        return obj.get(name)
    if isinstance(obj, types.CellType):
        return obj.cell_contents
    held = inspect.getattr_static(obj, name, None)
    return getattr(obj, name, None) if isinstance(held, types.MemberDescriptorType) else held
