"""Give the first and the last iterations of a loop around a ring loops of their own.

    for i in range(n):                                for i in range(0, min(1, n)): ...
        y[i] = u[(i + 1) % n] - u[i - 1]      ->      for i in range(1, n - 1):
                                                          y[i] = u[i + 1] - u[i - 1]
                                                      for i in range(max(n - 1, min(1, n)), n): ...

Between the edges no subscript counts from the end, and no remainder takes anything off: subscripts are the variable and
a number, which passes and LLVM understand.  Tests of being at an edge (`i == 0`, `i < n - 1`) have one answer there.

For innermost loops that count up by one from a number.  At either edge there may be two iterations: those in which a
subscript may be negative, and those in which a remainder takes something off, where what is divided and the divisor are
the variable and the loop's bound, plus numbers.  In all other iterations the divisor is larger than something that is
not negative: a check that it is not 0 falls away.

Expects one name per value, as `number_values` leaves it; afterwards a name may have several values.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
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
)
from tapec.syntax.types import INT64

# what comparisons are of a number that is smaller than another one, and of one that is larger
_SMALLER = {"<": True, "<=": True, "!=": True, "==": False, ">": False, ">=": False}
_LARGER = {"<": False, "<=": False, "!=": True, "==": False, ">": True, ">=": True}


def peel_loops(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops in three parts; see the module."""
    return _Edges(function).rewritten()


@dataclass(frozen=True)
class _Plan:
    """How many iterations the edges are, and what is known between them: values, and divisors that are not 0."""

    first: int
    last: int
    known: dict[str, Expr]
    divisors: frozenset[Expr]


class _Edges(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        plan = self.plan(stmt) if isinstance(stmt, For) else None
        if plan is None:
            yield map_blocks(stmt, self.block)
            return
        assert isinstance(stmt, For)
        yield from self.parts(stmt, plan)

    def plan(self, loop: For) -> _Plan | None:
        """Where the edges of a loop are; None if it has none, or if they are not known."""
        start = loop.start.value if isinstance(loop.start, Const) else None
        if not isinstance(start, int) or start < 0 or loop.step != Const(1) or loop.parallel or loop.slots is not None:
            return None
        inner = list(walk(loop.body))
        if len(inner) > costs.PEELED_STATEMENTS or any(isinstance(stmt, For | Loop | Break) for stmt in inner):
            return None
        first = [-start - offset for offset in self.offsets(loop)]
        last: list[int] = []
        known: dict[str, Expr] = {}
        divisors: set[Expr] = set()
        for stmt in inner:
            match stmt:
                case Assign(target=target, value=Op(fn="%", args=(Name() as number, divisor))):
                    whole = self.iterations.types[target] == INT64 and self.iterations.fixed(Name(target))
                    edges = self.around(loop, number, divisor) if whole else None
                    if edges is not None:
                        first.append(edges[0] - start)
                        last.append(edges[1])
                        known[target] = number
                        divisors.add(divisor)
                case Assign(target=target, value=Op(fn=fn, args=(number, bound))) if (
                    fn in _LARGER and self.iterations.fixed(Name(target))
                ):
                    begun, ended = self.compared(loop, number, bound, fn)
                    if begun is not None and begun - start <= costs.PEELED_ITERATIONS:
                        first.append(begun - start)
                        known[target] = Const(_LARGER[fn])
                    elif ended is not None and ended <= costs.PEELED_ITERATIONS:
                        last.append(ended)
                        known[target] = Const(_SMALLER[fn])
        plan = _Plan(max([0, *first]), max([0, *last]), known, frozenset(divisors))
        small = plan.first <= costs.PEELED_ITERATIONS and plan.last <= costs.PEELED_ITERATIONS
        return plan if small and (plan.first or plan.last) else None

    def compared(self, loop: For, number: Expr, bound: Expr, fn: str) -> tuple[int | None, int | None]:
        """From where on a variable is larger than a number, or how many iterations before the end it is not smaller."""
        place, other = (self.iterations.subscript(one) for one in (number, bound))
        behind = self.iterations.subscript(loop.stop)
        if place is None or other is None or behind is None or place.base != loop.var:
            return None, None
        limit = other.offset - place.offset
        if other.base is None:
            return limit + (fn in ("==", "!=", "<=", ">")), None
        standing = other.base == behind.base and self.iterations.fixed(Name(other.base))
        return None, behind.offset - limit - (fn in ("<=", ">")) if standing else None

    def offsets(self, loop: For) -> Iterator[int]:
        """What the subscripts are that are the variable and a number: the number."""
        for access in self.iterations.accesses(loop.body):
            for sub in access.index or ():
                place = self.iterations.subscript(sub)
                if place is not None and place.base == loop.var:
                    yield place.offset

    def around(self, loop: For, number: Name, divisor: Expr) -> tuple[int, int] | None:
        """Where a loop is within a ring: from which iteration on, and until how many iterations before the end."""
        place, behind = self.iterations.subscript(number), self.iterations.subscript(loop.stop)
        size = self.iterations.subscript(divisor)
        if place is None or place.base != loop.var or behind is None or size is None or behind.base != size.base:
            return None
        if not (
            isinstance(divisor, Name | Const) and self.iterations.fixed(divisor) and self.iterations.fixed(loop.stop)
        ):
            return None
        return -place.offset, behind.offset + place.offset - size.offset

    def parts(self, loop: For, plan: _Plan) -> Iterator[Stmt]:
        """The edges, and the loop between them."""
        why = "iterations between the edges go round no ring"
        remark(loop.span, "loop_peeling", "its first and last iterations are loops of their own", why)
        assert isinstance(loop.start, Const) and isinstance(loop.start.value, int)
        first = Const(loop.start.value + plan.first)
        begun: Atom = first
        if plan.first:
            begun = yield from self.number(Op("min", (first, loop.stop)), loop)
            yield replace(loop, stop=begun)
        last: Atom = loop.stop
        if plan.last:
            last = yield from self.number(Op("-", (loop.stop, Const(plan.last))), loop)
        yield replace(loop, start=first, stop=last, body=self.within(loop.body, plan))
        if plan.last:
            ended = yield from self.number(Op("max", (last, begun)), loop)
            yield replace(loop, start=ended)

    def number(self, value: Expr, loop: For) -> Generator[Stmt, None, Name]:
        """A name for an integer."""
        name = self.fresh("size", INT64)
        yield Assign(name, value, loop.span)
        return Name(name)

    def within(self, block: Block, plan: _Plan) -> Block:
        """An iteration between the edges."""

        def statement(stmt: Stmt) -> Stmt:
            match stmt:
                case Assign(target=target) if target in plan.known:
                    return replace(stmt, value=plan.known[target])
                case Assign(value=value) if self.is_no_divisor(value, plan):
                    return replace(stmt, value=Const(False))
                case If(test=test) if self.is_no_divisor(self.iterations.definition(test), plan):
                    stmt = replace(stmt, test=Const(False))
            return map_blocks(stmt, lambda inner: self.within(inner, plan))

        return tuple(map(statement, block))

    def is_no_divisor(self, value: Expr | None, plan: _Plan) -> bool:
        """Whether a test asks if one of the divisors is 0."""
        match value:
            case Op(fn="==", args=(number, Const(value=0))):
                return number in plan.divisors
        return False
