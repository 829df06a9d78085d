"""What generated code may call at run time; imports nothing of the compiler."""

from __future__ import annotations

from tapec_runtime.aliasing import AliasedArguments, overlap
from tapec_runtime.special import exponent, polygamma, sinc_derivative

__all__ = ["AliasedArguments", "exponent", "overlap", "polygamma", "sinc_derivative"]
