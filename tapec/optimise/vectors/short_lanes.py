"""A second form of a loop, in lanes, for the case that the loops inside are short.

    for i in range(n):                            if k <= 24 and n >= 16:
        for c in range(k):                            for first in range(0, n, 64):
            e[c] = exp(x[i, c] - top)       ->            for c in range(k):
        ...                                                   for lane in range(lanes):
                                                                  e_1[c, lane] = exp(x[first + lane, c] - top)
                                                          ...
                                                  else:
                                                      for i in range(n):
                                                          ...

Vectors leave most of a short loop over, one element at a time; of long ones they leave little, and lanes would take
elements that lie apart, and 64 times the memory.  How long the loops are only the run knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tapec.optimise.clean.names import Fresh
from tapec.syntax.core import Assign, Block, Const, Expr, For, Function, If, Name, Op, Stmt, reads, walk, writes
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, INT64

# the longest loops that count as short, those of which 64 copies stay in the cache, and the fewest lanes worth a copy
SHORT = Const(24)
CACHED = Const(512)
_LANES = Const(16)


class Uses:
    """How many statements of a function use each name."""

    def __init__(self, function: Function) -> None:
        self.counts = _uses(function.body)

    def only_in(self, loop: For) -> list[str]:
        """The names that a loop sets, and nothing outside uses."""
        inside = _uses((loop,))
        set_there = dict.fromkeys(name for stmt in walk((loop,)) for name in writes(stmt))
        return [name for name in set_there if self.counts[name] == inside[name]]


def _uses(block: Iterable[Stmt]) -> Counter[str]:
    return Counter(name for stmt in walk(block) for name in {*reads(stmt), *writes(stmt)})


def where_short(
    loop: For,
    in_lanes: Iterable[Stmt],
    otherwise: Stmt,
    stops: set[str],
    most: Const,
    own: dict[str, str],
    fresh: Fresh,
) -> Iterator[Stmt]:
    """The loop in lanes where its loops up to `stops` make at most so many trips, and otherwise as it was.

    in_lanes  the loop in lanes
    most      trips of the loops inside
    own       name -> its name in lanes
    """
    span = loop.span
    trips = Name(fresh("n", INT64))
    yield Assign(trips.id, Op("-", (loop.stop, loop.start)), span)
    test: Name | None = None
    asked: list[Expr] = [Op("<=", (Name(stop), most)) for stop in sorted(stops)]
    for one in (*asked, Op(">=", (trips, _LANES))):
        answer = Name(fresh("t", BOOL))
        yield Assign(answer.id, one, span)
        if test is not None:
            both = Name(fresh("t", BOOL))
            yield Assign(both.id, Op("and", (test, answer)), span)
            answer = both
        test = answer
    assert test is not None
    body: Block = renamed(tuple(in_lanes), own)
    yield If(test, body, (otherwise,), span)
