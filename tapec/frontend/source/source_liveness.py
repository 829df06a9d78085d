"""Which names of a Python function may still be read after each statement.

Works on the tree that `tail_exits` returns.  Names that nested functions read count as live
everywhere: such a function may be called at any later point.
"""

from __future__ import annotations

from typing import Any

import gast

Names = frozenset[str]


class SourceLiveness:
    """`after[id(stmt)]`: names live after a statement; `head[id(loop)]`: live where an iteration begins."""

    def __init__(self, body: list[Any], live_out: Names):
        self.after: dict[int, Names] = {}
        self.head: dict[int, Names] = {}
        # what a statement without blocks sets and reads: loops visit theirs again and again
        self.plain: dict[int, tuple[Names, Names]] = {}
        self.always = _free_names_of_nested(body)
        self.block(body, live_out | self.always, None)

    def block(self, stmts: list[Any], live: Names, at_break: Names | None) -> Names:
        for stmt in reversed(stmts):
            self.after[id(stmt)] = live
            live = self.statement(stmt, live, at_break) | self.always
        return live

    def statement(self, stmt: Any, live: Names, at_break: Names | None) -> Names:
        match stmt:
            case gast.Break():
                return at_break or frozenset()
            case gast.Raise():
                return _reads(stmt)
            case gast.If():
                body = self.block(stmt.body, live, at_break)
                orelse = self.block(stmt.orelse, live, at_break)
                return body | orelse | _reads(stmt.test) - _stores(stmt.test)
            case gast.For():
                targets = _stores(stmt.target)
                head = self.fixpoint(stmt, live, lambda h: self.block(stmt.body, h, live) - targets)
                return head | _reads(stmt.iter)
            case gast.While():
                test = _reads(stmt.test)
                return self.fixpoint(stmt, live, lambda h: self.block(stmt.body, h, live) | test)
            case gast.With():
                inner = self.block(stmt.body, live, at_break)
                for item in stmt.items:
                    inner = inner | _reads(item.context_expr)
                return inner
            case gast.Try():
                # any of the blocks may be left before its end
                live = self.block(stmt.finalbody, live, at_break)
                found = live | self.block(stmt.body + stmt.orelse, live, at_break)
                for handler in stmt.handlers:
                    caught = frozenset() if handler.type is None else _reads(handler.type)
                    found = found | caught | self.block(handler.body, live, at_break)
                return found
            case gast.FunctionDef():
                return (live - {stmt.name}) | _reads(stmt.args)
        own = self.plain.get(id(stmt))
        if own is None:
            own = self.plain[id(stmt)] = _stores(stmt), _reads(stmt)
        stored, read = own
        return (live - stored) | read

    def fixpoint(self, stmt: Any, live: Names, body: Any) -> Names:
        head = live
        while True:
            new = head | body(head)
            self.head[id(stmt)] = new
            if new == head:
                return head
            head = new


def assigned(stmts: list[Any]) -> Names:
    """The names that a block may bind, nested statements included, nested functions not."""
    found: set[str] = set()
    for stmt in stmts:
        found |= _stores(stmt)
    return frozenset(found)


def _stores(node: Any) -> Names:
    found: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, gast.FunctionDef):
            found.add(current.name)
            continue
        if isinstance(current, gast.Lambda):
            continue
        if isinstance(current, gast.Name) and isinstance(current.ctx, (gast.Store, gast.Del)):
            found.add(current.id)
        if isinstance(current, (gast.ListComp, gast.GeneratorExp, gast.DictComp, gast.SetComp)):
            continue
        if isinstance(current, gast.alias):
            found.add(current.asname or current.name.partition(".")[0])
        pending.extend(gast.iter_child_nodes(current))
    return frozenset(found)


def _reads(node: Any) -> Names:
    found = {
        child.id for child in gast.walk(node) if isinstance(child, gast.Name) and isinstance(child.ctx, gast.Load)
    }
    if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
        found.add(node.target.id)
    return frozenset(found)


def _free_names_of_nested(body: list[Any]) -> Names:
    found: set[str] = set()
    for stmt in body:
        for node in gast.walk(stmt):
            if isinstance(node, (gast.FunctionDef, gast.Lambda)):
                found |= _reads(node)
    return frozenset(found)
