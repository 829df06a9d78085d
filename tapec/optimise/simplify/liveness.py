"""Which names are read later, at every statement.

Sets of names are bit masks: functions have thousands of names, and unions must stay cheap.  Facts
are kept by the identity of a statement, so each statement of the tree must be an object of its
own: `distinct` sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    For,
    Function,
    If,
    Loop,
    Raise,
    Stmt,
    Store,
    map_blocks,
    reads,
    same,
    writes,
)


class NameSets:
    """Numbers names, so that sets of them are masks."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}

    def bit(self, name: str) -> int:
        found = self._bits.get(name)
        if found is None:
            found = self._bits[name] = 1 << len(self._bits)
        return found

    def mask(self, names: Iterable[str]) -> int:
        total, bits = 0, self._bits
        for name in names:
            total |= bits.get(name) or self.bit(name)
        return total


class Liveness:
    """Masks of names that may be read before they are set again.

    after[id(stmt)]  after a statement
    head[id(loop)]   where an iteration begins, before the loop's variable is set
    iteration[id(loop)]   the same, after it is set
    entry            at the start of the function
    """

    def __init__(self, function: Function) -> None:
        self.names = NameSets()
        self.after: dict[int, int] = {}
        self.head: dict[int, int] = {}
        self.iteration: dict[int, int] = {}
        # of each statement: what it reads, and all but what it sets; loops visit theirs again and again
        self._own: dict[int, tuple[int, int]] = {}
        self.entry = self._block(function.body, 0, 0)

    def live_after(self, stmt: Stmt, name: str) -> bool:
        return bool(self.after[id(stmt)] & self.names.bit(name))

    def _block(self, block: Block, live: int, at_break: int) -> int:
        for stmt in reversed(block):
            key = id(stmt)
            self.after[key] = live
            own = self._own.get(key)
            if own is None:
                own = self._own[key] = self.names.mask(reads(stmt)), ~self.names.mask(writes(stmt))
            read, unset = own
            plain = type(stmt) is Assign or type(stmt) is Store
            live = live & unset | read if plain else self._statement(stmt, live, at_break, read, unset)
        return live

    def _statement(self, stmt: Stmt, live: int, at_break: int, read: int, unset: int) -> int:
        match stmt:
            case If(body=body, orelse=orelse):
                return self._block(body, live, at_break) | self._block(orelse, live, at_break) | read
            case For(body=body) | Loop(body=body):
                # the loop's own statements keep what an earlier pass over it found: the head only grows
                head = self.head.get(id(stmt), 0) | (live if isinstance(stmt, For) else 0)
                while True:
                    self.iteration[id(stmt)] = self._block(body, head, live)
                    before = self.iteration[id(stmt)] & unset
                    if before | head == head:
                        break
                    head |= before
                self.head[id(stmt)] = head
                return head | read
            case Break():
                return at_break
            case Raise():
                return read
        return live & unset | read


def distinct(block: Block, seen: set[int] | None = None) -> Block:
    """The same block with every statement an object of its own; itself if that is so already."""
    seen = set() if seen is None else seen
    out: list[Stmt] = []
    for stmt in block:
        if type(stmt) is If or type(stmt) is For or type(stmt) is Loop:
            stmt = map_blocks(stmt, lambda block: distinct(block, seen))
        if id(stmt) in seen:
            stmt = replace(stmt)
        seen.add(id(stmt))
        out.append(stmt)
    return block if same(block, found := tuple(out)) else found
