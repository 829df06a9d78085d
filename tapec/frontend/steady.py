"""Arrays that a loop sets anew in each trip, and that keep their extents: `u = u + dt * laplacian(u)`.

A trip is lowered as if the arrays that it begins with had the extents of those before the loop.  If what it ends with
has them then, as its text says, all trips keep them; otherwise the loop is lowered again without that for the arrays
that differ.
"""

from __future__ import annotations

from typing import Any

from tapec.frontend.evaluator import Evaluator
from tapec.frontend.memory import dim, dim_key, id_of, rank_of
from tapec.frontend.values import Sym
from tapec.syntax.core import Atom, Name
from tapec.syntax.types import Array


class Steady:
    """What is taken for steady in the attempts at one loop."""

    def __init__(self) -> None:
        self.changing: set[tuple[Any, ...]] = set()
        # of the arrays that the present attempt's trips begin with
        self.extents: dict[tuple[str, int], Atom] = {}
        self.keys: dict[tuple[Any, ...], list[tuple[Any, int]]] = {}

    def again(self) -> None:
        """Begin another attempt."""
        self.extents, self.keys = {}, {}

    def begin(self, ev: Evaluator, path: tuple[Any, ...], head: str, first: Sym) -> None:
        """Take an array that trips begin with for one of the extents of the first of them."""
        # of a complex array the imaginary part has the extents of the real one
        steps = path[2:-1] if path[-1] == "re" else path[2:]
        if path in self.changing or path[0] != "name" or not all(isinstance(step, int) for step in steps):
            return
        if not isinstance(first.type, Array) or not isinstance(first.atom, Name) or head in ev.partners:
            return
        keys = [dim_key(ev, first, axis) for axis in range(rank_of(first))]
        for axis, key in enumerate(keys):
            self.extents[head, axis] = ev.dims[head, axis] = dim(ev, first, axis).atom
            ev.dim_keys[head, axis] = key
        self.keys[path] = keys

    def holds(self, ev: Evaluator, path: tuple[Any, ...], last: Sym) -> bool:
        """Whether an array that a trip ends with has the extents that it was taken to have, if it was."""
        if path not in self.keys or self.keys[path] == [_key(ev, last, axis) for axis in range(len(self.keys[path]))]:
            return True
        self.changing.add(path)
        return False


def _key(ev: Evaluator, array: Sym, axis: int) -> tuple[Any, int] | None:
    """What identifies an extent, if that is known by now."""
    if not isinstance(array.atom, Name):
        return None
    place = id_of(array), axis
    extent = ev.dims.get(place)
    return ev.dim_keys.get(place) or (None if extent is None else (extent, 0))
