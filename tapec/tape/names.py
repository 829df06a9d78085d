"""Live objects to the names of the residual program, by identity."""

from __future__ import annotations

from typing import Any

from tapec.frontend.values import Items, Lst, Maybe, Sym, Tup
from tapec.syntax.core import Atom, Const, Name
from tapec.tape.live import Leaf


class Names:
    """Live objects to the names of the residual program, by identity.

    An object that was there at entry keeps its first name.  Python shares floats of equal value
    where they are constants: a float with more than one meaning is told apart by nothing.
    """

    def __init__(self) -> None:
        self.of: dict[int, Atom | None] = {}
        self.held: dict[int, Any] = {}
        self.doubtful: set[int] = set()
        self.objects: dict[Atom, int] = {}
        self.twins: set[int] = set()

    def leaf(self, obj: Any, leaf: Leaf) -> None:
        if id(obj) in self.of and not leaf.ident:
            self.doubtful.add(id(obj))
        self.held[id(obj)] = obj
        self.of.setdefault(id(obj), Name(leaf.name))
        self.objects.setdefault(Name(leaf.name), id(obj))

    def note(self, obj: Any, atom: Atom) -> None:
        key = id(obj)
        known = self.of.get(key, atom)
        if isinstance(obj, float) and known != atom and (isinstance(atom, Const) or isinstance(known, Const)):
            self.doubtful.add(key)
        self.held[key] = obj
        self.of.setdefault(key, atom)
        if isinstance(atom, Name) and self.objects.setdefault(atom, key) != key:
            # another object with the same value and history, such as float(x)
            self.twins.add(key)

    def harvest(self, value: Any, obj: Any, heap: dict[Lst, Any]) -> None:
        """Walk a final value and the object that it stands for side by side."""
        match value:
            case Sym():
                self.note(obj, value.atom)
            case Maybe(value=inner):
                self.harvest(inner, obj, heap)
            case Tup(items=items) if isinstance(obj, tuple) and len(obj) == len(items):
                for item, inner_obj in zip(items, obj, strict=True):
                    self.harvest(item, inner_obj, heap)
            case Lst() if isinstance(obj, list) and value in heap:
                self.harvest(heap[value], obj, heap)
            case Items(values=values) if isinstance(obj, list) and len(obj) == len(values):
                for item, inner_obj in zip(values, obj, strict=True):
                    self.harvest(item, inner_obj, heap)
