"""Forward mode in several directions at once: the program runs once, beside it a number of tangents.

    t = sin(x[i])                    t = sin(x[i])
    s = s + t * t          ->        c = cos(x[i])
                                     s = s + t * t
                                     for lane in range(8):
                                         t_dot = c * x_dot[i, lane]
                                         s_dot = s_dot_lanes[lane] + (t * t_dot + t * t_dot)
                                         s_dot_lanes[lane] = s_dot

A lane is a direction.  The tangent of an array has one axis more, the last one, for the lanes; that of a number is an
array of the lanes.  What stands in a row becomes one loop over lanes, in which tangents are numbers; only those that
another loop over lanes reads are kept in an array.  What is the same in all lanes, such as a partial derivative, is
computed before the loop.  No lane reads what another one writes, so that LLVM runs these loops on vectors.

An array in the order of columns has the tangent of its transpose, whose lanes are neighbours, too.

With `linear`, the program is linear in its sources, as a reverse sweep is in the adjoints of the results.  Then
tangents do not need the values that depend on the sources, and these are not computed.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.1 (vector forward mode) and 3.2 (vector reverse mode).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapec.analyses.activity import is_callee, outputs, refuse_outside
from tapec.analyses.aliases import PRODUCTS, aliases, is_memory
from tapec.frontend.evaluator.values import Sym, Tup
from tapec.rules.library import PRIMITIVES
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    reads,
    walk,
    writes,
    written_in,
    zero_of,
)
from tapec.syntax.custom_rule import Custom, custom_of
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.lane_arrays import LaneArrays
from tapec.transforms.lane_loops import LANE, by_columns, lanes_type
from tapec.transforms.primitives import lower_rule
from tapec.transforms.transposition import NotLinear

_ALL = Op("slice", (Const(None), Const(None), Const(None)))


def vector_forward(
    function: Function,
    sources: tuple[str, ...],
    width: int,
    constants: frozenset[str] = frozenset(),
    linear: bool = False,
    leading: bool = False,
) -> Directions:
    """The function that also takes tangents of `sources` in `width` directions, and returns those of its results.

    The directions are the last axis of each tangent, that of a number included.  A source in the order of columns has
    the tangent of its transpose.

    linear   the function is linear in the sources, whose values are not used
    leading  the directions are the first axis of results, where nothing but their elements is used
    raises   NotLinear  where it is not
    """
    worker = _VectorForward(function, sources, constants, width)
    worker.linear = linear
    if leading:
        worker.leading = _simple_results(function)
    made = worker.run("column")
    first = tuple(isinstance(value, Name) and value.id in worker.leading for value in function.results)
    return Directions(made, made.params[len(function.params) :], first)


@dataclass(frozen=True)
class Directions:
    """A function of tangents in several directions.

    dots   its parameters for the tangents of the sources
    first  for each result whether the directions are the first axis of its tangents
    """

    function: Function
    dots: tuple[str, ...]
    first: tuple[bool, ...]


def _simple_results(function: Function) -> frozenset[str]:
    """Names of arrays that are returned, and of views of them, of which nothing but elements is used."""
    classes = aliases(function)
    found = {classes.find(v.id) for v in function.results if isinstance(v, Name) and is_memory(function.types[v.id])}
    members = [name for name, type_ in function.types.items() if is_memory(type_) and classes.find(name) in found]
    found -= {classes.find(n) for n in members if by_columns(function.types[n]) or n in function.params}
    for stmt in walk(function.body):
        match stmt:
            case Assign(value=Op(fn="load" | "dim" | "view")) | Return():
                continue
            case Assign(value=Op(fn="empty" | "zeros") | Name()):
                continue
            case Store(value=value):
                used: Sequence[str] = [value.id] if isinstance(value, Name) else []
            case _:
                used = (*reads(stmt), *writes(stmt))
        found -= {classes.find(name) for name in used if is_memory(function.types.get(name))}
    return frozenset(name for name in members if classes.find(name) in found)


def vector_callee(function: Function, constants: frozenset[str], width: int) -> Function:
    """The tangents of a recursive function, as a function that calls itself."""
    sources = tuple(p for p in function.params if function.types[p].is_float)
    worker = _VectorForward(function, sources, constants, width)
    worker.with_values = True
    return worker.run(f"{function.name}_lanes{width}")


class _VectorForward(LaneArrays):
    """One function on its way."""

    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str], width: int) -> None:
        super().__init__(function, sources, constants, width)
        self.linear = False
        # whether results are returned, too, in front of their tangents
        self.with_values = False
        # values that depend on the sources of a linear program
        self.skipped: set[str] = set()

    def run(self, name: str) -> Function:
        emitter = Emitter(self.types, self.taken)
        extra = []
        for source in self.sources:
            type_ = self.types[source]
            if isinstance(type_, Scalar):
                lanes = emitter.fresh(f"{source}_dot_lanes", lanes_type(type_))
                self.buffers[self.dot(source, emitter)] = lanes
            else:
                lanes = self.dots[source] = emitter.fresh(f"{source}_dot", lanes_type(type_))
            extra.append(lanes)
        if self.linear:
            self.skipped.update(source for source in self.sources if isinstance(self.types[source], Scalar))
        for other in (*self.function.params, *sorted(self.constants)):
            if other in self.activity and other not in self.dots:
                # shares memory with an active array: its own tangent is zero
                self.dots[other] = self.zeros(f"{other}_dot", other, emitter)
        self.given = frozenset(self.buffers)
        self.block(self.function.body, emitter)
        body = self.with_buffers(tuple(emitter.out), emitter)
        if self.linear and any(name in self.skipped for stmt in walk(body) for name in reads(stmt)):
            raise NotLinear
        params = (*self.function.params, *extra)
        return Function(name, params, body, self.types, self.function.doc)

    # statements

    def block(self, block: Block, emitter: Emitter) -> None:
        super().block(block, emitter)
        self.flush(emitter)

    def statement(self, stmt: Stmt, emitter: Emitter) -> None:
        if (own := custom_of(stmt)) is not None and any(target in self.activity for target in own[1]):
            self.custom(stmt, *own, emitter)
            return
        match stmt:
            case Assign():
                self.assign(stmt, emitter)
            case Store(array=array):
                if array in self.activity:
                    self.store(stmt, emitter)
                if array not in self.activity or not self.linear:
                    emitter.add(stmt)
            case If() | For() | Loop():
                if not self.involved(stmt) and not may_leave((stmt,)):
                    self.protect(written_in((stmt,)), emitter)
                    emitter.add(stmt)
                    return
                self.flush(emitter)
                emitter.add(map_blocks(stmt, lambda block: self.inner(block, emitter)))
            case Push(stack=stack, value=value):
                if stack in self.activity:
                    self.push(stmt, emitter)
                # lists of arrays know their shapes
                if stack not in self.activity or not self.linear or is_memory(emitter.type_of(value)):
                    emitter.add(stmt)
            case Call(function=fn) if is_callee(fn) and any(t in self.activity for t in outputs(stmt)):
                if self.linear:
                    raise NotLinear
                self.flush(emitter)
                self.call(stmt, emitter)
            case Call():
                self.emit(stmt, emitter)
                if any(target in self.activity for target in stmt.targets):
                    self.primitive(stmt.function, stmt.args, stmt.targets, emitter)
            case Return(values=values):
                self.flush(emitter)
                emitter.add(Return(tuple(self.results(values, emitter)), stmt.span))
            case Break() | Raise():
                self.flush(emitter)
                emitter.add(stmt)
            case _:
                emitter.add(stmt)

    def involved(self, stmt: Stmt) -> bool:
        """Whether something inside has a tangent."""
        for inner in walk((stmt,)):
            match inner:
                case Store(array=name) | Push(stack=name):
                    names: tuple[str, ...] = (name,)
                case Call():
                    names = outputs(inner)
                case _:
                    names = writes(inner)
            if any(name in self.activity for name in names):
                return True
        return False

    def store(self, stmt: Store, emitter: Emitter) -> None:
        dot = self.tangent(stmt.value, emitter)
        if dot is None and stmt.accumulate:
            return
        shadow = self.dot(stmt.array, emitter)
        type_ = self.types[stmt.array]
        assert isinstance(type_, Array)
        item = self.number(zero_of(type_.element) if dot is None else dot, emitter, type_.element)
        index = self.places(stmt.array, stmt.index)
        self.lane(Store(shadow, index, item, stmt.accumulate, self.tested(stmt.array, stmt.span)))

    def assign(self, stmt: Assign, emitter: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if target not in self.activity:
            self.emit(stmt, emitter)
            return
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            self.emit(stmt, emitter)
            self.primitive(value.fn, value.args, (target,), emitter)
            return
        if is_memory(self.types[target]):
            self.memory(stmt, emitter)
            return
        type_ = self.types[target]
        assert isinstance(type_, Scalar)
        if self.linear:
            self.skipped.add(target)
        else:
            self.emit(stmt, emitter)
        dot = self.dot(target, emitter)
        match value:
            case Op(fn="load", args=(Name(id=array), *index)):
                places = self.places(array, index)  # type: ignore[arg-type]
                item = Op("load", (Name(self.dot(array, emitter)), *places))
                self.lane(Assign(dot, item, self.tested(array, stmt.span)))
            case Op(fn="pop", args=(Name(id=stack),)):
                inner, lane = self.each_lane(emitter)
                # what was appended last comes first
                place = inner.let("t", Op("-", (Const(self.lanes - 1), lane)), INT64)
                popped = inner.let("t", Op("pop", (Name(self.dot(stack, emitter)),)), type_)
                inner.add(Store(self.buffer(dot, emitter), (place,), popped, False, stmt.span))
                self.close(inner, lane, emitter)
            case _:
                tangent = self.number(self.scalar_tangent(stmt, emitter), emitter, type_)
                self.lane(Assign(dot, tangent, stmt.span))

    # arrays and lists

    # functions of whole arrays, and calls

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
            axis: emitter.let("n", Op("dim", (name, Const(k))), INT64)
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
        dims = [out.let("n", Op("dim", (Name(name), Const(k))), INT64) for k in range(type_.ndim)]
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

    def lanes_of(self, value: Atom, emitter: Emitter) -> Name:
        """The tangents of a number or array; zeros where it has none."""
        type_ = emitter.type_of(value)
        dot = self.tangent(value, emitter)
        if isinstance(type_, Scalar):
            if isinstance(dot, Name):
                return Name(self.buffer(dot.id, emitter))
            return emitter.let("zero", Op("zeros", (Const(type_.dtype), self.width)), Array(type_.dtype, 1))
        assert isinstance(value, Name)
        return dot if isinstance(dot, Name) else Name(self.zeros("zero", value.id, emitter))

    def call(self, stmt: Call, emitter: Emitter) -> None:
        """A recursive function: its tangent takes the tangents of all its float arguments."""
        dots: list[Atom] = []
        changes = list(stmt.changes)
        for k, arg in enumerate(stmt.args):
            if not emitter.type_of(arg).is_float:
                continue
            if k in stmt.changes:
                changes.append(len(stmt.args) + len(dots))
            dots.append(self.lanes_of(arg, emitter))
        targets: list[str] = []
        for target in stmt.targets:
            type_ = self.types[target]
            targets.append(target)
            if isinstance(type_, Scalar) and type_.is_float:
                made = emitter.fresh(f"{target}_dot_lanes", lanes_type(type_))
                targets.append(made)
                dot = self.dot(target, emitter)
                self.lane(Assign(dot, Op("load", (Name(made), LANE)), stmt.span))
            elif type_.is_float:
                targets.append(self.dot(target, emitter))
        name = f"{stmt.function}_lanes{self.lanes}"
        emitter.add(Call(tuple(targets), name, (*stmt.args, *dots), stmt.span, tuple(changes)))

    def results(self, values: tuple[Atom, ...], emitter: Emitter) -> list[Atom]:
        out: list[Atom] = []
        for value in values:
            type_ = emitter.type_of(value)
            if self.with_values:
                out.append(value)
            if not type_.is_float:
                continue
            dot = self.lanes_of(value, emitter)
            if not self.with_values:
                # whoever called knows nothing of orders
                dot = self.in_order(dot, type_, FLOAT64, emitter)
            out.append(dot)
        return out
