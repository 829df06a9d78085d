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
loops of the iteration run through their other axes, and the iteration reads them more than once.  An array that the
loop only adds to, each iteration to elements of its own and more than once, is added to at the end of a block, and
until then what is added is added up in an array of zeros with the axis of lanes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine
from tapec.analyses.lane_variance import Lanes
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Name, Op, Stmt, Store, blocks, written_in, zero_of
from tapec.syntax.types import BOOL, INT64, UINT64, Array


@dataclass(frozen=True)
class _Copy:
    """Which part of an array is copied: `stops` are the extents of its axes other than `axis`, that of the iterations.

    With `added`, the copy begins as zeros and is added to the array at the end.
    """

    array: str
    axis: int
    stops: tuple[Expr, ...]
    added: bool = False


@dataclass(frozen=True)
class Made:
    """What a copy takes: before the loop over blocks of lanes, and at the beginning and the end of a block."""

    before: list[Stmt]
    first: Stmt
    last: list[Stmt]


class Packed:
    """The copies of one loop: statements that make them, and where an access then finds its element.

    once  whether what an iteration reads only once is copied, too
    """

    def __init__(self, lanes: Lanes, fresh: Fresh, once: bool = False) -> None:
        self.lanes = lanes
        self.fresh = fresh
        # the accesses to each copy, and whether one of them is repeated in an iteration
        self._accesses: dict[_Copy, list[Assign | Store]] = {}
        self._repeated: set[_Copy] = set()
        groups = lanes.iterations.groups(lanes.loop.body)
        kinds = [(group, {one.kind for one in group}) for group in groups]
        self._changed = {one.array for group, kind in kinds if kind != {"load"} for one in group}
        self._added = {one.array for group, kind in kinds if kind == {"add"} for one in group}
        self._inside = written_in((lanes.loop,))
        if not lanes.whole:
            self._collect(lanes.loop.body, ())
        self.names: dict[_Copy, str] = {}
        self.of: dict[int, _Copy] = {}
        together = [{one.stmt.key for one in group} for group in groups]
        for copy, accesses in self._accesses.items():
            ids = {stmt.key for stmt in accesses}
            if (once or copy in self._repeated or len(ids) > 1) and (not copy.added or ids in together):
                self.of |= dict.fromkeys(ids, copy)

    def element(self, access: Stmt, index: tuple[Atom, ...], lane: Name) -> tuple[str, tuple[Atom, ...]] | None:
        """Where a lane finds the element at `index` that a statement reads or adds to, if that is in a copy."""
        copy = self.of.get(access.key)
        if copy is None:
            return None
        return self.names[copy], (*(sub for k, sub in enumerate(index) if k != copy.axis), lane)

    def copied(self, access: Stmt) -> bool:
        """Whether an access finds its element in a copy."""
        return access.key in self.of

    def repeated(self, access: Stmt) -> bool:
        """Whether an access finds its element in a copy, and each iteration makes it again and again."""
        return self.of.get(access.key) in self._repeated

    def made(self, first: str, lanes: str, width: Atom) -> Iterator[Made]:
        """What each of the copies takes."""
        for copy in dict.fromkeys(self.of.values()):
            before: list[Stmt] = []
            extents = [self._extent(copy, k, before) for k in range(len(copy.stops))]
            extents[0] = self._where_complete(copy, extents[0], before)
            type_ = self.fresh.types[copy.array]
            assert isinstance(type_, Array)
            name = self.names[copy] = self.fresh(f"{copy.array}_lanes", Array(type_.dtype, type_.ndim))
            before.append(Assign(name, Op("empty", (Const(type_.dtype), *extents, width))))
            last = [self._summed(copy, name, extents, first, lanes)] if copy.added else []
            yield Made(before, self._filled(copy, name, extents, first, lanes), last)

    def _collect(self, block: Iterable[Stmt], around: tuple[For, ...], apart: bool = False) -> None:
        """Collect the accesses of a block in these loops; of one that is `apart`, not all iterations come to it."""
        for stmt in block:
            match stmt:
                case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                    self._consider(stmt, array, tuple(index), around, apart)
                case Store(array=array, index=index, accumulate=True) if array in self._added:
                    self._consider(stmt, array, index, around, apart)
                case For() if stmt.key not in self.lanes.controls:
                    self._collect(stmt.body, (*around, stmt), apart)
                    continue
            for inner in blocks(stmt):
                self._collect(inner, around, apart or stmt.key in self.lanes.controls)

    def _consider(
        self, stmt: Assign | Store, array: str, index: tuple[Expr, ...], around: tuple[For, ...], apart: bool
    ) -> None:
        changed, added = array in self._changed, isinstance(stmt, Store)
        found = self.lanes.element(array, index)
        assert found is not None
        array, index = found
        if (changed or array in self._changed) and not added:
            return
        if array in self._inside or index.count(Name(self.lanes.loop.var)) != 1:
            return
        axis = index.index(Name(self.lanes.loop.var))
        type_ = self.fresh.types.get(array)
        if not isinstance(type_, Array) or (added and not type_.is_float):
            return
        if axis == (0 if type_.layout == "F" else type_.ndim - 1) or (apart and not self._is_complete(array, axis)):
            return
        loops = {Name(loop.var): loop for loop in around}
        others = [sub for k, sub in enumerate(index) if k != axis]
        if any(sub not in loops for sub in others) or len(set(others)) < len(others):
            return
        extents = [self._counted(loops[sub]) for sub in others if isinstance(sub, Name)]
        stops = tuple(extent for extent in extents if extent is not None)
        if len(stops) < len(extents):
            return
        copy = _Copy(array, axis, stops, added)
        self._accesses.setdefault(copy, []).append(stmt)
        if len(around) > len(others):
            self._repeated.add(copy)

    def _counted(self, loop: For) -> Expr | None:
        """How far a loop counts from zero or more on, in names that are set before the loop in lanes."""
        if loop.step not in (Const(1), Const(-1)) or self.lanes.iterations.dependence.minimum(Affine(loop.var, 0)) < 0:
            return None
        return extent_of(self.lanes.iterations, loop, self.lanes.loop)

    def _extent(self, copy: _Copy, number: int, before: list[Stmt]) -> Atom:
        """How much of an axis is copied: what its loop runs through, if the array has as much."""
        axis = number + (number >= copy.axis)
        stop, extent = copy.stops[number], Op("dim", (Name(copy.array), Const(axis)))
        if isinstance(stop, Name) and self.lanes.iterations.definition(stop) == extent:
            return stop
        whole, wanted, least, most = (Name(self.fresh("size", INT64)) for _ in range(4))
        before.append(Assign(whole.id, extent))
        before.append(Assign(wanted.id, stop))
        before.append(Assign(least.id, Op("min", (whole, wanted))))
        before.append(Assign(most.id, Op("max", (least, Const(0)))))
        return most

    def _is_complete(self, array: str, axis: int) -> bool:
        """Whether an array is known to have the elements of all iterations along an axis."""
        iterations, loop = self.lanes.iterations, self.lanes.loop
        extent = Op("dim", (Name(array), Const(axis)))

        def is_at_most(number: Expr) -> bool:
            value = iterations.definition(number) if isinstance(number, Name) else number
            return value == extent or (isinstance(value, Op) and value.fn == "min" and any(map(is_at_most, value.args)))

        return is_at_most(loop.stop) and iterations.never_negative(Name(loop.var))

    def _where_complete(self, copy: _Copy, extent: Atom, before: list[Stmt]) -> Atom:
        """An extent where the array has the elements of all iterations, and zero otherwise.

        An access that is made at all is made by every iteration: of an array with fewer elements, there is none.
        """
        if self._is_complete(copy.array, copy.axis):
            return extent
        loop, whole, complete = self.lanes.loop, Name(self.fresh("size", INT64)), Name(self.fresh("t", BOOL))
        before.append(Assign(whole.id, Op("dim", (Name(copy.array), Const(copy.axis)))))
        before.append(Assign(complete.id, Op(">=", (whole, loop.stop))))
        if not self.lanes.iterations.never_negative(Name(loop.var)):
            last = Name(self.fresh("size", INT64))
            counts, both = Name(self.fresh("t", BOOL)), Name(self.fresh("t", BOOL))
            before.append(Assign(last.id, Op("neg", (whole,))))
            before.append(Assign(counts.id, Op(">=", (loop.start, last))))
            before.append(Assign(both.id, Op("and", (complete, counts))))
            complete = both
        most = Name(self.fresh("size", INT64))
        before.append(Assign(most.id, Op("ifelse", (complete, extent, Const(0)))))
        return most

    def _filled(self, copy: _Copy, name: str, extents: list[Atom], first: str, lanes: str) -> Stmt:
        """The loops that copy a block of lanes, or set it to zero."""
        type_ = self.fresh.types[name]
        assert isinstance(type_, Array)

        def body(counters: list[Name], lane: Name) -> list[Stmt]:
            if copy.added:
                value = Name(self.fresh("t", type_.element))
                return [Assign(value.id, zero_of(type_.element)), Store(name, (*counters, lane), value)]
            iteration = Name(self.fresh(self.lanes.loop.var, INT64))
            value = Name(self.fresh("t", type_.element))
            index = (*counters[: copy.axis], iteration, *counters[copy.axis :])
            return [
                Assign(iteration.id, Op("+", (Name(first), lane))),
                Assign(value.id, Op("load", (Name(copy.array), *index))),
                Store(name, (*counters, lane), value),
            ]

        return self._loops(copy, extents, lanes, body)

    def _summed(self, copy: _Copy, name: str, extents: list[Atom], first: str, lanes: str) -> Stmt:
        """The loops that add what a block of lanes has added up."""
        type_ = self.fresh.types[name]
        assert isinstance(type_, Array)

        def body(counters: list[Name], lane: Name) -> list[Stmt]:
            iteration = Name(self.fresh(self.lanes.loop.var, INT64))
            value = Name(self.fresh("t", type_.element))
            out: list[Stmt] = [Assign(iteration.id, Op("+", (Name(first), lane)))]
            if self.lanes.iterations.never_negative(Name(self.lanes.loop.var)):
                # vectors need to know that it is not
                out.append(Assign(unsigned := self.fresh("size", UINT64), Op("cast.uint64", (iteration,))))
                iteration = Name(unsigned)
            out.append(Assign(value.id, Op("load", (Name(name), *counters, lane))))
            index = (*counters[: copy.axis], iteration, *counters[copy.axis :])
            return [*out, Store(copy.array, index, value, accumulate=True)]

        return self._loops(copy, extents, lanes, body)

    def _loops(
        self, copy: _Copy, extents: list[Atom], lanes: str, body: Callable[[list[Name], Name], list[Stmt]]
    ) -> Stmt:
        """Loops over a copy, lanes last."""
        span = self._accesses[copy][0].span
        lane = Name(self.fresh("lane", INT64))
        counters = [Name(self.fresh("j", INT64)) for _ in extents]
        inner = tuple(replace(stmt, span=span) for stmt in body(counters, lane))
        loop = For(lane.id, Const(0), Name(lanes), Const(1), inner, span=span)
        for counter, extent in reversed(list(zip(counters, extents, strict=True))):
            loop = replace(loop, var=counter.id, stop=extent, body=(loop,))
        return loop
