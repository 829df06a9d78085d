"""Branches of which a sparsity pattern has what both ways give.

    if v[i] > 0.0:                       t_set = tapec_runtime.set_at(u_set, i - 1)
        t = u[i - 1]                     t_set_1 = tapec_runtime.set_at(u_set, i)
    else:                       ->       t_set_2 = tapec_runtime.union(sets, t_set, t_set_1)
        t = u[i]

Which way a run goes then makes no difference for the pattern.  That can be done for branches of numbers and elements
alone, whose subscripts follow from integers that are known before them; an element that the way not taken asks for may
be out of range, and adds nothing then.  Such branches are marked by a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tapec.rules import rule_for
from tapec.rules.library import PRIMITIVES
from tapec.syntax.core import (
    Assign,
    Block,
    Expr,
    Function,
    If,
    Note,
    Op,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Scalar

MARK = "the pattern has what both ways give"
# operations on subscripts that have a result for all integers
_INDEXING = frozenset({"+", "-", "*", "//", "%", "neg", "dim", "min", "max", "cast.int64"})


def is_joined(stmt: Stmt) -> bool:
    """Whether this is a branch that is marked."""
    return isinstance(stmt, If) and stmt.body[:1] == (Note(MARK),)


def marked(block: Block, keys: set[int]) -> Block:
    """The block with marks on the branches that have these keys, and on those inside them."""

    def mark(stmt: Stmt, inside: bool) -> Stmt:
        joined = isinstance(stmt, If) and (inside or stmt.key in keys)
        found = map_blocks(stmt, lambda inner: tuple(mark(one, joined) for one in inner))
        if joined:
            assert isinstance(found, If)
            return If(found.test, (Note(MARK), *found.body), found.orelse, found.span)
        return found

    return tuple(mark(stmt, False) for stmt in block)


def unmarked(block: Block) -> Block:
    """The block without such marks."""
    return tuple(map_blocks(stmt, unmarked) for stmt in block if stmt != Note(MARK))


def outside(stmt: If) -> set[str]:
    """The names that the statements inside a branch read, and do not set."""
    inside = list(walk((*stmt.body, *stmt.orelse)))
    return {name for one in inside for name in reads(one)} - {name for one in inside for name in writes(one)}


class Branches:
    """Which branches of a function a pattern can have both ways of."""

    def __init__(self, function: Function) -> None:
        self.types = function.types
        stmts = list(walk(function.body))
        self.written = Counter(name for stmt in stmts for name in writes(stmt))
        self.read = Counter(name for stmt in stmts for name in reads(stmt))

    def fits(self, stmt: If) -> bool:
        """Whether both ways of a branch are of numbers and elements alone."""
        inside = list(walk((*stmt.body, *stmt.orelse)))
        if not all(map(self._is_plain, inside)):
            return False
        read = Counter(name for one in inside for name in reads(one))
        for name, count in Counter(name for one in inside for name in writes(one)).items():
            local = self.written[name] == count and self.read[name] == read[name]
            if self.types[name].is_float:
                # set on each way, or of no interest elsewhere
                if not local and name not in _always((stmt,)):
                    return False
            elif not local or count > 1:
                return False
        return True

    def _is_plain(self, stmt: Stmt) -> bool:
        match stmt:
            case If():
                return True
            case Store(array=array):
                return self.types[array].is_float
            case Assign(target=target, value=value) if isinstance(self.types[target], Scalar):
                if self.types[target].is_float:
                    return self._is_elementwise(value)
                is_bool = self.types[target] == Scalar("bool")
                return is_bool or (isinstance(value, Op) and value.fn in _INDEXING and self._is_of_integers(value))
        return False

    def _is_elementwise(self, value: Expr) -> bool:
        if not isinstance(value, Op):
            return True
        if value.fn == "load":
            return True
        return value.fn not in PRIMITIVES and rule_for(value.fn) is not None

    def _is_of_integers(self, value: Op) -> bool:
        """Whether an operation has integers for operands, or asks for an extent."""
        kinds = [self.types[name] for name in names_in(value)]
        return value.fn == "dim" or all(isinstance(kind, Scalar) and not kind.is_float for kind in kinds)


def _always(block: Iterable[Stmt]) -> set[str]:
    """The names that are set on every way through a block."""
    found: set[str] = set()
    for stmt in block:
        if isinstance(stmt, If):
            found |= _always(stmt.body) & _always(stmt.orelse)
        else:
            found.update(writes(stmt))
    return found
