"""Run core functions as plain Python, and compare what they return bit by bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.backend import printer
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import Program, build
from tapec.syntax.core import Function
from tests.oracles import Args, clone, leaves


def unoptimised(function: Any, args: Args, kind: str, wrt: tuple[int, ...]) -> Program:
    """The derivative of `function` for the types of `args`, as the transforms leave it."""
    from numba import typeof

    labels = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    types = arguments(tuple(typeof(arg) for arg in args), labels)
    return build(function, types, kind, wrt, Options(level=0))


def run(core: Function, args: Args, namespace: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """The leaves of what a core function returns, and of its arguments after the call."""
    text = printer.function(core)
    scope: dict[str, Any] = {"np": np, "math": math, "tapec_runtime": tapec_runtime, **(namespace or {})}
    exec(compile(text, f"<{core.name}>", "exec"), scope)
    mine = clone(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = scope[core.name](*mine)
        except (ValueError, ZeroDivisionError, IndexError, AssertionError, UnboundLocalError) as error:
            return (type(error),)
    return (*leaves(results), *leaves(mine))


def identical(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two results agree in every bit, but for the sign of a zero."""
    if len(first) != len(second):
        return False
    for a, b in zip(first, second, strict=True):
        if isinstance(a, type) or isinstance(b, type):
            if a is not b:
                return False
            continue
        one, other = np.asarray(a), np.asarray(b)
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            return False
    return True


def check_pass(core: Function, change: Callable[[Function], Function], args: Args, namespace: dict[str, Any]) -> Function:
    """Apply a pass; the result must compute the same, and the input must be left alone."""
    before = repr(core)
    changed = change(core)
    assert repr(core) == before, "the pass changed its input"
    assert set(changed.params) == set(core.params)
    expected, got = run(core, args, namespace), run(changed, args, namespace)
    assert identical(expected, got), f"{printer.function(core)}\n{printer.function(changed)}\n{expected}\n{got}"
    return changed
