"""Take one product for two that are added up and share a factor.

    p = np.dot(a, b)                          s = np.empty(b.shape)
    q = np.dot(a, c)                          for i in range(b.shape[0]):
    for i in range(n):                            for j in range(b.shape[1]):
        for j in range(m):            ->              s[i, j] = b[i, j] + c[i, j]
            p[i, j] += q[i, j]                p = np.dot(a, s)

The adjoint of `x` in a product `x.T @ x` is such a sum, with `b` the adjoint of the product and `c` its transpose.  The
sum may be in a third matrix, to which both products are added.  Requires that nothing else reads the second product
(of a third matrix: both of them), that nothing meets the matrices between the products and their sum, and that the
factors which are added are known to be of one size.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.covering_nests import Nests
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
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array, Type


def factor_out_products(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such products joined; see the module."""
    products = [stmt for stmt in walk(function.body) if isinstance(stmt, Assign) and _factors(stmt) is not None]
    if len(products) < 2:
        return function
    # loops that have made way for a product still read it
    joined = _Joined(drop_dead_code(function, constants)).made()
    while joined is not None:
        # what the next sum is made of may be new
        function, joined = joined, _Joined(joined).made()
    return function


def _factors(stmt: Stmt) -> tuple[str, str] | None:
    match stmt:
        case Assign(value=Op(fn="np.dot", args=(Name(id=first), Name(id=second)))):
            return first, second
    return None


@dataclass(frozen=True)
class _Pair:
    """Two products of one sum.

    products  their places in a block
    kept      which of them becomes the product of the sum
    needless  the place of the nest that adds the other one to something
    end       the place behind which the sum is complete
    side      which factor they do not share
    """

    products: tuple[int, int]
    kept: int
    needless: int
    end: int
    side: int


class _Joined:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.fresh = Fresh(function.types)
        self.nests = Nests(Iterations(function))
        stmts = list(walk(function.body))
        self.writes = Counter(function.params) + Counter(name for stmt in stmts for name in writes(stmt))
        self.reads = Counter(name for stmt in stmts for name in reads(stmt))
        self.any = False

    def made(self) -> Function | None:
        """The function with two products joined; None if there are no such."""
        body = self.block(self.function.body)
        return replace(self.function, body=body, types=self.fresh.types) if self.any else None

    def block(self, block: Block) -> Block:
        places = range(0 if self.any else len(block))
        pair = next((found for place in places if (found := self.pair(block, place)) is not None), None)
        if pair is None:
            return tuple(map_blocks(stmt, self.block) for stmt in block)
        self.any = True
        later = max(pair.products)
        why = "two products of one matrix are added up"
        what = "one product is taken of the sum of the factors"
        remark(block[pair.kept].span, "common_factors", what, why)
        made = self.joined(block, pair)
        gone = (*pair.products, pair.needless)
        before = [stmt for k, stmt in enumerate(block[:later]) if k not in gone]
        after = [stmt for k, stmt in enumerate(block) if k > later and k not in gone]
        return (*before, *made, *after)

    # finding

    def pair(self, block: Block, nest: int) -> _Pair | None:
        """Products of which a nest adds the second to the first, or to what another nest adds the first to."""
        found = self.added(block[nest])
        if found is None:
            return None
        array, product = found
        second = self.place(block, product, nest)
        if second is None:
            return None
        first = self.place(block, array, nest)
        if first is not None and self.writes[array] == 1 and self.whole(block[nest], array):
            pair = self.possible(block, _Pair((first, second), first, nest, nest, 0))
            if pair is not None:
                return pair
        for before in range(nest - 1, -1, -1):
            other = self.added(block[before])
            if other is None or other[0] != array or not self.alike(block, before, nest, array):
                continue
            first = self.place(block, other[1], before)
            pair = None if first is None else self.possible(block, _Pair((first, second), second, before, nest, 0))
            if pair is not None:
                return pair
        return None

    def place(self, block: Block, product: str, end: int) -> int | None:
        """Where a block makes a product, before some place."""
        made = (k for k in range(end - 1, -1, -1) if _makes(block[k], product))
        return next((k for k in made if _factors(block[k]) is not None), None)

    def possible(self, block: Block, pair: _Pair) -> _Pair | None:
        """The pair, if its products share a factor and can be one."""
        one, other = (_factors(block[k]) for k in pair.products)
        assert one is not None and other is not None
        for side in (1, 0):
            if self.plain(one[1 - side]) == self.plain(other[1 - side]):
                first = min(pair.products)
                fit = self.one_size(one[side], other[side], block[:first])
                return replace(pair, side=side) if fit and self.alone(block, pair) else None
        return None

    def added(self, stmt: Stmt) -> tuple[str, str] | None:
        """What a nest adds another matrix to, element by element, and that matrix, if only the nest reads it."""
        if not isinstance(stmt, For) or len(stmt.body) != 1 or not isinstance(inner := stmt.body[0], For):
            return None
        index = (Name(stmt.var), Name(inner.var))
        match inner.body:
            case (
                Assign(target=one, value=Op(fn="load", args=(Name(id=product), *place))),
                Store(array=array, index=kept, value=Name(id=stored), accumulate=True),
            ):
                right = stored == one and tuple(place) == kept == index
            case (
                Assign(target=old, value=Op(fn="load", args=(Name(id=array), *at))),
                Assign(target=one, value=Op(fn="load", args=(Name(id=product), *place))),
                Assign(target=total, value=Op(fn="+", args=(Name(id=before), Name(id=added)))),
                Store(array=kept_in, index=kept, value=Name(id=stored), accumulate=False),
            ):
                right = (before, added, stored, kept_in) == (old, one, total, array)
                right = right and self.reads[old] == self.reads[total] == 1
                right = right and tuple(at) == tuple(place) == kept == index
            case _:
                return None
        alone = self.reads[product] == self.writes[product] == self.reads[one] == 1
        return (array, product) if right and alone else None

    def plain(self, name: str) -> str:
        """The matrix that a factor is, or is the transpose of the transpose of."""
        once = self.turned(name)
        twice = None if once is None else self.turned(once)
        return name if twice is None else self.plain(twice)

    def turned(self, name: str) -> str | None:
        match self.nests.definition(Name(name)):
            case Op(fn="transpose", args=(Name(id=owner),)) if self.nests.fixed(Name(owner)):
                return owner
        return None

    def alone(self, block: Block, pair: _Pair) -> bool:
        """Whether nothing else meets the matrices and their sum from the first product until that is complete."""
        own = frozenset().union(*(self.nests.met(block[k]) for k in (*pair.products, pair.end)))
        others = set(range(min(pair.products) + 1, pair.end)) - {*pair.products, pair.needless}
        return all(_is_transpose(block[k]) or own.isdisjoint(self.nests.met(block[k])) for k in others)

    def one_size(self, first: str, second: str, before: Block) -> bool:
        """Whether two matrices are known to be of one size and one type."""
        types = [self.fresh.types[name] for name in (first, second)]
        if not all(_is_matrix(type_) for type_ in types) or self.element(first) != self.element(second):
            return False
        pairs = [tuple(self.nests.extent(name, axis) for name in (first, second)) for axis in (0, 1)]
        return all(self.nests.equal(one, other, before) for one, other in pairs)

    def element(self, name: str) -> Type:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Array)
        return type_.element

    def whole(self, nest: Stmt, array: str) -> bool:
        """Whether a nest comes to all elements of an array."""
        dims = tuple(self.nests.size(self.nests.extent(array, axis)) for axis in (0, 1))
        return self.reached(nest, array) == dims

    def alike(self, block: Block, first: int, second: int, array: str) -> bool:
        """Whether two nests come to the same elements of an array."""
        reached = self.reached(block[first], array)
        return reached is not None and reached == self.reached(block[second], array)

    def reached(self, nest: Stmt, array: str) -> tuple[Expr, ...] | None:
        """To how many elements of each axis a nest comes, from the first on."""
        found = self.nests.elements(nest, array, 2)
        return None if found is None else tuple(map(self.nests.size, found[2]))

    # writing

    def joined(self, block: Block, pair: _Pair) -> list[Stmt]:
        """The sum of the factors, and the product."""
        made = block[pair.kept]
        factors, others = (_factors(block[k]) for k in pair.products)
        assert isinstance(made, Assign) and factors is not None and others is not None
        mine, theirs = factors[pair.side], others[pair.side]
        type_ = self.fresh.types[mine]
        assert isinstance(type_, Array)
        total = self.fresh("t", Array(type_.dtype, 2))
        n, m, i, j = (self.fresh(base, INT64) for base in ("n", "n", "i", "j"))
        t, u, s = (self.fresh("t", type_.element) for _ in range(3))
        index = (Name(i), Name(j))
        body: Block = (
            Assign(t, Op("load", (Name(mine), *index)), made.span),
            Assign(u, Op("load", (Name(theirs), *index)), made.span),
            Assign(s, Op("+", (Name(t), Name(u))), made.span),
            Store(total, index, Name(s), False, made.span),
        )
        inner = For(j, Const(0), Name(m), Const(1), body, span=made.span)
        shared = self.plain(factors[1 - pair.side])
        both = (Name(shared), Name(total)) if pair.side == 1 else (Name(total), Name(shared))
        return [
            Assign(n, Op("dim", (Name(mine), Const(0))), made.span),
            Assign(m, Op("dim", (Name(mine), Const(1))), made.span),
            Assign(total, Op("empty", (Const(type_.dtype), Name(n), Name(m))), made.span),
            For(i, Const(0), Name(n), Const(1), (inner,), span=made.span),
            replace(made, value=Op("np.dot", both)),
        ]


def _makes(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Assign) and stmt.target == name


def _is_transpose(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "transpose"


def _is_matrix(type_: Type) -> bool:
    return isinstance(type_, Array) and type_.ndim == 2
