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

from tapec.analyses.activity import is_callee, outputs
from tapec.analyses.aliases import aliases, is_memory
from tapec.rules.library import PRIMITIVES
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
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
from tapec.syntax.custom_rule import custom_of
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.lane_loops import LANE, by_columns, lanes_type
from tapec.transforms.lane_primitives import LanePrimitives
from tapec.transforms.transposition import NotLinear
from tapec.transforms.unit_directions import only_read

_ALL = Op("slice", (Const(None), Const(None), Const(None)))


def vector_forward(
    function: Function,
    sources: tuple[str, ...],
    width: int,
    constants: frozenset[str] = frozenset(),
    linear: bool = False,
    leading: bool = False,
    units: bool = False,
) -> Directions:
    """The function that also takes tangents of `sources` in `width` directions, and returns those of its results.

    Results that are no floats it returns as they are.
    The directions are the last axis of each tangent, that of a number included.  A source in the order of columns has
    the tangent of its transpose.

    linear   the function is linear in the sources, whose values are not used
    leading  the directions are the first axis of results, where nothing but their elements is used
    units    a tangent may be an array of numbers, for unit vectors: see `unit_directions`
    raises   NotLinear  where it is not
    """
    worker = _VectorForward(function, sources, constants, width)
    worker.linear = linear
    if leading:
        worker.leading = _simple_results(function)
    if units:
        worker.units = only_read(function, sources)
    made = worker.run("column")
    first = tuple(isinstance(value, Name) and value.id in worker.leading for value in function.results)
    dots = made.params[len(function.params) : len(function.params) + len(sources)]
    return Directions(made, dots, first, worker.units, made.params[-1] if worker.units else None)


@dataclass(frozen=True)
class Directions:
    """A function of tangents in several directions.

    dots   its parameters for the tangents of the sources
    first  for each result whether the directions are the first axis of its tangents
    units  the sources, and others, whose tangents are arrays of numbers
    begin  the last parameter, where there are such: the number that the first lane has
    """

    function: Function
    dots: tuple[str, ...]
    first: tuple[bool, ...]
    units: frozenset[str] = frozenset()
    begin: str | None = None


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


class _VectorForward(LanePrimitives):
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
                lanes = self.dot(source, emitter)
            extra.append(lanes)
        if self.units:
            self.begin_lane = emitter.fresh("first", INT64)
            extra.append(self.begin_lane)
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
            case Op(fn="load", args=(Name(id=array), *index)) if array in self.units:
                found = Op("load", (Name(self.dot(array, emitter)), *index))
                own = emitter.let("number", found, INT64)
                own = emitter.let("number", Op("-", (own, Name(self.begin_lane))), INT64)
                moves = self.let(Op("==", (own, LANE)), BOOL, emitter)
                one, zero = (emitter.cast(Const(value), type_) for value in (1.0, 0.0))
                self.lane(Assign(dot, Op("ifelse", (moves, one, zero)), stmt.span))
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
            if self.with_values or not type_.is_float:
                out.append(value)
            if not type_.is_float:
                continue
            dot = self.lanes_of(value, emitter)
            if not self.with_values:
                # whoever called knows nothing of orders
                dot = self.in_order(dot, type_, FLOAT64, emitter)
            out.append(dot)
        return out
