"""Methods of SciPy's distributions, such as `scipy.stats.norm.logpdf(x, loc, scale)`."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Lst, Static, Tup, Value, number
from tapec.frontend.library import argument_checks


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of a distribution's method; None for other objects."""
    stats = sys.modules.get("scipy.stats")
    owner = getattr(obj, "__self__", None)
    if stats is None or owner is None or not (type(owner).__module__ or "").startswith("scipy.stats."):
        return None
    from tapec.rules.scipy_stats import DISCRETE, DISTRIBUTIONS, METHODS, SEVERAL

    method = obj.__name__
    names = [*DISTRIBUTIONS, *(one for one, _ in SEVERAL)]
    found = next((one for one in names if getattr(stats, one, None) is owner), "")
    title = f"scipy.stats.{found or getattr(owner, 'name', '')}.{method}"
    if (found, method) in SEVERAL:
        made: Value = ev.inline_library(SEVERAL[found, method], args, kwargs, node)
        return made
    row = DISTRIBUTIONS.get(found)
    body = None if row is None else (DISCRETE if row.discrete else METHODS).get(method)
    if row is None or body is None or (method in _OF and getattr(row, _OF[method]) is None):
        ev.fail(UnsupportedFunction, f"cannot differentiate a call to `{title}`", node, hint=_HINT)
    first = "q" if method == "ppf" else "k" if row.discrete else "x"
    params = (first, *row.shapes, "loc") if row.discrete else (first, *row.shapes, "loc", "scale")
    gaps: Kwargs = {"loc": number(0.0)} if row.discrete else {"loc": number(0.0), "scale": number(1.0)}
    args = argument_checks.in_order(ev, params, title, args, kwargs, node, needed=1 + len(row.shapes), gaps=gaps)
    plain = [ev.materialise(ev.as_array(arg, node) if isinstance(arg, Tup | Lst) else arg) for arg in args]
    variable, shapes, rest = plain[0], plain[1 : 1 + len(row.shapes)], plain[1 + len(row.shapes) :]
    if row.discrete and not method.endswith("pmf"):
        rest.append(number(1.0))
    made = ev.inline_library(body, [Static(row), variable, *rest, *shapes], {}, node)
    return made


_OF = {"cdf": "cdf", "logcdf": "cdf", "sf": "sf", "logsf": "sf", "ppf": "ppf"}
_HINT = "write the formula in NumPy, with functions of scipy.special"
