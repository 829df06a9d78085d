"""Arrays that iterations of a checkpointed loop set anew, without reading what an earlier iteration left: of the last
one only.

    for t in checkpointed(range(n)):            for t in checkpointed(range(n)):
        z_1 = ...                                   z_1 = ...
        z = z_1                        ->           if t == n - 1:
    ... z ...                                           z = copy of z_1
                                                ... z ...

A snapshot then holds what `z` was before the loop, whatever the extents of `z_1` are; most often nothing, since a name
that the loop sets first has an empty array before.

The copy has to be as good as the array: it is the only name for it that is left, or nobody writes into the array later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import aliases, origins
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    changed,
    has_checkpoints,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Array
from tapec.transforms.emitter import Emitter


def of_last_iteration(function: Function) -> Function:
    """The function with such arrays set by the last iterations alone; see the module."""
    if not has_checkpoints(function.body):
        return function
    types = dict(function.types)
    worker = _LastIterations(function, Emitter(types, set(types)))
    body = worker.block(function.body)
    return function if body == function.body else replace(function, body=body, types=types)


class _LastIterations:
    """A function whose checkpointed loops set such arrays in their last iterations."""

    def __init__(self, function: Function, out: Emitter) -> None:
        self.function = function
        self.out = out

    def block(self, block: Block, nested: bool = False) -> Block:
        """A block; `nested` if it is in a loop."""
        found: list[Stmt] = []
        for stmt in block:
            around = nested or isinstance(stmt, For | Loop)
            stmt = map_blocks(stmt, lambda inner, around=around: self.block(inner, around))  # type: ignore[misc]
            late: tuple[Assign, ...] = ()
            if isinstance(stmt, For) and stmt.slots is not None:
                late = tuple(copy for copy in _late(stmt, self.out) if self.as_good(copy, stmt, nested))
                found += _guarded(stmt, late, self.out) if late else [stmt]
            else:
                found.append(stmt)
        return tuple(found)

    def as_good(self, copy: Assign, loop: For, nested: bool) -> bool:
        """Whether what follows a loop may have a copy in place of an array of the last iteration."""
        assert isinstance(copy.value, Name)
        inside = {stmt.key for stmt in walk(loop.body)}
        held = origins(_without(self.function.body, copy), self.function.types)
        own = held.get(copy.value.id, frozenset({copy.value.id}))
        made = {name for stmt in walk(loop.body) for name in writes(stmt)}
        others = (stmt for stmt in walk(self.function.body) if stmt.key not in inside)
        seen = {name for stmt in others for name in (*reads(stmt), *changed(stmt))}
        if own <= made and all(own.isdisjoint(held.get(name, {name})) for name in seen):
            return True
        found = aliases(self.function)
        written = {found.find(array) for stmt in self.later(loop, nested) for array in changed(stmt)}
        return found.find(copy.target) not in written

    def later(self, loop: For, nested: bool) -> Iterator[Stmt]:
        """The statements that may run when a loop has ended."""
        if nested:
            yield from walk(self.function.body)
            return
        inside, after = {stmt.key for stmt in walk((loop,))}, False
        for stmt in walk(self.function.body):
            if after and stmt.key not in inside:
                yield stmt
            after = after or stmt.key == loop.key


def _without(block: Block, left: Stmt) -> Block:
    return tuple(map_blocks(stmt, lambda inner: _without(inner, left)) for stmt in block if stmt.key != left.key)


def _ending(body: Block) -> Block:
    """What ends an iteration: names take what the next one begins with."""
    first = len(body)
    while first > 0 and isinstance(last := body[first - 1], Assign) and isinstance(last.value, Name | Const):
        first -= 1
    return body[first:]


def _late(loop: For, out: Emitter) -> tuple[Assign, ...]:
    """The copies at the end of an iteration that only what follows the loop reads."""
    used = {name for stmt in walk(loop.body) for name in (*reads(stmt), *changed(stmt))}
    ending = _ending(loop.body)
    carried = {name for stmt in ending for name in writes(stmt)}
    return tuple(
        stmt
        for stmt in ending
        if isinstance(stmt, Assign)
        and isinstance(stmt.value, Name)
        and stmt.target not in used
        and stmt.value.id not in carried
        and _in_rows(stmt, out)
        and _once(stmt, loop)
    )


def _in_rows(copy: Assign, out: Emitter) -> bool:
    """Whether both names are of arrays that a copy is of one type with."""
    assert isinstance(copy.value, Name)
    kinds = [out.types[copy.target], out.types[copy.value.id]]
    return all(isinstance(kind, Array) and (kind.layout == "C" or kind.ndim == 1) for kind in kinds)


def _once(copy: Assign, loop: For) -> bool:
    """Whether nothing else in the loop sets its target, or what it copies."""
    assert isinstance(copy.value, Name)
    targets = [name for stmt in walk(loop.body) for name in writes(stmt)]
    return targets.count(copy.target) == targets.count(copy.value.id) == 1


def _guarded(loop: For, late: tuple[Assign, ...], out: Emitter) -> list[Stmt]:
    before = out.child()
    before.span = loop.span
    last = before.let("last_iteration", Op("-", (loop.stop, Const(1))), INT64)
    inner, kept, ends = out.child(), out.child(), out.child()
    inner.span = kept.span = loop.span
    test = inner.let("t", Op("==", (Name(loop.var), last)), BOOL)
    left: list[Stmt] = []
    for copy in late:
        assert isinstance(copy.value, Name)
        type_ = out.types[copy.target]
        made = kept.let(copy.value.id, Op("copy", (copy.value,)), type_)
        joined = out.fresh(copy.target, type_)
        kept.assign(joined, made)
        left.append(Assign(joined, Name(copy.target), loop.span))
        ends.add(replace(copy, value=Name(joined)))
    body = tuple(stmt for stmt in loop.body if not any(stmt is copy for copy in late))
    place = len(body) - len(_ending(body))
    chosen = If(test, tuple(kept.out), tuple(left), loop.span)
    return [*before.out, replace(loop, body=(*body[:place], *inner.out, chosen, *body[place:], *ends.out))]
