"""What generated code may call at run time; imports nothing of the compiler."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tapec_runtime.variables import UnconnectedGradients, Variable, constant, stop_gradient

if TYPE_CHECKING:
    from tapec_runtime.aliasing import AliasedArguments, overlap
    from tapec_runtime.special import exponent, polygamma, sinc_derivative

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

# these modules need Numba, which takes longer to import than the rest together
_LAZY = {
    "AliasedArguments": "aliasing",
    "exponent": "special",
    "overlap": "aliasing",
    "polygamma": "special",
    "sinc_derivative": "special",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
