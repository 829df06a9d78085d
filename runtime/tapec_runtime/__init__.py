"""What generated code may call at run time; imports nothing of the compiler."""

from __future__ import annotations

from tapec_runtime.special import exponent, polygamma, sinc_derivative

__all__ = ["exponent", "polygamma", "sinc_derivative"]
