"""Write branches as a person would.

    if t:                  if not t:             if t:                    if t:
        pass                   x = y                 raise E(...)             raise E(...)
    else:            ->                          else:              ->    x = y
        x = y                                        x = y

    if t:                  if t:
        x = y                  x = y
    if t:            ->        u = v
        u = v

A branch that leaves comes first unless it stands in a chain of `elif`.  A loop that begins with such a
branch is a `while` with a condition; the printer writes it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.syntax.core import (
    Atom,
    Block,
    Break,
    Call,
    Expr,
    For,
    Function,
    If,
    Loop,
    Op,
    Raise,
    Return,
    Stmt,
    Store,
    leaves,
    names_in,
    walk,
    written_in,
)

# what tells the same of the same numbers
_OF_NUMBERS = frozenset({"==", "!=", "<", "<=", ">", ">=", "not", "and", "or", "+", "-", "*", "neg"})
_OPPOSITE = {"==": "!=", "!=": "=="}


def straighten_branches(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with plain branches; see the module."""
    return replace(function, body=_block(function.body))


def _block(block: Block, chained: bool = False) -> Block:
    out: list[Stmt] = []
    for stmt in _joined(block):
        if isinstance(stmt, If):
            out += _branch(stmt, chained)
        elif isinstance(stmt, For | Loop):
            out.append(replace(stmt, body=_block(stmt.body)))
        else:
            out.append(stmt)
    return tuple(out)


def _joined(block: Block) -> list[Stmt]:
    """The statements, of which branches on the same condition that follow one another are one."""
    out: list[Stmt] = []
    for stmt in block:
        last = out[-1] if out else None
        if isinstance(stmt, If) and isinstance(last, If) and last.test == stmt.test and _stays(last):
            stmt = replace(last, body=(*last.body, *stmt.body), orelse=(*last.orelse, *stmt.orelse))
            out.pop()
        out.append(stmt)
    return out


def _stays(stmt: If) -> bool:
    """Whether the condition of a branch is the same behind it."""
    inside = list(walk((*stmt.body, *stmt.orelse)))
    if any(isinstance(one, Break | Raise | Return) for one in inside):
        return False
    # an element may be written into under another name of its array
    stored = any(isinstance(one, Store | Call) for one in inside)
    plain = not stored or all(fn in _OF_NUMBERS for fn in _functions(stmt.test))
    return plain and set(names_in(stmt.test)).isdisjoint(written_in(inside))


def _functions(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Op):
        yield expr.fn
        for arg in expr.args:
            yield from _functions(arg)


def _branch(stmt: If, chained: bool) -> Block:
    body, orelse = _block(stmt.body), _block(stmt.orelse, len(stmt.orelse) == 1)
    test = stmt.test
    if not body or (orelse and leaves(orelse) and not leaves(body)):
        test, body, orelse = negated(test), orelse, body
    if leaves(body) and not chained:
        return (replace(stmt, test=test, body=body, orelse=()), *orelse)
    return (replace(stmt, test=test, body=body, orelse=orelse),)


def negated(test: Expr) -> Atom:
    """The opposite of a condition; `not a < b` stays, since neither holds for a nan."""
    result: Expr = Op("not", (test,))
    if isinstance(test, Op):
        if test.fn == "not":
            result = test.args[0]
        elif test.fn in _OPPOSITE:
            result = Op(_OPPOSITE[test.fn], test.args)
    # after nesting, places of atoms hold expressions
    return result  # type: ignore[return-value]
