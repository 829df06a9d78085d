"""Decorators above inner functions: applied, but for Numba's, which change no result."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import gast
import numba

from tapec.frontend.call_arguments import Args, Kwargs
from tapec.frontend.context import Manager
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.source import undecorated
from tapec.frontend.values import Func, Static, Value

_TRANSPARENT = (numba.njit, numba.jit, functools.wraps)


def decorated(ev: Evaluator, decorator: Any, function: Value, node: Any) -> Value:
    """A function under one decorator."""
    options = isinstance(decorator, gast.Call)
    found = ev.expr(decorator.func if options else decorator)
    if isinstance(found, Static) and any(found.obj is one for one in _TRANSPARENT):
        return function  # its options, types among them, need not be known
    if isinstance(found, Static) and found.obj is contextlib.contextmanager and ev.live is not None:
        return Static(Manager(function))
    return ev.apply(ev.expr(decorator) if options else found, [function], {}, node)


def jitted(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`njit(f)`, and `njit(...)` before it is given the function."""
    first = args[0] if args else None
    if isinstance(first, Func) or (isinstance(first, Static) and undecorated(first.obj) is not None):
        return first
    return Static(unchanged)


def wraps(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`functools.wraps(f)`, which gives the function it is applied to a name."""
    return Static(unchanged)


def unchanged(function: Any) -> Any:
    """What a transparent decorator with options does."""
    return function


def first(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A call of `unchanged`."""
    return args[0]
