"""`tapec.function`: a function with tapes in its body, compiled as a whole.

Arguments, variables and live objects are inputs, as for a tape's block; at run time no tape exists.
Where a tape is watched, reset or asked in a branch or loop that depends on numbers, the function is
compiled for the way that it goes, and for every other way when it goes there.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from tapec.backend.derivative_base import remake
from tapec.errors import LoweringError, UsageError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Value
from tapec.frontend.source.function_source import own_signature, undecorated
from tapec.frontend.source.numba_decorators import packed
from tapec.frontend.source.pickled_functions import files_of
from tapec.options import DEFAULT, Options
from tapec.tape.compiled_functions.first_calls import GivenUp
from tapec.tape.compiled_functions.function_lowering import CompiledBody, Found, lowered_call, taken_parameters
from tapec.tape.plan.tape_plan import PLANS_PER_PLACE, warn_of_many
from tapec.tape.run.branch_decisions import warn_of_iterations
from tapec_runtime.locking import compiling

_WAYS = 32
# a function's variables are found on other ways
_NO_MODULE: dict[str, Any] = {}


class CompiledFunction:
    """A function that is compiled for each structure of arguments that it is called with."""

    __qualname__: str

    def __init__(
        self, function: types.FunctionType, options: Options = DEFAULT, jit: Literal[True] | None = None
    ) -> None:
        # what is set on the function may have the names of what is set here
        functools.update_wrapper(self, function, updated=())
        # update_wrapper would make other decorators look through to the plain function
        del self.__wrapped__  # type: ignore[attr-defined]
        self.__signature__ = own_signature(function)
        self.py_func, self.options, self.jit = function, options, jit
        self._plans: list[CompiledBody] = []
        self._bind()

    def _bind(self) -> None:
        """Take arguments as the function does now."""
        self._parameters = taken_parameters(self.py_func)
        self._arguments = _binder(self.py_func, self._parameters)
        # no defaults tell whether there are others now where there are more by name, or a wrapped function has them
        others = self.py_func.__kwdefaults__ or self.py_func.__code__.co_flags & inspect.CO_VARKEYWORDS
        self._defaults: Any = self if others else self.py_func.__defaults__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f = self.py_func
        plain = f.__defaults__ is self._defaults and f.__kwdefaults__ is None
        if not plain and taken_parameters(f) is not self._parameters:
            self._bind()
        arguments = self._arguments(*args, **kwargs)
        plan, objects, extra = self._known(arguments) or self._specialised(arguments)
        return plan.call(objects, extra) if plan.first is None else self._first_called(plan, objects, extra, arguments)

    def _first_called(
        self, plan: CompiledBody, objects: tuple[Any, ...], extra: tuple[Any, ...], arguments: dict[str, Any]
    ) -> Any:
        """A call of a plan that has not been compiled."""
        assert plan.first is not None
        if plan.first.goes_on:
            with suppress(GivenUp):
                return plan.call(objects, extra)
        plan, objects, extra = self._compiled(plan, arguments)
        return plan.call(objects, extra)

    @compiling
    def _compiled(self, plan: CompiledBody, arguments: dict[str, Any]) -> Found:
        """The compiled program in the place of one that runs as Python."""
        found = lowered_call(self.py_func, arguments, self.options, True)
        self._plans = [found[0] if one is plan else one for one in self._plans]
        return found

    def _known(self, arguments: dict[str, Any]) -> Found | None:
        for plan in self._plans:
            found = plan.enter(arguments, _NO_MODULE)
            if found is not None and (plan.checks is None or plan.checks.hold(plan.leaves, found[0])):
                return plan, *found
        return None

    @compiling
    def _specialised(self, arguments: dict[str, Any]) -> Found:
        # another thread may have been here
        found = self._known(arguments)
        if found is not None:
            return found
        decided = [getattr(plan.checks, "decided", plan.checks) for plan in self._plans]
        if sum(checks is not None for checks in decided) >= _WAYS:
            raise LoweringError(
                f"`{self.py_func.__name__}` asks its tapes differently in each of {_WAYS} calls",
                reason="it is compiled for every way through the branches and loops that decide about its tapes",
                hint="watch, reset and ask outside of branches and loops",
            )
        found = lowered_call(self.py_func, arguments, self.options, self.jit is True)
        code = self.py_func.__code__
        warn_of_iterations(found[0].iterations, f"`{code.co_name}`", code.co_filename, code.co_firstlineno)
        if found[0].enter is not None:
            if len(self._plans) == PLANS_PER_PLACE:
                warn_of_many(f"`{code.co_name}`", code, code.co_firstlineno, PLANS_PER_PLACE)
            self._plans = [found[0], *self._plans][:PLANS_PER_PLACE]
        return found

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
        recipe = compiled_function, self.py_func, self.options, self.jit
        return self.__qualname__ if found is self else (remake, (files_of(recipe), *packed(recipe)))


def compiled_function(
    f: Callable[..., Any], options: Options | None = None, jit: Literal[True] | None = None
) -> CompiledFunction:
    """A compiled function from a function, lambda or Numba dispatcher; without options, with those that it has."""
    if isinstance(f, CompiledFunction):
        same = options in (None, f.options) and jit in (None, f.jit)
        return f if same else CompiledFunction(f.py_func, options or f.options, jit or f.jit)
    plain = undecorated(f)
    if plain is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return CompiledFunction(plain, options or DEFAULT, jit)


def _binder(f: types.FunctionType, own: Mapping[str, inspect.Parameter]) -> Any:
    """A function with the parameters of `f` that returns the arguments by name."""
    namespace: dict[str, Any] = {}
    heads, star = [], False
    for parameter in own.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise UsageError(f"`{f.__name__}` takes `**{parameter.name}`, which cannot be compiled")
        text = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
        if parameter.default is not parameter.empty:
            namespace[f"default_{parameter.name}"] = parameter.default
            text += f"=default_{parameter.name}"
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            heads.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        heads.append(text)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            heads = [p for p in heads if p != "/"] + ["/"]
    names = ", ".join(f"{name!r}: {name}" for name in own)
    name = f.__name__ if f.__name__.isidentifier() else "function"
    exec(f"def {name}({', '.join(heads)}): return {{{names}}}", namespace)
    return namespace[name]
