"""Fill an array where a loop adds to each element of one of two arrays of zeros, which a branch has chosen.

    x_bar = np.zeros(n)                       x_bar = np.empty(n)
    if n != m:                                if n != m:
        a_bar = np.zeros(k)                       for i in range(n):
        chosen = a_bar                                x_bar[i] = 0.0
    else:                                         a_bar = np.empty(k)
        chosen = x_bar                 ->         chosen = a_bar
    for i in range(e):                        else:
        chosen[i] += y_bar * w[i]                 chosen = x_bar
                                              for i in range(e):
                                                  chosen[i] = y_bar * w[i]

An operand of an array expression that may have to be stretched leaves such a pair.  The loop must come to every element
of either, where `e` may be the extent of another array that is chosen along with them, or equal to `n` because the
branch was not taken.  Otherwise as for `zero_fill`: nothing else may meet the arrays before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.optimise.buffers.zero_fill import ZeroFill
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import Assign, Block, Const, Expr, For, Function, If, Name, Op, Stmt, Store, writes, written_in
from tapec.syntax.types import INT64, Array


def fuse_chosen_zero_fills(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays filled; see the module."""
    if not any(isinstance(stmt, If) for stmt in function.body):
        return function
    worker = _Choices(function)
    return replace(function, body=worker.filled(function.body), types=worker.fresh.types)


@dataclass(frozen=True)
class _Side:
    """A side of a branch: the array that it chooses, and where that is made, in the side or before the branch."""

    block: Block
    copy: Stmt
    made: Assign
    dims: tuple[Expr, ...]
    inside: bool


class _Choices(ZeroFill):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.fresh = Fresh(function.types)

    def filled(self, block: Block) -> Block:
        """The function's body: what stands in it runs once."""
        for place, stmt in enumerate(block):
            if isinstance(stmt, If):
                for name in sorted({name for one in stmt.body for name in writes(one)}):
                    block = self.fill(block, place, name)
        return block

    def fill(self, block: Block, place: int, name: str) -> Block:
        """The block, where `name` is chosen by the branch at a place and filled by the first loop that meets it."""
        branch, type_ = block[place], self.iterations.types[name]
        assert isinstance(branch, If)
        first = self.nests.first(block, place, name)
        if not isinstance(type_, Array) or first is None or len(self.iterations.scopes.defs[name]) != 2:
            return block
        sides = [side for one in (branch.body, branch.orelse) if (side := self.side(one, block[:place], name))]
        found = self.stores(block[first], name, type_.ndim)
        if len(sides) != 2 or found is None or not self.unmet(block[:place], sides):
            return block
        stores, extents = found
        if not all(self.covers(extents, side, branch, k == 1) for k, side in enumerate(sides)):
            return block
        why = "a loop comes to every element, whichever array the branch has chosen"
        remark(branch.span, "zero_fill_choices", "`{0}` is not set to zero first", why, Named(name))
        out = list(block)
        out[first] = self.without_adding(block[first], stores)
        bodies = [
            tuple(_empty(stmt) if side.inside and stmt is side.made else stmt for stmt in side.block) for side in sides
        ]
        for k, side in enumerate(sides):
            if not side.inside:
                out = [_empty(side.made) if stmt is side.made else stmt for stmt in out]
                if side.made is not sides[1 - k].made:
                    bodies[1 - k] = (self.zeros(side.made, side.dims), *bodies[1 - k])
        out[place] = replace(branch, body=bodies[0], orelse=bodies[1])
        return tuple(out)

    def side(self, block: Block, before: Block, name: str) -> _Side | None:
        """A side that chooses an array of zeros, whose extents are what they were when it was made."""
        copies = [stmt for stmt in block if isinstance(stmt, Assign) and stmt.target == name]
        if len(copies) != 1 or not isinstance(source := copies[0].value, Name):
            return None
        for stmts, inside in ((block, True), (before, False)):
            for k, stmt in enumerate(stmts):
                if isinstance(stmt, Assign) and stmt.target == source.id and _is_made(stmt.value, "zeros"):
                    dims = self.lasting(stmt.value, stmts[k:] if inside else None)
                    once = len(self.iterations.scopes.defs[source.id]) == 1
                    return _Side(block, copies[0], stmt, dims, inside) if dims and once else None
        return None

    def lasting(self, made: Expr, rest: Block | None) -> tuple[Expr, ...]:
        """The extents an array is made with, if they are the same behind the rest of a block, or everywhere."""
        assert isinstance(made, Op)
        dims = made.args[1:]
        later = () if rest is None else written_in(rest)
        last = (
            self.nests.fixed(one) or rest is not None and isinstance(one, Name) and one.id not in later for one in dims
        )
        return dims if all(last) else ()

    def unmet(self, before: Block, sides: list[_Side]) -> bool:
        """Whether nothing else meets the arrays from where they are made to the end of the branch."""
        own = self.nests.memory(sides[0].made.target)
        allowed = {one.key for side in sides for one in (side.made, side.copy)}
        outer = [k for k, stmt in enumerate(before) for side in sides if stmt is side.made]
        between = [*before[min(outer) :]] if outer else []
        met = (stmt for block in (between, *(side.block for side in sides)) for stmt in block)
        return all(stmt.key in allowed or own not in self.nests.met(stmt) for stmt in met)

    def covers(self, extents: tuple[Expr, ...], side: _Side, branch: If, otherwise: bool) -> bool:
        """Whether so many elements of each axis are all elements of the array that a side chooses."""
        equal = self.equalities(branch.test) if otherwise else []
        return all(
            self.same(self.extent(asked, side), self.nests.size(dim), equal)
            for asked, dim in zip(extents, side.dims, strict=True)
        )

    def extent(self, asked: Expr, side: _Side) -> Expr:
        """An extent behind a side, where other arrays may have been chosen, too."""
        defs = self.iterations.scopes.defs
        match self.iterations.definition(asked) if isinstance(asked, Name) else asked:
            case Op(fn="dim", args=(Name(id=array), Const(value=int(axis)))):
                copies = [stmt for stmt in side.block if isinstance(stmt, Assign) and stmt.target == array]
                if len(copies) != 1 or len(defs[array]) != 2 or not isinstance(source := copies[0].value, Name):
                    return self.nests.size(asked)
                if len(defs.get(source.id, ())) > 1:
                    return asked
                for k, stmt in enumerate(side.block):
                    if isinstance(stmt, Assign) and stmt.target == source.id and _is_made(stmt.value, "zeros", "empty"):
                        dims = self.lasting(stmt.value, side.block[k:])
                        return self.nests.size(dims[axis]) if dims else asked
                return self.nests.size(self.nests.extent(source.id, axis))
        return self.nests.size(asked)

    def equalities(self, test: Expr) -> list[frozenset[Expr]]:
        """Pairs of extents that are equal where a test is false."""
        match self.iterations.definition(test) if isinstance(test, Name) else test:
            case Op(fn="!=", args=(first, second)) if self.nests.fixed(first) and self.nests.fixed(second):
                return [frozenset({self.nests.size(first), self.nests.size(second)})]
            case Op(fn="or", args=tests):
                return [pair for one in tests for pair in self.equalities(one)]
        return []

    def same(self, first: Expr, second: Expr, equal: list[frozenset[Expr]]) -> bool:
        found = {first}
        while more := {one for pair in equal if not found.isdisjoint(pair) for one in pair} - found:
            found |= more
        return second in found

    def zeros(self, made: Assign, dims: tuple[Expr, ...]) -> Stmt:
        """Loops that write zeros."""
        index = [self.fresh("ijk"[axis] if axis < 3 else "i", INT64) for axis, _ in enumerate(dims)]
        stmt: Stmt = Store(made.target, tuple(map(Name, index)), Const(0.0), span=made.span)
        for name, dim in reversed([*zip(index, dims, strict=True)]):
            assert isinstance(dim, Name | Const)
            stmt = For(name, Const(0), dim, Const(1), (stmt,), span=made.span)
        return stmt


def _is_made(value: Expr, *ways: str) -> bool:
    return isinstance(value, Op) and value.fn in ways


def _empty(made: Assign) -> Assign:
    assert isinstance(made.value, Op)
    return replace(made, value=Op("empty", made.value.args))
