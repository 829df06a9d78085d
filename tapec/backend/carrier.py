"""Functions that stand for others: with the signature of a derivative, or with source that calls something."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import types
from collections.abc import Callable, Sequence
from typing import Any

from tapec.errors import UnsupportedType
from tapec.frontend.source.function_source import parameters


def signature_function(
    function: types.FunctionType, name: str, doc: str, extra: Sequence[str] = ()
) -> types.FunctionType:
    """A function with the signature of `function`, for Numba to fold keyword arguments by.

    Numba knows no keyword-only parameters: here they are ordinary ones, after the others; their names are in
    `keyword_only`.  Last parameters of the names `extra` take the defaults away.
    """
    own = parameters(function)
    namespace: dict[str, Any] = {}
    parts: list[str] = []
    for param in own.values():
        text = f"*{param.name}" if param.kind is inspect.Parameter.VAR_POSITIONAL else param.name
        required = param.default is param.empty and param.kind is not param.VAR_POSITIONAL
        if required and any("=" in part for part in parts):
            raise UnsupportedType(
                f"`{function.__name__}` has a keyword-only parameter `{param.name}` without default after one with",
                hint="give it a default",
            )
        if param.default is not inspect.Parameter.empty and not extra:
            namespace[f"default_{param.name}"] = param.default
            text += f"=default_{param.name}"
        parts.append(text)
    for one in extra:
        while one in parts:
            one += "_"
        parts.append(one)
    exec(f"def made({', '.join(parts)}): pass", namespace)
    made: Any = namespace["made"]
    made.keyword_only = frozenset(p.name for p in own.values() if p.kind is p.KEYWORD_ONLY)
    made.__name__ = name
    made.__qualname__ = function.__qualname__
    made.__doc__ = doc
    made.__module__ = function.__module__
    found: types.FunctionType = made
    return found


def of_count(called: Any, function: Callable[..., Any], count: int) -> Any:
    """A function of `count` arguments by position that calls something with the parameters of `function`."""
    heads: list[str] = []
    named: list[str] = []
    for name, parameter in parameters(function).items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            heads += [f"{name}_{k}" for k in range(count - len(heads))]
        else:
            heads.append(name)
            named += [f"{name}={name}"] if parameter.kind is parameter.KEYWORD_ONLY else []
    return written(called, function, heads, heads[: len(heads) - len(named)], named)


def written(called: Any, carrier: Any, heads: list[str], passed: list[str], named: list[str], **names: Any) -> Any:
    """A function with source that calls something.

    carrier  whose name, docstring and module it has
    heads    its parameters;  passed, named  what it hands on by position and by name;  names  what these read
    """
    call = "called"
    while any(part.strip("*").partition("=")[0] == call for part in heads):
        call += "_"
    namespace: dict[str, Any] = {call: called, "__name__": carrier.__module__, **names}
    name = carrier.__name__ if carrier.__name__.isidentifier() else "function"
    text = f"def {name}({', '.join(heads)}):\n    return {call}({', '.join((*passed, *named))})\n"
    made = from_text(name, text, namespace)
    made.__doc__ = carrier.__doc__
    return made


def from_text(name: str, text: str, namespace: dict[str, Any]) -> Any:
    """The function that a text defines under a name; its source is found as that of other functions is."""
    # the same text is in one file, however often it is needed
    file = f"<call of {name} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]
