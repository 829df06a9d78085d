"""Raise where the first value that is not finite appears: `debug="nan"`.

    t = np.log(x)               t = np.log(x)
                        ->      if not np.isfinite(t):
                                    raise tapec_runtime.NonFiniteValue(t, "`np.log(x)`", ..., "x", x)

A value that is nan, or that is infinite where all operands are finite, is born where it is computed.  One that is
loaded as nan arrives there, from an argument for instance.  Values that are only chosen from, by `x if c else z`, may
be anything: the choice is tested.  So an adjoint of zero beside an infinite partial derivative raises nothing.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tapec.errors import Span
from tapec.optimise.name_origins import is_adjoint
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    Function,
    If,
    Name,
    Note,
    Op,
    Raise,
    Stmt,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, Scalar, Type
from tapec.transforms.emitter import Emitter

ERROR = "tapec_runtime.NonFiniteValue"
REVERSE = "reverse sweep"


def add_non_finite_tests(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such tests; see the module."""
    types = dict(function.types)
    chosen = _chosen_from(function)
    made = {s.target: s.value for s in walk(function.body) if isinstance(s, Assign) and s.target in chosen}
    swept = any(isinstance(stmt, Note) and stmt.text == REVERSE for stmt in function.body)
    worker = _Tests(Emitter(types, set(types)), made, "in the forward sweep" if swept else "")
    return replace(function, body=worker.block(function.body), types=types)


def _chosen_from(function: Function) -> frozenset[str]:
    """The names whose values reach the rest of the program by a choice alone."""
    readers: dict[str, list[Stmt]] = {}
    defs: dict[str, int] = {}
    for stmt in walk(function.body):
        for name in writes(stmt):
            defs[name] = defs.get(name, 0) + 1
        for name in reads(stmt):
            readers.setdefault(name, []).append(stmt)
    found: set[str] = set()

    def is_chosen_from(name: str) -> bool:
        if defs.get(name) != 1 or name in function.params or not readers.get(name):
            return False
        return all(_chooses(stmt, name) or _target(stmt) in found for stmt in readers[name])

    before = -1
    while len(found) != before:
        before = len(found)
        found.update(name for name in defs if name not in found and is_chosen_from(name))
    return frozenset(found)


def _chooses(stmt: Stmt, name: str) -> bool:
    match stmt:
        case Assign(value=Op(fn="ifelse", args=(test, *sides))):
            return Name(name) in sides and test != Name(name)
    return False


def _target(stmt: Stmt) -> str | None:
    """The number that a statement computes from others."""
    match stmt:
        case Assign(target=target, value=Op(fn=fn)) if fn not in ("load", "pop"):
            return target
    return None


class _Tests:
    """Writes the tests.

    untested  what computes the names that are only chosen from
    sweep     the one that statements are in; nothing in a program without sweeps of its own
    """

    def __init__(self, emitter: Emitter, untested: dict[str, Expr], sweep: str) -> None:
        self.emitter, self.untested, self.sweep = emitter, untested, sweep

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Note) and stmt.text == REVERSE:
                self.sweep = "in the reverse sweep"
            out.append(map_blocks(stmt, self.block))
            match stmt:
                case Assign(target=target, value=Op() as value, span=Span() as span) if self.is_tested(target):
                    out += self.tests(target, value, span)
        return tuple(out)

    def is_tested(self, target: str) -> bool:
        type_: Type = self.emitter.types[target]
        return isinstance(type_, Scalar) and type_.is_float and target not in self.untested

    def tests(self, target: str, value: Op, span: Span) -> list[Stmt]:
        out = self.emitter.child()
        out.span = span
        is_nan = out.let("t", Op("np.isnan", (Name(target),)), BOOL)
        test: Atom = is_nan
        # a statement such as `s = s + x` has changed its operand
        operands = [arg for arg in dict.fromkeys(self.numbers(value)) if arg != Name(target)]
        overwrites = Name(target) in value.args
        if value.fn != "load" and not overwrites:
            parts: list[Expr] = [Op("np.isinf", (Name(target),))]
            tested = (arg for arg in operands if self.is_float(arg) and arg.id not in self.untested)
            parts += [Op("np.isfinite", (arg,)) for arg in tested]
            born = functools.reduce(lambda one, two: out.atom(Op("and", (one, two))), map(out.atom, parts))
            test = out.atom(Op("or", (is_nan, born)))
        side = next((arg.id for arg in operands if value.fn == "ifelse" and arg.id in self.untested), None)
        if side is not None and isinstance(chosen := self.untested[side], Op):
            # what was computed before it was chosen
            value, operands = chosen, self.numbers(chosen)
        shown = [part for arg in operands for part in (Const(arg.id), arg)]
        where = "in the reverse sweep" if is_adjoint(target) else self.sweep
        how = "is read from" if value.fn == "load" else "comes out of"
        texts = (_shown(value), how, where, f"{span.file}:{span.line}", span.text.strip())
        out.add(If(test, (Raise(ERROR, (Name(target), *map(Const, texts), *shown), span),), (), span))
        return list(out.out)

    def numbers(self, value: Op) -> list[Name]:
        """The operands of an operation that are numbers, or the subscripts of a load."""
        found = [arg for arg in value.args if isinstance(arg, Name)]
        return [arg for arg in found if isinstance(self.emitter.types[arg.id], Scalar)]

    def is_float(self, arg: Name) -> bool:
        type_ = self.emitter.types[arg.id]
        return isinstance(type_, Scalar) and type_.is_float


def _shown(value: Op) -> str:
    """An operation as Python writes it."""
    args = [str(arg.value if isinstance(arg, Const) else arg.id) for arg in value.args if isinstance(arg, Const | Name)]
    if value.fn == "load":
        return f"{args[0]}[{', '.join(args[1:])}]"
    if value.fn == "ifelse" and len(args) == 3:
        return f"{args[1]} if {args[0]} else {args[2]}"
    if not value.fn[0].isalpha() and len(args) == 2:
        return f"{args[0]} {value.fn} {args[1]}"
    return f"{value.fn}({', '.join(args)})"
