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

`loop_nests` says which nests these are; several products may share one, and `loop_pairs` says which two of them are
one.  The third loop may run to or from the second one's variable: outside the triangle the factor is zero then, and
where an infinite or undefined element of the other factor makes that zero undefined, which shows in the product, the
loops run as they stand.  So they do where a matrix would take more than 128 MB, for a nest takes next to nothing, and
with a limit of memory.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.contractions.loop_matrices import NestMatrices, needed_by
from tapec.optimise.contractions.loop_nests import Nest, Refused, Term
from tapec.optimise.contractions.loop_pairs import added_up, joined_term
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    walk,
    zero_of,
)
from tapec.syntax.types import BOOL, INT64, Array


def multiply_matrices(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with products in place of such nests; see the module."""
    if not any(_is_deep(stmt) for stmt in walk(function.body)):
        return function
    # passes before this one leave names with several values
    function = number_values(function, constants)
    worker = _Products(function)
    body = worker.block(function.body)
    if not worker.any:
        return function
    return number_values(replace(function, body=body, types=worker.fresh.types), constants)


class _Products:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)
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
            nest = Nest(loop, self.iterations)
            new = _Form(nest, self.nests, self.fresh).statements()
        except Refused:
            return None
        self.any = True
        why = "where its loops make many iterations, the nest is a product of matrices"
        remark(loop.span, "loop_products", "is left to BLAS", why)
        return new


class _Form(NestMatrices):
    """The second version of one nest."""

    def statements(self) -> list[Stmt]:
        nest = self.nest
        large = self.large()
        before = self.out
        # which numbers must be kept shows in what comes last
        self.out = []
        products = {term.key: self.fresh("p", self.matrix(term.made.target)) for term in nest.terms}
        joined = self.joined()
        last = self.uses(products, joined)
        self.first()
        factors = [self.factors(term) for term in nest.terms]
        early, self.out = self.out, []
        terms = nest.terms
        if joined is not None:
            terms, factors = [joined], [self.summed(factors)]
        for term, (left, right) in zip(terms, factors, strict=True):
            self.multiply(term, left, right, products[term.key])
        later = (*self.out, *last)
        # in a product with a triangle, what the triangle's zeros are multiplied by
        pairs = zip(terms, factors, strict=True)
        whole = dict.fromkeys(left for term, (left, _) in pairs if nest.triangular and term.over != nest.i)
        if not whole:
            return [*before, If(large, (*early, *later), (nest.outer,), self.span)]
        if any(isinstance(stmt, Store) for stmt in nest.before):
            raise Refused
        self.out = early
        finite = self.finite(list(whole))
        done = Name(self.fresh("t", BOOL))
        inside = (*self.out, If(finite, later, span=self.span), Assign(done.id, finite, self.span))
        rest = Name(self.fresh("t", BOOL))
        return [
            *before,
            If(large, inside, (Assign(done.id, Const(False), self.span),), self.span),
            Assign(rest.id, Op("not", (done,)), self.span),
            If(rest, (nest.outer,), span=self.span),
        ]

    # extents

    def large(self) -> Name:
        """Whether BLAS is worth it."""
        sizes = [self.nest.outer.stop, self.nest.middle.stop, self.end()]
        enough = [self.computed(Op(">=", (size, Const(costs.BLAS_ITERATIONS))), BOOL) for size in dict.fromkeys(sizes)]
        first, second, third = sizes
        work = self.computed(Op("*", (self.computed(Op("*", (first, second)), INT64), third)), INT64)
        few: Atom = first
        for size in dict.fromkeys(sizes[1:]):
            few = few if size == few else self.computed(Op("min", (few, size)), INT64)
        most = self.computed(Op("*", (few, Const(costs.BLAS_ELEMENTS))), INT64)
        tests = [Op(">=", (work, Const(costs.BLAS_WORK))), Op("<=", (work, most))]
        test, *others = [*enough, *(self.computed(one, BOOL) for one in tests)]
        for other in others:
            test = self.computed(Op("and", (test, other)), BOOL)
        return test

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
            if self.itself(name, nest.i, nest.j, turned=False) is not None:
                continue
            array = self.matrices[self.key(name, (nest.i, nest.j)), False] = self.made(name, nest.i, nest.j)
            stores.append(Store(array, index, Name(name), span=self.span))
        for name, array in self.kept.items():
            self.allocate(array, (nest.i, nest.j), zero=False)
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
            self.nested(nest.i, nest.j, stores, self.out)

    # products

    def factors(self, term: Term) -> tuple[str, str]:
        """The matrices of a term's factors, in the order of the loops whose variables they do not share."""
        first, second = term.first, term.second
        if self.alone(first, term) > self.alone(second, term):
            first, second = second, first
        return self.factor(first), self.factor(second, turned=term.over == self.nest.k)

    def alone(self, factor: str, term: Term) -> int:
        """Which loop's variable the other factor does not share."""
        (var,) = self.nest.counted[factor] - {term.over}
        return (self.nest.i, self.nest.j, self.nest.k).index(var)

    def multiply(self, term: Term, left: str, right: str, product: str) -> None:
        """The product of a term's factors: rows and columns are what they do not share."""
        if term.over == self.nest.i:
            left = self.transposed(left)
        self.out.append(Assign(product, Op("np.dot", (Name(left), Name(right))), term.made.span))

    def finite(self, matrices: list[str]) -> Name:
        """Whether no element of some matrices is infinite or nan: none is if their sum is finite."""
        tests: list[Name] = []
        for matrix in matrices:
            if self.matrix_type(matrix).layout == "F":
                matrix = self.transposed(matrix)
            element = self.matrix_type(matrix).element
            total, value, added, rest = (self.fresh("t", element) for _ in range(4))
            rows, columns = (self.computed(Op("dim", (Name(matrix), Const(axis))), INT64) for axis in (0, 1))
            whole = self.computed(Op("*", (rows, columns)), INT64)
            row, i = self.fresh("a", Array(element.dtype, 1)), self.fresh("i", INT64)
            body: Block = (
                Assign(value, Op("load", (Name(row), Name(i))), self.span),
                Assign(added, Op("+", (Name(total), Name(value))), self.span),
                Assign(total, Name(added), self.span),
            )
            self.out.append(Assign(row, Op("reshape", (Name(matrix), whole)), self.span))
            self.out.append(Assign(total, zero_of(element), self.span))
            self.out.append(For(i, Const(0), whole, Const(1), body, span=self.span))
            self.out.append(Assign(rest, Op("-", (Name(total), Name(total))), self.span))
            tests.append(self.computed(Op("==", (Name(rest), Name(rest))), BOOL))
        test, *others = tests
        for other in others:
            test = self.computed(Op("and", (test, other)), BOOL)
        return test

    # two products in one

    def joined(self) -> Term | None:
        """The term that stands for two, see `loop_pairs`."""
        nest = self.nest

        def is_one(left: str, same: str) -> bool:
            return self.key(left, (nest.i, nest.j)) == self.key(same, (nest.i, nest.k))

        return joined_term(nest, self.own, is_one) if self.is_square() else None

    def is_square(self) -> bool:
        """Whether the third loop gets to what the second one gets to."""
        return (self.begin(), self.end()) == (Const(0), self.nest.middle.stop)

    def summed(self, factors: list[tuple[str, str]]) -> tuple[str, str]:
        """The common factor, and the sum of the others, which are of one size."""
        (left, one), (same, other) = factors
        if left != same:
            raise Refused
        total = self.fresh("a", replace(self.matrix_type(one), layout="C"))
        self.allocate(total, (self.nest.j, self.nest.j), zero=False)
        self.out.append(added_up((one, other, total), self.nest.middle.stop, self.fresh, self.span))
        return left, total

    # what is done with products

    def uses(self, products: dict[int, str], joined: Term | None) -> list[Stmt]:
        """The loops that add products' elements to where the terms were added, or the one that stands for two."""
        nest = self.nest
        out: list[Stmt] = []
        bodies = {
            over: [new for term in nest.terms if term.over == over for new in self.added(term, products[term.key])]
            for over in (nest.i, nest.j, nest.k)
        }
        bodies[nest.k] += nest.after
        if joined is not None:
            bodies[nest.k] = []
        self.nested(nest.j, nest.k, bodies[nest.i], out)
        if bodies[nest.j] and bodies[nest.k] and self.is_square():
            # one loop for what both do to the rows
            wanted = self.computing(needed_by(bodies[nest.j], nest.sums), {nest.i, nest.k})
            follow: list[Stmt] = [Assign(nest.k, Name(nest.j), nest.inner.span), *wanted, *bodies[nest.j]]
            bodies[nest.j], bodies[nest.k] = [], [*follow, *bodies[nest.k]]
        self.nested(nest.i, nest.k, bodies[nest.j], out)
        self.nested(nest.i, nest.j, bodies[nest.k], out)
        return out

    def added(self, term: Term, product: str) -> list[Stmt]:
        """What is done with an element of a product."""
        rows, columns = (var for var in (self.nest.i, self.nest.j, self.nest.k) if var != term.over)
        element = replace(term.made, value=Op("load", (Name(product), Name(rows), Name(columns))))
        return [element, *(new for use in term.uses for new in self.used(use))]

    def used(self, use: Stmt) -> list[Stmt]:
        """A use of a term, once for the sum of all of them."""
        for total, (made, _) in self.nest.sums.items():
            if isinstance(use, Assign) and use.target == made:
                return [use, Assign(total, Name(made), use.span)]
        return [use]


def _is_deep(stmt: Stmt) -> bool:
    """Whether a loop ends with a loop that has one inside."""
    if not isinstance(stmt, For) or not stmt.body or not isinstance(middle := stmt.body[-1], For):
        return False
    return any(isinstance(inner, For) for inner in middle.body)
