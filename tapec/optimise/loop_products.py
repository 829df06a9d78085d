"""Leave nests of loops that multiply matrices to BLAS, where the matrices are large.

    for i in range(n):                        if n >= 8 and m >= 8 and p >= 8 and n * m * p >= 16384:
        for j in range(m):                        A = np.empty((n, m)) ...     u of every i and j
            u = x[i, j] - mean[j]                 B = np.empty((m, p)) ...     w, of every j and k
            for k in range(p):        ->          P = np.dot(A, B)
                t = u * w[j, k]                   for i in range(n):
                y[i, k] += t                          for k in range(p):
                                                          y[i, k] += P[i, k]
                                              else:
                                                  ...                          as before

`loop_nests` says which nests these are; several products may share one.  The third loop may run to or from the second
one's variable: outside the triangle the factor is zero then, and where an infinite or undefined element of the other
factor makes that zero undefined, which shows in the product, the loops run as they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.analyses.trips import Trips
from tapec.journal import Listener
from tapec.optimise.loop_nests import Nest, Refused, Term
from tapec.optimise.names import Fresh
from tapec.optimise.single import single_values
from tapec.syntax.core import (
    Assign,
    Atom,
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
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar, Type

# what BLAS is worth its calls and copies for: trips of each loop, and of all
LEAST, WORK = 8, 16384


def multiply_matrices(
    function: Function, constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with products in place of such nests; see the module."""
    if not any(_is_deep(stmt) for stmt in walk(function.body)):
        return function
    # passes before this one leave names with several values
    function = single_values(function, constants)
    worker = _Products(function, listener)
    body = worker.block(function.body)
    if not worker.any:
        return function
    return single_values(replace(function, body=body, types=worker.fresh.types), constants)


class _Products:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.trips = Trips(function)
        self.fresh = Fresh(function.types)
        self.any = False

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            new = self.product(stmt) if isinstance(stmt, For) and _is_deep(stmt) else None
            out += [map_blocks(stmt, self.block)] if new is None else new
        return tuple(out)

    def product(self, loop: For) -> list[Stmt] | None:
        """What takes the place of a nest that multiplies matrices."""
        try:
            nest = Nest(loop, self.trips)
            new = _Form(nest, self.fresh).statements()
        except Refused:
            return None
        self.any = True
        if self.listener is not None:
            why = "where its loops make many trips, the nest is a product of matrices"
            self.listener.decide(loop.span, "loop_products", "is left to BLAS", why)
        return new


class _Form:
    """The second form of one nest."""

    def __init__(self, nest: Nest, fresh: Fresh) -> None:
        self.nest, self.fresh = nest, fresh
        self.span = nest.outer.span
        self.out: list[Stmt] = []
        # the matrices of factors, by what their elements are, and of what is computed before the third loop and used later
        self.matrices: dict[tuple[Expr, tuple[Expr, Expr]], str] = {}
        self.kept: dict[str, str] = {}
        self.last: Atom | None = None
        # what computes the numbers that two loops tell apart at most
        early = [stmt for stmt in (*nest.head, *nest.before) if isinstance(stmt, Assign)]
        added = {name for total, (made, _) in nest.sums.items() for name in (total, made)} | nest.multiples.keys()
        inner = [stmt for stmt in nest.assignments() if stmt.target not in added]
        self.own = {stmt.target: stmt for stmt in (*early, *inner)}

    def statements(self) -> list[Stmt]:
        nest = self.nest
        large = self.large()
        before = self.out
        # which numbers must be kept shows in what comes last
        self.out = []
        products = {id(term): self.fresh("p", self.matrix(term.made.target)) for term in nest.terms}
        last = self.uses(products)
        self.first()
        for term in nest.terms:
            self.multiply(term, products[id(term)])
        masked = [term for term in nest.terms if nest.triangular and term.over != nest.i]
        if masked and any(isinstance(stmt, Store) for stmt in nest.before):
            raise Refused
        if not masked:
            return [*before, If(large, (*self.out, *last), (nest.outer,), self.span)]
        defined = self.defined([products[id(term)] for term in masked])
        done = Name(self.fresh("t", BOOL))
        inside = (*self.out, If(defined, tuple(last), span=self.span), Assign(done.id, defined, self.span))
        left = Name(self.fresh("t", BOOL))
        return [
            *before,
            If(large, inside, (Assign(done.id, Const(False), self.span),), self.span),
            Assign(left.id, Op("not", (done,)), self.span),
            If(left, (nest.outer,), span=self.span),
        ]

    # extents

    def large(self) -> Name:
        """Whether BLAS is worth it."""
        sizes = [self.nest.outer.stop, self.nest.middle.stop, self.end()]
        enough = [self.computed(Op(">=", (size, Const(LEAST))), BOOL) for size in dict.fromkeys(sizes)]
        first, second, third = sizes
        work = self.computed(Op("*", (self.computed(Op("*", (first, second)), INT64), third)), INT64)
        test, *others = [*enough, self.computed(Op(">=", (work, Const(WORK))), BOOL)]
        for other in others:
            test = self.computed(Op("and", (test, other)), BOOL)
        return test

    def end(self) -> Atom:
        """Where the third loop ends at last."""
        if self.last is None:
            self.last = self.nest.inner.stop
            follows, offset = self.nest.bound(self.last) or (False, 0)
            if follows:
                middle = self.nest.middle.stop
                self.last = middle if offset == 1 else self.computed(Op("+", (middle, Const(offset - 1))), INT64)
        return self.last

    def begin(self) -> Const:
        """Where the third loop begins at first."""
        follows, offset = self.nest.bound(self.nest.inner.start) or (False, 0)
        return Const(offset if follows else 0)

    def extent(self, var: str) -> Atom:
        return {self.nest.i: self.nest.outer.stop, self.nest.j: self.nest.middle.stop}.get(var) or self.end()

    def computed(self, value: Expr, type_: Type) -> Name:
        name = Name(self.fresh("t" if type_ == BOOL else "n", type_))
        self.out.append(Assign(name.id, value, self.span))
        return name

    def matrix(self, name: str) -> Array:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Scalar)
        return Array(type_.dtype, 2)

    # factors

    def first(self) -> None:
        """The statements before the third loop, and the matrices of what they compute."""
        nest = self.nest
        factors = {name for term in nest.terms for name in (term.first, term.second)}
        wanted = {name: name for name in sorted(factors) if nest.counted[name] == {nest.i, nest.j}}
        effects = any(isinstance(stmt, Store) for stmt in nest.before)
        index = (Name(nest.i), Name(nest.j))
        stores: list[Stmt] = []
        for name in wanted:
            array = self.matrices[self.key(name, (nest.i, nest.j))] = self.made(name, nest.i, nest.j)
            stores.append(Store(array, index, Name(name), span=self.span))
        for name, array in self.kept.items():
            self.allocate(array, name, nest.i, nest.j, "empty")
            stores.append(Store(array, index, Name(name), span=self.span))
        if not stores and not effects:
            return
        if effects or self.kept:
            late = [stmt for stmt in nest.assignments() if stmt.target in wanted]
            if late:
                raise Refused
            inner: Block = (*nest.before, *stores)
            self.out.append(replace(nest.outer, body=(*nest.head, replace(nest.middle, body=inner))))
        else:
            self.nested(nest.i, nest.j, set(wanted), stores, self.out)

    def factor(self, name: str) -> str:
        """The matrix of a factor, and if need be the loops that fill it."""
        nest = self.nest
        rows, columns = (var for var in (nest.i, nest.j, nest.k) if var in nest.counted[name])
        key = self.key(name, (rows, columns))
        if key not in self.matrices:
            array = self.matrices[key] = self.made(name, rows, columns)
            store = Store(array, (Name(rows), Name(columns)), Name(name), span=self.span)
            self.nested(rows, columns, {name}, [store], self.out)
        return self.matrices[key]

    def key(self, name: str, counters: tuple[str, str]) -> tuple[Expr, tuple[Expr, Expr]]:
        """The same for factors that are the same matrix."""
        whole = (self.extent(counters[0]), self.extent(counters[1]))
        apart = self.nest.k in counters and (self.begin() != Const(0) or self.nest.j in counters)
        renamed = {} if apart else {counters[0]: "", counters[1]: " "}
        return self.inlined(Name(name), renamed), whole

    def inlined(self, value: Expr, renamed: dict[str, str]) -> Expr:
        """A value in terms of loops' variables and of what is set outside the nest."""
        if isinstance(value, Op):
            return Op(value.fn, tuple(self.inlined(arg, renamed) for arg in value.args))
        if isinstance(value, Name) and value.id in renamed:
            return Name(renamed[value.id])
        made = self.own.get(value.id) if isinstance(value, Name) else None
        return value if made is None or not self.nest.is_pure(made) else self.inlined(made.value, renamed)

    def made(self, name: str, rows: str, columns: str) -> str:
        """A new matrix for a factor; zero where no trip gets to."""
        array = self.fresh("a", self.matrix(name))
        cut = rows == self.nest.j and self.nest.triangular
        partly = columns == self.nest.k and (cut or self.begin() != Const(0))
        self.allocate(array, name, rows, columns, "zeros" if partly else "empty")
        return array

    def allocate(self, array: str, name: str, rows: str, columns: str, how: str) -> None:
        sizes = (self.extent(rows), self.extent(columns))
        self.out.append(Assign(array, Op(how, (Const(self.matrix(name).dtype), *sizes)), self.span))

    # products

    def multiply(self, term: Term, product: str) -> None:
        """The product of a term's factors: rows and columns are what they do not share."""
        nest = self.nest
        first, second = term.first, term.second
        order = [nest.i, nest.j, nest.k]
        alone = {
            name: next(var for var in order if var in nest.counted[name] and var != term.over)
            for name in (first, second)
        }
        if order.index(alone[first]) > order.index(alone[second]):
            first, second = second, first
        left, right = self.factor(first), self.factor(second)
        # the first factor's rows and the second one's columns must be what they do not share
        if order.index(alone[first]) > order.index(term.over):
            left = self.transposed(left)
        if order.index(alone[second]) < order.index(term.over):
            right = self.transposed(right)
        self.out.append(Assign(product, Op("np.dot", (Name(left), Name(right))), term.made.span))

    def transposed(self, array: str) -> str:
        type_ = self.fresh.types[array]
        assert isinstance(type_, Array)
        name = self.fresh("t", replace(type_, layout="F"))
        self.out.append(Assign(name, Op("transpose", (Name(array),)), self.span))
        return name

    def defined(self, products: list[str]) -> Name:
        """Whether no element of some products is nan, nor infinite in both directions."""
        totals: list[Name] = []
        for product in products:
            element = replace(self.matrix_type(product)).element
            total, value, added = (self.fresh("t", element) for _ in range(3))
            rows, columns = (self.computed(Op("dim", (Name(product), Const(axis))), INT64) for axis in (0, 1))
            i, j = (self.fresh(var, INT64) for var in (self.nest.i, self.nest.j))
            body: Block = (
                Assign(value, Op("load", (Name(product), Name(i), Name(j))), self.span),
                Assign(added, Op("+", (Name(total), Name(value))), self.span),
                Assign(total, Name(added), self.span),
            )
            zero: Expr = Const(0.0) if element.dtype == "float64" else Op(f"cast.{element.dtype}", (Const(0.0),))
            self.out.append(Assign(total, zero, self.span))
            inner = For(j, Const(0), columns, Const(1), body, span=self.span)
            self.out.append(For(i, Const(0), rows, Const(1), (inner,), span=self.span))
            totals.append(Name(total))
        test, *others = [self.computed(Op("==", (total, total)), BOOL) for total in totals]
        for other in others:
            test = self.computed(Op("and", (test, other)), BOOL)
        return test

    def matrix_type(self, array: str) -> Array:
        type_ = self.fresh.types[array]
        assert isinstance(type_, Array)
        return type_

    # what is done with products

    def uses(self, products: dict[int, str]) -> list[Stmt]:
        """The loops that add products' elements to where the terms were added."""
        nest = self.nest
        out: list[Stmt] = []
        for over, rows, columns in ((nest.i, nest.j, nest.k), (nest.j, nest.i, nest.k), (nest.k, nest.i, nest.j)):
            body: list[Stmt] = []
            for term in nest.terms:
                if term.over == over:
                    element = Op("load", (Name(products[id(term)]), Name(rows), Name(columns)))
                    body.append(replace(term.made, value=element))
                    body += [new for use in term.uses for new in self.used(use)]
            if over == nest.k:
                body += nest.after
            if body:
                set_here = {name for stmt in body for name in writes(stmt)} - set(nest.sums)
                self.nested(rows, columns, {name for stmt in body for name in reads(stmt)} - set_here, body, out)
        return out

    def used(self, use: Stmt) -> list[Stmt]:
        """A use of a term, once for the sum of all of them."""
        for total, (made, _) in self.nest.sums.items():
            if isinstance(use, Assign) and use.target == made:
                return [use, Assign(total, Name(made), use.span)]
        return [use]

    def nested(self, rows: str, columns: str, wanted: set[str], body: Iterable[Stmt], out: list[Stmt]) -> None:
        """Two loops around some statements, with what computes the names that these read."""
        nest = self.nest
        counters = {rows, columns}
        outer = nest.outer if rows == nest.i else nest.middle
        inner = nest.middle if columns == nest.j else nest.inner
        if (rows, columns) == (nest.i, nest.k):
            inner = replace(inner, start=self.begin(), stop=self.end())
        needed = self.computing({*wanted, *reads(inner)} & self.own.keys(), counters)
        # what a trip of the inner loop adds to begins anew in each of them
        around = tuple(stmt for stmt in needed if nest.counted[stmt.target] <= {rows} and stmt.target not in nest.sums)
        within = tuple(stmt for stmt in needed if not any(stmt is one for one in around))
        if not {stmt.target for stmt in within}.isdisjoint(reads(inner)):
            raise Refused
        out.append(replace(outer, body=(*around, replace(inner, body=(*within, *body)))))

    def computing(self, wanted: set[str], counters: set[str]) -> list[Assign]:
        """The statements that compute some names, of those that only the given variables tell apart."""
        nest = self.nest
        found: list[Assign] = []
        for name, stmt in reversed(self.own.items()):
            if name not in wanted:
                continue
            if not nest.counted[name] <= counters:
                raise Refused
            if nest.is_pure(stmt):
                found.append(stmt)
                wanted |= {one for one in reads(stmt) if one in self.own}
            elif counters == {nest.i, nest.j} and any(stmt is one for one in nest.before):
                if name not in self.kept:
                    self.kept[name] = self.fresh("a", self.matrix(name))
                load = Op("load", (Name(self.kept[name]), Name(nest.i), Name(nest.j)))
                found.append(replace(stmt, value=load))
            else:
                raise Refused
        return found[::-1]


def _is_deep(stmt: Stmt) -> bool:
    """Whether a loop ends with a loop that has one inside."""
    if not isinstance(stmt, For) or not stmt.body or not isinstance(middle := stmt.body[-1], For):
        return False
    return any(isinstance(inner, For) for inner in middle.body)
