"""Give each neighbour that a stencil's adjoint adds to a loop of its own.

The adjoint of a stencil scatters: an iteration adds to elements that the next iteration adds to again, and so
the loop cannot run on vectors.  An addition that nothing in the loop waits for can be made
afterwards, from a buffer.

    for i in range(1, n - 1):                 for i in range(1, n - 1):
        s = c[i] * y_bar[i]                       s_kept[i] = c[i] * y_bar[i]
        x_bar[i - 1] += s           ->        for i in range(1, n - 1):
        x_bar[i + 1] += s                         x_bar[i - 1] += s_kept[i]
                                              for i in range(1, n - 1):
                                                  x_bar[i + 1] += s_kept[i]

Elements that are counted from the other end (`y[i] + y[n - 1 - i]`) are neighbours, too.

Refused where a later iteration, or a later statement, reads or overwrites what the addition changes.
Additions to several neighbours share a loop where `gathered` can write one.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Access
from tapec.optimise.loops.loop_preheader import Around, LoopPass
from tapec.optimise.loops.scatter_to_gather import (
    Addition,
    Gathering,
    Index,
    moved,
    padding,
    placed,
    reach,
    standing,
    straight,
    together,
)
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Const,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array


def distribute(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with scattered additions in loops of their own; see the module."""
    return _Distribute(function).rewritten()


def distribute_by_iteration(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The same with buffers for each iteration of a loop whose iterations share nothing, so that it can run on
    threads.
    """
    return _Distribute(function, by_iteration=True).rewritten()


class _Distribute(LoopPass):
    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        """The loop without the additions that can wait, and the loops that make them."""
        moved = self.movable(loop) if straight(loop.body) else {}
        extent = extent_of(self.iterations, loop, around[0]) if moved else None
        if extent is None:
            return None
        waiting = [
            Addition(stmt, moved[stmt.key]) for stmt in loop.body if isinstance(stmt, Store) and stmt.key in moved
        ]
        span = standing(self.iterations, loop, around[0])
        groups = [] if span is None else together(waiting)
        pad = max((padding(self.iterations, loop, reach(group)) for group in groups), default=0)
        size = self.outside.size(extent, pad + max(map(reach, groups), default=0), loop)
        gathered = [one for group in groups for one in group]
        buffers: dict[Atom, str] = {}
        kept: list[Stmt] = []
        for stmt in loop.body:
            if stmt.key not in moved:
                kept.append(stmt)
                continue
            assert isinstance(stmt, Store)
            if stmt.value not in buffers:
                buffers[stmt.value] = self.outside.buffer(stmt, "zeros" if groups else "empty", (size,))
                kept += self.keep(buffers[stmt.value], loop, stmt, pad)
            why = "an addition to `{0}` waits, so that the iterations are independent: a loop of its own makes it"
            remark(loop.span, "loop_distribution", "split", why, Named(stmt.array))
        after: list[Stmt] = [
            self.addition(loop, one, buffers[one.stmt.value], pad) for one in waiting if one not in gathered
        ]
        if span is not None:
            gathering = Gathering(self.iterations, self.outside)
            after += [gathering.loop(loop, span, group, buffers, pad) for group in groups]
        return [replace(loop, body=tuple(kept)), *after]

    # which additions can wait

    def movable(self, loop: For) -> dict[int, Index]:
        """The additions (by id) that are made after the loop, with their subscripts."""
        iterations = self.iterations
        counts = isinstance(loop.step, Const) and loop.step.value in (1, -1)
        if (
            not counts
            or not iterations.free_of_effects(loop.body)
            or iterations.dependence.minimum(Affine(loop.var, 0)) < 0
        ):
            return {}
        inside = written_in(loop.body)
        found: dict[int, Index] = {}
        for group in iterations.groups(loop.body):
            if len({access.array for access in group}) == 1 and len({access.index for access in group}) > 1:
                waiting = self.of_group(loop, group, inside)
                mirrored = any(index.back for index in waiting.values())
                if not mirrored or not iterations.elements_disjoint(loop, group):
                    found |= waiting
        return found

    def of_group(self, loop: For, group: list[Access], inside: set[str]) -> dict[int, Index]:
        """The additions to one array that can wait; one of several neighbours stays."""
        indexes = [self.subscripts(loop, access, inside) for access in group]
        if any(index is None for index in indexes):
            return {}
        known = [index for index in indexes if index is not None]
        found: dict[int, Index] = {}
        stays = [index for index, access in zip(known, group, strict=True) if access.kind != "add"]
        # the element that has the loop's own number stays if it can
        for place in sorted(range(len(group)), key=lambda place: (known[place].back, abs(known[place].offset), place)):
            index, access = known[place], group[place]
            if access.kind != "add" or index in stays:
                continue
            beside = any(map(index.beside, stays))
            fixed = (
                self.can_wait(loop, index, other, n < place)
                for n, (other, one) in enumerate(zip(known, group, strict=True))
                if one.kind != "add"
            )
            if beside and all(fixed):
                found[access.stmt.key] = index
            else:
                stays.append(index)
        return found

    def subscripts(self, loop: For, access: Access, inside: set[str]) -> Index | None:
        """Subscripts of which the last counts with the loop and the others stand still; none may count from the end."""
        if access.array in inside or not access.index:
            return None  # a view, another one in each iteration
        leading: list[Affine] = []
        for sub in access.index[:-1]:
            one = self.iterations.subscript(sub)
            if one is None or one.base in inside or one.base == loop.var:
                return None
            leading.append(one)
        integers = self.iterations.dependence.integers
        last = integers.sum(access.index[-1])
        if last is None or not integers.never_negative(last, self.iterations.scopes.of.get(access.stmt.key)):
            return None
        back = last.factor(loop.var) == -1
        row = last.plus(Sum.of(loop.var), 1 if back else -1).plus(Sum(number=last.number), -1)
        return None if row.names() & {*inside, loop.var} else Index(tuple(leading), row, last.number, back)

    def can_wait(self, loop: For, added: Index, other: Index, earlier: bool) -> bool:
        """Whether no later run of another access meets the element that an addition changes."""
        direction = 1 if loop.step == Const(1) else -1
        for one, two in zip(added.leading, other.leading, strict=True):
            apart = one.base == two.base and one.offset != two.offset
            if apart and min(map(self.iterations.dependence.minimum, (one, two))) >= 0:
                return True
        if added.row == other.row and not added.back and not other.back:
            # the other access comes to the element so many iterations later
            ahead = (added.offset - other.offset) * direction
            return ahead < 0 or (ahead == 0 and earlier)
        first, second = (one.at(loop.var) for one in (added, other))
        integers = self.iterations.dependence.integers
        (here,) = self.iterations.scopes.body[loop.key]
        return integers.different(first, second, here) and integers.disjoint(first, second, loop, later=True)

    # writing them

    def keep(self, buffer: str, loop: For, stmt: Store, pad: int) -> list[Stmt]:
        """Keep the value that is added, `pad` places behind the iteration's number."""
        out: list[Stmt] = []
        place = moved(self.fresh, Name(loop.var), pad, stmt, out)
        return [*out, Store(buffer, (place,), stmt.value, False, stmt.span)]

    def addition(self, loop: For, one: Addition, buffer: str, pad: int) -> For:
        """The loop that makes one addition."""
        stmt = one.stmt
        type_ = self.fresh.types[stmt.array]
        assert isinstance(type_, Array)
        var = self.fresh(loop.var, INT64)
        body: list[Stmt] = []
        place = moved(self.fresh, Name(var), pad, stmt, body)
        value = self.fresh("t", type_.element)
        body.append(Assign(value, Op("load", (Name(buffer), place)), stmt.span))
        subs = placed(self.fresh, one.index, Name(var), stmt, body)
        body.append(Store(stmt.array, subs, Name(value), True, stmt.span))
        return replace(loop, var=var, body=tuple(body))
