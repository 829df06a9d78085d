"""A list of arrays is of the layout that all arrays have that are pushed on it, or of any.

Numba types a list by its first entry.  What else is pushed on it may be laid out in another way: the tangent of an
inverse beside those of products, an array of the caller's beside one that an iteration has made.  The list then begins
with an array that is contiguous in no order, which each of them may stand for.

    kept = [np.empty((0, 0)).T][:0]      ->      kept = [np.empty((0, 0))[::2, ::2]][:0]
    kept.append(a)        # a[i, j] is contiguous in C's order
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Const, Function, Name, Op, Push, Stmt, map_blocks, walk
from tapec.syntax.types import Array, Stack


def join_stack_layouts(function: Function) -> Function:
    """The function with lists of arrays of any layout where arrays of several layouts are pushed."""
    types = function.types
    found = dict[str, set[str]]()
    for stmt in walk(function.body):
        match stmt:
            case Push(stack=stack, value=Name(id=value)):
                own, pushed = types.get(stack), types.get(value)
                if isinstance(own, Stack) and isinstance(own.element, Array) and isinstance(pushed, Array):
                    found.setdefault(stack, {own.element.layout}).add(pushed.layout)
    several = {stack for stack, layouts in found.items() if len(layouts) > 1}
    if not several:
        return function
    made = {}
    for stack in several:
        own = types[stack]
        assert isinstance(own, Stack) and isinstance(own.element, Array)
        made[stack] = Stack(replace(own.element, layout="A"))

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            match stmt:
                case Assign(target=target, value=Op(fn="stack", args=(dtype, ndim, _))) if target in several:
                    out.append(replace(stmt, value=Op("stack", (dtype, ndim, Const("A")))))
                case _:
                    out.append(map_blocks(stmt, block))
        return tuple(out)

    return replace(function, body=block(function.body), types={**types, **made})
