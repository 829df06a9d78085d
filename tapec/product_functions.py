"""Products with Jacobians and Hessians as functions: compiled once, called often, also from jitted code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

from tapec.api import derivative, maker
from tapec.callables import DerivativeFunction, Sources
from tapec.options import Keywords, chosen

Product = DerivativeFunction[..., Any]
Decorator = Callable[[Callable[..., Any]], Product]


@overload
def jvp_fun(f: Callable[..., Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> Product: ...
@overload
def jvp_fun(f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Decorator: ...
def jvp_fun(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The value of a function and its derivative in a direction, as a function (forward mode).

    f        as for `grad`; it may return anything
    wrt      position or name of a parameter, or a tuple of those: the arguments that move
    options  as for `grad`
    returns  a function of all the arguments and then a tangent for each of those in `wrt`, in its structure and of its
             shape: it returns (value, tangent).  Call it from Python or from jitted code.
    raises   ValueError  for a tangent of another shape;  UsageError  for one of another structure;  TapecError (see
             tapec.errors) at the first call with new argument types

    `jvp` does the same for a tuple of arguments and one of tangents.  Griewank and Walther, Evaluating Derivatives,
    2008, section 3.1.

    >>> import numpy as np
    >>> push = jvp_fun(lambda x, a: a * x ** 2, wrt="x")
    >>> push(np.array([1.0, 2.0]), 3.0, np.array([1.0, 0.5]))
    (array([ 3., 12.]), array([6., 6.]))
    """
    return derivative(f, wrt, "jvp", chosen(options))


@overload
def vjp_fun(f: Callable[..., Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> Product: ...
@overload
def vjp_fun(f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Decorator: ...
def vjp_fun(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The value of a function and the product of a cotangent and its Jacobian, as a function (reverse mode).

    f        as for `grad`; it may return anything
    wrt      position or name of a parameter, or a tuple of those
    options  as for `grad`
    returns  a function of all the arguments and then the cotangent, in the structure of the value: it returns (value,
             adjoints), these in the structure of the arguments in `wrt`.  Call it from Python or from jitted code.
    raises   ValueError  for a cotangent of another shape;  UsageError  for one of another structure;  TapecError (see
             tapec.errors) at the first call with new argument types

    `vjp` gives the value first and takes cotangents later.  Griewank and Walther, Evaluating Derivatives, 2008,
    section 3.2.

    >>> import numpy as np
    >>> pull = vjp_fun(lambda x, a: a * x ** 2, wrt=("x", "a"))
    >>> pull(np.array([1.0, 2.0]), 3.0, np.array([1.0, 0.5]))
    (array([ 3., 12.]), (array([6., 6.]), 3.0))
    """
    return derivative(f, wrt, "vjp", chosen(options))


# how these are lowered when differentiated code calls them
for _function, _kind in ((jvp_fun, "jvp"), (vjp_fun, "vjp")):
    setattr(_function, "__tapec_lower__", maker(_kind))  # noqa: B010
