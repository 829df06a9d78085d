"""Copies of what lanes read again and again, with the axis of lanes last.

    for first in range(0, n, 64):                 for first in range(0, n, 64):
        for j in range(k):                            for c in range(d):
            for c in range(d):                            for lane in range(lanes):
                for lane in range(lanes):    ->               x_lanes[c, lane] = x[first + lane, c]
                    s += x[first + lane, c]           for j in range(k):
                                                          for c in range(d):
                                                              for lane in range(lanes):
                                                                  s += x_lanes[c, lane]

Vectors would have to gather such elements one by one.  Copied are arrays that the loop does not change, where
loops of the trip run through their other axes, and the trip reads them more than once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine
from tapec.analyses.lanes import Lanes
from tapec.optimise.names import Fresh
from tapec.optimise.ranges import extent_of
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Name,
    Op,
    Stmt,
    Store,
    blocks,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array, Scalar


@dataclass(frozen=True)
class _Copy:
    """Which part of an array is copied: `stops` are the extents of its axes other than `axis`, that of the trips."""

    array: str
    axis: int
    stops: tuple[Expr, ...]


class Packed:
    """The copies of one loop: statements that make them, and where a load then finds its element."""

    def __init__(self, lanes: Lanes, fresh: Fresh) -> None:
        self.lanes = lanes
        self.fresh = fresh
        # the loads of each copy, and whether one of them is repeated in a trip
        self._loads: dict[_Copy, list[Assign]] = {}
        self._repeated: set[_Copy] = set()
        self._changed = {
            access.array
            for group in lanes.trips.groups(lanes.loop.body)
            if any(one.kind != "load" for one in group)
            for access in group
        }
        self._inside = {name for stmt in walk((lanes.loop,)) for name in writes(stmt)}
        self._collect(lanes.loop.body, ())
        self.names: dict[_Copy, str] = {}
        self.of: dict[int, _Copy] = {}
        for copy, loads in self._loads.items():
            if copy in self._repeated or len(loads) > 1:
                self.of |= {id(load): copy for load in loads}

    def element(self, load: Stmt, index: tuple[Atom, ...], lane: Name) -> tuple[str, tuple[Atom, ...]] | None:
        """Where a lane finds what it loads from `index`, if that is in a copy."""
        copy = self.of.get(id(load))
        if copy is None:
            return None
        return self.names[copy], (*(sub for k, sub in enumerate(index) if k != copy.axis), lane)

    def repeated(self, load: Stmt) -> bool:
        """Whether a load finds its element in a copy, and each trip makes it again and again."""
        return self.of.get(id(load)) in self._repeated

    def made(self, first: str, lanes: str, width: Atom) -> Iterator[tuple[list[Stmt], Stmt]]:
        """Of each copy: what stands before the loop over blocks of lanes, and what at the beginning of a block."""
        for copy in dict.fromkeys(self.of.values()):
            before: list[Stmt] = []
            extents = [self._extent(copy, k, before) for k in range(len(copy.stops))]
            type_ = self.fresh.types[copy.array]
            assert isinstance(type_, Array)
            name = self.names[copy] = self.fresh(f"{copy.array}_lanes", Array(type_.dtype, type_.ndim))
            before.append(Assign(name, Op("empty", (Const(type_.dtype), *extents, width))))
            yield before, self._filled(copy, name, extents, first, lanes)

    def _collect(self, block: Iterable[Stmt], around: tuple[For, ...]) -> None:
        for stmt in block:
            match stmt:
                case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                    self._consider(stmt, array, tuple(index), around)
                case For() if id(stmt) not in self.lanes.controls:
                    self._collect(stmt.body, (*around, stmt))
                    continue
            for inner in blocks(stmt):
                self._collect(inner, around)

    def _consider(self, load: Assign, array: str, index: tuple[Expr, ...], around: tuple[For, ...]) -> None:
        found = self.lanes.element(array, index)
        assert found is not None
        array, index = found
        if array in self._changed or array in self._inside or index.count(Name(self.lanes.loop.var)) != 1:
            return
        axis = index.index(Name(self.lanes.loop.var))
        type_ = self.fresh.types.get(array)
        if not isinstance(type_, Array) or axis == (0 if type_.layout == "F" else type_.ndim - 1):
            return
        loops = {Name(loop.var): loop for loop in around}
        others = [sub for k, sub in enumerate(index) if k != axis]
        if any(sub not in loops for sub in others) or len(set(others)) < len(others):
            return
        extents = [self._counted(loops[sub]) for sub in others if isinstance(sub, Name)]
        stops = tuple(extent for extent in extents if extent is not None)
        if len(stops) < len(extents):
            return
        copy = _Copy(array, axis, stops)
        self._loads.setdefault(copy, []).append(load)
        if len(around) > len(others):
            self._repeated.add(copy)

    def _counted(self, loop: For) -> Expr | None:
        """How far a loop counts from zero or more on, in names that are set before the loop in lanes."""
        if loop.step not in (Const(1), Const(-1)) or self.lanes.trips.dependence.minimum(Affine(loop.var, 0)) < 0:
            return None
        return extent_of(self.lanes.trips, loop, self.lanes.loop)

    def _extent(self, copy: _Copy, number: int, before: list[Stmt]) -> Atom:
        """How much of an axis is copied: what its loop runs through, if the array has as much."""
        axis = number + (number >= copy.axis)
        stop, extent = copy.stops[number], Op("dim", (Name(copy.array), Const(axis)))
        if isinstance(stop, Name) and self.lanes.trips.definition(stop) == extent:
            return stop
        whole, wanted, least, most = (Name(self.fresh("n", INT64)) for _ in range(4))
        before.append(Assign(whole.id, extent))
        before.append(Assign(wanted.id, stop))
        before.append(Assign(least.id, Op("min", (whole, wanted))))
        before.append(Assign(most.id, Op("max", (least, Const(0)))))
        return most

    def _filled(self, copy: _Copy, name: str, extents: list[Atom], first: str, lanes: str) -> Stmt:
        """The loops that copy a block of lanes."""
        span = self._loads[copy][0].span
        type_ = self.fresh.types[name]
        assert isinstance(type_, Array)
        lane, trip = (Name(self.fresh(base, INT64)) for base in ("lane", self.lanes.loop.var))
        counters = [Name(self.fresh("j", INT64)) for _ in extents]
        value = Name(self.fresh("t", Scalar(type_.dtype)))
        index = (*counters[: copy.axis], trip, *counters[copy.axis :])
        body: Block = (
            Assign(trip.id, Op("+", (Name(first), lane)), span),
            Assign(value.id, Op("load", (Name(copy.array), *index)), span),
            Store(name, (*counters, lane), value, span=span),
        )
        loop = For(lane.id, Const(0), Name(lanes), Const(1), body, span=span)
        for counter, extent in reversed(list(zip(counters, extents, strict=True))):
            loop = replace(loop, var=counter.id, stop=extent, body=(loop,))
        return loop
