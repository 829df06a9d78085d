"""tapec: derivatives of numerical Python, as readable Python."""

from __future__ import annotations

from numpy import complex64, complex128, float32, float64, int32, int64

from tapec.api import emit, grad, value_and_grad
from tapec.check import check_grads
from tapec.gradient_tape import GradientTape, custom_gradient, function
from tapec.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from tapec.products import jvp, vjp
from tapec.version import __version__ as __version__
from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

__all__ = [
    "GradientTape",
    "UnconnectedGradients",
    "Variable",
    "check_grads",
    "complex64",
    "complex128",
    "constant",
    "custom_gradient",
    "emit",
    "float32",
    "float64",
    "function",
    "grad",
    "hessian",
    "hvp",
    "int32",
    "int64",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
