"""Fill an array where a loop adds to each of its elements, all of them zero.

    x_bar = np.zeros(n)                       x_bar = np.empty(n)
    for i in range(n):                 ->     for i in range(n):
        x_bar[i] += y_bar * w[i]                  x_bar[i] = y_bar * w[i]

The array is written once, instead of twice, and not read; a loop that loads the element, adds and stores finds a
zero.  Of a vector a loop may leave out elements at the end, which get their zeros before it.  Refused where
anything else meets the array before the loop ends, or an iteration may be left out.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    zero_of,
)
from tapec.syntax.types import INT64, Scalar


def fuse_zero_fills(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays filled; see the module."""
    worker = _Filled(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


class ZeroFill:
    """Loops that give every element of an array its value."""

    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)

    def stores(self, stmt: Stmt, array: str, rank: int) -> tuple[dict[int, Stmt], tuple[Expr, ...]] | None:
        """The store with which a nest of loops gives elements their values, and loads of the same element before it.

        By key; also how many elements of each axis the nest comes to, from the first on.  None if anything else
        in the nest meets the array.
        """
        found = self.nests.elements(stmt, array, rank)
        if found is None:
            return None
        body, index, extents = found
        *loads, store = (one for one in body if self.nests.memory(array) in self.nests.met(one))
        if not isinstance(store, Store) or store.array != array:
            return None
        element = Op("load", (Name(array), *index))
        plain = all(isinstance(load, Assign) and load.value == element for load in loads)
        return ({one.key: one for one in (*loads, store)}, extents) if plain else None

    def without_adding(self, stmt: Stmt, elements: dict[int, Stmt]) -> Stmt:
        """A statement of a nest, with zeros in place of these loads and without additions to them."""
        found = {Name(one.target) for one in elements.values() if isinstance(one, Assign)}
        match stmt:
            case Store() if stmt.key in elements:
                return replace(stmt, accumulate=False)
            case Assign(target=target) if stmt.key in elements:
                type_ = self.iterations.types[target]
                assert isinstance(type_, Scalar)
                return replace(stmt, value=zero_of(type_))
            case Assign(target=target, value=Op(fn="+", args=(first, second))) if found & {first, second}:
                other = second if first in found else first
                alike = isinstance(other, Name) and self.iterations.types[other.id] == self.iterations.types[target]
                return replace(stmt, value=other) if alike else stmt
        return map_blocks(stmt, lambda block: tuple(self.without_adding(inner, elements) for inner in block))


class _Filled(ZeroFill):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.fresh = Fresh(function.types)
        self.inside = False

    def block(self, block: Block) -> Block:
        around, self.inside = self.inside, True
        # what takes a statement's place
        out = [[map_blocks(stmt, self.block)] for stmt in block]
        self.inside = around
        for place, stmt in enumerate(block):
            if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "zeros":
                self.fill(block, place, stmt, stmt.value, out)
        return tuple(new for stmts in out for new in stmts)

    def fill(self, block: Block, place: int, made: Assign, zeros: Op, out: list[list[Stmt]]) -> None:
        """Change the array's allocation and the first loop that meets it, in `out`, if that loop writes all of it."""
        array, dims = made.target, zeros.args[1:]
        if len(self.iterations.scopes.defs[array]) != 1 or not all(map(self.nests.fixed, dims)):
            return
        first = self.nests.first(block, place, array)
        found = None if first is None else self.stores(block[first], array, len(dims))
        if first is None or found is None:
            return
        stores, extents = found
        rest = self.rest(made, extents, dims) if extents != dims else []
        if extents == dims or rest:
            why = "a loop comes to every element before anything else does"
            remark(made.span, "zero_fill", "`{0}` is not set to zero first", why, Named(array))
            out[place][-1] = replace(made, value=Op("empty", zeros.args))
            # blocks inside may have changed, but loads and stores are the same objects
            out[first] = [*out[first][:-1], *rest, self.without_adding(out[first][-1], stores)]

    def rest(self, made: Assign, extents: tuple[Expr, ...], dims: tuple[Expr, ...]) -> list[Stmt]:
        """Zeros for the elements that a loop leaves out at the end of a vector; nothing for other arrays."""
        match extents, dims:
            case [Name() | Const() as covered], [Name() | Const() as whole] if self.nests.fixed(covered):
                if not self.leaves_out(covered, whole):
                    return []
            case _:
                return []
        first, var = self.fresh("size", INT64), self.fresh("i", INT64)
        zero = Store(made.target, (Name(var),), Const(0.0), span=made.span)
        return [
            Assign(first, Op("max", (covered, Const(0))), made.span),
            For(var, Name(first), whole, Const(1), (zero,), span=made.span),
        ]

    def leaves_out(self, covered: Atom, whole: Atom) -> bool:
        """Whether one number is less than another one, or may be: in a loop or branch, it must be less for certain.

        Of a loop that may have no iterations, nobody notices that it stands there as long as it runs once.
        """
        last, end = self.iterations.subscript(covered), self.iterations.subscript(whole)
        if last is None or end is None:
            return not self.inside
        bases = [None if one is None else self.nests.size(Name(one)) for one in (last.base, end.base)]
        return last.offset < end.offset if bases[0] == bases[1] else not self.inside
