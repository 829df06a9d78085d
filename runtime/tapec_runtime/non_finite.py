"""The error for a value that is nan or infinite, with `debug="nan"`."""

from __future__ import annotations

import math
from typing import Any


class NonFiniteValue(FloatingPointError):
    """The first value of a derivative that is nan or infinite.

    args  the value; the operation; how the value and the operation belong together; in which sweep; the user's line and
          those of the calls that lead to it; then the operands, and the variables of the loops around, with their
          values, in turn

    >>> print(NonFiniteValue(float("nan"), "x / y", "comes out of", "", "a.py:3, in f: x / y", "x", 0.0, "y", 0.0))
    nan comes out of `x / y`, where x = 0.0, y = 0.0
      a.py:3, in f: x / y
    """

    @property
    def operands(self) -> dict[str, Any]:
        """The operands by what they are called, and the variables of the loops around."""
        return dict(zip(self.args[5::2], self.args[6::2], strict=True))

    @property
    def arrives(self) -> bool:
        """Whether an operand is not finite itself: the value is not born here."""
        return any(isinstance(one, float) and not math.isfinite(one) for one in map(_number, self.operands.values()))

    def __str__(self) -> str:
        if len(self.args) < 5:
            return super().__str__()
        value, operation, how, sweep, place = self.args[:5]
        where = ", ".join(f"{name} = {number}" for name, number in self.operands.items())
        how = "arrives in" if self.arrives and how == "comes out of" else how
        lines = "\n  ".join(place.split("\n"))
        return f"{value} {how} `{operation}`{sweep and ' '}{sweep}{where and ', where '}{where}\n  {lines}"


def _number(value: Any) -> Any:
    """A number of NumPy's as Python's."""
    return value.item() if hasattr(value, "item") else value
