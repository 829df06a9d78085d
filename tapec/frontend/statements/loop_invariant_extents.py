"""Arrays that a loop sets anew in each iteration, and that keep their extents: `u = u + dt * laplacian(u)`.

An iteration is lowered as if the arrays that it begins with had the extents of those before the loop.  If what it ends
with has them then, as its text says, all iterations keep them; otherwise the loop is lowered again without that for the
arrays that differ.  Where they differ by extents of parameters (`h = np.tanh(w @ h)`), a version of the program takes
those to be equal (`assumed_extents.py`).
"""

from __future__ import annotations

from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.symbolic_extents import AssumedExtents
from tapec.frontend.evaluator.values import Sym
from tapec.frontend.operations.allocation import dim, dim_key, id_of, of_parameters, rank_of
from tapec.syntax.core import Atom, Name
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array


class InvariantExtents:
    """The extents that are taken for loop-invariant in the attempts at one loop."""

    def __init__(self) -> None:
        self.changing: set[tuple[Any, ...]] = set()
        # of the arrays that the present attempt's iterations begin with
        self.extents: dict[tuple[str, int], Atom] = {}
        self.keys: dict[tuple[Any, ...], list[tuple[Any, int]]] = {}
        self.heads: dict[tuple[Any, ...], str] = {}

    def again(self) -> None:
        """Begin another attempt."""
        self.extents, self.keys, self.heads = {}, {}, {}

    def begin(self, ev: Evaluator, path: tuple[Any, ...], head: str, first: Sym) -> None:
        """Take an array that iterations begin with for one of the extents of the first of them."""
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
        self.heads[path] = head

    def holds(self, ev: Evaluator, path: tuple[Any, ...], last: Sym) -> bool:
        """Whether an array that an iteration ends with has the extents that it was taken to have, if it was."""
        if path not in self.keys or self.keys[path] == [_key(ev, last, axis) for axis in range(len(self.keys[path]))]:
            return True
        self.changing.add(path)
        ev.extents_may_change = True
        if ev.lengths.assumed is not None:
            self.take(ev, ev.lengths.assumed, path, last)
        return False

    def take(self, ev: Evaluator, assumed: AssumedExtents, path: tuple[Any, ...], last: Sym) -> None:
        """Take an iteration's array to have the extents of the one before in the next version, if parameters decide
        that.
        """
        head = self.heads[path]
        pairs: list[tuple[Sum, Sum]] = []
        for axis in range(len(self.keys[path])):
            begun, ended = self.extents[head, axis], ev.dims.get((id_of(last), axis))
            if begun == ended:
                continue
            first = of_parameters(ev, assumed, ev.lengths.sum(begun))
            second = None if ended is None else of_parameters(ev, assumed, ev.lengths.sum(ended))
            if first is None or second is None:
                return
            pairs.append((first, second))
        for first, second in pairs:
            assumed.unify(first, second, numbers=True)


def _key(ev: Evaluator, array: Sym, axis: int) -> tuple[Any, int] | None:
    """What identifies an extent, if that is known by now."""
    if not isinstance(array.atom, Name):
        return None
    place = id_of(array), axis
    extent = ev.dims.get(place)
    return ev.dim_keys.get(place) or (None if extent is None else (extent, 0))
