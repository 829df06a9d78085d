"""The parameters of functions that have handlers of their own: an argument for any other one is refused.

A handler reads the arguments that it knows; one that it did not look at would be passed over in silence.  It counts
on those that the function needs.
"""

from __future__ import annotations

import cmath
import functools
import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import is_none

# those in front may be given by position; an asterisk stands for any number
PARAMETERS: dict[Callable[..., Any], str] = {
    np.zeros: "shape dtype order device like",
    np.empty: "shape dtype order device like",
    np.ones: "shape dtype order device like",
    np.full: "shape fill_value dtype order device like",
    np.zeros_like: "a dtype order subok shape device",
    np.empty_like: "prototype dtype order subok shape device",
    np.ones_like: "a dtype order subok shape device",
    np.full_like: "a fill_value dtype order subok shape device",
    np.array: "object dtype copy order subok ndmin like",
    np.asarray: "a dtype order device copy like",
    np.asanyarray: "a dtype order device copy like",
    np.ascontiguousarray: "a dtype like",
    np.asfortranarray: "a dtype like",
    np.copy: "a order subok",
    np.reshape: "a shape order newshape copy",
    np.ravel: "a order",
    np.transpose: "a axes",
    np.squeeze: "a axis",
    np.swapaxes: "a axis1 axis2",
    np.expand_dims: "a axis",
    np.shape: "a",
    np.ndim: "a",
    np.size: "a axis",
    np.where: "condition x y",
    np.ndenumerate: "arr",
    len: "obj",
    str: "object",
    format: "value format_spec",
    range: "start stop step",
    enumerate: "iterable start",
    zip: "* strict",
    reversed: "sequence",
    sum: "iterable start",
    tuple: "iterable",
    list: "iterable",
    sorted: "iterable key reverse",
    any: "iterable",
    all: "iterable",
    map: "*",
    filter: "function iterable",
    iter: "object sentinel",
    next: "iterator default",
    divmod: "x y",
    pow: "base exp",
    int: "x",
    float: "x",
    bool: "x",
    isinstance: "obj class_or_tuple",
    callable: "obj",
    itertools.chain: "*",
    itertools.pairwise: "iterable",
    itertools.product: "* repeat",
    itertools.combinations: "iterable r",
    itertools.permutations: "iterable r",
}

METHODS = {
    "astype": "dtype order copy",
    "copy": "order",
    "reshape": "* shape order copy",
    "ravel": "order",
    "flatten": "order",
    "transpose": "* axes",
    "squeeze": "axis",
    "swapaxes": "axis1 axis2",
    "fill": "value",
    "dot": "b out",
}


def check(ev: Evaluator, known: str | None, name: str, args: Args, kwargs: Kwargs, node: Any) -> None:
    """Refuse arguments for parameters that are not among `known`."""
    if known is None:
        return
    names = known.split()
    if "*" not in names and len(args) > len(names):
        count = "one argument" if len(names) == 1 else f"{len(names)} arguments"
        ev.fail(UnsupportedSyntax, f"`{name}` takes {count} here, not {len(args)}", node)
    for key in kwargs:
        if key not in names:
            ev.fail(UnsupportedSyntax, f"`{name}` takes no argument `{key}` here", node)


def in_order(
    ev: Evaluator,
    params: tuple[str, ...],
    name: str,
    args: Args,
    kwargs: Kwargs,
    node: Any,
    *,
    needed: int,
    gaps: Kwargs | None = None,
) -> Args:
    """The arguments for `params`, of which the first `needed` must be there, by position; others are refused.

    gaps  what stands for those that are not given
    """
    check(ev, " ".join(params), name, args, kwargs, node)
    given = dict(zip(params, args, strict=False))
    twice = [key for key in kwargs if key in given]
    if twice:
        ev.fail(TypeMismatch, f"`{name}` gets two values for `{twice[0]}`", node)
    given = {key: value for key, value in (given | kwargs).items() if not is_none(value)}
    missing = [key for key in params[:needed] if key not in given]
    if missing:
        ev.fail(TypeMismatch, f"`{name}` needs a value for `{missing[0]}`", node)
    given = (gaps or {}) | given
    return [given[key] for key in params if key in given]


# how many arguments functions need whose signatures do not tell
_LEAST: dict[Callable[..., Any], int] = {
    **dict.fromkeys((max, min, iter, next, type, cmath.log, itertools.repeat), 1),
    **dict.fromkeys((map, filter, functools.reduce, getattr, itertools.islice, np.einsum), 2),
}


def check_needed(ev: Evaluator, function: Callable[..., Any], name: str, args: Args, kwargs: Kwargs, node: Any) -> None:
    """Refuse a call that lacks an argument, as Python does; handlers of our own functions say more."""
    if name.startswith("tapec"):
        return
    if len(args) < _LEAST.get(function, 0):
        ev.fail(TypeMismatch, f"`{name}` needs {_LEAST[function]} arguments, not {len(args)}", node)
    missing = [key for key in _needed(function)[len(args) :] if key not in kwargs]
    if missing:
        ev.fail(TypeMismatch, f"`{name}` needs a value for `{missing[0]}`", node)


def check_own(ev: Evaluator, function: Any, args: Args, kwargs: Kwargs, node: Any) -> None:
    """Refuse a call of a public function of ours that Python would refuse: with arguments too many, or given twice."""
    signature = _own(function)
    if signature is None:
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        ev.fail(TypeMismatch, f"`{function.__name__}` cannot be called so: {error}", node)


def _own(function: Any) -> inspect.Signature | None:
    """The signature of a public function of ours; None for others."""
    package = sys.modules.get("tapec")
    public = vars(package or object).get(getattr(function, "__name__", ""))
    if public is None or public is not function or isinstance(public, type):
        return None
    return inspect.signature(public)


@functools.cache
def _needed(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function, from the first one on, that have no default."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        return ()
    positional = (one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))
    return tuple(one.name for one in itertools.takewhile(lambda one: one.default is one.empty, positional))
