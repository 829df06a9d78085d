"""Keep what the iterations of a loop store for later with the axis of the iterations last, so that they can run side by
side.

    kept = np.empty((n, m))                   kept_columns = np.empty((m, n))
    for i in range(n):                        for i in range(n):
        for j in range(m):            ->          for j in range(m):
            kept[i, j] = s                            kept_columns[j, i] = s
            s = s * x[i] + y[j]                       s = s * x[i] + y[j]

Lanes (`outer_vectorisation.py`) touch neighbours then, where each of them would touch a row of its own.  Done for
matrices of the function's own, and arrays of matrices, whose elements are asked for by the number of the iteration and
something else, everywhere, if all loops that do so run in lanes thereby.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.column_layout import Matrices, Turned
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Block,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    blocks,
    element_of,
    names_in,
    walk,
)

# whether a loop of a function runs in lanes
Runs = Callable[[For, Iterations, Fresh], bool]
# axes of a buffer: more than values of nested loops have
_MOST = 8
_Access = tuple[str, tuple[Expr, ...], tuple[For, ...]]


def with_lanes_last(function: Function, runs: Runs) -> Function:
    """The function with such matrices; see the module."""
    matrices = Matrices(function)
    own = {name for name, _ in matrices.own(_MOST)}
    if not own:
        return function
    loops: dict[str, set[str]] = {}
    for array, index, around in _accesses(function.body, ()):
        if array in own:
            iteration = _iteration(index, around)
            if iteration is None:
                own.discard(array)
            else:
                loops.setdefault(array, set()).add(iteration)
    own = {name for name in own if name in loops and not _has_lines(function, name)}
    iterations = {var for name in own for var in loops[name]}
    if not own or _in_lanes(function, iterations, runs):
        return function
    fresh = Fresh(function.types)
    names = {name: fresh(f"{name}_columns", function.types[name]) for name in sorted(own)}
    turned = replace(function, body=Turned(names, fresh.types).block(function.body), types=fresh.types)
    return turned if _in_lanes(turned, iterations, runs) else function


def _in_lanes(function: Function, iterations: set[str], runs: Runs) -> bool:
    """Whether all the loops with some variables run in lanes."""
    found, fresh = Iterations(function), Fresh(function.types)
    loops = [stmt for stmt in walk(function.body) if isinstance(stmt, For) and stmt.var in iterations]
    return all(runs(loop, found, fresh) for loop in loops)


def _accesses(block: Block, around: tuple[For, ...]) -> Iterator[_Access]:
    """The elements that a block asks for or stores, and the counted loops around each."""
    for stmt in block:
        element = element_of(stmt)
        if element is not None:
            yield *element, around
        for inner in blocks(stmt):
            yield from _accesses(inner, (*around, stmt) if isinstance(stmt, For) else around)


def _iteration(index: tuple[Expr, ...], around: tuple[For, ...]) -> str | None:
    """The variable of the loop whose iterations have the rows, if loops inside it go through each."""
    if len(index) < 2:
        return None
    row, column = index[-2:]
    if not isinstance(row, Name) or row.id in names_in(column):
        return None
    outer = [place for place, loop in enumerate(around) if loop.var == row.id]
    return row.id if outer and outer[0] < len(around) - 1 else None


def _has_lines(function: Function, name: str) -> bool:
    """Whether rows or columns of a matrix have names."""

    def takes(stmt: Stmt) -> bool:
        match stmt:
            case Assign(value=Op(fn="view", args=(Name(id=array), *_))):
                return array == name
        return False

    return any(map(takes, walk(function.body)))
