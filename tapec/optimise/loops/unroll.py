"""Write short loops over small arrays out, so that the arrays can become numbers.

    for i in range(2):
        k[i] = f[i] * h          ->         k[0] = f[0] * h
                                            k[1] = f[1] * h

Only loops of few trips, known beforehand, whose variable is a subscript of an array of known extents; or numbers the
coordinates of two points (`p[i, k] - p[j, k]`) in loops over pairs: the one around is innermost then, and may run on
vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tapec.journal import Listener
from tapec.optimise.memory.scalars import small_arrays
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    element_of,
    literal_range,
    map_blocks,
    mentions,
    walk,
)

# a loop of more trips is not written out
TRIPS = 4
_STATEMENTS = 60


def unroll(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with short loops written out; see the module.  Afterwards a name may have several values."""
    return replace(function, body=_Unroll(function, listener).block(function.body))


class _Unroll:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.small = frozenset(small_arrays(function))

    def block(self, block: Block, around: tuple[For, ...] = ()) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt, around))

    def statement(self, stmt: Stmt, around: tuple[For, ...]) -> Iterator[Stmt]:
        """What takes a statement's place; `around` are the loops around it, the innermost one last."""
        match stmt:
            case If() | Loop():
                yield map_blocks(stmt, partial(self.block, around=around))
            case For(body=body):
                new = replace(stmt, body=self.block(body, (*around, stmt)))
                values = self.values(new)
                if values is None or not (self.useful(new) or self.of_pairs(new, around)):
                    yield new
                    return
                if self.listener is not None:
                    self.listener.decide(stmt.span, "unroll", "written out, {0} times", "", len(values))
                for value in values:
                    yield Assign(stmt.var, Const(value), stmt.span)
                    yield from new.body
            case _:
                yield stmt

    def values(self, loop: For | Loop) -> range | None:
        """What the loop's variable counts through, if that is short."""
        values = literal_range(loop) if isinstance(loop, For) and loop.slots is None else None
        if values is None:
            return None
        size = sum(1 for _ in walk(loop.body)) * len(values)
        own = sum(isinstance(stmt, Break) for stmt in walk(loop.body))
        return values if len(values) <= TRIPS and size <= _STATEMENTS and not own else None

    def of_pairs(self, loop: For, around: tuple[For, ...]) -> bool:
        """Whether the variable numbers coordinates of two points, which two loops around count."""
        if len(around) < 2 or not all(isinstance(stmt, Assign | Store) for stmt in loop.body):
            return False
        *others, last = around
        inside = [stmt for stmt in walk(last.body) if isinstance(stmt, For | Loop)]
        if literal_range(last) is not None or any(self.values(one) is None for one in inside):
            return False
        read = {element_of(stmt) for stmt in loop.body if isinstance(stmt, Assign)}

        def reads(array: str, point: For) -> bool:
            return (array, (Name(point.var), Name(loop.var))) in read

        arrays = {element[0] for element in read if element is not None}
        return any(reads(array, last) and any(reads(array, other) for other in others) for array in arrays)

    def useful(self, loop: For) -> bool:
        """Whether the variable is a subscript of a small array, or computes one."""
        derived = {loop.var}
        for stmt in walk(loop.body):
            match stmt:
                case Store(array=array, index=index) if array in self.small:
                    if _meets(index, derived):
                        return True
                case Assign(value=Op(fn="load", args=(Name(id=array), *index))) if array in self.small:
                    if _meets(index, derived):
                        return True
                case Assign(target=target, value=Op() as value) if mentions(value, derived):
                    derived.add(target)
        return False


def _meets(index: tuple[Expr, ...] | list[Expr], names: set[str]) -> bool:
    return any(mentions(sub, names) for sub in index)
