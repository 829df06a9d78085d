"""Elements that take the better of what they hold and of what leads there from other elements of their array.

    for j in range(n):                        for j in range(n):
        t = d[i, j]                               t = d[i, j]
        e = d[i, k] + d[k, j]                     e = d[i, k] + d[k, j]
        d[i, j] = min(t, e)           ->          if e <= t:
                                                      if e < t:
                                                          d[i, j] = e
                                                      else:
                                                          d[i, j] = t, with the derivative of 0.5 * (t + e)

Shortest paths, knapsacks: an element that keeps what it holds keeps its adjoint, and most do.  The reverse sweep then
asks for the outcome of a test, not for both operands, and passes over the iteration.  Where the operand has nothing to
do with other elements of the array, loops run on vectors, and choose without branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.aliases import Aliases, aliases
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
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    changed,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, Scalar
from tapec.transforms.emitter import Emitter

# what holds of a candidate that an element takes, and of one that it takes and that is not equal to what it holds
_BETTER = {"max": (">=", ">"), "min": ("<=", "<")}


def with_branches(function: Function) -> Function:
    """The function with branches where elements are relaxed; see the module."""
    if not any(isinstance(stmt, Assign) and _chooses(stmt) for stmt in walk(function.body)):
        return function
    types = dict(function.types)
    writer = _Writer(function, Emitter(types, set(types)))
    body = writer.block(function.body, False)
    return function if body == function.body else replace(function, body=body, types=types)


def _chooses(stmt: Assign) -> bool:
    return isinstance(stmt.value, Op) and stmt.value.fn in _BETTER and len(stmt.value.args) == 2


@dataclass(frozen=True)
class _Relaxation:
    """A store of the better of two numbers into the element that holds one of them."""

    choice: Assign
    store: Store
    held: Name
    candidate: Atom
    held_first: bool


class _Writer:
    def __init__(self, function: Function, emitter: Emitter) -> None:
        self.types = function.types
        self.aliases: Aliases = aliases(function)
        self.emitter = emitter
        self.uses = Counter(name for stmt in walk(function.body) for name in reads(stmt))

    def block(self, block: Block, looped: bool) -> Block:
        found = list(_relaxations(block, self)) if looped else []
        chosen = {one.choice.key for one in found}
        stores = {one.store.key: one for one in found}
        out: list[Stmt] = []
        for stmt in block:
            if stmt.key in stores:
                out += self.relaxed(stores[stmt.key])
            elif stmt.key not in chosen:
                inside = looped or isinstance(stmt, For | Loop)
                out.append(map_blocks(stmt, lambda inner, inside=inside: self.block(inner, inside)))  # type: ignore[misc]
        return tuple(out)

    def relaxed(self, one: _Relaxation) -> list[Stmt]:
        assert isinstance(one.choice.value, Op)
        span = one.choice.span
        what = "a branch stores into `{0}` what is better than the element"
        why = "an element that keeps what it holds keeps its adjoint"
        remark(span, "relaxations", what, why, Named(one.store.array))
        taken, better = _BETTER[one.choice.value.fn]
        out, inner, tie = (self.emitter.child() for _ in range(3))
        out.span = inner.span = span
        tie.span = one.store.span
        # which of two equal numbers is kept, and what becomes of nan, is as the function has it
        first = one.held if one.held_first else one.candidate
        type_ = self.types[one.choice.target]
        # loaded again, so that the adjoint of what the element holds is met on this way alone
        held = tie.let("t", Op("load", (Name(one.store.array), *one.store.index)), type_)
        both = tie.atom(Op("*", (Const(0.5), Op("+", (held, one.candidate)))))
        value = tie.let("t", Op("known", (first, both)), type_)
        tied = (*tie.out, replace(one.store, value=value))
        stored = (replace(one.store, value=one.candidate),)
        if one.held_first:
            test = out.let("taken", Op(taken, (one.candidate, one.held)), BOOL)
            strictly = inner.let("better", Op(better, (one.candidate, one.held)), BOOL)
            inner.add(If(strictly, stored, tied, one.store.span))
            out.add(If(test, tuple(inner.out), (), one.store.span))
        else:
            test = out.let("kept", Op(better, (one.held, one.candidate)), BOOL)
            equal = inner.let("tie", Op("==", (one.held, one.candidate)), BOOL)
            inner.add(If(equal, tied, stored, one.store.span))
            out.add(If(test, (), tuple(inner.out), one.store.span))
        return out.out


def _relaxations(block: Block, writer: _Writer) -> Iterator[_Relaxation]:
    places = {stmt.target: place for place, stmt in enumerate(block) if isinstance(stmt, Assign)}
    for last, store in enumerate(block):
        if not isinstance(store, Store) or store.accumulate or not isinstance(store.value, Name):
            continue
        choice = block[places[store.value.id]] if store.value.id in places else None
        if not isinstance(choice, Assign) or not _chooses(choice) or writer.uses[choice.target] > 1:
            continue
        type_ = writer.types[choice.target]
        assert isinstance(choice.value, Op)
        one, other = choice.value.args
        element = Op("load", (Name(store.array), *store.index))
        for held, candidate in ((one, other), (other, one)):
            first = places.get(held.id) if isinstance(held, Name) else None
            load = None if first is None else block[first]
            if not isinstance(load, Assign) or load.value != element or first is None or first >= last:
                continue
            alike = all(writer.types.get(name) == type_ for name in names_in(choice.value))
            if not isinstance(type_, Scalar) or not type_.is_float or not alike:
                continue
            between = block[first + 1 : last]
            if isinstance(held, Name) and _stands(between, store, writer) and _leads(candidate, block, store, writer):
                assert isinstance(candidate, Name)
                yield _Relaxation(choice, store, held, candidate, held == one)
                break


def _stands(between: Block, store: Store, writer: _Writer) -> bool:
    """Whether an element is what it was after some statements, and its subscripts are."""
    cls = writer.aliases.find(store.array)
    for stmt in walk(between):
        if any(writer.aliases.find(array) == cls for array in changed(stmt)):
            return False
        if any(Name(name) in store.index or name == store.array for name in writes(stmt)):
            return False
    return True


def _leads(candidate: Expr, block: Block, store: Store, writer: _Writer) -> bool:
    """Whether a number follows from another element of the array, within the block."""
    made = {stmt.target: stmt.value for stmt in block if isinstance(stmt, Assign)}
    cls = writer.aliases.find(store.array)
    wanted, seen = [*names_in(candidate)], set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in made:
            continue
        seen.add(name)
        value = made[name]
        if isinstance(value, Op) and value.fn == "load" and writer.aliases.find(next(names_in(value))) == cls:
            return True
        wanted += names_in(value)
    return False
