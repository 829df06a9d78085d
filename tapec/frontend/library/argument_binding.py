"""Arguments of functions that are not inlined, where the function's own signature has them.

A handler takes what a function needs by position, so that arguments given by name are put in their places.  Functions
of our library take the options that they know by name: what NumPy takes by position beyond that gets its name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Static, Value, is_none

Parameter = inspect.Parameter


@functools.cache
def parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function; none where its signature does not tell."""
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()


def by_position(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function that may be given by position."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one for one in parameters(function) if one.kind in kinds)


def in_place(
    ev: Evaluator, function: Any, title: str, args: Args, kwargs: Kwargs, node: Any, options: bool = False
) -> tuple[Args, Kwargs]:
    """What the function needs, by position where it is given by name; so are options that follow, if `options`."""
    if not kwargs:
        return args, kwargs
    args, kwargs = list(args), dict(kwargs)
    for one in by_position(function)[len(args) :]:
        needed = one.default is Parameter.empty
        if not needed and not options:
            break
        if one.kind is Parameter.POSITIONAL_ONLY or one.name not in kwargs:
            if needed and not args:
                ev.fail(TypeMismatch, f"`{title}` needs its first argument by position", node)
            break
        args.append(kwargs.pop(one.name))
    return args, kwargs


def by_name(theirs: Any, ours: Callable[..., Any], args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Options of a function of NumPy by name; those that ours does not know are left out if they have their defaults.

    theirs  the function of NumPy
    ours    the one of our library that stands for it
    """
    there, here = by_position(theirs), by_position(ours)
    known = {one.name for one in parameters(ours)}
    if any(one.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for one in parameters(ours)):
        return args, kwargs
    named = {one.name: value for one, value in zip(there[len(here) :], args[len(here) :], strict=False)}
    if len(args) > len(there) or named.keys() & kwargs.keys():
        return args, kwargs
    named |= kwargs
    defaults = {one.name: one.default for one in parameters(theirs)}
    said = {key: value for key, value in named.items() if key in known or not _is_default(value, defaults.get(key))}
    return args[: len(here)], said


def _is_default(value: Value, default: Any) -> bool:
    if is_none(value):
        return default is None
    given = value.obj if isinstance(value, Static) else getattr(value, "constant", None)
    if given is None or isinstance(given, np.ndarray):
        return False
    if isinstance(given, bool | int | float | str):
        return type(given) is type(default) and bool(given == default)
    return given is default
