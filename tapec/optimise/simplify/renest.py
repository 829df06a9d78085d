"""Put values that are used once back into the expressions that use them.

A temporary of the compiler's goes into its only use, and `i + 1` into every use.  Nothing moves past
an assignment to a name or a store into memory that it reads, nor into a loop.  Variables of the
user's stay, except where they are only copied on, and so does what an iteration leaves for the next one, if
it follows from the iteration alone: LLVM shifts a vector of it, unless something is stored before it is
computed.  The places of core form that hold atoms hold expressions afterwards; only the naming of
variables and the printer come after this pass.

    t = x[i]
    t_1 = t * t           ->        s += x[i] * y
    t_2 = t_1 * y
    s = s + t_2
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, Aliases, is_memory
from tapec.analyses.facts import facts
from tapec.analyses.first_order_recurrences import shifted
from tapec.optimise.name_origins import Vocabulary
from tapec.syntax.core import (
    Assign,
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
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    mentions,
    names_in,
    reads,
    walk,
    with_args,
    writes,
)
from tapec.syntax.types import Scalar

WIDTH = 76
_COPIES = 6
_FIXED = ("pop", "stack", "np.random", *ALLOCATIONS)
_SIGNS = frozenset({"+", "-", "*", "/", "**", "<", "<=", ">", ">=", "==", "!=", "neg", "pos"})
_SHAPES = frozenset({"dim", "stride"})


def renest(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with nested expressions; see the module."""
    return replace(function, body=Renest(function).block(function.body, {}))


def elementwise(fn: str) -> bool:
    """Whether an operation of numbers is one of whole arrays, too, under its name."""
    return fn in _SIGNS or (fn.startswith("np.") and isinstance(getattr(np, fn.removeprefix("np."), None), np.ufunc))


@dataclass
class Pending:
    """A value that may still move down; `left` counts the uses that have not been reached."""

    value: Expr
    place: PlacedStatement
    reads: frozenset[str]
    classes: frozenset[str]
    left: int
    everywhere: bool


@dataclass
class PlacedStatement:
    """A statement of the output, unless all its uses have taken its value."""

    stmt: Stmt
    gone: bool = False


Waiting = dict[str, Pending]


class Renest:
    """Nests the expressions of one function; `renest_to_read.py` has another that nests more."""

    # about how many characters a line has
    room = WIDTH

    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.aliases: Aliases = facts(function).aliases
        self.words = Vocabulary(function)
        self.unsigned = {name for name, type_ in function.types.items() if str(type_).startswith("uint")}
        self.left = {name for stmt in walk(function.body) if isinstance(stmt, For) for name in _left(stmt.body)}
        self.uses: Counter[str] = Counter()
        self.sets: Counter[str] = Counter(function.params)
        for stmt in walk(function.body):
            self.uses.update(reads(stmt))
            self.sets.update(writes(stmt))

    def block(self, block: Block, waiting: Waiting) -> Block:
        out: list[PlacedStatement] = []
        for stmt in block:
            place = PlacedStatement(stmt)
            out.append(place)
            place.stmt = self.statement(stmt, place, waiting)
            self.placed(place, out)
        return tuple(place.stmt for place in out if not place.gone)

    def placed(self, place: PlacedStatement, out: list[PlacedStatement]) -> None:
        """Look at a statement that has taken its values, the last of `out`."""

    def statement(self, stmt: Stmt, place: PlacedStatement, waiting: Waiting) -> Stmt:
        new = self.rewrite(stmt, waiting)
        match new:
            case If():
                # each side has its own view of what may still move
                body = self.block(new.body, dict(waiting))
                orelse = self.block(new.orelse, dict(waiting))
                new = replace(new, body=body, orelse=orelse)
                self.forget(stmt, waiting)
            case For() | Loop():
                self.forget(stmt, waiting)
                fixed = {name: one for name, one in waiting.items() if one.everywhere}
                new = replace(new, body=self.block(new.body, fixed))
            case Assign():
                self.forget(new, waiting)
                self.offer(new, place, waiting)
                return new
            case _:
                self.forget(new, waiting)
        return new

    # what may move

    def offer(self, stmt: Assign, place: PlacedStatement, waiting: Waiting) -> None:
        target, value = stmt.target, stmt.value
        if self.sets[target] != 1 or not isinstance(value, Op) or value.fn.startswith(_FIXED) or target in self.left:
            return
        uses = self.uses[target]
        everywhere = self._offset(value)
        if uses != 1 and not (everywhere and uses <= _COPIES) and not self.repeats(target, value, uses):
            return
        alone = isinstance(self.types[target], Scalar) or value.fn in VIEWS or value.fn.startswith("np.")
        if not alone and not elementwise(value.fn):
            return
        names = frozenset(names_in(value))
        waiting[target] = Pending(value, place, names, self.contents(value), uses, everywhere)

    def repeats(self, target: str, value: Op, uses: int) -> bool:
        """Whether a value is written wherever it is read."""
        return False

    def keeps_name(self, name: str) -> bool:
        """Whether what is read is a variable, not its value."""
        return self.words.is_users(name)

    def _offset(self, value: Op) -> bool:
        """`i + 1` of a variable that keeps its value: cheap enough to write twice."""
        if value.fn not in ("+", "-") or len(value.args) != 2:
            return False
        name, step = value.args
        integer = isinstance(step, Const) and isinstance(step.value, int)
        return integer and isinstance(name, Name) and self.sets[name.id] == 1

    def contents(self, value: Expr) -> frozenset[str]:
        """The classes of arrays whose elements an expression reads."""
        if not isinstance(value, Op):
            return frozenset()
        found: set[str] = set()
        for arg in value.args:
            found |= self.contents(arg)
        if value.fn not in _SHAPES:
            found |= {self.aliases.find(a.id) for a in value.args if isinstance(a, Name) and self._memory(a)}
        return frozenset(found)

    def _memory(self, name: Name) -> bool:
        return is_memory(self.types.get(name.id))

    def forget(self, stmt: Stmt, waiting: Waiting) -> None:
        """Drop what a statement, with those inside it, invalidates."""
        if not waiting:
            return
        names: set[str] = set()
        classes: set[str] = set()
        for inner in walk((stmt,)):
            names.update(n for n in writes(inner) if self.sets[n] > 1)
            if isinstance(inner, Store):
                classes.add(self.aliases.find(inner.array))
            elif isinstance(inner, Push):
                classes.add(self.aliases.find(inner.stack))
            elif isinstance(inner, Call):
                arrays = (n for n in reads(inner) if is_memory(self.types.get(n)))
                classes.update(self.aliases.find(n) for n in arrays)
        if not names and not classes:
            return
        lost = [n for n, one in waiting.items() if one.reads & names or one.classes & classes]
        for name in lost:
            del waiting[name]

    # where it goes

    def rewrite(self, stmt: Stmt, waiting: Waiting) -> Any:
        """The statement with waiting values in its own expressions."""

        def put(expr: Expr, room: int = self.room) -> Any:
            return self.put(expr, waiting, [room - width(expr)])

        match stmt:
            case Assign(value=Name(id=name)):
                one = waiting.get(name)
                copied = self.take(name, waiting, [self.room])
                if one is None or copied is None:
                    return stmt
                # the line that computed the value, not the end of the branch or iteration that copies it
                return replace(stmt, value=copied, span=one.place.stmt.span)
            case Assign(target=target, value=value):
                new = put(value, self.room - len(target))
                return stmt if new is value else replace(stmt, value=new)
            case Store(index=index, value=value):
                return added(replace(stmt, index=tuple(put(i, 24) for i in index), value=put(value)))
            case If(test=test):
                return replace(stmt, test=put(test))
            case For(start=start, stop=stop, step=step):
                slots = None if stmt.slots is None else put(stmt.slots, 40)
                return replace(stmt, start=put(start, 40), stop=put(stop, 40), step=put(step, 40), slots=slots)
            case Push(value=value):
                return replace(stmt, value=put(value))
            case Raise(args=args) | Print(args=args) | Call(args=args):
                return replace(stmt, args=tuple(put(arg) for arg in args))
            case Return(values=values):
                return replace(stmt, values=tuple(put(value, 40) for value in values))
        return stmt

    def put(self, expr: Expr, waiting: Waiting, room: list[int]) -> Expr:
        """The expression with waiting values in it, as long as there is room on the line."""
        if isinstance(expr, Name):
            if self.keeps_name(expr.id):
                return expr
            taken = self.take(expr.id, waiting, room)
            return expr if taken is None else taken
        if isinstance(expr, Op):
            keep_first = expr.fn in ("load", "dim", "stride") or expr.fn in VIEWS
            args = list(expr.args)
            for place, arg in enumerate(args):
                if place == 0 and keep_first and isinstance(arg, Name):
                    continue
                args[place] = self.put(arg, waiting, room)
            new = with_args(expr, args)
            return new if self._unsigned(new) else signs(new)
        return expr

    def _unsigned(self, expr: Expr) -> bool:
        return bool(self.unsigned) and mentions(expr, self.unsigned)

    def take(self, name: str, waiting: Waiting, room: list[int]) -> Expr | None:
        """The waiting value of a name, if it fits."""
        one = waiting.get(name)
        if one is None or one.place.gone:
            return None
        needed = width(one.value) - len(name)
        if needed > room[0]:
            return None
        room[0] -= needed
        one.left -= 1
        if one.left == 0:
            one.place.gone = True
            del waiting[name]
        return one.value


def width(expr: Expr) -> int:
    """About how many characters an expression takes."""
    if isinstance(expr, Name):
        return len(expr.id)
    if isinstance(expr, Const):
        return len(repr(expr.value))
    own = len(expr.fn) if expr.fn[0].isalpha() and expr.fn not in ("load", "view", "neg", "dim") else 1
    return own + sum(width(arg) + 2 for arg in expr.args)


def added(stmt: Store) -> Store:
    """`a[i] = a[i] + x` as `a[i] += x`."""
    value: Expr = stmt.value
    if stmt.accumulate or not isinstance(value, Op) or value.fn not in ("+", "-") or len(value.args) != 2:
        return stmt
    first, second = value.args
    if first != Op("load", (Name(stmt.array), *stmt.index)):
        return stmt
    change = second if value.fn == "+" else signs(Op("neg", (second,)))
    # after nesting, places of atoms hold expressions
    return replace(stmt, value=change, accumulate=True)  # type: ignore[arg-type]


def signs(op: Op) -> Expr:
    """Minus signs where a person puts them: `a + -b` is `a - b`, `--a` is `a`, and `-a / b` has the sign in front."""
    match op:
        case Op(fn="+", args=(first, Op(fn="neg", args=(second,)))):
            return Op("-", (first, second))
        case Op(fn="+", args=(Op(fn="neg", args=(first,)), second)):
            return Op("-", (second, first))
        case Op(fn="-", args=(first, Op(fn="neg", args=(second,)))):
            return Op("+", (first, second))
        case Op(fn="*" | "/" as fn, args=(Op(fn="neg", args=(first,)), second)):
            return signs(Op("neg", (signs(Op(fn, (first, second))),)))
        case Op(fn="*" | "/" as fn, args=(first, Op(fn="neg", args=(second,)))):
            return signs(Op("neg", (signs(Op(fn, (first, second))),)))
        case Op(fn="neg", args=(Op(fn="neg", args=(value,)),)):
            return value
    return op


def _left(body: Block) -> set[str]:
    """The values that an iteration leaves for the next one, in vectors that are shifted, and between them a store.

    And what such a value is chosen from, and by: LLVM shifts no vector of what two ways lead to.
    """
    found: set[str] = set()
    made = {stmt.target: stmt.value for stmt in body if isinstance(stmt, Assign)}
    for name, value in shifted(body).items():
        begin, end = (max(k for k, stmt in enumerate(body) if one in writes(stmt)) for one in (value, name))
        if any(isinstance(stmt, Store) for stmt in body[begin:end]):
            found.add(value)
        wanted = [value]
        while wanted:
            chosen = made.get(wanted.pop())
            if isinstance(chosen, Op) and chosen.fn == "ifelse":
                parts = {one for one in names_in(chosen) if one in made} - found
                found |= parts
                wanted += parts
    return found
