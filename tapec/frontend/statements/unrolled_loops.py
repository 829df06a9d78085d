"""Loops that have one body for each iteration.

Where every decision is known, as in a tape's block, loops run iteration after iteration, as Python would run them.

Elsewhere a loop over known objects beside an array is unrolled: `for link, angle in zip(LINKS, angles)`.  No number
picks one of several functions or objects, so there are as many iterations as objects, each under the test that the
array is that long.
"""

from __future__ import annotations

import functools
from typing import Any

import gast

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Items, Iteration, Lst, Stream, Sym, Tup, Value, number
from tapec.frontend.iteration.generators import Generator, consume_in, count_iteration, drive
from tapec.frontend.iteration.iterables import as_iteration, iteration_item, iteration_length
from tapec.frontend.iteration.iterators import NOTHING, each, taken
from tapec.frontend.statements.assignments import bind
from tapec.frontend.statements.branches import branch
from tapec.frontend.statements.loop_carried import shape

# more iterations would make the function too long
_MOST = 100


def unrolled_while(ev: Evaluator, node: gast.While) -> None:
    while True:
        test = ev.decided(ev.truth(ev.expr(node.test), node.test), node)
        if test.constant is False or not _iteration(ev, node):
            return


def unrolled_for(ev: Evaluator, value: Value, node: gast.For) -> None:
    """`for`: the iteration count is known, or found anew before each one where the list may change."""
    if isinstance(value, Generator) and value.progress in ev.coroutines:
        value = Stream(ev.coroutines[value.progress].items())
    if isinstance(value, Generator):
        def iteration(item: Value) -> bool:
            bind(ev, node.target, item, node)
            return _iteration(ev, node)

        drive(ev, value, consume_in(ev, iteration))
        return
    items = value.items if isinstance(value, Stream) else each(ev, as_iteration(ev, value, node.iter), node)
    for item in items:
        bind(ev, node.target, item, node)
        if not _iteration(ev, node):
            return


def _iteration(ev: Evaluator, node: Any) -> bool:
    """One iteration; whether the loop goes on."""
    count_iteration(ev, node)
    ev.statements(node.body)
    if ev.broke:
        ev.broke = ev.dead = False
        return False
    return not ev.dead


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
        body = functools.partial(_guarded_iteration, ev, whole, place, node)
        branch(ev, ev.op("<", place, total), body, lambda: None)
        if ev.dead:
            return


def _guarded_iteration(ev: Evaluator, iteration: Iteration, place: Sym, node: gast.For) -> None:
    bind(ev, node.target, iteration_item(ev, iteration, place, node), node)
    ev.statements(node.body)
