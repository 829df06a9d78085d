"""Keep which iteration took a branch last, where the reverse sweep asks for nothing else.

    for i in range(n):                          last = -1
        taken = x[i] > top                      for i in range(n):
        taken_store[t, i] = taken                   taken = x[i] > top
        if taken:                                   last = i if taken else last
            top = x[i]                              if taken:
                                      ->                top = x[i]
                                                last_store[t] = last
    ...                                         ...
    for i in range(n - 1, -1, -1):              i = last_store[t]
        if taken_store[t, i]:                   some = i >= 0
            x_bar[i] += top_bar                 if some:
            break                                   x_bar[i] += top_bar

A number per maximum instead of a truth value per element, and nobody searches for it.

Needs both loops to make the same iterations, the second one backwards and for the first place alone that was taken.  No
record is needed where both are in one iteration of the loops around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tapec.analyses.iterations import Iterations
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    changed,
    map_blocks,
    may_leave,
    reads,
    walk,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import BOOL, INT64, Array


def keep_last_branch(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function without such searches; see the module."""
    if not any(isinstance(stmt, Break) for stmt in walk(function.body)):
        return function
    found = list(_Searches(function).found())
    if not found:
        return function
    for one in found:
        why = "the reverse sweep asks for nothing else"
        remark(one.loop.span, "last_branch", "kept is which iteration took its branch last", why)
    return _Change(function, found).rewritten()


@dataclass(frozen=True, eq=False)
class _Search:
    """A loop that keeps whether its iterations took a branch, and the one that searches for the last of them."""

    made: Assign
    loop: For
    store: Store
    searching: For
    load: Assign

    @property
    def outer(self) -> tuple[Atom, ...]:
        """Where the search is, without the place that it looks for."""
        assert isinstance(self.load.value, Op)
        return self.load.value.args[1:-1]  # type: ignore[return-value]


class _Searches:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.scopes = self.iterations.scopes
        self.integers = self.iterations.dependence.integers
        statements = list(walk(function.body))
        self.uses = Counter(name for stmt in statements for name in (*reads(stmt), *changed(stmt)))
        self.stores: dict[str, list[Store]] = {}
        for stmt in statements:
            if isinstance(stmt, Store):
                self.stores.setdefault(stmt.array, []).append(stmt)

    def found(self) -> Iterator[_Search]:
        for stmt in walk(self.function.body):
            if isinstance(stmt, For):
                found = self.search(stmt)
                if found is not None:
                    yield found

    def search(self, loop: For) -> _Search | None:
        """What a loop searches, if it does nothing else."""
        load = self.asked(loop)
        if load is None:
            return None
        assert isinstance(load.value, Op)
        buffer, *index = load.value.args
        made = self.iterations.scopes.defs.get(buffer.id, ()) if isinstance(buffer, Name) else ()
        match made:
            case (Assign(target=target, value=Op(fn="empty")) as empty,):
                stores = self.stores.get(target, [])
            case _:
                return None
        # the load reads the record, the store reads it and changes it
        if len(stores) != 1 or stores[0].accumulate or self.uses[target] != 3 or len(stores[0].index) != len(index):
            return None
        owner = self.scopes.of[stores[0].key].owner
        if not isinstance(owner, For) or not any(stmt is stores[0] for stmt in owner.body):
            return None
        if not self.backwards(owner, loop) or not self.same_places(owner, stores[0], loop, load):
            return None
        if len(index) == 1 and not self.same_iteration(owner, loop):
            return None
        return _Search(empty, owner, stores[0], loop, load)

    def same_iteration(self, loop: For, later: For) -> bool:
        """Whether a loop has run in the same iteration of the loops around whenever a later one does."""
        here, there = self.scopes.of[loop.key], self.scopes.of[later.key]
        if not there.inside(here) or here.loops() != there.loops():
            return False
        return self.scopes.place[loop.key] < self.scopes.place[later.key]

    def asked(self, loop: For) -> Assign | None:
        """The truth value that a loop looks for, before it does something else for one iteration."""
        match loop.body:
            case (*before, If(test=Name(id=taken), body=(*_, Break()), orelse=()) as branch) if not loop.parallel:
                pass
            case _:
                return None
        loads = [stmt for stmt in before if isinstance(stmt, Assign) and stmt.target == taken]
        if not all(isinstance(stmt, Assign) and self.harmless(stmt) for stmt in before) or len(loads) != 1:
            return None
        if may_leave(branch.body[:-1]) or self.uses[taken] != 1:
            return None
        if self.iterations.left_over(loop, written_in(before)):
            return None
        match loads[0].value:
            case Op(fn="load", args=(Name(id=buffer), *_)):
                type_ = self.function.types.get(buffer)
                return loads[0] if isinstance(type_, Array) and type_.dtype == "bool" else None
        return None

    def harmless(self, stmt: Assign) -> bool:
        """Whether a statement that is not run does nothing but compute no number."""
        pure = isinstance(stmt.value, Op) and stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")
        return pure and self.iterations.fixed(Name(stmt.target))

    def backwards(self, loop: For, back: For) -> bool:
        """Whether a loop makes the iterations of another one, which makes them all, the other way round."""
        if loop.parallel or loop.step != Const(1) or back.step != Const(-1) or may_leave(loop.body):
            return False
        bounds = [
            *(self.integers.bound(bound, loop) for bound in (loop.start, loop.stop)),
            *(self.integers.bound(bound, back) for bound in (back.start, back.stop)),
        ]
        sums = [bound for bound in bounds if bound is not None]
        if len(sums) != len(bounds):
            return False
        start, stop, last, before = sums
        one = Sum(number=1)
        if last != stop.plus(one, -1) or before != start.plus(one, -1):
            return False
        names = {name for sum_ in sums for name in sum_.names()}
        if any(self.scopes.merged(name) or self.scopes.scope_of[name].loops() for name in names):
            return False
        # no iteration is the one before the first
        return self.integers.never_negative(start, self.scopes.of[loop.key])

    def same_places(self, loop: For, store: Store, back: For, load: Assign) -> bool:
        """Whether each iteration keeps a truth value in a place of its own, where the same iteration backwards looks
        for it.
        """
        assert isinstance(load.value, Op)
        *outer, place = store.index
        *around, sought = load.value.args[1:]
        kept, found = self.integers.sum(place), self.integers.sum(sought)
        if kept is None or found is None or kept.factor(loop.var) != 1:
            return False
        if kept.plus(Sum.of(loop.var), -1) != found.plus(Sum.of(back.var), -1):
            return False
        if kept.plus(Sum.of(loop.var), -1).terms:
            return False
        # the other subscripts stand still
        return _names(outer).isdisjoint({loop.var, *written_in(loop.body)}) and _names(around).isdisjoint(
            {back.var, *written_in(back.body)}
        )


class _Change(Rewriter):
    """Writes the function with what was taken last."""

    def __init__(self, function: Function, found: list[_Search]) -> None:
        super().__init__(function)
        self.made = {one.made.key: one for one in found}
        self.loops = {one.loop.key: one for one in found}
        self.stores = {one.store.key: one for one in found}
        self.searching = {one.searching.key: one for one in found}
        self.last: dict[_Search, str] = {}
        self.records: dict[_Search, str] = {}

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        key = stmt.key
        if key in self.made:
            yield from self.record(self.made[key])
        elif key in self.loops:
            yield from self.keeping(self.loops[key])
        elif key in self.stores:
            one = self.stores[key]
            last = self.last[one]
            taken = one.store.value
            yield Assign(last, Op("ifelse", (taken, Name(one.loop.var), Name(last))), one.store.span)
        elif key in self.searching:
            yield from self.found(self.searching[key])
        else:
            yield map_blocks(stmt, self.block)

    def record(self, one: _Search) -> Iterator[Stmt]:
        """What holds a number for each run of the loop, if there is more than one."""
        assert isinstance(one.made.value, Op)
        _, *extents, _ = one.made.value.args
        if extents:
            name = self.records[one] = self.fresh("last_store", Array("int64", len(extents)))
            yield Assign(name, Op("empty", (Const("int64"), *extents)), one.made.span)

    def keeping(self, one: _Search) -> Iterator[Stmt]:
        last = self.last[one] = self.fresh("last", INT64)
        yield Assign(last, Const(-1), one.loop.span)
        yield map_blocks(one.loop, self.block)
        if one.outer:
            yield Store(self.records[one], one.store.index[:-1], Name(last), span=one.loop.span)

    def found(self, one: _Search) -> Iterator[Stmt]:
        loop = one.searching
        *before, branch = loop.body
        assert isinstance(branch, If)
        some = self.fresh("t", BOOL)
        last = Op("load", (Name(self.records[one]), *one.outer)) if one.outer else Name(self.last[one])
        yield Assign(loop.var, last, loop.span)
        yield Assign(some, Op(">=", (Name(loop.var), Const(0))), loop.span)
        body = (*(stmt for stmt in before if stmt is not one.load), *branch.body[:-1])
        yield If(Name(some), self.block(body), span=branch.span)


def _names(atoms: Iterable[Expr]) -> set[str]:
    return {atom.id for atom in atoms if isinstance(atom, Name)}
