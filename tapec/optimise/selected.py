"""Compute both sides of a branch where one loop can run on vectors then, and select.

    for i in range(1, n):                         for i in range(1, n):
        if v[i] > 0.0:                                a = v[i] * t[i]
            u_bar[i - 1] += v[i] * t[i]               u_bar[i - 1] += a if v[i] > 0.0 else 0.0
        else:                             ->          b = v[i] * t[i]
            u_bar[i] += v[i] * t[i]                   u_bar[i] += 0.0 if v[i] > 0.0 else b

A branch that goes now this way, now that way costs more than a few operations, and stores in branches keep what a
stencil's adjoint scatters from being gathered (`distribute`).  A zero that is added changes at most the sign of a zero.

For innermost loops whose trips may run in any order, along rows.  The sides of a branch may hold few operations, such
as raise nothing, and loads of elements that the arrays have for certain; they add to elements of arrays, or both set
the same one.

Expects one name per value, as `optimise.single` leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tapec.analyses.trips import Trips
from tapec.journal import Listener
from tapec.optimise.sliced import Slices
from tapec.optimise.unsigned import counts, stays
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Stmt,
    Store,
    names_in,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, Array

# operations on one side of a branch, with those of branches in it
_OPERATIONS = 16
_CHEAP = frozenset({"+", "-", "*", "neg", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "ifelse"})


def select_values(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with such branches gone; see the module."""
    if not any(isinstance(stmt, If) for loop in walk(function.body) if isinstance(loop, For) for stmt in loop.body):
        return function
    worker = _Selected(function, listener)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


@dataclass
class _Side:
    """What one side of a branch does: it computes, stores at last, and sets variables that the other one sets, too."""

    computed: list[Stmt] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    merged: dict[str, Atom] = field(default_factory=dict)


class _Refused(Exception):
    """A branch that stays."""


class _Selected(Slices):
    def __init__(self, function: Function, listener: Listener | None) -> None:
        super().__init__(function)
        self.trips = Trips(function)
        self.listener = listener
        # by name: what sets or reads it
        self.uses: dict[str, list[Stmt]] = {}
        for stmt in walk(function.body):
            for name in {*reads(stmt), *writes(stmt)}:
                self.uses.setdefault(name, []).append(stmt)

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        if not isinstance(stmt, For) or not self.is_wanted(stmt):
            yield from super().statement(stmt)
            return
        try:
            changed = replace(stmt, body=tuple(new for one in stmt.body for new in self.flat(one)))
        except _Refused:
            yield stmt
            return
        if self.listener is not None:
            why = "both sides of its branches are computed, and one selected: it can run on vectors then"
            self.listener.decide(stmt.span, "selected", why)
        yield changed

    def is_wanted(self, loop: For) -> bool:
        """Whether a loop could run on vectors without its branches, in which it stores."""
        inner = list(walk(loop.body))
        if loop.parallel or loop.slots is not None or any(isinstance(stmt, For | Loop) for stmt in inner):
            return False
        branches = [stmt for stmt in loop.body if isinstance(stmt, If)]
        if not any(isinstance(stmt, Store) for stmt in walk(branches)) or not self.trips.commute(loop):
            return False
        return all(self.along_row(access.index, loop) for access in self.trips.accesses(loop.body))

    def along_row(self, index: tuple[Expr, ...] | None, loop: For) -> bool:
        *outer, last = index or (Const(0),)
        still = all(stays(sub, loop, self.trips) for sub in outer)
        return still and (stays(last, loop, self.trips) or counts(last, loop, self.trips))

    # branches

    def flat(self, stmt: Stmt) -> list[Stmt]:
        """A statement of the loop without branches."""
        if not isinstance(stmt, If):
            return [stmt]
        side = self.both(stmt)
        merged = [Assign(name, value, stmt.span) for name, value in side.merged.items()]
        return [*side.computed, *merged, *side.stores]

    def both(self, branch: If) -> _Side:
        """What a branch does, with what is selected."""
        first, second = self.side(branch.body), self.side(branch.orelse)
        if set(first.merged) != set(second.merged):
            raise _Refused
        out = _Side([*first.computed, *second.computed])
        if sum(isinstance(stmt, Assign) for stmt in out.computed) > _OPERATIONS:
            raise _Refused
        for name, value in first.merged.items():
            out.merged[name] = self.selected(branch, value, second.merged[name], name, out)
        others = list(second.stores)
        for store in first.stores:
            if store.accumulate:
                out.stores.append(self.added(branch, store, True, out))
                continue
            partner = next((one for one in others if (one.array, one.index) == (store.array, store.index)), None)
            if partner is None or partner.accumulate:
                raise _Refused
            others.remove(partner)
            value = self.selected(branch, store.value, partner.value, "t", out)
            out.stores.append(replace(store, value=value))
        for store in others:
            if not store.accumulate:
                raise _Refused
            out.stores.append(self.added(branch, store, False, out))
        return out

    def selected(self, branch: If, first: Atom, second: Atom, name: str, out: _Side) -> Atom:
        """One of two values, by a branch's test."""
        if first == second:
            return first
        types = {self.type_of(first), self.type_of(second)}
        if types != {FLOAT64}:
            raise _Refused
        value = self.fresh(name, FLOAT64)
        out.computed.append(Assign(value, Op("ifelse", (branch.test, first, second)), branch.span))
        return Name(value)

    def added(self, branch: If, store: Store, side: bool, out: _Side) -> Store:
        """An addition that adds zero on the other side."""
        if not self.has(store.array, store.index):
            raise _Refused
        first, second = (store.value, Const(0.0)) if side else (Const(0.0), store.value)
        return replace(store, value=self.selected(branch, first, second, "t", out))

    def type_of(self, atom: Atom) -> object:
        if isinstance(atom, Name):
            return self.fresh.types.get(atom.id)
        return FLOAT64 if isinstance(atom.value, float) else None

    def side(self, block: Block) -> _Side:
        """What one side of a branch does, in the order of computing, setting and storing."""
        out = _Side()
        for written in block:
            stmt = _known(written, out.merged)
            if self.disturbed(stmt, out):
                raise _Refused
            match stmt:
                case Note():
                    out.computed.append(stmt)
                case If():
                    inner = self.both(stmt)
                    out.computed += inner.computed
                    out.stores += inner.stores
                    out.merged |= inner.merged
                case Assign(target=target, value=Name() | Const() as value) if self.regions.merged(target):
                    out.merged[target] = value
                case Assign(target=target, value=Op() as value) if self.is_harmless(value):
                    if self.regions.merged(target):
                        raise _Refused
                    out.computed.append(stmt)
                case Store(array=array):
                    type_ = self.fresh.types[array]
                    if not isinstance(type_, Array) or type_.element != FLOAT64:
                        raise _Refused
                    out.stores.append(stmt)
                case _:
                    raise _Refused
        inside = {id(stmt) for stmt in walk(block)}
        own = (name for name in out.merged if inside.issuperset(map(id, self.uses[name])))
        for name in list(own):
            del out.merged[name]
        return out

    def disturbed(self, stmt: Stmt, before: _Side) -> bool:
        """Whether a statement reads what earlier ones of its side store or set, which they do at last now."""
        stored = {store.array for store in before.stores}
        for inner in walk((stmt,)):
            if isinstance(inner, Store) and any(
                store.array == inner.array and not (store.accumulate and inner.accumulate) for store in before.stores
            ):
                return True
            match inner:
                case Assign(value=value):
                    read = set(names_in(value))
                case Store(index=index, value=value):
                    read = {name for one in (*index, value) for name in names_in(one)}
                case If(test=test):
                    read = set(names_in(test))
                case _:
                    read = set()
            if read & before.merged.keys():
                return True
            if any(self.trips.may_share(name, array) for name in read for array in stored if name in self.fresh.types):
                return True
        return False

    def is_harmless(self, value: Op) -> bool:
        """Whether an operation is cheap, and can be made where the program would not make it."""
        if value.fn == "load":
            array, *index = value.args
            return isinstance(array, Name) and self.has(array.id, tuple(index))
        return value.fn in _CHEAP and not any(isinstance(arg, Op) for arg in value.args)

    def has(self, array: str, index: tuple[Expr, ...]) -> bool:
        """Whether an array has an element for certain."""
        return all(self.is_below(sub, self.extent(array, axis)) for axis, sub in enumerate(index))


def _known(stmt: Stmt, values: dict[str, Atom]) -> Stmt:
    """A statement with values in place of names that are set where its side ends."""
    atoms: dict[str, Expr] = dict(values)
    match stmt:
        case Assign(value=value):
            return replace(stmt, value=substitute(value, atoms))
        case Store(value=Name(id=name)) if name in values:
            return replace(stmt, value=values[name])
    return stmt
