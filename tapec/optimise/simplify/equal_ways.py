"""A number that a branch chooses is one number, where the test says that both are equal.

    if n != 1:                    if n != 1:
        extent = n                    extent = n
    else:              ->         else:
        extent = 1                    extent = n

Extents of broadcast operands are chosen so.  Value numbering then has one value, and no test.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Const, Function, If, Name, Op, Stmt, map_blocks, walk, writes
from tapec.syntax.types import INT64


def join_equal_ways(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function in which both ways set the same number; see the module."""
    made: dict[str, Op] = {}
    sets: dict[str, int] = dict.fromkeys(function.params, 1)
    for stmt in walk(function.body):
        for name in writes(stmt):
            sets[name] = sets.get(name, 0) + 1
        match stmt:
            case Assign(target=target, value=Op(fn="==" | "!=") as test):
                made[target] = test
    tests = {name: test for name, test in made.items() if sets[name] == 1}

    def joined(stmt: Stmt) -> Stmt:
        stmt = map_blocks(stmt, block)
        match stmt:
            case If(test=Name(id=name)) if name in tests:
                match tests[name]:
                    case Op(fn=fn, args=(Name(id=number), Const(value=int()) as found)) if sets[number] == 1:
                        if function.types[number] == INT64:
                            return _same(stmt, fn == "==", Name(number), found)
        return stmt

    def block(block: Block) -> Block:
        return tuple(map(joined, block))

    return replace(function, body=block(function.body))


def _same(stmt: If, equal_first: bool, number: Name, found: Const) -> If:
    """A branch whose side of equality sets the number by name, where the other side does."""
    equal, other = (stmt.body, stmt.orelse) if equal_first else (stmt.orelse, stmt.body)
    named = {one.target for one in other if isinstance(one, Assign) and one.value == number}

    new = tuple(
        replace(one, value=number) if isinstance(one, Assign) and one.target in named and one.value == found else one
        for one in equal
    )
    return replace(stmt, body=new) if equal_first else replace(stmt, orelse=new)
