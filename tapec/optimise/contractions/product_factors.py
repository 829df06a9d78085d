"""Factors of products of numbers, through the names of partial products.

    t = a * r
    u = r / b                 u * t:    r twice, a; over b
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tapec.syntax.core import Atom, Const, Expr, Name, Op


@dataclass(frozen=True)
class Product:
    """The product of some numbers over that of others, or its opposite."""

    over: tuple[Atom, ...]
    under: tuple[Atom, ...] = ()
    negative: bool = False

    def times(self, other: Product) -> Product:
        return Product(self.over + other.over, self.under + other.under, self.negative != other.negative)

    def without(self, factor: Atom) -> Iterator[tuple[str, Atom]]:
        """The operations that multiply by the other factors."""
        yield from (("*", one) for one in self.over if one != factor)
        yield from (("/", one) for one in self.under)


def factors(value: Expr, made: Callable[[str], Op | None], depth: int = 8) -> Product:
    """The factors of a number.

    made   the product, quotient or opposite that a name stands for wherever it is read, if it does
    depth  how many products are looked through, one within another
    """
    found = made(value.id) if isinstance(value, Name) and depth else None
    match found:
        case Op(fn="*", args=(first, second)):
            return factors(first, made, depth - 1).times(factors(second, made, depth - 1))
        case Op(fn="/", args=(first, (Name() | Const()) as second)):
            return factors(first, made, depth - 1).times(Product((), (second,)))
        case Op(fn="neg", args=(first,)):
            return factors(first, made, depth - 1).times(Product((), negative=True))
    assert isinstance(value, Name | Const)
    return Product((value,))
