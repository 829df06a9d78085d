"""Sparse derivatives against dense ones: a pattern may never miss an element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tapec
from tests.oracles import (
    SINGLE_TOLERANCE,
    Args,
    Mismatch,
    any_single,
    clone,
    float_positions,
    leaves,
    random_like,
    shifted,
)
from tests.typed import interpreted

TOLERANCE = 1e-9


def dense(f: Callable[..., Any], args: Args, wrt: tuple[int, ...], derivative: Any, **options: Any) -> np.ndarray:
    """The Jacobian or Hessian as one matrix: rows for the elements of the results, columns for those of the sources."""
    # by Python: this is the oracle
    with interpreted():
        blocks = list(leaves(_made(derivative, f, wrt, tuple(options.items()))(*clone(args))))
    sources = [leaf for position in wrt for leaf in leaves(args[position])]
    lines = [blocks[k : k + len(sources)] for k in range(0, len(blocks), len(sources))]
    return np.concatenate([np.concatenate(list(_matrices(line, sources)), axis=1) for line in lines])


@functools.lru_cache(maxsize=4)
def _made(derivative: Any, f: Callable[..., Any], wrt: tuple[int, ...], options: tuple[tuple[str, Any], ...]) -> Any:
    return derivative(f, wrt, **dict(options))


def _matrices(line: list[Any], sources: list[Any]) -> Iterator[np.ndarray]:
    for source, block in zip(sources, line, strict=True):
        found = np.asarray(block, float)
        rows = int(np.prod(found.shape[: found.ndim - np.ndim(source)]))
        yield found.reshape(rows, np.size(source))


def agree(what: str, matrix: Any, wanted: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """Raise Mismatch unless a sparse matrix has the elements of a dense one, and a pattern with all of them."""
    found = matrix.toarray()
    if found.shape != wanted.shape:
        raise Mismatch(f"{what}: shape {found.shape} against {wanted.shape}")
    pattern = np.zeros(wanted.shape, bool)
    for row in range(wanted.shape[0]):
        pattern[row, matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]] = True
    missed = (wanted != 0) & ~pattern
    if missed.any():
        raise Mismatch(f"{what}: the pattern misses {np.argwhere(missed).tolist()}")
    kept = np.isfinite(wanted)
    allowed = tolerance * (1.0 + np.max(np.abs(wanted[kept]), initial=0.0))
    if not np.all(np.abs(found - wanted)[kept] <= allowed):
        raise Mismatch(f"{what}: {found!r} against {wanted!r}")


def check_sparse(
    f: Callable[..., Any], args: Args, wrt: tuple[int, ...] | None = None, hessian: bool = False, **options: Any
) -> None:
    """Raise Mismatch unless the sparse derivative is the dense one, at `args` and then at others of the same shapes."""
    wrt = float_positions(args) if wrt is None else wrt
    tolerance = SINGLE_TOLERANCE if any_single(args) else TOLERANCE
    sparse = (tapec.sparse_hessian if hessian else tapec.sparse_jacobian)(f, wrt, **options)
    rng = np.random.default_rng(3)
    tangents = tuple(random_like(rng, args[position]) for position in wrt)
    for step in (0.0, 1e-3, 0.3, -0.5):
        moved = shifted(args, wrt, tangents, step) if step else args
        wanted = dense(f, moved, wrt, tapec.hessian if hessian else tapec.jacrev, **options)
        agree(f"at step {step}", sparse(*clone(moved)), wanted, tolerance)
