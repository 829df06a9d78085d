"""The error for a value that is nan or infinite, with `debug="nan"`."""

from __future__ import annotations

from typing import Any


class NonFiniteValue(FloatingPointError):
    """The first value of a derivative that is nan or infinite.

    args  the value; the operation, whether it is computed or read there, in which sweep, the place and the text of the
          user's line; then the names and values of the operands in turn

    >>> print(NonFiniteValue(float("nan"), "x / y", "comes out of", "in the forward sweep", "a.py:3", "return x / y",
    ...                      "x", 0.0, "y", 0.0))
    nan comes out of `x / y` in the forward sweep, where x = 0.0, y = 0.0
      a.py:3: return x / y
    """

    @property
    def operands(self) -> dict[str, Any]:
        """The operands by name; of an element that is read, its subscripts."""
        return dict(zip(self.args[6::2], self.args[7::2], strict=True))

    def __str__(self) -> str:
        if len(self.args) < 6:
            return super().__str__()
        value, operation, how, sweep, place, line = self.args[:6]
        where = ", ".join(f"{name} = {number}" for name, number in self.operands.items())
        return f"{value} {how} `{operation}`{sweep and ' '}{sweep}{where and ', where '}{where}\n  {place}: {line}"
