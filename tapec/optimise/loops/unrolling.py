"""Write short loops over small arrays out, so that the arrays can become numbers.

    for i in range(2):
        k[i] = f[i] * h          ->         k[0] = f[0] * h
                                            k[1] = f[1] * h

Only loops of few iterations, known beforehand, whose variable is a subscript of an array of known extents; or that
choose among the elements of a window (the largest of `x[2 * i + a, 2 * j + b]`), or go through coordinates of two
points (`p[i, k]` and `p[j, k]`), in loops of more iterations: of those, the last one is innermost then, and may run on
vectors.  A loop of one iteration is its body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tapec.optimise import costs
from tapec.optimise.buffers.scalar_replacement import small_arrays
from tapec.optimise.loops.shift_propagation import CHOICES
from tapec.remarks import remark
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


def unroll(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with short loops written out; see the module.  Afterwards a name may have several values."""
    return replace(function, body=_Unroll(function).block(function.body))


class _Unroll:
    def __init__(self, function: Function) -> None:
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
                if values is None or not (len(values) == 1 or self.useful(new) or self.frees(new, around)):
                    yield new
                    return
                remark(stmt.span, "unrolling", "written out, {0} times", "", len(values))
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
        few = len(values) <= costs.UNROLLED_ITERATIONS and size <= costs.UNROLLED_STATEMENTS
        return values if few and not own else None

    def frees(self, loop: For, around: tuple[For, ...]) -> bool:
        """Whether a loop around is innermost without this one, which looks at a window or at coordinates of pairs."""
        others = [one for one in around if literal_range(one) is None]
        inner = list(walk(loop.body))
        if len(others) < 2 or not all(isinstance(stmt, Assign | Store | If) for stmt in inner):
            return False
        loops = [stmt for stmt in walk(others[-1].body) if isinstance(stmt, For | Loop)]
        if any(self.values(one) is None for one in loops):
            return False
        # the subscripts of what is read, by array
        read = {element for stmt in inner if isinstance(stmt, Assign) and (element := element_of(stmt)) is not None}
        own, last, *outer = (_computed(one.var, others[0].body) for one in (loop, *reversed(others)))

        def coordinate(array: str, point: set[str]) -> bool:
            return any(
                one == array and len(index) == 2 and mentions(index[0], point) and index[1] == Name(loop.var)
                for one, index in read
            )

        if any(coordinate(array, last) and any(coordinate(array, point) for point in outer) for array, _ in read):
            return True
        around_it = last.union(*outer)
        window = any(mentions(sub, own) and mentions(sub, around_it) for _, index in read for sub in index)
        return window and any(isinstance(stmt, If) or _is_extreme(stmt) for stmt in inner)

    def useful(self, loop: For) -> bool:
        """Whether the variable is a subscript of a small array, or computes one."""
        derived = {loop.var}
        for stmt in walk(loop.body):
            match stmt:
                case Store(array=array, index=index) if array in self.small:
                    if _mentions(index, derived):
                        return True
                case Assign(value=Op(fn="load", args=(Name(id=array), *index))) if array in self.small:
                    if _mentions(index, derived):
                        return True
                case Assign(target=target, value=Op() as value) if mentions(value, derived):
                    derived.add(target)
        return False


def _mentions(index: tuple[Expr, ...] | list[Expr], names: set[str]) -> bool:
    return any(mentions(sub, names) for sub in index)


def _computed(var: str, block: Block) -> set[str]:
    """A variable, and the names of what a block computes from it; elements that it counts are none."""
    found = {var}
    for stmt in walk(block):
        match stmt:
            case Assign(target=target, value=Op(fn=fn) as value) if fn != "load" and mentions(value, found):
                found.add(target)
    return found


def _is_extreme(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in CHOICES
