"""Drop statements that nobody needs.

A name is needed if something needed reads it: an update such as `s = s + x` does not keep
itself alive.  Memory is tracked per class of arrays that may share it; stores into parameters
are seen by the caller and stay.  Where each trip of a loop has elements of its own, what a trip
stores last is needed after the loop only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.dependence import Affine, Dependence
from tapec.analyses.memory import ALLOCATIONS, VIEWS, Aliases, aliases, is_memory
from tapec.analyses.regions import regions
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    changed,
    names_in,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Type

Live = frozenset[str]


def drop_dead(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function without statements whose effect nobody sees."""
    worker = _Dead(function, constants)
    body, _ = worker.block(function.body, frozenset())
    return replace(function, body=body)


class _Dead:
    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.function = function
        self.dependence: Dependence | None = None
        self.types: dict[str, Type] = function.types
        self.aliases: Aliases = aliases(function)
        self.visible = frozenset(
            self.key(name) for name in (*function.params, *constants) if is_memory(self.types.get(name))
        )

    def key(self, name: str) -> str:
        """The liveness of an array's contents is that of its class."""
        return f"[{self.aliases.find(name)}]"

    def reads(self, stmt: Stmt) -> set[str]:
        found = set(reads(stmt))
        contents = {self.key(n) for n in found if is_memory(self.types.get(n))}
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
            fn = stmt.value.fn
            if fn in VIEWS or fn in ("dim", "stride") or fn in ALLOCATIONS:
                # the contents matter only if the view's contents do: one class
                return found
        if isinstance(stmt, Assign) and isinstance(stmt.value, Name):
            return found
        if isinstance(stmt, Store):
            return found
        return found | contents

    def block(self, block: Block, live: Live) -> tuple[Block, Live]:
        out: list[Stmt] = []
        for stmt in reversed(block):
            kept, live = self.statement(stmt, live)
            out.extend(reversed(kept))
        return tuple(reversed(out)), live

    def statement(self, stmt: Stmt, live: Live) -> tuple[list[Stmt], Live]:
        match stmt:
            case Assign(target=target):
                pops = isinstance(stmt.value, Op) and stmt.value.fn == "pop"
                if target not in live and not pops:
                    return [], live
                return [stmt], (live - {target}) | self.reads(stmt)
            case Call(targets=targets):
                # draws advance a stream; some callees write into what they are given
                random = stmt.function.startswith("np.random")
                needed = any(t in live or self.key(t) in live for t in targets)
                written = {self.key(array) for array in changed(stmt)}
                if not random and not needed and written.isdisjoint(live | self.visible):
                    return [], live
                return [stmt], (live - set(targets)) | self.reads(stmt)
            case Store(array=array):
                key = self.key(array)
                if key not in live and key not in self.visible:
                    return [], live
                return [stmt], live | self.reads(stmt)
            case If():
                return self.conditional(stmt, live)
            case For():
                return self.counted(stmt, live)
            case Loop():
                return self.endless(stmt, live)
            case Push(stack=stack):
                if stack not in live:
                    return [], live
                return [stmt], live | self.reads(stmt)
            case Break():
                return [stmt], self.at_break
            case Raise():
                return [stmt], frozenset(self.reads(stmt)) | self.visible
            case Return() | Print():
                return [stmt], live | self.reads(stmt)
        return [stmt], live | self.reads(stmt)

    at_break: Live = frozenset()

    def conditional(self, stmt: If, live: Live) -> tuple[list[Stmt], Live]:
        body, live_body = self.block(stmt.body, live)
        orelse, live_else = self.block(stmt.orelse, live)
        if isinstance(stmt.test, Const):
            return (list(body), live_body) if stmt.test.value else (list(orelse), live_else)
        if not body and not orelse:
            return [], live
        return [If(stmt.test, body, orelse, stmt.span)], live_body | live_else | set(names_in(stmt.test))

    def counted(self, stmt: For, live: Live) -> tuple[list[Stmt], Live]:
        outer, self.at_break = self.at_break, live
        own = self.apart(stmt)
        head = live
        while True:
            body, before = self.block(stmt.body, head)
            new = head | (before - own - {stmt.var})
            if new == head:
                break
            head = new
        head |= before & own
        self.at_break = outer
        # without a body it only leaves its variable behind, where that is one with what is read later
        if stmt.var not in live and all(isinstance(s, Break) for s in body):
            return [], live
        return [replace(stmt, body=body)], head | set(reads(stmt))

    def apart(self, stmt: For) -> Live:
        """Contents that no trip leaves to another: every access has the loop's variable as one subscript."""
        places: dict[str, set[tuple[str, int]]] = {}
        for inner in walk(stmt.body):
            if stmt.var in writes(inner):
                return frozenset()
            for array, index in self.accesses(inner):
                here = {(array, k) for k, sub in enumerate(index) if sub == Name(stmt.var)}
                key = self.key(array)
                places[key] = places.get(key, here) & here
            for name in writes(inner):
                if is_memory(self.types.get(name)):
                    places[self.key(name)] = set()
        own = frozenset(key for key, found in places.items() if found)
        # a variable that is below zero counts from the end: two trips may mean one element
        return own if own and self.natural(stmt.var) else frozenset()

    def natural(self, counter: str) -> bool:
        """Whether a loop's variable is known not to be negative."""
        if self.dependence is None:
            self.dependence = Dependence(regions(self.function))
        return self.dependence.minimum(Affine(counter, 0)) >= 0

    def accesses(self, stmt: Stmt) -> Iterator[tuple[str, tuple[Expr, ...]]]:
        """The arrays that a statement reads or writes, each with its subscripts; none for a whole array."""
        match stmt:
            case Store(array=array, index=index):
                yield array, index
            case Assign(value=Op(fn="load", args=(Name(id=array), *index))):
                yield array, tuple(index)
            case Assign(value=Op(fn="dim" | "stride")):
                pass
            case _:
                for name in reads(stmt):
                    if is_memory(self.types.get(name)):
                        yield name, ()

    def endless(self, stmt: Loop, live: Live) -> tuple[list[Stmt], Live]:
        outer, self.at_break = self.at_break, live
        head: Live = frozenset()
        while True:
            body, before = self.block(stmt.body, head)
            if before <= head:
                break
            head = head | before
        self.at_break = outer
        useless = not any(isinstance(s, Assign | Store | Push | Raise | Print | Call) for s in walk(body))
        if useless:
            return [], live
        return [Loop(body, stmt.span)], head
