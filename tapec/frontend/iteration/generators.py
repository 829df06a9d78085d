"""Generators, whose items are made while somebody asks for them, and `await`.

A generator that feeds a loop runs the loop's body at each `yield`.  Only a run whose decisions are known can follow it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast

from tapec.errors import LoweringError, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import NONE, Progress, Static, Stream, Tup, Value
from tapec.frontend.iteration.iterables import as_iteration
from tapec.frontend.iteration.iterators import END, LEFT, each, note, position
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import DONE, RETURN, tail_exits

_ITERATIONS = 5000
# what a generator leaves where it returns
RESULTS = frozenset({RETURN, DONE})


@dataclass(frozen=True, eq=False)
class Generator(Value):
    """A call of a generator function."""

    frame: Frame
    definition: Any
    env: dict[str, Value]
    progress: Progress


class Stop(Exception):
    """The loop that a generator feeds was left."""


def own_nodes(definition: Any) -> list[Any]:
    """The nodes of a function that do not belong to functions inside it."""
    found: list[Any] = []
    pending = list(definition.body) if isinstance(definition.body, list) else [definition.body]
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            pending.extend(gast.iter_child_nodes(node))
    return found


def is_generator(definition: Any) -> bool:
    return any(isinstance(node, gast.Yield | gast.YieldFrom) for node in own_nodes(definition))


def drive(ev: Evaluator, generator: Generator, consume: Callable[[Value], Value | None]) -> Value:
    """Run a generator; `consume` gets each value that it yields.  What it returns, if it comes to that."""
    if not ev.deciding:
        ev.fail(UnsupportedSyntax, "this use of a generator", hint=ev.or_by_a_tape("loop over it"))
    if position(ev, generator, generator.progress, None) is None:
        return NONE
    note(ev, generator.progress, LEFT)
    frame = generator.frame
    body = tail_exits(list(generator.definition.body))
    frame.env = dict(generator.env)
    frame.liveness = SourceLiveness(body, RESULTS)
    frame.local_names = assigned(body) - frame.outer
    frame.consumer = consume
    outer, span, depth, dead = ev.frame, ev.span, len(ev.frames), ev.dead
    ev.frames.append(frame)
    ev.frame = frame
    try:
        ev.statements(body)
        note(ev, generator.progress, END)
        return frame.env.get(RETURN, NONE)
    except Stop:
        return NONE
    finally:
        del ev.frames[depth:]
        ev.frame, ev.span, ev.dead = outer, span, dead


def consume_in(ev: Evaluator, iteration: Callable[[Value], bool]) -> Callable[[Value], None]:
    """A consumer that runs in the frame that is current now; `iteration` says whether it wants more."""
    scope = ev.frame

    def consume(value: Value) -> None:
        inner, ev.frame = ev.frame, scope
        more = iteration(value)
        ev.frame = inner
        if not more:
            raise Stop

    return consume


def collected(ev: Evaluator, value: Value) -> Value:
    """The items that are made one by one, as a tuple; anything else as it is."""
    if isinstance(value, Generator) and value.progress in ev.coroutines:
        value = Stream(ev.coroutines[value.progress].items())
    if isinstance(value, Stream):
        return Tup(tuple(value.items))
    if not isinstance(value, Generator):
        return value
    found: list[Value] = []

    def take(item: Value) -> bool:
        count_iteration(ev)
        found.append(item)
        return True

    drive(ev, value, consume_in(ev, take))
    return Tup(tuple(found))


def count_iteration(ev: Evaluator, node: Any = None) -> None:
    """One more iteration of a loop that is unrolled."""
    ev.iterations += 1
    if ev.iterations > _ITERATIONS:
        ev.fail(
            LoweringError,
            f"a loop that is unrolled beyond {_ITERATIONS} iterations",
            node,
            reason="what it keeps or decides has to be known iteration by iteration",
            hint="move appends and changes of objects out of the loop",
        )


def yield_(ev: Evaluator, node: gast.Yield) -> Value:
    if ev.frame.consumer is None:
        ev.refuse(node)
    sent = ev.frame.consumer(ev.materialise(Static(None) if node.value is None else ev.expr(node.value)))
    return Static(None) if sent is None else sent


def yield_from(ev: Evaluator, node: gast.YieldFrom) -> Value:
    if ev.frame.consumer is None:
        ev.refuse(node)
    value, consumer = ev.expr(node.value), ev.frame.consumer
    if isinstance(value, Generator) and value.progress not in ev.coroutines:
        return drive(ev, value, consumer)
    if isinstance(value, Generator):
        coroutine = ev.coroutines[value.progress]
        for item in coroutine.items():
            consumer(item)
        return coroutine.result
    for item in value.items if isinstance(value, Stream) else each(ev, as_iteration(ev, value, node), node):
        consumer(item)
    return NONE


def await_(ev: Evaluator, node: gast.Await) -> Value:
    """What is awaited, in a block that runs by itself; what others change meanwhile is found by comparison."""
    if not getattr(ev.live, "overlays", False):
        ev.refuse(node)
    awaited: Value = ev.expr(node.value)
    return awaited


EXPRESSIONS: dict[type, Any] = {gast.Await: await_, gast.Yield: yield_, gast.YieldFrom: yield_from}
