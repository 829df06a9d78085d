"""Drop lists of which nobody reads what is taken off them.

    kept = []                                 for i in range(n):
    for i in range(n):                            y = x @ w
        y = x @ w                                 ...
        kept.append(y)               ->       for i in range(n - 1, -1, -1):
        ...                                       w_bar += ...
    for i in range(n - 1, -1, -1):
        y = kept.pop()
        w_bar += ...

A reverse sweep asks arrays on such a list for their extents, which may be known otherwise by now.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.syntax.core import Assign, Block, Function, Name, Op, Push, Stmt, map_blocks, reads, walk
from tapec.syntax.types import Stack


def drop_dead_lists(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function without such lists."""
    read: Counter[str] = Counter()
    own: Counter[str] = Counter()
    made: set[str] = set()
    for stmt in walk(function.body):
        read.update(reads(stmt))
        match stmt:
            case Assign(target=target, value=Op(fn="stack")):
                made.add(target)
            case Push(stack=stack):
                own[stack] += list(reads(stmt)).count(stack)
    for stmt in walk(function.body):
        match stmt:
            case Assign(target=target, value=Op(fn="pop", args=(Name(id=stack),))) if not read[target]:
                own[stack] += 1
    dead = {name for name in made if isinstance(function.types[name], Stack) and read[name] == own[name]}
    return replace(function, body=_without(function.body, dead)) if dead else function


def _without(block: Block, dead: set[str]) -> Block:
    return tuple(map_blocks(stmt, lambda inner: _without(inner, dead)) for stmt in block if not _is_of(stmt, dead))


def _is_of(stmt: Stmt, dead: set[str]) -> bool:
    match stmt:
        case Push(stack=stack) | Assign(value=Op(fn="pop", args=(Name(id=stack),))) | Assign(
            target=stack, value=Op(fn="stack")
        ):
            return stack in dead
    return False
