"""What of an iteration is run again: the statements that the reversed ones need.

What an iteration computes for the next one, or for nobody, may read what the reverse sweep does not have.

Weiser, Program slicing, IEEE TSE SE-10 (1984) 352-357.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapec.analyses.aliases import aliases, is_memory
from tapec.syntax.core import (
    Block,
    Break,
    For,
    Function,
    If,
    Loop,
    Note,
    Push,
    Stmt,
    blocks,
    changed,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Type


def needed_of(again: Sequence[Stmt], reversed_: Sequence[Stmt], types: Mapping[str, Type]) -> Block:
    """Those statements of an iteration that give what its reversed statements read."""
    classes = aliases(Function("", (), (*again, *reversed_), dict(types)))

    def keys(names: Sequence[str]) -> set[str]:
        """Names, and the classes of the arrays among them."""
        return {*names, *(f"[{classes.find(name)}]" for name in names if is_memory(types.get(name)))}

    needed = keys([name for stmt in walk(reversed_) for name in reads(stmt)])
    kept: set[int] = set()

    def visit(block: Sequence[Stmt]) -> bool:
        """Keep what gives something needed, and what decides whether it runs; whether anything is kept."""
        return any([keep(stmt) for stmt in block])

    def keep(stmt: Stmt) -> bool:
        inside = any([visit(block) for block in blocks(stmt)])
        if stmt.key not in kept:
            stored = changed(stmt) + ((stmt.stack,) if isinstance(stmt, Push) else ())
            if not inside and needed.isdisjoint((*writes(stmt), *(f"[{classes.find(name)}]" for name in stored))):
                return False
            kept.add(stmt.key)
            needed.update(keys([name for one in (stmt, *_exits(stmt)) for name in reads(one)]))
            kept.update(one.key for one in _exits(stmt))
        return True

    while True:
        before = len(kept), len(needed)
        visit(again)
        if (len(kept), len(needed)) == before:
            return _kept(again, kept)


def _exits(loop: Stmt) -> list[Stmt]:
    """The branches that may leave a loop."""
    if not isinstance(loop, For | Loop):
        return []
    return [stmt for stmt in walk(loop.body) if isinstance(stmt, If) and any(type(s) is Break for s in walk((stmt,)))]


def _kept(block: Sequence[Stmt], kept: set[int]) -> Block:
    found = (stmt for stmt in block if stmt.key in kept or isinstance(stmt, Break | Note))
    return tuple(map_blocks(stmt, lambda inner: _kept(inner, kept)) for stmt in found)
