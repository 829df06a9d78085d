"""Run upward what the reverse sweep hands down from element to element of one array.

A stencil that overwrites its array keeps the neighbour's old value in a variable.  Its adjoint counts down, hands a
number on to the next iteration, and adds to the element of the one before:

    c = 0.0                                       if lo < n:
    for i in range(n - 1, lo - 1, -1):                t = x_bar[lo]
        t = x_bar[i]                                  first = k * t
        x_bar[i] = t + c               ->         before = 0.0
        s = k * t                                 for i in range(lo, n - 1):
        x_bar[i + 1] += s                             t = x_bar[i + 1]
        c = s                                         c = k * t
                                                      ...
                                                      x_bar[i] = t + c + before
                                                      before = s
                                                  ...

What is handed on follows from elements that are still as they were when the loop counts upward, and so it is computed
again from those; what is added to the next element waits in a variable.  The last iteration, for which nothing was
handed on, stands behind the loop.  Each element is read and written once, and LLVM runs the loop on vectors: what the
iteration before has left is the same vector shifted by one.

Where nothing but such an addition ties the iterations, nothing is computed again, and what the last iteration has left
is added behind the loop:

    for i in range(n - 1, lo - 1, -1):            for i in range(lo, n):
        t = x_bar[i]                                  t = x_bar[i]
        x_bar[i + 1] += k * t         ->              x_bar[i] = q * t + before
        x_bar[i] = q * t                              before = k * t
                                                  x_bar[n] += before

Refused where what is handed on follows from anything else that the loop changes, or takes more than a few products.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

from tapec.analyses.iterations import Access, Iterations
from tapec.optimise import costs
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
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
    names_in,
    reads,
    writes,
    written_in,
    zero_of,
)
from tapec.syntax.renaming import renamed, replaced
from tapec.syntax.types import BOOL, INT64, Array, Scalar

# of what may be computed twice
_CHEAP = frozenset({"+", "-", "*", "neg", "load"})


def reverse_recurrences(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops turned around; see the module.  Afterwards a name may have several values."""
    return _Upward(function).rewritten()


@dataclass(frozen=True)
class _Own:
    """What an iteration does to a row: it stores its own element, and adds to that of the iteration before, or does
    not.

    ahead  where that is along which axis: the iteration's number plus how much
    """

    store: Store
    added: Store | None
    ahead: tuple[int, int]


@dataclass(frozen=True)
class _Handed:
    """What an iteration hands down.

    carried  the variable that the next iteration reads
    given    the statement that sets it for that
    slice    the statements that it follows from
    """

    carried: str
    given: Assign
    slice: tuple[Assign, ...]


class _Upward(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        found = self.shared(stmt) if isinstance(stmt, For) else None
        if found is None:
            return (map_blocks(stmt, self.block),)
        assert isinstance(stmt, For)
        owns, handed = found
        why = "what an iteration hands to the next one follows from elements of `{0}` that are still as they were"
        if handed is None:
            why = "an iteration adds to the next element of `{0}` only"
        array = Named(owns[0].store.array)
        remark(stmt.span, "upward_recurrences", "the reverse sweep counts upward", why, array)
        return self.summed(stmt, owns) if handed is None else self.turned(stmt, owns, handed)

    # whether a loop can be turned around

    def shared(self, loop: For) -> tuple[tuple[_Own, ...], _Handed | None] | None:
        """What iterations of a loop share, if it can count upward instead: elements, and a variable or none."""
        plain = loop.step == Const(-1) and not loop.parallel and not loop.independent and loop.slots is None
        bounded = self.iterations.fixed(loop.start) and self.iterations.fixed(loop.stop)
        if not plain or not bounded or not all(isinstance(stmt, Assign | Store) for stmt in loop.body):
            return None
        carried = self.carried(loop) if self.iterations.free_of_effects(loop.body) else None
        found = None if carried is None else self.elements(loop)
        if carried is None or found is None:
            return None
        owns, changed = found
        if not carried:
            return (owns, None) if any(own.added is not None for own in owns) else None
        handed = self.handed(loop, carried, changed)
        return None if handed is None else (owns, handed)

    def handed(self, loop: For, carried: str, changed: set[str]) -> _Handed | None:
        """What iterations hand down in a variable, if it can be computed from what is as it was before the loop."""
        given, *others = (stmt for stmt in loop.body if isinstance(stmt, Assign) and stmt.target == carried)
        place = next(k for k, stmt in enumerate(loop.body) if stmt is given)
        if others or any(carried in reads(stmt) for stmt in loop.body[place:]):
            return None
        needed = self.follows_from(loop, given, carried, changed)
        return None if needed is None else _Handed(carried, given, needed)

    def carried(self, loop: For) -> str | None:
        """The one variable that is handed on and is no sum, "" if there is none; None if others leave the loop."""
        inside = {stmt.key for stmt in (loop, *loop.body)}
        scopes = self.iterations.scopes
        kept = {name for name in written_in(loop.body) if any(stmt.key not in inside for stmt in scopes.defs[name])}
        handed = []
        for name in sorted(kept):
            type_ = self.iterations.types[name]
            if not isinstance(type_, Scalar) or self.iterations.sum_of(name, inside) is None:
                handed.append(name)
        left = written_in(loop.body) - kept
        if len(handed) > 1 or self.iterations.left_over(loop, left):
            return None
        if not handed:
            return ""
        return handed[0] if isinstance(self.iterations.types[handed[0]], Scalar) else None

    def elements(self, loop: For) -> tuple[tuple[_Own, ...], set[str]] | None:
        """What an iteration does to arrays that iterations share, and the other arrays that it changes.

        None if iterations meet in anything else.
        """
        changed: set[str] = set()
        owns: list[_Own] = []
        groups = self.iterations.groups(loop.body)
        written = [group for group in groups if any(access.kind != "load" for access in group)]
        for group in written:
            own = self.own_elements(loop, group)
            if own is not None:
                owns += own
            elif self.iterations.elements_disjoint(loop, group):
                changed.update(access.array for access in group)
            else:
                return None
        pairs = len(written) * (len(written) - 1) // 2 + len(written) * (len(groups) - len(written))
        return (tuple(owns), changed) if owns and pairs <= costs.LLVM_COMPARISONS else None

    def own_elements(self, loop: For, group: list[Access]) -> list[_Own] | None:
        """What an iteration does to an array of which it reads and stores an element of some rows, and adds to the
        next.
        """
        type_ = self.iterations.types[group[0].array]
        if len({access.array for access in group}) > 1 or not isinstance(type_, Array) or not type_.is_float:
            return None
        axes = {self.axis(loop, access) for access in group}
        axis = axes.pop()
        if axes or axis is None:
            return None
        rows: dict[tuple[Expr, ...], list[Access]] = {}
        for access in group:
            assert access.index is not None
            rows.setdefault((*access.index[:axis], *access.index[axis + 1 :]), []).append(access)
        inside = written_in((loop,))
        if not inside.isdisjoint((group[0].array, *(_name(sub) for row in rows for sub in row))):
            return None
        if not all(_disjoint(one, other) for one, other in combinations(rows, 2)):
            return None
        owns = [self.own_element(axis, accesses, type_.element) for accesses in rows.values()]
        found = [own for own in owns if own is not None]
        return found if len(found) == len(owns) else None

    def axis(self, loop: For, access: Access) -> int | None:
        """The last axis along which an access follows the loop's variable, and may not count from the end."""
        for axis, at in reversed(list(enumerate(access.index or ()))):
            sub = self.iterations.subscript(at)
            if sub is not None and sub.base == loop.var and self.iterations.never_negative(at, access.stmt):
                return axis
        return None

    def own_element(self, axis: int, row: list[Access], element: Scalar) -> _Own | None:
        """What an iteration does to a row of which it reads and stores one element, and adds to the next one at
        most.
        """
        at: list[int] = []
        for access in row:
            assert access.index is not None
            sub = self.iterations.subscript(access.index[axis])
            assert sub is not None
            at.append(sub.offset)
        here = min(at)
        mine = [access for access, offset in zip(row, at, strict=True) if offset == here]
        ahead = [access for access, offset in zip(row, at, strict=True) if offset != here]
        stores = [access.stmt for access in mine if access.kind != "load"]
        if len(stores) != 1 or len(mine) < 2 or stores[0] is not mine[-1].stmt:
            return None
        if len(ahead) > 1 or any(access.kind != "add" for access in ahead) or max(at) > here + 1:
            return None
        own, added = stores[0], ahead[0].stmt if ahead else None
        assert isinstance(own, Store) and (added is None or isinstance(added, Store))
        values = {self.iterations.types.get(_name(stmt.value)) for stmt in (own, added) if stmt is not None}
        return _Own(own, added, (axis, here + 1)) if values == {element} else None

    def follows_from(self, loop: For, given: Assign, carried: str, changed: set[str]) -> tuple[Assign, ...] | None:
        """The statements from which it follows what is handed on, if they are few and cheap, and can be run again."""
        made = {stmt.target: stmt for stmt in loop.body if isinstance(stmt, Assign)}
        wanted, needed = [*names_in(given.value)], set()
        while wanted:
            name = wanted.pop()
            if name == carried or (name in made and not self.iterations.fixed(Name(name))):
                return None
            if name in made and name not in needed:
                needed.add(name)
                wanted += names_in(made[name].value)
        found = tuple(stmt for stmt in loop.body if isinstance(stmt, Assign) and stmt.target in needed)
        for stmt in found:
            if not isinstance(stmt.value, Op) or stmt.value.fn not in _CHEAP:
                return None
            if stmt.value.fn == "load" and not changed.isdisjoint(names_in(stmt.value.args[0])):
                return None
        return found if len(found) <= costs.RECOMPUTED else None

    # turning it around

    def turned(self, loop: For, owns: tuple[_Own, ...], handed: _Handed) -> list[Stmt]:
        """What takes the place of a loop whose iterations hand down a variable."""
        span, carried = loop.span, handed.carried
        scalar = self.iterations.types[carried]
        assert isinstance(scalar, Scalar)
        out: list[Stmt] = []
        begun = self.set(carried, scalar, Name(carried), loop, out)
        low, some = self.lowest(loop, out)
        before, first = self.run_again(handed, loop, low)
        out.append(If(some, (*before, Assign(carried, first, span)), (), span))
        last = [stmt for stmt in loop.body if stmt is not handed.given]
        body, waiting = self.with_sums(last, owns, loop, out)
        for own, sum_ in waiting:
            last = self.with_waiting(last, own.store, sum_)
        ahead: list[Stmt] = []
        next_ = self.set("t", INT64, Op("+", (Name(loop.var), Const(1))), loop, ahead)
        again, value = self.run_again(handed, loop, next_)
        iteration = (*ahead, *again, *replaced(tuple(body), {carried: value}))
        out.append(replace(loop, start=low, stop=loop.start, step=Const(1), body=iteration))
        names = self.fresh.anew(self.local(loop, last))
        out.append(If(some, renamed(replaced(tuple(last), {carried: begun, loop.var: loop.start}), names), (), span))
        return out

    def summed(self, loop: For, owns: tuple[_Own, ...]) -> list[Stmt]:
        """What takes the place of a loop whose iterations only add to the elements of those before."""
        out: list[Stmt] = []
        low, some = self.lowest(loop, out)
        body, waiting = self.with_sums(list(loop.body), owns, loop, out)
        stop = self.set("t", INT64, Op("+", (loop.start, Const(1))), loop, out)
        out.append(replace(loop, start=low, stop=stop, step=Const(1), body=tuple(body)))
        behind: list[Stmt] = []
        for own, sum_ in waiting:
            assert own.added is not None
            axis, more = own.ahead
            at = self.set("t", INT64, Op("+", (loop.start, Const(more))), loop, behind)
            index = (*own.added.index[:axis], at, *own.added.index[axis + 1 :])
            behind.append(replace(own.added, index=index, value=sum_))
        out.append(If(some, tuple(behind), (), loop.span))
        return out

    def lowest(self, loop: For, out: list[Stmt]) -> tuple[Name, Name]:
        """The number of the first iteration upward, and whether there is one."""
        low = self.set("t", INT64, Op("+", (loop.stop, Const(1))), loop, out)
        return low, self.set("t", BOOL, Op("<=", (low, loop.start)), loop, out)

    def with_sums(
        self, body: list[Stmt], owns: tuple[_Own, ...], loop: For, out: list[Stmt]
    ) -> tuple[list[Stmt], list[tuple[_Own, Name]]]:
        """An iteration whose additions to next elements wait in variables, which begin at zero, and those variables."""
        body = [stmt for stmt in body if all(stmt is not own.added for own in owns)]
        waiting = []
        for own in owns:
            if own.added is not None:
                type_ = self.iterations.types[own.store.array]
                assert isinstance(type_, Array)
                sum_ = self.set(f"{own.store.array}_carried", type_.element, zero_of(type_.element), loop, out)
                body = [*self.with_waiting(body, own.store, sum_), Assign(sum_.id, own.added.value, loop.span)]
                waiting.append((own, sum_))
        return body, waiting

    def set(self, base: str, type_: Scalar, value: Expr, loop: For, out: list[Stmt]) -> Name:
        """A new name for a value, after a statement that sets it."""
        name = self.fresh(base, type_)
        out.append(Assign(name, value, loop.span))
        return Name(name)

    def run_again(self, handed: _Handed, loop: For, number: Atom) -> tuple[Block, Atom]:
        """Statements that compute what the iteration of a number hands on, and what that is."""
        names = self.fresh.anew(stmt.target for stmt in handed.slice)
        result = self.fresh(handed.carried, self.iterations.types[handed.carried])
        body = (*handed.slice, replace(handed.given, target=result))
        return renamed(replaced(body, {loop.var: number}), names), Name(result)

    def with_waiting(self, body: list[Stmt], own: Store, waiting: Name) -> list[Stmt]:
        """An iteration that adds to its own element what the iteration before has left for it."""
        out: list[Stmt] = []
        for stmt in body:
            if stmt is own:
                type_ = self.fresh.types[own.array]
                assert isinstance(type_, Array)
                both = self.fresh("t", type_.element)
                out.append(Assign(both, Op("+", (own.value, waiting)), own.span))
                stmt = replace(own, value=Name(both))
            out.append(stmt)
        return out

    def local(self, loop: For, body: list[Stmt]) -> list[str]:
        """The names that belong to an iteration alone."""
        inside = {stmt.key for stmt in loop.body}
        defs = self.iterations.scopes.defs
        names = dict.fromkeys(name for stmt in body for name in writes(stmt))
        return [name for name in names if all(stmt.key in inside for stmt in defs.get(name, ()))]


def _disjoint(one: tuple[Expr, ...], other: tuple[Expr, ...]) -> bool:
    """Whether two rows differ in a number."""
    pairs = zip(one, other, strict=True)
    return any(isinstance(a, Const) and isinstance(b, Const) and a.value != b.value for a, b in pairs)


def _name(expr: Expr) -> str:
    return expr.id if isinstance(expr, Name) else ""
