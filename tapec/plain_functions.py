"""The Python function behind whatever may be differentiated, for those who need one with source."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any

from tapec.backend.carrier import written
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters, undecorated

_KEPT = 512


def plain_function(f: Any) -> types.FunctionType:
    """The Python function behind `f`, one that calls it for a derivative; UsageError if there is none."""
    if hasattr(f, "__tapec_lower__") and hasattr(f, "__tapec_key__"):
        return _calling(f)
    if isinstance(f, types.MethodType) and isinstance(f.__self__, type):
        return _calling(f)
    if isinstance(f, types.MethodType):
        raise UsageError(
            f"`{f.__qualname__}` is a method of an object, which has no type that could be written",
            hint="call tapec.grad, or take a function of the arrays it uses",
        )
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return function


@functools.lru_cache(maxsize=_KEPT)
def _calling(derivative: Any) -> types.FunctionType:
    """A function with source that calls a derivative, or a method of a class."""
    if isinstance(derivative, types.MethodType):
        carrier: Any = derivative.__func__
        own: Mapping[str, inspect.Parameter] = inspect.signature(derivative).parameters
    else:
        carrier = getattr(derivative, "py_func", None) or derivative.carrier
        own = parameters(carrier)
    heads, passed, named = [], [], []
    defaults: dict[str, Any] = {}
    for parameter in own.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        heads.append(f"{star}{parameter.name}")
        if parameter.name in getattr(carrier, "keyword_only", ()):
            named.append(f"{parameter.name}={parameter.name}")
        else:
            passed.append(heads[-1])
        if parameter.default is not parameter.empty:
            defaults[f"default_{parameter.name}"] = parameter.default
            heads[-1] += f"=default_{parameter.name}"
    made: types.FunctionType = written(derivative, carrier, heads, passed, named, **defaults)
    return made
