"""Write products of small arrays, and of vectors, out as loops, so that arrays can become numbers and loops be joined.

    s = np.dot(u, v)          ->         s = 0.0
                                         for k in range(3):
                                             s = s + u[k] * v[k]

Both arrays need known extents of at most four; that of a vector follows from the other factor, and is checked.
A library's call costs more than such a product, and takes memory where numbers would do.

Of two vectors, which may be large, any extents will do: a loop of sums runs on vectors as the library does, and what
else is done with the elements can be done in it.  Of slices (`np.dot(a[i, :j], a[j, :j])`) they are the array's.

So they will of a matrix and a vector in a loop that leaves the matrix alone: iterations that run side by side multiply
it by many vectors at once.  Where iterations need one another, the loops go along the matrix's rows in memory, be they
its rows or its columns.

    y = np.dot(w, x)          ->         y = np.empty(w.shape[0])
                                         for i in range(w.shape[0]):
                                             s = 0.0
                                             for k in range(w.shape[1]):
                                                 s = s + w[i, k] * x[k]
                                             y[i] = s
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.optimise.shapes.equal_extents import EqualExtents
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    names_in,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array


def write_out_products(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with loops for small products; see the module.  A sum's name has several values then."""
    if not any(map(is_product, walk(function.body))):
        return function
    return Products(function).rewritten()


class Products(Rewriter):
    """Writes products out."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)
        made = [stmt for stmt in walk(function.body) if isinstance(stmt, Assign)]
        counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.definitions = {stmt.target: stmt.value for stmt in made if counts[stmt.target] == 1}
        self.extents = EqualExtents(function, facts(function).scopes)
        self.params = {name for name in function.params if not counts[name]}
        # the names that the innermost loop around a statement sets; None where there is none
        self.changed: set[str] | None = None
        self.innermost: For | Loop | None = None

    def loop(self, loop: For | Loop) -> Stmt:
        """A loop with its products written out."""
        around = self.changed, self.innermost
        self.changed, self.innermost = written_in((loop,)), loop
        made = map_blocks(loop, self.block)
        self.changed, self.innermost = around
        return made

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case Assign(value=Op(fn="np.dot", args=(Name(id=left), Name(id=right)))):
                one, other = self.shape(left), self.shape(right)
                if one is None and other is not None and self.is_vector(left):
                    yield from self.checked(stmt, left, other[0], other)
                    one = other[:1]
                if other is None and one is not None and self.is_vector(right):
                    yield from self.checked(stmt, right, one[-1], one)
                    other = one[-1:]
                if one is not None and other is not None and one[-1] == other[0]:
                    yield from self.written_out(stmt, left, right, tuple(map(Const, one)), tuple(map(Const, other)))
                    self.remark(stmt, one, other)
                    return
                if self.is_vector(left) and self.is_vector(right):
                    yield from self.of_vectors(stmt, left, right)
                    return
                if self.is_steady(left) and self.is_vector(right):
                    yield from self.of_matrix(stmt, left, right)
                    return
                if self.is_vector(left) and self.is_steady(right):
                    yield from self.of_matrix(stmt, right, left)
                    return
            case For() | Loop():
                yield self.loop(stmt)
                return
        yield map_blocks(stmt, self.block)

    def shape(self, array: str) -> tuple[int, ...] | None:
        """The extents of an array of float64, if they are known and small."""
        type_ = self.fresh.types[array]
        if not isinstance(type_, Array) or type_.dtype != "float64":
            return None
        extents = [self.extent(array, axis) for axis in range(type_.ndim)]
        known = tuple(n for n in extents if n is not None and 0 < n <= costs.WRITTEN_OUT)
        return known if len(known) == type_.ndim else None

    def is_vector(self, array: str) -> bool:
        type_ = self.fresh.types[array]
        return isinstance(type_, Array) and type_.ndim == 1 and type_.dtype == "float64"

    def is_steady(self, array: str) -> bool:
        """Whether a name stands for a matrix in rows or columns that is the same in all iterations of a loop."""
        type_ = self.fresh.types[array]
        if not isinstance(type_, Array) or (type_.ndim, type_.dtype) != (2, "float64") or type_.layout == "A":
            return False
        return self.changed is not None and self.is_outside(array, self.changed)

    def is_outside(self, array: str, changed: set[str]) -> bool:
        """Whether an array, or the one that it is a view of, is made outside of the loop that changes some names."""
        if array not in changed:
            return True
        match self.definitions.get(array):
            case Op(fn="view" | "transpose", args=(Name(id=owner), *subs)):
                inside = changed.intersection(name for sub in subs for name in names_in(sub))
                return not inside and self.is_outside(owner, changed)
        return False

    def checked(self, stmt: Assign, array: str, extent: int, known: tuple[int, ...]) -> Iterator[Stmt]:
        """What makes sure that a vector has as many elements as a product asks for; the other factor is known."""
        other = "vector" if len(known) == 1 else "matrix"
        first = isinstance(stmt.value, Op) and stmt.value.args[0] == Name(array)
        factors = f"vector * {other}" if first else f"{other} * vector"
        asked = self.fresh("size", INT64)
        yield Assign(asked, self.asked(array, 0), stmt.span)
        yield from self.compared(stmt, asked, Const(extent), factors)

    def compared(self, stmt: Assign, asked: str, extent: Atom, factors: str) -> Iterator[Stmt]:
        differs = self.fresh("t", BOOL)
        message = Const(f"incompatible array sizes for np.dot(a, b) ({factors})")
        yield Assign(differs, Op("!=", (Name(asked), extent)), stmt.span)
        yield If(Name(differs), (Raise("ValueError", (message,), stmt.span),), (), stmt.span)

    def of_vectors(self, stmt: Assign, left: str, right: str) -> Iterator[Stmt]:
        """The product of two vectors as a sum, after a check of their extents."""
        extents = [self.fresh("size", INT64) for _ in (left, right)]
        for name, array in zip(extents, (left, right), strict=True):
            yield Assign(name, self.asked(array, 0), stmt.span)
        yield from self.compared(stmt, extents[1], Name(extents[0]), "vector * vector")
        yield from self.summed(stmt, left, right, ((), ()), Name(extents[0]), stmt.target)

    def of_matrix(self, stmt: Assign, matrix: str, vector: str) -> Iterator[Stmt]:
        """The product of a matrix and a vector, or of a vector and a matrix, after a check of their extents."""
        assert isinstance(stmt.value, Op)
        first = stmt.value.args[0] == Name(matrix)
        given, made, summed = (self.fresh("size", INT64) for _ in range(3))
        for name, array, axis in ((given, vector, 0), (made, matrix, 1 - first), (summed, matrix, int(first))):
            yield Assign(name, self.asked(array, axis), stmt.span)
        asked, present = (summed, given) if first else (given, summed)
        yield from self.compared(stmt, present, Name(asked), "matrix * vector" if first else "vector * matrix")
        i, k = (Name(self.fresh(name, INT64)) for name in "ik")
        why = "the matrix is the same in all iterations, which are multiplied side by side, or along its rows"
        remark(stmt.span, "small_products", "the product is written out", why)
        match self.definitions.get(matrix):
            case Op(fn="transpose", args=(Name(id=owner),)) if self.defined_once(owner):
                matrix, index = owner, (k, i) if first else (i, k)
            case _:
                index = (i, k) if first else (k, i)
        factor, element, term = (self.fresh("t", FLOAT64) for _ in range(3))
        loaded = Assign(element, Op("load", (Name(matrix), *index)), stmt.span)
        product = Assign(term, Op("*", (Name(element), Name(factor))), stmt.span)
        taken = Assign(factor, Op("load", (Name(vector), k)), stmt.span)
        type_ = self.fresh.types[matrix]
        assert isinstance(type_, Array)
        in_rows = index == (i, k) and type_.layout == "C" or index == (k, i) and type_.layout == "F"
        if in_rows or isinstance(self.innermost, For) and self.iterations.is_parallel(self.innermost):
            total = self.fresh("s", FLOAT64)
            added = Assign(total, Op("+", (Name(total), Name(term))), stmt.span)
            row = For(k.id, Const(0), Name(summed), Const(1), (taken, loaded, product, added), span=stmt.span)
            whole = Assign(total, Const(0.0), stmt.span), row, Store(stmt.target, (i,), Name(total), span=stmt.span)
            yield Assign(stmt.target, Op("empty", (Const("float64"), Name(made))), stmt.span)
            yield For(i.id, Const(0), Name(made), Const(1), whole, span=stmt.span)
            return
        # row by row in memory, each added to all of the result
        store = Store(stmt.target, (i,), Name(term), True, stmt.span)
        row = For(i.id, Const(0), Name(made), Const(1), (loaded, product, store), span=stmt.span)
        yield Assign(stmt.target, Op("zeros", (Const("float64"), Name(made))), stmt.span)
        yield For(k.id, Const(0), Name(summed), Const(1), (taken, row), span=stmt.span)

    def asked(self, array: str, axis: int) -> Op:
        """The extent of an axis: of a row, that of the array which it is one of."""
        match self.definitions.get(array):
            case Op(fn="view", args=(Name(id=owner), *subs)) if self.defined_once(owner) and self.are_subscripts(subs):
                return self.asked(owner, len(subs) + axis)
            case Op(fn="transpose", args=(Name(id=owner),)) if self.defined_once(owner):
                return self.asked(owner, self.rank(owner) - 1 - axis)
        return Op("dim", (Name(array), Const(axis)))

    def defined_once(self, array: str) -> bool:
        """Whether a name stands for one array."""
        return array in self.definitions or array in self.params

    def are_subscripts(self, subs: Iterable[Expr]) -> bool:
        """Whether subscripts of a view are numbers."""
        return all(isinstance(sub, Name) or isinstance(sub, Const) and sub.value is not None for sub in subs)

    def extent(self, array: str, axis: int) -> int | None:
        found = self.extents.extent(array, axis)
        return found.value if isinstance(found, Const) and isinstance(found.value, int) else None

    def rank(self, array: str) -> int:
        type_ = self.fresh.types[array]
        assert isinstance(type_, Array)
        return type_.ndim

    def remark(self, stmt: Assign, one: tuple[int, ...], other: tuple[int, ...]) -> None:
        what, why = "the product is written out", "its arrays are {0} and {1}"
        sizes = (" by ".join(map(str, shape)) for shape in (one, other))
        remark(stmt.span, "small_products", what, why, *sizes)

    def written_out(
        self, stmt: Assign, left: str, right: str, one: tuple[Atom, ...], other: tuple[Atom, ...]
    ) -> Iterator[Stmt]:
        """The product's elements as sums, in loops over what the result's axes are; the extents of both are given."""
        rows, columns = one[:-1], other[1:]
        extents = (*rows, *columns)
        names = tuple(Name(self.fresh("i", INT64)) for _ in extents)
        total = self.fresh("s", FLOAT64) if extents else stmt.target
        body = self.summed(stmt, left, right, (names[: len(rows)], names[len(rows) :]), one[-1], total)
        if extents:
            made = Op("empty", (Const("float64"), *extents))
            yield Assign(stmt.target, made, stmt.span)
            body = (*body, Store(stmt.target, names, Name(total), span=stmt.span))
        for name, extent in zip(reversed(names), reversed(extents), strict=True):
            body = (For(name.id, Const(0), extent, Const(1), body, span=stmt.span),)
        yield from body

    def summed(
        self,
        stmt: Assign,
        left: str,
        right: str,
        place: tuple[tuple[Name, ...], tuple[Name, ...]],
        stop: Atom,
        total: str,
    ) -> Block:
        """The sum of products that is one element: of a row of `left` and a column of `right`."""
        k = self.fresh("k", INT64)
        first, second, term = (self.fresh("t", FLOAT64) for _ in range(3))
        row, column = place
        product: Block = (
            Assign(first, Op("load", (Name(left), *row, Name(k))), stmt.span),
            Assign(second, Op("load", (Name(right), Name(k), *column)), stmt.span),
            Assign(term, Op("*", (Name(first), Name(second))), stmt.span),
            Assign(total, Op("+", (Name(total), Name(term))), stmt.span),
        )
        return Assign(total, Const(0.0), stmt.span), For(k, Const(0), stop, Const(1), product, span=stmt.span)


def is_product(stmt: Stmt) -> bool:
    """Whether a statement multiplies vectors or matrices."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "np.dot"
