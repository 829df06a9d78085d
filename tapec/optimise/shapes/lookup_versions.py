"""Give a program a version for places that are looked up and lie behind: those of children in a tree, of earlier rows.

    for m in range(lefts.shape[0]):           if tapec_runtime.lie_behind(lefts, n):
        left = lefts[m]                           for m in range(lefts.shape[0]):
        sums[n + m] = f(sums[left])     ->            left = lefts[m]                   0 <= left < n + m
                                                      sums[n + m] = f(sums[left])
                                              else:
                                                  ...                                   as it was

As far as anybody knows, a row that is looked up may be one that a later iteration writes, or that the one before of a
loop around has left.  Then what was read has to be kept, and iterations cannot have the array to themselves.  Whether
it is only the data know, which are asked at the start; the type of the parameter says it in the first version
(`Array.below`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.analyses.integers import Integers
from tapec.optimise import costs
from tapec.optimise.shapes.versions import Version
from tapec.remarks import Named, remark
from tapec.syntax.core import Assign, Call, Const, For, Function, Name, Op, Stmt, Store, walk
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array, Below


def lookup_versions(function: Function) -> Version | None:
    """The version of a program for places that lie behind; None where there are none to ask about.

    Expects one name per value, as `number_values` leaves it.
    """
    if sum(1 for _ in walk(function.body)) > costs.VERSION_STATEMENTS:
        return None
    found = dict(_Lookups(function).below())
    if not found:
        return None
    types = dict(function.types)
    for array, below in found.items():
        type_ = types[array]
        assert isinstance(type_, Array)
        types[array] = replace(type_, below=below)
    where = next((stmt.span for stmt in function.body if stmt.span is not None), None)
    asked = " and ".join(f"`{{{k}}}`" for k in range(len(found)))
    why = f"one for places in {asked} that lie behind those that are written, which is asked at the start"
    about = (Named(array, where) for array in found)
    remark(where, "lookup_versions", "the gradient has two versions", why, *about)
    return Version(replace(function, types=types), below=tuple(found))


class _Lookups:
    """Places in a function that are looked up in parameters, in loops that write one row after the other."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known = facts(function)
        self.integers: Integers = self.known.dependence.integers
        written = {self.known.aliases.find(name) for stmt in walk(function.body) for name in _touched(stmt)}
        self.steady = {
            name
            for name in function.params
            if isinstance(type_ := function.types[name], Array)
            and type_.dtype in ("int64", "int32")
            and self.known.aliases.find(name) not in written
        }

    def below(self) -> Iterator[tuple[str, Below]]:
        """The parameters that are looked up in, and what their places have to be below."""
        for loop in walk(self.function.body):
            if not isinstance(loop, For) or (loop.start, loop.step) != (Const(0), Const(1)):
                continue
            looked_up = dict(self.looked_up(loop))
            for array, axis, place in self.stores(loop):
                for stmt in walk(loop.body):
                    match stmt:
                        case Assign(value=Op(fn="load", args=(Name(id=other), *index))) if other == array:
                            sub = index[axis]
                            if isinstance(sub, Name) and sub.id in looked_up:
                                yield looked_up[sub.id], place

    def looked_up(self, loop: For) -> Iterator[tuple[str, str]]:
        """Places that are looked up in the row that has the number of the iteration, and the parameters that hold
        them.
        """
        for stmt in walk(loop.body):
            match stmt:
                case Assign(target=target, value=Op(fn="load", args=(Name(id=array), Name(id=row), *_))):
                    if array in self.steady and row == loop.var:
                        yield target, array

    def stores(self, loop: For) -> Iterator[tuple[str, int, Below]]:
        """The arrays of which an iteration writes a row, by the axis of its subscript, and by how much that is
        ahead.
        """
        for stmt in walk(loop.body):
            if not isinstance(stmt, Store) or stmt.array in self.function.params:
                continue
            for axis, sub in enumerate(stmt.index):
                place = self.integers.sum(sub)
                ahead = None if place is None or place.factor(loop.var) != 1 else self.ahead(place, loop.var)
                if ahead is not None:
                    yield stmt.array, axis, ahead

    def ahead(self, place: Sum, var: str) -> Below | None:
        """By how much a place is ahead of the number of an iteration, as extents of parameters; None if by anything
        else.
        """
        extents = []
        for name, factor in place.plus(Sum.of(var), -1).terms:
            match self.known.scopes.defs.get(name):
                case [Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))))]:
                    if array not in self.function.params:
                        return None
                    extents.append((array, axis, factor))
                case _:
                    return None
        return Below(place.number, tuple(extents))


def _touched(stmt: Stmt) -> Iterator[str]:
    """The arrays that a statement may write into."""
    if isinstance(stmt, Store):
        yield stmt.array
    elif isinstance(stmt, Call):
        yield from (arg.id for arg in stmt.args if isinstance(arg, Name))
