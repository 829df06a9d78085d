"""Sum the rows of a matrix before it is multiplied, where of the product only the sum of its rows is asked for.

    p = np.dot(a, b)                          r = np.zeros(a.shape[1])
    for i in range(n):                        for i in range(n):
        for j in range(m):                        for k in range(a.shape[1]):
            s[j] += p[i, j]            ->             r[k] += a[i, k]
                                              q = np.dot(r, b)
                                              if n > 0:
                                                  for j in range(m):
                                                      s[j] += q[j]

This is how the adjoint of a row that was subtracted from all rows of a factor comes about.  Refused unless the sum
takes all rows of the product, and multiples that are the same for all rows, and nothing else reads the product.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.small_products import is_product
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar

_ARITHMETIC = frozenset({"+", "-", "*", "neg"})


def sum_before_products(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such sums before their products; see the module.  Afterwards a name may have several values."""
    if not any(map(is_product, walk(function.body))):
        return function
    # loops that have made way for a product still read it
    function = drop_dead_code(function, constants)
    worker = _Summed(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


@dataclass(frozen=True)
class _Use:
    """The nest that adds up a product's rows: where it stands, its outer loop and its inner one."""

    place: int
    rows: For
    columns: For


class _Summed:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)
        self.fresh = Fresh(function.types)
        # for each memory the statements that name it
        self.naming: dict[str, list[Stmt]] = defaultdict(list)
        for stmt in walk(function.body):
            for own in self.nests.named(stmt):
                self.naming[own].append(stmt)

    def block(self, block: Block) -> Block:
        uses = {stmt.key: use for place, stmt in enumerate(block) if (use := self.use(block, place)) is not None}
        nests: dict[int, Block] = {}
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Assign) and stmt.key in uses:
                use = uses[stmt.key]
                product = self.fresh("q", Array(self.element(stmt).dtype, 1))
                nests[block[use.place].key] = self.added(use, stmt.target, product)
                out += self.summed(stmt, use, product)
                why = "only the sum of its rows is asked for"
                remark(stmt.span, "summed_products", "rows are summed before the product", why)
            elif stmt.key in nests:
                out += nests[stmt.key]
            else:
                out.append(map_blocks(stmt, self.block))
        return tuple(out)

    def element(self, made: Assign) -> Scalar:
        type_ = self.fresh.types[made.target]
        assert isinstance(type_, Array)
        return type_.element

    # finding

    def use(self, block: Block, place: int) -> _Use | None:
        """The nest behind a product that adds up its rows, if that is all that is done with the product."""
        made = block[place]
        if not isinstance(made, Assign) or not isinstance(made.value, Op) or not is_product(made):
            return None
        product = made.target
        factors = [self.iterations.types.get(arg.id) for arg in made.value.args if isinstance(arg, Name)]
        where = self.nests.first(block, place, product)
        if where is None or not all(isinstance(type_, Array) and type_.ndim == 2 for type_ in factors):
            return None
        rows = block[where]
        if not isinstance(rows, For) or len(rows.body) != 1 or len(self.iterations.scopes.defs[product]) != 1:
            return None
        (columns,) = rows.body
        if not isinstance(columns, For) or not self.all_rows(rows, product) or not self.alone(rows, product):
            return None
        return _Use(where, rows, columns) if self.adds(rows, columns, product) else None

    def all_rows(self, rows: For, product: str) -> bool:
        whole = (rows.start, rows.step) == (Const(0), Const(1)) and rows.stop == self.nests.extent(product, 0)
        return whole and self.nests.fixed(rows.stop)

    def alone(self, rows: For, product: str) -> bool:
        """Whether nothing but the nest names the product's memory, and nothing else reads what the nest computes."""
        inside = {stmt.key for stmt in walk((rows,))}
        others = [stmt for stmt in self.naming[self.nests.memory(product)] if stmt.key not in inside]
        names = written_in(rows.body)
        return len(others) == 1 and not self.iterations.left_over(rows, names)

    def adds(self, rows: For, columns: For, product: str) -> bool:
        """Whether the inner loop adds multiples of its row's element to elements that are the same for all rows."""
        index = (Name(rows.var), Name(columns.var))
        if Name(rows.var) in (columns.start, columns.stop, columns.step):
            return False
        own = self.nests.memory(product)
        multiples: set[str] = set()
        # what an iteration leaves to the next one is not the same for all rows
        carried = written_in(columns.body)
        for stmt in columns.body:
            if not carried.isdisjoint(reads(stmt)):
                return False
            carried.difference_update(writes(stmt))
            if isinstance(stmt, Assign) and stmt.value == Op("load", (Name(product), *index)):
                multiples.add(stmt.target)
            elif _clears(stmt, product, index):
                continue
            elif rows.var in reads(stmt) or own in self.nests.named(stmt):
                return False
            elif isinstance(stmt, Assign):
                if not _on_numbers(stmt.value, self.iterations.types.get):
                    return False
                factors = [name for name in reads(stmt) if name in multiples]
                if factors and not _multiple(stmt.value, multiples):
                    return False
                multiples |= {stmt.target} if factors else set()
            elif not isinstance(stmt, Store) or not stmt.accumulate or not _is_one_of(stmt.value, multiples):
                return False
        return True

    # rewriting

    def summed(self, made: Assign, use: _Use, product: str) -> Block:
        """The sum of the first factor's rows, and its product with the second factor."""
        assert isinstance(made.value, Op)
        first, second = made.value.args
        assert isinstance(first, Name)
        element, span = self.element(made), made.span
        total, i, k, extent = (
            self.fresh(name, type_)
            for name, type_ in (("r", Array(element.dtype, 1)), ("i", INT64), ("k", INT64), ("n", INT64))
        )
        term = self.fresh("t", element)
        # along the rows, as they stand in memory
        adding: Block = (
            Assign(term, Op("load", (first, Name(i), Name(k))), span),
            Store(total, (Name(k),), Name(term), accumulate=True, span=span),
        )
        loop = For(k, Const(0), Name(extent), Const(1), adding, span=span)
        return (
            Assign(extent, Op("dim", (first, Const(1))), span),
            Assign(total, Op("zeros", (Const(element.dtype), Name(extent))), span),
            For(i, Const(0), use.rows.stop, Const(1), (loop,), span=span),
            Assign(product, Op("np.dot", (Name(total), second)), span),
        )

    def added(self, use: _Use, made: str, product: str) -> Block:
        """What the nest does, once: with the product of the sums, unless there are no rows."""
        index = (Name(use.rows.var), Name(use.columns.var))
        body = tuple(
            replace(stmt, value=Op("load", (Name(product), index[1])))
            if isinstance(stmt, Assign) and stmt.value == Op("load", (Name(made), *index))
            else stmt
            for stmt in use.columns.body
            if not _clears(stmt, made, index)
        )
        some, span = self.fresh("t", BOOL), use.rows.span
        return (
            Assign(some, Op(">", (use.rows.stop, Const(0))), span),
            If(Name(some), (replace(use.columns, body=body),), span=span),
        )


def _clears(stmt: Stmt, array: str, index: tuple[Expr, ...]) -> bool:
    """Whether a statement sets the element to zero, after which nobody reads it."""
    return isinstance(stmt, Store) and (stmt.array, stmt.index, stmt.accumulate) == (array, index, False)


def _on_numbers(value: Expr, type_of: Callable[[str], object]) -> bool:
    """Whether a value is computed from numbers alone, and does nothing else."""
    if not isinstance(value, Op):
        return True
    return value.fn in _ARITHMETIC and all(
        isinstance(arg, Const) or (isinstance(arg, Name) and isinstance(type_of(arg.id), Scalar)) for arg in value.args
    )


def _multiple(value: Expr, multiples: set[str]) -> bool:
    """Whether a value is a multiple of one of the names, by a factor that is none of them."""
    match value:
        case Name() | Op(fn="neg"):
            return True
        case Op(fn="*", args=(first, second)):
            return _is_one_of(first, multiples) != _is_one_of(second, multiples)
    return False


def _is_one_of(expr: Expr, names: set[str]) -> bool:
    return isinstance(expr, Name) and expr.id in names
