"""`tapec.function`: a function with tapes in its body, compiled as a whole.

Arguments, variables and live objects are inputs, as for a tape's block; at run time no tape exists.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.errors import LoweringError, TapecError, UsageError
from tapec.frontend.evaluator import DeadCode, Evaluator, freeze
from tapec.frontend.inline import call_function
from tapec.frontend.lower import Lowered, flatten_result, new_evaluator
from tapec.frontend.source import FunctionSource, source_of, undecorated
from tapec.frontend.values import Items, Static, Sym, Tup, Value
from tapec.optimise import tidy
from tapec.options import Options
from tapec.pipeline import callees_text
from tapec.syntax.core import Atom, Function, Name, Return, Store, walk
from tapec.tape.live import LiveObjects, Restart, Shared
from tapec_runtime.variables import Variable

_PLANS = 64
_RESTARTS = 200


@dataclass(frozen=True)
class Compiled:
    """One specialisation.

    enter      fetches the inputs from the arguments, or gives None where their structure differs
    run        inputs -> flat results, then new values of variables
    result     the structure of what the function returns
    assigned   positions of variables among the inputs, in the order of their new values
    written    positions of inputs that are written in place
    source     the generated text
    """

    enter: Any
    run: Any
    result: Any
    assigned: tuple[int, ...]
    written: tuple[int, ...]
    source: str


class CompiledFunction:
    """A function that is compiled for each structure of arguments that it is called with."""

    def __init__(self, function: types.FunctionType) -> None:
        self.py_func = function
        self._plans: list[Compiled] = []
        self._signature = inspect.signature(function)
        self.__qualname__ = function.__qualname__
        functools.update_wrapper(self, function)
        # update_wrapper would make other decorators look through to the plain function
        del self.__wrapped__  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        for plan in self._plans:
            found = plan.enter(arguments, {})
            if found is not None:
                return _run(plan, found[0])
        plan, objects = _lower(self.py_func, arguments)
        if plan.enter is not None:
            self._plans = [plan, *self._plans][:_PLANS]
        return _run(plan, objects)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return ev.call_object(self.py_func, args, kwargs, node)

    def source(self) -> str:
        """The generated source of every specialisation so far."""
        return "\n\n".join(plan.source for plan in self._plans)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        # by name where the decorated function is found there, as plain functions are pickled
        return self.__qualname__ if found is self else (compiled_function, (self.py_func,))


def compiled_function(f: Callable[..., Any]) -> CompiledFunction:
    """A compiled function from a function, lambda or Numba dispatcher."""
    if isinstance(f, CompiledFunction):
        return f
    plain = undecorated(f)
    if plain is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return CompiledFunction(plain)


def _run(plan: Compiled, objects: tuple[Any, ...]) -> Any:
    for position in plan.written:
        for other, value in enumerate(objects):
            shared = other != position and isinstance(value, np.ndarray)
            if shared and np.may_share_memory(objects[position], value):
                raise LoweringError("an argument that is written in place shares memory with another one")
    inputs = [obj.value() if isinstance(obj, Variable) else obj for obj in objects]
    results = plan.run(*inputs)
    for position, value in zip(plan.assigned, results[len(results) - len(plan.assigned) :], strict=True):
        objects[position].assign(value)
    return _structured(plan.result, results)


def _structured(structure: Any, leaves: tuple[Any, ...]) -> Any:
    if structure is None:
        return None
    if structure[0] in ("tuple", "list"):
        items = [_structured(item, leaves) for item in structure[2]]
        if structure[0] == "list":
            return items
        return tuple(items) if structure[1] is None else structure[1](*items)
    return leaves[structure[0]]


def _lower(f: types.FunctionType, arguments: dict[str, Any]) -> tuple[Compiled, tuple[Any, ...]]:
    source = source_of(f)
    shared = Shared(dict(arguments), None, overlays=False)
    for _ in range(_RESTARTS):
        try:
            return _attempt(f, source, arguments, shared)
        except Restart as restart:
            shared.preload += restart.chain
        except TapecError:
            if shared.pin:
                raise
            # integers as inputs were not enough: they may be structure
            shared.pin = True
    raise LoweringError(f"`{f.__name__}` reaches too much mutable structure below its loops and branches")


def _attempt(
    f: types.FunctionType, source: FunctionSource, arguments: dict[str, Any], shared: Shared
) -> tuple[Compiled, tuple[Any, ...]]:
    ev = new_evaluator()
    live = LiveObjects(ev, shared)
    live.recipe.root(f)
    definition: Any = source.node
    ev.span = source.span(definition)
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for parameter in inspect.signature(f).parameters.values():
        value = ev.wrap(arguments[parameter.name], None, ("name", parameter.name))
        if parameter.kind is parameter.VAR_POSITIONAL and isinstance(value, Tup):
            positional += value.items
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            raise UsageError(f"`{f.__name__}` takes `**{parameter.name}`, which cannot be compiled")
        else:
            positional.append(value)
    try:
        result = call_function(ev, f, positional, named, None)
    except DeadCode:
        result = Static(None)
    for obj, _, made in live.lists:
        contents = ev.heap[made]
        if not isinstance(contents, Items) or len(contents.values) != len(obj):
            raise LoweringError(
                f"`{f.__name__}` changes a list that it did not make", hint="return the new list instead"
            )
    leaves: list[Atom] = []
    structure = flatten_result(ev, result, leaves, ev.span)
    assigned = _assigned(ev, live)
    leaves += assigned.values()
    block = (*freeze(ev.root), Return(tuple(leaves)))
    params = tuple(leaf.name for leaf in live.leaves)
    core = Function(f.__name__ if f.__name__.isidentifier() else "function", params, block, ev.types)
    constants = frozenset(ev.constants)
    final = tidy(core, constants)
    callees = tuple(c.function for c in ev.callees.known.values() if c.function is not None)
    lowered = Lowered(core, structure, ev.constants, ev.roots, callees=callees)
    text = printer.function(final, True)
    program = Program(core.name, text, ev.constants, final, lowered, params)
    if callees:
        program = replace(program, prelude=callees_text(program, lowered, Options()))
    enter = live.recipe.finish([leaf.slot for leaf in live.leaves], []) if live.recipe.complete else None
    stored = frozenset(root for s in walk(block) if isinstance(s, Store) for root in ev.roots.get(s.array, ()))
    live.check_writes(stored)
    live.check_callees()
    written = tuple(k for k, leaf in enumerate(live.leaves) if leaf.name in stored)
    run = _several(compile_function(program), len(leaves))
    compiled = Compiled(enter, run, structure, tuple(assigned), written, text)
    inputs = tuple(leaf.obj for leaf in live.leaves)
    live.release()
    return compiled, inputs


def _several(run: Any, count: int) -> Any:
    """Results as a tuple, whatever their number."""
    if count == 0:
        return lambda *inputs: (run(*inputs), ())[1]
    return (lambda *inputs: (run(*inputs),)) if count == 1 else run


def _assigned(ev: Evaluator, live: LiveObjects) -> dict[int, Atom]:
    """Variables that end with another value than they had: position among the leaves -> new value."""
    found: dict[int, Atom] = {}
    for position, leaf in enumerate(live.leaves):
        symbol = live.values.get(id(leaf.obj)) if isinstance(leaf.obj, Variable) else None
        if symbol is None:
            continue
        contents = ev.heap[symbol.cell]  # type: ignore[attr-defined]
        assert isinstance(contents, Items) and isinstance(contents.values[0], Sym)
        if contents.values[0].atom != Name(leaf.name):
            found[position] = contents.values[0].atom
    return found
