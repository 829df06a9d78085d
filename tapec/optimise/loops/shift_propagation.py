"""How a value follows a number that is shifted, and how what is computed from such values does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tapec.syntax.core import Const, Expr, Op

EXPONENTIALS = frozenset({"np.exp", "math.exp"})
_LOGARITHMS = frozenset({"np.log", "math.log"})
_ROOTS = frozenset({"np.sqrt", "math.sqrt"})
_SIZES = frozenset({"abs", "np.abs", "np.absolute", "np.fabs", "math.fabs"})
CHOICES = frozenset({"np.maximum", "np.minimum", "np.fmax", "np.fmin", "max", "min"})
_POWERS = frozenset({"**", "np.power", "math.pow"})


class Depends(Exception):
    """Something may depend on the number in another way than the analysis follows."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How a value follows the number: by `by`, or, if it is `proportional`, by that times itself.

    Of a value that does not follow at all, `by` is 0.  Zero follows in proportion by any factor.
    """

    by: Fraction
    proportional: bool = False
    zero: bool = False


NOT_AT_ALL = Shift(Fraction(0))
ZERO = Shift(Fraction(0), zero=True)


def _way(by: Fraction, proportional: bool) -> Shift:
    return Shift(by, proportional) if by else NOT_AT_ALL


def agreed(first: Shift | None, second: Shift | None) -> Shift | None:
    """The way of a value that is the one or the other."""
    if first is None or second is None or first == second:
        return second if first is None else first
    for zero, other in ((first, second), (second, first)):
        if zero.zero and (other.proportional or not other.by):
            return other
    raise Depends


def of_numbers(value: Op, ways: list[Shift]) -> Shift | None:
    """How the result of an operation follows, whose operands do; None for one that the analysis does not know."""
    match value.fn, ways:
        case "+" | "-" as sign, [first, second]:
            return _of_sum(first, second, 1 if sign == "+" else -1)
        case "*", [first, second]:
            return _of_product(value, first, second)
        case "/", [first, second]:
            return _of_quotient(value, first, second)
        case "neg", [way]:
            return way if way.proportional else _way(-way.by, False)
        case "pos" | "cast.float64" | "cast.float32", [way]:
            return way
        case fn, [way] if fn in EXPONENTIALS and not way.proportional:
            return _way(way.by, True)
        case fn, [way] if fn in _LOGARITHMS and way.proportional:
            return _way(way.by, False)
        case fn, [way] if fn in _ROOTS and way.proportional:
            return _way(way.by / 2, True)
        case fn, [way] if fn in _SIZES and way.proportional:
            return way
        case "np.square", [way] if way.proportional:
            return _way(way.by * 2, True)
        case fn, [way, _] if fn in _POWERS and way.proportional:
            power = _literal(value.args[1])
            return None if power is None else _way(way.by * power, True)
        case fn, [first, second] if fn in CHOICES:
            return agreed(first, second)
    return None


def _of_sum(first: Shift, second: Shift, sign: int) -> Shift | None:
    if first.zero or second.zero:
        other = first if second.zero else second
        return other if other.proportional or second.zero else _way(sign * other.by, False)
    if first.proportional or second.proportional:
        return first if first == second else None
    return _way(first.by + sign * second.by, False)


def _of_product(value: Op, first: Shift, second: Shift) -> Shift | None:
    if first.zero or second.zero:
        return ZERO
    for one, other, factor in ((first, second, value.args[1]), (second, first, value.args[0])):
        number = _literal(factor)
        if one.by and not one.proportional:
            return None if number is None or other.by else _way(one.by * number, False)
    return _way(first.by + second.by, True)


def _of_quotient(value: Op, first: Shift, second: Shift) -> Shift | None:
    if second.by and not second.proportional:
        return None
    if first.zero:
        return ZERO
    if first.by and not first.proportional:
        number = _literal(value.args[1])
        return None if not number else _way(first.by / number, False)
    return _way(first.by - second.by, True)


def _literal(atom: Expr) -> Fraction | None:
    """The number that an operand is known to be."""
    match atom:
        case Const(value=int() | float() as number) if number == number and abs(number) < float("inf"):
            return Fraction(number)
    return None
