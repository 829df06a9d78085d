"""Calls of SciPy's interpolators from outside: `CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Lst, Static, Sym, Tup, Value, number, static_int
from tapec.frontend.library.argument_checks import in_order
from tapec.rules.scipy_interpolate import piecewise
from tapec.syntax.types import Array

_TAKEN = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of an interpolator; None for other objects."""
    module = sys.modules.get("scipy.interpolate")
    if module is None or type(obj) not in [getattr(module, name) for name in _TAKEN]:
        return None
    title = type(obj).__name__
    gaps: Kwargs = {"nu": number(0)}
    at, nu, *_ = in_order(ev, ("x", "nu"), title, args, kwargs, node, needed=1, gaps=gaps)
    c, x = (ev.get_attribute(Static(obj), name, node) for name in ("_c", "_x"))
    order = static_int(nu)
    fits = isinstance(c, Sym) and isinstance(c.type, Array) and c.type.ndim == 2 and c.type.is_float
    if not fits or order is None or order < 0 or obj.extrapolate == "periodic":
        ev.fail(
            UnsupportedFunction,
            f"this call of a {title} is not supported",
            node,
            reason="it is taken for real curves with one number at a place, which are not periodic, and a known `nu`",
            hint="make an interpolator for each column",
        )
    given = ev.materialise(ev.as_array(at, node) if isinstance(at, Tup | Lst) else at)
    extrapolate = number(obj.extrapolate is None or bool(obj.extrapolate))
    found: Value = ev.inline_library(piecewise, [c, x, given, number(order), extrapolate], {}, node)
    return found
