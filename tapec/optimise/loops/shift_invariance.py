"""Shifts that cancel: a number on which, in the end, nothing depends is a constant for derivatives.

    top = x.max()                                   shift = stop_gradient(top)
    for i in range(n):                              for i in range(n):
        total += exp(x[i] - top)           ->           total += exp(x[i] - shift)
    return top + log(total)                         return shift + log(total)

A logarithm of a sum of exponentials is the same whatever is taken out of it, and so is a softmax; programs take out the
largest element, whose derivative then costs as much as the rest, and is a sum of roundings.

A value follows the number `s` in one of two ways: by `c`, if it changes by `c * ds` (as `x - s` does, with -1), or in
proportion, if it changes by `c * ds` times itself (as `exp(x - s)` does).  Exponentials and logarithms lead from one to
the other, sums and products add what operands follow by, branches and loops must agree.  `s` is a constant if all that
leaves the statements behind it follows by 0, and no operation is among them of which that is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from tapec.analyses.activity import differentiable_operands
from tapec.analyses.aliases import Aliases, is_memory
from tapec.analyses.facts import facts
from tapec.optimise.loops.shift_propagation import EXPONENTIALS, NOT_AT_ALL, ZERO, Depends, Shift, agreed, of_numbers
from tapec.optimise.name_origins import Fresh
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    Function,
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
from tapec.syntax.renaming import replaced
from tapec.syntax.types import Scalar


def cancel_shifts(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with shifts that cancel as constants; see the module."""
    worker = _Shifts(function)
    if not worker.differing:
        return function
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


class _Shifts:
    def __init__(self, function: Function) -> None:
        self.fresh = Fresh(function.types)
        known = facts(function)
        self.aliases, self.members = known.aliases, known.members
        self.written = _written(function.body) + Counter(function.params)
        self.read = _read(function.body)
        self.differing = self.in_differences(function.body)

    def in_differences(self, block: Block) -> set[str]:
        """The sides of differences of which exponentials are taken, perhaps after some arithmetic."""
        made: dict[str, list[Expr]] = {}
        for stmt in walk(block):
            match stmt:
                case Assign(target=name, value=value):
                    made.setdefault(name, []).append(value)
                case Store(array=array, value=value):
                    made.setdefault(self.aliases.find(array), []).append(value)
        found: set[str] = set()
        seen: set[str] = set()
        pending = [v.args[0] for values in made.values() for v in values if isinstance(v, Op) and v.fn in EXPONENTIALS]
        while pending:
            atom = pending.pop()
            if not isinstance(atom, Name) or atom.id in seen:
                continue
            seen.add(atom.id)
            for value in made.get(atom.id, ()):
                match value:
                    case Op(fn="-", args=args):
                        found.update(name for name in map(_name, args) if name is not None)
                        pending += args
                    case Op(fn="load", args=(Name(id=array), *_)):
                        pending.append(Name(self.aliases.find(array)))
                    case Op(fn="+" | "*" | "/" | "neg" | "cast.float64" | "cast.float32", args=args):
                        pending += args
                    case Name():
                        pending.append(value)
        return found

    def block(self, block: Block) -> Block:
        """A block in which shifts that cancel are constants."""
        out: list[Stmt] = []
        rest = block
        while rest:
            stmt, rest = rest[0], rest[1:]
            candidates = self.candidates(stmt, rest)
            out.append(map_blocks(stmt, self.block))
            for name in candidates:
                if not self.written_in(out, name) or not self.cancels(name, rest):
                    continue
                why = "what follows comes out the same whatever it is"
                remark(stmt.span, "shift_invariance", "its number counts as a constant", why)
                shift = self.fresh("shift", self.fresh.types[name])
                out.append(Assign(shift, Op("stop_gradient", (_value(stmt, name),)), stmt.span))
                rest = replaced(rest, {name: Name(shift)})
        return tuple(out)

    def candidates(self, stmt: Stmt, rest: Block) -> list[str]:
        """Numbers that a statement has set, other than constants, and that exponentials may shift by afterwards."""
        match stmt:
            case Assign(value=Op(fn="stop_gradient")):
                return []
        numbers = {name: None for one in walk((stmt,)) for name in writes(one) if name in self.differing}
        candidates = [name for name in numbers if self.is_number(name)]
        read = {name for one in walk(rest) for name in reads(one)} if candidates else set()
        return [name for name in candidates if name in read]

    def is_number(self, name: str) -> bool:
        type_ = self.fresh.types.get(name)
        return isinstance(type_, Scalar) and type_.is_float

    def written_in(self, before: list[Stmt], name: str) -> bool:
        """Whether the statements before are the only ones that set a number."""
        return _written(before)[name] == self.written[name]

    def cancels(self, name: str, rest: Block) -> bool:
        """Whether nothing that leaves `rest` depends on a number."""
        try:
            ways = _Ways(name, rest, self).ways
        except Depends:
            return False
        read = _read(rest)
        followers = {key for key, way in ways.items() if way.by} - {name}
        inside = {member for key in followers for member in self.members.get(key, {key})}
        return bool(inside) and all(read[member] == self.read[member] for member in inside)


def _value(stmt: Stmt, name: str) -> Atom:
    """The value of a number that a statement has set, without what only its derivative asks for."""
    match stmt:
        case Assign(target=target, value=Op(fn="known", args=(Name() | Const() as value, _))) if target == name:
            return value
    return Name(name)


class _Ways:
    """How the names that some statements set follow a number: `ways`; raises `Depends` where that is not known.

    Names of one memory have one way.  Only what is set in these statements alone may follow: what comes in from
    an earlier iteration of a loop around them follows another number of the name.
    """

    def __init__(self, name: str, block: Block, program: _Shifts) -> None:
        self.program = program
        self.types = program.fresh.types
        self.aliases: Aliases = program.aliases
        written = _written(block)
        self.own = {ident for ident, count in written.items() if count == program.written[ident]}
        self.ways: dict[str, Shift] = {name: Shift(Fraction(1))}
        self.changed = True
        self.complete = False
        while self.changed:
            self.changed = False
            for stmt in walk(block):
                self.statement(stmt)
        # what is still not known stays so
        self.complete = True
        for stmt in walk(block):
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(target=target, value=value):
                type_ = self.types.get(target)
                if is_memory(type_):
                    self.memory(target, value)
                elif isinstance(type_, Scalar) and type_.is_float:
                    self.join(target, self.value(value))
            case Store(array=array, value=value, accumulate=accumulate):
                self.join(array, self.stored(array, self.atom(value), accumulate))
            case Push() | Return() | Call():
                for ident in reads(stmt):
                    self.refuse(self.way(ident))
                for ident in writes(stmt):
                    self.join(ident, NOT_AT_ALL)

    def memory(self, target: str, value: Expr) -> None:
        """An array: a name of one, one of zeros or of what is not set yet, a copy, or a result."""
        match value:
            case Op(fn="empty"):
                return
            case Op(fn="zeros"):
                self.join(target, ZERO)
            case Op(fn="copy", args=(Name(id=source), *_)):
                self.join(target, self.way(source))
            case Op() if not any(self.key(n) == self.key(target) for n in differentiable_operands(value)):
                self.join(target, self.other(value))

    def stored(self, array: str, way: Shift | None, accumulate: bool) -> Shift | None:
        if not accumulate or way is None:
            return way
        held = self.way(array)
        if held is None or way.zero or (way == NOT_AT_ALL and not held.proportional and not held.zero):
            return held
        if way.by and not way.proportional:
            raise Depends
        return way

    def value(self, value: Expr) -> Shift | None:
        """How the value of an expression follows; None if that is not known yet."""
        if not isinstance(value, Op):
            return self.atom(value)
        match value:
            case Op(fn="stop_gradient"):
                return NOT_AT_ALL
            case Op(fn="known", args=(_, follower)):
                return self.atom(follower)
            case Op(fn="load", args=(Name(id=array), *_)):
                return self.way(array)
            case Op(fn="ifelse", args=(_, first, second)):
                return agreed(self.atom(first), self.atom(second))
        ways = [self.atom(arg) for arg in value.args]
        operands = list(differentiable_operands(value))
        if any(way is None for way, arg in zip(ways, value.args, strict=True) if _name(arg) in operands):
            return None
        known = [way or NOT_AT_ALL for way in ways]
        if all(way in (NOT_AT_ALL, ZERO) for way in known):
            return self.of_constants(value, known)
        made = of_numbers(value, known)
        return self.other(value) if made is None else made

    def of_constants(self, value: Op, ways: list[Shift]) -> Shift:
        """Zeros stay zeros in products, and in sums of zeros."""
        zeros = [way.zero for way in ways]
        if (value.fn == "*" and any(zeros)) or (value.fn in ("+", "-", "neg") and all(zeros)):
            return ZERO
        return NOT_AT_ALL

    def other(self, value: Op) -> Shift | None:
        """The result of an operation that the analysis does not follow."""
        ways = [self.way(ident) for ident in differentiable_operands(value)]
        if any(way is None for way in ways):
            return None
        for way in ways:
            self.refuse(way)
        return NOT_AT_ALL

    def refuse(self, way: Shift | None) -> None:
        if way is not None and way.by:
            raise Depends

    def atom(self, atom: Expr) -> Shift | None:
        if isinstance(atom, Name):
            return self.way(atom.id)
        return ZERO if isinstance(atom, Const) and atom == Const(0.0) else NOT_AT_ALL

    def key(self, ident: str) -> str:
        return self.aliases.find(ident) if is_memory(self.types.get(ident)) else ident

    def way(self, ident: str) -> Shift | None:
        """How a name follows; of names that others set, too, and of integers: not at all."""
        type_ = self.types.get(ident)
        if isinstance(type_, Scalar) and not type_.is_float:
            return NOT_AT_ALL
        key = self.key(ident)
        found = self.ways.get(key, None if self.is_own(key) else NOT_AT_ALL)
        if found is None and self.complete:
            raise Depends
        return found

    def is_own(self, key: str) -> bool:
        return self.program.members.get(key, {key}) <= self.own

    def join(self, target: str, way: Shift | None) -> None:
        if way is None:
            return
        key = self.key(target)
        if not self.is_own(key):
            self.refuse(way)
            return
        old = self.ways.get(key)
        new = agreed(old, way)
        if new != old and new is not None:
            self.ways[key] = new
            self.changed = True


def _name(atom: Expr) -> str | None:
    return atom.id if isinstance(atom, Name) else None


def _written(block: Iterable[Stmt]) -> Counter[str]:
    """How many statements set each name."""
    return Counter(name for stmt in walk(block) for name in writes(stmt))


def _read(block: Iterable[Stmt]) -> Counter[str]:
    """How often each name is read."""
    return Counter(name for stmt in walk(block) for name in reads(stmt))
