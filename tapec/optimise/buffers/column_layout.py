"""Keep matrices whose columns loops walk down as the rows of another one.

    q = np.empty((n, m))                     q_columns = np.empty((m, n))
    for k in range(m):                       for k in range(m):
        column = q[:, k]              ->         column = q_columns[k, :]
        for i in range(n):                       for i in range(n):
            s += column[i] * q[i, 0]                 s += column[i] * q_columns[0, i]

Down a column, each element is in another line of the cache, and vectors would have to gather them.  Done for matrices
of the function's own, larger than a vector or two, that are used element by element, through their own name or one of
their rows or columns, where the innermost of the loops that walk down are deeper inside other loops than those that
walk along rows; or as deep and innermost, if the columns have literal numbers: coordinates of points (`p[j, 0]`,
`p[j, 1]`), whose rows are short.  One that is returned is copied at the end, if innermost loops come to its elements
more than once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, is_memory
from tapec.analyses.index_ranges import turned
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.buffers.coordinate_columns import suits_vectors
from tapec.optimise.name_origins import Fresh
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
    Return,
    Stmt,
    Store,
    blocks,
    element_of,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array, Type

_ALL = Op("slice", (Const(None), Const(None), Const(None)))


def store_by_columns(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such matrices; see the module."""
    matrices = Matrices(function)
    fresh = Fresh(function.types)
    names: dict[str, str] = {}
    for name, made in (*matrices.own(), *matrices.returned()):
        if matrices.gains(name):
            type_ = function.types[name]
            names[name] = fresh(f"{name}_columns", type_)
            why = "loops walk down its columns"
            remark(made.span, "column_layout", "`{0}` is kept column by column", why, Named(name, made.span))
    if not names:
        return function
    body = Turned(names, fresh.types).block(function.body)
    back = tuple(new for name, _ in matrices.returned() if name in names for new in _in_rows(name, names[name], fresh))
    if back:
        body = (*body[:-1], *back, body[-1])
    return replace(function, body=body, types=fresh.types)


def _in_rows(name: str, columns: str, fresh: Fresh) -> Iterator[Stmt]:
    """A matrix as it is returned, made of its columns."""
    type_ = fresh.types[name]
    assert isinstance(type_, Array)
    i, j, rows, width = (fresh(stem, INT64) for stem in ("i", "j", "n", "n"))
    value = fresh("t", type_.element)
    yield Assign(rows, Op("dim", (Name(columns), Const(1))))
    yield Assign(width, Op("dim", (Name(columns), Const(0))))
    yield Assign(name, Op("empty", (Const(type_.dtype), Name(rows), Name(width))))
    copied = (
        Assign(value, Op("load", (Name(columns), Name(j), Name(i)))),
        Store(name, (Name(i), Name(j)), Name(value)),
    )
    along = For(j, Const(0), Name(width), Const(1), copied)
    yield For(i, Const(0), Name(rows), Const(1), (along,))


class Matrices:
    """Which matrices can be turned, and of which of them loops walk down the columns."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.refused = {self.iterations.aliases.find(name) for name in function.params}
        # of each row or column, whether it is a column
        self.lines: dict[str, bool] = {}
        # classes of arrays that are returned, which `refused` has, too, if something else is done to them
        self.leaving: set[str] = set()
        for stmt in walk(function.body):
            self.look(stmt)
        self.depths: dict[tuple[str, int], int] = {}
        # which columns of a class innermost loops walk down at a depth
        self.columns: dict[tuple[str, int], set[Expr]] = {}
        self.walked(function.body, None, 0, False)

    def look(self, stmt: Stmt) -> None:
        """Refuse what a statement uses otherwise than element by element."""
        plain: set[str] = set()
        match stmt:
            case Return(values=values):
                plain = {value.id for value in values if isinstance(value, Name)}
                self.leaving |= {self.iterations.aliases.find(name) for name in plain}
            case Assign(target=target, value=Op(fn=fn)) if fn in ALLOCATIONS:
                plain = {target}
            case Assign(value=Op(fn="load" | "dim", args=(Name(id=array), *_))) | Store(array=array):
                plain = {array}
            case Assign(target=target, value=Op(fn="view", args=(Name(id=array), *parts))) if _is_line(parts):
                # a name is a row everywhere, or a column
                column = parts[0] == _ALL
                if self.lines.setdefault(target, column) == column and self.is_made(array):
                    plain = {target, array}
        for name in (*reads(stmt), *writes(stmt)):
            if name not in plain and is_memory(self.function.types.get(name)):
                self.refused.add(self.iterations.aliases.find(name))

    def is_made(self, array: str) -> bool:
        made = self.iterations.definition(Name(array))
        return isinstance(made, Op) and made.fn in ALLOCATIONS

    def own(self, most: int = 2) -> Iterator[tuple[str, Assign]]:
        """The matrices that can be turned, and arrays of them up to a rank of `most`."""
        yield from self.made(walk(self.function.body), self.refused | self.leaving, most)

    def returned(self) -> Iterator[tuple[str, Assign]]:
        """The matrices that can be turned until they are returned."""
        results = self.function.results if self.leaving else ()
        for name, made in self.made(self.function.body, self.refused, 2):
            if results.count(Name(name)) == 1:
                yield name, made

    def made(self, stmts: Iterable[Stmt], refused: set[str], most: int) -> Iterator[tuple[str, Assign]]:
        """The arrays that some statements make, of a rank between two and `most`."""
        for stmt in stmts:
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn not in ALLOCATIONS:
                continue
            if not self.is_made(stmt.target):
                continue
            type_ = self.function.types[stmt.target]
            rank = type_.ndim if isinstance(type_, Array) else 0
            kept = self.iterations.aliases.find(stmt.target) in refused
            if 2 <= rank <= most and not kept and not _small(stmt.value):
                yield stmt.target, stmt

    # how loops walk

    def gains(self, matrix: str) -> bool:
        """Whether the loops that walk down a matrix are deeper than those that walk along its rows."""
        cls = self.iterations.aliases.find(matrix)
        down, along = (self.depths.get((cls, axis), 0) for axis in (0, 1))
        columns = self.columns.get((cls, down), set())
        points = bool(columns) and all(isinstance(column, Const) for column in columns)
        if cls in self.leaving and (not columns or (down == 2 and not points)):
            return False
        return down > max(along, 1) or (points and down == along > 1)

    def walked(self, block: Block, loop: For | None, depth: int, innermost: bool) -> None:
        """Find how deep the innermost loops are that walk through each axis of a matrix."""
        for stmt in block:
            if loop is not None:
                self.element(stmt, loop, depth, innermost)
            for inner in blocks(stmt):
                if isinstance(stmt, For | Loop):
                    last = isinstance(stmt, For) and suits_vectors(stmt)
                    self.walked(inner, stmt if isinstance(stmt, For) else None, depth + 1, last)
                else:
                    self.walked(inner, loop, depth, innermost)

    def element(self, stmt: Stmt, loop: For, depth: int, innermost: bool) -> None:
        named = element_of(stmt)
        if named is None:
            return
        array, subs = named
        walks = [self.follows(sub, loop) for sub in subs]
        if array in self.lines and len(walks) == 1:
            walks.insert(1 if self.lines[array] else 0, False)
        if len(walks) != 2 or walks[0] == walks[1]:
            return
        cls, axis = self.iterations.aliases.find(array), walks.index(True)
        self.depths[cls, axis] = max(self.depths.get((cls, axis), 0), depth)
        if axis == 0 and innermost and len(subs) == 2:
            self.columns.setdefault((cls, depth), set()).add(subs[1])

    def follows(self, sub: Expr, loop: For) -> bool:
        """Whether a subscript is a loop's variable, plus or minus something."""
        if not isinstance(sub, Name | Const):
            return False
        affine = self.iterations.subscript(sub)
        if affine is not None and affine.base == loop.var:
            return True
        made = self.iterations.definition(sub)
        return isinstance(made, Op) and made.fn in ("+", "-") and any(self.follows(arg, loop) for arg in made.args)


def _is_line(parts: list[Expr]) -> bool:
    """Whether the parts of a view make it a row or a column of a matrix, and do not give it another axis."""
    numbers = [part for part in parts if isinstance(part, Name | Const) and part != Const(None)]
    return len(parts) == 2 and parts.count(_ALL) == len(numbers) == 1


def _small(made: Expr) -> bool:
    """Whether an allocation is known to have few elements."""
    assert isinstance(made, Op)
    sizes = [arg.value for arg in made.args[1:] if isinstance(arg, Const)]
    size = math.prod(size for size in sizes if isinstance(size, int))
    return len(sizes) == len(made.args) - 1 and size <= costs.SMALL_MATRIX


class Turned:
    """The statements with matrices turned, in arrays of more axes the last two; `names` are their new names."""

    def __init__(self, names: dict[str, str], types: dict[str, Type]) -> None:
        self.names = names
        self.types = types

    def block(self, block: Block) -> Block:
        return tuple(map(self.statement, block))

    def statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Assign(target=target, value=Op(fn=fn, args=(dtype, *before, first, second))) if target in self.names:
                return replace(stmt, target=self.names[target], value=Op(fn, (dtype, *before, second, first)))
            case Assign(value=Op(fn="dim", args=(Name(id=array), Const(value=int() as axis)))) if array in self.names:
                type_ = self.types[array]
                assert isinstance(type_, Array)
                place = {type_.ndim - 1: type_.ndim - 2, type_.ndim - 2: type_.ndim - 1}.get(axis, axis)
                return replace(stmt, value=Op("dim", (Name(self.names[array]), Const(place))))
            case Assign(target=target, value=Op(fn=fn, args=(Name(id=array), *args))) if array in self.names:
                args[-2:] = reversed(args[-2:])
                new = Op(fn, (Name(self.names[array]), *args))
                if fn == "view":
                    line = self.types[target]
                    assert isinstance(line, Array)
                    self.types[target] = replace(line, layout="A" if args[0] == _ALL else "C")
                return replace(stmt, value=new, span=turned(stmt.span, len(args)))
            case Store(array=array, index=(*before, first, second)) if array in self.names:
                span = turned(stmt.span, len(stmt.index))
                return replace(stmt, array=self.names[array], index=(*before, second, first), span=span)
        return map_blocks(stmt, self.block)
