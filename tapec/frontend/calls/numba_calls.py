"""Calls of what only Numba knows: C callbacks, and functions that `@overload` gives other source in compiled code."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from numba.core import errors as numba_errors
from numba.core import types as nt

from tapec.errors import UnsupportedFunction
from tapec.frontend.calls import numba_guvectorize, numba_stencils
from tapec.frontend.calls.inlining import call_function, plain
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Static, Sym, Value
from tapec.frontend.source.numba_decorators import callback_function, of_callback, of_overload
from tapec.frontend.structures import numba_conversions

# whose functions have rules, or source that compiled code does not run
_LIBRARIES = frozenset({"_bisect", "_heapq", "builtins", "cmath", "math", "numba", "numpy", "operator"})


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of an object of Numba's, or one that Numba would make of another function; None of others."""
    compiled = ev.frame is not None and ev.frame.flags is not None
    if (callback := callback_function(obj)) is not None:
        # from Python, a call of the plain function
        return call_function(ev, callback, args, kwargs, node, jitted=of_callback(obj) if compiled else None)
    if numba_guvectorize.is_generalised(obj):
        return numba_guvectorize.call(ev, obj, args, kwargs, node)
    if numba_stencils.is_stencil(obj):
        return numba_stencils.call(ev, obj, args, kwargs, node)
    return _overloaded(ev, obj, args, kwargs, node) if compiled else None


def _overloaded(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of what an `@overload` of the user's gives for `obj` and these arguments."""
    templates = list(_templates(obj))
    if not templates:
        return None
    args = plain(ev, args)
    kwargs = {key: ev.materialise(value) for key, value in kwargs.items()}
    for template in templates:
        for literal in (True, False) if template.prefer_literal else (False, True):
            types_ = [_type(ev, value, literal) for value in args]
            named = {key: _type(ev, value, literal) for key, value in kwargs.items()}
            if any(one is None for one in (*types_, *named.values())):
                continue
            try:
                found = template._overload_func(*types_, **named)
            except (numba_errors.NumbaError, TypeError):
                continue
            if isinstance(found, types.FunctionType):
                said = of_overload(template._jit_options, template._inline.value)
                return call_function(ev, found, args, kwargs, node, jitted=said)
            if found is not None:
                message = f"the @overload of `{obj.__name__}` gives something else than a function"
                ev.fail(UnsupportedFunction, message, node)
    shown = numba_conversions.described([*args, *kwargs.values()])
    ev.fail(UnsupportedFunction, f"no @overload of `{obj.__name__}` takes ({shown})", node)


def _templates(obj: Any) -> Iterator[Any]:
    """The templates of overloads that a function has; of those that Numba makes, one of its own function has none."""
    try:
        kind = numba_types.context().resolve_value_type(obj)
    except (ValueError, TypeError, numba_errors.NumbaError):
        return
    for template in getattr(kind, "templates", ()):
        function = getattr(template, "_overload_func", None)
        if function is not None and not (_is_of_library(function) and _is_of_library(obj)):
            yield template


def _is_of_library(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] in _LIBRARIES


def _type(ev: Evaluator, value: Value, literal: bool) -> Any:
    constant: Any = value.obj if isinstance(value, Static) and isinstance(value.obj, str) else None
    if isinstance(value, Sym) and isinstance(value.constant, int):
        constant = value.constant
    if literal and constant is not None:
        return nt.literal(constant)
    return numba_conversions.type_of(ev, value)
