"""Give a first value to names that are copied or returned where they may be unset.

Where only one of two ways sets a name, nothing reads it on the other; but a copy made where ways
meet does, and so does returning it as a residual, and plain Python refuses that.

    if c:                    y = 0.0
        y = f(x)             if c:
    z = y             ->         y = f(x)
    if c:                    z = y
        use(z)               if c:
                                 use(z)
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.liveness import NameSets
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Raise,
    Return,
    Stmt,
    writes,
    zero_of,
)
from tapec.syntax.types import Array, Scalar, Stack, Text, Tuples, Type

# a mask of names
Known = int | None


def initialise_unset(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with first values where copies need them; see the module."""
    worker = Initialised()
    worker.block(function.body, worker.names.mask((*function.params, *constants)))
    first = tuple(Assign(name, blank(function.types[name])) for name in worker.unset)
    return replace(function, body=(*first, *function.body))


class Initialised:
    """Walks all ways; `None` stands for the names that are set where nothing arrives."""

    def __init__(self) -> None:
        self.names = NameSets()
        self.unset: dict[str, None] = {}
        self.exits: list[Known] = []

    def block(self, block: Block, known: Known) -> Known:
        for stmt in block:
            known = self.statement(stmt, known)
        return known

    def statement(self, stmt: Stmt, known: Known) -> Known:
        if known is None:
            return None
        match stmt:
            case Assign(target=target, value=Name(id=source)):
                if not known & self.names.bit(source):
                    self.unset[source] = None
                return known | self.names.bit(target)
            case Return(values=values):
                for value in values:
                    if isinstance(value, Name) and not known & self.names.bit(value.id):
                        self.unset[value.id] = None
            case If(body=body, orelse=orelse):
                return _meet(self.block(body, known), self.block(orelse, known))
            case For(var=var, body=body):
                self.exits.append(known)
                self.block(body, known | self.names.bit(var))
                return self.exits.pop()
            case Loop(body=body):
                self.exits.append(None)
                self.block(body, known)
                return self.exits.pop()
            case Break():
                self.exits[-1] = _meet(self.exits[-1], known)
                return None
            case Raise():
                return None
        return known | self.names.mask(writes(stmt))


def _meet(one: Known, other: Known) -> Known:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def blank(type_: Type) -> Expr:
    """A value of a type, for a name that nothing reads before it is set."""
    match type_:
        case Scalar():
            return zero_of(type_)
        case Text():
            return Const("")
        case Stack(element=Scalar(dtype=dtype)):
            return Op("stack", (Const(dtype),))
        case Stack(element=Array(dtype=dtype, ndim=ndim, layout=layout)):
            return Op("stack", (Const(dtype), Const(ndim), Const(layout)))
        case Tuples(dtypes=dtypes):
            return Op("tuples", tuple(map(Const, dtypes)))
        case Array(dtype=dtype, ndim=ndim, layout=layout):
            empty = Op("empty", (Const(dtype), *(Const(0),) * ndim))
            if layout == "A" and ndim:
                nothing = Const(None)
                return Op("view", (empty, *(Op("slice", (nothing, nothing, Const(2))),) * ndim))
            return Op("transpose", (empty,)) if layout == "F" and ndim > 1 else empty
    raise AssertionError(type_)
