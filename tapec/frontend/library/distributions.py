"""Methods of SciPy's distributions, such as `scipy.stats.norm.logpdf(x, loc, scale)`."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Lst, Partial, Static, Tup, Value, number
from tapec.frontend.library import argument_checks
from tapec.frontend.structures import dicts
from tapec.frontend.structures.captured_values import Held


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of a distribution's method; None for other objects."""
    stats = sys.modules.get("scipy.stats")
    owner = getattr(obj, "__self__", None)
    if stats is None:
        return None
    if _is_of_stats(obj) and hasattr(obj, "freeze") and not isinstance(obj, type):
        return _frozen(ev, stats, obj, args, kwargs, node)
    if owner is None or not _is_of_stats(owner):
        return None
    from tapec.rules.scipy_stats import DISCRETE, DISTRIBUTIONS, METHODS, SEVERAL

    method = obj.__name__
    if (base := _distribution(stats, getattr(owner, "dist", None))) is not None and hasattr(base, method):
        given, named = (ev.get_attribute(Static(owner), part, node) for part in ("args", "kwds"))
        assert isinstance(given, Tup)
        kept = _frozen(ev, stats, base, [*given.items], dict(dicts.pairs(ev, named, node)), node)
        return ev.apply(kept.obj.attribute(method), args, kwargs, node)
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


def _is_of_stats(obj: Any) -> bool:
    return str(type(obj).__module__).startswith("scipy.stats.")


def _distribution(stats: Any, kind: Any) -> Any:
    """The distribution of `scipy.stats` of which a frozen one has a copy; None of other objects."""
    own = getattr(stats, str(getattr(kind, "name", "")), None)
    return own if own is not None and type(own) is type(kind) else None


def _frozen(ev: Evaluator, stats: Any, base: Any, args: Args, kwargs: Kwargs, node: Any) -> Static:
    """A distribution with its parameters, such as `scipy.stats.norm(loc, scale)`."""
    from tapec.rules.scipy_stats import DISTRIBUTIONS

    name = next((one for one in DISTRIBUTIONS if getattr(stats, one, None) is base), "")
    if not name:
        title = f"scipy.stats.{getattr(base, 'name', type(base).__name__)}"
        ev.fail(UnsupportedFunction, f"cannot differentiate a call to `{title}`", node, hint=_HINT)
    row = DISTRIBUTIONS[name]
    params = (*row.shapes, "loc") if row.discrete else (*row.shapes, "loc", "scale")
    argument_checks.in_order(ev, params, f"scipy.stats.{name}", args, kwargs, node, needed=len(row.shapes))
    given = dict(zip(params, args, strict=False)) | kwargs
    return Static(Frozen(base, {key: ev.materialise(value) for key, value in given.items()}))


class Frozen(Held):
    """A distribution with its parameters, made by the code that is lowered."""

    def __init__(self, base: Any, given: Kwargs) -> None:
        self.base, self.given = base, given

    @property
    def held(self) -> tuple[Value, ...]:
        return tuple(self.given.values())

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> Frozen:
        return Frozen(self.base, dict(zip(self.given, values, strict=True)))

    def attribute(self, name: str) -> Value | None:
        method = getattr(self.base, name, None)
        return Partial(Static(method), (), self.given) if callable(method) else None


_OF = {"cdf": "cdf", "logcdf": "cdf", "sf": "sf", "logsf": "sf", "ppf": "ppf"}
_HINT = "write the formula in NumPy, with functions of scipy.special"
