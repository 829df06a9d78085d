"""Verify a derivative: reverse against forward mode, and forward mode against differences."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.api import grad
from tapec.bound import unbound
from tapec.errors import GradientMismatch, UsageError
from tapec.frontend.source import parameters
from tapec.plain_functions import plain_function
from tapec.products import jvp, vjp

_SEED = 20_001
_files = itertools.count(1)


def check_grads(
    f: Callable[..., Any],
    args: Any,
    wrt: Any = None,
    order: int = 1,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args`, in a random direction.

    args     the arguments, a tuple
    wrt      positions of the arguments to move; by default all floats and arrays of floats, real or complex
    order    derivatives to check: 2 checks the gradient's derivative too, and so on
    rtol     relative tolerance against central differences; by default 1e-6, 1e-2 for float32.
             Reverse is held to forward mode a thousand times more tightly
    atol     absolute tolerance, by default `rtol`
    raises   GradientMismatch with both numbers if they differ

    >>> check_grads(lambda x: x ** 3, (2.0,), order=2)
    """
    for row in compare(f, args, wrt, order, rtol, atol, apart=False):
        row.raise_mismatch()


@dataclass(frozen=True)
class Comparison:
    """Three ways to the derivative of a function in one direction, weighted over what it returns.

    order        1 for the function, 2 for its gradient, and so on
    moved        the parameter that the direction moves, or "all"
    forward, reverse, differences   what forward mode, reverse mode and central differences give
    closeness    how far reverse may be from forward mode
    tolerance    how far the differences may be
    """

    order: int
    moved: str
    forward: float
    reverse: float
    differences: float
    closeness: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether all three are the same within the tolerances; nan is the same as nan."""
        return _same(self.reverse, self.forward, self.closeness) and _same(
            self.forward, self.differences, self.tolerance
        )

    def raise_mismatch(self) -> None:
        """Raise GradientMismatch if two of the three differ."""
        pairs = (
            ("reverse", self.reverse, "forward", self.forward, self.closeness),
            ("forward", self.forward, "central differences", self.differences, self.tolerance),
        )
        for name, found, other, expected, tolerance in pairs:
            if not _same(found, expected, tolerance):
                raise GradientMismatch(
                    f"order {self.order}: {name} mode gives {found!r}, {other} {expected!r} in a random direction",
                    reason=f"they differ by {abs(found - expected):.3g}, more than {tolerance:.3g}",
                    hint="away from kinks and jumps they must agree; if they do there, please report the function",
                )


def compare(
    f: Callable[..., Any],
    args: Any,
    wrt: Any = None,
    order: int = 1,
    rtol: float | None = None,
    atol: float | None = None,
    apart: bool = True,
) -> Iterator[Comparison]:
    """The comparisons that `check_grads` makes, one by one; `apart` adds one for each argument that moves.

    Parameters as for `check_grads`.
    """
    if not isinstance(args, tuple | list):
        raise UsageError("args must be a tuple of arguments")
    if order < 1:
        raise UsageError(f"order must be at least 1, not {order}")
    args = tuple(args)
    positions = _positions(args, wrt)
    single = any(leaf.dtype in (np.float32, np.complex64) for k in positions for leaf in _leaves(args[k]))
    rtol = (1e-2 if single else 1e-6) if rtol is None else rtol
    atol = rtol if atol is None else atol
    bound = unbound(f)
    names = bound.free(parameters(plain_function(bound.function)))
    moves = {"all": positions}
    if apart and len(positions) > 1:
        moves = {names[min(k, len(names) - 1)]: (k,) for k in positions} | moves
    function = f
    for k in range(1, order + 1):
        yield from _compared(function, args, positions, moves, k, rtol, atol)
        if k < order:
            function = _gradient(function, positions, len(args))


def _gradient(f: Callable[..., Any], positions: tuple[int, ...], count: int) -> Callable[..., Any]:
    """The gradient as a function with source, so that it can be differentiated in turn."""
    names = ", ".join(f"x{k}" for k in range(count))
    text = f"def gradient({names}):\n    return derivative({names})\n"
    file = f"<tapec check_grads {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {"derivative": grad(f, positions)}
    exec(compile(text, file, "exec"), namespace)
    return namespace["gradient"]


def _positions(args: tuple[Any, ...], wrt: Any) -> tuple[int, ...]:
    if wrt is not None:
        return (wrt,) if isinstance(wrt, int) else tuple(wrt)
    found = tuple(k for k, arg in enumerate(args) if _is_float(arg))
    if not found:
        raise UsageError("none of the arguments is a float or an array of floats")
    return found


def _is_float(arg: Any) -> bool:
    leaves = _leaves(arg)
    return bool(leaves) and all(leaf.dtype.kind in "fc" for leaf in leaves)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in _leaves(item)]
    return [np.asarray(tree)]


def _map(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    if isinstance(first, tuple | list):
        mapped = [_map(function, *group) for group in zip(first, *others, strict=True)]
        return type(first)(*mapped) if hasattr(first, "_fields") else tuple(mapped)
    return function(first, *others)


def _clone(leaf: Any) -> Any:
    return leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf


def _random(rng: np.random.Generator, leaf: Any) -> Any:
    drawn = rng.standard_normal(np.shape(leaf))
    if np.iscomplexobj(leaf):
        drawn = drawn + 1j * rng.standard_normal(np.shape(leaf))
    return drawn.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(drawn)


def _inner(first: Any, second: Any) -> float:
    """The inner product; a complex number counts as two real ones."""
    pairs = zip(_leaves(first), _leaves(second), strict=True)
    return float(
        sum(np.vdot(a.astype(np.complex128), b.astype(np.complex128)).real for a, b in pairs if a.dtype.kind in "fc")
    )


def _compared(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    positions: tuple[int, ...],
    moves: dict[str, tuple[int, ...]],
    order: int,
    rtol: float,
    atol: float,
) -> Iterator[Comparison]:
    rng = np.random.default_rng(_SEED)
    drawn = tuple(_map(lambda leaf: _random(rng, leaf), arg) if k in positions else None for k, arg in enumerate(args))
    value, pullback = vjp(f, *_map(_clone, args))
    weights = _map(lambda leaf: _random(rng, leaf) if np.asarray(leaf).dtype.kind in "fc" else 0.0, value)
    pulled = pullback(weights)
    step = float(np.cbrt(np.finfo(_coarsest(args, positions)).eps))
    for moved, chosen in moves.items():
        tangents = tuple(
            t if k in chosen or t is None else _map(lambda leaf: leaf * 0, t) for k, t in enumerate(drawn)
        )
        _, tangent = jvp(f, _map(_clone, args), tangents)
        forward = _inner(weights, tangent)
        reverse = sum(_inner(pulled[k], tangents[k]) for k in chosen)
        ahead, behind = (_weighted(f, args, tangents, chosen, weights, shift) for shift in (step, -step))
        differences = (ahead - behind) / (2 * step)
        scale = max(_size(weights) * _size(tangent), 1.0)
        closeness = 1e-3 * (atol * scale + rtol * abs(forward))
        tolerance = atol * scale + rtol * abs(differences)
        yield Comparison(order, moved, forward, reverse, differences, closeness, tolerance)


def _weighted(
    f: Callable[..., Any], args: tuple[Any, ...], tangents: Any, chosen: tuple[int, ...], weights: Any, shift: float
) -> float:
    """What `f` returns, weighted, when the chosen arguments have moved."""

    def moved(leaf: Any, tangent: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return (leaf + shift * tangent).astype(leaf.dtype)
        return type(leaf)(leaf + shift * tangent)

    parts = [_map(moved, arg, tangents[k]) if k in chosen else _map(_clone, arg) for k, arg in enumerate(args)]
    return _inner(weights, f(*parts))


def _coarsest(args: tuple[Any, ...], positions: tuple[int, ...]) -> Any:
    dtypes = [leaf.dtype for k in positions for leaf in _leaves(args[k])]
    return max(dtypes, key=lambda dtype: np.finfo(dtype).eps)


def _size(tree: Any) -> float:
    return float(np.sqrt(_inner(tree, tree)))


def _same(found: float, expected: float, tolerance: float) -> bool:
    return abs(found - expected) <= tolerance or bool(np.isnan(found) and np.isnan(expected))
