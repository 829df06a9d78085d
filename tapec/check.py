"""Verify a derivative: reverse against forward mode, and forward mode against differences."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.api import grad
from tapec.bound import unbound
from tapec.errors import GradientMismatch, NoTranspose, UsageError
from tapec.frontend.source.function_source import parameters
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
    wrt      names or positions of the arguments to move; by default all floats and arrays of floats, real or complex,
             and tuples, lists, dicts and dataclasses of nothing else
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
    forward, reverse, differences   what forward mode, reverse mode and central differences give; None for a mode that
                 a derivative of the user's own does not have
    closeness    how far reverse may be from forward mode
    tolerance    how far the differences may be
    """

    order: int
    moved: str
    forward: float | None
    reverse: float | None
    differences: float
    closeness: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether all three are the same within the tolerances; nan is the same as nan."""
        return all(_same(found, expected, tolerance) for _, found, _, expected, tolerance in self._pairs())

    def _pairs(self) -> Iterator[tuple[str, float, str, float, float]]:
        """What is compared: a name and a figure, another name and figure, and how far they may be apart."""
        if self.reverse is not None and self.forward is not None:
            yield "reverse mode", self.reverse, "forward mode", self.forward, self.closeness
        for name, figure in (("forward mode", self.forward), ("reverse mode", self.reverse)):
            if figure is not None:
                yield name, figure, "central differences", self.differences, self.tolerance
                return

    def raise_mismatch(self) -> None:
        """Raise GradientMismatch if two of the three differ."""
        for name, found, other, expected, tolerance in self._pairs():
            if not _same(found, expected, tolerance):
                raise GradientMismatch(
                    f"order {self.order}: {name} gives {found!r}, {other} {expected!r} in a random direction",
                    reason=f"they differ by {abs(found - expected):.3g}, more than {tolerance:.3g}",
                    hint="away from kinks and jumps they must agree: correct the derivative if it is one of your own, "
                    "else please report the function",
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
    bound = unbound(f)
    names = bound.free(parameters(plain_function(bound.function)))
    positions = _positions(args, wrt, names)
    single = any(leaf.dtype in (np.float32, np.complex64) for k in positions for leaf in _leaves(args[k]))
    rtol = (1e-2 if single else 1e-6) if rtol is None else rtol
    atol = rtol if atol is None else atol
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


def _positions(args: tuple[Any, ...], wrt: Any, names: Sequence[str]) -> tuple[int, ...]:
    if wrt is None:
        found = tuple(k for k, arg in enumerate(args) if _is_float(arg))
        if not found:
            raise UsageError("none of the arguments is a float or an array of floats")
        return found
    asked = (wrt,) if isinstance(wrt, int | str) else tuple(wrt)
    found = tuple(list(names).index(one) if one in names else one for one in asked)
    for one, place in zip(asked, found, strict=True):
        if not isinstance(place, int) or not -len(args) <= place < len(args):
            raise UsageError(f"the function has no argument {one!r}")
        if not _is_float(args[place]):
            raise UsageError(
                f"the argument {one!r} has parts that are neither floats nor arrays of floats, and cannot be moved",
                hint="pass its arrays as arguments of their own to check the derivative by them",
            )
    return found


def _is_float(arg: Any) -> bool:
    leaves = _leaves(arg)
    return bool(leaves) and all(leaf.dtype.kind in "fc" for leaf in leaves)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return _leaves(tuple(tree.values()))
    if dataclasses.is_dataclass(tree):
        return _leaves(tuple(vars(tree).values()))
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in _leaves(item)]
    return [np.asarray(tree)]


def _map(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    if isinstance(first, tuple | list):
        mapped = [_map(function, *group) for group in zip(first, *others, strict=True)]
        return type(first)(*mapped) if hasattr(first, "_fields") else tuple(mapped)
    if isinstance(first, dict):
        return {key: _map(function, value, *(other[key] for other in others)) for key, value in first.items()}
    if dataclasses.is_dataclass(first):
        made = copy.copy(first)
        for name, value in vars(first).items():
            object.__setattr__(made, name, _map(function, value, *(getattr(other, name) for other in others)))
        return made
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
    pullback = None
    try:
        value, pullback = vjp(f, *_map(_clone, args))
    except NoTranspose:
        value = f(*_map(_clone, args))
    weights = _map(lambda leaf: _random(rng, leaf) if np.asarray(leaf).dtype.kind in "fc" else 0.0, value)
    pulled = None if pullback is None else pullback(weights)
    step = float(np.cbrt(np.finfo(_coarsest(args, positions)).eps))
    for moved, chosen in moves.items():
        tangents = tuple(
            t if k in chosen or t is None else _map(lambda leaf: leaf * 0, t) for k, t in enumerate(drawn)
        )
        forward, size = None, 0.0
        # the rule of a function may serve one mode alone; then that one is compared with differences
        with contextlib.suppress(*((NoTranspose,) if pulled is not None else ())):
            _, tangent = jvp(f, _map(_clone, args), tangents)
            forward, size = _inner(weights, tangent), _size(tangent)
        reverse = None if pulled is None else sum(_inner(pulled[k], tangents[k]) for k in chosen)
        ahead, behind = (_weighted(f, args, tangents, chosen, weights, shift) for shift in (step, -step))
        differences = (ahead - behind) / (2 * step)
        scale = max(_size(weights) * size, 1.0)
        closeness = 1e-3 * (atol * scale + rtol * abs(forward or 0.0))
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
