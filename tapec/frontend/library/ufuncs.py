"""Elementwise functions as NumPy calls them: by a rule, with `out=`, `where=` and `dtype=`, and by their methods.

`out=` is taken by other functions of NumPy, too: what they make is stored into it.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.arrays.stores import update_at, write_into
from tapec.frontend.arrays.tensor_products import array_of, require_equal
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs, dtype_of
from tapec.frontend.evaluator.values import NONE, Complex, Lst, Static, Sym, Tup, Value, describe, is_none, number
from tapec.frontend.operations import complex_arithmetic, conditions
from tapec.frontend.operations.allocation import dim, rank_of
from tapec.frontend.operations.elementwise import elementwise
from tapec.rules import Rule, arrays_tensor, shown
from tapec.syntax.types import Array

# keywords of every elementwise function that change nothing here, with the values that do not
_NEUTRAL: dict[str, tuple[Any, ...]] = {"casting": ("same_kind",), "order": ("K", "A", "C"), "subok": (True, False)}
_SHARED = frozenset({"out", "where", "dtype", *_NEUTRAL})


def call_rule(ev: Evaluator, name: str, rule: Rule, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A function that has a rule."""
    params, title = rule.params, shown(name)
    if kwargs:
        ev.fail(UnsupportedSyntax, f"`{title}` takes no argument `{min(kwargs)}` here", node)
    if len(args) > len(params) == 2 and name in ("min", "max"):
        result = args[0]
        for other in args[1:]:
            result = elementwise(ev, name, (result, other), node)
        return result
    if name == "math.log" and len(args) == 2:
        number_, base = (elementwise(ev, name, (arg,), node) for arg in args)
        return ev.binary("/", number_, base, node)
    if not len(params) - rule.optional <= len(args) <= len(params):
        ev.fail(TypeMismatch, f"`{title}` takes {len(params)} arguments, not {len(args)}", node)
    return elementwise(ev, name, tuple(args), node)


def has_keywords(obj: Any, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call says how a function of NumPy or SciPy is to be applied, beside what to."""
    if isinstance(obj, np.ufunc):
        return len(args) > obj.nin or bool(kwargs.keys() & _SHARED)
    if "out" not in kwargs or not (getattr(obj, "__module__", None) or "").startswith("numpy"):
        return False
    try:
        return "out" in inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return obj in (np.concatenate, np.dot)


def with_keywords(ev: Evaluator, obj: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.add(x, y, out=a, where=chosen, dtype=np.float32)`, and `np.sum(x, out=a)`."""
    title = f"np.{obj.__name__}"
    kwargs = dict(kwargs)
    if isinstance(obj, np.ufunc):
        args, taken = args[: obj.nin], args[obj.nin :]
        if taken and "out" in kwargs:
            ev.fail(TypeMismatch, f"`{title}` gets two values for `out`", node)
        out = kwargs.pop("out", Tup(tuple(taken)) if taken else NONE)
        where = kwargs.pop("where", number(True))
        dtype = kwargs.pop("dtype", NONE)
        for key in kwargs.keys() & _NEUTRAL.keys():
            value = kwargs.pop(key)
            given = value.obj if isinstance(value, Static) else getattr(value, "constant", None)
            if given not in _NEUTRAL[key]:
                ev.fail(UnsupportedSyntax, f"`{title}` with another `{key}` than {_NEUTRAL[key][0]!r}", node)
    else:
        out, where, dtype = kwargs.pop("out"), number(True), NONE
    if not is_none(dtype):
        args = _converted(ev, args, dtype_of(ev, dtype, node), title, node)
    result = ev.call_object(obj, args, kwargs, node)
    everywhere = getattr(where, "constant", None) is True
    if is_none(out) or (isinstance(out, Tup) and all(map(is_none, out.items))):
        if not everywhere:
            message = f"`{title}` with `where` and without `out`"
            ev.fail(UnsupportedSyntax, message, node, reason="elements that are not chosen are not set")
        return result
    items = out.items if isinstance(out, Tup) else (out,)
    results = result.items if isinstance(result, Tup) else (result,)
    if len(items) != len(results):
        count = "one result" if len(results) == 1 else f"{len(results)} results"
        ev.fail(TypeMismatch, f"`{title}` has {count}, and `out` {len(items)} arrays", node)
    exact = not isinstance(obj, np.ufunc) or obj.signature is not None
    for target, made in zip(items, results, strict=True):
        chosen = made if everywhere else conditions.where(ev, [where, made, target], {}, node)
        _write(ev, target, chosen, title, node, exact)
    return items[0] if len(items) == 1 else Tup(tuple(items))


def _converted(ev: Evaluator, args: Args, kind: str, title: str, node: Any) -> Args:
    """The operands of a function that computes in a dtype."""
    whole = np.dtype(kind).kind in "iub"
    made: Args = []
    for arg in args:
        arg = ev.as_array(arg, node) if isinstance(arg, Tup | Lst) else ev.materialise(arg)
        own: str = getattr(getattr(arg, "type", None), "dtype", "float64")
        if whole and kind != own and not (kind == "bool" or np.can_cast(own, kind, "same_kind")):
            ev.fail(TypeMismatch, f"`{title}` cannot compute with numbers of {own} in {kind}", node)
        # a truth value is what a function gives, not what it takes
        made.append(arg if kind == "bool" else elementwise(ev, f"cast.{kind}", (arg,), node))
    return made


def _write(ev: Evaluator, out: Value, value: Value, title: str, node: Any, exact: bool) -> None:
    """Store what a function gives into `out`; `exact` where NumPy wants the same shape."""
    if not isinstance(out, Sym | Complex) or not isinstance(out.type, Array):
        ev.fail(TypeMismatch, f"`out` of `{title}` must be an array, not {describe(out)}", node)
    given = getattr(getattr(value, "type", None), "dtype", None)
    if given is not None and not np.can_cast(given, out.type.dtype, "same_kind"):
        ev.fail(TypeMismatch, f"`{title}` gives numbers of {given}, which do not go into {out.type.dtype}", node)
    if exact:
        value = ev.materialise(value)
        first, target = complex_arithmetic.lead(value), complex_arithmetic.lead(out)
        ranks = [getattr(one.type, "ndim", 0) for one in (first, target)]
        if ranks[0] != ranks[1]:
            ev.fail(TypeMismatch, f"`out` of `{title}` is {describe(out)}, which has not the shape of the result", node)
        for axis in range(ranks[0]):
            message = f"`out` has not the shape of what {title} gives"
            require_equal(ev, dim(ev, first, axis), dim(ev, target, axis), message)
    write_into(ev, out, value, node)


_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_RUNNING: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
_PARAMETERS = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
}
# bodies, which take those parameters but for `dtype` and `out`
_BODIES: dict[str, Any] = {
    "reduce": arrays_tensor.folded,
    "accumulate": arrays_tensor.running,
    "reduceat": arrays_tensor.folded_at,
}


def method(ev: Evaluator, function: np.ufunc, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`np.add.reduce(x, axis)` and its kin."""
    title = f"np.{function.__name__}.{name}"
    if name in _PARAMETERS:
        parameters = _PARAMETERS[name]
        given = dict(zip(parameters, args, strict=False))
        if len(args) > len(parameters) or given.keys() & kwargs.keys() or parameters[0] not in given | kwargs:
            ev.fail(TypeMismatch, f"`{title}` takes the arguments {', '.join(parameters)}, each once", node)
        args, kwargs = [], given | kwargs
    kwargs = {key: value for key, value in kwargs.items() if not (key in ("dtype", "out") and is_none(value))}
    if name == "outer" and len(args) == 2 and not kwargs:
        first, second = (array_of(ev, arg, node) for arg in args)
        spread = Tup((Static(Ellipsis), *(NONE,) * rank_of(second)))
        return ev.call_object(function, [ev.load(first, spread, node), second], {}, node)
    if name == "at" and len(args) == 3 == function.nin + 1 and not kwargs:
        update_at(ev, function, args[0], args[1], args[2], node)
        return NONE
    if "out" in kwargs:
        out = kwargs.pop("out")
        made = method(ev, function, name, args, kwargs, node)
        _write(ev, out, made, title, node, True)
        return out
    body, given = _BODIES.get(name), dict(kwargs)
    table: dict[Any, Any] = {"reduce": _REDUCTIONS, "accumulate": _RUNNING}.get(name, {})
    if function in table:
        rest = {key: value for key, value in given.items() if key not in ("array", "axis")}
        return ev.call_object(table[function], [given["array"]], {"axis": given.get("axis", number(0)), **rest}, node)
    if body is None or function.nin != 2 or given.keys() - ({*_PARAMETERS[name]} - {"dtype"}):
        ev.fail(UnsupportedFunction, f"cannot differentiate `{title}`", node)
    array = array_of(ev, given.pop("array"), node)
    if name != "reduce" and not array.type.is_float and function not in (np.maximum, np.minimum):
        ev.fail(UnsupportedFunction, f"`{title}` of {array.type}", node, hint="write a loop")
    if name == "reduceat":
        given["indices"] = array_of(ev, given["indices"], node)
    return ev.inline_library(body, [Static(function), array], given, node)


__all__ = ["call_rule", "has_keywords", "method", "with_keywords"]
