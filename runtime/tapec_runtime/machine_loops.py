"""Loops of functions in LLVM's language, which are known when all blocks are there: just before the text is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

# blocks by what a block jumps to
Graph = dict[Any, list[Any]]
# what is done to a function, given blocks of it
Action = Callable[[Any, list[Any]], None]


def when_written(function: Any, action: Action, block: Any) -> None:
    """Have `action(function, blocks)` done once the function is complete, where this block is one of the blocks."""
    if not isinstance(function.__dict__.get("descr"), _Described):
        function.descr = _Described(function)
    function.descr.waiting.setdefault(action, []).append(block)


class _Described:
    """What writes the text of a function, after what waits for it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.write = function.descr
        self.waiting: dict[Action, list[Any]] = {}

    def __call__(self, buffer: list[str]) -> None:
        for action, blocks in self.waiting.items():
            action(self.function, blocks)
        self.waiting = {}
        self.write(buffer)


def successors(function: Any) -> Graph:
    """The blocks that each block may jump to."""
    return {
        block: [one for one in block.terminator.operands if isinstance(one, ir.Block)] if block.terminator else []
        for block in function.blocks
    }


def found(after: Graph) -> dict[Any, tuple[Any, set[Any]]]:
    """Head -> the block that ends an iteration, and all blocks of the loop; without loops that end iterations in
    several ways.
    """
    ends: dict[Any, list[Any]] = {}
    for block, head in _backward(after):
        ends.setdefault(head, []).append(block)
    comes_from: dict[Any, list[Any]] = {block: [] for block in after}
    for block, others in after.items():
        for other in others:
            comes_from[other].append(block)
    loops = {}
    for head, (end, *others) in ends.items():
        inside, pending = {head, end}, [end]
        while pending:
            block = pending.pop()
            new = [one for one in comes_from[block] if block is not head and one not in inside]
            inside.update(new)
            pending += new
        if not others:
            loops[head] = (end, inside)
    return loops


def _backward(after: Graph) -> Iterator[tuple[Any, Any]]:
    """The jumps to a block from which the jump itself is reached."""
    entry = next(iter(after))
    open_blocks, seen = {entry}, {entry}
    path = [(entry, iter(after[entry]))]
    while path:
        block, rest = path[-1]
        for other in rest:
            if other in open_blocks:
                yield block, other
            elif other not in seen:
                seen.add(other)
                open_blocks.add(other)
                path.append((other, iter(after[other])))
                break
        else:
            open_blocks.remove(block)
            path.pop()
