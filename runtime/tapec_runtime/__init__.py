"""What generated code may call at run time; imports nothing of the compiler."""

from __future__ import annotations

from tapec_runtime.aliasing import AliasedArguments, overlap
from tapec_runtime.special import exponent, polygamma, sinc_derivative
from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

__all__ = [
    "AliasedArguments",
    "UnconnectedGradients",
    "Variable",
    "constant",
    "exponent",
    "overlap",
    "polygamma",
    "sinc_derivative",
    "stop_gradient",
]
