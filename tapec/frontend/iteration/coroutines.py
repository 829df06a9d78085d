"""Generators whose items are asked for one by one: `next(g)`, `g.send(x)`, `zip(g, h)`.

A generator that feeds a `for` runs the loop's body at each `yield` (`generators.drive`).  Here its caller goes on
instead, so that two evaluations are under way.  The generator's has a thread of its own; only one of the two runs,
and has the compiler's lock.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import types
from collections.abc import Iterator
from typing import Any

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Frame, Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Instance,
    Iteration,
    Static,
    Stream,
    Tup,
    Value,
    describe,
    is_none,
    number,
    static_int,
)
from tapec.frontend.iteration.generators import RESULTS, Generator, count_iteration
from tapec.frontend.iteration.iterables import as_iteration, iterable
from tapec.frontend.iteration.iterators import END, each, note, position
from tapec.frontend.source.source_liveness import SourceLiveness, assigned
from tapec.frontend.source.tail_exits import RETURN, tail_exits
from tapec_runtime.locking import turns

_UNDER_WAY = Static("its items are taken one by one")


class Closed(BaseException):
    """Nobody asks a generator for more."""


class Coroutine:
    """A generator that runs from `yield` to `yield`.

    state   what the evaluator works on while the generator runs: its frame, frames, line, ...
    result  what the generator returned
    """

    def __init__(self, ev: Evaluator, generator: Generator) -> None:
        self.ev, self.generator = ev, generator
        frame = generator.frame
        self.body = tail_exits(list(generator.definition.body))
        frame.env = dict(generator.env)
        frame.liveness = SourceLiveness(self.body, RESULTS)
        frame.local_names = assigned(self.body) - frame.outer
        frame.consumer = self._yield
        self.state = frame, [ev.frames[0], frame], ev.span, False, False, list(ev.inlining)
        self.sent: Value = NONE
        self.item: Value = NONE
        self.result: Value = NONE
        self.error: BaseException | None = None
        self.begun = self.ended = self.closed = self.running = False
        self.turns = turns()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def items(self) -> Iterator[Value]:
        while not self.ended:
            item = self.step(NONE)
            if not self.ended:
                yield item

    def step(self, sent: Value) -> Value:
        """The next item; `ended` says whether there was none."""
        ev = self.ev
        outer = ev.frame, ev.frames, ev.span, ev.dead, ev.broke, ev.inlining
        ev.waiting = [stack for stack in (*ev.waiting, ev.frames) if stack is not self.state[1]]
        ev.frame, ev.frames, ev.span, ev.dead, ev.broke, ev.inlining = self.state
        self.sent = sent
        self._resume()
        self.state = ev.frame, ev.frames, ev.span, ev.dead, ev.broke, ev.inlining
        ev.frame, ev.frames, ev.span, ev.dead, ev.broke, ev.inlining = outer
        ev.waiting = [stack for stack in ev.waiting if stack is not ev.frames]
        if not self.ended:
            ev.waiting.append(self.state[1])
        if self.error is not None:
            raise self.error
        return self.item

    def close(self) -> None:
        if self.begun and not self.ended:
            self.closed = True
            self._resume()

    def _resume(self) -> None:
        """Let the generator run until it yields or ends."""
        self.running = True
        if self.begun:
            self.turns.notify_all()
        else:
            self.begun = True
            self.thread.start()
        self.turns.wait_for(lambda: not self.running)

    def _run(self) -> None:
        with self.turns:
            try:
                self.ev.statements(self.body)
                note(self.ev, self.generator.progress, END)
                self.result = self.generator.frame.env.get(RETURN, NONE)
            except Closed:
                pass
            except BaseException as error:
                self.error = error
            self.ended, self.running = True, False
            self.turns.notify_all()

    def _yield(self, value: Value) -> Value:
        count_iteration(self.ev)
        self.item, self.running = value, False
        self.turns.notify_all()
        self.turns.wait_for(lambda: self.running)
        if self.closed:
            raise Closed
        return self.sent


def close(ev: Evaluator) -> None:
    """End what generators still wait for, and let go of their frames."""
    for coroutine in ev.coroutines.values():
        coroutine.close()
        coroutine.generator.frame.consumer = None
        del coroutine.state
    ev.coroutines.clear()
    ev.waiting = []


def coroutine_of(ev: Evaluator, generator: Generator, node: Any = None) -> Coroutine:
    """The run of a generator, begun by the first who asks."""
    known: Coroutine | None = ev.coroutines.get(generator.progress)
    if known is None:
        given = position(ev, generator, generator.progress, node)
        known = ev.coroutines[generator.progress] = Coroutine(ev, generator)
        known.ended = given is None
        note(ev, generator.progress, _UNDER_WAY)
    return known


def all_frames(ev: Evaluator) -> list[Frame]:
    """The frames that are open, those of generators that wait included."""
    return list({id(frame): frame for stack in (ev.frames, *ev.waiting) for frame in stack}.values())


# who asks


def one_by_one(ev: Evaluator, value: Value) -> bool:
    """Whether the items of a value are made while somebody asks for them."""
    if isinstance(value, Static | Instance) and ev.live is not None and ev.deciding:
        cls = value.cls if isinstance(value, Instance) else type(value.obj)
        return isinstance(inspect.getattr_static(cls, "__iter__", None), types.FunctionType)
    chosen = isinstance(value, Iteration) and value.kind == "filter" and ev.deciding
    return chosen or isinstance(value, Generator | Stream)


def stream(ev: Evaluator, value: Value, node: Any) -> Iterator[Value]:
    """The items of anything, one by one."""
    value = iterable(ev, value, node)
    if isinstance(value, Generator):
        return coroutine_of(ev, value, node).items()
    if isinstance(value, Stream):
        return value.items
    return each(ev, as_iteration(ev, value, node), node)


def lazily(ev: Evaluator, function: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """What a built-in function makes of generators, item by item; None for functions that take all items at once."""
    if function is next:
        item = next(stream(ev, args[0], node), None)
        if item is None and len(args) == 1:
            raise Raised(StopIteration)
        return args[1] if item is None else item
    if function is iter and len(args) == 1:
        return Stream(stream(ev, args[0], node))
    if function is enumerate:
        start = ev.scalar(kwargs.get("start", args[1] if len(args) > 1 else number(0)))
        pairs = enumerate(stream(ev, args[0], node))
        return Stream(Tup((ev.op("+", start, number(k)), item)) for k, item in pairs)
    if function is zip and not kwargs:
        rows = zip(*(stream(ev, arg, node) for arg in args), strict=False)
        return Stream(Tup(row) for row in rows)
    if function is map:
        rows = zip(*(stream(ev, arg, node) for arg in args[1:]), strict=False)
        return Stream(ev.materialise(ev.apply(args[0], list(row), {}, node)) for row in rows)
    if function is filter:
        return Stream(_kept(ev, args[0], stream(ev, args[1], node), node))
    if function is itertools.chain:
        return Stream(item for arg in args for item in stream(ev, arg, node))
    if function is itertools.pairwise:
        return Stream(Tup(pair) for pair in itertools.pairwise(stream(ev, args[0], node)))
    if function is itertools.islice:
        bounds = [None if is_none(one) else static_int(ev.decided(ev.scalar(one, node), node)) for one in args[1:]]
        return Stream(itertools.islice(stream(ev, args[0], node), *bounds))
    return None


def _kept(ev: Evaluator, function: Value, items: Iterator[Value], node: Any) -> Iterator[Value]:
    for item in items:
        verdict = item if is_none(function) else ev.apply(function, [item], {}, node)
        if ev.decided(ev.truth(verdict, node), node).constant:
            yield item


def method(ev: Evaluator, owner: Generator, name: str, args: Args, node: Any) -> Value:
    """A method of a generator."""
    if name not in ("send", "__next__"):
        ev.fail(UnsupportedSyntax, f"the method `{name}` of {describe(owner)}", node)
    coroutine = coroutine_of(ev, owner, node)
    if not coroutine.ended:
        item = coroutine.step(args[0] if args else NONE)
        if not coroutine.ended:
            return item
    raise Raised(StopIteration)
