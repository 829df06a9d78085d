"""A second version of a loop, in lanes, for the case that the loops inside are short.

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

Where it follows from extents of parameters, a call from Python compiles the version for its arguments alone, see
`shapes/versions.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.versions import FORMULA, GuardResult
from tapec.syntax.core import Assign, Block, Const, Expr, For, Function, If, Name, Op, Stmt, reads, walk, writes
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, INT64


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


class LaneLengths:
    """What is known of the extents that a run will have.

    shapes   of the parameters' arrays; None where any may come
    answers  what was asked of extents of parameters, for the shapes
    """

    def __init__(self, iterations: Iterations, shapes: Mapping[str, tuple[int, ...]] | None) -> None:
        self.iterations = iterations
        self.shapes = shapes
        self.answers: list[GuardResult] = []

    def hold(self, questions: tuple[Op, ...]) -> bool | None:
        """Whether all of these hold, if it follows from the shapes."""
        if self.shapes is None:
            return None
        asked = []
        for question in questions:
            formulas = [self.formula(arg) for arg in question.args]
            known = tuple(one for one in formulas if one is not None)
            if len(known) < len(formulas):
                return None
            asked.append(Op(question.fn, known))
        answer = GuardResult.for_shapes(tuple(asked), self.shapes)
        self.answers.append(answer)
        return answer.holds

    def formula(self, expr: Expr) -> Expr | None:
        """A number as a formula of extents of parameters; None if it is none."""
        assert self.shapes is not None
        match self.iterations.definition(expr) if isinstance(expr, Name) else expr:
            case Const(value=int()) as value:
                return value
            case Op(fn="dim", args=(Name(id=array), Const())) as value:
                return value if array in self.shapes and self.iterations.fixed(Name(array)) else None
            case Op(fn=fn, args=args) if fn in FORMULA:
                parts = [self.formula(arg) for arg in args]
                known = tuple(part for part in parts if part is not None)
                return Op(fn, known) if len(known) == len(parts) else None
        return None


def where_short(
    loop: For,
    in_lanes: Iterable[Stmt],
    otherwise: Stmt,
    stops: set[str],
    most: int,
    own: dict[str, str],
    fresh: Fresh,
    lengths: LaneLengths,
) -> Iterator[Stmt]:
    """The loop in lanes where its loops up to `stops` make at most so many iterations, and otherwise as it was.

    in_lanes  the loop in lanes
    most      iterations of the loops inside
    own       name -> its name in lanes
    lengths   which of the two it is, if that is known
    """
    span = loop.span
    many = Op("-", (loop.stop, loop.start))
    limits = tuple(Op("<=", (Name(stop), Const(most))) for stop in sorted(stops))
    least = Const(costs.LANES)
    holds = lengths.hold((*limits, Op(">=", (many, least))))
    if holds is False:
        yield otherwise
        return
    body: Block = renamed(tuple(in_lanes), own)
    if holds:
        yield from body
        return
    iterations = Name(fresh("size", INT64))
    yield Assign(iterations.id, many, span)
    test: Name | None = None
    for one in (*limits, Op(">=", (iterations, least))):
        answer = Name(fresh("t", BOOL))
        yield Assign(answer.id, one, span)
        if test is not None:
            both = Name(fresh("t", BOOL))
            yield Assign(both.id, Op("and", (test, answer)), span)
            answer = both
        test = answer
    assert test is not None
    yield If(test, body, (otherwise,), span)
