"""Dask: the sum of a loss over chunks, and its gradient, on threads, processes or a cluster.

    pip install 'tapec[dask]'

>>> import numpy as np
>>> import dask.array as da
>>> import tapec.dask
>>> def loss(w, x, y):
...     return np.sum((x @ w - y) ** 2)
>>> x = da.from_array(np.arange(8.0).reshape(4, 2), chunks=(2, 2))
>>> y = da.ones(4, chunks=2)
>>> tapec.dask.value_and_grad(loss)(np.array([1.0, 0.0]), x, y)
(36.0, array([ 88., 104.]))
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Unpack

import cloudpickle
import dask
import dask.array as da
import numpy as np

from tapec import api
from tapec.bridge import by_position, mapped, positions
from tapec.errors import UsageError
from tapec.options import Keywords


def value_and_grad(f: Callable[..., Any], wrt: Any = 0, **options: Unpack[Keywords]) -> ChunkedDerivative:
    """The sum over chunks of a function's values, and its gradient.

    f        a function of NumPy arrays that returns one float: the loss of a chunk
    wrt      position or name of a parameter, or a tuple of those: of arguments that are no Dask arrays
    options  as for `tapec.grad`
    returns  a function of the same arguments.  Dask arrays are divided along their first axis, along which they all
             have the same chunks, and `f` gets one chunk of each; others are the same for all chunks.  `f` returns the
             sum over the rows of a chunk, not their mean: results are added.  The result is (value, gradient), as
             `tapec.value_and_grad` has it.  It is computed at once, by the scheduler that Dask has: the workers of a
             `distributed.Client` if there is one.  Values and gradients are added in a tree that depends on the number
             of chunks alone: the same bits on any number of workers
    raises   ValueError  for chunks that do not fit, for arrays without chunks, and for a NumPy array with a row for
                         each row of the Dask arrays, all of which every chunk would get;
             UsageError  where `wrt` names a Dask array, or no argument is one;
             TapecError  (see tapec.errors) from the workers

    A worker that is lost loses no result: Dask runs its chunks again elsewhere.
    """
    return ChunkedDerivative(f, wrt, **options)


class ChunkedDerivative:
    """What `value_and_grad` returns for Dask.

    >>> import dask.array as da
    >>> graph = value_and_grad(lambda w, x: w * x.sum()).delayed(2.0, da.ones(4, chunks=2))
    >>> graph.compute()
    (8.0, 4.0)
    """

    def __init__(self, f: Callable[..., Any], wrt: Any = 0, **options: Unpack[Keywords]) -> None:
        self.f, self.wrt, self.options = f, wrt, options
        self._by = positions(f, wrt) or frozenset()
        self.derivative = api.value_and_grad(f, wrt, **options)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.delayed(*arguments, **named).compute()

    def delayed(self, *arguments: Any, **named: Any) -> Any:
        """The tuple (value, gradient) as a `dask.delayed.Delayed`, which is not computed yet."""
        arguments, by_name = by_position(self.f, arguments, named)
        if any(isinstance(one, da.Array) for one in by_name.values()):
            raise UsageError("a Dask array cannot be given by name alone")
        blocks = self._blocks(arguments)
        # what all chunks share is one task, not a part of each
        shared = [None if k in blocks else dask.delayed(one, traverse=False) for k, one in enumerate(arguments)]
        derivative = functools.partial(self.derivative, **by_name) if by_name else self.derivative
        run = dask.delayed(_Kept(derivative), traverse=False)
        count = len(next(iter(blocks.values())))
        parts = [
            run(*(blocks[k][chunk] if k in blocks else one for k, one in enumerate(shared))) for chunk in range(count)
        ]
        add = dask.delayed(_added, traverse=False)
        while len(parts) > 1:
            pairs = [add(*parts[k : k + 2]) for k in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[2 * len(pairs) :]
        return parts[0]

    def _blocks(self, arguments: tuple[Any, ...]) -> dict[int, list[Any]]:
        """The chunks of the Dask arrays, by position."""
        found: dict[int, list[Any]] = {}
        chunks: dict[int, Any] = {}
        for k, argument in enumerate(arguments):
            if not isinstance(argument, da.Array):
                continue
            if k in self._by:
                hint = "give it as a NumPy array: `.compute()`"
                raise UsageError(f"no gradient is taken by {self._label(k)}: it is a Dask array", hint=hint)
            if argument.ndim == 0 or any(n != 1 for n in argument.numblocks[1:]):
                why = "has chunks along other axes than the first: call `.rechunk({1: -1})`"
                raise ValueError(f"{self._label(k)} {why}")
            chunks[k] = argument.chunks[0]
            found[k] = list(argument.to_delayed().ravel())
        if not found:
            raise UsageError("no argument is a Dask array", hint="call tapec.value_and_grad")
        first, *others = chunks.items()
        one = self._label(first[0])
        for k, own in others:
            if own != first[1] and not _unknown(own, first[1]):
                text = f"{one} and {self._label(k)} have different chunks, {first[1]} and {own}"
                raise ValueError(f"{text}: call `.rechunk` of one with `.chunks[0]` of the other")
        for k, argument in enumerate(arguments):
            alike = isinstance(argument, np.ndarray) and argument.shape[:1] == (sum(first[1]),)
            if alike and k not in self._by and len(first[1]) > 1:
                text = f"{self._label(k)} has as many rows as {one}, but no chunks: each chunk would get all of it"
                own, other = self._label(k, "..."), self._label(first[0], "...")
                take = f"write `da.from_array({own}, chunks={other}.chunks[0])`"
                raise ValueError(f"{text}; {take}, or `dask.delayed({own})` if that is meant")
        return found

    def _label(self, position: int, unknown: str = "") -> str:
        """The name of a parameter, or its number."""
        try:
            names = list(inspect.signature(self.f).parameters)
        except (TypeError, ValueError):
            names = []
        return names[position] if position < len(names) else unknown or f"argument {position}"

    def __reduce__(self) -> Any:
        return functools.partial(ChunkedDerivative, **self.options), (self.f, self.wrt)


class _Kept:
    """A derivative that a process keeps which unpickles it: it would be compiled again for each chunk."""

    def __init__(self, derivative: Any) -> None:
        self.derivative = derivative

    def __call__(self, *arguments: Any) -> Any:
        return self.derivative(*arguments)

    def __reduce__(self) -> Any:
        return _kept, (cloudpickle.dumps(self.derivative),)


@functools.lru_cache(maxsize=32)
def _kept(pickled: bytes) -> _Kept:
    return _Kept(cloudpickle.loads(pickled))


def _unknown(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two lists of chunks may be equal, but for extents that are not known before they are computed."""
    return len(one) == len(other) and all(n == m or n != n or m != m for n, m in zip(one, other, strict=True))


def _added(one: Any, other: Any) -> Any:
    """The sum of two nests of numbers and arrays."""
    if isinstance(one, dict | tuple | list):
        return mapped(_added, one, other)
    # None stands for what has no gradient
    return None if one is None else one + other
