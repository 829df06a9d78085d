"""Harsh conditions for generated code that the interpreter runs: what would go unnoticed by chance shows.

Memory that nothing has been written to holds nan.  Loops run on threads however short they are; threads take them in
another order, and no two may write one element.  Of loops that LLVM is told are independent, no iteration finds what
another one has stored; it is told of all that are, however few arrays they have.  Iterations run side by side wherever
that is proved to be right, worth it or not, and four at a time, so that a loop of five iterations has a full block of
lanes and a
rest.  Products of small matrices are left to BLAS, and matrices with more rows than columns are kept in transpose.
Recurrences in loops are split off however short they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import numba
import numpy as np

from tapec.backend import jit
from tapec.backend.program import Program
from tapec.optimise import costs
from tapec.optimise.vectors import outer_vectorisation


class _Unwritten:
    """NumPy, whose fresh memory holds nan, or a large number."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, *args: Any, **kwargs: Any) -> np.ndarray:
        made = np.empty(*args, **kwargs)
        made.fill(np.nan if made.dtype.kind in "fc" else 99)
        return made

    def empty_like(self, *args: Any, **kwargs: Any) -> np.ndarray:
        made = np.empty_like(*args, **kwargs)
        made.fill(np.nan if made.dtype.kind in "fc" else 99)
        return made


class _Threads:
    """Numba, whose threads are as unfair as they may be."""

    def __getattr__(self, name: str) -> Any:
        return getattr(numba, name)

    def prange(self, *bounds: int) -> Iterator[int]:
        iterations = [*range(*bounds)]
        arrays: list[_Watched] = []
        for place, iteration in enumerate([*iterations[1::2], *iterations[::2]][::-1]):
            if place == 0:
                known = sys._getframe(1).f_locals.values()
                arrays = [_Watched(one) for one in known if isinstance(one, np.ndarray)]
            yield iteration
            for one in arrays:
                one.after_an_iteration()


class _Watched:
    """An array that was there before a loop on threads: which of its elements iterations have written."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.before = array.copy()
        self.written = np.zeros(array.shape, bool)

    def after_an_iteration(self) -> None:
        changed = (self.array != self.before) & ~((self.array != self.array) & (self.before != self.before))
        assert not np.any(changed & self.written), "two iterations of a loop on threads write one element"
        self.written |= changed
        self.before[...] = self.array


class _Runtime:
    """The runtime, whose independent loops hide from each iteration what those before it have stored."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)

    def independence_hints(self, iterations: range) -> Iterator[int]:
        arrays: list[_Hidden] = []
        for place, iteration in enumerate(iterations):
            if place == 0:
                known = [one for one in sys._getframe(1).f_locals.values() if isinstance(one, np.ndarray)]
                owners = {id(one): one for one in map(_owner, known) if one.dtype.kind == "f" and one.flags.writeable}
                arrays = [_Hidden(one) for one in owners.values()]
            yield iteration
            for one in arrays:
                one.after_an_iteration()
        for one in arrays:
            one.array[one.hidden] = one.stored[one.hidden]


def _owner(array: np.ndarray) -> np.ndarray:
    return array if not isinstance(array.base, np.ndarray) else array.base


class _Hidden:
    """An array whose elements are nan once an iteration has stored them, until the loop ends."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.stored = array.copy()
        self.before = array.copy()
        self.hidden = np.zeros(array.shape, bool)

    def after_an_iteration(self) -> None:
        changed = (self.array != self.before) & ~((self.array != self.array) & (self.before != self.before))
        assert not np.any(changed & self.hidden), "two iterations of an independent loop store one element"
        self.stored[changed] = self.array[changed]
        self.array[changed] = self.before[changed] = np.nan
        self.hidden |= changed


_load = jit.load


def _harshly(program: Program, *where: str) -> Any:
    made = _load(program, *where)
    made.__globals__["np"] = _Unwritten()
    made.__globals__["tapec_runtime"] = _Runtime(made.__globals__["tapec_runtime"])
    if program.options.flags.get("parallel"):
        made.__globals__["numba"] = _Threads()
    return made


@contextmanager
def harsh(side_by_side: bool = True) -> Iterator[None]:
    """Such conditions for what is generated meanwhile; iterations need not be side by side, which other passes wait
    for.
    """
    with (
        mock.patch.object(jit, "load", _harshly),
        mock.patch.object(outer_vectorisation, "gains", lambda *_: True) if side_by_side else nullcontext(),
        mock.patch.object(outer_vectorisation, "few", lambda *_: False) if side_by_side else nullcontext(),
        mock.patch.multiple(
            costs,
            LANE_WIDTH=4,
            OWN_COMPARISONS=-1,
            OWN_COMPARISONS_AGAIN=-1,
            BLAS_ITERATIONS=1,
            BLAS_WORK=1,
            TALL=1,
            CHUNK_ITERATIONS=1,
            CHUNK_SUMS=64,
        ),
    ):
        yield
