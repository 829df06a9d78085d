"""Integers as sums of names with factors: `2 * i - j + 3`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sum:
    """Names with their factors, none of them zero and in the order of the names, and a number.

    >>> print(*Sum.of("i").plus(Sum.of("j"), -2).plus(Sum(number=3)).terms)
    ('i', 1) ('j', -2)
    """

    terms: tuple[tuple[str, int], ...] = ()
    number: int = 0

    @classmethod
    def of(cls, name: str) -> Sum:
        return cls(((name, 1),))

    def plus(self, other: Sum, times: int = 1) -> Sum:
        factors = dict(self.terms)
        for name, one in other.terms:
            factors[name] = factors.get(name, 0) + times * one
        terms = tuple(sorted((name, one) for name, one in factors.items() if one))
        return Sum(terms, self.number + times * other.number)

    def times(self, factor: int) -> Sum:
        return Sum().plus(self, factor)

    def factor(self, name: str) -> int:
        return dict(self.terms).get(name, 0)
