"""Statements that repeat: where the iterations of a loop stand one after another, as they were lowered.

Statements are alike if they come from the same place of the source and have the same operations on values of the same
types, whatever their names and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Push,
    Raise,
    Stmt,
    Store,
)
from tapec.syntax.types import INT64, Scalar, Type

# of fewer iterations a program is compiled for each number
LEAST = 4


@dataclass(frozen=True)
class Run:
    """Statements that repeat after a `period`: those from `first` to `stop`."""

    first: int
    period: int
    stop: int


def ways(run: Run) -> Iterable[tuple[int, int]]:
    """Where the iterations of statements that repeat may begin, and how many there may be."""
    for shorter in range(2):
        for first in range(run.first, run.first + run.period):
            count = (run.stop - first) // run.period - shorter
            if count >= LEAST:
                yield first, count


def longest(keys: list[int], refused: set[tuple[int, int]]) -> Run | None:
    """The statements that repeat, as many as there are; of several periods the shortest."""
    numbers = np.array(keys)
    best: tuple[int, int, int, int] | None = None
    for period in range(1, len(keys) // LEAST + 1):
        equal = np.concatenate(([False], numbers[:-period] == numbers[period:], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            count = (end - first) // period + 1
            found = count * period, -period, -first, end + period
            if count >= LEAST and (first, period) not in refused and (best is None or found > best):
                best = found
    return None if best is None else Run(-best[2], -best[1], best[3])


def key(stmt: Stmt, types: dict[str, Type]) -> object:
    """What statements of one loop have in common: their kind, types, and lines."""

    def atom(value: Atom) -> object:
        if isinstance(value, Name):
            return types.get(value.id, value.id)
        number = value.value
        return INT64 if type(number) is int else Scalar("float64") if type(number) is float else value

    def expression(value: Expr) -> object:
        if isinstance(value, Op):
            return value.fn, *map(expression, value.args)
        return atom(value)

    def block(stmts: Block) -> object:
        return tuple(one(inner) for inner in stmts)

    def one(stmt: Stmt) -> object:
        kind = type(stmt), stmt.span
        match stmt:
            case Assign(target=target, value=value):
                return kind, types[target], expression(value)
            case Store(array=array, index=index, value=value, accumulate=accumulate):
                return kind, types[array], tuple(map(atom, index)), atom(value), accumulate
            case If(test=test, body=body, orelse=orelse):
                return kind, atom(test), block(body), block(orelse)
            case For(start=start, stop=stop, step=step, body=body):
                marks = stmt.parallel, stmt.slots, stmt.independent
                return kind, atom(start), atom(stop), atom(step), block(body), marks
            case Loop(body=body):
                return kind, block(body)
            case Push(stack=stack, value=value):
                return kind, types[stack], atom(value)
            case Raise(exception=exception, args=args, cls=cls, users=users):
                return kind, exception, tuple(map(atom, args)), cls, users
            case Call(targets=targets, function=function, args=args, changes=changes):
                return kind, tuple(types[one] for one in targets), function, tuple(map(atom, args)), changes
        # what prints or leaves is not moved
        return kind, stmt.key

    return one(stmt)
