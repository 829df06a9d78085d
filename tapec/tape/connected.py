"""None or zero: which sources a target depends on, along the way that the block went.

Whether a path of derivatives leads from a source to a target can depend on branches, on numbers of
trips, and on whether an element was read before it was written.  A program beside the block's own
answers it: every number and array has a word of bits, one per source, that flow as derivatives do.
"""

from __future__ import annotations

from tapec.analyses.activity import differentiable_operands
from tapec.analyses.memory import VIEWS, Aliases, aliases, is_memory
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
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
    Return,
    Stmt,
    Store,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import INT64
from tapec.tape.derive import Derivative, Request, inputs_of, stopped_body
from tapec.transforms.emitter import Emitter

SOURCES = 60


def settled(request: Request) -> bool:
    """Whether every way through the block connects the same values."""
    return not any(isinstance(stmt, If | For | Loop | Store) for stmt in walk(request.block))


def connection_program(request: Request) -> Derivative:
    """A program that returns a word with bit k + 1 set where source k reaches a target; at most SOURCES sources."""
    types = dict(request.types)
    emitter = Emitter(types, set(types))
    body = stopped_body(request, emitter)
    whole = Function("stretch", (), (*body, Return(request.targets)), types)
    classes = aliases(whole)
    words = _Words(emitter, classes, whole)
    inside = [(k, inner) for k, stmt in enumerate(body) for inner in walk((stmt,))]
    places = {name: k for k, inner in inside for name in writes(inner)}
    # an array is there once its elements are
    filled = {classes.find(inner.array): k for k, inner in inside if isinstance(inner, Store)}
    marks: dict[int, list[str]] = {}
    for name in dict.fromkeys((*request.watched, *(v for source in request.sources for v in source))):
        if name in types and types[name].is_float:
            place = places.get(name, -1)
            if place >= 0 and name not in request.watched:
                place = max(place, filled.get(classes.find(name), place))
            marks.setdefault(place, []).append(name)
    numbers = {version: k for k, source in enumerate(request.sources) for version in source}
    out: list[Stmt] = []
    for k, stmt in enumerate((None, *body), -1):
        if stmt is not None:
            out += words.flow(stmt)
        for name in marks.get(k, ()):
            out += words.mark(name, name in request.watched, numbers.get(name))
    total: Atom = Const(0)
    for target in request.targets:
        if isinstance(target, Name):
            out.append(Assign(words.total, Op("|", (Name(words.total), words.of(target.id)))))
    total = Name(words.total)
    start = [Assign(word, Const(0)) for word in (words.total, *dict.fromkeys(words.known.values()))]
    block = (*start, *out, Return((total,)))
    inputs = inputs_of(block)
    return Derivative(Function("connections", inputs, block, types), inputs, (), (), ())


class _Words:
    """The words of names, and the statements that move them."""

    def __init__(self, emitter: Emitter, classes: Aliases, whole: Function) -> None:
        self.emitter, self.classes, self.types = emitter, classes, emitter.types
        self.known: dict[str, str] = {}
        self.total = emitter.fresh("connected", INT64)
        self.allocations: dict[str, int] = {}
        defined = {name for stmt in walk(whole.body) for name in writes(stmt)}
        for stmt in walk(whole.body):
            if isinstance(stmt, Assign) and is_memory(self.types.get(stmt.target)) and not _is_alias(stmt.value):
                key = classes.find(stmt.target)
                self.allocations[key] = self.allocations.get(key, 0) + 1
        for name in inputs_of(whole.body):
            if name not in defined and is_memory(self.types.get(name)):
                key = classes.find(name)
                self.allocations[key] = self.allocations.get(key, 0) + 1

    def of(self, name: str) -> Name:
        type_ = self.types.get(name)
        key = self.classes.find(name) if is_memory(type_) else name
        if key not in self.known:
            self.known[key] = self.emitter.fresh(f"{key}_connected", INT64)
        return Name(self.known[key])

    def carries(self, name: str) -> bool:
        type_ = self.types.get(name)
        return type_ is not None and type_.is_float

    def mark(self, name: str, watched: bool, number: int | None) -> Block:
        """A watched value, or a source, is complete."""
        word = self.of(name)
        if watched:
            own = 1 | (0 if number is None else 2 << number)
            return (Assign(word.id, Op("|", (word, Const(own)))),)
        if number is None:
            return ()
        # a source counts if it was computed from something watched
        test = self.emitter.fresh("recorded", INT64)
        bit = Op("*", (Name(test), Const(2 << number)))
        return (
            Assign(test, Op("&", (word, Const(1)))),
            Assign(word.id, Op("|", (word, bit))),
        )

    def flow(self, stmt: Stmt) -> list[Stmt]:
        """The statement with those that move the words along."""

        def inside(block: Block) -> Block:
            return tuple(new for inner in block for new in self.flow(inner))

        match stmt:
            case Assign(target=target, value=value) if self.carries(target):
                return [stmt, *self._assigned(target, value)]
            case Store(array=array, value=Name(id=value)) if self.carries(value) and self.carries(array):
                return [stmt, self._joined(array, value)]
            case Push(stack=stack, value=Name(id=value)) if self.carries(value):
                return [stmt, self._joined(stack, value)]
            case Call(targets=targets, args=args):
                given = [arg.id for arg in args if isinstance(arg, Name) and self.carries(arg.id)]
                return [stmt, *(self._joined(t, arg) for t in targets if self.carries(t) for arg in given)]
        return [map_blocks(stmt, inside)]

    def _joined(self, target: str, operand: str) -> Stmt:
        return Assign(self.of(target).id, Op("|", (self.of(target), self.of(operand))))

    def _assigned(self, target: str, value: Expr) -> list[Stmt]:
        if is_memory(self.types.get(target)):
            if _is_alias(value):
                return []
            fresh = self.allocations.get(self.classes.find(target), 0) == 1
        else:
            fresh = True
        word: Expr = Const(0) if fresh else self.of(target)
        for operand in differentiable_operands(value):
            if self.carries(operand):
                word = self.of(operand) if word == Const(0) else Op("|", (word, self.of(operand)))
        return [Assign(self.of(target).id, word)]


def _is_alias(value: Expr) -> bool:
    """Whether an array's definition makes no memory."""
    return isinstance(value, Name) or (isinstance(value, Op) and value.fn in VIEWS)
