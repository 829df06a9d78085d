"""Arrays that are copied into larger ones when they are full share one shadow with those.

    room = np.empty(4)                           room = np.empty(4)
    while todo:                                  while todo:
        if count == len(room):                       if count == len(room):
            more = np.empty(2 * count)                   more = np.empty(2 * count)
            for k in range(count):         ->            for k in range(count):
                more[k] = room[k]                            more[k] = room[k]
            room = more                                  room = more
        room[count] = x                              room[count] = x
                                                 room_bar = np.zeros(len(room))

An element of the larger array is the element of the one before, and nobody asks for that again
(`analyses/array_growth.py`): so it is with their adjoints, and the shadow of the last array, the largest, is that of
all of them.  The growth has no adjoint then, no shadow is kept for iterations that did not let the array grow, and
lists that a loop appends to cost what arrays cost.

`with_growth` puts `grown` in place of the branches, and `expanded` puts the branches back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tapec.analyses.array_growth import Growth, Growths
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Function,
    If,
    Name,
    Op,
    Stmt,
    has_checkpoints,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.transforms.emitter import Emitter


@dataclass(frozen=True)
class GrownShadow:
    """A function in which arrays grow.

    lasts    the names of arrays that take one another's place: the name of the last of them
    written  the branches in which they grow, by the name that stands for the array after it
    """

    function: Function
    lasts: dict[str, str] = field(default_factory=dict)
    written: dict[str, If] = field(default_factory=dict)


def with_growth(function: Function) -> GrownShadow:
    """The function with `grown` in place of branches; see the module."""
    growths = Growths(function)
    if not growths.found or has_checkpoints(function.body):
        return GrownShadow(function)
    types = dict(function.types)
    emitter = Emitter(types, set(types))
    kept: dict[int, Growth] = {}
    after: dict[int, list[Assign]] = {}
    lasts: dict[str, str] = {}
    for family in growths.all():
        alone = all(len(growths.found[stmt.key].targets) == 1 for stmt in growths.stmts if family.grows(stmt))
        floats = all(types[name].is_float for name in family.names)
        found = family.last() if alone and floats else None
        if found is None:
            continue
        stmt, name = found
        span = getattr(stmt, "span", None)
        last = emitter.fresh("grown", types[name])
        after.setdefault(stmt.key, []).append(Assign(last, Name(name), span))
        lasts |= dict.fromkeys((*family.names, last), last)
        kept |= {at: one for at, one in growths.found.items() if one.targets[0] in family.names}
        why = "an element of the larger array is the element of the one before"
        remark(span, "grown_shadows", "one shadow for `{0}`, however often it grows", why, Named(name))
    if not kept:
        return GrownShadow(function)
    body = _with_grown(function.body, kept, after)
    written = {one.targets[0]: one.stmt for one in kept.values()}
    return GrownShadow(replace(function, body=body, types=types), lasts, written)


def _with_grown(block: Block, kept: dict[int, Growth], after: dict[int, list[Assign]]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        one = kept.get(stmt.key)
        if one is None:
            out.append(map_blocks(stmt, lambda inner: _with_grown(inner, kept, after)))
        else:
            parts = list(walk((stmt,)))
            made = {name for part in parts for name in writes(part)}
            needed = dict.fromkeys(name for part in parts for name in reads(part))
            others = (Name(name) for name in needed if name not in made and name not in one.sources)
            out.append(Assign(one.targets[0], Op("grown", (Name(one.sources[0]), *others)), one.stmt.span))
        out += after.get(stmt.key, ())
    return tuple(out)


def expanded(block: Block, written: dict[str, If]) -> Block:
    """A block with the branches in place of `grown`."""
    if not written:
        return block
    return tuple(
        written[stmt.target]
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "grown"
        else map_blocks(stmt, lambda inner: expanded(inner, written))
        for stmt in block
    )
