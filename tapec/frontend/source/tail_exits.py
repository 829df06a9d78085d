"""Bring every `return`, `break` and `continue` into tail position.

Afterwards nothing follows a `break` inside its loop's body, there is no `continue` and no loop `else`,
and `return` is an assignment to `$return` after which nothing more runs.  Names with a `$` cannot
collide with the user's.

    for i in range(n):              for i in range(n):
        if x[i] < 0:                    if x[i] < 0:
            continue                        pass
        s += x[i]                       else:
                                            s += x[i]

Code after an `if` moves into the branch that goes on.  Where a branch leaves on some of its own ways
only, a number `$exit` remembers how it was left, and the code after it is guarded instead of doubled.
So it is for what follows a `with` or `try` that may be left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gast

from tapec.frontend.source.match_statement import without_match

Statements = list[Any]

RETURN = "$return"
LEFT = "$left"
DONE = "$done"


def tail_exits(body: Statements) -> Statements:
    """The body of a function with all its exits in tail position."""
    return _Rewriter().sequence(without_match(body), None)


class _Loop:
    """The loop that encloses a statement, with the flags that it needs."""

    def __init__(self, broke: str | None):
        self.broke = broke


class _Rewriter:
    def __init__(self) -> None:
        self.count = itertools.count(1)

    def sequence(self, stmts: Statements, loop: _Loop | None) -> Statements:
        out: Statements = []
        for position, stmt in enumerate(stmts):
            rest = stmts[position + 1 :]
            if isinstance(stmt, gast.Return):
                value = stmt.value or constant(None, stmt)
                out += [assign(RETURN, value, stmt), _done(stmt)]
                if loop is not None:
                    out += [assign(LEFT, constant(True, stmt), stmt), gast.copy_location(gast.Break(), stmt)]
                return out
            if isinstance(stmt, gast.Break):
                if loop is not None and loop.broke:
                    out.append(assign(loop.broke, constant(True, stmt), stmt))
                out.append(stmt)
                return out
            if isinstance(stmt, gast.Continue):
                return out
            if isinstance(stmt, gast.Raise):
                out.append(stmt)
                return out
            if isinstance(stmt, gast.If) and _leaves([stmt]):
                return out + self.branch(stmt, rest, loop)
            if isinstance(stmt, (gast.For, gast.While)):
                rewritten, after, leaves = self.loop(stmt)
                out += rewritten
                rest = after + rest
                if not leaves:
                    return out + self.sequence(rest, loop)
                exits: Statements = [_done(stmt)]
                if loop is not None:
                    exits.append(gast.copy_location(gast.Break(), stmt))
                if _endless(stmt):
                    return [*out, assign(LEFT, constant(True, stmt), stmt), *exits]
                return [*out, if_(_name(LEFT, stmt), exits, self.sequence(rest, loop), stmt)]
            if isinstance(stmt, gast.With | gast.Try) and _leaves([stmt]) and (rest or isinstance(stmt, gast.Try)):
                return out + self.guarded(stmt, rest, loop)
            if isinstance(stmt, gast.If | gast.With | gast.Try):
                stmt = _rebuilt(stmt, lambda block: self.sequence(block, loop))
            out.append(stmt)
        return out

    def branch(self, stmt: Any, rest: Statements, loop: _Loop | None) -> Statements:
        """An `if` that may leave, and what follows it."""
        body_ends, else_ends = _always_leaves(stmt.body), _always_leaves(stmt.orelse)
        body_clean, else_clean = not _leaves(stmt.body), not _leaves(stmt.orelse)
        if not rest or (body_ends and else_ends):
            return [if_(stmt.test, self.sequence(stmt.body, loop), self.sequence(stmt.orelse, loop), stmt)]
        if body_ends and (else_clean or not _leaves(rest) or _small(rest)):
            orelse = self.sequence(stmt.orelse + rest, loop)
            return [if_(stmt.test, self.sequence(stmt.body, loop), orelse, stmt)]
        if else_ends and (body_clean or _small(rest)):
            body = self.sequence(stmt.body + rest, loop)
            return [if_(stmt.test, body, self.sequence(stmt.orelse, loop), stmt)]
        return self.guarded(stmt, rest, loop)

    def guarded(self, stmt: Any, rest: Statements, loop: _Loop | None) -> Statements:
        """Remember in a number how a statement was left: 0 not, 1 continue, 2 break, 3 return."""
        if isinstance(stmt, gast.If) and _returns_from_a_loop(stmt):
            body, orelse = self.sequence(stmt.body + rest, loop), self.sequence(stmt.orelse + rest, loop)
            return [if_(stmt.test, body, orelse, stmt)]
        flag = f"$exit{next(self.count)}"
        [inner] = _tail_flagged(self.flagged([stmt], flag), flag)
        ways: list[tuple[int, Statements]] = []
        for kind in sorted(_kinds([stmt])):
            if kind == "continue":
                ways.append((1, []))
            elif kind == "break":
                ways.append((2, self.sequence([gast.copy_location(gast.Break(), stmt)], loop)))
            else:
                left: Statements = [_done(stmt)]
                if loop is not None:
                    left.append(assign(LEFT, constant(True, stmt), stmt))
                    left.append(gast.copy_location(gast.Break(), stmt))
                ways.append((3, left))
        # one of them was taken: the last needs no test
        exits = ways[-1][1]
        for number, way in reversed(ways[:-1]):
            exits = [if_(equals(flag, number, stmt), way, exits, stmt)]
        after = if_(equals(flag, 0, stmt), self.sequence(rest, loop), exits, stmt)
        return [assign(flag, constant(0, stmt), stmt), *self.sequence([inner], loop), after]

    def flagged(self, stmts: Statements, flag: str) -> Statements:
        """Replace the exits of a statement's blocks by assignments to `flag`, marked as leaving the block."""
        out: Statements = []
        for stmt in stmts:
            if isinstance(stmt, gast.Continue | gast.Break | gast.Return):
                if isinstance(stmt, gast.Return):
                    out += [assign(RETURN, stmt.value or constant(None, stmt), stmt), _done(stmt)]
                return [*out, _left(flag, {gast.Continue: 1, gast.Break: 2, gast.Return: 3}[type(stmt)], stmt)]
            if isinstance(stmt, gast.For | gast.While) and "return" in _kinds([stmt]):
                rewritten, after, _ = self.loop(stmt)
                out += rewritten
                left = _left(flag, 3, stmt)
                if _endless(stmt):
                    return [*out, left]
                out += [if_(_name(LEFT, stmt), [left], [], stmt), *self.flagged(after, flag)]
                continue
            out.append(_rebuilt(stmt, lambda block: self.flagged(block, flag)))
        return out

    def loop(self, stmt: Any) -> tuple[Statements, Statements, bool]:
        """A loop, its `else` as statements that follow it, and whether it holds a `return`."""
        leaves = "return" in _kinds([stmt])
        broke = f"$broke{next(self.count)}" if stmt.orelse and "break" in _kinds(stmt.body) else None
        body = self.sequence(stmt.body, _Loop(broke))
        before: Statements = []
        if leaves:
            before.append(assign(LEFT, constant(False, stmt), stmt))
        if broke:
            before.append(assign(broke, constant(False, stmt), stmt))
        if isinstance(stmt, gast.For):
            new = gast.For(stmt.target, stmt.iter, body, [], None)
        else:
            new = gast.While(stmt.test, body, [])
        after = list(stmt.orelse)
        if after and broke:
            after = [if_(_name(broke, stmt), [_pass(stmt)], after, stmt)]
        return [*before, gast.copy_location(new, stmt)], after, leaves


def _rebuilt(stmt: Any, change: Callable[[Statements], Statements]) -> Any:
    """A branch, `with` or `try` with its blocks changed; other statements as they are."""
    if isinstance(stmt, gast.If):
        return if_(stmt.test, change(stmt.body), change(stmt.orelse), stmt)
    if isinstance(stmt, gast.With):
        return gast.copy_location(gast.With(stmt.items, change(stmt.body), None), stmt)
    if isinstance(stmt, gast.Try):
        handlers = [
            gast.copy_location(gast.ExceptHandler(one.type, one.name, change(one.body)), one) for one in stmt.handlers
        ]
        new = gast.Try(change(stmt.body), handlers, change(stmt.orelse), change(stmt.finalbody))
        new.stays = getattr(stmt, "stays", "")
        return gast.copy_location(new, stmt)
    return stmt


def _tail_flagged(stmts: Statements, flag: str) -> Statements:
    """Guard what follows a flagged exit inside its block."""
    out: Statements = []
    for position, stmt in enumerate(stmts):
        rest = stmts[position + 1 :]
        if isinstance(stmt, gast.Try) and stmt.orelse and any(_sets_flag(one) for one in stmt.body):
            orelse = [if_(equals(flag, 0, stmt), stmt.orelse, [], stmt)]
            stmt = gast.copy_location(gast.Try(stmt.body, stmt.handlers, orelse, stmt.finalbody), stmt)
        out.append(_rebuilt(stmt, lambda block: _tail_flagged(block, flag)))
        if rest and isinstance(stmt, gast.If | gast.With | gast.Try) and _sets_flag(stmt):
            out.append(if_(equals(flag, 0, stmt), _tail_flagged(rest, flag), [], stmt))
            return out
    return out


def _sets_flag(stmt: Any) -> bool:
    return any(getattr(node, "leaves_branch", False) for node in gast.walk(stmt))


def _returns_from_a_loop(stmt: Any) -> bool:
    loops = [node for node in gast.walk(stmt) if isinstance(node, (gast.For, gast.While))]
    return any("return" in _kinds([loop]) for loop in loops)


def _kinds(stmts: Statements) -> set[str]:
    """How a block may leave: "continue" and "break" of its own loop, "return" from anywhere."""
    found: set[str] = set()
    for stmt in stmts:
        match stmt:
            case gast.Return():
                found.add("return")
            case gast.Break():
                found.add("break")
            case gast.Continue():
                found.add("continue")
            case gast.If():
                found |= _kinds(stmt.body) | _kinds(stmt.orelse)
            case gast.For() | gast.While():
                found |= {"return"} & (_kinds(stmt.body) | _kinds(stmt.orelse))
            case gast.With():
                found |= _kinds(stmt.body)
            case gast.Try():
                found |= _kinds([*stmt.body, *stmt.orelse, *stmt.finalbody])
                for handler in stmt.handlers:
                    found |= _kinds(handler.body)
    return found


def _leaves(stmts: Statements) -> bool:
    return bool(_kinds(stmts))


def _always_leaves(stmts: Statements) -> bool:
    for stmt in stmts:
        if isinstance(stmt, (gast.Return, gast.Break, gast.Continue, gast.Raise)):
            return True
        if isinstance(stmt, gast.If) and _always_leaves(stmt.body) and _always_leaves(stmt.orelse):
            return True
        if _endless(stmt):
            return True
    return False


def _endless(stmt: Any) -> bool:
    """Whether a statement is a `while True` that only a `return` leaves."""
    if not isinstance(stmt, gast.While) or not isinstance(stmt.test, gast.Constant):
        return False
    return bool(stmt.test.value) and "break" not in _kinds(stmt.body)


def _small(stmts: Statements) -> bool:
    """Short enough to stand twice."""
    return sum(1 for stmt in stmts for _ in gast.walk(stmt)) <= 40


def _left(flag: str, kind: int, where: Any) -> Any:
    """Note in `flag` how a block is left here."""
    leave = assign(flag, constant(kind, where), where)
    leave.leaves_branch = True
    return leave


def _name(name: str, where: Any, store: bool = False) -> Any:
    context = gast.Store() if store else gast.Load()
    return gast.copy_location(gast.Name(name, context, None, None), where)


def constant(value: Any, where: Any) -> Any:
    return gast.copy_location(gast.Constant(value, None), where)


def assign(name: str, value: Any, where: Any) -> Any:
    return gast.copy_location(gast.Assign([_name(name, where, store=True)], value, None), where)


def _done(where: Any) -> Any:
    """Note that `$return` is set: a way to the end without it returns None."""
    return assign(DONE, constant(True, where), where)


def _pass(where: Any) -> Any:
    return gast.copy_location(gast.Pass(), where)


def if_(test: Any, body: Statements, orelse: Statements, where: Any) -> Any:
    return gast.copy_location(gast.If(test, body or [_pass(where)], orelse), where)


def equals(name: str, number: int, where: Any) -> Any:
    compare = gast.Compare(_name(name, where), [gast.Eq()], [constant(number, where)])
    return gast.copy_location(compare, where)
