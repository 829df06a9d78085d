"""Derivatives that are arrays: `jacobian`, `jacfwd`, `jacrev`, `hessian`, and `hvp`.

Names, argument order and shapes are those that JAX users know; `wrt` is JAX's `argnums`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack, overload

from tapec.api import derivative, maker
from tapec.callables import DerivativeFunction, P, Sources
from tapec.errors import UsageError
from tapec.options import Keywords, chosen

Mode = Literal["auto", "forward", "reverse"]
_MODES = {"auto": "jacobian", "forward": "jacfwd", "reverse": "jacrev"}


@overload
def jacobian(
    f: Callable[P, Any], wrt: Sources = 0, mode: Mode = "auto", **options: Unpack[Keywords]
) -> DerivativeFunction[P, Any]: ...
@overload
def jacobian(
    f: None = None, wrt: Sources = 0, mode: Mode = "auto", **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], DerivativeFunction[P, Any]]: ...
def jacobian(
    f: Callable[..., Any] | None = None, wrt: Sources = 0, mode: Mode = "auto", **options: Unpack[Keywords]
) -> Any:
    """The derivatives of every element of a function's result by every element of its arguments.

    f        a Python function, lambda, closure or Numba dispatcher that returns a float, a float
             array, or tuples of those
    wrt      position or name of a parameter, or a tuple of those
    mode     "forward" computes columns, eight in one run of `f`; "reverse" rows, all of them after one run of `f`;
             "auto" what costs less for the shapes
    options  as for `grad`
    returns  a function of the same arguments: an array of the result's shape followed by the
             argument's shape, with the argument's dtype; for a tuple of results a tuple of
             those, for a tuple of arguments each of them a tuple.  Call it from Python or from jitted
             code.  Arrays that `f` writes are left as they are.
    raises   TapecError (see tapec.errors) at the first call with new argument types: for integer
             arguments and results, and for functions that draw random numbers
    source   Griewank & Walther, Evaluating Derivatives, 2nd ed., sections 3.1 and 3.2 (vector modes)

    >>> import numpy as np
    >>> def powers(r, s):
    ...     return np.array([r * s, r + s ** 2])
    >>> jacobian(powers, wrt=(0, 1))(2.0, 3.0)
    (array([3., 1.]), array([2., 6.]))
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in _MODES:
        raise UsageError(f"mode must be one of {', '.join(map(repr, _MODES))}, not {mode!r}")
    return derivative(f, wrt, _MODES[mode], chosen(options))


@overload
def jacfwd(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> DerivativeFunction[P, Any]: ...
@overload
def jacfwd(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], DerivativeFunction[P, Any]]: ...
def jacfwd(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """`jacobian` by columns: cheap for few inputs.

    >>> jacfwd(lambda t: np.array([t, t * t]))(3.0)
    array([1., 6.])
    """
    return derivative(f, wrt, "jacfwd", chosen(options))


@overload
def jacrev(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> DerivativeFunction[P, Any]: ...
@overload
def jacrev(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], DerivativeFunction[P, Any]]: ...
def jacrev(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """`jacobian` by rows: cheap for few outputs.

    >>> jacrev(lambda x: (np.sum(x), np.sum(x * x)))(np.array([1.0, 2.0]))
    (array([1., 1.]), array([2., 4.]))
    """
    return derivative(f, wrt, "jacrev", chosen(options))


@overload
def hessian(f: Callable[P, Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> DerivativeFunction[P, Any]: ...
@overload
def hessian(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[P, Any]], DerivativeFunction[P, Any]]: ...
def hessian(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The second derivatives of a function: the Jacobian, by columns, of its gradient.

    f        as for `jacobian`; mostly a function that returns one float
    wrt      position or name of a parameter, or a tuple of those
    returns  a function of the same arguments: an array of the result's shape, the argument's
             shape and the argument's shape again; for a tuple of arguments a tuple of tuples,
             whose item [i][j] is the derivative by argument i, then by argument j
    raises   as `jacobian`

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    >>> hessian(lambda x, y: x * x * y, wrt=(0, 1))(3.0, 2.0)
    ((4.0, 6.0), (6.0, 0.0))
    """
    return derivative(f, wrt, "hessian", chosen(options))


@overload
def hvp(f: Callable[..., Any], wrt: Sources = 0, **options: Unpack[Keywords]) -> DerivativeFunction[..., Any]: ...
@overload
def hvp(
    f: None = None, wrt: Sources = 0, **options: Unpack[Keywords]
) -> Callable[[Callable[..., Any]], DerivativeFunction[..., Any]]: ...
def hvp(f: Callable[..., Any] | None = None, wrt: Sources = 0, **options: Unpack[Keywords]) -> Any:
    """The product of a Hessian and a vector, for about twice the price of a gradient.

    f        a function that returns one float
    wrt      position or name of a parameter, or a tuple of those
    returns  a function of all the arguments and a last one: the vector, in the structure, shapes
             and dtypes of the gradient, as is the result
    raises   ValueError  for a vector of another shape;  TapecError as `jacobian`

    >>> import numpy as np
    >>> hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    return derivative(f, wrt, "hvp", chosen(options))


# how these are lowered when differentiated code calls them; `mode` decides nothing but the cost
for _function in (jacobian, jacfwd, jacrev, hessian, hvp):
    setattr(_function, "__tapec_lower__", maker(_function.__name__))  # noqa: B010
