"""Store an element once where a stretch of statements stores it several times.

The reverse of `a[i] = v` takes the adjoint of the element and clears it, and what `v` read from the
same element is added again; each use of an element adds to its adjoint.

    t = a_bar[i]
    a_bar[i] = 0.0                t = a_bar[i]
    a_bar[i + 1] += s      ->     a_bar[i + 1] += s
    a_bar[i] += k * t             t_1 = k * t + s
    a_bar[i] += s                 a_bar[i] = t_1

A store waits for the next one of its element unless something between the two may read or write
the element: subscripts decide, see `analyses.iterations`.

What is then stored may be what the element holds, as where the reverse of `s[j] = s[j] + v` takes an adjoint that it
adds again; that store is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.analyses.iterations import Access, Iterations
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
    Expr,
    Function,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Type


def forward_stores(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with fewer stores; see the module."""
    worker = _Settle(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


@dataclass
class _Waiting:
    """A store at `place` of the output that the next one of its element may take in."""

    place: int
    store: Store


# by class of arrays
Stores = dict[str, list[_Waiting]]


class _Settle:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.fresh = Fresh(function.types)
        # what has one value was set before a store that reads it
        params = frozenset(function.params)
        self.changing = {n for n, defs in self.iterations.scopes.defs.items() if len(defs) > 1 or n in params}

    def block(self, block: Block) -> Block:
        out: list[Stmt | None] = []
        waiting: Stores = {}
        for stmt in block:
            if isinstance(stmt, Store):
                stmt = self.store(stmt, waiting, out)
                if self.holds(stmt, out):
                    continue
            else:
                stmt = map_blocks(stmt, self.block)
                self.drop_disturbed(stmt, waiting)
            out.append(stmt)
            if isinstance(stmt, Store):
                waiting.setdefault(self.iterations.aliases.find(stmt.array), []).append(_Waiting(len(out) - 1, stmt))
        return tuple(stmt for stmt in out if stmt is not None)

    def store(self, stmt: Store, stores: Stores, out: list[Stmt | None]) -> Store:
        """The statement with what an earlier store of the same element put there."""
        waiting = stores.get(self.iterations.aliases.find(stmt.array), [])
        for one in list(waiting):
            earlier = one.store
            if not self.iterations.may_share(earlier.array, stmt.array):
                continue
            if earlier.array == stmt.array and earlier.index == stmt.index:
                merged = self.merged(earlier, stmt, out)
                waiting.remove(one)
                if merged is not None:
                    out[one.place] = None
                    stmt = merged
            elif earlier.array != stmt.array or not self.iterations.different(earlier.index, stmt.index):
                waiting.remove(one)
        return stmt

    def merged(self, earlier: Store, later: Store, out: list[Stmt | None]) -> Store | None:
        """One store in place of two of the same element."""
        if not later.accumulate:
            return later
        type_ = self.iterations.types[later.array]
        assert isinstance(type_, Array)
        if not type_.is_float or any(self.type_of(v) != type_.element for v in (earlier.value, later.value)):
            return None
        value: Atom = later.value
        if earlier.value != Const(0.0):
            name = self.fresh("t", type_.element)
            out.append(Assign(name, Op("+", (earlier.value, later.value)), later.span))
            value = Name(name)
        return replace(later, value=value, accumulate=earlier.accumulate)

    def holds(self, store: Store, before: list[Stmt | None]) -> bool:
        """Whether an element holds what is stored: it was read before in the block, and is the same since."""
        element: Expr = Op("load", (Name(store.array), *store.index))
        if store.accumulate or not isinstance(store.value, Name) or self.iterations.definition(store.value) != element:
            return False
        of = {store.array, *names_in(element)} & self.changing
        for stmt in reversed(before):
            if stmt is None:
                continue
            if isinstance(stmt, Assign) and stmt.target == store.value.id:
                return True
            if any(name in of for inner in walk((stmt,)) for name in writes(inner)):
                return False
            plain = isinstance(stmt, Store)
            if any(a.kind != "load" and self.conflicts(a, store, plain) for a in self.iterations.accesses((stmt,))):
                return False
        return False

    def type_of(self, atom: Atom) -> Type | None:
        if isinstance(atom, Name):
            return self.fresh.types.get(atom.id)
        return FLOAT64 if isinstance(atom.value, float) else INT64

    def drop_disturbed(self, stmt: Stmt, waiting: Stores) -> None:
        """Let the stores that cannot move down past a statement wait no longer."""
        if not waiting:
            return
        written: set[str] = set()
        for inner in walk((stmt,)):
            # a callee may raise, too
            if isinstance(inner, Raise | Break | Call):
                waiting.clear()
                return
            written.update(name for name in writes(inner) if name in self.changing)
        if written:
            for found in waiting.values():
                found[:] = [one for one in found if written.isdisjoint(reads(one.store))]
        for access in self.iterations.accesses((stmt,)):
            cls = self.iterations.aliases.find(access.array)
            if waiting.get(cls):
                plain = isinstance(stmt, Assign)
                waiting[cls] = [one for one in waiting[cls] if not self.conflicts(access, one.store, plain)]

    def conflicts(self, access: Access, store: Store, plain: bool) -> bool:
        """Whether an access may be one of the element that a store sets; `plain` if it is a load at the same time."""
        if not self.iterations.may_share(access.array, store.array):
            return False
        if not plain or access.array != store.array or access.index is None:
            return True
        return not self.iterations.different(access.index, store.index)
