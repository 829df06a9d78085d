"""Lower a function once more, for arguments of which no operand in a loop has to be stretched.

Arrays that a loop sets anew (`u = u + du * laplacian(u) - u * v * v`) have the extents of an expression, and where
operands may have to be stretched, nobody knows which before the loop has run.  For the usual case the function is
lowered with extents of parameters taken to be equal, or sums of others, wherever operands are compared; what has to be
equal is asked once, at the start (`optimise.extents.unstretched`).  Gates of a network that are slices of one matrix
(`h @ w[:, :n]`, `w[:, n : 2 * n]`, `w[:, 2 * n :]`) take it to have `3 * n` columns, or, where `n` is
`w.shape[1] // 3`, a number of columns without a rest.
"""

from __future__ import annotations

import types
from typing import Any

from tapec.frontend.evaluator.evaluator import Prepare
from tapec.frontend.evaluator.symbolic_extents import Alike
from tapec.frontend.lower import Lowered, lower
from tapec.syntax.core import Const, Expr, Function, Name, Op, walk
from tapec.syntax.linear import Sum

# machine code for another form is worth its time up to this many statements
_LARGEST = 600
# what is taken to be equal in one attempt can bring arrays together that another one compares
_ATTEMPTS = 6


def lowered_alike(
    function: types.FunctionType, arguments: tuple[Any, ...], prepare: Prepare | None, general: Lowered
) -> tuple[Function, tuple[tuple[Expr, Expr], ...]] | None:
    """The function for such arguments, and which extents are equal then; None if `general` says all there is to say."""
    unclear = general.stretches or general.unsteady
    if not unclear or general.callees or sum(1 for _ in walk(general.function.body)) > _LARGEST:
        return None
    alike = Alike()
    for _ in range(_ATTEMPTS):
        alike.settled = alike.certain = True
        made = lower(function, arguments, prepare=prepare, alike=alike)
        if alike.settled:
            break
    same = made.result == general.result and made.function.params == general.function.params
    constants = list(made.constants) == list(general.constants)
    better = not made.stretches and (general.stretches or not made.unsteady)
    if not alike.settled or not alike.certain or not alike.sums or not same or not constants or not better:
        return None
    equal = tuple((_formula(alike, alike.of(sum_)), _extent(alike, name)) for name, sum_ in alike.sums.items())
    return made.function, equal


def _formula(alike: Alike, sum_: Sum) -> Expr:
    """A sum of extents, what is added before what is subtracted."""
    total: Expr | None = Const(sum_.number) if sum_.number > 0 or not sum_.terms else None
    for name, factor in sorted(sum_.terms, key=lambda term: -term[1]):
        extent = _extent(alike, name)
        part = extent if abs(factor) == 1 else Op("*", (Const(abs(factor)), extent))
        if total is None:
            total = part if factor > 0 else Op("-", (Const(0), part))
        else:
            total = Op("+" if factor > 0 else "-", (total, part))
    assert total is not None
    return Op("-", (total, Const(-sum_.number))) if sum_.number < 0 and sum_.terms else total


def _extent(alike: Alike, name: str) -> Expr:
    part = alike.parts[name]
    extent = Op("dim", (Name(part.parameter), Const(part.axis)))
    return extent if part.divisor == 1 else Op("//", (extent, Const(part.divisor)))
