"""Which names are read later, at every statement.

Sets of names are bit masks: functions have thousands of names, and unions must stay cheap.  Facts
are kept by the key of a statement, so each statement of the tree must have a key of its own:
`distinct` sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    reads,
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

    after[stmt.key]  after a statement
    head[loop.key]   where an iteration begins, before the loop's variable is set
    iteration[loop.key]   the same, after it is set
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
        return bool(self.after[stmt.key] & self.names.bit(name))

    def live_at_head(self, loop: For | Loop, name: str) -> bool:
        return bool(self.head[loop.key] & self.names.bit(name))

    def _block(self, block: Block, live: int, at_break: int) -> int:
        for stmt in reversed(block):
            key = stmt.key
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
                head = self.head.get(stmt.key, 0) | (live if isinstance(stmt, For) else 0)
                while True:
                    self.iteration[stmt.key] = self._block(body, head, live)
                    before = self.iteration[stmt.key] & unset
                    if before | head == head:
                        break
                    head |= before
                self.head[stmt.key] = head
                return head | read
            case Break():
                return at_break
            case Raise():
                return read
        return live & unset | read
