"""Functions of whole arrays in several directions; see `vector_forward.py`.

Of linear systems the directions are right sides of one solve; products are loops with the lanes innermost; other rules,
and those of users, are applied to one lane after the other.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.activity import refuse_outside
from tapec.analyses.aliases import PRODUCTS
from tapec.frontend.evaluator.values import Sym, Tup
from tapec.rules.library import PRIMITIVES
from tapec.rules.systems_in_lanes import IN_LANES
from tapec.syntax.core import Assign, Atom, Block, Const, Expr, For, Name, Op, Stmt, Store, zero_of
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.lane_arrays import LaneArrays
from tapec.transforms.lane_loops import LANE
from tapec.transforms.primitives import lower_rule


class LanePrimitives(LaneArrays):
    """A function that calls functions of whole arrays."""

    def custom(
        self, stmt: Stmt, fn: Custom, targets: tuple[str, ...], args: tuple[Atom, ...], emitter: Emitter
    ) -> None:
        """The derivative that the user gave for an operation, lane by lane."""
        self.emit(stmt, emitter)
        rule, arguments = fn.rule, args[fn.rule.results :]
        refuse_outside(rule, arguments, self.activity)
        for target in targets:
            self.begin(target, emitter)
        inner, lane = self.each_lane(emitter)
        dots = [self.lane_tangent(arg, lane, inner) for arg in arguments[: rule.operands]]
        block, tangents = rule.push_forward(inner, dots, [Name(target) for target in targets], arguments)
        inner.extend(block)
        for target, dot in zip(targets, tangents, strict=True):
            type_ = self.types[target]
            if target in self.activity and dot is not None:
                self.put(target, dot, lane, inner)
            elif target in self.activity and isinstance(type_, Scalar):
                self.put(target, inner.atom(zero_of(type_)), lane, inner)
        self.close(inner, lane, emitter)

    def begin(self, target: str, emitter: Emitter) -> None:
        """Tangents of zero of an array that an operation makes."""
        type_ = self.types[target]
        if target in self.activity and isinstance(type_, Array):
            dot = self.dot(target, emitter)
            self.protect((dot,), emitter)
            self.types[dot] = Array(type_.dtype, type_.ndim + 1)
            self.zeros("", target, emitter, dot)

    def lane_tangent(self, arg: Expr, lane: Name, out: Emitter) -> Atom | None:
        """The tangent of an operand in one lane, if it has one."""
        tangent = self.tangent(arg, out) if isinstance(arg, Name) else None
        found = isinstance(arg, Name) and isinstance(tangent, Name)
        return self.of_lane(arg.id, tangent, lane, out) if found else None  # type: ignore[union-attr, arg-type]

    def primitive(self, fn: str, args: tuple[Expr, ...], targets: tuple[str, ...], emitter: Emitter) -> None:
        result = tuple(Name(t) for t in targets)
        if fn in IN_LANES:
            self.together(fn, args, result, emitter)
            return
        for target in targets:
            self.begin(target, emitter)
        if fn in PRODUCTS:
            self.product(args, targets[0], emitter)
            return
        if not any(isinstance(arg, Name) and arg.id in self.activity for arg in args):
            # active by another array that the name may stand for
            return
        inner, lane = self.each_lane(emitter)
        dots = [self.lane_tangent(arg, lane, inner) for arg in args]
        y = result if len(result) > 1 else result[0]
        block, value = lower_rule(inner, PRIMITIVES[fn].tangent, [y, *args, *dots])
        inner.extend(block)
        values = value.items if isinstance(value, Tup) else (value,)
        for target, item in zip(targets, values, strict=True):
            if target in self.activity and isinstance(item, Sym):
                self.put(target, item.atom, lane, inner)
        self.close(inner, lane, emitter)

    def together(self, fn: str, args: tuple[Expr, ...], result: tuple[Name, ...], emitter: Emitter) -> None:
        """A rule that gives the tangents in all directions."""
        self.flush(emitter)
        dots = [self.whole_tangent(arg, emitter) for arg in args]
        if all(dot is None for dot in dots):
            # active by another array that the name may stand for
            for target in result:
                self.begin(target.id, emitter)
            return
        y = result if len(result) > 1 else result[0]
        block, value = lower_rule(emitter, IN_LANES[fn], [y, *args, *dots, self.width])
        emitter.extend(block)
        values = value.items if isinstance(value, Tup) else (value,)
        for name, item in zip(result, values, strict=True):
            if name.id not in self.activity:
                continue
            assert isinstance(item, Sym) and isinstance(item.atom, Name)
            dot, type_ = self.dot(name.id, emitter), self.types[name.id]
            if isinstance(type_, Scalar):
                self.lane(Assign(dot, Op("load", (item.atom, LANE)), emitter.span))
                continue
            self.protect((dot,), emitter)
            assert isinstance(type_, Array)
            turned = self.in_order(item.atom, replace(type_, layout="C"), type_, emitter)
            emitter.assign(dot, turned if turned == item.atom else Op("copy", (turned,)))

    def whole_tangent(self, arg: Expr, emitter: Emitter) -> Name | None:
        """The tangents of an array with its own axes, before that of the lanes, if it has any."""
        dot = self.tangent(arg, emitter) if isinstance(arg, Name) else None
        if not isinstance(arg, Name) or not isinstance(dot, Name):
            return None
        type_ = self.types[arg.id]
        assert isinstance(type_, Array)
        return self.in_order(dot, type_, replace(type_, layout="A"), emitter)

    def product(self, args: tuple[Expr, ...], target: str, emitter: Emitter) -> None:
        """A product of vectors and matrices, as loops in which lanes are innermost."""
        self.flush(emitter)
        left, right = args
        assert isinstance(left, Name) and isinstance(right, Name)
        a, b = self.types[left.id], self.types[right.id]
        assert isinstance(a, Array) and isinstance(b, Array)
        result = self.types[target]
        assert isinstance(result, Scalar | Array)
        element = result if isinstance(result, Scalar) else result.element
        extents = {
            axis: emitter.let("size", Op("dim", (name, Const(k))), INT64)
            for axis, name, k in (
                *([("i", left, 0)] if a.ndim == 2 else []),
                ("k", left, a.ndim - 1),
                *([("j", right, 1)] if b.ndim == 2 else []),
            )
        }
        index = {axis: Name(emitter.fresh(axis, INT64)) for axis in extents}
        rows, columns = ([index[axis]] if axis in index else [] for axis in "ij")
        places = {0: (*rows, index["k"]), 1: (index["k"], *columns)}
        dot = self.dot(target, emitter)
        if isinstance(result, Scalar):
            self.lane(Assign(dot, zero_of(element), emitter.span))
            self.flush(emitter)
        inner = emitter.child()
        for k, (one, other) in enumerate(((left, right), (right, left))):
            tangent = self.tangent(one, inner)
            if not isinstance(tangent, Name):
                continue
            own, others = (a, b) if k == 0 else (b, a)
            factor = inner.let("t", Op("load", (other, *places[1 - k])), others.element)
            item = self.let(Op("load", (tangent, *self.places(one.id, places[k]))), own.element, inner)
            term = self.number(Op("*", (item, factor)), inner, element)
            if isinstance(result, Scalar):
                self.lane(Assign(dot, Op("+", (Name(dot), term)), inner.span))
            else:
                self.lane(Store(dot, self.places(target, (*rows, *columns)), term, True, inner.span))
        self.flush(inner)
        body: Block = tuple(inner.out)
        for axis in "jki":
            if axis in extents:
                body = (For(index[axis].id, Const(0), extents[axis], Const(1), body, span=emitter.span),)
        emitter.extend(body)

    def of_lane(self, name: str, dot: Name, lane: Name, out: Emitter) -> Atom:
        """The tangent of a number or array in one lane, as the program would have it."""
        type_ = self.types[name]
        if isinstance(type_, Scalar):
            return out.let("t", Op("load", (Name(self.buffer(dot.id, out)), lane)), type_)
        assert isinstance(type_, Array)
        dims = [out.let("size", Op("dim", (Name(name), Const(k))), INT64) for k in range(type_.ndim)]
        made = out.let(f"{name}_dot", Op("empty", (Const(type_.dtype), *dims)), Array(type_.dtype, type_.ndim))

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            item = inner.let("t", Op("load", (dot, *self.places(name, index, lane))), type_.element)
            inner.add(Store(made.id, index, item, False, out.span))

        out.each(made.id, body)
        return made

    def put(self, target: str, item: Atom, lane: Name, out: Emitter) -> None:
        """Store what a rule has made of one lane."""
        dot, type_ = self.dot(target, out), self.types[target]
        if isinstance(type_, Scalar):
            out.add(Store(self.buffer(dot, out), (lane,), out.cast(item, type_), False, out.span))
            return
        assert isinstance(type_, Array) and isinstance(item, Name)
        own = out.types[item.id]
        assert isinstance(own, Array)

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            number = inner.let("t", Op("load", (item, *index)), own.element)
            inner.add(Store(dot, self.places(target, index, lane), inner.cast(number, type_.element), False, out.span))

        out.each(item.id, body)
