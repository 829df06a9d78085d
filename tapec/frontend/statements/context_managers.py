"""`with` statements: over tapes, which say themselves how they are lowered, and over objects of a running program."""

from __future__ import annotations

import contextlib
import types
import warnings
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from tapec.errors import LoweringError, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import NONE, Static, Sym, Value, describe
from tapec.frontend.iteration.generators import Generator, drive
from tapec.frontend.statements.assignments import bind


def with_(ev: Evaluator, node: gast.With) -> None:
    _within(ev, node, list(node.items))


def _within(ev: Evaluator, node: gast.With, items: list[Any]) -> None:
    """The body inside the contexts `items`, outermost first."""
    if not items:
        ev.statements(node.body)
        return
    first, *rest = items
    value: Value = ev.expr(first.context_expr)
    if isinstance(value, Managed):
        _managed(ev, node, value, first, rest)
        return
    result = _enter(ev, value, first.context_expr)
    if first.optional_vars is not None:
        bind(ev, first.optional_vars, result, node)
    try:
        _within(ev, node, rest)
    except Raised as error:
        if not _exit(ev, value, error, node):
            raise
        return
    dead, broke = _resumed(ev)
    _exit(ev, value, None, node)
    ev.dead, ev.broke = ev.dead or dead, ev.broke or broke


def _resumed(ev: Evaluator) -> tuple[bool, bool]:
    """Go on with what leaves a context, however its body ended; how that was."""
    dead, broke, ev.dead, ev.broke = ev.dead, ev.broke, ev.dead and not ev.deciding, False
    return dead, broke


# contexts that change nothing that is computed


class Surroundings:
    """A context such as `np.errstate(divide="ignore")`."""

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        """Nothing that the program would notice."""

    __tapec_exit__ = __tapec_enter__


def surroundings(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A call of one of `SURROUNDINGS`."""
    if any(isinstance(value, Static) and value.obj == "raise" for value in kwargs.values()):
        ev.fail(
            UnsupportedSyntax,
            "`np.errstate` that makes floating-point errors raise",
            node,
            reason="compiled code does not notice them",
            hint="test for what must not happen, and raise",
        )
    return Static(Surroundings())


SURROUNDINGS = (np.errstate, np.printoptions, warnings.catch_warnings)


# `contextlib.ExitStack`


class ContextStack:
    """An `ExitStack` that lowered code makes; `entered` are the contexts on it."""

    def __init__(self) -> None:
        self.entered: list[Value] = []
        self.block: list[Any] | None = None

    def __tapec_enter__(self, ev: Evaluator, node: Any) -> None:
        self.block = ev.block

    def __tapec_exit__(self, ev: Evaluator, node: Any) -> None:
        for value in reversed(self.entered):
            _exit(ev, value, None, node)

    @property
    def enter_context(self) -> Entering:
        return Entering(self)


class Entering:
    """The method `enter_context` of a stack, or of a live one, which leaves its contexts when the program does."""

    def __init__(self, stack: ContextStack | None = None) -> None:
        self.stack = stack

    def __tapec_lower__(self, ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        value = args[0] if args else None
        if not isinstance(value, Static) or not hasattr(value.obj, "__tapec_enter__"):
            ev.fail(UnsupportedSyntax, "an ExitStack that enters other contexts than tapes", node, hint="use `with`")
        if self.stack is not None:
            if self.stack.block is not ev.block:
                ev.fail(UnsupportedSyntax, "a context that an ExitStack enters in a branch or loop", node)
            self.stack.entered.append(value)
        return _enter(ev, value, node)


def exit_stack(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`contextlib.ExitStack()`."""
    return Static(ContextStack())


SPECIAL: dict[Any, Any] = {**dict.fromkeys(SURROUNDINGS, surroundings), contextlib.ExitStack: exit_stack}


# `contextlib.contextmanager`


@dataclass(frozen=True, eq=False)
class Managed(Value):
    """A call of a generator function under `contextlib.contextmanager`: the body runs at its `yield`."""

    generator: Generator


class Manager:
    """A function defined in the code that is lowered, under `contextlib.contextmanager`."""

    def __init__(self, function: Value) -> None:
        self.function = function

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return managed(ev, ev.apply(self.function, args, kwargs, node), node)


def is_manager(function: Any) -> bool:
    """Whether a function is what `contextlib.contextmanager` gives."""
    return isinstance(function, types.FunctionType) and function.__code__ is _MANAGER


_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__


def managed(ev: Evaluator, called: Value, node: Any) -> Managed:
    """The context of a generator that was called."""
    if not isinstance(called, Generator):
        # the decisions that it depends on are not known here
        ev.fail(LoweringError, "a context of a generator, inside a loop over numbers", node)
    return Managed(called)


def _managed(ev: Evaluator, node: gast.With, value: Managed, item: Any, rest: list[Any]) -> None:
    ended: list[tuple[bool, bool]] = []
    scope, swallowed = ev.frame, True

    def body(given: Value) -> None:
        nonlocal swallowed
        if ended:
            ev.fail(LoweringError, "a context manager that yields more than once", node)
        ended.append((False, False))
        inner, ev.frame = ev.frame, scope
        if item.optional_vars is not None:
            bind(ev, item.optional_vars, given, node)
        _within(ev, node, rest)
        ended[0] = _resumed(ev)
        swallowed, ev.frame = False, inner

    drive(ev, value.generator, body)
    if not ended:
        ev.fail(LoweringError, "a context manager that does not yield", node)
    # where the body raised and the generator goes on, the statement ends here
    dead, broke = ended[0] if not swallowed else (False, False)
    ev.dead, ev.broke = ev.dead or dead, ev.broke or broke


def _enter(ev: Evaluator, value: Value, node: Any) -> Value:
    """Enter a context; what `as` binds."""
    manager: Any = value.obj if isinstance(value, Static) else None
    if hasattr(manager, "__tapec_enter__"):
        manager.__tapec_enter__(ev, node)
        return value
    # an object may keep exceptions to itself: which ones are raised must be known
    result = None if ev.live is None or not ev.deciding else ev.live.operator("__enter__", [value], node)
    if result is None:
        ev.fail(
            UnsupportedSyntax,
            f"cannot differentiate a `with` over {describe(value)}",
            node,
            hint="tapes are the contexts that can be differentiated",
        )
    return result


def _exit(ev: Evaluator, value: Value, error: Raised | None, node: Any) -> bool:
    """Leave a context; whether it keeps an exception to itself."""
    manager: Any = value.obj if isinstance(value, Static) else None
    if hasattr(manager, "__tapec_exit__"):
        manager.__tapec_exit__(ev, node)
        return False
    assert ev.live is not None
    kind: Value = NONE if error is None else Static(error.cls)
    result = ev.live.operator("__exit__", [value, kind, NONE, NONE], node)
    if error is None or result is None:
        return False
    kept = ev.decided(ev.truth(result, node), node)
    return isinstance(kept, Sym) and kept.constant is True
