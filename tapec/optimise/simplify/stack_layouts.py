"""A list of arrays is of the layout that all arrays have that are pushed on it, or of any, and read-only if one is.

Numba types a list by its first entry.  What else is pushed on it may be laid out in another way: the tangent of an
inverse beside those of products, an array of the caller's beside one that an iteration has made.  The list then begins
with an array that is contiguous in no order, which each of them may stand for.

    kept = [np.empty((0, 0)).T][:0]      ->      kept = [np.empty((0, 0))[::2, ::2]][:0]
    kept.append(a)        # a[i, j] is contiguous in C's order

An array that nobody may write, of the caller's or of a variable, may stand beside those that iterations make: the list
then begins with one that nobody may write either.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.syntax.core import Assign, Block, Const, Function, Name, Op, Push, Stmt, map_blocks, walk
from tapec.syntax.types import Array, Stack


def join_stack_layouts(function: Function) -> Function:
    """The function with lists of arrays of any layout where several layouts, or read-only arrays, are pushed."""
    types = function.types
    found = dict[str, set[str]]()
    read_only: set[str] = set()
    for stmt in walk(function.body):
        match stmt:
            case Push(stack=stack, value=Name(id=value)):
                own, pushed = types.get(stack), types.get(value)
                if isinstance(own, Stack) and isinstance(own.element, Array) and isinstance(pushed, Array):
                    found.setdefault(stack, {own.element.layout}).add(pushed.layout)
                    if pushed.readonly:
                        read_only.add(stack)
    several = {stack for stack, layouts in found.items() if len(layouts) > 1} | read_only
    if not several:
        return function
    made = {}
    for stack in several:
        own = types[stack]
        assert isinstance(own, Stack) and isinstance(own.element, Array)
        made[stack] = Stack(replace(own.element, layout="A", readonly=stack in read_only))

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            match stmt:
                case Assign(target=target, value=Op(fn="stack", args=(dtype, ndim, _))) if target in several:
                    layout = "read-only" if target in read_only else "A"
                    out.append(replace(stmt, value=Op("stack", (dtype, ndim, Const(layout)))))
                case _:
                    out.append(map_blocks(stmt, block))
        return tuple(out)

    return replace(function, body=block(function.body), types={**types, **made})
