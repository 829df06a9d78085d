"""The error for a subscript that is out of range."""

from __future__ import annotations


class IndexOutOfRange(IndexError):
    """A derivative would have to write an element that the array does not have.

    args  what the array is called, the axis, the subscript, the extent of the axis, and the user's line

    >>> print(IndexOutOfRange("`x`", 0, 7, 3, "return x[i]"))
    index 7 is out of bounds for axis 0 of `x` with size 3: return x[i]
    """

    def __str__(self) -> str:
        if len(self.args) != 5:
            return super().__str__()
        array, axis, index, size, line = self.args
        return f"index {index} is out of bounds for axis {axis} of {array} with size {size}: {line}"
