"""Verify a derivative: reverse against forward mode, and forward mode against differences."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api import grad
from tapec.errors import GradientMismatch, UsageError
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
    wrt      positions of the arguments to move; by default all floats and arrays of floats
    order    derivatives to check: 2 checks the gradient's derivative too, and so on
    rtol     relative tolerance against central differences; by default 1e-6, 1e-2 for float32.
             Reverse is held to forward mode a thousand times more tightly
    atol     absolute tolerance, by default `rtol`
    raises   GradientMismatch with both numbers if they differ

    >>> check_grads(lambda x: x ** 3, (2.0,), order=2)
    """
    if not isinstance(args, tuple | list):
        raise UsageError("args must be a tuple of arguments")
    if order < 1:
        raise UsageError(f"order must be at least 1, not {order}")
    args = tuple(args)
    positions = _positions(args, wrt)
    single = any(leaf.dtype == np.float32 for k in positions for leaf in _leaves(args[k]))
    rtol = (1e-2 if single else 1e-6) if rtol is None else rtol
    atol = rtol if atol is None else atol
    function = f
    for k in range(1, order + 1):
        _check(function, args, positions, k, rtol, atol)
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
    return bool(leaves) and all(leaf.dtype.kind == "f" for leaf in leaves)


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
    return drawn.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(drawn)


def _inner(first: Any, second: Any) -> float:
    pairs = zip(_leaves(first), _leaves(second), strict=True)
    return float(sum(np.vdot(a.astype(np.float64), b.astype(np.float64)) for a, b in pairs if a.dtype.kind == "f"))


def _check(
    f: Callable[..., Any], args: tuple[Any, ...], positions: tuple[int, ...], order: int, rtol: float, atol: float
) -> None:
    rng = np.random.default_rng(_SEED)
    tangents = tuple(
        _map(lambda leaf: _random(rng, leaf), arg) if k in positions else None for k, arg in enumerate(args)
    )
    value, moved = jvp(f, _map(_clone, args), tangents)
    weights = _map(lambda leaf: _random(rng, leaf) if np.asarray(leaf).dtype.kind == "f" else 0.0, value)
    forward = _inner(weights, moved)
    _, pullback = vjp(f, *_map(_clone, args))
    pulled = pullback(weights)
    reverse = sum(_inner(pulled[k], tangents[k]) for k in positions)
    scale = max(_size(weights) * _size(moved), 1.0)
    _compare("reverse", reverse, "forward", forward, order, 1e-3 * rtol, 1e-3 * atol * scale)
    step = float(np.cbrt(np.finfo(_coarsest(args, positions)).eps))

    def at(shift: float) -> Any:
        parts = [
            _map(lambda leaf, t: type(leaf)(leaf + shift * t) if np.ndim(leaf) == 0 and not isinstance(leaf, np.ndarray)
                 else (leaf + shift * t).astype(leaf.dtype), arg, tangents[k])
            if k in positions else _map(_clone, arg)
            for k, arg in enumerate(args)
        ]
        return f(*parts)

    difference = (_inner(weights, at(step)) - _inner(weights, at(-step))) / (2 * step)
    _compare("forward", forward, "central differences", difference, order, rtol, atol * scale)


def _coarsest(args: tuple[Any, ...], positions: tuple[int, ...]) -> Any:
    dtypes = [leaf.dtype for k in positions for leaf in _leaves(args[k])]
    return max(dtypes, key=lambda dtype: np.finfo(dtype).eps)


def _size(tree: Any) -> float:
    return float(np.sqrt(_inner(tree, tree)))


def _compare(
    name: str, found: float, other: str, expected: float, order: int, rtol: float, atol: float
) -> None:
    if abs(found - expected) <= atol + rtol * abs(expected):
        return
    if np.isnan(found) and np.isnan(expected):
        return
    raise GradientMismatch(
        f"order {order}: {name} mode gives {found!r}, {other} {expected!r} in a random direction",
        reason=f"they differ by {abs(found - expected):.3g}, more than {atol + rtol * abs(expected):.3g}",
        hint="away from kinks and jumps they must agree; if they do there, please report the function",
    )
