"""`try` of compiled functions: what a `raise` inside it leads to, as branches.

    try:                                $raised1 = 0
        if x < 0:                       try:
            raise ValueError                if x < 0:
        y = np.sqrt(x)                          $raised1 = 1
    except ValueError:                      if $raised1 == 0:
        y = 0.0                                 y = np.sqrt(x)
                                        if $raised1 == 1:
                                            y = 0.0

A `raise` that stands in the body itself becomes a number, and what it passes over is guarded.  Whatever else Python
may raise in the body is an exception of the derivative, too, which nothing catches.  Where a handler would take what
operations on numbers raise, the body stays a `try`, without handlers: it has tests of them
(`operations/python_errors.py`).  A `try` of another form stays as it is, with the reason, and is refused where it is
met.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Iterator
from typing import Any

import gast

from tapec.frontend.source.tail_exits import Statements, assign, constant, equals, if_

# what operations on Python's numbers and subscripts raise
_IMPLICIT = (ArithmeticError, ValueError, LookupError)


class _Stays(Exception):
    """A `try` that cannot be written as branches; says why."""


def without_caught(stmts: Statements) -> Statements:
    """The statements with every `try` of their own written as branches; functions inside are left alone."""
    if not any(isinstance(node, gast.Try) for stmt in stmts for node in gast.walk(stmt)):
        return stmts
    return _Rewriter().block(stmts)


class _Rewriter:
    def __init__(self) -> None:
        self.count = itertools.count(1)

    def block(self, stmts: Statements) -> Statements:
        out: Statements = []
        for stmt in stmts:
            if isinstance(stmt, gast.Try):
                try:
                    out += self.branches(stmt)
                except _Stays as reason:
                    stmt.stays = str(reason)
                    out.append(stmt)
            else:
                out.append(_with_blocks(stmt, self.block))
        return out

    def branches(self, stmt: gast.Try) -> Statements:
        if any(not isinstance(one, gast.Pass) for one in stmt.finalbody) and _leaves(stmt):
            raise _Stays("`return`, `break` or `continue` leads through its `finally`")
        for handler in stmt.handlers:
            name = getattr(handler.name, "id", handler.name)
            if name is not None and any(_names(inner, name) for inner in handler.body):
                raise _Stays(f"its handler reads `{name}`")
        body = self.block(stmt.body)
        raises = list(_raises(body))
        flag = f"$raised{next(self.count)}"
        numbers = {id(one): number for number, one in enumerate(raises, 1)}
        chosen = [_handler(stmt.handlers, one) for one in raises]
        body = _guarded(body, flag, numbers) if raises else body
        if any(_catches(handler, cls) for handler in stmt.handlers for cls in _IMPLICIT):
            body = [gast.copy_location(gast.Try(body, [], [], []), stmt)]
        orelse = self.block(stmt.orelse)
        after: Statements = orelse
        for number, (one, handler) in reversed(list(enumerate(zip(raises, chosen, strict=True), 1))):
            caught = self.block(_again(handler.body, one)) if handler is not None else [one]
            after = [if_(equals(flag, number, stmt), caught, after, stmt)]
        begun = [assign(flag, constant(0, stmt), stmt)] if raises else []
        return [*begun, *body, *after, *self.block(stmt.finalbody)]


def _raises(stmts: Statements) -> Iterator[Any]:
    """The `raise` statements of blocks, but for those in functions and in a `try` that stays."""
    for stmt in stmts:
        if isinstance(stmt, gast.Raise):
            yield stmt
        elif isinstance(stmt, gast.For | gast.While) and stmt.orelse and any(_raises(stmt.body)):
            raise _Stays("it raises inside a loop with `else`")
        for block in _blocks(stmt):
            yield from _raises(block)


def _blocks(stmt: Any) -> list[Statements]:
    if isinstance(stmt, gast.If | gast.For | gast.While):
        return [stmt.body, stmt.orelse]
    if isinstance(stmt, gast.With) or _is_body(stmt):
        return [stmt.body]
    return []


def _is_body(stmt: Any) -> bool:
    """Whether a `try` has been written as branches; one that stays is left as it is."""
    return isinstance(stmt, gast.Try) and not (stmt.handlers or stmt.finalbody)


def _with_blocks(stmt: Any, change: Any) -> Any:
    if isinstance(stmt, gast.If):
        return gast.copy_location(gast.If(stmt.test, change(stmt.body), change(stmt.orelse)), stmt)
    if isinstance(stmt, gast.For):
        return gast.copy_location(
            gast.For(stmt.target, stmt.iter, change(stmt.body), change(stmt.orelse), None), stmt
        )
    if isinstance(stmt, gast.While):
        return gast.copy_location(gast.While(stmt.test, change(stmt.body), change(stmt.orelse)), stmt)
    if isinstance(stmt, gast.With):
        return gast.copy_location(gast.With(stmt.items, change(stmt.body), None), stmt)
    if _is_body(stmt):
        return gast.copy_location(gast.Try(change(stmt.body), [], [], []), stmt)
    return stmt


def _guarded(stmts: Statements, flag: str, numbers: dict[int, int]) -> Statements:
    """Statements in which a `raise` sets `flag`, and what it passes over is not run."""
    out: Statements = []
    for place, stmt in enumerate(stmts):
        if isinstance(stmt, gast.Raise):
            return [*out, assign(flag, constant(numbers[id(stmt)], stmt), stmt)]
        if not any(_raises([stmt])):
            out.append(stmt)
            continue
        made = _with_blocks(stmt, lambda block: _guarded(block, flag, numbers))
        if isinstance(stmt, gast.For | gast.While):
            left = if_(equals(flag, 0, stmt), [], [gast.copy_location(gast.Break(), stmt)], stmt)
            made.body.append(left)
        out.append(made)
        rest = stmts[place + 1 :]
        return [*out, if_(equals(flag, 0, stmt), _guarded(rest, flag, numbers), [], stmt)] if rest else out
    return out


def _handler(handlers: list[Any], stmt: gast.Raise) -> Any:
    """The handler that a `raise` leads to; None if there is none."""
    name = stmt.exc.func if isinstance(stmt.exc, gast.Call) else stmt.exc
    if name is None:
        raise _Stays("a bare `raise` stands in it")
    known = _class(name)
    for handler in handlers:
        for one in _types(handler):
            cls = _class(one)
            if cls in (Exception, BaseException) or gast.dump(one) == gast.dump(name):
                return handler
            if cls is None or known is None:
                raise _Stays("whether a handler takes what it raises depends on classes that are not Python's own")
            if issubclass(known, cls):
                return handler
    return None


def _types(handler: Any) -> list[Any]:
    if handler.type is None:
        return [gast.Name("BaseException", gast.Load(), None, None)]
    return list(handler.type.elts) if isinstance(handler.type, gast.Tuple) else [handler.type]


def _class(name: Any) -> type[BaseException] | None:
    """A class of exceptions of Python's own, by its name."""
    found = getattr(builtins, name.id, None) if isinstance(name, gast.Name) else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _catches(handler: Any, cls: type[BaseException]) -> bool:
    """Whether a handler may take exceptions of a class of Python's own."""
    if handler.type is not None and not isinstance(handler.type, gast.Tuple | gast.Name | gast.Attribute):
        return True
    for one in _types(handler):
        own = _class(one)
        # a name that is not Python's is a class of NumPy's or of the user's, unless it stands for several
        if isinstance(one, gast.Name) and own is None:
            return True
        if own is not None and (issubclass(own, cls) or issubclass(cls, own)):
            return True
    return False


def _again(stmts: Statements, raised: gast.Raise) -> Statements:
    """A handler in which a bare `raise` raises what was caught."""
    out: Statements = []
    for stmt in stmts:
        if isinstance(stmt, gast.Raise) and stmt.exc is None:
            out.append(gast.copy_location(gast.Raise(raised.exc, None), stmt))
        else:
            out.append(_with_blocks(stmt, lambda block: _again(block, raised)))
    return out


def _leaves(stmt: gast.Try) -> bool:
    blocks = [*stmt.body, *stmt.orelse, *(one for handler in stmt.handlers for one in handler.body)]
    exits = gast.Return | gast.Break | gast.Continue
    return any(isinstance(node, exits) for one in blocks for node in gast.walk(one))


def _names(node: Any, name: str) -> bool:
    return any(isinstance(one, gast.Name) and one.id == name for one in gast.walk(node))
