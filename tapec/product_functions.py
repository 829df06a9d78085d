"""Products with Jacobians and Hessians as functions: compiled once, called often, also from jitted code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

from tapec.api import derivative, maker
from tapec.callables import DerivativeFunction, Sources
from tapec.composed import ComposedMaker
from tapec.options import Keywords, chosen

Product = DerivativeFunction[..., Any]
Decorator = Callable[[Callable[..., Any]], Product]


@overload
def jvp_fun(
    f: Callable[..., Any], wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Product: ...
@overload
def jvp_fun(
    f: None = None, wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Decorator: ...
def jvp_fun(
    f: Callable[..., Any] | None = None, wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Any:
    """The value of a function and its derivative in a direction, as a function (forward mode).

    f        as for `grad`; it may return anything
    wrt      position or name of a parameter, or a tuple of those: the arguments that move
    directions  whether tangents, and what is returned of them, have a first axis: any number of directions at once,
             for which the function runs once by itself and once for each eight of them
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
    >>> jvp_fun(lambda x: x ** 2, directions=True)(np.array([1.0, 2.0]), np.eye(2))[1]
    array([[2., 0.],
           [0., 4.]])
    """
    return derivative(f, wrt, "jvp_directions" if directions else "jvp", chosen(options))


@overload
def vjp_fun(
    f: Callable[..., Any], wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Product: ...
@overload
def vjp_fun(
    f: None = None, wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Decorator: ...
def vjp_fun(
    f: Callable[..., Any] | None = None, wrt: Sources = 0, *, directions: bool = False, **options: Unpack[Keywords]
) -> Any:
    """The value of a function and the product of a cotangent and its Jacobian, as a function (reverse mode).

    f        as for `grad`; it may return anything
    wrt      position or name of a parameter, or a tuple of those
    directions  whether the cotangent and the adjoints have a first axis: any number of cotangents at once, after one
             forward sweep
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
    return derivative(f, wrt, "vjp_directions" if directions else "vjp", chosen(options))


@overload
def hessp(f: Callable[..., Any], wrt: int | str = 0, **options: Unpack[Keywords]) -> Product: ...
@overload
def hessp(f: None = None, wrt: int | str = 0, **options: Unpack[Keywords]) -> Decorator: ...
def hessp(f: Callable[..., Any] | None = None, wrt: int | str = 0, **options: Unpack[Keywords]) -> Any:
    """`hvp` in SciPy's order of arguments, `hessp(x, p, *args)`: the vector follows the argument that it belongs to.

    f        a function that returns one float
    wrt      position or name of one parameter
    options  as for `grad`
    returns  a function of the arguments with the vector `p` among them, which has the shape of the gradient, as has the
             result; what is left out has its default
    raises   UsageError  for several parameters;  ValueError and TapecError as `hvp`

    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> def valley(x, a):
    ...     return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    >>> product = hessp(valley)
    >>> product(np.ones(2), np.array([1.0, 0.0]), 100.0)
    array([ 802., -400.])
    """
    return derivative(f, wrt, "hessp", chosen(options))


@overload
def hessian_diag(f: Callable[..., Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> Product: ...
@overload
def hessian_diag(f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Decorator: ...
def hessian_diag(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The diagonal of a function's Hessian: the second derivative by each number alone.

    f        a function that returns one float
    wrt      position or name of a parameter, or a tuple of those; tuples, lists and dicts of arrays and numbers
    options  as for `grad`
    returns  a function of the same arguments: what has the structure, shapes and dtypes of the gradient
    raises   as `hvp`

    It takes one Hessian-vector product for each number, in one compiled loop, and no matrix.

    >>> import numpy as np
    >>> hessian_diag(lambda x: np.sum(x ** 3) + x[0] * x[1])(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    return derivative(f, wrt, "hessian_diag", chosen(options))


@overload
def gnvp(f: Callable[..., Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> Product: ...
@overload
def gnvp(f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Decorator: ...
def gnvp(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The Gauss-Newton product JᵀJv of a function's Jacobian J and a vector, without the matrix.

    f        a function that returns residuals: a float, an array, or tuples of those
    wrt      position or name of a parameter, or a tuple of those
    options  as for `grad`
    returns  a function of all the arguments and a last one: the vector, in the structure, shapes and dtypes of the
             arguments in `wrt`, as is the result
    raises   ValueError  for a vector of another shape;  TapecError (see tapec.errors) at the first call

    Where a loss is half the sum of the squares of its residuals, JᵀJ is its Hessian less a term that vanishes with the
    residuals (Nocedal and Wright, Numerical Optimization, 2006, section 10.2).

    >>> import numpy as np
    >>> gnvp(lambda x, t: x[0] * np.exp(x[1] * t))(np.array([1.0, 0.0]), np.arange(3.0), np.array([1.0, 0.0]))
    array([3., 3.])
    """
    return derivative(f, wrt, "gnvp", chosen(options))


# how these are lowered when differentiated code calls them
for _function, _kind in ((jvp_fun, "jvp"), (vjp_fun, "vjp")):
    setattr(_function, "__tapec_lower__", maker(_kind))  # noqa: B010
for _program in (gnvp, hessian_diag, hessp):
    setattr(_program, "__tapec_lower__", ComposedMaker(_program.__name__))  # noqa: B010
