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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tapec.analyses.activity import is_callee, outputs
from tapec.analyses.aliases import ALLOCATIONS, PRODUCTS, VIEWS, aliases, is_memory
from tapec.errors import Span
from tapec.frontend.numba_types import subscript_type
from tapec.frontend.values import Sym, Tup
from tapec.rules.formula import CONSTANTS
from tapec.rules.library import PRIMITIVES
from tapec.rules.table import no_rule
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
    mentions,
    reads,
    substitute,
    walk,
    writes,
    written_in,
    zero_of,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import Forward, refuse_custom
from tapec.transforms.primitives import lower_rule

_ALL = Op("slice", (Const(None), Const(None), Const(None)))


class NotLinear(Exception):
    """A program that should be linear in its sources reads values that depend on them."""


def vector_forward(
    function: Function,
    sources: tuple[str, ...],
    width: int,
    constants: frozenset[str] = frozenset(),
    linear: bool = False,
    leading: bool = False,
) -> Vectors:
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
    return Vectors(made, made.params[len(function.params) :], first)


@dataclass(frozen=True)
class Vectors:
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


def by_columns(type_: Type) -> bool:
    """Whether an array is in the order of columns: its tangent is that of its transpose."""
    return isinstance(type_, Array) and type_.layout == "F" and type_.ndim > 1


def lanes_type(type_: Type) -> Type:
    """The type of the tangents of what has a type."""
    if isinstance(type_, Scalar):
        return Array(type_.dtype, 1)
    if isinstance(type_, Array):
        return Array(type_.dtype, type_.ndim + 1, "A" if type_.layout == "A" else "C")
    assert isinstance(type_, Stack)
    return type_ if isinstance(type_.element, Scalar) else Stack(lanes_type(type_.element))  # type: ignore[arg-type]


class _VectorForward(Forward):
    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str], width: int) -> None:
        super().__init__(function, sources, constants)
        self.width = Const(width)
        self.linear = False
        # whether results are returned, too, in front of their tangents
        self.with_values = False
        # what the current loop over lanes does, and what that reads
        self.pending: list[Stmt] = []
        self.asked: set[str] = set()
        # the numbers that differ from lane to lane
        self.varying: set[str] = set()
        # the arrays that hold such numbers between loops over lanes
        self.buffers: dict[str, str] = {}
        self.loops: set[int] = set()
        # arrays of whose tangents the lanes are the first axis
        self.leading: frozenset[str] = frozenset()
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

    def dot(self, name: str, emitter: Emitter) -> str:
        if name not in self.dots:
            type_ = self.types[name]
            kind = type_ if isinstance(type_, Scalar) else lanes_type(type_)
            self.dots[name] = emitter.fresh(f"{name}_dot", kind)
            if isinstance(type_, Scalar):
                self.varying.add(self.dots[name])
        return self.dots[name]

    # loops over lanes

    def lane(self, stmt: Stmt) -> None:
        """Add a statement of numbers to the current loop over lanes."""
        self.pending.append(stmt)
        self.asked.update(reads(stmt))

    def flush(self, emitter: Emitter) -> None:
        """Write the current loop over lanes."""
        if self.pending:
            lane = emitter.fresh("lane", INT64)
            body = tuple(_with_lane(stmt, Name(lane)) for stmt in self.pending)
            loop = For(lane, Const(0), self.width, Const(1), body, span=self.pending[0].span)
            self.loops.add(loop.key)
            emitter.add(loop)
            self.pending, self.asked = [], set()

    def protect(self, names: Iterable[str], emitter: Emitter) -> None:
        """What the current loop reads is what it was before some names get other values."""
        for name in names:
            if name not in self.asked:
                continue
            if not isinstance(self.types[name], Scalar):
                self.flush(emitter)
                return
            kept = emitter.let(f"{name}_before", Name(name), self.types[name])
            self.pending = [_renamed(stmt, name, kept) for stmt in self.pending]
            self.asked = self.asked - {name} | {kept.id}

    def number(self, expr: Expr, emitter: Emitter, type_: Scalar | None = None) -> Atom:
        """A number of a lane; what is the same in all lanes is computed before."""
        if not mentions(expr, self.varying):
            return emitter.atom(expr, type_)
        atom = self.flat(expr, emitter)
        own = emitter.type_of(atom)
        if type_ is None or own == type_:
            return atom
        return self.let(Op(f"cast.{type_.dtype}", (atom,)), type_, emitter)

    def flat(self, expr: Expr, emitter: Emitter) -> Atom:
        if not isinstance(expr, Op):
            return expr
        first, *rest = args = [self.number(arg, emitter) for arg in expr.args]
        made = Op(expr.fn, tuple(args))
        kind = emitter.type_of(made)
        assert isinstance(kind, Scalar)
        if expr.fn == "/" and self.inverts(first, expr.args[1], emitter):
            inverse = emitter.atom(Op("/", (Const(1.0), rest[0])))
            made = Op("*", (first, inverse))
        return self.let(made, kind, emitter)

    def inverts(self, dividend: Atom, divisor: Expr, emitter: Emitter) -> bool:
        """Whether a quotient of a lane may be a product: a zero divided by the smallest number has to stay zero."""
        if mentions(divisor, self.varying) or _has_tiny(divisor):
            return False
        return emitter.type_of(dividend) == emitter.type_of(divisor) == FLOAT64

    def let(self, value: Expr, type_: Scalar, emitter: Emitter) -> Name:
        name = emitter.fresh("t", type_)
        self.varying.add(name)
        self.lane(Assign(name, value, emitter.span))
        return Name(name)

    def buffer(self, dot: str, emitter: Emitter) -> str:
        """The array of the lanes of a number, which is then kept between loops."""
        if dot not in self.buffers:
            type_ = self.types[dot]
            assert isinstance(type_, Scalar)
            self.buffers[dot] = emitter.fresh(f"{dot}_lanes", Array(type_.dtype, 1))
        return self.buffers[dot]

    def with_buffers(self, body: Block, emitter: Emitter) -> Block:
        """The function's body with what loops over lanes hand on to one another."""
        for stmt in walk(body):
            if stmt.key in self.loops:
                for name in self.first_read(stmt):
                    self.buffer(name, emitter)

        def change(block: Block) -> Block:
            return tuple(
                self.handing_on(stmt) if stmt.key in self.loops else map_blocks(stmt, change) for stmt in block
            )

        body = change(body)
        head: list[Stmt] = []
        for dot, buffer in self.buffers.items():
            if dot not in self.given:
                kind = self.types[dot]
                assert isinstance(kind, Scalar)
                head.append(Assign(buffer, Op("empty", (Const(kind.dtype), self.width))))
        return (*head, *body)

    def first_read(self, loop: Stmt) -> list[str]:
        """The numbers of a lane that a loop reads before it sets them."""
        assert isinstance(loop, For)
        known: set[str] = set()
        found: dict[str, None] = {}
        for stmt in loop.body:
            found.update(dict.fromkeys(n for n in reads(stmt) if n in self.varying and n not in known))
            known.update(writes(stmt))
        return list(found)

    def handing_on(self, loop: Stmt) -> Stmt:
        """A loop over lanes that finds its numbers, and leaves them."""
        assert isinstance(loop, For)
        lane = Name(loop.var)
        head = [Assign(n, Op("load", (Name(self.buffers[n]), lane)), loop.span) for n in self.first_read(loop)]
        left = dict.fromkeys(name for stmt in loop.body for name in writes(stmt) if name in self.buffers)
        tail = [Store(self.buffers[n], (lane,), Name(n), False, loop.span) for n in left]
        return replace(loop, body=(*head, *loop.body, *tail))

    def each_lane(self, emitter: Emitter) -> tuple[Emitter, Name]:
        """The body of a loop over lanes that does more than a lane's numbers, and its variable; `close` writes it."""
        self.flush(emitter)
        return emitter.child(), Name(emitter.fresh("lane", INT64))

    def close(self, inner: Emitter, lane: Name, emitter: Emitter) -> None:
        emitter.add(For(lane.id, Const(0), self.width, Const(1), tuple(inner.out), span=emitter.span))

    # statements

    def block(self, block: Block, emitter: Emitter) -> None:
        super().block(block, emitter)
        self.flush(emitter)

    def emit(self, stmt: Stmt, emitter: Emitter) -> None:
        """A statement of the program itself."""
        self.protect(writes(stmt), emitter)
        emitter.add(stmt)

    def statement(self, stmt: Stmt, emitter: Emitter) -> None:
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
            case Push(stack=stack):
                if stack in self.activity:
                    self.push(stmt, emitter)
                # lists of arrays know their shapes
                if stack not in self.activity or not self.linear or not isinstance(self.types[stack], Stack) or (
                    isinstance(self.types[stack].element, Array)
                ):
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

    def places(self, array: str, index: Sequence[Atom], lane: Atom | None = None) -> tuple[Atom, ...]:
        """The subscripts of an element in the tangent of an array, by default that of the loop's lane."""
        lane = _LANE if lane is None else lane
        if array in self.leading:
            return (lane, *index)
        return (*(reversed(index) if by_columns(self.types[array]) else index), lane)

    def tested(self, array: str, span: Span | None) -> Span | None:
        """Where the subscripts of an element, or view, of an array's tangent come from, with the axes to be tested."""
        type_ = self.types[array]
        if span is None or not span.open or not isinstance(type_, Array) or not by_columns(type_):
            return span
        return replace(span, open=tuple(type_.ndim - 1 - axis for axis in span.open))

    def assign(self, stmt: Assign, emitter: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if target not in self.activity:
            self.emit(stmt, emitter)
            return
        refuse_custom(stmt)
        if is_memory(self.types[target]):
            self.memory(stmt, emitter)
            return
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            self.emit(stmt, emitter)
            self.primitive(value.fn, value.args, (target,), emitter)
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
                place = inner.let("t", Op("-", (Const(int(self.width.value) - 1), lane)), INT64)  # type: ignore[arg-type]
                popped = inner.let("t", Op("pop", (Name(self.dot(stack, emitter)),)), type_)
                inner.add(Store(self.buffer(dot, emitter), (place,), popped, False, stmt.span))
                self.close(inner, lane, emitter)
            case _:
                tangent = self.number(self.scalar_tangent(stmt, emitter), emitter, type_)
                self.lane(Assign(dot, tangent, stmt.span))

    # arrays and lists

    def zeros(self, base: str, array: str, emitter: Emitter, name: str | None = None) -> str:
        """Tangents of zero with the shape of an array."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        dims: list[Expr] = [emitter.let("n", Op("dim", (Name(array), Const(k))), INT64) for k in range(type_.ndim)]
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
        if by_columns(type_) == by_columns(wanted):
            return dot
        assert isinstance(type_, Array)
        axes = (*reversed(range(type_.ndim)), type_.ndim)
        made = Op("permute", (dot, *(Const(axis) for axis in axes)))
        return emitter.let(f"{dot.id}_turned", made, Array(type_.dtype, type_.ndim + 1, "A"))

    def memory(self, stmt: Assign, emitter: Emitter) -> None:
        target, value = stmt.target, stmt.value
        type_ = self.types[target]
        self.emit(stmt, emitter)
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            self.primitive(value.fn, value.args, (target,), emitter)
            return
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
        if value.fn in ALLOCATIONS:
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
            element = type_.element  # type: ignore[union-attr]
            if isinstance(element, Array):
                kind = lanes_type(element)
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
        emitter.span = self.tested(owner.id, span) if by_columns(order_of) else span
        seen = emitter.let(f"{target}_dot", Op("view", (dot, *subs)), kind)
        emitter.span = span
        # what is left of an array in the order of columns is in that order
        now = replace(wanted, layout="F") if by_columns(order_of) else replace(wanted, layout="A")
        return self.in_order(seen, now, wanted, emitter)

    def push(self, stmt: Push, emitter: Emitter) -> None:
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

    # functions of whole arrays, and calls

    def primitive(self, fn: str, args: tuple[Expr, ...], targets: tuple[str, ...], emitter: Emitter) -> None:
        result = tuple(Name(t) for t in targets)
        for target in targets:
            if target in self.activity and isinstance(self.types[target], Array):
                dot = self.dot(target, emitter)
                self.protect((dot,), emitter)
                self.types[dot] = replace(self.types[dot], layout="C")  # type: ignore[type-var]
                self.zeros("", target, emitter, dot)
        if fn in PRODUCTS:
            self.product(*args, *targets, emitter)  # type: ignore[arg-type]
            return
        if not any(isinstance(arg, Name) and arg.id in self.activity for arg in args):
            # active by another array that the name may stand for
            return
        inner, lane = self.each_lane(emitter)
        dots: list[Atom | None] = []
        for arg in args:
            dot = self.tangent(arg, emitter) if isinstance(arg, Name) else None
            dots.append(None if not isinstance(dot, Name) else self.of_lane(arg.id, dot, lane, inner))  # type: ignore[union-attr]
        y = result if len(result) > 1 else result[0]
        block, value = lower_rule(inner, PRIMITIVES[fn].tangent, [y, *args, *dots])
        inner.extend(block)
        values = value.items if isinstance(value, Tup) else (value,)
        for target, item in zip(targets, values, strict=True):
            if target in self.activity and isinstance(item, Sym):
                self.put(target, item.atom, lane, inner)
        self.close(inner, lane, emitter)

    def product(self, left: Name, right: Name, target: str, emitter: Emitter) -> None:
        """A product of vectors and matrices, as loops in which lanes are innermost."""
        self.flush(emitter)
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
            factor = inner.let("t", Op("load", (other, *places[1 - k])), self.types[other.id].element)  # type: ignore[union-attr]
            item = self.let(
                Op("load", (tangent, *self.places(one.id, places[k]))),
                self.types[one.id].element,  # type: ignore[union-attr]
                inner,
            )
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
                self.lane(Assign(dot, Op("load", (Name(made), _LANE)), stmt.span))
            elif type_.is_float:
                targets.append(self.dot(target, emitter))
        name = f"{stmt.function}_lanes{self.width.value}"
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
                dot = self.in_order(dot, type_, replace(type_, layout="A"), emitter) if by_columns(type_) else dot  # type: ignore[type-var]
            out.append(dot)
        return out


# stands for the variable of the loop over lanes, until that is written
_LANE = Name("lane of the loop")


def _with_lane(stmt: Stmt, lane: Name) -> Stmt:
    match stmt:
        case Store(index=index):
            return replace(stmt, index=tuple(lane if sub == _LANE else sub for sub in index))
        case Assign(value=Op(fn="load", args=args)):
            return replace(stmt, value=Op("load", tuple(lane if arg == _LANE else arg for arg in args)))
    return stmt


def _renamed(stmt: Stmt, name: str, other: Name) -> Stmt:
    """A statement of a lane that reads another name."""
    values: dict[str, Expr] = {name: other}
    if isinstance(stmt, Store):
        index = tuple(substitute(sub, values) for sub in stmt.index)
        return replace(stmt, index=index, value=substitute(stmt.value, values))  # type: ignore[arg-type]
    assert isinstance(stmt, Assign)
    return replace(stmt, value=substitute(stmt.value, values))


def _has_tiny(expr: Expr) -> bool:
    if isinstance(expr, Op):
        return any(map(_has_tiny, expr.args))
    return expr == Const(CONSTANTS["TINY"])
