"""Factors of a product that compute the same, statement by statement: one of them is enough.

    norm(x) * norm(x)          the square of one number, of which `optimise/contractions/squared_norms.py` knows more

The statements of both are compared but for the names that they set; those of the second factor that nobody reads then
are dropped as dead code.  A factor that changes memory of others, draws a random number or calls is another one each
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gast

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Sym, Value
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    changed,
    walk,
    written_in,
)

_CHANGING = ("np.random", "tapec_runtime.", "print", "pop")


@dataclass(frozen=True)
class Factor:
    """A factor's value, and the statements that compute it: a part of a block."""

    value: Value
    block: list[Any]
    start: int
    stop: int

    def written(self) -> Block:
        return freeze(self.block[self.start : self.stop])


def is_product(node: Any) -> bool:
    """Whether a node is a product, a quotient or an opposite."""
    binary = isinstance(node, gast.BinOp) and isinstance(node.op, gast.Mult | gast.Div)
    return binary or (isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.USub))


def factor(ev: Evaluator, node: Any) -> Value:
    """The value of a factor of a product; where it calls, what it takes is kept for the factors that follow."""
    if is_product(node) or not any(isinstance(inner, gast.Call) for inner in gast.walk(node)):
        return ev.expr(node)
    block, start = ev.block, len(ev.block)
    value = ev.expr(node)
    ev.factors[node] = Factor(value, block, start, len(block))
    return value


def known_factor(ev: Evaluator, node: gast.BinOp, value: Value) -> Value:
    """The last factor of a product, or an earlier one that has computed the same."""
    last = ev.factors.pop(node.right, None) if isinstance(node.op, gast.Mult) else None
    if last is None or not isinstance(value, Sym) or not isinstance(value.atom, Name) or last.block is not ev.block:
        return value
    text = gast.dump(node.right)
    for other in _before(node):
        earlier = ev.factors.get(other)
        if earlier is None or not isinstance(earlier.value, Sym) or earlier.block is not ev.block:
            continue
        if gast.dump(other) == text and _is_same(ev, earlier, last):
            return earlier.value
    ev.factors[node.right] = last
    return value


def _before(node: gast.BinOp) -> Iterator[Any]:
    """The factors of a product but for the last one."""
    left = node.left
    while is_product(left):
        if isinstance(left, gast.UnaryOp):
            left = left.operand
            continue
        if isinstance(left.op, gast.Mult):
            yield left.right
        left = left.left
    yield left


def _is_same(ev: Evaluator, first: Factor, second: Factor) -> bool:
    """Whether two factors give one value, since their statements do the same."""
    one, other = first.written(), second.written()
    between = freeze(first.block[first.stop : second.start])
    made = _made(between)
    if any(array not in made for stmt in walk(between) for array in changed(stmt)):
        return False
    comparison = _Comparison(ev, one, (*between, *other))
    assert isinstance(first.value, Sym) and isinstance(second.value, Sym)
    return comparison.blocks(one, other) and comparison.reads(first.value.atom, second.value.atom)


class _Comparison:
    """Two blocks side by side; the rest is what is there after the first one.

    names   those that the first one has set so far, and what they are called in the second one
    """

    def __init__(self, ev: Evaluator, first: Block, rest: Block) -> None:
        self.ev = ev
        # extents that the first one asks for are known to both
        extents = {stmt.target for stmt in first if isinstance(stmt, Assign) and _is_extent(stmt)}
        self.own, self.others = written_in(first) - extents, written_in(rest)
        self.names: dict[str, str] = {}
        self.made = _made(first)

    def blocks(self, first: Block, second: Block) -> bool:
        first, second = (tuple(stmt for stmt in block if not _is_extent(stmt)) for block in (first, second))
        return len(first) == len(second) and all(map(self.statements, first, second))

    def statements(self, first: Stmt, second: Stmt) -> bool:
        match first, second:
            case Assign(), Assign():
                return self.reads(first.value, second.value) and self.sets(first.target, second.target)
            case Store(), Store():
                parts = zip((*first.index, first.value), (*second.index, second.value), strict=True)
                same = first.accumulate == second.accumulate and len(first.index) == len(second.index)
                # memory that the factor itself has made
                own = first.array in self.made and self.names.get(first.array) == second.array
                return same and own and all(self.reads(*part) for part in parts)
            case If(), If():
                sides = self.blocks(first.body, second.body) and self.blocks(first.orelse, second.orelse)
                return self.reads(first.test, second.test) and sides
            case For(), For():
                bounds = ((first.start, second.start), (first.stop, second.stop), (first.step, second.step))
                if first.slots is not None or second.slots is not None or not all(self.reads(*one) for one in bounds):
                    return False
                return self.sets(first.var, second.var) and self.blocks(first.body, second.body)
            case Loop(), Loop():
                return self.blocks(first.body, second.body)
            case Break(), Break():
                return True
            case Raise(), Raise():
                named = (first.exception, first.cls) == (second.exception, second.cls)
                return named and len(first.args) == len(second.args) and all(map(self.reads, first.args, second.args))
        return False

    def sets(self, first: str, second: str) -> bool:
        if self.ev.types.get(first) != self.ev.types.get(second) or self.names.get(first, second) != second:
            return False
        self.names[first] = second
        return True

    def reads(self, first: Expr | None, second: Expr | None) -> bool:
        match first, second:
            case Name(id=one), Name(id=other):
                if one in self.own:
                    return self.names.get(one) == other
                return one == other and other not in self.others
            case Const(), Const():
                return first == second and type(first.value) is type(second.value)
            case Op(fn=fn, args=args), Op(args=others):
                alike = fn == second.fn and len(args) == len(others) and not fn.startswith(_CHANGING)
                return alike and all(map(self.reads, args, others))
        return False


def _is_extent(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "dim"


def _made(block: Block) -> set[str]:
    """The arrays that a block makes."""
    return {
        stmt.target
        for stmt in walk(block)
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("empty", "zeros")
    }
