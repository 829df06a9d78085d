"""Lower a function once more, for arguments of which no operand in a loop has to be broadcast.

Arrays that a loop sets anew (`u = u + du * laplacian(u) - u * v * v`) have the extents of an expression, and where
operands may have to be broadcast, nobody knows which before the loop has run.  For the usual case the function is
lowered with extents of parameters taken to be equal, or sums of others, wherever operands are compared; what has to be
equal is asked once, at the start (`optimise.extents.unstretched`).  Gates of a network that are slices of one matrix
(`h @ w[:, :n]`, `w[:, n : 2 * n]`, `w[:, 2 * n :]`) take it to have `3 * n` columns, or, where `n` is
`w.shape[1] // 3`, a number of columns without a rest.
"""

from __future__ import annotations

import types
from typing import Any

from tapec.frontend.evaluator.evaluator import Prepare
from tapec.frontend.evaluator.symbolic_extents import AssumedExtents
from tapec.frontend.lower import Lowered, lower
from tapec.syntax.core import Const, Expr, Function, Name, Op, walk
from tapec.syntax.linear import Sum

# machine code for another version is worth its time up to this many statements
_LARGEST = 600
# what is taken to be equal in one attempt can bring arrays together that another one compares
_ATTEMPTS = 6


def lowered_without_broadcasting(
    function: types.FunctionType, arguments: tuple[Any, ...], prepare: Prepare | None, general: Lowered
) -> tuple[Function, tuple[tuple[Expr, Expr], ...]] | None:
    """The function for such arguments, and which extents are equal then; None if `general` says all there is to say."""
    unclear = general.may_broadcast or general.extents_may_change
    if not unclear or general.callees or sum(1 for _ in walk(general.function.body)) > _LARGEST:
        return None
    assumed = AssumedExtents()
    for _ in range(_ATTEMPTS):
        assumed.settled = assumed.certain = True
        made = lower(function, arguments, prepare=prepare, assumed=assumed)
        if assumed.settled:
            break
    same = made.result == general.result and made.function.params == general.function.params
    constants = list(made.constants) == list(general.constants)
    better = not made.may_broadcast and (general.may_broadcast or not made.extents_may_change)
    if not assumed.settled or not assumed.certain or not assumed.sums or not same or not constants or not better:
        return None
    equal = tuple((_formula(assumed, assumed.of(sum_)), _extent(assumed, name)) for name, sum_ in assumed.sums.items())
    return made.function, equal


def _formula(assumed: AssumedExtents, sum_: Sum) -> Expr:
    """A sum of extents, what is added before what is subtracted."""
    total: Expr | None = Const(sum_.number) if sum_.number > 0 or not sum_.terms else None
    for name, factor in sorted(sum_.terms, key=lambda term: -term[1]):
        extent = _extent(assumed, name)
        part = extent if abs(factor) == 1 else Op("*", (Const(abs(factor)), extent))
        if total is None:
            total = part if factor > 0 else Op("-", (Const(0), part))
        else:
            total = Op("+" if factor > 0 else "-", (total, part))
    assert total is not None
    return Op("-", (total, Const(-sum_.number))) if sum_.number < 0 and sum_.terms else total


def _extent(assumed: AssumedExtents, name: str) -> Expr:
    part = assumed.parts[name]
    extent = Op("dim", (Name(part.parameter), Const(part.axis)))
    return extent if part.divisor == 1 else Op("//", (extent, Const(part.divisor)))
