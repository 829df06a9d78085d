"""Keep matrices of many short rows in transpose, where a loop multiplies them.

    for k in range(m):                        if n >= 4 * d:
        C = np.empty((n, d))                      X_columns = ...             X in transpose
        for i in range(n):                        for k in range(m):
            for j in range(d):                        C_columns = np.empty((d, n))
                C[i, j] = X[i, j] - a[j]              for j in range(d):
        P = np.dot(C, W)             ->                   for i in range(n):
        for i in range(n):                                    C_columns[j, i] = X_columns[j, i] - a[j]
            s = 0.0                                   P_columns = np.dot(W.T, C_columns)
            for j in range(d):                        for j in range(d):
                s += P[i, j]                              for i in range(n):
            y[i] = s                                          ...
                                              else:
                                                  ...                         as before

Loops along short rows hardly run on vectors, and OpenBLAS multiplies such matrices at half its speed.  Done for
matrices that an iteration makes for itself, whose elements nests of loops go through row by row; which version runs is
found out when the extents are known.  Matrices that come from before the loop, and are read in those nests, are copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.small_products import is_product
from tapec.optimise.contractions.tall_matrix_loops import InTranspose, TallMatrices
from tapec.optimise.loops.loop_interchange import Interchange
from tapec.optimise.loops.scalar_accumulation import accumulate_in_scalars
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    distinct,
    element_of,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Array

# what reads elements of an array, or gives some of them another name
_READING = frozenset({"load", "dim", "np.dot", *VIEWS})


def transpose_tall_matrices(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such matrices in transpose; see the module."""
    if not any(_repeats_products(stmt) for stmt in walk(function.body)):
        return function
    # passes before this one leave names with several values
    function = number_values(function, constants)
    worker = _Tall(function)
    body = worker.block(function.body)
    if not worker.any:
        return function
    # what a nest adds to an element for each of its rows is added up by its innermost loop now
    summed = accumulate_in_scalars(replace(function, body=distinct(body), types=worker.fresh.types))
    return number_values(summed, constants)


class _Tall:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)
        self.fresh = Fresh(function.types)
        self.interchange = Interchange(self.iterations, self.fresh)
        self.any = False
        # for each memory its names, and the statements with them
        self.members: dict[str, set[str]] = defaultdict(set)
        self.naming: dict[str, list[Stmt]] = defaultdict(list)
        for stmt in walk(function.body):
            for name in (*reads(stmt), *writes(stmt)):
                if is_memory(function.types.get(name)):
                    self.members[self.nests.memory(name)].add(name)
            for own in self.nests.named(stmt):
                self.naming[own].append(stmt)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            group = self.group(stmt) if isinstance(stmt, For | Loop) and _repeats_products(stmt) else None
            if group is None:
                out.append(map_blocks(stmt, self.block))
            else:
                assert isinstance(stmt, For | Loop)
                out += self.either(stmt, group)
        return tuple(out)

    # finding

    def group(self, loop: For | Loop) -> TallMatrices | None:
        """The matrices of a loop that can be turned together, if that is worth a second version of the loop."""
        candidates = {
            stmt.target: stmt for stmt in loop.body if isinstance(stmt, Assign) and self.is_candidate(stmt, loop)
        }
        extents = dict.fromkeys(self.size(name, 0) for name, stmt in candidates.items() if is_product(stmt))
        for rows in extents:
            tall = {name: stmt for name, stmt in candidates.items() if self.size(name, 0) == rows}
            group = self.agreed(loop, rows, tall)
            if group is not None:
                return group
        return None

    def is_candidate(self, made: Assign, loop: For | Loop) -> bool:
        """Whether a statement makes a matrix that has no names but its own and those of transposes."""
        type_ = self.iterations.types[made.target]
        if not isinstance(type_, Array) or type_.ndim != 2 or type_.dtype not in ("float64", "float32"):
            return False
        allocates = isinstance(made.value, Op) and made.value.fn in ALLOCATIONS
        if not (allocates or is_product(made)) or not self.nests.fixed(Name(made.target)):
            return False
        if self.size(made.target, 0) == self.size(made.target, 1):
            return False
        transposes = {name for stmt in loop.body if self.transposed(stmt) == made.target for name in writes(stmt)}
        return self.members[self.nests.memory(made.target)] == {made.target, *transposes}

    def transposed(self, stmt: Stmt) -> str | None:
        """The array of which a statement takes the transpose, for good."""
        match stmt:
            case Assign(target=target, value=Op(fn="transpose", args=(Name(id=array),))):
                return array if self.nests.fixed(Name(target)) else None
        return None

    def size(self, array: str, axis: int) -> Expr:
        return self.nests.size(Op("dim", (Name(array), Const(axis))))

    def agreed(self, loop: For | Loop, rows: Expr, tall: dict[str, Assign]) -> TallMatrices | None:
        """As many of the matrices as can be turned with one another."""
        nest_of = {
            stmt.key: nest
            for nest in loop.body
            if isinstance(nest, For) and self.nests.size(nest.stop) == rows and self.interchange.possible(nest)
            for stmt in walk(nest.body)
        }
        while tall:
            group = TallMatrices(rows, tall)
            refused = {name for name, made in tall.items() if not self.fits(made, loop, nest_of, group)}
            for nest in {nest.key: nest for nest in nest_of.values()}.values():
                self.visit(nest, loop, group, refused)
            if not refused:
                return group if self.is_worth(group, loop) else None
            tall = {name: made for name, made in tall.items() if name not in refused}
        return None

    def fits(self, made: Assign, loop: For | Loop, nest_of: dict[int, For], group: TallMatrices) -> bool:
        """Whether a matrix is used in products and nests alone."""
        for stmt in self.naming[self.nests.memory(made.target)]:
            direct = any(stmt is one for one in loop.body)
            match stmt:
                case Assign() if stmt is made:
                    continue
                case Assign(target=target) if self.transposed(stmt) == made.target:
                    group.turned[target] = made.target
                    continue
                case Assign() if direct and is_product(stmt):
                    continue
                case Assign(value=Op(fn="dim", args=(Name(id=array), Const()))) if array == made.target:
                    continue
            element, index = element_of(stmt) or (None, ())
            nest = nest_of.get(stmt.key)
            if nest is None or element != made.target or not _row_by_row(index, nest):
                return False
        return True

    def visit(self, nest: For, loop: For | Loop, group: TallMatrices, refused: set[str]) -> None:
        """Note what a nest needs if matrices of the group are turned; refuse them if it would lose by that."""
        elements = [(stmt, *(element_of(stmt) or (None, ()))) for stmt in walk(nest.body)]
        met = {array for _, array, _ in elements if array in group.made}
        if not met:
            return
        group.nests.append(nest)
        counters = {Name(stmt.var) for stmt in nest.body if isinstance(stmt, For)}
        for stmt, array, index in elements:
            if array is None or array in met or not self.walks(index, nest, counters):
                continue
            if not isinstance(stmt, Assign) or not _row_by_row(index, nest) or not self.comes_in(array, loop):
                refused |= met
            else:
                group.copied[array] = None

    def walks(self, index: tuple[Expr, ...], nest: For, counters: set[Name]) -> bool:
        """Whether a nest goes through a matrix with both of its loops, along the rows."""
        follows = [self.mentions(sub, counters) for sub in index]
        return len(index) > 1 and any(follows) and not self.mentions(index[-1], {Name(nest.var)})

    def mentions(self, sub: Expr, names: set[Name]) -> bool:
        """Whether a subscript is computed from any of some loops' variables."""
        made = self.iterations.definition(sub) if isinstance(sub, Name) else None
        return sub in names or (isinstance(made, Op) and any(self.mentions(arg, names) for arg in made.args))

    def comes_in(self, array: str, loop: For | Loop) -> bool:
        """Whether a matrix is made before a loop, and the loop only reads it."""
        type_ = self.iterations.types[array]
        own = self.nests.memory(array)
        changing = any(own in self.nests.named(stmt) and not _only_reads(stmt) for stmt in walk(loop.body))
        plain = isinstance(type_, Array) and type_.ndim == 2 and self.nests.fixed(Name(array))
        return plain and not changing and self.is_before(Name(array), loop)

    def is_before(self, extent: Expr, loop: For | Loop) -> bool:
        """Whether something can be computed before a loop."""
        match extent:
            case Name(id=name):
                scope = self.iterations.scopes.scope_of.get(name)
                (body,) = self.iterations.scopes.body[loop.key]
                return name in self.function.params or (scope is not None and not scope.inside(body))
            case Op(args=args):
                return all(self.is_before(arg, loop) for arg in args)
        return True

    def is_worth(self, group: TallMatrices, loop: For | Loop) -> bool:
        """Whether a loop of few products has most with the matrices, goes through one, and extents are known before.

        A second version takes as long to compile as the first: a step of a filter, or a layer of a transformer, of some
        twenty products, gained nothing.
        """
        arrays = {*group.made, *group.turned}
        products = [stmt for stmt in loop.body if is_product(stmt)]
        theirs = [stmt for stmt in products if not arrays.isdisjoint((*reads(stmt), *writes(stmt)))]
        most = 2 * len(theirs) >= len(products) > 0 and len(products) <= costs.TALL_PRODUCTS
        return most and bool(group.nests) and self.is_before(group.rows, loop) and bool(self.widths(group, loop))

    def widths(self, group: TallMatrices, loop: For | Loop) -> list[Expr]:
        """The numbers of columns that are known before a loop."""
        sizes = dict.fromkeys(self.size(name, 1) for name in (*group.made, *group.copied))
        return [size for size in sizes if self.is_before(size, loop)]

    # rewriting

    def either(self, loop: For | Loop, group: TallMatrices) -> Iterator[Stmt]:
        """The loop in both versions, and the test between them."""
        self.any = True
        span = loop.span
        rows = Name(self.fresh("size", INT64))
        yield Assign(rows.id, group.rows, span)
        tests: list[Name] = []
        for width in self.widths(group, loop):
            columns, least = Name(self.fresh("size", INT64)), Name(self.fresh("size", INT64))
            tests.append(Name(self.fresh("t", BOOL)))
            yield Assign(columns.id, width, span)
            yield Assign(least.id, Op("*", (Const(costs.TALL), columns)), span)
            yield Assign(tests[-1].id, Op(">=", (rows, least)), span)
        test, *others = tests
        for other in others:
            both = Name(self.fresh("t", BOOL))
            yield Assign(both.id, Op("and", (test, other)), span)
            test = both
        why = "matrices of many short rows are kept in transpose: vectors and products run along their columns"
        remark(span, "tall_matrices", "has a second version", why)
        copies: list[Stmt] = []
        names = {array: self.fresh(f"{array}_columns", self.type_of(array)) for array in (*group.made, *group.copied)}
        for array in group.copied:
            copies += self.copy(array, names[array], loop)
        made = InTranspose(group, names, self.nests, self.interchange, self.fresh)
        yield If(test, (*copies, replace(loop, body=made.block(loop.body))), (loop,), span)

    def type_of(self, array: str) -> Array:
        type_ = self.iterations.types[array]
        assert isinstance(type_, Array)
        return Array(type_.dtype, 2)

    def copy(self, array: str, name: str, loop: For | Loop) -> Iterator[Stmt]:
        """The transpose of a matrix, in memory of its own."""
        span = loop.span
        rows, columns, i, j = (Name(self.fresh(one, INT64)) for one in ("n", "n", "i", "j"))
        value = Name(self.fresh("t", self.type_of(array).element))
        yield Assign(rows.id, Op("dim", (Name(array), Const(0))), span)
        yield Assign(columns.id, Op("dim", (Name(array), Const(1))), span)
        yield Assign(name, Op("empty", (Const(self.type_of(array).dtype), columns, rows)), span)
        body: Block = (
            Assign(value.id, Op("load", (Name(array), i, j)), span),
            Store(name, (j, i), value, span=span),
        )
        inner = For(i.id, Const(0), rows, Const(1), body, span=span)
        yield For(j.id, Const(0), columns, Const(1), (inner,), span=span)


def _repeats_products(stmt: Stmt) -> bool:
    return isinstance(stmt, For | Loop) and any(map(is_product, stmt.body))


def _row_by_row(index: tuple[Expr, ...], nest: For) -> bool:
    """Whether a nest's outer loop counts the rows of what it goes through."""
    return len(index) == 2 and index[0] == Name(nest.var) and index[1] != Name(nest.var)


def _only_reads(stmt: Stmt) -> bool:
    """Whether a statement that names an array leaves its elements alone."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in _READING
