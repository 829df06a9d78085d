"""Generators in programs that decide at run time: the body of the loop that takes an item stands at each `yield`.

    for v in steps(x):                  for k in range(3):
        total += v          ->              total += x * k
                                        # def steps(x):
                                        #     for k in range(3):
                                        #         yield x * k

The variables that the body sets belong to a function that the generator's own loops and branches know nothing of.
While the generator runs they are contents of lists of one item, which loops and branches carry for all functions.
`break` in the body becomes a number, after which the generator returns at its `yield`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame
from tapec.frontend.evaluator.values import Items, Lst, Poison, Value, number
from tapec.frontend.iteration.generators import RESULTS, Generator, own_nodes
from tapec.frontend.iteration.iterators import END, LEFT, note, position
from tapec.frontend.source.caught_exceptions import without_caught
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import tail_exits

STOP = "$stop"
# functions that take all items of a generator
TAKE_ALL = (list, tuple, sum, max, min, sorted)


class _Variables:
    """The variables of a function that a loop's body sets, while a generator's loops and branches are lowered."""

    def __init__(self, ev: Evaluator, frame: Frame, names: frozenset[str]) -> None:
        self.ev, self.frame = ev, frame
        self.held = {name: Lst(name.strip("$")) for name in sorted(names) if _is_set(frame, name)}
        self.others = names - self.held.keys()
        self.put()

    def put(self) -> None:
        for name, held in self.held.items():
            self.ev.heap[held] = Items((self.frame.env[name],))
            # inside the generator's loops the function's own variables are not what they were before
            self.frame.env[name] = Poison("a generator reads what the loop over it sets", name)

    def take(self) -> None:
        for name, held in self.held.items():
            contents = self.ev.heap[held]
            known = isinstance(contents, Items) and len(contents.values) == 1
            self.frame.env[name] = contents.values[0] if known else Poison("its structure changes", name)  # type: ignore[union-attr]
        for name in self.others:
            # of each item anew; after the loop it may never have been set
            self.frame.env[name] = Poison("it is set in a loop over a generator, and not before it", name)

    def drop(self) -> None:
        """The lists are not there after the loop."""
        for held in self.held.values():
            self.ev.heap.pop(held, None)


def _is_set(frame: Frame, name: str) -> bool:
    return name in frame.env and not isinstance(frame.env[name], Poison)


def feed(ev: Evaluator, generator: Generator, body: Callable[[Value], None], names: frozenset[str], node: Any) -> None:
    """Run a generator, and lower `body` of each item that it yields; `names` are the variables that this sets.

    The body says whether it wants more in the variable `STOP`, if that is among `names`.
    """
    if position(ev, generator, generator.progress, node) is None:
        return
    note(ev, generator.progress, LEFT)
    scope, frame = ev.frame, generator.frame
    if STOP in names:
        scope.env[STOP] = number(False)
    variables = _Variables(ev, scope, names)

    def consume(item: Value) -> Value | None:
        inner, ev.frame = ev.frame, scope
        variables.take()
        body(item)
        stop = scope.env.get(STOP)
        variables.put()
        ev.frame = inner
        return stop

    if STOP in names and (other := _told(generator.definition)) is not None:
        message = "a loop that is left early over a generator that is told so"
        ev.fail(UnsupportedSyntax, message, other, hint=ev.or_by_a_tape("let it yield only what is taken"))
    statements = tail_exits(_stopping(without_caught(list(generator.definition.body)), STOP in names))
    frame.env = dict(generator.env)
    frame.liveness = SourceLiveness(statements, RESULTS | {STOP})
    frame.local_names = assigned(statements) - frame.outer
    frame.consumer = consume
    span, depth = ev.span, len(ev.frames)
    ev.frames.append(frame)
    ev.frame = frame
    try:
        ev.statements(statements)
    finally:
        del ev.frames[depth:]
        ev.frame, ev.span = scope, span
    note(ev, generator.progress, END)
    variables.take()
    variables.drop()
    scope.env.pop(STOP, None)


def all_items(ev: Evaluator, generator: Generator, node: Any) -> Value:
    """A list of all that a generator yields."""
    made = ev.new_list(Items(()))

    def append(item: Value) -> None:
        ev.method(made, "append", [item], {}, node)

    feed(ev, generator, append, frozenset(), node)
    return made


def refuse(ev: Evaluator, node: Any) -> None:
    """A generator is asked for single items, which is followed where decisions are known."""
    hint = ev.or_by_a_tape("loop over it, or take a list of its items")
    ev.fail(UnsupportedSyntax, "a generator that is asked for its items one by one", node, hint=hint)


def without_breaks(stmts: list[Any]) -> tuple[list[Any], bool]:
    """The body of a loop in which each `break`, which ends what runs of it, sets `STOP`; and whether there was one."""
    found = False

    def change(block: list[Any]) -> list[Any]:
        nonlocal found
        out: list[Any] = []
        for stmt in block:
            if isinstance(stmt, gast.Break):
                found = True
                target = gast.copy_location(gast.Name(STOP, gast.Store(), None, None), stmt)
                stop = gast.Assign([target], gast.copy_location(gast.Constant(True, None), stmt), None)
                out.append(gast.copy_location(stop, stmt))
            elif isinstance(stmt, gast.If):
                out.append(gast.copy_location(gast.If(stmt.test, change(stmt.body), change(stmt.orelse)), stmt))
            elif isinstance(stmt, gast.With):
                out.append(gast.copy_location(gast.With(stmt.items, change(stmt.body), None), stmt))
            elif isinstance(stmt, gast.Try) and not (stmt.handlers or stmt.finalbody):
                out.append(gast.copy_location(gast.Try(change(stmt.body), [], [], []), stmt))
            else:
                out.append(stmt)
        return out

    made = change(stmts)
    return (made, True) if found else (stmts, False)


def _told(definition: Any) -> Any:
    """A `yield` whose value is read, or a `finally`, which runs when a generator is closed; None if there is none."""
    own = own_nodes(definition)
    tried = next((node for node in own if isinstance(node, gast.Try) and node.finalbody), None)
    if tried is not None:
        return tried
    alone = {id(node.value) for node in own if isinstance(node, gast.Expr)}
    return next((node for node in own if isinstance(node, gast.Yield | gast.YieldFrom) and id(node) not in alone), None)


def _stopping(stmts: list[Any], may_stop: bool) -> list[Any]:
    """The body of a generator with `yield from` as a loop; it returns where what takes its items wants no more."""
    out: list[Any] = []
    for stmt in stmts:
        match stmt:
            case gast.Expr(value=gast.YieldFrom(value=source)):
                item = gast.copy_location(gast.Name("$item", gast.Load(), None, None), stmt)
                step = gast.copy_location(gast.Expr(gast.copy_location(gast.Yield(item), stmt)), stmt)
                target = gast.copy_location(gast.Name("$item", gast.Store(), None, None), stmt)
                loop = gast.For(target, source, _stopping([step], may_stop), [], None)
                out.append(gast.copy_location(loop, stmt))
            case gast.Expr(value=gast.Yield()) if may_stop:
                target = gast.copy_location(gast.Name(STOP, gast.Store(), None, None), stmt)
                read = gast.copy_location(gast.Name(STOP, gast.Load(), None, None), stmt)
                leave = gast.copy_location(gast.Return(None), stmt)
                out.append(gast.copy_location(gast.Assign([target], stmt.value, None), stmt))
                out.append(gast.copy_location(gast.If(read, [leave], []), stmt))
            case gast.Try(handlers=[], finalbody=[], body=body):
                out.append(gast.copy_location(gast.Try(_stopping(body, may_stop), [], [], []), stmt))
            case gast.With():
                out.append(gast.copy_location(gast.With(stmt.items, _stopping(stmt.body, may_stop), None), stmt))
            case gast.If():
                blocks = (_stopping(stmt.body, may_stop), _stopping(stmt.orelse, may_stop))
                out.append(gast.copy_location(gast.If(stmt.test, *blocks), stmt))
            case gast.For():
                blocks = (_stopping(stmt.body, may_stop), _stopping(stmt.orelse, may_stop))
                out.append(gast.copy_location(gast.For(stmt.target, stmt.iter, *blocks, None), stmt))
            case gast.While():
                blocks = (_stopping(stmt.body, may_stop), _stopping(stmt.orelse, may_stop))
                out.append(gast.copy_location(gast.While(stmt.test, *blocks), stmt))
            case _:
                out.append(stmt)
    return out
