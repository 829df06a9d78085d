"""None or zero: which sources a target depends on, along the way that the block went.

Whether a path of derivatives leads from a source to a target can depend on branches, on numbers of
iterations, and on whether an element was read before it was written.  A program beside the block's own
answers it: every number and array has a word of bits, one per source, that flow as derivatives do.
Names that may stand for one array or another, such as buffers that a loop swaps, have the word in an
array of one element, which goes by as many names as the array that it belongs to.

A NumPy function connects what it reads and what it gives, also where there are no elements for its loops to visit
or none that its branches choose: what those would move is moved once, behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeGuard

from tapec.analyses.activity import call_operands, differentiable_operands, edges
from tapec.analyses.aliases import VIEWS, Aliases, aliases, is_memory
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
    reads,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array
from tapec.tape.derivatives.block_derivative import DerivedProgram, GradientRequest, inputs_of, stopped_body
from tapec.tape.derivatives.branch_connectivity import of_one_call
from tapec.transforms.emitter import Emitter

SOURCES = 60
_WORD = Array("int64", 1, "C")


def settled(request: GradientRequest) -> bool:
    """Whether every way through the block connects the same values."""
    return not any(isinstance(stmt, If | For | Loop | Store) for stmt in walk(request.block))


def connection_program(request: GradientRequest) -> DerivedProgram:
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
            out += words.joined(words.total, target.id)
    total = Name(words.total)
    start = [*words.start, *(Assign(word, Const(0)) for word in (words.total, *dict.fromkeys(words.known.values())))]
    block = (*start, *out, Return((total,)))
    inputs = inputs_of(block)
    return DerivedProgram(Function("connections", inputs, block, types), inputs, (), (), ())


class _Words:
    """The words of names, and the statements that move them."""

    def __init__(self, emitter: Emitter, classes: Aliases, whole: Function) -> None:
        self.emitter, self.classes, self.types = emitter, classes, emitter.types
        self.known: dict[str, str] = {}
        self.total = emitter.fresh("connected", INT64)
        self.boxes: dict[str, str] = {}
        self.start: list[Stmt] = []
        made = [
            stmt.target
            for stmt in walk(whole.body)
            if isinstance(stmt, Assign) and is_memory(self.types.get(stmt.target)) and not _is_alias(stmt.value)
        ]
        inputs = [name for name in inputs_of(whole.body) if is_memory(self.types.get(name))]
        self.assignments = _assignments(walk(whole.body))
        self.allocations = Counter(classes.find(name) for name in (*made, *inputs))
        # recursive functions and lists of numbers give memory whose owner is not known
        opaque = {classes.find(name) for name in self.types if not isinstance(self.types[name], Array)}
        for stmt in walk(whole.body):
            chosen = isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "ifelse"
            if isinstance(stmt, Call) or chosen:
                opaque |= {classes.find(name) for name in (*writes(stmt), *reads(stmt))}
        self.boxed = {key for key, count in self.allocations.items() if count > 1} - opaque
        for name in inputs:
            if classes.find(name) in self.boxed and self.carries(name):
                self.start += self._box(name)

    def _key(self, name: str) -> str:
        return self.classes.find(name) if is_memory(self.types.get(name)) else name

    def is_boxed(self, name: str) -> bool:
        return self._key(name) in self.boxed

    def of(self, name: str) -> Name:
        """The word of a name that has one of its own."""
        key = self._key(name)
        if key not in self.known:
            self.known[key] = self.emitter.fresh(f"{key}_connected", INT64)
        return Name(self.known[key])

    def box(self, name: str) -> str:
        """The array that holds the word of an array which other names may stand for."""
        if name not in self.boxes:
            self.boxes[name] = self.emitter.fresh(f"{name}_connected", _WORD)
        return self.boxes[name]

    def _box(self, name: str) -> list[Stmt]:
        """The word of an array that is made here."""
        return [Assign(self.box(name), Op("zeros", (Const("int64"), Const(1))))]

    def read(self, name: str) -> tuple[list[Stmt], Name]:
        """The word of a name, and what fetches it."""
        if not self.is_boxed(name):
            return [], self.of(name)
        found = self.emitter.fresh("word", INT64)
        return [Assign(found, Op("load", (Name(self.box(name)), Const(0))))], Name(found)

    def write(self, name: str, word: Expr) -> list[Stmt]:
        """Set the word of a name."""
        if not self.is_boxed(name):
            return [Assign(self.of(name).id, word)]
        held = self.emitter.fresh("word", INT64)
        return [Assign(held, word), Store(self.box(name), (Const(0),), Name(held), False, None)]

    def joined(self, word: str, name: str) -> list[Stmt]:
        """Add the bits of a name to a word."""
        before, found = self.read(name)
        return [*before, Assign(word, Op("|", (Name(word), found)))]

    def carries(self, name: str) -> bool:
        type_ = self.types.get(name)
        return type_ is not None and type_.is_float

    def mark(self, name: str, watched: bool, number: int | None) -> Block:
        """A watched value, or a source, is complete."""
        before, word = self.read(name)
        if watched:
            own = 1 | (0 if number is None else 2 << number)
            return (*before, *self.write(name, Op("|", (word, Const(own)))))
        if number is None:
            return ()
        # a source counts if it was computed from something watched
        test = self.emitter.fresh("recorded", INT64)
        bit = Op("*", (Name(test), Const(2 << number)))
        return (
            *before,
            Assign(test, Op("&", (word, Const(1)))),
            *self.write(name, Op("|", (word, bit))),
        )

    def flow(self, stmt: Stmt) -> list[Stmt]:
        """The statement with those that move the words along."""

        def inside(block: Block) -> Block:
            return tuple(new for inner in block for new in self.flow(inner))

        if of_one_call(stmt):
            return [stmt, *self._joined_throughout(stmt)]
        return [map_blocks(stmt, inside), *self.moved(stmt)]

    def _joined_throughout(self, stmt: Stmt) -> list[Stmt]:
        """What a NumPy function's statements may move, on either side of its branches and in any of its iterations."""
        inside = tuple(walk((stmt,)))
        own = [name for name, count in _assignments(inside).items() if count == self.assignments[name]]
        out: list[Stmt] = [
            Assign(self.of(name).id, Const(0)) for name in own if self.carries(name) and not is_memory(self.types[name])
        ]
        for _ in range(self._rounds(inside)):
            out += [new for inner in inside for new in self.moved(inner, joined=True)]
        return out

    def _rounds(self, statements: tuple[Stmt, ...]) -> int:
        """How often the statements are gone through until nothing more moves."""
        steps = [(self._key(a), self._key(b)) for stmt in statements for a, b in edges(stmt)]
        found: dict[str, set[str]] = {}
        rounds, before, now = -1, -1, 0
        while now > before:
            for a, b in steps:
                found.setdefault(b, set()).update({a}, found.get(a, ()))
            rounds, before, now = rounds + 1, now, sum(map(len, found.values()))
        return max(1, rounds)

    def moved(self, stmt: Stmt, joined: bool = False) -> list[Stmt]:
        """The statements that move the words along with one statement, but for those inside it.

        joined  a number keeps what it was given before: by the other side of a branch, or in another iteration
        """
        match stmt:
            case Assign(target=target, value=value) if self.carries(target):
                return self._assigned(target, value, joined)
            case Store(array=array, value=Name(id=value)) if self.carries(value) and self.carries(array):
                return self._joined(array, value)
            case Push(stack=stack, value=Name(id=value)) if self.carries(value):
                return self._joined(stack, value)
            case Call(targets=targets):
                given = [operand for operand in call_operands(stmt) if self.carries(operand)]
                carried = [target for target in targets if self.carries(target)]
                return [new for target in carried for arg in given for new in self._joined(target, arg)]
        return []

    def _joined(self, target: str, operand: str) -> list[Stmt]:
        first, own = self.read(target)
        second, other = self.read(operand)
        return [*first, *second, *self.write(target, Op("|", (own, other)))]

    def _assigned(self, target: str, value: Expr, joined: bool) -> list[Stmt]:
        out: list[Stmt] = []
        word: Expr = self.of(target) if joined and not is_memory(self.types.get(target)) else Const(0)
        if is_memory(self.types.get(target)):
            if _is_alias(value):
                owner = value if isinstance(value, Name) else value.args[0]
                assert isinstance(owner, Name)
                return [Assign(self.box(target), Name(self.box(owner.id)))] if self.is_boxed(target) else []
            if self.is_boxed(target):
                out += self._box(target)
            elif self.allocations[self.classes.find(target)] != 1:
                word = self.of(target)
        for operand in differentiable_operands(value):
            if self.carries(operand):
                before, found = self.read(operand)
                out += before
                word = found if word == Const(0) else Op("|", (word, found))
        return [*out, *self.write(target, word)]


def _assignments(statements: Iterable[Stmt]) -> Counter[str]:
    """How often each name is assigned."""
    return Counter(name for stmt in statements for name in writes(stmt))


def _is_alias(value: Expr) -> TypeGuard[Name | Op]:
    """Whether an array's definition makes no memory."""
    return isinstance(value, Name) or (isinstance(value, Op) and value.fn in VIEWS)
