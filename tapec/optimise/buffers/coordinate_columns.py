"""Copy coordinates of points that loops over pairs read again and again to columns.

    for i in range(n):                        p_columns = np.empty((2, n))      two columns of p, as rows
        for j in range(i):                    ...
            x = p[j, 0] - p[i, 0]     ->      for i in range(n):
            y = p[j, 1] - p[i, 1]                 for j in range(i):
            ...                                       x = p_columns[0, j] - p_columns[0, i]
                                                      y = p_columns[1, j] - p_columns[1, i]
                                                      ...

Down a column, vectors would have to gather elements.  Done for matrices among the parameters that nothing writes into,
where an innermost loop walks down columns with literal numbers, the first four at most, and a loop around it does so
again in each of its iterations.  A column that is not there is not copied: who asks for it asks for what is not there.

Branches that do more than what stands before them, as one for the few pairs within a cut-off may, take as long in every
iteration on vectors: loops with such branches stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.vector_operations import operation_cost
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    blocks,
    changed,
    map_blocks,
    reads,
    walk,
)
from tapec.syntax.types import INT64, Array


def copy_coordinates(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such copies; see the module."""
    met = dict(_met(function.body, 0))
    if not met.keys() & set(function.params):
        return function
    iterations = Iterations(function)
    fresh = Fresh(function.types)
    given = [name for name in function.params if name in met and _only_read(name, function, iterations)]
    names = {name: fresh(f"{name}_columns", Array(_matrix(name, function).dtype, 2)) for name in given}
    if not names:
        return function
    widths = dict.fromkeys(names, 0)
    for stmt in walk(function.body):
        coordinate = _coordinate(stmt)
        if coordinate is not None and coordinate[0] in names:
            array, _, column = coordinate
            widths[array] = max(widths[array], column + 1)
    for name in names:
        why = "this loop walks down them again and again"
        remark(met[name].span, "coordinate_columns", "columns of `{0}` are copied", why, Named(name))
    copies = tuple(new for name in names for new in _copied(name, names[name], widths[name], fresh))
    return replace(function, body=(*copies, *_turned(function.body, names)), types=fresh.types)


def _met(block: Block, depth: int, loop: For | None = None) -> Iterator[tuple[str, For]]:
    """The arrays whose columns innermost loops inside others walk down, and such a loop; `loop` is the one around."""
    for stmt in block:
        coordinate = _coordinate(stmt)
        if coordinate is not None and loop is not None and depth > 1 and coordinate[1] == Name(loop.var):
            yield coordinate[0], loop
        for inner in blocks(stmt):
            if isinstance(stmt, For | Loop):
                yield from _met(inner, depth + 1, stmt if isinstance(stmt, For) and suits_vectors(stmt) else None)
            else:
                yield from _met(inner, depth, loop)


def suits_vectors(loop: For) -> bool:
    """Whether a loop is an innermost one, and does no more in branches than in every iteration."""
    if any(isinstance(stmt, For | Loop) for stmt in walk(loop.body)):
        return False
    always, all_ = (sum(map(_cost, stmts)) for stmts in (loop.body, walk(loop.body)))
    return 2 * always >= all_


def _cost(stmt: Stmt) -> int:
    if isinstance(stmt, Assign):
        return operation_cost(stmt.value.fn) if isinstance(stmt.value, Op) else 0
    return int(isinstance(stmt, Store))


def _coordinate(stmt: Stmt) -> tuple[str, Expr, int] | None:
    """What a statement loads of a matrix: its name, the row, and the literal number of a column."""
    match stmt:
        case Assign(value=Op(fn="load", args=(Name(id=array), row, Const(value=int() as column)))):
            return (array, row, column) if 0 <= column < costs.COPIED_COLUMNS else None
    return None


def _only_read(name: str, function: Function, iterations: Iterations) -> bool:
    """Whether a parameter is a matrix in rows that has no other name, and that nothing writes into."""
    type_ = function.types[name]
    if not isinstance(type_, Array) or type_.ndim != 2 or not type_.is_float or type_.layout == "F":
        return False
    cls = iterations.aliases.find(name)
    alike = {one for stmt in walk(function.body) for one in reads(stmt) if iterations.aliases.find(one) == cls}
    written = any(iterations.aliases.find(one) == cls for stmt in walk(function.body) for one in changed(stmt))
    return alike <= {name} and not written


def _matrix(name: str, function: Function) -> Array:
    type_ = function.types[name]
    assert isinstance(type_, Array)
    return type_


def _copied(name: str, columns: str, width: int, fresh: Fresh) -> Iterator[Stmt]:
    """The first columns of a matrix, in rows of another one."""
    rows, extent, least, i, j = (fresh(stem, INT64) for stem in ("n", "n", "n", "i", "j"))
    type_ = fresh.types[columns]
    assert isinstance(type_, Array)
    value = fresh("t", type_.element)
    yield Assign(rows, Op("dim", (Name(name), Const(0))))
    yield Assign(extent, Op("dim", (Name(name), Const(1))))
    yield Assign(least, Op("min", (Name(extent), Const(width))))
    yield Assign(columns, Op("empty", (Const(type_.dtype), Name(least), Name(rows))))
    copied = (
        Assign(value, Op("load", (Name(name), Name(i), Name(j)))),
        Store(columns, (Name(j), Name(i)), Name(value)),
    )
    yield For(i, Const(0), Name(rows), Const(1), (For(j, Const(0), Name(least), Const(1), copied),))


def _turned(block: Block, names: dict[str, str]) -> Block:
    """The statements, which load coordinates from the copies."""
    out: list[Stmt] = []
    for stmt in block:
        coordinate = _coordinate(stmt)
        if coordinate is not None and coordinate[0] in names:
            array, row, column = coordinate
            assert isinstance(stmt, Assign)
            stmt = replace(stmt, value=Op("load", (Name(names[array]), Const(column), row)))
        out.append(map_blocks(stmt, lambda inner: _turned(inner, names)))
    return tuple(out)
