"""Run the iterations before and after the one that a loop leaves out as loops of their own.

    for j in range(n):                        for j in range(min(i, n)):
        if j != i:                                s += a[i, j] * x[j]
            s += a[i, j] * x[j]       ->      for j in range(max(i + 1, 0), n):
                                                  s += a[i, j] * x[j]

Neither asks any more, so that both may run on vectors without masks, whose stores take many times as long on some
processors.  What stands beside the test is, for the iteration itself, a loop of at most one iteration in between.

For innermost loops that count up by one, and a name of a number that the loop leaves alone; where the iteration itself
has statements of its own, both ways have values, of which vectors choose.  The order of iterations stays.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import remark
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
    Stmt,
    map_blocks,
    walk,
    written_in,
)
from tapec.syntax.types import INT64


def split_index_sets(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops in parts; see the module."""
    worker = _Parts(function)
    body = worker.block(function.body)
    if body == function.body:
        return function
    parted = replace(function, body=body, types=worker.fresh.types)
    return drop_dead_code(number_values(parted, constants), constants)


class _Parts(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        found = self.test(stmt) if isinstance(stmt, For) else None
        if found is None:
            yield map_blocks(stmt, self.block)
            return
        assert isinstance(stmt, For)
        why = "iterations on either side need not ask whether they are"
        remark(stmt.span, "index_set_splitting", "the iteration that it leaves out is no part of it", why)
        yield from self.parts(stmt, *found)

    def test(self, loop: For) -> tuple[Assign, Name, int] | None:
        """What asks for one iteration, by a number and what is added to it."""
        if loop.step != Const(1) or loop.parallel or loop.slots is not None:
            return None
        inside = list(walk(loop.body))
        if len(inside) > costs.SPLIT_STATEMENTS or any(isinstance(stmt, For | Loop | Break) for stmt in inside):
            return None
        questions = [stmt for stmt in inside if isinstance(stmt, If)]
        own = {*written_in(loop.body), loop.var}
        for stmt in inside:
            match stmt:
                case Assign(target=target, value=Op(fn="==" | "!=" as fn, args=(one, other))):
                    asked = [question for question in questions if question.test == Name(target)]
                    if not asked or any(question.body if fn == "==" else question.orelse for question in asked):
                        continue
                    for number, place in ((one, other), (other, one)):
                        iteration = self.iteration(number, place, loop, own)
                        if iteration is not None:
                            return stmt, *iteration
        return None

    def iteration(self, number: Expr, place: Expr, loop: For, own: set[str]) -> tuple[Name, int] | None:
        """The iteration in which a place is a number that all iterations leave alone."""
        here = self.iterations.subscript(place)
        if here is None or here.base != loop.var or not isinstance(number, Name) or number.id in own:
            return None
        return (number, -here.offset) if self.iterations.types[number.id] == INT64 else None

    def parts(self, loop: For, test: Assign, number: Name, offset: int) -> Iterator[Stmt]:
        assert isinstance(test.value, Op)
        apart = test.value.fn == "!="
        out = number
        if offset:
            out = yield from self.number("+", (number, Const(offset)), loop)
        before = yield from self.number("min", (out, loop.stop), loop)
        begin = yield from self.number("max", (out, loop.start), loop)
        behind = yield from self.number("+", (before, Const(1)), loop)
        end = yield from self.number("min", (behind, loop.stop), loop)
        after = yield from self.number("max", (behind, loop.start), loop)
        yield replace(loop, stop=before, body=_known(loop.body, test, apart))
        yield replace(loop, start=begin, stop=end, body=_known(loop.body, test, not apart))
        yield replace(loop, start=after, body=_known(loop.body, test, apart))

    def number(self, fn: str, args: tuple[Expr, ...], loop: For) -> Generator[Stmt, None, Name]:
        """A name for an integer."""
        name = self.fresh("size", INT64)
        yield Assign(name, Op(fn, args), loop.span)
        return Name(name)


def _known(block: Block, test: Assign, answer: bool) -> Block:
    """The statements of an iteration of which it is known whether it is the one."""

    def statement(stmt: Stmt) -> Stmt:
        if stmt is test:
            return replace(test, value=Const(answer))
        return map_blocks(stmt, lambda inner: _known(inner, test, answer))

    return tuple(map(statement, block))
