"""What derivatives say of themselves, in `repr` and `help`."""

from __future__ import annotations

import inspect
import types
from typing import Any

from tapec.backend.program import resolve_wrt
from tapec.frontend.source.function_source import parameters

KINDS = {
    "grad": "The gradient of {} with respect to {}.",
    "value_and_grad": "The value of {} and its gradient with respect to {}.",
    "jacobian": "The Jacobian of {} with respect to {}.",
    "jacfwd": "The Jacobian of {} with respect to {}, column by column.",
    "jacrev": "The Jacobian of {} with respect to {}, row by row.",
    "hessian": "The Hessian of {} with respect to {}.",
    "jvp": "The value of {}, and its tangent for tangents of {}, which are the last arguments.",
    "vjp": "The value of {}, and the adjoints of {} for a cotangent, which is the last argument.",
    "jvp_directions": "The value of {}, and its tangents for several tangents of {}, which are the last arguments.",
    "vjp_directions": "The value of {}, and the adjoints of {} for several cotangents, the last argument.",
    "taylor": "The Taylor coefficients of {}, for tangents of {}, which are the last arguments.",
    "taylor_series": "The Taylor coefficients of {}, for those of {} from the first on, which are the last arguments.",
    "hvp": "The Hessian of {} with respect to {}, times a vector, which is the last argument.",
    "hessp": "The Hessian of {} with respect to {}, times a vector, which is the argument behind that.",
    "hessian_diag": "The diagonal of the Hessian of {} with respect to {}.",
    "gnvp": "The transposed Jacobian of {} with respect to {}, times the Jacobian, times a vector, the last argument.",
}


def docstring(function: types.FunctionType, kind: str, wrt: Any) -> str:
    """The docstring of a derivative: what it computes, and the docstring of the function; of other kinds that alone.

    >>> def energy(u, stiffness):
    ...     '''Energy of a chain of springs.'''
    >>> print(docstring(energy, "grad", ("u", 1)))
    The gradient of `energy` with respect to `u`, `stiffness`.
    <BLANKLINE>
    energy: Energy of a chain of springs.
    """
    doc = function.__doc__ or ""
    if kind not in KINDS:
        return doc
    sources = ", ".join(f"`{label}`" for label in _labels(function, wrt))
    what = KINDS[kind].format(f"`{function.__name__}`", sources)
    return f"{what}\n\n{function.__name__}: {inspect.cleandoc(doc)}" if doc else what


def shown(function: types.FunctionType, kind: str, wrt: Any) -> str:
    """The `repr` of a derivative.

    >>> shown(lambda x, y: x * y, "hessian", 1)
    '<tapec hessian of <lambda> with respect to y>'
    """
    return f"<tapec {kind} of {function.__name__} with respect to {', '.join(_labels(function, wrt))}>"


def _labels(function: types.FunctionType, wrt: Any) -> list[str]:
    """The parameters that `wrt` names; of extra arguments `rest[1]` is the second."""
    own = parameters(function)
    names = list(own)
    extra = next((k for k, one in enumerate(own.values()) if one.kind is one.VAR_POSITIONAL), len(names))
    positions, _ = resolve_wrt(function, wrt)
    return [
        f"{names[extra]}[{position - extra}]" if extra < len(names) and position >= extra else names[position]
        for position in positions
    ]
