"""Calls of `tapec.ode.solve`: in Python, and in lowered code, where parameters become the numbers that they hold."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tapec import ode_rules
from tapec.backend.carrier import from_text
from tapec.errors import Span, UsageError
from tapec.frontend.evaluator.values import (
    NONE,
    Func,
    Partial,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    number,
)
from tapec.frontend.structures.captured_values import Opening, taken
from tapec.frontend.structures.rebuilt_containers import spread
from tapec.ode_rates import METHODS, Rate
from tapec.ode_steps import at_times, check_times, in_order, path
from tapec.syntax.types import Array
from tapec_runtime.variables import Variable

_serial = itertools.count(1)
_TEXT = """
def rate({listed}):
    f, params, _ = opened({leaves})
    return np.array(f({handed}))


def crossing(k, {listed}):
    _, params, events = opened({leaves})
    {crossings}
"""
_HINT = f"choose one of {', '.join(METHODS)}"


def _check_method(method: Any) -> str | None:
    """What is wrong with a method; None for one of SciPy's."""
    return None if isinstance(method, str) and method in METHODS else f"{method!r} is no method of integration"


def _end_of(event: Any) -> tuple[int, float]:
    return int(getattr(event, "terminal", None) or 0), float(getattr(event, "direction", 0.0))


# from Python


def called(
    f: Any,
    t_span: Any,
    y0: Any,
    params: Any,
    method: Any,
    t_eval: Any,
    events: Any,
    rtol: Any,
    atol: Any,
    max_step: Any,
) -> ode_rules.Solution:
    """`solve`, called by Python."""
    place = _caller()
    if (message := _check_method(method)) is not None:
        raise UsageError(message, place, hint=_HINT)
    several = events if isinstance(events, tuple | list) else () if events is None else (events,)
    if not callable(f) or not all(map(callable, several)):
        raise UsageError("a differential equation and its events are functions", place)
    t0, t1 = (float(_plain(one)) for one in t_span)
    start = np.array([_plain(one) for one in y0] if isinstance(y0, tuple | list) else _plain(y0), np.float64)
    if start.ndim != 1:
        raise UsageError(f"the state has {start.ndim} axes, not one", place, hint="pass y0 as an array (n,)")
    leaves = () if params is None else (params,)
    rate = _of_functions(f, tuple(several), len(leaves), method, tuple(map(_end_of, several)))
    tolerances = float(_plain(rtol)), _plain(atol), float(_plain(max_step))
    found = path(rate, place, (t0, t1, start, *tolerances), leaves)
    moments, which = in_order(found, t1 < t0)
    last = moments[-1] if any(count for count, _ in rate.ends) else t1
    if t_eval is None:
        times = np.array([t0, last])
    else:
        times = np.array(_plain(t_eval), np.float64)
        check_times(times, t0, t1, place)
        times = times[times <= last] if t1 >= t0 else times[times >= last]
    y, there = at_times(found, times, start), at_times(found, moments, start)
    if not several:
        return ode_rules.Solution(times, y, None, None)
    picked = [which == k for k in range(len(several))]
    return ode_rules.Solution(
        times, y, tuple(moments[own] for own in picked), tuple(there.T[own].copy() for own in picked)
    )


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, Variable) else value


@functools.lru_cache(maxsize=128)
def _of_functions(
    f: Any, events: tuple[Any, ...], count: int, method: str, ends: tuple[tuple[int, float], ...]
) -> Rate:
    """The right side of functions that are called with what `solve` is given as it is."""
    known = Static(f), Tup(tuple(map(Static, events)))

    def make(opening: Opening) -> Value:
        leaves: Any = opening.leaves
        return Tup((known[0], leaves[0] if count else NONE, known[1]))

    return _rate(make, [None] * count, "t, y, params" if count else "t, y", method, ends)


def _rate(
    make: Callable[[Opening], Any], axes: Any, handed: str, method: str, ends: tuple[tuple[int, float], ...]
) -> Rate:
    """The right side that calls what is made of its leaves."""
    leaves = [f"leaf_{k}" for k in range(len(axes))]
    cases = "".join(f"if k == {k}:\n        return 1.0 * events[{k}]({handed})\n    " for k in range(len(ends)))
    text = _TEXT.format(
        listed=", ".join(("t", "y", *leaves)),
        leaves=", ".join(leaves),
        handed=handed,
        crossings=cases + "raise ValueError('no such event')",
    )
    values: dict[str, Any] = {"opened": _Opened(make), "np": np, "__name__": __name__}
    from_text("rate", text, values)
    return Rate(values["rate"], axes, method, values["crossing"] if ends else None, ends)


class _Opened:
    """The right side, its parameters and events, of leaves, in code that is only lowered."""

    def __init__(self, make: Callable[[Opening], Any]) -> None:
        self.make = make

    def __call__(self, *leaves: Any) -> Any:
        raise NotImplementedError

    def __tapec_lower__(self, ev: Any, args: Any, _kwargs: Any, _node: Any) -> Any:
        return self.make(Opening(ev, args))


def _caller() -> Span | None:
    """The line outside of tapec that calls."""
    import linecache

    own = f"{Path(__file__).parent}{os.sep}"
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    linecache.checkcache(file)
    text = linecache.getline(file, line, frame.f_globals).rstrip("\n")
    return Span(file, line, len(text) - len(text.lstrip()), len(text), text, frame.f_code.co_name)


# in lowered code

_rates: dict[Any, Rate] = {}
_MOST = 512


def lowered(
    ev: Any, args: list[Value], kwargs: dict[str, Value], node: Any, signature: inspect.Signature
) -> Value:
    """`solve`, called by code that is lowered."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        ev.fail(UsageError, f"`tapec.ode.solve`: {error}", node)
    method = given.get("method", Static(signature.parameters["method"].default))
    if (message := _check_method(getattr(method, "obj", None))) is not None:
        ev.fail(UsageError, message, node, hint=_HINT)
    f, params = given["f"], ev.materialise(given.get("params", NONE))
    events = ev.materialise(given.get("events", NONE))
    inside = spread(ev, events)
    several = () if is_none(events) else getattr(inside, "items", (events,))
    if not all(isinstance(one, Static | Func | Partial) for one in (f, *several)):
        what = describe(next(one for one in (f, *several) if not isinstance(one, Static | Func | Partial)))
        ev.fail(UsageError, f"a differential equation and its events are functions, not {what}", node)
    ends = tuple(_end_of(getattr(one, "obj", None)) for one in several)
    kept: list[Sym] = []
    make = taken(ev, Tup((f, params, Tup(several))), kept, ev.span)
    key = (_form(ev, (f, params, *several)), method.obj, ends)
    rate = _rates.get(key)
    if rate is None:
        while len(_rates) >= _MOST:
            del _rates[next(iter(_rates))]
        handed = "t, y" if is_none(params) else "t, y, params"
        axes = [(one.type.ndim if isinstance(one.type, Array) else 0) if one.type.is_float else None for one in kept]
        rate = _rates[key] = _rate(make, axes, handed, method.obj, ends)
    tolerances = ("rtol", "atol", "max_step")
    fixed = {name: given.get(name) or number(signature.parameters[name].default) for name in tolerances}
    options = {"rate": Static(rate), "place": Static(ev.span), **fixed}
    function: Any = ode_rules.found_without_events
    if ends:
        function = ode_rules.found_with_events
        options |= {"count": number(len(ends)), "terminal": number(any(count for count, _ in ends))}
    called = [given["t_span"], given["y0"], Tup(tuple(kept)), given.get("t_eval", NONE)]
    found: Value = ev.apply(Static(function), called, options, node)
    return found


def _form(ev: Any, value: Any) -> Any:
    """What tells values that are opened alike from others."""
    if isinstance(value, tuple):
        return tuple(_form(ev, one) for one in value)
    found = spread(ev, value)
    match found:
        case Sym(type=type_) if found.constant is None:
            return str(type_)
        case Tup(items=items, cls=cls) if not hasattr(items, "keys"):
            return "tuple", cls, _form(ev, items)
        case Record(items=items, cls=cls):
            return "record", cls, _form(ev, items)
        case Static(obj=obj):
            return "known", id(obj), obj if callable(obj) else None
    return next(_serial)
