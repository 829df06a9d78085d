"""Products with a Jacobian in several directions at once, which are the first axis of what the caller gives.

    for first in range(0, k, 8):
        for i in range(n):
            for lane in range(min(8, k - first)):
                unit[i, lane] = x_dot[first + lane, i]
        ...                                            the tangents in eight directions
        for i in range(m):
            for lane in range(min(8, k - first)):
                tangents[first + lane, i] = y_dot[i, lane]

The last strip may have lanes to spare, whose directions are those of the strip before; nobody reads what they give.

Griewank & Walther, Evaluating Derivatives, 2nd ed., sections 3.1 and 3.2 (vector modes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tapec.syntax.core import Atom, Const, For, Function, If, Name, Op, Raise, Return, Store
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.index_guards import with_guards
from tapec.transforms.jacobian import linear_row, on_copies
from tapec.transforms.jacobian_blocks import Row, halves, prepared
from tapec.transforms.jacobian_strips import WIDTH, combined
from tapec.transforms.lane_loops import by_columns, lanes_type
from tapec.transforms.reverse import reverse, targets_of
from tapec.transforms.splice import spliced
from tapec.transforms.vector_forward import vector_forward

# gives what moves by directions, of directions with an axis of lanes
Run = Callable[[Emitter, list[Name]], Sequence[Atom]]


def pushed_together(function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> Function:
    """The function that also takes several tangents of each source, and returns values and tangents by turns.

    returns  each result, behind one that is a float its tangents, whose first axis is that of the directions
    """
    function = _guarded(function, sources, constants, reads=True)
    worker = _Together(function, constants)
    made = vector_forward(function, sources, WIDTH, constants)
    worker.given(list(map(Name, sources)), sources, "the tangents of `{}`")
    worker.run_alone()
    floats = [value for value in function.results if worker.out.type_of(value).is_float]
    run = replace(made.function, body=(*made.function.body[:-1], Return(_floats(function, made.function.results))))

    def tangents(out: Emitter, dots: list[Name]) -> Sequence[Atom]:
        return spliced(out, run, dict(zip(made.dots, dots, strict=True)), constants)

    found = iter(worker.strips(tangents, floats))
    results: list[Atom] = []
    for value in function.results:
        results += [value, next(found)] if worker.out.type_of(value).is_float else [value]
    return worker.function_of(tuple(results))


def pulled_together(function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> Function:
    """The function that also takes several cotangents of each float result; it returns results and adjoints.

    returns  the results, then the adjoints of each source, whose first axis is that of the directions
    """
    function = _guarded(function, sources, constants, reads=False)
    worker = _Together(function, constants)
    row = linear_row(function, sources, constants)
    made = None if row is None else vector_forward(row.run, row.seeds, WIDTH, constants, linear=True)
    if row is None:
        # what the user gave need not be linear: a sweep for each direction
        swept = reverse(function, sources, constants)
        row = halves(swept, constants) or Row.of(swept)
        worker.width = None
    worker.out.taken |= set(row.run.types if made is None else made.function.types)
    pull = prepared(worker.out, row, constants, prints=True)
    if row.before is None:
        worker.run_alone()
    results = pull.values or function.results
    floats = [value for value in results if worker.out.type_of(value).is_float]
    worker.given(floats, row.seeds, "the cotangents")

    def adjoints(out: Emitter, dots: list[Name]) -> Sequence[Atom]:
        if made is None:
            return pull.run(out, row.run, dict(zip(row.seeds, dots, strict=True)))
        # of the adjoints themselves nothing but the shapes is asked for
        shapes = dict(zip(row.seeds, floats, strict=True))
        return pull.run(out, made.function, shapes | dict(zip(made.dots, dots, strict=True)))

    return worker.function_of((*results, *worker.strips(adjoints, list(map(Name, sources)))))


def _guarded(function: Function, sources: tuple[str, ...], constants: frozenset[str], reads: bool) -> Function:
    """The function as its runs are: on copies of what it writes."""
    function = with_guards(function, sources, targets_of(function, shared=False, outputs=None), reads=reads)
    return on_copies(function, constants)


def _floats(function: Function, values: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Those of `values` that belong to float results of a function."""
    types = function.types
    return tuple(
        value
        for own, value in zip(function.results, values, strict=True)
        if (types[own.id].is_float if isinstance(own, Name) else isinstance(own.value, float))
    )


class _Together:
    """The function that is made: what it takes, and a loop over strips of directions.

    width  the lanes of a strip; None for one direction after the other
    """

    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.function, self.constants = function, constants
        types = dict(function.types)
        self.out = Emitter(types, set(types), function.leaving.span)
        self.width: int | None = WIDTH
        self.dots: list[Name] = []
        self.count: Atom = Const(0)
        self.moving: list[Atom] = []

    def run_alone(self) -> None:
        """Run the function for its results."""
        self.out.extend(self.function.body[:-1])

    def given(self, moving: list[Atom], labels: Sequence[str], what: str) -> None:
        """Take directions for all that moves, with a test of their shapes; `what` messages call them."""
        out = self.out
        self.moving = moving
        for k, (value, label) in enumerate(zip(moving, labels, strict=True)):
            type_ = out.type_of(value)
            assert isinstance(type_, Scalar | Array)
            rank = type_.ndim if isinstance(type_, Array) else 0
            dot = Name(out.fresh(f"{label}_dots", Array(type_.dtype, rank + 1, "A")))
            self.dots.append(dot)
            first, *others = out.extents(dot)
            named = what.format(label)
            if k == 0:
                self.count = first
            else:
                self.check(first, self.count, f"{named} are more or fewer than the others")
            for own, other in zip(out.extents(value), others, strict=True):
                self.check(other, own, f"{named} have another shape behind their first axis than what they belong to")

    def check(self, one: Atom, other: Atom, message: str) -> None:
        """Raise ValueError where two extents differ."""
        out = self.out
        differs = out.atom(Op("!=", (one, other)))
        out.add(If(differs, (Raise("ValueError", (Const(message),), out.span),), (), out.span))

    def strips(self, run: Run, moved: list[Atom]) -> list[Atom]:
        """Arrays with what `run` gives for all directions, one for each of `moved`, of its shape."""
        out, width = self.out, self.width
        blocks = [self.block(value) for value in moved]
        units = [self.unit(value) for value in self.moving]
        first, inner = Name(out.fresh("first", INT64)), out.child()
        strip = Strip(first, None if width is None else self.lanes_left(inner, first, width))
        for value, dot, unit in zip(self.moving, self.dots, units, strict=True):
            _load(inner, strip, value, dot, unit)
        given = [self.in_order(inner, *pair) for pair in zip(self.moving, units, strict=True)]
        for value, block, moves in zip(moved, blocks, run(inner, given), strict=True):
            _store(inner, strip, value, block, moves)
        out.add(For(first.id, Const(0), self.count, Const(width or 1), tuple(inner.out), span=out.span))
        return list(blocks)

    def lanes_left(self, out: Emitter, first: Atom, width: int) -> Atom:
        """The lanes of a strip that have a direction."""
        return combined(out, "min", combined(out, "-", self.count, first), Const(width))

    def block(self, value: Atom) -> Name:
        """An array for what all directions give."""
        out, type_ = self.out, self.out.type_of(value)
        assert isinstance(type_, Scalar | Array)
        dims = (self.count, *out.extents(value))
        label = f"{value.id if isinstance(value, Name) else 'result'}_by_direction"
        return out.let(label, Op("empty", (Const(type_.dtype), *dims)), Array(type_.dtype, len(dims), "C"))

    def unit(self, value: Atom) -> Name:
        """Zeros where a run takes the directions of something."""
        out, type_ = self.out, self.out.type_of(value)
        kind = type_ if self.width is None else lanes_type(type_)
        if isinstance(kind, Scalar):
            return out.let("unit", out.cast(Const(0.0), kind), kind)
        assert isinstance(kind, Array)
        dims = out.extents(value)
        dims = dims[::-1] if by_columns(type_) else dims
        dims = dims if self.width is None else [*dims, Const(self.width)]
        return out.let("unit", Op("zeros", (Const(kind.dtype), *dims)), Array(kind.dtype, kind.ndim))

    def in_order(self, out: Emitter, value: Atom, unit: Name) -> Name:
        """What a run takes: a single direction is in the order of its value."""
        type_ = out.type_of(value)
        if self.width is not None or not by_columns(type_):
            return unit
        return out.let("unit", Op("transpose", (unit,)), type_)

    def function_of(self, results: tuple[Atom, ...]) -> Function:
        """What has been written, as a function."""
        params = (*self.function.params, *(dot.id for dot in self.dots))
        body = (*self.out.out, Return(results, self.out.span))
        return replace(self.function, params=params, body=body, types=self.out.types, shared=(), few=())


@dataclass(frozen=True)
class Strip:
    """The directions of one run: the number of the first one, and how many; None for one without an axis of lanes."""

    first: Name
    count: Atom | None

    def each(self, out: Emitter, body: Callable[[Emitter, tuple[Atom, ...], Atom], None]) -> None:
        """A loop over the lanes; `body` gets the subscript of each, if there is one, and its direction's number."""
        if self.count is None:
            body(out, (), self.first)
            return
        lane, inner = Name(out.fresh("lane", INT64)), out.child()
        body(inner, (lane,), inner.let("size", Op("+", (self.first, lane)), INT64))
        out.add(For(lane.id, Const(0), self.count, Const(1), tuple(inner.out), span=out.span))


def _load(out: Emitter, strip: Strip, value: Atom, dot: Name, unit: Name) -> None:
    """Put the directions of a strip where the run takes them."""
    turns, given = by_columns(out.type_of(value)), out.types[dot.id]
    assert isinstance(given, Array)

    def element(inner: Emitter, index: tuple[Atom, ...]) -> None:
        def move(each: Emitter, lanes: tuple[Atom, ...], number: Atom) -> None:
            item = each.let("t", Op("load", (dot, number, *index)), given.element)
            place = (*(index[::-1] if turns else index), *lanes)
            if place:
                each.add(Store(unit.id, place, item, False, each.span))
            else:
                each.assign(unit.id, item)

        strip.each(inner, move)

    out.nest(out.extents(value), element)


def _store(out: Emitter, strip: Strip, value: Atom, block: Name, moves: Atom) -> None:
    """Store what a run gives for its directions."""
    kind = out.types[block.id]
    assert isinstance(kind, Array)

    def element(inner: Emitter, index: tuple[Atom, ...]) -> None:
        def move(each: Emitter, lanes: tuple[Atom, ...], number: Atom) -> None:
            place, item = (*index, *lanes), moves
            if place:
                item = each.let("t", Op("load", (moves, *place)), kind.element)
            each.add(Store(block.id, (number, *index), each.cast(item, kind.element), False, each.span))

        strip.each(inner, move)

    out.nest(out.extents(value), element)
