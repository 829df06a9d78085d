"""Write branches as a person would.

    if t:                  if not t:             if t:                    if t:
        pass                   x = y                 raise E(...)             raise E(...)
    else:            ->                          else:              ->    x = y
        x = y                                        x = y

A branch that leaves comes first unless it stands in a chain of `elif`.  A loop that begins with such a
branch is a `while` with a condition; the printer writes it so.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Atom, Block, Break, Expr, For, Function, If, Loop, Op, Raise, Stmt

_OPPOSITE = {"==": "!=", "!=": "=="}


def straighten(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with plain branches; see the module."""
    return replace(function, body=_block(function.body))


def _block(block: Block, chained: bool = False) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            out += _branch(stmt, chained)
        elif isinstance(stmt, For | Loop):
            out.append(replace(stmt, body=_block(stmt.body)))
        else:
            out.append(stmt)
    return tuple(out)


def _branch(stmt: If, chained: bool) -> Block:
    body, orelse = _block(stmt.body), _block(stmt.orelse, len(stmt.orelse) == 1)
    test = stmt.test
    if not body or (orelse and leaves(orelse) and not leaves(body)):
        test, body, orelse = negated(test), orelse, body
    if leaves(body) and not chained:
        return (replace(stmt, test=test, body=body, orelse=()), *orelse)
    return (replace(stmt, test=test, body=body, orelse=orelse),)


def leaves(block: Block) -> bool:
    """Whether what follows a block is never reached from its end."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, Break | Raise)


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
