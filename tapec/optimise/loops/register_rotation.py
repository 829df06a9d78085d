"""Carry to the next iterations what an iteration adds to their elements.

    for i in range(n - 1):                    x_carried = 0.0
        x_bar[i] += s                         for i in range(n - 1):
        x_bar[i + 1] += t          ->             x_bar[i] += s + x_carried
                                                  x_carried = t
                                              if 0 < n - 1:
                                                  x_bar[n - 1] += x_carried

Each element is read and written once, and the loop runs on vectors: what the iteration before has left is the same
vector shifted by one.  Of what is added two elements further on, as by a second difference, two iterations know; four
at most. Where nothing but the additions meets the array, their order does not matter.  Not in loops whose iterations
can run in any order, which may run in lanes or on threads: a loop inside that waits for its iteration before could not.

`rotate_rows` does the same along the rows of matrices, for what `planes` has left: there, iterations of the loop
around that add to each other's rows (`x_bar[i - 1, j]`, `x_bar[i + 1, j]`) count as such that wait.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tapec.analyses.iterations import Access, Iterations
from tapec.optimise import costs
from tapec.optimise.loops.loop_reversal import counts_upward
from tapec.optimise.loops.scatter_to_gather import moved, standing_still
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    written_in,
    zero_of,
)
from tapec.syntax.types import BOOL, Array


def rotate_additions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such additions carried; see the module.  Afterwards a name may have several values."""
    worker = _Carried(function, in_rows=False)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


def rotate_rows(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The same for additions to rows of matrices."""
    worker = _Carried(function, in_rows=True)
    return replace(function, body=worker.block(function.body), types=worker.fresh.types)


class _Carried:
    def __init__(self, function: Function, in_rows: bool) -> None:
        self.in_rows = in_rows
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)

    def block(self, block: Block, inner: bool = False) -> Block:
        """A block's statements, with such loops among them, and in loops whose iterations wait for each other.

        inner  whether the block is in a loop: there, only loops without ways are taken, which may run on vectors
        """
        out: list[Stmt] = []
        within = partial(self.block, inner=True)
        for stmt in block:
            waits = isinstance(stmt, Loop) or (isinstance(stmt, For) and self.waits(stmt))
            made = map_blocks(stmt, within) if waits or (inner and isinstance(stmt, If)) else stmt
            straight = isinstance(stmt, For) and all(isinstance(one, Assign | Store) for one in stmt.body)
            if isinstance(stmt, For) and made == stmt and (straight or not inner):
                out += self.loop(stmt)
            else:
                out.append(made)
        return tuple(out)

    def waits(self, loop: For) -> bool:
        """Whether iterations wait for each other, or add to rows of each other."""
        if not self.iterations.is_parallel(loop):
            return True
        if not self.in_rows or loop.parallel:
            return False
        rows: dict[str, set[int]] = {}
        for access in self.iterations.accesses(loop.body):
            leading = access.index[:-1] if access.kind == "add" and access.index else ()
            for one in map(self.iterations.subscript, leading):
                if one is not None and one.base == loop.var:
                    rows.setdefault(access.array, set()).add(one.offset)
        return any(len(offsets) > 1 for offsets in rows.values())

    def loop(self, loop: For) -> list[Stmt]:
        """What takes a loop's place."""
        given = loop
        stands = self.iterations.fixed(loop.start) and self.iterations.fixed(loop.stop)
        if loop.step not in (Const(1), Const(-1)) or loop.parallel or not stands:
            return [loop]
        if not self.iterations.free_of_effects(loop.body):
            return [loop]
        before: list[Stmt] = []
        after: list[Stmt] = []
        if loop.step == Const(-1) and self.iterations.is_parallel(loop):
            loop = counts_upward(loop, self.iterations, self.fresh, before)
        for group in self.iterations.groups(loop.body):
            for additions in self.additions(loop, group):
                loop = self.carry(loop, additions, before, after)
        return [*before, loop, *after] if after else [given]

    def additions(self, loop: For, group: list[Access]) -> list[dict[int, Store]]:
        """Of each row, the additions: by how many iterations later is the last one to add to each, beginning with 0.

        None where anything else in the loop meets their memory.
        """
        stores = [one for one in loop.body if isinstance(one, Store) and any(access.stmt is one for access in group)]
        if not 2 <= len(group) == len(stores) or not all(one.accumulate for one in stores):
            return []
        (array, *others) = {one.array for one in stores}
        type_ = self.iterations.types[array]
        inside = written_in(loop.body)
        if others or array in inside or not isinstance(type_, Array) or not type_.is_float:
            return []
        if (type_.ndim > 1) != self.in_rows:
            return []
        rows: dict[tuple[object, ...], list[Store]] = {}
        for one in stores:
            leading = tuple(map(self.iterations.subscript, one.index[:-1]))
            if any(part is None or part.base in {*inside, loop.var} for part in leading):
                return []
            rows.setdefault(leading, []).append(one)
        found = [self.of_row(loop, row, type_) for row in rows.values() if len(row) > 1]
        return [one for one in found if one is not None]

    def of_row(self, loop: For, stores: list[Store], type_: Array) -> dict[int, Store] | None:
        """The additions to elements of one row; None if one cannot be carried."""
        values = [self.iterations.types[one.value.id] for one in stores if isinstance(one.value, Name)]
        if values != [type_.element] * len(stores) or not all(self.iterations.fixed(one.value) for one in stores):
            return None
        places = [self.iterations.subscript(one.index[-1]) for one in stores]
        sign = 1 if loop.step == Const(1) else -1
        offsets = [sign * one.offset for one in places if one is not None and one.base == loop.var]
        later = [offset - min(offsets, default=0) for offset in offsets]
        if len(set(later)) != len(stores) or max(later) > costs.ROTATED_ELEMENTS:
            return None
        return dict(sorted(zip(later, stores, strict=True), key=lambda pair: pair[0]))

    def carry(self, loop: For, additions: dict[int, Store], before: list[Stmt], after: list[Stmt]) -> For:
        """The loop, which adds to an element what the iterations before have left for it, with what stands around
        it.
        """
        last, first = additions[0], additions[max(additions)]
        type_ = self.iterations.types[last.array]
        place = self.iterations.subscript(last.index[-1])
        assert isinstance(type_, Array) and place is not None
        step = 1 if loop.step == Const(1) else -1
        # for the element of the next iteration, and of the one after it
        names = [self.fresh(f"{last.array}_carried", type_.element) for _ in range(max(additions))]
        both = self.fresh("t", type_.element)
        before += [Assign(name, zero_of(type_.element), first.span) for name in names]
        body = [stmt for stmt in loop.body if all(stmt is not one for one in additions.values())]
        # what is left is computed before anything that reads what was left, see `analyses.shifted`
        left: list[Stmt] = []
        for later, name in reversed(list(enumerate(names, 1))):
            value: Atom = Name(names[later]) if later < len(names) else additions[later].value
            if later in additions and later < len(names):
                sum_ = self.fresh("t", type_.element)
                body.append(Assign(sum_, Op("+", (additions[later].value, value)), additions[later].span))
                value = Name(sum_)
            left.insert(0, Assign(name, value, (additions.get(later) or first).span))
        body.append(Assign(both, Op("+", (last.value, Name(names[0]))), last.span))
        body += [replace(last, value=Name(both)), *left]
        runs = self.fresh("t", BOOL)
        ordered = (loop.start, loop.stop) if step == 1 else (loop.stop, loop.start)
        rest: list[Stmt] = []
        # what computes these subscripts may be in the loop
        rows = [one for part in last.index[:-1] if (one := self.iterations.subscript(part)) is not None]
        leading = [standing_still(self.fresh, one, last, rest) for one in rows]
        for later, name in enumerate(names, 1):
            index = moved(self.fresh, loop.stop, place.offset + step * (later - 1), last, rest)
            rest.append(Store(last.array, (*leading, index), Name(name), True, (additions.get(later) or first).span))
        after += [Assign(runs, Op("<", ordered), loop.span), If(Name(runs), tuple(rest), (), loop.span)]
        why = "an addition to the next iteration's element of `{0}` is carried to that iteration"
        remark(loop.span, "register_rotation", "carried over", why, Named(last.array))
        return replace(loop, body=tuple(body))
