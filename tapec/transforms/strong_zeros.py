"""Strong zeros: an adjoint or a tangent of zero contributes zero, also where the partial derivative may be infinite.

The name is Enzyme's.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapec.analyses.masked_values import masked_values
from tapec.rules.formula import SCIPY, simplify
from tapec.syntax.core import Const, Expr, Function, Name, Op, substitute, zero_of
from tapec.syntax.types import FLOAT64, Scalar

POWERS = frozenset({"**", "np.power", "np.pow", "np.float_power", "math.pow"})
QUOTIENTS = frozenset({"/", "np.divide", "np.true_divide"})
# operations with partial derivatives that are infinite at numbers
POLES = (
    POWERS
    | QUOTIENTS
    | frozenset(
        {
            *("np.reciprocal", "np.sqrt", "math.sqrt", "np.cbrt"),
            *("np.log", "math.log", "np.log2", "math.log2", "np.log10", "math.log10", "np.log1p", "math.log1p"),
            *("np.arcsin", "np.asin", "math.asin", "np.arccos", "np.acos", "math.acos", "np.arccosh", "np.acosh"),
            *("math.acosh", "np.arctanh", "np.atanh", "math.atanh", "np.arctan2", "np.atan2", "math.atan2"),
        }
    )
)


# operations that are infinite, as their partial derivatives are, where their operands are large
OVERFLOWS = frozenset(
    {
        *("np.exp", "math.exp", "np.exp2", "math.exp2", "np.expm1", "math.expm1"),
        *("np.sinh", "math.sinh", "np.cosh", "math.cosh"),
    }
)

class Overflows:
    """Where contributions may be products of an adjoint that is zero and of an exponential that overflows."""

    def __init__(self, function: Function, results: Iterable[str]) -> None:
        self.masked = masked_values(function, results)

    def at(self, target: str, fn: str) -> bool:
        """Whether an operation, the one that makes `target`, is such a place."""
        return fn in OVERFLOWS and target in self.masked


def may_be_infinite(fn: str, args: tuple[Expr, ...]) -> bool:
    """Whether a partial derivative of an operation may be infinite."""
    return fn.startswith(SCIPY) or (fn in POLES and not _is_finite(fn, args))


def _is_finite(fn: str, args: tuple[Expr, ...]) -> bool:
    """Whether an operation divides by a number that is known, or is a power whose derivative is finite."""
    match args:
        case (_, Const(value=int() | float() as number)):
            return number != 0 if fn not in POWERS else number >= 1
    return False


def zero_kept(product: Expr, factor: str, kinds: tuple[Scalar, Scalar], again: bool) -> Expr:
    """What is linear in `factor`, and zero where that is zero.

    kinds  the types of `factor` and of the product
    again  whether it is differentiated in turn: then it is a product whose derivative goes on by the partial derivative
           where `factor` is zero, as a branch that is zero would have the derivative zero
    """
    if again:
        one = Const(1.0) if kinds[0] == FLOAT64 else Op(f"cast.{kinds[0].dtype}", (Const(1.0),))
        return Op("strong", (Name(factor), simplify(substitute(product, {factor: one}))))
    return Op("ifelse", (Op("!=", (Name(factor), zero_of(kinds[0]))), product, zero_of(kinds[1])))
