"""How far a loop's variable counts, in names that are set before the loops around it."""

from __future__ import annotations

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.syntax.core import Const, Expr, For, Loop, Name, Op


def extent_of(iterations: Iterations, loop: For, outermost: For | Loop) -> Expr | None:
    """More than the largest value of a loop's variable, in names that are set before `outermost`."""
    (around,) = iterations.scopes.body[outermost.key]
    largest = iterations.dependence.bound(loop.var, low=False)
    while largest is not None and largest.base is not None:
        scope = iterations.scopes.scope_of.get(largest.base)
        if scope is None or not scope.inside(around):
            break
        outer = iterations.dependence.bound(largest.base, low=False)
        largest = None if outer is None else Affine(outer.base, outer.offset + largest.offset)
    if largest is None:
        return None
    if largest.base is None:
        return Const(largest.offset + 1)
    if largest.offset == -1:
        return Name(largest.base)
    sign, step = ("+", largest.offset + 1) if largest.offset > -1 else ("-", -largest.offset - 1)
    return Op(sign, (Name(largest.base), Const(step)))
