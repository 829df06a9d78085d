"""Loops where every decision is known: iteration after iteration, as Python would run them."""

from __future__ import annotations

from typing import Any

import gast

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Stream, Value
from tapec.frontend.iteration.generators import Generator, consume_in, count_iteration, drive
from tapec.frontend.iteration.iterables import as_iteration
from tapec.frontend.iteration.iterators import each
from tapec.frontend.statements.assignments import bind


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
