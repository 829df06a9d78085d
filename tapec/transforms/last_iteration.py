"""Arrays that iterations of a checkpointed loop set anew, without reading what an earlier iteration left: of the last
one only.

    for t in checkpointed(range(n)):            for t in checkpointed(range(n)):
        z_1 = ...                                   z_1 = ...
        z = z_1                        ->           if t == n - 1:
    ... z ...                                           z = copy of z_1
                                                ... z ...

A snapshot then holds what `z` was before the loop, whatever the extents of `z_1` are; most often nothing, since a name
that the loop sets first has an empty array before.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
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
    out = Emitter(types, set(types))
    body = _block(function.body, out)
    return function if body == function.body else replace(function, body=body, types=types)


def _block(block: Block, out: Emitter) -> Block:
    found: list[Stmt] = []
    for stmt in block:
        stmt = map_blocks(stmt, lambda inner: _block(inner, out))
        late = _late(stmt, out) if isinstance(stmt, For) and stmt.slots is not None else ()
        found += _guarded(stmt, late, out) if late else (stmt,)  # type: ignore[arg-type]
    return tuple(found)


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
