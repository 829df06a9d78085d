"""Integers as sums of names with factors: `2 * i - j + 3`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Sum:
    """Names with their factors, none of them zero and in the order of the names, and a number.

    >>> print(*Sum.of("i").plus(Sum.of("j"), -2).plus(Sum(number=3)).terms)
    ('i', 1) ('j', -2)

    A product of names is a name, too, as if it were another integer:

    >>> print(*Sum.of("n").product(Sum.of("i").plus(Sum(number=2))).terms)
    ('i*n', 1) ('n', 2)
    """

    terms: tuple[tuple[str, int], ...] = ()
    number: int = 0

    @classmethod
    def of(cls, name: str) -> Sum:
        return cls(((name, 1),))

    def plus(self, other: Sum, times: int = 1) -> Sum:
        if not other.terms:
            return Sum(self.terms, self.number + times * other.number)
        factors = dict(self.terms)
        for name, one in other.terms:
            factors[name] = factors.get(name, 0) + times * one
        terms = tuple(sorted((name, one) for name, one in factors.items() if one))
        return Sum(terms, self.number + times * other.number)

    def times(self, factor: int) -> Sum:
        terms = tuple((name, one * factor) for name, one in self.terms) if factor else ()
        return Sum(terms, self.number * factor)

    def product(self, other: Sum) -> Sum:
        made = other.times(self.number)
        for name, one in self.terms:
            made = made.plus(Sum(((name, 1),)), one * other.number)
            for second, two in other.terms:
                made = made.plus(Sum.of("*".join(sorted([*name.split("*"), *second.split("*")]))), one * two)
        return made

    def with_(self, values: dict[str, Sum]) -> Sum:
        """The sum with others in place of names, in products, too."""
        made = Sum(number=self.number)
        for name, one in self.terms:
            parts = [values.get(part) or Sum.of(part) for part in name.split("*")]
            whole = parts[0]
            for part in parts[1:]:
                whole = whole.product(part)
            made = made.plus(whole, one)
        return made

    def factor(self, name: str) -> int:
        return next((one for other, one in self.terms if other == name), 0)

    def names(self) -> frozenset[str]:
        """The names, those in products one by one."""
        return self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(part for name, _ in self.terms for part in name.split("*"))
