"""tapec: derivatives of numerical Python, as readable Python."""

from __future__ import annotations

from tapec.api import emit, grad, jvp, value_and_grad, vjp
from tapec.version import __version__

__all__ = ["emit", "grad", "jvp", "value_and_grad", "vjp"]
