"""Drop statements that nobody needs.

A name is needed if something needed reads it: an update such as `s = s + x` does not keep
itself alive.  Memory is tracked per class of arrays that may share it; stores into parameters
are seen by the caller and stay.  Where each iteration of a loop has elements of its own, what an iteration
stores last is needed after the loop only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, Aliases, is_memory
from tapec.analyses.dependence import Affine
from tapec.analyses.facts import facts
from tapec.analyses.liveness import NameSets
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
    distinct,
    names_in,
    reads,
    same,
    walk,
    writes,
)
from tapec.syntax.types import Stack, Type

# a mask of names, and of classes of arrays for their contents
Live = int


def drop_dead_code(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function without statements whose effect nobody sees."""
    function = replace(function, body=distinct(function.body))
    worker = _Dead(function, constants)
    body, _ = worker.block(function.body, 0)
    return replace(function, body=body)


class _Dead:
    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.facts = facts(function)
        self.types: dict[str, Type] = function.types
        self.aliases: Aliases = self.facts.aliases
        self.names = NameSets()
        self.keys: dict[str, str] = {}
        self.visible = self.names.mask(
            self.key(name) for name in (*function.params, *constants) if is_memory(self.types.get(name))
        )
        # lists that a caller goes on with
        self.given = self.names.mask(name for name in function.params if isinstance(self.types.get(name), Stack))
        # of the function's own statements: what it reads, the contents that it touches; for a loop, the contents that
        # iterations keep apart, and what was needed at its head at the last visit
        self.read: dict[int, Live] = {}
        self.own: dict[int, Live] = {}
        self.touched: dict[int, tuple[tuple[str, tuple[Expr, ...]], ...]] = {}
        self.heads: dict[int, Live] = {}

    def key(self, name: str) -> str:
        """The liveness of an array's contents is that of its class."""
        found = self.keys.get(name)
        if found is None:
            found = self.keys[name] = f"[{self.aliases.find(name)}]"
        return found

    def bit(self, name: str) -> Live:
        return self.names.bit(name)

    def contents(self, name: str) -> Live:
        return self.names.bit(self.key(name))

    def reads(self, stmt: Stmt) -> Live:
        found = self.read.get(stmt.key)
        if found is None:
            found = self.read[stmt.key] = self.names.mask(self.needs(stmt))
        return found

    def needs(self, stmt: Stmt) -> Iterator[str]:
        """The names that a statement reads, and the classes whose contents it does."""
        yield from reads(stmt)
        if isinstance(stmt, Store):
            # what is stored may be a whole array
            yield from (self.key(name) for name in names_in(stmt.value) if is_memory(self.types.get(name)))
            return
        if isinstance(stmt, Assign) and not isinstance(stmt.value, Const):
            fn = stmt.value.fn if isinstance(stmt.value, Op) else ""
            if not fn or fn in VIEWS or fn in ("dim", "stride") or fn in ALLOCATIONS:
                # the contents matter only if the view's contents do: one class
                return
        yield from (self.key(name) for name in reads(stmt) if is_memory(self.types.get(name)))

    def block(self, block: Block, live: Live) -> tuple[Block, Live]:
        out: list[Stmt] = []
        for stmt in reversed(block):
            if type(stmt) is Assign:
                # most statements are
                bit = self.bit(stmt.target)
                if live & bit or _takes(stmt.value):
                    live = live & ~bit | self.reads(stmt)
                    out.append(stmt)
                continue
            kept, live = self.statement(stmt, live)
            out.extend(reversed(kept))
        kept_all = tuple(reversed(out))
        return block if same(kept_all, block) else kept_all, live

    def statement(self, stmt: Stmt, live: Live) -> tuple[list[Stmt], Live]:
        match stmt:
            case Call(targets=targets):
                # draws advance a stream; some callees write into what they are given
                random = stmt.function.startswith("np.random")
                needed = any(live & (self.bit(t) | self.contents(t)) for t in targets)
                seen = any((live | self.visible) & self.contents(array) for array in changed(stmt))
                if not random and not needed and not seen:
                    return [], live
                return [stmt], live & ~self.names.mask(targets) | self.reads(stmt)
            case Store(array=array):
                if not (live | self.visible) & self.contents(array):
                    return [], live
                return [stmt], live | self.reads(stmt)
            case If():
                return self.conditional(stmt, live)
            case For():
                return self.counted(stmt, live)
            case Loop():
                return self.endless(stmt, live)
            case Push(stack=stack):
                if not (live | self.given) & self.bit(stack):
                    return [], live
                return [stmt], live | self.reads(stmt)
            case Break():
                return [stmt], self.at_break
            case Raise():
                return [stmt], self.reads(stmt) | self.visible
            case Return() | Print():
                return [stmt], live | self.reads(stmt)
        return [stmt], live | self.reads(stmt)

    at_break: Live = 0

    def conditional(self, stmt: If, live: Live) -> tuple[list[Stmt], Live]:
        body, live_body = self.block(stmt.body, live)
        orelse, live_else = self.block(stmt.orelse, live)
        if isinstance(stmt.test, Const):
            return (list(body), live_body) if stmt.test.value else (list(orelse), live_else)
        if not body and not orelse:
            return [], live
        stays = body is stmt.body and orelse is stmt.orelse
        made = stmt if stays else If(stmt.test, body, orelse, stmt.span)
        return [made], live_body | live_else | self.reads(stmt)

    def counted(self, stmt: For, live: Live) -> tuple[list[Stmt], Live]:
        outer, self.at_break = self.at_break, live
        if stmt.key not in self.own:
            self.own[stmt.key] = self.apart(stmt)
        own = self.own[stmt.key]
        # what is needed around a loop only grows while the loops around it are visited anew
        head = live | self.heads.get(stmt.key, 0)
        while True:
            body, before = self.block(stmt.body, head)
            new = head | before & ~own & ~self.bit(stmt.var)
            if new == head:
                break
            head = new
        self.heads[stmt.key] = head
        head |= before & own
        self.at_break = outer
        # without a body it only leaves its variable behind, where that is one with what is read later
        if not live & self.bit(stmt.var) and all(isinstance(s, Break) for s in body):
            return [], live
        return [stmt if body is stmt.body else replace(stmt, body=body)], head | self.reads(stmt)

    def apart(self, stmt: For) -> Live:
        """Contents that no iteration leaves to another: every access has the loop's variable as one subscript."""
        places: dict[str, set[tuple[str, int]]] = {}
        var = stmt.var
        stmts = tuple(walk(stmt.body))
        # of what nobody stores in the loop nothing can be dropped
        stored = {self.key(inner.array) for inner in stmts if type(inner) is Store}
        if not stored or any(var in writes(inner) for inner in stmts):
            return 0
        for inner in stmts:
            for array, index in self.accesses(inner):
                key = self.key(array)
                if key in stored and places.get(key, True):
                    here = {(array, k) for k, sub in enumerate(index) if type(sub) is Name and sub.id == var}
                    places[key] = places.get(key, here) & here
            for name in writes(inner):
                if is_memory(self.types.get(name)):
                    places[self.key(name)] = set()
        own = self.names.mask(key for key, found in places.items() if found)
        # a variable that is below zero counts from the end: two iterations may mean one element
        return own if own and self.natural(stmt.var) else 0

    def natural(self, counter: str) -> bool:
        """Whether a loop's variable is known not to be negative."""
        return self.facts.dependence.minimum(Affine(counter, 0)) >= 0

    def accesses(self, stmt: Stmt) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
        """The arrays that a statement reads or writes, each with its subscripts; none for a whole array."""
        found = self.touched.get(stmt.key)
        if found is None:
            found = self.touched[stmt.key] = tuple(self._accesses(stmt))
        return found

    def _accesses(self, stmt: Stmt) -> Iterator[tuple[str, tuple[Expr, ...]]]:
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
        head = self.heads.get(stmt.key, 0)
        while True:
            body, before = self.block(stmt.body, head)
            if before | head == head:
                break
            head |= before
        self.heads[stmt.key] = head
        self.at_break = outer
        useless = not any(isinstance(s, Assign | Store | Push | Raise | Print | Call) for s in walk(body))
        if useless:
            return [], live
        return [stmt if body is stmt.body else Loop(body, stmt.span)], head


def _takes(value: Expr) -> bool:
    """Whether a list grows shorter, or a draw advances a stream, for all that come later."""
    return type(value) is Op and (value.fn == "pop" or value.fn.startswith("np.random"))
