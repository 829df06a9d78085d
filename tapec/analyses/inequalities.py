"""Can integers fulfil inequalities, each of which says that a sum is not negative?

Fourier and Motzkin's elimination: of two inequalities, one of which bounds a name from below and the other one from
above, follows one without the name.  What is left in the end is about numbers.  Since names stand for integers, factors
are divided by what they have in common, and the number is rounded down.

Williams, Fourier-Motzkin elimination extension to integer programming problems, J. Combin. Theory A 21 (1976) 118-123.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import gcd

from tapec.syntax.linear import Sum

# inequalities at a time, beyond which the answer is that nobody knows
_MOST = 80


def contradict(inequalities: Iterable[Sum]) -> bool:
    """Whether it is proved that not all of the sums can be zero or more at once.

    >>> i = Sum.of("i")
    >>> contradict([i, i.times(-1).plus(Sum(number=-1))])
    True
    >>> contradict([i, i.times(-1)])
    False
    >>> contradict([i.times(3).plus(Sum(number=-1)), i.times(-3).plus(Sum(number=2))])
    True
    """
    return _contradictory(frozenset(tight(one) for one in inequalities))


@lru_cache(maxsize=20_000)
def _contradictory(rows: frozenset[Sum]) -> bool:
    """The same of different inequalities; pass after pass asks the same questions of a program that is as it was."""
    while True:
        if any(not one.terms and one.number < 0 for one in rows):
            return True
        above: dict[str, list[Sum]] = {}
        below: dict[str, list[Sum]] = {}
        for row in rows:
            for name, factor in row.terms:
                (above if factor > 0 else below).setdefault(name, []).append(row)
        # what is bounded on one side alone tells nothing
        one_sided = above.keys() ^ below.keys()
        if one_sided:
            rows = frozenset(row for row in rows if not any(name in one_sided for name, _ in row.terms))
            continue
        if not above:
            return False
        name = min(sorted(above), key=lambda one: len(above[one]) * len(below[one]))
        made = {
            tight(high.times(-low.factor(name)).plus(low, high.factor(name)))
            for high in above[name]
            for low in below[name]
        }
        rows = frozenset(row for row in rows if not row.factor(name)) | made
        if len(rows) > _MOST:
            return False


def tight(row: Sum) -> Sum:
    """The same inequality for integers, with factors that have nothing in common.

    >>> print(tight(Sum.of("i").times(2).plus(Sum(number=-1))))
    Sum(terms=(('i', 1),), number=-1)
    """
    common = gcd(*(factor for _, factor in row.terms))
    if common <= 1:
        return row
    return Sum(tuple((name, factor // common) for name, factor in row.terms), row.number // common)
