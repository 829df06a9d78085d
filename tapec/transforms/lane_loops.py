"""Loops over lanes, in which the tangents of several directions are numbers; see `vector_forward.py`.

What stands in a row becomes one loop.  A number that another loop has set is loaded from an array of lanes, and one
that another loop reads is stored in it; all others live in the loop alone.  What is the same in all lanes is computed
before the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.rules.formula import CONSTANTS
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    mentions,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.forward import ForwardMode

# stands for the variable of the loop over lanes, until that is written
LANE = Name("lane of the loop")


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


class LaneLoops(ForwardMode):
    """A function of which some numbers differ from lane to lane."""

    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str], width: int) -> None:
        super().__init__(function, sources, constants)
        self.lanes = width
        self.width = Const(width)
        # what the current loop over lanes does, and what that reads
        self.pending: list[Stmt] = []
        self.asked: set[str] = set()
        # the numbers that differ from lane to lane
        self.varying: set[str] = set()
        # the arrays that hold such numbers between loops over lanes, and those of them that are parameters
        self.buffers: dict[str, str] = {}
        self.given: frozenset[str] = frozenset()
        self.loops: set[int] = set()

    def dot(self, name: str, emitter: Emitter) -> str:
        if name not in self.dots:
            type_ = self.types[name]
            kind = type_ if isinstance(type_, Scalar) else self.kind(name)
            self.dots[name] = emitter.fresh(f"{name}_dot", kind)
            if isinstance(type_, Scalar):
                self.varying.add(self.dots[name])
        return self.dots[name]

    def kind(self, name: str) -> Type:
        """The type of the tangents of an array or list."""
        return lanes_type(self.types[name])

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

    def emit(self, stmt: Stmt, emitter: Emitter) -> None:
        """A statement of the program itself."""
        self.protect(writes(stmt), emitter)
        emitter.add(stmt)

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
        """An expression of a lane's numbers, one operation a statement."""
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
        # one by zero, which a choice leaves out, is an error by itself where Python runs it
        if isinstance(divisor, Const) and divisor.value == 0:
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


def _with_lane(stmt: Stmt, lane: Name) -> Stmt:
    match stmt:
        case Store(index=index):
            return replace(stmt, index=tuple(lane if sub == LANE else sub for sub in index))
        case Assign(value=Op(fn=fn, args=args)):
            return replace(stmt, value=Op(fn, tuple(lane if arg == LANE else arg for arg in args)))
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
