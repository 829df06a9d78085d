"""Taylor coefficients of a function along a line or a curve, from one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

import numpy as np

from tapec.api import derivative, maker
from tapec.callables import DerivativeFunction, Sources
from tapec.errors import UsageError
from tapec.options import Keywords, chosen, of_order
from tapec.products import tangent_like, zeros_of
from tapec_runtime import variables

Expansion = DerivativeFunction[..., Any]


@overload
def taylor_fun(
    f: Callable[..., Any], wrt: Sources = 0, *, order: int, series: bool = False, **options: Unpack[Keywords]
) -> Expansion: ...
@overload
def taylor_fun(
    f: None = None, wrt: Sources = 0, *, order: int, series: bool = False, **options: Unpack[Keywords]
) -> Callable[[Callable[..., Any]], Expansion]: ...
def taylor_fun(
    f: Callable[..., Any] | None = None,
    wrt: Sources = 0,
    *,
    order: int,
    series: bool = False,
    **options: Unpack[Keywords],
) -> Any:
    """The Taylor coefficients of a function along a line, as a function (higher-order forward mode).

    f        as for `grad`; it may return anything
    wrt      position or name of a parameter, or a tuple of those: the arguments that move
    order    the highest power of t; the generated program grows with its square
    series   whether the caller gives, in place of a tangent v, a tuple of as many coefficients as `order`: an argument
             moves along the curve x + t x1 + t**2 x2 + ... in place of the line x + t v
    options  as for `grad`
    returns  a function of all the arguments and then a tangent, or a tuple of coefficients, for each of those in `wrt`.
             It returns a tuple (y0, y1, ..., y_order), each in the structure of the value, which is y0: the function is
             y0 + t y1 + t**2 y2 + ... there.  Derivative k by t is k! times y_k.  Call it from Python or from jitted
             code.
    raises   ValueError  for a tangent of another shape;  UsageError  for one of another structure, or an order below 1;
             TapecError (see tapec.errors) at the first call with new argument types

    Griewank and Walther, Evaluating Derivatives, 2008, chapter 13.

    >>> import numpy as np
    >>> expand = taylor_fun(lambda x, a: a * x ** 2, wrt="x", order=2)
    >>> expand(np.array([1.0, 2.0]), 3.0, np.array([1.0, 0.5]))
    (array([ 3., 12.]), array([6., 6.]), array([3.  , 0.75]))
    """
    asked = of_order(chosen(options), "taylor", order)
    return derivative(f, wrt, "taylor_series" if series else "taylor", asked)


def taylor(f: Callable[..., Any], x: Any, v: Any, order: int, **options: Unpack[Keywords]) -> tuple[Any, ...]:
    """The Taylor coefficients of t -> f(x + t v), up to t**order.

    x        the argument, or a tuple of the arguments
    v        the direction, in the structure of `x`; in a tuple None for an argument that does not move.  A list of
             arrays or numbers in its place has coefficients: x moves along x + t v[0] + t**2 v[1] + ..., the others are
             zero
    order    the highest power, at least 1
    options  as for `grad`
    returns  (y0, y1, ..., y_order), each with the structure of the value, which is y0; derivative k is k! times y_k
    raises   UsageError  for another structure or shape, or an order below 1;  TapecError (see tapec.errors)

    Each operation takes as many as `order` squared.  `taylor_fun` is the same as a function, whose calls cost less, and
    which jitted code calls.

    >>> taylor(lambda x: x ** 3, 2.0, 1.0, order=4)
    (8.0, 12.0, 6.0, 1.0, 0.0)
    >>> taylor(lambda x, y: x * y, (2.0, 3.0), (1.0, [0.0, 1.0]), order=3)
    (6.0, 3.0, 2.0, 1.0)
    """
    of_order(chosen(options), "taylor", order)
    several = isinstance(x, tuple)
    primals, directions = (x, v) if several else ((x,), (v,))
    if not isinstance(directions, tuple) or len(directions) != len(primals):
        raise UsageError("x is a tuple of arguments, and v is no tuple of as many directions")
    primals = tuple(map(variables.plain, primals))
    moving = tuple(k for k, direction in enumerate(directions) if direction is not None)
    series = any(_is_series(directions[k], primals[k]) for k in moving)
    seeds = [_seed(directions[k], primals[k], k, order, series) for k in moving]
    found: tuple[Any, ...] = taylor_fun(f, moving, order=order, series=series, **options)(*primals, *seeds)
    return found


def _is_series(direction: Any, primal: Any) -> bool:
    return isinstance(direction, list) and isinstance(primal, float | int | complex | np.ndarray | np.generic)


def _seed(direction: Any, primal: Any, place: int, order: int, series: bool) -> Any:
    """A tangent, or the coefficients of a curve, as the compiled function takes them."""
    if not series:
        return tangent_like(direction, primal, place)
    given = direction if _is_series(direction, primal) else [direction]
    if not 1 <= len(given) <= order:
        raise UsageError(f"{len(given)} coefficients of argument {place}, where there are 1 to {order}")
    found = [tangent_like(one, primal, place) for one in given]
    return tuple([*found, *(zeros_of(found[0]) for _ in range(order - len(found)))])


def _lowered(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
    from tapec.transforms.nested_calls import lower_taylor

    return lower_taylor(ev, args, kwargs, node)


# how they are lowered when differentiated code calls them
setattr(taylor, "__tapec_lower__", _lowered)  # noqa: B010
setattr(taylor_fun, "__tapec_lower__", maker("taylor"))  # noqa: B010
