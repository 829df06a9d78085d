"""Write products of small arrays, and of vectors, out as loops, so that arrays can become numbers and loops be joined.

    s = np.dot(u, v)          ->         s = 0.0
                                         for k in range(3):
                                             s = s + u[k] * v[k]

Both arrays need known extents of at most four; that of a vector follows from the other factor, and is checked.
A library's call costs more than such a product, and takes memory where numbers would do.

Of two vectors, which may be large, any extents will do: a loop of sums runs on vectors as the library does, and what
else is done with the elements can be done in it.  Of slices (`np.dot(a[i, :j], a[j, :j])`) they are the array's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tapec.journal import Listener
from tapec.optimise.clean.names import Fresh
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
    Raise,
    Stmt,
    Store,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, FLOAT64, INT64, Array

_LARGEST = 4


def write_out_products(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with loops for small products; see the module.  A sum's name has several values then."""
    worker = _Products(function, listener)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


class _Products:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.fresh = Fresh(function.types)
        made = [stmt for stmt in walk(function.body) if isinstance(stmt, Assign)]
        counts = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.definitions = {stmt.target: stmt.value for stmt in made if counts[stmt.target] == 1}

    def block(self, block: Block) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt))

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
                    yield from self.written_out(stmt, left, right, one, other)
                    return
                if self.is_vector(left) and self.is_vector(right):
                    yield from self.of_vectors(stmt, left, right)
                    return
        yield map_blocks(stmt, self.block)

    def shape(self, array: str) -> tuple[int, ...] | None:
        """The extents of an array of float64, if they are known and small."""
        type_ = self.fresh.types[array]
        if not isinstance(type_, Array) or type_.dtype != "float64":
            return None
        extents = [self.extent(array, axis) for axis in range(type_.ndim)]
        known = tuple(n for n in extents if n is not None and 0 < n <= _LARGEST)
        return known if len(known) == type_.ndim else None

    def is_vector(self, array: str) -> bool:
        type_ = self.fresh.types[array]
        return isinstance(type_, Array) and type_.ndim == 1 and type_.dtype == "float64"

    def checked(self, stmt: Assign, array: str, extent: int, known: tuple[int, ...]) -> Iterator[Stmt]:
        """What makes sure that a vector has as many elements as a product asks for; the other factor is known."""
        other = "vector" if len(known) == 1 else "matrix"
        first = isinstance(stmt.value, Op) and stmt.value.args[0] == Name(array)
        factors = f"vector * {other}" if first else f"{other} * vector"
        asked = self.fresh("n", INT64)
        yield Assign(asked, Op("dim", (Name(array), Const(0))), stmt.span)
        yield from self.compared(stmt, asked, Const(extent), factors)

    def compared(self, stmt: Assign, asked: str, extent: Atom, factors: str) -> Iterator[Stmt]:
        differs = self.fresh("t", BOOL)
        message = Const(f"incompatible array sizes for np.dot(a, b) ({factors})")
        yield Assign(differs, Op("!=", (Name(asked), extent)), stmt.span)
        yield If(Name(differs), (Raise("ValueError", (message,), stmt.span),), (), stmt.span)

    def of_vectors(self, stmt: Assign, left: str, right: str) -> Iterator[Stmt]:
        """The product of two vectors as a sum, after a check of their extents."""
        extents = [self.fresh("n", INT64) for _ in (left, right)]
        for name, array in zip(extents, (left, right), strict=True):
            yield Assign(name, Op("dim", (Name(array), Const(0))), stmt.span)
        yield from self.compared(stmt, extents[1], Name(extents[0]), "vector * vector")
        yield from self.summed(stmt, left, right, ((), ()), Name(extents[0]), stmt.target)

    def extent(self, array: str, axis: int) -> int | None:
        match self.definitions.get(array):
            case Op(fn="empty" | "zeros", args=(_, *extents)):
                return _number(extents[axis])
            case Op(fn="copy", args=(Name(id=owner),)):
                return self.extent(owner, axis)
            case Op(fn="transpose", args=(Name(id=owner),)):
                type_ = self.fresh.types[owner]
                assert isinstance(type_, Array)
                return self.extent(owner, type_.ndim - 1 - axis)
        return None

    def written_out(
        self, stmt: Assign, left: str, right: str, one: tuple[int, ...], other: tuple[int, ...]
    ) -> Iterator[Stmt]:
        """The product's elements as sums, in loops over what the result's axes are."""
        if self.listener is not None:
            what, why = "the product is written out", "its arrays are {0} and {1}"
            sizes = (" by ".join(map(str, shape)) for shape in (one, other))
            self.listener.decide(stmt.span, "small_products", what, why, *sizes)
        rows, columns = one[:-1], other[1:]
        extents = (*rows, *columns)
        names = tuple(Name(self.fresh("i", INT64)) for _ in extents)
        total = self.fresh("s", FLOAT64) if extents else stmt.target
        body = self.summed(stmt, left, right, (names[: len(rows)], names[len(rows) :]), Const(one[-1]), total)
        if extents:
            made = Op("empty", (Const("float64"), *map(Const, extents)))
            self.definitions[stmt.target] = made
            yield Assign(stmt.target, made, stmt.span)
            body = (*body, Store(stmt.target, names, Name(total), span=stmt.span))
        for name, extent in zip(reversed(names), reversed(extents), strict=True):
            body = (For(name.id, Const(0), Const(extent), Const(1), body, span=stmt.span),)
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


def _number(expr: Expr) -> int | None:
    return expr.value if isinstance(expr, Const) and isinstance(expr.value, int) else None
