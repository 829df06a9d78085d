"""Compute both sides of a branch where one loop can run on vectors then, and select.

    for i in range(n):                            for i in range(n):
        if x[i] > 0.0:                                a = np.exp(-x[i])
            y[i] = np.exp(-x[i])                      b = np.exp(x[i])
        else:                              ->         y[i] = a if x[i] > 0.0 else b
            y[i] = np.exp(x[i])

LLVM would not compute the functions on vectors in a branch.  Where a side only adds to an element, the other one adds
zero, which changes at most the sign of a zero.

For innermost loops whose iterations may run in any order, along rows.  The sides of a branch may hold few operations
and calls, such as raise nothing, loads of elements that the arrays have for certain, and divisions by what is positive
for certain; they add to elements of arrays, or both set the same one, or add to a variable.

Branches without functions stay: where the same side is taken again and again, both sides take twice as long.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.shapes.slice_facts import SliceFacts
from tapec.optimise.vector_operations import VECTORISED
from tapec.optimise.vectors.unsigned_subscripts import counts, stays
from tapec.remarks import remark
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
    written_in,
)
from tapec.syntax.types import FLOAT64, Array

_CHEAP = frozenset({"+", "-", "*", "neg", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "ifelse"})
# functions of one number that have a result for every number, and how many of them the sides of a branch may call
_FUNCTIONS = frozenset(
    name
    for name, fn in VECTORISED.items()
    if fn.split(".")[1] not in ("power", "digamma", "lgamma", "maximum", "minimum")
)


def select_functions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function without branches that call elementary functions, in loops; see the module."""
    if not any(isinstance(stmt, If) and any(map(calls_functions, walk((stmt,)))) for stmt in walk(function.body)):
        return function
    worker = _Selected(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


def calls_functions(stmt: Stmt) -> bool:
    """Whether a statement calls an elementary function that LLVM can compute on vectors."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in _FUNCTIONS


def can_select(branch: If) -> bool:
    """Whether a branch does nothing but compute numbers."""
    return all(isinstance(stmt, Assign | If | Note) for stmt in walk((branch,)))


@dataclass
class _Side:
    """What one side of a branch does: it computes, stores at last, and sets variables that the other one sets, too.

    sums   variables that it adds to, and what it adds
    """

    computed: list[Stmt] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    merged: dict[str, Atom] = field(default_factory=dict)
    sums: dict[str, Atom] = field(default_factory=dict)


class _Refused(Exception):
    """A branch that stays."""


class _Selected(SliceFacts):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.iterations = Iterations(function)
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
        why = "both sides of its branches are computed, and one selected: it can run on vectors then"
        remark(stmt.span, "if_conversion", why)
        yield changed

    def is_wanted(self, loop: For) -> bool:
        """Whether a loop could run on vectors without its branches, in which it calls a few functions."""
        inner = list(walk(loop.body))
        if loop.parallel or loop.slots is not None or any(isinstance(stmt, For | Loop) for stmt in inner):
            return False
        branches = [stmt for stmt in loop.body if isinstance(stmt, If)]
        calls = sum(map(calls_functions, walk(branches)))
        if not 0 < calls <= costs.SELECTED_CALLS or not self.iterations.is_parallel(loop):
            return False
        return all(self.along_row(access.index, loop) for access in self.iterations.accesses(loop.body))

    def along_row(self, index: tuple[Expr, ...] | None, loop: For) -> bool:
        *outer, last = map(self.iterations.signed, index or (Const(0),))
        still = all(stays(sub, loop, self.iterations) for sub in outer)
        return still and (stays(last, loop, self.iterations) or counts(last, loop, self.iterations))

    # branches

    def flat(self, stmt: Stmt) -> list[Stmt]:
        """A statement of the loop without branches."""
        if not isinstance(stmt, If):
            return [stmt]
        side = self.both(stmt)
        merged = [Assign(name, value, stmt.span) for name, value in side.merged.items()]
        sums = [Assign(name, Op("+", (Name(name), value)), stmt.span) for name, value in side.sums.items()]
        return [*side.computed, *merged, *sums, *side.stores]

    def both(self, branch: If) -> _Side:
        """What a branch does, with what is selected."""
        first, second = self.side(branch.body), self.side(branch.orelse)
        if set(first.merged) != set(second.merged):
            raise _Refused
        out = _Side([*first.computed, *second.computed])
        if sum(map(_work, out.computed)) > costs.SELECTED_OPERATIONS:
            raise _Refused
        for name, value in first.merged.items():
            other = second.merged[name]
            total = self.summed(branch, value, other, name, out)
            out.merged[name] = self.selected(branch, value, other, name, out) if total is None else total
        for name in {**first.sums, **second.sums}:
            one, other = (side.sums.get(name, Const(0.0)) for side in (first, second))
            out.sums[name] = self.selected(branch, one, other, "t", out)
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

    def summed(self, branch: If, first: Atom, second: Atom, name: str, out: _Side) -> Atom | None:
        """A number to which each side adds, or one of them: what is added is selected, so that it stays a sum."""
        inside = written_in((branch,))
        for base, one in self.as_sum(first):
            for other_base, other in self.as_sum(second):
                if base != other_base or first == second or not isinstance(base, Name) or base.id in inside:
                    continue
                terms: list[Atom] = []
                for term in (one, other):
                    if isinstance(term, Op):
                        negative = self.fresh("t", FLOAT64)
                        out.computed.append(Assign(negative, term, branch.span))
                        terms.append(Name(negative))
                    else:
                        assert isinstance(term, Name | Const)
                        terms.append(term)
                total = self.fresh(name, FLOAT64)
                value = Op("+", (base, self.selected(branch, terms[0], terms[1], "t", out)))
                out.computed.append(Assign(total, value, branch.span))
                return Name(total)
        return None

    def as_sum(self, number: Atom) -> Iterator[tuple[Expr, Expr]]:
        """The ways in which a float is another one and what is added to it."""
        if self.type_of(number) != FLOAT64:
            return
        yield number, Const(0.0)
        match self.iterations.definition(number):
            case Op(fn="+", args=(one, other)):
                yield one, other
                yield other, one
            case Op(fn="-", args=(one, other)):
                yield one, Op("neg", (other,))

    def added(self, branch: If, store: Store, side: bool, out: _Side) -> Store:
        """An addition that adds zero on the other side."""
        if not self.has(store.array, store.index):
            raise _Refused
        first, second = (store.value, Const(0.0)) if side else (Const(0.0), store.value)
        return replace(store, value=self.selected(branch, first, second, "t", out))

    def type_of(self, atom: Expr) -> object:
        if isinstance(atom, Name):
            return self.fresh.types.get(atom.id)
        return FLOAT64 if isinstance(atom, Const) and isinstance(atom.value, float) else None

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
                    if out.sums.keys() & inner.sums.keys():
                        raise _Refused
                    out.sums |= inner.sums
                case Assign(target=target, value=Op(fn="+", args=(Name(id=name), Name() | Const() as value))) if (
                    target == name and target not in out.sums and self.type_of(value) == FLOAT64
                ):
                    out.sums[name] = value
                case Assign(target=target, value=Name() | Const() as value) if self.scopes.merged(target):
                    out.merged[target] = value
                case Assign(target=target, value=Op() as value) if self.is_harmless(value):
                    if self.scopes.merged(target):
                        raise _Refused
                    out.computed.append(stmt)
                case Store(array=array):
                    type_ = self.fresh.types[array]
                    if not isinstance(type_, Array) or type_.element != FLOAT64:
                        raise _Refused
                    out.stores.append(stmt)
                case _:
                    raise _Refused
        inside = {stmt.key for stmt in walk(block)}
        own = (name for name in out.merged if all(one.key in inside for one in self.uses[name]))
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
            own = {inner.target} if isinstance(inner, Assign) else set()
            if read & before.merged.keys() or not before.sums.keys().isdisjoint(read | own):
                return True
            if any(
                self.iterations.may_share(name, array) for name in read for array in stored if name in self.fresh.types
            ):
                return True
        return False

    def is_harmless(self, value: Op) -> bool:
        """Whether an operation is cheap, and can be made where the program would not make it."""
        if value.fn == "load":
            array, *index = value.args
            return isinstance(array, Name) and self.has(array.id, tuple(index))
        if value.fn in _FUNCTIONS:
            return all(self.type_of(arg) == FLOAT64 for arg in value.args if isinstance(arg, Name | Const))
        if value.fn == "/":
            divisor = value.args[1]
            return self.type_of(divisor) == FLOAT64 and self.is_positive(divisor)
        return value.fn in _CHEAP and not any(isinstance(arg, Op) for arg in value.args)

    def is_positive(self, number: Expr, or_zero: bool = False) -> bool:
        """Whether a number is more than zero, or nan, for certain; perhaps zero with `or_zero`."""
        if isinstance(number, Const):
            return isinstance(number.value, float) and (number.value > 0.0 or (or_zero and number.value == 0.0))
        match self.iterations.definition(number) if isinstance(number, Name) else None:
            case Op(fn="math.exp" | "np.exp"):
                return or_zero
            case Op(fn="+", args=(one, other)):
                both = self.is_positive(one, True) and self.is_positive(other, True)
                return both and (or_zero or self.is_positive(one) or self.is_positive(other))
        return False

    def has(self, array: str, index: tuple[Expr, ...]) -> bool:
        """Whether an array has an element for certain."""
        return all(self.is_below(sub, self.extent(array, axis)) for axis, sub in enumerate(index))


def _work(stmt: Stmt) -> int:
    """What a statement of a branch's side costs, in operations."""
    if not isinstance(stmt, Assign):
        return 0
    return costs.DIVISION if isinstance(stmt.value, Op) and stmt.value.fn == "/" else 1


def _known(stmt: Stmt, values: dict[str, Atom]) -> Stmt:
    """A statement with values in place of names that are set where its side ends."""
    atoms: dict[str, Expr] = dict(values)
    match stmt:
        case Assign(value=value):
            return replace(stmt, value=substitute(value, atoms))
        case Store(value=Name(id=name)) if name in values:
            return replace(stmt, value=values[name])
    return stmt
