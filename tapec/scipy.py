"""SciPy's optimisers, given the derivatives that they ask for.

>>> import numpy as np
>>> import tapec.scipy
>>> def rosenbrock(x, a):
...     return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
>>> fit = tapec.scipy.minimize(rosenbrock, np.zeros(5), args=(100.0,), method="trust-ncg")
>>> fit.success, fit.x.round(2)
(True, array([1., 1., 1., 1., 1.]))

Each function is SciPy's, with the same arguments and results but for the derivatives, and differentiates by the first
parameter.  Keywords that are not listed go to SciPy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize

from tapec.api import value_and_grad
from tapec.bridge import value
from tapec.errors import UsageError
from tapec.jacobians import hessian, hvp, jacobian
from tapec.options import Keywords, chosen

# the methods that ask for second derivatives: by products with vectors, or as a matrix
_BY_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_BY_MATRIX = frozenset({"dogleg", "trust-exact"})
_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_NO_OPTIONS: Keywords = {}


def minimize(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    compiled: Keywords = _NO_OPTIONS,
    **keywords: Any,
) -> scipy.optimize.OptimizeResult:
    """`scipy.optimize.minimize` with the gradient, and the second derivatives if the method asks for them.

    f         a function of x (n,) and `args` that returns one float
    x0        where to start, (n,); integers count as floats
    args      what `f` is given beside x
    method    as SciPy's.  Newton-CG, trust-ncg, trust-krylov and trust-constr get products with the Hessian, dogleg and
              trust-exact the Hessian, in reverse and forward mode
    compiled  options as for `tapec.grad`, as a dict
    keywords  bounds, constraints, tol, callback, options, as SciPy's; `hess` or `hessp` take the place of ours
    raises    UsageError  for `jac=`, and for methods that take no gradient;  TapecError  (see tapec.errors)
    """
    _refuse_jac(keywords)
    if "wrt" in keywords or any(map(np.ndim, x0 if isinstance(x0, tuple) else ())):
        hint = "write a function of one vector that hands its parts on, `lambda z, *data: f(z[:2], z[2:], *data)`"
        raise UsageError("SciPy minimises by one vector", hint=hint)
    name = method.lower() if isinstance(method, str) else ""
    if name in _WITHOUT_GRADIENT:
        raise UsageError(f"the method {method!r} takes no gradient", hint="call scipy.optimize.minimize")
    args = _tuple(args)
    if not keywords.keys() & {"hess", "hessp"}:
        if name in _BY_PRODUCTS:
            product = hvp(f, **compiled)
            # SciPy's order is x, p, *args
            keywords["hessp"] = lambda x, p, *rest: product(x, *rest, p)
        elif name in _BY_MATRIX:
            keywords["hess"] = hessian(f, **compiled)
    both = value_and_grad(f, **compiled)
    return scipy.optimize.minimize(both, _floats(x0), args=args, method=method, jac=True, **keywords)


def least_squares(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    compiled: Keywords = _NO_OPTIONS,
    **keywords: Any,
) -> scipy.optimize.OptimizeResult:
    """`scipy.optimize.least_squares` with the Jacobian.

    f                   a function of x (n,), `args` and `kwargs` that returns residuals (m,)
    x0, args, compiled  as for `minimize`;  kwargs, keywords  as SciPy's
    raises              UsageError  for `jac=`;  TapecError  (see tapec.errors)

    >>> import numpy as np
    >>> least_squares(lambda x, t: np.exp(x[0] * t) - 2.0, [0.1], args=(np.ones(3),)).x.round(6)
    array([0.693147])
    """
    _refuse_jac(keywords)
    by_name = dict(kwargs or {})
    jac = jacobian(f, **compiled)
    return scipy.optimize.least_squares(
        _value(f, compiled), _floats(x0), jac, args=_tuple(args), kwargs=by_name, **keywords
    )


def root(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    compiled: Keywords = _NO_OPTIONS,
    **keywords: Any,
) -> scipy.optimize.OptimizeResult:
    """`scipy.optimize.root` with the Jacobian, for the methods "hybr" and "lm".

    f                   a function of x (n,) and `args` that returns an array (n,), for "lm" (m,)
    x0, args, compiled  as for `minimize`;  keywords  as SciPy's
    raises              UsageError  for `jac=`, and for methods that take no Jacobian;  TapecError  (see tapec.errors)

    >>> import numpy as np
    >>> root(lambda x, c: np.array([x[0] + x[1] - c, x[0] * x[1] - 2.0]), [0.5, 3.0], args=(3.0,)).x.round(6)
    array([1., 2.])
    """
    _refuse_jac(keywords)
    if method not in ("hybr", "lm"):
        raise UsageError(f"the method {method!r} takes no Jacobian", hint="call scipy.optimize.root")
    jac = jacobian(f, **compiled)
    compiled_f = _value(f, compiled)
    return scipy.optimize.root(compiled_f, _floats(x0), args=_tuple(args), method=method, jac=jac, **keywords)


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    compiled: Keywords = _NO_OPTIONS,
    **keywords: Any,
) -> Any:
    """`scipy.optimize.curve_fit` with the Jacobian by the parameters.

    f         a function of `xdata` and the parameters, each of them a float, that returns an array (m,)
    p0        where to start, (n,); by default ones, as SciPy has it
    compiled  options as for `tapec.grad`, as a dict
    keywords  sigma, bounds, method, ... as SciPy's
    returns   what SciPy returns: the parameters (n,), their covariance (n, n), more with full_output=True
    raises    UsageError  for `jac=`;  TapecError  (see tapec.errors)

    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 20)
    >>> curve_fit(lambda t, a, b: a * np.exp(b * t), t, 2.0 * np.exp(-3.0 * t))[0].round(6)
    array([ 2., -3.])
    """
    _refuse_jac(keywords)
    count = len(inspect.signature(f).parameters) - 1 if p0 is None else len(np.atleast_1d(p0))
    by = jacobian(f, wrt=tuple(range(1, count + 1)), mode="forward", **compiled)

    def jac(x: Any, *parameters: Any) -> Any:
        return np.stack(by(x, *map(float, parameters)), axis=-1)

    return scipy.optimize.curve_fit(_value(f, compiled), xdata, ydata, p0=p0, jac=jac, **keywords)


def _value(f: Callable[..., Any], compiled: Keywords) -> Any:
    """The function, by compiled code, with the signature that SciPy reads."""
    options = chosen(compiled)

    @functools.wraps(f)
    def compiled_f(*args: Any, **named: Any) -> Any:
        return value(functools.partial(f, **named) if named else f, args, options)

    return compiled_f


def _refuse_jac(keywords: Mapping[str, Any]) -> None:
    if "jac" in keywords:
        raise UsageError("`jac` is what tapec computes", hint="leave it out, or call scipy.optimize")


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _floats(x0: Any) -> Any:
    x0 = np.asarray(x0)
    return x0 if x0.dtype.kind == "f" else x0.astype(float)
