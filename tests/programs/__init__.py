"""Whole numeric programs with input makers, shared by the tests and the benchmarks.

Every module here holds plain functions in the style people write for Numba, and a tuple
`PROGRAMS` that says how to make arguments for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A function, how to make its arguments, and what to differentiate.

    f       the function; plain Python that Numba also compiles
    make    (rng, n) -> arguments of size n
    sizes   the sizes to test, edge sizes included
    wrt     positions of the differentiated arguments
    note    what derivative to expect where that is not obvious
    """

    f: Callable[..., Any]
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    wrt: tuple[int, ...] = (0,)
    note: str = ""

    def __str__(self) -> str:
        return self.f.__name__

    def arguments(self, n: int, seed: int = 0) -> tuple[Any, ...]:
        """The arguments of size `n`, the same on every run."""
        return self.make(np.random.default_rng([seed, n]), n)
