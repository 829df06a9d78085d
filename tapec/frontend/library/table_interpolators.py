"""Interpolators of tables: `interp1d` and `RegularGridInterpolator`, from outside or made by the program."""

from __future__ import annotations

import sys
from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Lst,
    Record,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    known_text,
    number,
)
from tapec.frontend.library.argument_checks import in_order
from tapec.frontend.structures.captured_values import Held
from tapec.rules import scipy_interpolate as rules
from tapec.syntax.types import Array

_CURVE, _GRID = "interp1d", "RegularGridInterpolator"
_PARAMETERS = {
    _CURVE: ("x", "y", "kind", "axis", "copy", "bounds_error", "fill_value", "assume_sorted"),
    _GRID: ("points", "values", "method", "bounds_error", "fill_value"),
}
_KINDS = {_CURVE: ("linear", "nearest", "previous", "next"), _GRID: ("linear", "nearest")}
_HINTS = {
    _CURVE: "use kind='linear', 'nearest', 'previous' or 'next' with one row of values, or CubicSpline",
    _GRID: "use method='linear' or 'nearest', with one number at each point of the grid",
}


def call(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of such an interpolator or of its class; None for other objects."""
    module = sys.modules.get("scipy.interpolate")
    if module is None:
        return None
    for title in _PARAMETERS:
        cls = getattr(module, title)
        if obj is cls:
            return _made(ev, title, args, kwargs, node)
        if type(obj) is cls:
            return _found(ev, title, Static(obj), node).__tapec_lower__(ev, args, kwargs, node)
    return None


def call_argument(ev: Evaluator, owner: Record, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A call of such an interpolator that is an argument; None for other objects."""
    held: Any = owner.cls
    title = getattr(getattr(held, "object_class", None), "__name__", "")
    if title not in _PARAMETERS or held.object_class is not getattr(sys.modules.get("scipy.interpolate"), title, None):
        return None
    return _found(ev, title, owner, node).__tapec_lower__(ev, args, kwargs, node)


def _array(ev: Evaluator, value: Value, node: Any) -> Value:
    return ev.materialise(ev.as_array(value, node) if isinstance(value, Tup | Lst) else value)


def _refuse(ev: Evaluator, title: str, what: str, node: Any) -> Any:
    ev.fail(UnsupportedFunction, f"{what} of `{title}` is not supported", node, hint=_HINTS[title])


def _is_row(value: Value, ndim: int) -> bool:
    return isinstance(value, Sym) and isinstance(value.type, Array) and value.type.ndim == ndim


def _made(ev: Evaluator, title: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """An interpolator that the program makes."""
    gaps: Kwargs = dict.fromkeys(_PARAMETERS[title][2:], NONE)
    given = in_order(ev, _PARAMETERS[title], title, args, kwargs, node, needed=2, gaps=gaps)
    named = dict(zip(_PARAMETERS[title], given, strict=True))
    kind = named["kind" if title == _CURVE else "method"]
    kind = Static("linear") if is_none(kind) else kind
    values = _array(ev, given[1], node)
    if title == _GRID:
        axes = ev.known_items(given[0], node) if isinstance(given[0], Lst) else getattr(given[0], "items", None)
        if axes is None:
            _refuse(ev, title, f"a grid that is {describe(given[0])}", node)
        tables = tuple(_array(ev, axis, node) for axis in axes or ())
        fill = number(float("nan")) if "fill_value" not in kwargs and len(args) < 5 else named["fill_value"]
        checked = named["bounds_error"]
        checked = number(True) if is_none(checked) else checked
        ends: tuple[Value, ...] = (number(0.0) if is_none(fill) else fill,) * 2
        return Static(Table(title, (*tables, values), kind, checked, number(is_none(fill)), ends))
    if not is_none(named["axis"]):
        _refuse(ev, title, "`axis`", node)
    if not _is_row(values, 1):
        _refuse(ev, title, "a table with several values at a place", node)
    fill = named["fill_value"]
    x, y = ev.inline_library(rules.sorted_table, [_array(ev, given[0], node), values], {}, node).items
    checked = number(is_none(fill)) if is_none(named["bounds_error"]) else named["bounds_error"]
    if known_text(fill) == "extrapolate":
        if not is_none(named["bounds_error"]):
            _refuse(ev, title, "`bounds_error` with extrapolation", node)
        return Static(Table(title, (x, y), kind, number(False), number(True), (number(0.0),) * 2))
    ends = fill.items if isinstance(fill, Tup) else (number(float("nan")) if is_none(fill) else fill,) * 2
    return Static(Table(title, (x, y), kind, checked, number(False), tuple(ends)))


def _found(ev: Evaluator, title: str, owner: Static | Record, node: Any) -> Table:
    """An interpolator from outside, or an argument, whose tables are read from it."""

    def part(name: str) -> Value:
        found: Value = ev.get_attribute(owner, name, node)
        return found

    ends: tuple[Value, ...]
    if title == _GRID:
        axes = part("grid")
        assert isinstance(axes, Tup)
        fill = part("fill_value")
        extrapolate = number(is_none(fill))
        ends = (number(0.0) if is_none(fill) else fill,) * 2
        return Table(title, (*axes.items, part("values")), part("method"), part("bounds_error"), extrapolate, ends)
    names = owner.cls.object_names if isinstance(owner, Record) else vars(owner.obj)
    tables, ends = (part("x"), part("y")), (number(0.0),) * 2
    if "_fill_value_below" in names:
        first = part("_fill_value_below"), part("_fill_value_above")
        ends = tuple(ev.inline_library(rules.first, [one], {}, node) if is_array(one) else one for one in first)
    return Table(title, tables, part("_kind"), part("bounds_error"), part("_extrapolate"), ends)


class Table(Held):
    """An interpolator: its tables, what lies between the points, and what is beyond the ends.

    extrapolate  whether the table goes on beyond its ends
    fill         the values below and above, where it does not
    """

    def __init__(
        self, title: str, tables: tuple[Value, ...], kind: Value, checked: Value, extrapolate: Value, fill: Any
    ) -> None:
        self.title, self.tables, self.kind = title, tables, kind
        self.checked, self.extrapolate, self.fill = checked, extrapolate, fill

    @property
    def held(self) -> tuple[Value, ...]:
        return (*self.tables, self.checked, self.extrapolate, *self.fill)

    def holding(self, ev: Evaluator, values: tuple[Value, ...]) -> Table:
        count = len(self.tables)
        return Table(self.title, values[:count], self.kind, values[count], values[count + 1], values[count + 2 :])

    def attribute(self, name: str) -> Value | None:
        return {"x": self.tables[0], "y": self.tables[1]}.get(name) if self.title == _CURVE else None

    def __tapec_lower__(self, ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        kind = known_text(self.kind)
        if kind not in _KINDS[self.title]:
            _refuse(ev, self.title, f"the kind {describe(self.kind) if kind is None else repr(kind)}", node)
        ndim = 1 if self.title == _CURVE else len(self.tables) - 1
        if not all(_is_row(one, 1) for one in self.tables[:-1]) or not _is_row(self.tables[-1], ndim):
            _refuse(ev, self.title, "a table with several values at a point", node)
        (at,) = in_order(ev, ("x" if self.title == _CURVE else "xi",), self.title, args, kwargs, node, needed=1)
        found: Value
        if not all(map(is_scalar, self.fill)):
            _refuse(ev, self.title, "a fill value that is no number", node)
        rest = [Static(kind), self.extrapolate, self.checked, *self.fill]
        if self.title == _CURVE:
            found = ev.inline_library(rules.along_table, [*self.tables, _array(ev, at, node), *rest], {}, node)
            return found
        points = _array(ev, at, node) if not isinstance(at, Tup) else self._joined(ev, at, node)
        alone = isinstance(at, Tup) and all(map(is_scalar, at.items))
        found = ev.inline_library(rules.in_grid, [Tup(self.tables[:-1]), self.tables[-1], points, *rest], {}, node)
        return ev.inline_library(rules.first, [found], {}, node) if alone else found

    def _joined(self, ev: Evaluator, at: Tup, node: Any) -> Value:
        """Points that are given coordinate by coordinate."""
        if len(at.items) != len(self.tables) - 1:
            _refuse(ev, self.title, "a tuple that is not one of coordinates", node)
        found: Value = ev.inline_library(rules.of_coordinates, [Tup(at.items)], {}, node)
        return found
