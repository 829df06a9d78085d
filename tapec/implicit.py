"""Derivatives of solutions: of equations, of minima, of fixed points, whatever found them.

The implicit function theorem: where `residual(x, p) = 0`, dx/dp = -(dr/dx)^-1 dr/dp.  Griewank & Walther, Evaluating
Derivatives, 2nd ed., chapter 15; Christianson, Reverse accumulation and attractive fixed points (1994).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api import grad
from tapec.backend.carrier import from_text
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters
from tapec.functions import custom_gradient, opaque
from tapec.jacobians import jacfwd
from tapec.plain_functions import plain_function
from tapec_runtime.variables import Variable


def implicit_root(
    residual: Callable[..., Any], solver: Callable[..., Any], wrt: int | tuple[int, ...] | None = None
) -> Callable[..., Any]:
    """The solution of an equation as a function of its parameters that has derivatives.

    residual  a function of the unknown, a number or a 1-D array (n,), and of parameters by position; it returns what is
              zero at the solution, a number or (n,).  tapec differentiates it
    solver    any function of the parameters that returns the solution; it is called as it is
    wrt       positions of the parameters that have derivatives, from 0; by default all
    returns   a function of the parameters, for differentiated code and for Python
    raises    UsageError if the arguments do not fit; a singular dr/dx raises numpy.linalg.LinAlgError

    The solution is not differentiated through the solver's iterations: a gradient takes one linear solve with the
    Jacobian of the residual, to the accuracy of the solution; so does a tangent.  Integers among the parameters are
    none of `wrt`.

    >>> import math
    >>> from tapec import grad, implicit_root
    >>> root = implicit_root(lambda x, a: x * x - a, lambda a: math.sqrt(a))
    >>> root(4.0), grad(root)(4.0), grad(grad(root))(4.0)
    (2.0, 0.25, -0.03125)
    """
    if not callable(residual) or not callable(solver):
        raise UsageError("an implicit root needs a residual and a solver, which are functions")
    names = [*parameters(plain_function(residual))][1:]
    if not names:
        raise UsageError("a residual takes the unknown and at least one parameter")
    chosen = _positions(wrt, len(names))
    solution: Any = _differentiable(residual, opaque(_Remembering(solver)), names, chosen)
    solution.__doc__ = f"The root of `{getattr(residual, '__name__', 'residual')}` as a function of {', '.join(names)}."
    found: Callable[..., Any] = solution
    return found


def fixed_point(
    step: Callable[..., Any], solver: Callable[..., Any], wrt: int | tuple[int, ...] | None = None
) -> Callable[..., Any]:
    """The fixed point `x = step(x, *parameters)` as a function of the parameters; see `implicit_root`.

    step     a function of the point, a number or (n,), and of parameters by position, which returns the next point
    solver   any function of the parameters that returns the fixed point
    raises   as `implicit_root`

    >>> import math
    >>> from tapec import fixed_point, grad
    >>> def iterated(a):
    ...     x = 1.0
    ...     for _ in range(60):
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> root = fixed_point(lambda x, a: 0.5 * (x + a / x), iterated)
    >>> round(grad(root)(4.0), 12)
    0.25
    """
    if not callable(step):
        raise UsageError("a fixed point needs a step, which is a function")
    names = [*parameters(plain_function(step))]
    listed = ", ".join(names)
    text = f"def residual({listed}):\n    return {names[0]} - step({listed})\n"
    return implicit_root(from_text("residual", text, {"step": step, "__name__": __name__}), solver, wrt)


def _positions(wrt: int | tuple[int, ...] | None, count: int) -> tuple[int, ...]:
    chosen = tuple(range(count)) if wrt is None else (wrt,) if isinstance(wrt, int) else tuple(wrt)
    if not chosen or not all(isinstance(k, int) and 0 <= k < count for k in chosen):
        raise UsageError(f"wrt must be positions of the {count} parameters, not {wrt!r}")
    return chosen


def _differentiable(residual: Callable[..., Any], solver: Any, names: list[str], chosen: tuple[int, ...]) -> Any:
    """The solution with a gradient.  It reads the solution, whose derivative is this again."""
    listed = ", ".join(names)
    adjoints = ", ".join(f"adjoints[{chosen.index(k)}]" if k in chosen else "None" for k in range(len(names)))
    text = (
        f"def weighted(x, {listed}, weight):\n"
        f"    return -np.sum(weight * residual(x, {listed}))\n"
        f"\n"
        f"\n"
        f"def root({listed}):\n"
        f"    x = solver({listed})\n"
        f"\n"
        f"    def pullback(x_bar):\n"
        f"        if np.ndim(x) == 0:\n"
        f"            weight = x_bar / grad(residual)(x, {listed})\n"
        f"        else:\n"
        f"            weight = np.linalg.solve(jacfwd(residual)(x, {listed}).T, x_bar)\n"
        f"        adjoints = grad(weighted, wrt={tuple(k + 1 for k in chosen)})(x, {listed}, weight)\n"
        f"        return {adjoints if len(names) > 1 else 'adjoints[0]'}\n"
        f"\n"
        f"    return x, pullback\n"
    )
    values = {"residual": residual, "solver": solver, "np": np, "grad": grad, "jacfwd": jacfwd, "__name__": __name__}
    return custom_gradient(from_text("root", text, values))


class _Remembering:
    """A solver that is not called again for the arguments of its last call: a gradient asks for the solution anew."""

    def __init__(self, solver: Callable[..., Any]) -> None:
        self.solver = solver
        self.last = threading.local()

    def __call__(self, *given: Any) -> Any:
        args = [one.numpy() if isinstance(one, Variable) else one for one in given]
        key = tuple((arg.shape, arg.dtype.str, arg.tobytes()) if isinstance(arg, np.ndarray) else arg for arg in args)
        if getattr(self.last, "key", None) != key:
            found = self.solver(*args)
            self.last.found = np.array(found, dtype=np.float64) if np.ndim(found) else float(found)
            self.last.key = key
        found = self.last.found
        return found.copy() if isinstance(found, np.ndarray) else found
