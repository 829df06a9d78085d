"""tapec: derivatives of numerical Python, as readable Python."""

from __future__ import annotations

from tapec.api import emit, grad, jvp, value_and_grad, vjp
from tapec.check import check_grads
from tapec.gradient_tape import GradientTape, custom_gradient, function
from tapec.version import __version__ as __version__
from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

__all__ = [
    "GradientTape",
    "UnconnectedGradients",
    "Variable",
    "check_grads",
    "constant",
    "custom_gradient",
    "emit",
    "function",
    "grad",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
