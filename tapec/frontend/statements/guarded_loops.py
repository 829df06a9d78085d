"""Loops over known objects beside an array: `for link, angle in zip(LINKS, angles)`.

No number picks one of several functions or objects, so such a loop is unrolled to as many iterations as there are
objects, each under the test that the array is that long.
"""

from __future__ import annotations

import functools

import gast

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Items, Iteration, Lst, Sym, Tup, Value, number
from tapec.frontend.iteration.iterables import iteration_item, iteration_length
from tapec.frontend.iteration.iterators import NOTHING, taken
from tapec.frontend.statements.assignments import bind
from tapec.frontend.statements.branches import branch
from tapec.frontend.statements.loop_carried import shape

# more iterations would make the function too long
_MOST = 100


def guarded_iterations(ev: Evaluator, iteration: Iteration) -> int | None:
    """How many iterations a loop makes at most, if it has to be unrolled; None if it can be a loop."""
    found = [values for values in _known(ev, iteration) if any(shape(v) != shape(values[0]) for v in values)]
    most = min(map(len, _known(ev, iteration)), default=0)
    return most if found and most <= _MOST else None


def _known(ev: Evaluator, iteration: Iteration) -> list[tuple[Value, ...]]:
    """The items of tuples and lists of known length, side by side."""
    found: list[tuple[Value, ...]] = []
    if iteration.kind not in ("zip", "enumerate", "items"):
        return found
    for arg in iteration.args:
        if isinstance(arg, Iteration):
            found += _known(ev, arg)
        elif isinstance(arg, Tup):
            found.append(arg.items)
        elif isinstance(arg, Lst) and isinstance(contents := ev.heap[arg], Items):
            found.append(contents.values)
    return found


def guarded_for(ev: Evaluator, iteration: Iteration, node: gast.For, iterations: int) -> None:
    whole = taken(ev, iteration, node)
    if whole == NOTHING:
        return
    total = iteration_length(ev, whole, node)
    for k in range(iterations):
        place = number(k)
        branch(ev, ev.op("<", place, total), functools.partial(_iteration, ev, whole, place, node), lambda: None)
        if ev.dead:
            return


def _iteration(ev: Evaluator, iteration: Iteration, place: Sym, node: gast.For) -> None:
    bind(ev, node.target, iteration_item(ev, iteration, place, node), node)
    ev.statements(node.body)
