"""Subscripts without a sign where LLVM would look for one in every iteration.

    for j in range(k + 1, n):               for j in range(k + 1, n):
        x[j] -= y[j] * z          ->            x[np.uint64(j)] -= y[np.uint64(j)] * z

A subscript of -1 is the last element, which Numba asks each time, unless LLVM proves that the answer is no.  It does so
for loops that begin with zero or one, and for few others: not for those that begin with two, nor for `k + 1` where `k`
counts down, be it as a bound or as a subscript.  Elements that may be anywhere are gathered, or the loop does not run
on vectors at all.

Needs a proof that the subscript is not negative.  Done in innermost loops, of elements along rows: others are gathered
anyway.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import UINT64


def use_unsigned_subscripts(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such subscripts; see the module."""
    return _Signs(function).rewritten(None)


class _Signs(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt, loop: For | None) -> list[Stmt]:
        match stmt:
            case Assign(value=Op(fn="load", args=(array, *outer, last))) if self.asked(last, loop, stmt):
                cast = self.cast(last, stmt)
                return [cast, replace(stmt, value=Op("load", (array, *outer, Name(cast.target))))]
            case Store(index=(*outer, last)) if self.asked(last, loop, stmt):
                cast = self.cast(last, stmt)
                return [cast, replace(stmt, index=(*outer, Name(cast.target)))]
            case For(step=Const(value=1 | -1)) if not any(isinstance(s, For | Loop) for s in walk(stmt.body)):
                return [map_blocks(stmt, lambda block: self.block(block, stmt))]
        return [map_blocks(stmt, lambda block: self.block(block, loop))]

    def cast(self, sub: Expr, stmt: Stmt) -> Assign:
        assert isinstance(sub, Name)
        remark(stmt.span, "unsigned_subscripts", "a subscript is not asked for its sign", "it is never negative")
        return Assign(self.fresh("size", UINT64), Op("cast.uint64", (sub,)), stmt.span)

    def asked(self, sub: Expr, loop: For | None, stmt: Stmt) -> bool:
        """Whether a subscript counts with a loop and is not negative, which LLVM does not see."""
        if loop is None or not isinstance(sub, Name) or not counts(sub, loop, self.iterations):
            return False
        return not self.plain(sub) and self.iterations.never_negative(sub, stmt)

    def plain(self, sub: Name) -> bool:
        """Whether a subscript is known to LLVM not to be negative.

        That is so where its loop begins with zero or one, and for the variable itself where it ends with a number.
        """
        affine = self.iterations.subscript(sub)
        loop = None if affine is None or affine.base is None else self.iterations.dependence.loops.get(affine.base)
        if loop is None:
            return False
        if loop.step == Const(-1):
            return isinstance(loop.stop, Const) and affine == Affine(loop.var, 0)
        return loop.start in (Const(0), Const(1))


def counts(sub: Expr, loop: For, iterations: Iterations) -> bool:
    """Whether a subscript is a loop's variable, or that and what stays the same in the loop."""
    if sub == Name(loop.var):
        return True
    made = iterations.definition(sub) if isinstance(sub, Name) else None
    if not isinstance(made, Op) or made.fn not in ("+", "-") or len(made.args) != 2:
        return False
    first, second = made.args
    if counts(first, loop, iterations) and stays(second, loop, iterations):
        return True
    return made.fn == "+" and stays(first, loop, iterations) and counts(second, loop, iterations)


def stays(number: Expr, loop: For, iterations: Iterations) -> bool:
    """Whether an integer is the same in all iterations of a loop."""
    if not isinstance(number, Name):
        return isinstance(number, Const)
    if number.id == loop.var:
        return False
    if not any(number.id in writes(inner) for inner in walk(loop.body)):
        return True
    made = iterations.definition(number)
    return (
        isinstance(made, Op) and made.fn in ("+", "-", "*") and all(stays(arg, loop, iterations) for arg in made.args)
    )
