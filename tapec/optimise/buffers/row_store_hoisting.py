"""Keep a row for the reverse sweep once, where every iteration of a loop would keep the same.

    for i in range(k + 1, n):                 if k + 1 < n:
        for j in range(k + 1, n):                 for j in range(k + 1, n):
            t = a[k, j]                               u_store[k, j] = a[k, j]
            u_store[k, j] = t          ->     for i in range(k + 1, n):
            a[i, j] -= m * t                      for j in range(k + 1, n):
                                                      a[i, j] -= m * a[k, j]

An elimination would write the pivot's row as often as there are rows below it.

Needs a row that no iteration of the outer loop stores into, subscripts and bounds that it does not change, and a store
into memory that nothing else in the loop uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.optimise.rewriter import Rewriter
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
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
    may_leave,
    names_in,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, Scalar

_WHOLE_NUMBERS = frozenset({"+", "-", "*"})


def hoist_row_stores(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such stores before their loops; see the module."""
    return _Rows(function).rewritten()


class _Rows(Rewriter):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.known = facts(function)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        if isinstance(stmt, For) and stmt.step in (Const(1), Const(-1)) and not may_leave(stmt.body):
            before: list[Stmt] = []
            body: list[Stmt] = []
            for inner in stmt.body:
                moved = list(self.moved(stmt, inner)) if isinstance(inner, For) else []
                before += (loop for _, loop in moved)
                body.append(_without(inner, {store.key for store, _ in moved}))
            if before:
                some = self.fresh("some", BOOL)
                ends = (stmt.start, stmt.stop) if stmt.step == Const(1) else (stmt.stop, stmt.start)
                yield Assign(some, Op("<", ends), stmt.span)
                yield If(Name(some), tuple(before), (), stmt.span)
                stmt = replace(stmt, body=tuple(body))
        yield map_blocks(stmt, self.block)

    def moved(self, outer: For, inner: For) -> Iterator[tuple[Store, For]]:
        """Stores of an inner loop that all iterations of the outer one make alike, and the loop that makes each
        before.
        """
        changing = {outer.var, *written_in(outer.body)}
        if any(name in changing for bound in (inner.start, inner.stop, inner.step) for name in names_in(bound)):
            return
        made = {stmt.target: stmt for stmt in inner.body if isinstance(stmt, Assign)}
        for store in inner.body:
            if not isinstance(store, Store) or store.accumulate or not isinstance(store.value, Name):
                continue
            load = made.get(store.value.id)
            if load is None or not isinstance(load.value, Op) or load.value.fn != "load":
                continue
            needed: dict[str, Assign] = {}
            subs = (*load.value.args[1:], *store.index)
            alike = all(self.collect(sub, inner, made, changing, needed) for sub in subs)
            if alike and self.is_alone(store, outer) and self.stays(load, outer):
                body = (*(stmt for stmt in inner.body if any(stmt is one for one in needed.values())), load, store)
                why = "every iteration of {0} would keep the same"
                remark(load.span, "row_store_hoisting", "kept once, before the loop", why, outer.span)
                yield store, self.apart(replace(inner, body=body, independent=False))

    def collect(
        self, number: Expr, inner: For, made: dict[str, Assign], changing: set[str], needed: dict[str, Assign]
    ) -> bool:
        """Whether a subscript is the same for all iterations; adds what computes it in one."""
        if not isinstance(number, Name) or number.id == inner.var or number.id not in changing:
            return isinstance(number, Name | Const)
        stmt = made.get(number.id)
        if stmt is None or not isinstance(stmt.value, Op) or stmt.value.fn not in _WHOLE_NUMBERS:
            return False
        if not all(self.collect(arg, inner, made, changing, needed) for arg in stmt.value.args):
            return False
        needed[number.id] = stmt
        return True

    def is_alone(self, store: Store, outer: For) -> bool:
        """Whether nothing else in a loop uses the memory that a store is into."""
        cls = self.known.aliases.find(store.array)
        others = (stmt for stmt in walk(outer.body) if stmt is not store)
        return not any(self.known.aliases.find(n) == cls for stmt in others for n in (*reads(stmt), *writes(stmt)))

    def stays(self, load: Assign, outer: For) -> bool:
        """Whether no iteration of a loop changes the element that is read."""
        assert isinstance(load.value, Op) and isinstance(load.value.args[0], Name)
        array = load.value.args[0].id
        cls = self.known.aliases.find(array)
        if array in written_in(outer.body):
            return False
        scope = self.known.scopes.body[outer.key][0]
        for stmt in walk(outer.body):
            if isinstance(stmt, Store):
                if self.known.aliases.find(stmt.array) != cls:
                    continue
                if not self.known.dependence.never_conflicts(load, stmt, scope):
                    return False
            elif not isinstance(stmt, Assign | For | If) or self.changes(stmt, cls):
                return False
        return True

    def changes(self, stmt: Stmt, cls: str) -> bool:
        """Whether a statement sets a name of a class of arrays."""
        return any(self.known.aliases.find(name) == cls for name in writes(stmt) if name in self.known.function.types)

    def apart(self, loop: For) -> For:
        """The loop with names of its own."""
        own = (loop.var, *written_in(loop.body))
        names = self.fresh.anew(name for name in own if isinstance(self.fresh.types.get(name), Scalar))
        (new,) = renamed((loop,), names)
        assert isinstance(new, For)
        return new


def _without(stmt: Stmt, gone: set[int]) -> Stmt:
    """A loop without some of the statements of its body, by key."""
    return map_blocks(stmt, lambda block: tuple(one for one in block if one.key not in gone)) if gone else stmt
