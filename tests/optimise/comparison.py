"""Run core functions as plain Python, and compare what they return bit by bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np

import tapec_runtime
from tapec.backend import printer
from tapec.backend.signature import arguments
from tapec.options import Options
from tapec.pipeline import Program, build
from tapec.syntax.core import Function
from tests.optimise.reading import read
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
    scope: dict[str, Any] = {"np": np, "math": math, "numba": numba, "tapec_runtime": tapec_runtime}
    scope |= namespace or {}
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


def close(first: tuple[Any, ...], second: tuple[Any, ...], tolerance: float) -> bool:
    """Whether two results agree up to rounding."""
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
        scale = 1.0 + np.max(np.abs(np.nan_to_num(one)), initial=0.0)
        if not np.allclose(one, other, tolerance, tolerance * scale, equal_nan=True):
            return False
    return True


def check_results(change: Callable[[Function], Function], text: str, *runs: Args, tolerance: float = 0.0) -> None:
    """A pass changes a program, and what it computes of each of some arguments stays the same, up to a tolerance."""
    core = read(text)
    changed = change(core)
    assert changed.body != core.body
    for args in runs:
        expected, got = run(core, args), run(changed, args)
        assert not isinstance(expected[0], type), f"{args} {expected}"
        alike = close(expected, got, tolerance) if tolerance else identical(expected, got)
        assert alike, f"{args}\n{printer.function(changed)}\n{expected}\n{got}"


def check_passes(
    core: Function,
    passes: Iterable[Callable[[Function, frozenset[str]], Function]],
    args: Args,
    namespace: dict[str, Any],
    constants: frozenset[str],
) -> Function:
    """Apply passes in order; each result must compute the same, and each input must be left alone."""
    expected = run(core, args, namespace)
    for change in passes:
        before = repr(core)
        changed = change(core, constants)
        assert repr(core) == before, f"{change.__name__} changed its input"
        assert changed.params == core.params
        got = run(changed, args, namespace)
        texts = "\n".join(printer.function(one) for one in (core, changed))
        assert identical(expected, got), f"{change.__name__}\n{texts}\n{expected}\n{got}"
        core = changed
    return core


def keeps_values(change: Callable[[Function], Function], text: str, *cases: Args) -> None:
    """A pass changes the program in `text`, and what it makes computes the same from some arguments, bit by bit."""
    before = read(text)
    after = change(before)
    texts = [printer.function(one, quote=False) for one in (before, after)]
    assert texts[0] != texts[1], texts[0]
    for args in cases:
        expected, got = run(before, args), run(after, args)
        assert identical(expected, got), "\n".join((*texts, f"{args}", f"{expected}", f"{got}"))
