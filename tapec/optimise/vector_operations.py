"""Operations on vectors: for which the runtime has a function that LLVM vectorises, and what they cost."""

from __future__ import annotations

from tapec.optimise import costs

_NAMES = ("exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh", "sin", "cos", "tan")

# the runtime's function for an operation
VECTORISED = {
    **{f"{module}.{name}": f"tapec_runtime.{name}" for module in ("np", "math") for name in _NAMES},
    **dict.fromkeys(("np.arctan", "np.atan", "math.atan"), "tapec_runtime.arctan"),
    **dict.fromkeys(("**", "np.power", "np.pow", "math.pow"), "tapec_runtime.power"),
    "math.erf": "tapec_runtime.erf",
    "math.lgamma": "tapec_runtime.lgamma",
    "tapec_runtime.polygamma": "tapec_runtime.digamma",
    **{f"np.{name}": f"tapec_runtime.{name}" for name in ("maximum", "minimum")},
}
_CHEAP = frozenset({"+", "-", "*", "neg", "load", "max", "min"})


def operation_cost(fn: str) -> int:
    """What an operation on vectors costs, in additions."""
    return 1 if fn in _CHEAP else costs.DIVISION if fn == "/" else costs.FUNCTION
