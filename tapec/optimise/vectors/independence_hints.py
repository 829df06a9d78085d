"""Tell LLVM of loops whose iterations work on elements of their own.

    for i in range(1, n):                          for i in tapec_runtime.independent(range(1, n)):
        x_bar[i] += y[i] * t[i - 1]        ->          x_bar[i] += y[i] * t[i - 1]
        y_bar[i] = x[i] * t[i - 1]                     y_bar[i] = x[i] * t[i - 1]

Without that, LLVM compares the ranges of all arrays before each run of such a loop, which takes as long as a short row
itself, and does not vectorise a loop that would need too many comparisons; see `tapec_runtime.independence`.

Needs a proof: of the arrays that an iteration stores into, nothing but elements at a subscript that is another one in
each
iteration.  A sum in an element that several iterations add to is a refusal, other than in `analyses.iterations`; sums
            in variables are
not, since those are no memory.  Iterations must go along rows: LLVM gathers other elements as soon as it may.  Loops
that need few comparisons stay as they are.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Access, Iterations
from tapec.optimise import costs
from tapec.optimise.vectors.lane_gain import is_short
from tapec.optimise.vectors.unsigned_subscripts import counts, stays
from tapec.remarks import remark
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
    Stmt,
    literal_range,
    map_blocks,
    walk,
    writes,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array


def mark_independent_loops(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops marked; see the module."""
    worker = _Independent(function)
    return replace(function, body=worker.block(function.body, costs.OWN_COMPARISONS))


class _Independent:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)

    def block(self, block: Block, few: int) -> Block:
        return tuple(self.statement(stmt, few) for stmt in block)

    def statement(self, stmt: Stmt, few: int) -> Stmt:
        if not isinstance(stmt, For) or any(isinstance(inner, For | Loop) for inner in walk(stmt.body)):
            inside = costs.OWN_COMPARISONS_AGAIN if isinstance(stmt, For | Loop) else few
            return map_blocks(stmt, lambda block: self.block(block, inside))
        if stmt.parallel or stmt.slots is not None or is_short(stmt) or not self.iterations.free_of_effects(stmt.body):
            return stmt
        if any(is_memory(self.iterations.types.get(name)) for inner in walk(stmt.body) for name in writes(inner)):
            return stmt
        if not self.along_rows(stmt):
            return stmt
        groups = self.iterations.groups(stmt.body)
        # a loop of a known number of iterations is written out otherwise
        needed = literal_range(stmt) is not None or comparisons(groups, stmt, self.iterations) > few
        if not needed or not all(self.disjoint(stmt, group) for group in groups):
            return stmt
        why = "runs without looking for overlaps of its arrays: no iteration touches what another one stores"
        remark(stmt.span, "independence_hints", why)
        return replace(stmt, independent=True)

    def disjoint(self, loop: For, group: list[Access]) -> bool:
        """Whether no iteration of a loop touches an element that another one stores, of arrays that may share
        memory.
        """
        if all(access.kind == "load" for access in group) or self.iterations.elements_disjoint(loop, group):
            return True
        if any(access.index is None for access in group):
            return False
        if len({access.array for access in group}) > 1:
            return self.in_step(loop, group)
        axes = zip(*(access.index for access in group if access.index is not None), strict=True)
        return any(len(set(subs)) == 1 and self.another(subs[0], loop) for subs in axes)

    def in_step(self, loop: For, group: list[Access]) -> bool:
        """Whether an iteration touches one place in each row, of arrays whose rows are the same ones.

        They are views of what has been allocated with rows of a known length, that leave the rows whole.
        """
        lengths = {self.row_length(access.array) for access in group}
        last = {access.index[-1] for access in group if access.index}
        return len(lengths) == 1 and None not in lengths and len(last) == 1 and self.another(last.pop(), loop)

    def row_length(self, array: str) -> int | None:
        """The length of the rows that an array has in memory, if that is known, and all of them are whole."""
        if array in self.iterations.scopes.params:
            return None
        match self.iterations.scopes.defs.get(array):
            case [Assign(value=Name(id=other))]:
                return self.row_length(other)
            case [Assign(value=Op(fn="empty" | "zeros" | "reshape" as fn, args=(base, *extents)))]:
                length = extents[-1].value if extents and isinstance(extents[-1], Const) else None
                if not isinstance(length, int) or length < 1:
                    return None
                if fn == "reshape":
                    return length if isinstance(base, Name) and self.row_length(base.id) == length else None
                return length
            case [Assign(value=Op(fn="view", args=(Name(id=base), *subs)))] if Const(None) not in subs:
                whole = isinstance(kind := self.iterations.types[base], Array) and len(subs) < kind.ndim
                return self.row_length(base) if whole else None
        return None

    def another(self, sub: Expr, loop: For) -> bool:
        """Whether a subscript is another element in each iteration: as an unsigned number, or one that is never
        negative.
        """
        number = self.iterations.signed(sub)
        return counts(number, loop, self.iterations) and (
            number != sub or (isinstance(sub, Name) and self.iterations.never_negative(sub))
        )

    def along_rows(self, loop: For) -> bool:
        """Whether iterations go along rows, by subscripts that are not negative: LLVM would gather others."""
        accesses = list(self.iterations.accesses(loop.body))
        apart: list[Access] = []
        for access in accesses:
            *outer, last = access.index or (Const(0),)
            if not all(stays(sub, loop, self.iterations) for sub in outer):
                return False
            if stays(last, loop, self.iterations):
                continue
            along = self.another(last, loop)
            if not along and not self.interleaved(access, accesses, loop):
                return False
            if not along or loop.step not in (Const(1), Const(-1)):
                apart.append(access)
        return self.in_order(accesses, apart)

    def in_order(self, accesses: list[Access], apart: list[Access]) -> bool:
        """Whether neighbours, which LLVM may load before and store after what stands between, are touched in any order.

        It asks what iterations do to each other, which it is told is nothing, and not what an iteration does to itself.
        """
        for place, later in enumerate(accesses):
            for earlier in accesses[:place]:
                if earlier.kind == "load" or not self.iterations.may_share(earlier.array, later.array):
                    continue
                if not any(one is other for one in (earlier, later) for other in apart):
                    continue
                if earlier.array != later.array or earlier.index is None or later.index is None:
                    return False
                if not self.iterations.different(earlier.index, later.index, later.stmt):
                    return False
        return True

    def interleaved(self, access: Access, accesses: list[Access], loop: For) -> bool:
        """Whether an iteration comes to all of a few neighbours, `y[3 * i]` to `y[3 * i + 2]`, or loads several of
        them.

        LLVM loads and stores such neighbours of several iterations as vectors, and takes those apart.
        """
        own = self.stride(access, loop)
        if own is None:
            return False
        factor, number = own.factor(loop.var), own.number
        like = {"load"} if access.kind == "load" else {"add", "store"}
        found = set[int]()
        for other in accesses:
            place = self.stride(other, loop) if other.kind in like and other.array == access.array else None
            if place is not None and place.plus(own, -1).terms == () and _leading(other) == _leading(access):
                found.add((place.number - number) % factor)
        return len(found) == factor or (access.kind == "load" and len(found) > 1)

    def stride(self, access: Access, loop: For) -> Sum | None:
        """The last subscript of an element, if that is a few times a loop's variable and what stays in the loop."""
        integers = self.iterations.dependence.integers
        (here,) = self.iterations.scopes.body[loop.key]
        sum_ = integers.sum(access.index[-1]) if access.index else None
        if sum_ is None or not 2 <= sum_.factor(loop.var) <= costs.NEIGHBOURS:
            return None
        if not integers.never_negative(sum_, here):
            return None
        rest = sum_.plus(Sum.of(loop.var), -sum_.factor(loop.var))
        return sum_ if all(stays(Name(name), loop, self.iterations) for name in rest.names()) else None


def _leading(access: Access) -> tuple[Expr, ...]:
    return (access.index or ())[:-1]


def comparisons(groups: list[list[Access]], loop: For, iterations: Iterations) -> int:
    """How many ranges of memory LLVM would compare with each other; elements along a loop are one range."""
    read: set[tuple[str, tuple[Expr, ...]]] = set()
    written: set[tuple[str, tuple[Expr, ...]]] = set()
    for access in (access for group in groups for access in group):
        along = [iterations.subscript(sub) for sub in access.index or ()]
        across = tuple(
            sub
            for sub, affine in zip(access.index or (), along, strict=True)
            if affine is None or affine.base != loop.var
        )
        (read if access.kind == "load" else written).add((access.array, across))
    return len(written) * (len(written) - 1) // 2 + len(written) * len(read - written)
