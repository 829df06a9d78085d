"""The error for numbers and shapes that a function of NumPy takes and a derivative of it does not."""

from __future__ import annotations


class Unsupported(ValueError):
    """What a program meets when it runs, and what could not be told while it was compiled.

    args  what is not supported, and what to do; the user's line

    >>> print(Unsupported("np.linalg.qr in mode 'complete' of a tall matrix", "q, r = np.linalg.qr(a, 'complete')"))
    np.linalg.qr in mode 'complete' of a tall matrix: q, r = np.linalg.qr(a, 'complete')
    """

    def __str__(self) -> str:
        return ": ".join(map(str, self.args))
