"""Derivatives of solutions: of equations, of minima, of fixed points, whatever found them.

The implicit function theorem: where `residual(x, p) = 0`, dx/dp = -(dr/dx)^-1 dr/dp.  Griewank & Walther, Evaluating
Derivatives, 2nd ed., chapter 15; Christianson, Reverse accumulation and attractive fixed points (1994).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.api import grad
from tapec.backend.carrier import from_text
from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters
from tapec.functions import custom_gradient, opaque
from tapec.jacobians import jacfwd
from tapec.linear_solves import Linear, key_of, linear_solves
from tapec.plain_functions import plain_function
from tapec.products import jvp
from tapec_runtime.variables import Variable


def implicit_root(
    residual: Callable[..., Any],
    solver: Callable[..., Any],
    wrt: int | tuple[int, ...] | None = None,
    *,
    linear: Linear = "dense",
) -> Callable[..., Any]:
    """The solution of an equation as a function of its parameters that has derivatives.

    residual  a function of the unknown, a number or a 1-D array (n,), and of parameters by position; it returns what is
              zero at the solution, a number or (n,).  tapec differentiates it.  Unless `linear` is "dense", arrays may
              have any shape
    solver    any function of the parameters that returns the solution; it is called as it is
    wrt       positions of the parameters that have derivatives, from 0; by default all
    linear    how systems with J = dr/dx are solved.  "dense": J is an array.  "sparse": J is a `tapec.sparse_jacobian`,
              factorised by `scipy.sparse.linalg.splu`.  A function of a `scipy.sparse.linalg.LinearOperator` and of a
              right side (n,) that returns the solution (n,): nothing but products with J, or with its transpose, is
              computed
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
    if linear not in ("dense", "sparse") and not callable(linear):
        raise UsageError(f'linear must be "dense", "sparse" or a function, not {linear!r}')
    solution: Any = _differentiable(residual, opaque(_Remembering(solver)), names, chosen, linear)
    solution.__doc__ = f"The root of `{getattr(residual, '__name__', 'residual')}` as a function of {', '.join(names)}."
    found: Callable[..., Any] = solution
    return found


def fixed_point(
    step: Callable[..., Any],
    solver: Callable[..., Any],
    wrt: int | tuple[int, ...] | None = None,
    *,
    linear: Linear = "dense",
) -> Callable[..., Any]:
    """The fixed point `x = step(x, *parameters)` as a function of the parameters; see `implicit_root`.

    step     a function of the point, a number or (n,), and of parameters by position, which returns the next point
    solver   any function of the parameters that returns the fixed point
    linear   as for `implicit_root`, of x - step(x)
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
    listed, (called,) = ", ".join(names), apart(("step",), names)
    text = f"def residual({listed}):\n    return {names[0]} - {called}({listed})\n"
    whole = from_text("residual", text, {called: step, "__name__": __name__})
    return implicit_root(whole, solver, wrt, linear=linear)


def converged(
    step: Callable[..., Any],
    wrt: int | tuple[int, ...] | None = None,
    *,
    tolerance: float = 1e-12,
    limit: int = 10_000,
) -> Callable[..., Any]:
    """The loop `while the point changes: point = step(point, *parameters)`, differentiated at its fixed point.

    step       a function of the point, a number or an array, and of parameters by position; it returns the next point
    wrt        positions of the parameters that have derivatives, from 0; by default all
    tolerance  of the largest change, relative to the largest number of the point, or to one if that is less
    limit      how many iterations there may be
    returns    a function of the point to start from and of the parameters, for differentiated code and for Python
    raises     ArithmeticError  where the loop, or that of an adjoint or tangent, does not converge within the limit

    None of the loop's iterations is kept: the reverse sweep finds the adjoint by iterations of its own, each a product
    with the transposed Jacobian of the step at the fixed point, which converge as fast as the loop does (Christianson,
    Reverse accumulation and attractive fixed points, 1994).  The derivative by the start is zero.

    >>> from tapec import converged, grad
    >>> root = converged(lambda x, a: 0.5 * (x + a / x))
    >>> root(1.0, 4.0), round(grad(root, wrt=1)(1.0, 4.0), 12)
    (2.0, 0.25)
    """
    if not callable(step):
        raise UsageError("a loop until convergence needs a step, which is a function")
    names = [*parameters(plain_function(step))]
    if len(names) < 2:
        raise UsageError("a step takes the point and at least one parameter")
    chosen = tuple(k + 1 for k in _positions(wrt, len(names) - 1))
    inner, (start,) = ", ".join(f"parameter_{k}" for k in range(len(names) - 1)), apart(("start",), names)
    text = (
        f"def iterated(x, {inner}):\n"
        f"    for _ in range({limit}):\n"
        f"        found = step(x, {inner})\n"
        f"        if np.ndim(found) == 0:\n"
        f"            change, size = abs(found - x), abs(found)\n"
        f"        else:\n"
        f"            change, size = np.max(np.abs(found - x)), np.max(np.abs(found))\n"
        f"        if change <= {tolerance!r} * max(1.0, size):\n"
        f"            return found\n"
        f"        x = found\n"
        f"    raise ArithmeticError('the loop does not converge in {limit} iterations')\n"
        f"\n"
        f"\n"
        f"def residual(x, start, {inner}):\n"
        f"    return x - step(x, {inner})\n"
    )
    values: dict[str, Any] = {"step": step, "np": np, "__name__": __name__}
    solver, whole = (from_text(name, text, values) for name in ("iterated", "residual"))
    linear = functools.partial(_iterated, tolerance, limit)
    solution: Any = _differentiable(whole, solver, [start, *names[1:]], chosen, linear)
    label = getattr(step, "__name__", "step")
    solution.__doc__ = f"The fixed point that `{label}` leads to, as a function of {', '.join([start, *names[1:]])}."
    found: Callable[..., Any] = solution
    return found


def _iterated(tolerance: float, limit: int, operator: Any, right: Any) -> Any:
    """The solution of (1 - J) y = b by y = b + J y."""
    found = right.copy()
    for _ in range(limit):
        change = right - operator.matvec(found)
        found += change
        if np.max(np.abs(change), initial=0.0) <= tolerance * max(1.0, np.max(np.abs(found), initial=0.0)):
            return found
    raise ArithmeticError(f"the adjoint or tangent of a loop does not converge in {limit} iterations")


def _positions(wrt: int | tuple[int, ...] | None, count: int) -> tuple[int, ...]:
    chosen = tuple(range(count)) if wrt is None else (wrt,) if isinstance(wrt, int) else tuple(wrt)
    if not chosen or not all(isinstance(k, int) and 0 <= k < count for k in chosen):
        raise UsageError(f"wrt must be positions of the {count} parameters, not {wrt!r}")
    return chosen


def _differentiable(
    residual: Callable[..., Any], solver: Any, names: list[str], chosen: tuple[int, ...], linear: Linear
) -> Any:
    """The solution with a gradient.  It reads the solution, whose derivative is this again."""
    listed, inner = ", ".join(names), ", ".join(f"parameter_{k}" for k in range(len(names)))
    dense = f"np.linalg.solve(jacfwd(residual)(x, {inner}).T, x_bar)"
    adjoints = ", ".join(f"adjoints[{chosen.index(k)}]" if k in chosen else "None" for k in range(len(names)))
    text = (
        f"def weighted(x, {inner}, weight):\n"
        f"    return -np.sum(weight * residual(x, {inner}))\n"
        f"\n"
        f"\n"
        f"def pulled(x, {inner}, x_bar):\n"
        f"    if np.ndim(x) == 0:\n"
        f"        weight = x_bar / grad(residual)(x, {inner})\n"
        f"    else:\n"
        f"        weight = {dense if linear == 'dense' else f'transposed(x, {inner}, x_bar)'}\n"
        f"    adjoints = grad(weighted, wrt={tuple(k + 1 for k in chosen)})(x, {inner}, weight)\n"
        f"    return {adjoints if len(names) > 1 else 'adjoints[0]'}\n"
    )
    values = {"residual": residual, "solver": solver, "np": np, "grad": grad, "jacfwd": jacfwd, "__name__": __name__}
    from_text("pulled", text, values)
    x, x_bar, pullback, pulled, solves = apart(("x", "x_bar", "pullback", "pulled", "solver"), names)
    text = (
        f"def root({listed}):\n"
        f"    {x} = {solves}({listed})\n"
        f"\n"
        f"    def {pullback}({x_bar}):\n"
        f"        return {pulled}({x}, {listed}, {x_bar})\n"
        f"\n"
        f"    return {x}, {pullback}\n"
    )
    values |= {pulled: values["pulled"], solves: solver}
    root: Any = custom_gradient(from_text("root", text, values))
    if linear != "dense":
        solved, values["transposed"] = linear_solves(residual, len(names), chosen, linear)
        tangent = (
            "def tangent(primals, tangents):\n"
            "    x = root(*primals)\n"
            "    change = jvp(residual, (x, *primals), (None, *tangents))[1]\n"
            "    if np.ndim(x) == 0:\n"
            "        return x, -change / grad(residual)(x, *primals)\n"
            "    return x, solved(x, *primals, -change)\n"
        )
        root.defjvp(from_text("tangent", tangent, {**values, "root": root, "solved": solved, "jvp": jvp}))
    return root


def apart(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names like `words` that are none of the user's.

    >>> apart(("x", "step"), ["x", "y"])
    ['x_', 'step_']
    """
    suffix = ""
    while any(word + suffix in names for word in words):
        suffix += "_"
    return [word + suffix for word in words]


class _Remembering:
    """A solver that is not called again for the arguments of its last call: a gradient asks for the solution anew."""

    def __init__(self, solver: Callable[..., Any]) -> None:
        self.solver = solver
        self.last = threading.local()

    def __call__(self, *given: Any) -> Any:
        args = [one.numpy() if isinstance(one, Variable) else one for one in given]
        key = key_of(args)
        if getattr(self.last, "key", None) != key:
            found = self.solver(*args)
            self.last.found = np.array(found, dtype=np.float64) if np.ndim(found) else float(found)
            self.last.key = key
        found = self.last.found
        return found.copy() if isinstance(found, np.ndarray) else found
