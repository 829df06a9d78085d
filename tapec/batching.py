"""Functions of one example, as functions of a batch: a compiled loop over examples."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, Unpack, overload

import numpy as np

from tapec.api import compiled_program, holds_nothing
from tapec.backend.carrier import written
from tapec.bound import unbound
from tapec.callables import DerivativeFunction
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters
from tapec.options import Keywords, Options, chosen, no_aux
from tapec.plain_functions import plain_function

Axes = int | None | tuple[int | None, ...]
Mapped = DerivativeFunction[..., Any]


@overload
def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: int = 0, **options: Unpack[Keywords]) -> Mapped: ...
@overload
def vmap(
    f: None = None, in_axes: Axes = 0, out_axes: int = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[..., Any]], Mapped]: ...
def vmap(
    f: Callable[..., Any] | None = None, in_axes: Axes = 0, out_axes: int = 0, **options: Unpack[Keywords]
) -> Any:
    """A function of one example as a function of a batch of them.

    f         a function as for `grad`, or a derivative: vmap(grad(f)) has the gradients of all examples
    in_axes   the axis of each argument that examples stand along; None for an argument that all of them share.  One
              number is for all arguments.  Of a tuple, list or dict the axis of all arrays in it
    out_axes  the axis of every result that examples stand along
    options   as for `grad`: with parallel=True examples run on threads where they write nothing that others read
    returns   a function of the same arguments; numbers that `f` returns become arrays, arrays get one axis more, in
              tuples of one structure.  Call it from Python, from jitted code or differentiate it
    raises    UsageError  for axes that do not fit the parameters;  ValueError  for arguments whose numbers of examples
              differ, and for no examples where `f` returns arrays, whose shapes
              nobody knows;  TapecError (see tapec.errors) at the first call with new argument types

    The examples run one after the other in a compiled loop, whose body is `f` itself: its branches and loops may take
    other ways for each.

    >>> import numpy as np
    >>> from tapec import grad
    >>> def loss(w, x, y):
    ...     return (w @ x - y) ** 2
    >>> x, y = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([1.0, 2.0])
    >>> vmap(grad(loss), in_axes=(None, 0, 0))(np.array([2.0, 1.0]), x, y)
    array([[2., 0.],
           [4., 8.]])
    """
    asked = no_aux(chosen(options), "tapec.vmap")
    if f is None:
        return lambda function: _mapped(function, in_axes, out_axes, asked)
    return _mapped(f, in_axes, out_axes, asked)


def _mapped(f: Callable[..., Any], in_axes: Axes, out_axes: int, options: Options) -> Any:
    bound = unbound(f)
    if not bound.is_free:
        raise UsageError(
            f"`{getattr(bound.function, '__name__', f)}` has some of its arguments already",
            hint="map a function of all of them, with None among in_axes for those that all examples share",
        )
    function = plain_function(bound.function)
    axes = axes_of(function, in_axes, out_axes)
    asked = f, function, axes, in_axes, out_axes, options
    if not holds_nothing(f):
        return _compiled(*asked)
    from tapec.backend import staleness

    return staleness.shared(_compiled, *asked)


def axes_of(function: types.FunctionType, in_axes: Axes, out_axes: int) -> tuple[int | None, ...]:
    """The axis of each parameter; raises UsageError for axes that do not fit."""
    own = parameters(function)
    if any(one.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for one in own.values()):
        what = f"`{function.__name__}` takes arguments by name alone, or any number of them"
        raise UsageError(what, hint="map a function that takes each by position")
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(own)
    if len(axes) != len(own) or not all(one is None or type(one) is int for one in axes):
        what = f"in_axes of `{function.__name__}` must be a number, or a number or None for each of its parameters"
        raise UsageError(what, hint=f"write a tuple of {len(own)} items")
    if all(one is None for one in axes):
        raise UsageError("in_axes has an axis for no argument, so that there are no examples")
    if type(out_axes) is not int:
        raise UsageError(f"out_axes must be a number, not {out_axes!r}")
    return axes


def _compiled(
    f: Any, function: types.FunctionType, axes: tuple[int | None, ...], in_axes: Axes, out_axes: int, options: Options
) -> Any:
    return compiled_program(batched(function, axes, out_axes), (vmap, f, in_axes, out_axes), options)


def batched(function: types.FunctionType, axes: tuple[int | None, ...], out_axes: int) -> types.FunctionType:
    """The loop over examples, as a function with source."""
    own = parameters(function)
    names = list(own)
    defaults = {f"default_{name}": one.default for name, one in own.items() if one.default is not one.empty}
    heads = [f"{name}=default_{name}" if f"default_{name}" in defaults else name for name in names]
    f = "differentiated"
    while f in (*names, function.__name__):
        f += "_"
    handed = [f, f"({''.join(f'{name}, ' for name in names)})", repr(axes), str(out_axes)]
    made = written(_loop, function, heads, handed, [], **{f: function}, **defaults)
    made.__name__ = made.__qualname__ = f"{made.__name__}_vmap"
    found: types.FunctionType = made
    return found


class _NumbersOf:
    """What a function returns, if that is numbers alone: zero for each; None for a function that returns arrays."""

    def __call__(self, f: Any, *args: Any) -> Any:
        raise NotImplementedError

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.evaluator.values import NONE

        # written for its types alone, and taken back
        block, state, roots = ev.block, ev.snapshot(), dict(ev.roots)
        ev.block = []
        result = ev.materialise(ev.apply(args[0], list(args[1:]), {}, node))
        ev.block, ev.roots = block, roots
        ev.restore(state)
        try:
            return _zeros(ev, result)
        except _NoNumber:
            return NONE

    def __tapec_key__(self) -> tuple[Any, ...]:
        return ("numbers of",)


class _NoNumber(Exception):
    """There is something else than numbers and None in a result."""


def _zeros(ev: Any, result: Any) -> Any:
    from tapec.frontend.evaluator.values import Complex, Sym, Tup, is_none, number
    from tapec.syntax.types import Scalar

    if isinstance(result, Tup):
        return Tup(tuple(_zeros(ev, item) for item in result.items), result.cls)
    if isinstance(result, Complex) and not result.is_array:
        return Complex(_zeros(ev, result.re), _zeros(ev, result.im))
    if is_none(result):
        return result
    if not isinstance(result, Sym) or not isinstance(result.type, Scalar):
        raise _NoNumber
    return ev.cast(number(0), result.type)


class _OfKind:
    """Items as a tuple, named tuple, dict or object of the kind of another value."""

    def __call__(self, value: Any, items: Any) -> Any:
        raise NotImplementedError

    def __tapec_lower__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.evaluator.values import Record, Tup

        value, items = args
        return type(value)(items.items, value.cls) if isinstance(value, Tup | Record) else items

    def __tapec_key__(self) -> tuple[Any, ...]:
        return ("of kind",)


_numbers_of, _of_kind = _NumbersOf(), _OfKind()


# what follows runs in compiled code alone


def _loop(f: Any, arguments: Any, axes: Any, out_axes: Any) -> Any:
    turned = tuple(
        [one if axis is None else _examples_first(one, axis) for one, axis in zip(arguments, axes, strict=True)]
    )
    batches = _leaves(tuple([one for one, axis in zip(turned, axes, strict=True) if axis is not None]))
    count = batches[0].shape[0]
    for one in batches:
        if one.shape[0] != count:
            raise ValueError("the arguments of vmap have different numbers of examples")
    numbers = _numbers_of(f, *_example(turned, axes, 0))
    if numbers is not None:
        found = _room(numbers, count)
        for i in range(count):
            _put(found, i, f(*_example(turned, axes, i)))
        return _back(found, out_axes)
    if count == 0:
        raise ValueError("vmap over no examples")
    # the shapes of the results are those of the first one
    first = f(*_example(turned, axes, 0))
    found = _room(first, count)
    _put(found, 0, first)
    for i in range(1, count):
        _put(found, i, f(*_example(turned, axes, i)))
    return _back(found, out_axes)


def _examples_first(value: Any, axis: Any) -> Any:
    """The value with its examples along the first axis."""
    if isinstance(value, (tuple, list, dict)):
        return _of_kind(value, tuple([_examples_first(item, axis) for item in _items(value)]))
    if np.ndim(value) == 0:
        raise ValueError("vmap goes over an axis of arrays, and a number has none: in_axes has None for what is shared")
    return value if axis == 0 else np.moveaxis(value, axis, 0)


def _leaves(value: Any) -> Any:
    """The arrays in a value."""
    if isinstance(value, (tuple, list, dict)):
        found: Any = ()
        for item in _items(value):
            found = (*found, *_leaves(item))
        return found
    return (value,)


def _example(values: Any, axes: Any, i: Any) -> Any:
    """The arguments for one example."""
    return [one if axis is None else _item(one, i) for one, axis in zip(values, axes, strict=True)]


def _item(value: Any, i: Any) -> Any:
    if isinstance(value, (tuple, list, dict)):
        return _of_kind(value, tuple([_item(one, i) for one in _items(value)]))
    return value[i]


def _room(value: Any, count: Any) -> Any:
    """Arrays for the results of all examples, of one of them."""
    if isinstance(value, (tuple, list, dict)):
        return _of_kind(value, tuple([_room(item, count) for item in _items(value)]))
    if value is None:
        return None
    one = np.asarray(value)
    return np.empty((count, *one.shape), one.dtype)


def _put(found: Any, i: Any, value: Any) -> None:
    if isinstance(value, (tuple, list, dict)):
        for room, item in zip(_items(found), _items(value), strict=True):
            _put(room, i, item)
    elif value is not None:
        found[i] = value


def _back(found: Any, axis: Any) -> Any:
    if isinstance(found, (tuple, list, dict)):
        return _of_kind(found, tuple([_back(item, axis) for item in _items(found)]))
    return found if axis == 0 or found is None else np.moveaxis(found, 0, axis)


def _items(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else tuple(value)
