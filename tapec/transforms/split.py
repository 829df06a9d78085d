"""Split reversal: the two sweeps as two functions.

The augmented primal runs the forward sweep and returns, with the results, the residuals: all
names that the reverse sweep reads.  The pullback takes them, and the adjoints of the results.  It
writes into some of them (shadows), so each pull needs those of its own.  Shadows that the forward
sweep does not touch are made by the pullback.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.aliases import VIEWS, aliases, is_memory
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Push,
    Return,
    Stmt,
    Store,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Stack
from tapec.transforms.reverse import Reversed


@dataclass(frozen=True)
class Split:
    """An augmented primal and its pullback.

    augmented  returns the results of the primal, then the residuals
    pullback   takes the residuals and the seeds; returns the adjoints of the sources
    kept       names of the residuals that the pullback only reads
    state      those that it writes into, and those that may share memory with one
    """

    augmented: Function
    pullback: Function
    kept: tuple[str, ...]
    state: tuple[str, ...]


class ListOfArrays(Exception):
    """A residual is a list of arrays, which cannot leave compiled code."""


def split(swept: Reversed, name: str, constants: frozenset[str]) -> Split:
    """The sweeps of `reverse` as two functions, `NAME_augmented` and `NAME_pullback`.

    raises  ListOfArrays
    """
    forward, late = _later(swept)
    backward = (*late, *swept.backward)
    exposed: dict[str, None] = {}
    known = _exposed(backward, frozenset((*constants, *swept.seeds)), exposed)
    exposed.update(dict.fromkeys(a.id for a in swept.adjoints if isinstance(a, Name) and a.id not in known))
    outer = {*swept.params, *(made for stmt in walk(forward) for made in writes(stmt))}
    residuals = [n for n in exposed if n in outer]
    if any(isinstance(kind := swept.types[n], Stack) and isinstance(kind.element, Array) for n in residuals):
        raise ListOfArrays
    whole = Function(name, swept.params, (*forward, *backward), swept.types)
    groups = _sharing(whole, residuals)
    changed = _written(whole, backward)
    changing = frozenset(n for group in groups if group & changed for n in group)
    kept = tuple(n for n in residuals if n not in changing)
    state = tuple(n for n in residuals if n in changing)
    values = (*swept.values, *(Name(n) for n in (*kept, *state)))
    pullback = Function(
        f"{name}_pullback",
        (*kept, *state, *swept.seeds),
        (*backward, Return(swept.adjoints)),
        swept.types,
        shared=tuple(group for group in groups if len(group) > 1),
    )
    augmented = Function(f"{name}_augmented", swept.params, (*forward, Return(values)), swept.types)
    return Split(augmented, pullback, kept, state)


def _exposed(block: Block, known: frozenset[str], found: dict[str, None]) -> frozenset[str]:
    """Collect the names that a block may read before it sets them; returns what is set after it."""
    for stmt in block:
        found.update(dict.fromkeys(name for name in reads(stmt) if name not in known))
        match stmt:
            case If(body=body, orelse=orelse):
                known = _exposed(body, known, found) & _exposed(orelse, known, found)
            case For(var=var, body=body):
                _exposed(body, known | {var}, found)
            case Loop(body=body):
                _exposed(body, known, found)
            case _:
                known = known.union(writes(stmt))
    return known


def _later(swept: Reversed) -> tuple[Block, Block]:
    """The forward sweep without the allocations and views that only the reverse sweep uses, and those."""
    count: dict[str, int] = {}
    for stmt in walk((*swept.forward, *swept.backward)):
        for name in writes(stmt):
            count[name] = count.get(name, 0) + 1
    needed = {a.id for a in swept.values if isinstance(a, Name)}
    stays: list[Stmt] = []
    late: list[Stmt] = []
    for stmt in reversed(swept.forward):
        if _movable(stmt) and all(count.get(n, 0) <= 1 for n in (*writes(stmt), *reads(stmt))):
            (target,) = writes(stmt)
            if target not in needed:
                late.append(stmt)
                continue
        if isinstance(stmt, Note):
            continue
        stays.append(stmt)
        needed.update(read for inner in walk((stmt,)) for read in reads(inner))
    return tuple(reversed(stays)), tuple(reversed(late))


def _movable(stmt: Stmt) -> bool:
    match stmt:
        case Assign(value=Op(fn=fn)):
            return fn in ("zeros", "dim") or fn in VIEWS
    return False


def _sharing(whole: Function, residuals: list[str]) -> list[frozenset[str]]:
    """Residual arrays by the memory that they may share."""
    classes = aliases(whole)
    groups: dict[str, set[str]] = {}
    for name in residuals:
        if isinstance(whole.types[name], Array):
            groups.setdefault(classes.find(name), set()).add(name)
    return [frozenset(group) for group in groups.values()]


def _written(whole: Function, backward: Block) -> frozenset[str]:
    """All names whose memory the reverse sweep may change."""
    classes = aliases(whole)
    changed = set()
    for stmt in walk(backward):
        match stmt:
            case Store(array=name) | Push(stack=name) | Assign(value=Op(fn="pop", args=(Name(id=name),))):
                changed.add(classes.find(name))
            case Call(args=args):
                arrays = [a.id for a in args if isinstance(a, Name) and is_memory(whole.types.get(a.id))]
                changed.update(classes.find(name) for name in arrays)
    return frozenset(n for n in whole.types if is_memory(whole.types[n]) and classes.find(n) in changed)

