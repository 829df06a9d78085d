"""Copy the elements of a small operand of an expression where a stretched copy may take its place.

    n = x.shape[0]                            n = x.shape[0]
    if n != 3:                                a = np.empty(3)
        ...                                   if n != 3:
        out = np.empty(3)                         ...
        for i in range(3):                        out = np.empty(3)
            out[i] = x[0]             ->          for i in range(3):
        a = out                                       out[i] = x[0]
    else:                                         a[0] = out[0]; a[1] = out[1]; a[2] = out[2]
        a = x                                 else:
                                                  a[0] = x[0]; a[1] = x[1]; a[2] = x[2]

An operand whose extent has to be compared at run time leaves such a pair; the copies can become numbers.  The extents
must be known on both sides: from where an array is made, from a check before, from the branch that was not taken.
Neither array may be written into after its elements are copied, and what is made of them may only be read: by
its elements, or by an operation that keeps no view.  Then nobody can tell the copy from the array.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import handed_on, origins
from tapec.optimise import costs
from tapec.optimise.buffers.array_phis import joined
from tapec.optimise.rewriter import Rewriter
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    changed,
    ends_in_error,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Type

# extents that are known: array, axis -> extent
Extents = dict[tuple[str, int], int]


def copy_broadcast(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with elements copied instead; see the module."""
    if not any(isinstance(stmt, If) and _merged(stmt, function.types) for stmt in function.body):
        return function
    return _Broadcast(function).rewritten({})


def _merged(branch: If, types: dict[str, Type]) -> list[str]:
    """The arrays that both sides of a branch give another name to."""
    both = [
        stmt.target
        for stmt in branch.body
        if isinstance(stmt, Assign) and _taken(branch.body, stmt.target) and _taken(branch.orelse, stmt.target)
    ]
    return [name for name in both if isinstance(types.get(name), Array)]


def _taken(side: Block, name: str) -> tuple[int, str] | None:
    """Where a side gives `name` to another array, and to which; None if it does not do so once."""
    found = [(place, stmt.value) for place, stmt in enumerate(side) if isinstance(stmt, Assign) and stmt.target == name]
    match found:
        case [(place, Name(id=array))]:
            return place, array
    return None


class _Broadcast(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.writes = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.origins = origins(function.body, function.types)
        self.groups = {param: group for group in function.shared for param in group}
        # where memory is written into for the last time
        self.stored: dict[str, int] = {}
        # arrays that more is done with than reading elements, or all of it
        self.kept: set[str] = set()
        for place, stmt in enumerate(walk(function.body)):
            for array in changed(stmt):
                self.stored.update(dict.fromkeys(self.memory(array), place))
            if not isinstance(stmt, Assign) or handed_on(stmt.value):
                self.kept.update(reads(stmt))
        self.made: Extents = {}
        # what names stand for: the extent of an axis; a test that is false only for such extents
        self.dims: dict[str, tuple[str, int]] = {}
        self.unless: dict[str, Extents] = {}
        self.place = -1

    def memory(self, array: str) -> frozenset[str]:
        """The names of the memory that an array may be."""
        found = self.origins.get(array, frozenset({array}))
        return found.union(*(self.groups.get(origin, ()) for origin in found))

    def block(self, block: Block, known: Extents, looped: bool = False) -> Block:
        known = dict(known)
        return tuple(new for stmt in block for new in self.statement(stmt, known, looped))

    def statement(self, stmt: Stmt, known: Extents, looped: bool) -> Iterator[Stmt]:
        """What takes a statement's place; what is known behind it is added to `known`."""
        self.place += 1
        match stmt:
            case Assign(target=target, value=Op() as value) if self.writes[target] == 1:
                self.note(target, value)
            case If(test=test, body=body, orelse=orelse):
                otherwise = {**known, **(self.unless.get(test.id, {}) if isinstance(test, Name) else {})}
                new = replace(stmt, body=self.block(body, known, looped), orelse=self.block(orelse, otherwise, looped))
                for target in () if looped else _merged(stmt, self.fresh.types):
                    extents = self.extents(target, body, known)
                    if extents is not None and extents == self.extents(target, orelse, otherwise):
                        made, new = joined(new, target, extents, self.fresh)
                        yield made
                yield new
                if ends_in_error(body):
                    known.update(otherwise)
                return
        yield map_blocks(stmt, lambda inner: self.block(inner, known, looped or isinstance(stmt, For | Loop)))

    def note(self, target: str, value: Op) -> None:
        """What an operation tells of extents."""
        match value:
            case Op(fn="empty" | "zeros", args=(_, *extents)):
                for axis, extent in enumerate(extents):
                    if isinstance(extent, Const) and isinstance(extent.value, int):
                        self.made[target, axis] = extent.value
            case Op(fn="dim", args=(Name(id=array), Const(value=int() as axis))) if self.writes[array] < 2:
                self.dims[target] = array, axis
            case Op(fn="!=", args=(Name(id=extent), Const(value=int() as width))) if extent in self.dims:
                self.unless[target] = {self.dims[extent]: width}
            case Op(fn="or", args=tests):
                parts = [self.unless.get(test.id, {}) for test in tests if isinstance(test, Name)]
                self.unless[target] = {axis: width for part in parts for axis, width in part.items()}

    def extents(self, target: str, side: Block, known: Extents) -> tuple[int, ...] | None:
        """Those of `target` behind a side that has just been visited, if its elements may be copied there."""
        found = _taken(side, target)
        if found is None or self.writes[target] != 2 or target in self.kept:
            return None
        place, source = found
        own, taken, memory = self.fresh.types[target], self.fresh.types[source], self.memory(source)
        assert isinstance(own, Array) and isinstance(taken, Array)
        later = {name for stmt in walk(side[place:]) for array in changed(stmt) for name in self.memory(array)}
        if own.dtype != taken.dtype or self.writes[source] > 1 or memory & later:
            return None
        if any(self.stored.get(name, -1) > self.place for name in memory):
            return None
        axes = [(source, axis) for axis in range(taken.ndim)]
        shape = tuple(self.made.get(axis, known.get(axis, 0)) for axis in axes)
        return shape if 0 < math.prod(shape) <= costs.SMALL_ARRAY else None
