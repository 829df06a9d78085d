"""Tangents of arrays and lists in several directions; see `vector_forward.py`.

The tangent of an array has a last axis for the lanes, and the same aliasing as the array.  That of an array in the
order of columns is the tangent of its transpose, so that what is contiguous stays so.  A list of numbers has the lanes
of each number one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.errors import Span
from tapec.frontend.evaluator.numba_types import subscript_type
from tapec.rules.table import no_rule
from tapec.syntax.core import Assign, Atom, Const, Expr, Name, Op, Push, zero_of
from tapec.syntax.types import INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.lane_loops import LANE, LaneLoops, by_columns, lanes_type

_ALL = Op("slice", (Const(None), Const(None), Const(None)))


class LaneArrays(LaneLoops):
    """A function of which some arrays and lists have tangents.

    leading  arrays of whose tangents the lanes are the first axis
    units    arrays whose tangents are unit vectors: see `unit_directions`
    """

    leading: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()

    def kind(self, name: str) -> Type:
        type_ = self.types[name]
        if name in self.units and isinstance(type_, Array):
            return Array("int64", type_.ndim, type_.layout)
        return super().kind(name)

    def places(self, array: str, index: Sequence[Atom], lane: Atom | None = None) -> tuple[Atom, ...]:
        """The subscripts of an element in the tangent of an array, by default that of the loop's lane."""
        lane = LANE if lane is None else lane
        if array in self.leading:
            return (lane, *index)
        return (*(reversed(index) if by_columns(self.types[array]) else index), lane)

    def tested(self, array: str, span: Span | None) -> Span | None:
        """Where the subscripts of an element, or view, of an array's tangent come from, with the axes to be tested."""
        type_ = self.types[array]
        if span is None or not span.open or not isinstance(type_, Array):
            return span
        if array in self.leading:
            return replace(span, open=tuple(axis + 1 for axis in span.open))
        if not by_columns(type_):
            return span
        return replace(span, open=tuple(type_.ndim - 1 - axis for axis in span.open))

    def zeros(self, base: str, array: str, emitter: Emitter, name: str | None = None) -> str:
        """Tangents of zero with the shape of an array."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        dims: list[Expr] = [emitter.let("size", Op("dim", (Name(array), Const(k))), INT64) for k in range(type_.ndim)]
        name = name or emitter.fresh(base, Array(type_.dtype, type_.ndim + 1))
        emitter.assign(name, Op("zeros", (Const(type_.dtype), *self.extents(array, dims))))
        return name

    def extents(self, array: str, dims: Sequence[Expr]) -> tuple[Expr, ...]:
        """The shape of the tangents of an array."""
        if array in self.leading:
            return (self.width, *dims)
        return (*(reversed(dims) if by_columns(self.types[array]) else dims), self.width)

    def in_order(self, dot: Name, type_: Type, wanted: Type, emitter: Emitter) -> Name:
        """The tangent of an array, with the axes that it has for another type."""
        if by_columns(type_) == by_columns(wanted) or not isinstance(type_, Array):
            return dot
        axes = (*reversed(range(type_.ndim)), type_.ndim)
        made = Op("permute", (dot, *(Const(axis) for axis in axes)))
        return emitter.let(f"{dot.id}_turned", made, Array(type_.dtype, type_.ndim + 1, "A"))

    def memory(self, stmt: Assign, emitter: Emitter) -> None:
        """An array or list: its tangent is made in the same way."""
        target, value = stmt.target, stmt.value
        type_ = self.types[target]
        self.emit(stmt, emitter)
        dot = self.dot(target, emitter)
        self.protect((dot,), emitter)
        if isinstance(value, Name):
            shadow = self.tangent(value, emitter)
            if not isinstance(shadow, Name):
                self.zeros("", target, emitter, dot)
                return
            emitter.assign(dot, self.in_order(shadow, self.types[value.id], type_, emitter))
            return
        assert isinstance(value, Op)
        if target in self.units:
            base, *args = value.args
            assert isinstance(base, Name)
            emitter.assign(dot, Op(value.fn, (Name(self.dot(base.id, emitter)), *args)))
        elif value.fn in ALLOCATIONS:
            dtype, *dims = value.args
            emitter.assign(dot, Op("zeros", (dtype, *self.extents(target, dims))))
        elif value.fn in VIEWS:
            made = self.view(value, target, emitter)
            self.types[dot] = emitter.types[made.id] if isinstance(made, Name) else self.types[dot]
            emitter.assign(dot, made)
        elif value.fn == "pop":
            (owner,) = value.args
            assert isinstance(owner, Name)
            emitter.assign(dot, Op("pop", (Name(self.dot(owner.id, emitter)),)))
        elif value.fn == "stack":
            assert isinstance(type_, Stack)
            kind = lanes_type(type_.element)
            if isinstance(type_.element, Array):
                assert isinstance(kind, Array)
                value = Op("stack", (Const(kind.dtype), Const(kind.ndim), Const(kind.layout)))
            emitter.assign(dot, value)
        elif value.fn == "copy":
            (owner,) = value.args
            assert isinstance(owner, Name)
            shadow = self.tangent(owner, emitter)
            if not isinstance(shadow, Name):
                self.zeros("", target, emitter, dot)
                return
            self.flush(emitter)
            emitter.assign(dot, Op("copy", (self.in_order(shadow, self.types[owner.id], type_, emitter),)))
        else:
            raise no_rule(value.fn, stmt.span)

    def view(self, value: Op, target: str, emitter: Emitter) -> Expr:
        """The view of a tangent that belongs to a view of its array."""
        owner, *args = value.args
        assert isinstance(owner, Name)
        type_, wanted = self.types[owner.id], self.types[target]
        assert isinstance(type_, Array) and isinstance(wanted, Array)
        dot = Name(self.dot(owner.id, emitter))
        rank = type_.ndim
        if value.fn == "reshape":
            return Op("reshape", (dot, *args, self.width))
        if value.fn == "transpose":
            if rank == 1 or by_columns(type_) != by_columns(wanted):
                return dot
            return Op("permute", (dot, *map(Const, (*reversed(range(rank)), rank))))
        if value.fn == "permute":
            order = [axis.value for axis in args if isinstance(axis, Const)]
            places = [rank - 1 - int(axis) if by_columns(type_) else int(axis) for axis in order]  # type: ignore[arg-type]
            return Op("permute", (dot, *map(Const, (*places, rank))))
        subs = [_ALL, *args] if owner.id in self.leading else list(args)
        order_of = type_
        if by_columns(type_) and Const(None) in subs:
            order_of = replace(type_, layout="A")
            dot = self.in_order(dot, type_, order_of, emitter)
        if by_columns(order_of):
            subs = [*subs, *[_ALL] * (rank - len(subs))][::-1]
            while len(subs) > 1 and subs[-1] == _ALL:
                subs.pop()
        kind = subscript_type(emitter.types[dot.id], subs)
        span = emitter.span
        if by_columns(order_of) or owner.id in self.leading:
            emitter.span = self.tested(owner.id, span)
        seen = emitter.let(f"{target}_dot", Op("view", (dot, *subs)), kind)
        emitter.span = span
        # what is left of an array in the order of columns is in that order
        now = replace(wanted, layout="F") if by_columns(order_of) else replace(wanted, layout="A")
        return self.in_order(seen, now, wanted, emitter)

    def push(self, stmt: Push, emitter: Emitter) -> None:
        """Append the lanes of a number, or the tangents of an array."""
        type_ = self.types[stmt.stack]
        assert isinstance(type_, Stack)
        dot, shadow = self.tangent(stmt.value, emitter), self.dot(stmt.stack, emitter)
        if isinstance(type_.element, Scalar):
            inner, lane = self.each_lane(emitter)
            item: Expr = zero_of(type_.element)
            if isinstance(dot, Name):
                item = Op("load", (Name(self.buffer(dot.id, emitter)), lane))
                inner.add(Push(shadow, inner.let("t", item, type_.element), stmt.span))
            else:
                inner.add(Push(shadow, inner.atom(item, type_.element), stmt.span))
            self.close(inner, lane, emitter)
            return
        assert isinstance(stmt.value, Name)
        if not isinstance(dot, Name):
            dot = Name(self.zeros("zero", stmt.value.id, emitter))
        emitter.add(Push(shadow, self.in_order(dot, self.types[stmt.value.id], type_.element, emitter), stmt.span))
