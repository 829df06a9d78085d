"""Loops over numbers that stand in the source: one body for all iterations where one per iteration would be long.

    for symbol in (0, 2, 1, 1, 0, 2):             symbols = np.array([0, 2, 1, 1, 0, 2])
        for i in range(n):                 ->     for k in range(6):
            ...                                       symbol = symbols[k]
                                                      ...

A loop over a tuple is lowered iteration by iteration, so that its items are known: subscripts of stencils, powers,
axes.  Where an iteration has loops of its own and the iterations together are long, machine code takes seconds to make,
and does not run faster for it.  Then numbers are taken from an array, or counted where they are those of a range (`-1,
0, 1`).

What only known numbers allow (`np.sum(x, axis=k)`) is found when the body is lowered: then the iterations are lowered
one by one after all.  So are the few iterations of a loop over a range of known numbers that cannot have one body,
since it fills a list with arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from tapec.errors import TapecError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Items, Iteration, Lst, Sym, Tup, Value, number, static_int

# nodes of the source in all iterations together
_LONG = 600
# and of those that are unrolled because they must be
_WRITTEN_OUT = 3000
_GROWING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})
_KINDS = frozenset({"items", "enumerate", "zip", "reversed"})


def is_long(node: gast.For, iterations: int) -> bool:
    """Whether so many iterations of a loop are long together, and have loops inside; lists that grow need known
    iterations.
    """
    parts = [part for stmt in node.body for part in gast.walk(stmt)]
    inner = any(isinstance(part, gast.For | gast.While) for part in parts)
    grows = any(isinstance(part, gast.Attribute) and part.attr in _GROWING for part in parts)
    return inner and not grows and iterations * sum(map(_weight, node.body)) > _LONG


def may_be_unrolled(iteration: Iteration, node: gast.For) -> bool:
    """Whether iterations over a range are few and short enough to be lowered one by one, and change a list's length."""
    if iteration.kind != "range" or iteration.parallel or iteration.slots is not None:
        return False
    bounds = [static_int(bound) for bound in iteration.args]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds) or known[2] == 0:
        return False
    parts = [part for stmt in node.body for part in gast.walk(stmt)]
    grows = any(isinstance(part, gast.Attribute) and part.attr in _GROWING for part in parts)
    return grows and len(range(*known)) * sum(map(_weight, node.body)) <= _WRITTEN_OUT


def _weight(node: Any) -> int:
    """The nodes of a statement or expression, those of loops over literals as often as they run."""
    times = len(node.iter.elts) if isinstance(node, gast.For) and isinstance(node.iter, gast.Tuple | gast.List) else 1
    return 1 + times * sum(map(_weight, gast.iter_child_nodes(node)))


def counted(ev: Evaluator, iteration: Iteration, node: gast.For, outer: bool = True) -> Iteration | None:
    """The items of an iteration from ranges and arrays; None if they are not numbers that stay as they are."""
    # nobody else asks an iterator for items that is made where the loop begins
    match node.iter:
        case gast.Call(func=gast.Name(id="enumerate" | "zip" | "reversed")) if outer:
            own = True
        case _:
            own = iteration.progress is None
    if iteration.kind not in _KINDS or not own:
        return None
    args: list[Value] = []
    for arg in iteration.args:
        if isinstance(arg, Iteration):
            inner = counted(ev, arg, node, outer=False)
            if inner is None:
                return None
            args.append(inner)
        elif isinstance(arg, Tup | Lst):
            return _numbers(ev, arg, node)
        else:
            args.append(arg)
    return replace(iteration, args=tuple(args))


def _numbers(ev: Evaluator, value: Value, node: gast.For) -> Iteration | None:
    """A tuple of numbers, or of tuples of numbers, as an iteration; a list if nobody else can have it."""
    if isinstance(value, Lst) and isinstance(node.iter, gast.List):
        contents = ev.heap[value]
        value = Tup(contents.values) if isinstance(contents, Items) else value
    if not isinstance(value, Tup) or not value.items:
        return None
    if all(isinstance(one, Tup) for one in value.items):
        rows = [one.items for one in value.items if isinstance(one, Tup)]
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            return None
        columns = [_numbers(ev, Tup(column), node) for column in zip(*rows, strict=True)]
        known = tuple(column for column in columns if column is not None)
        return Iteration("zip", known) if len(known) == len(columns) else None
    found: list[Any] = [one.constant if isinstance(one, Sym) else None for one in value.items]
    if {type(one) for one in found} not in ({int}, {float}):
        return None
    first, step = found[0], found[1] - found[0] if len(found) > 1 else 1
    if type(first) is int and step != 0 and found == list(range(first, first + step * len(found), step)):
        return Iteration("range", (number(first), number(first + step * len(found)), number(step)))
    return Iteration("items", (ev.call_object(np.array, [value], {}, node),))


def attempted(ev: Evaluator, lower: Callable[[], bool]) -> bool:
    """Whether something can be lowered; if not, nothing has happened."""
    begun, block, frame = ev.snapshot(), ev.block, ev.frame
    written, taken, frames = list(block), set(ev.taken), len(ev.frames)
    try:
        if lower():
            return True
    except TapecError:
        pass
    del ev.frames[frames:]
    ev.frame, ev.block, ev.dead = frame, block, False
    block[:] = written
    ev.taken = taken | ev.fixed
    ev.restore(begun)
    return False
