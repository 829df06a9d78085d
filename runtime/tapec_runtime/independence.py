"""Loops whose trips work on elements of their own.

LLVM does not know that two arrays are apart.  Before a loop that reads and writes several of them it compares their
ranges, each with each, and where the comparisons are many it does not run the loop on vectors at all.  Metadata
(`llvm.loop.parallel_accesses`, see LLVM's language reference) tells it that no comparison is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba.core import types

from tapec_runtime.registration import register


def independent(trips: Any) -> Any:
    """The range itself; where a compiled loop runs over it, no trip may touch an element that another one stores.

    trips    a range
    returns  the same range

    >>> independent(range(1, 3))
    range(1, 3)
    """
    return trips


def _resolve(_context: Any) -> Callable[[Any], Any]:
    def result(trips: Any) -> Any:
        return trips if isinstance(trips, types.RangeType) else None

    return result


def _lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    function = builder.function
    if not isinstance(function.__dict__.get("descr_body"), _Described):
        function.descr_body = _Described(function)
    function.descr_body.before.append(builder.block)
    return args[0]


class _Described:
    """What writes the text of a function: the loops that follow the blocks in `before` are told of just before that.

    Blocks and instructions are all there only then.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.write = function.descr_body
        self.before: list[Any] = []

    def __call__(self, buffer: list[str]) -> None:
        if self.before:
            _tell(self.function, self.before)
            self.before = []
        self.write(buffer)


def _tell(function: Any, before: list[Any]) -> None:
    after = {block: _successors(block) for block in function.blocks}
    loops = _loops(after)
    for block in before:
        head = _next_head(block, after, loops)
        if head is not None:
            _annotate(function.module, *loops[head])


def _successors(block: Any) -> list[Any]:
    return [] if block.terminator is None else [one for one in block.terminator.operands if isinstance(one, ir.Block)]


def _loops(after: dict[Any, list[Any]]) -> dict[Any, tuple[Any, set[Any]]]:
    """Head -> the block that ends a trip, and all blocks of the loop; without loops that end trips in several ways."""
    ends: dict[Any, list[Any]] = {}
    for block, head in _backward(after):
        ends.setdefault(head, []).append(block)
    comes_from: dict[Any, list[Any]] = {block: [] for block in after}
    for block, others in after.items():
        for other in others:
            comes_from[other].append(block)
    found = {}
    for head, (end, *others) in ends.items():
        inside, pending = {head, end}, [end]
        while pending:
            block = pending.pop()
            new = [one for one in comes_from[block] if block is not head and one not in inside]
            inside.update(new)
            pending += new
        if not others:
            found[head] = (end, inside)
    return found


def _backward(after: dict[Any, list[Any]]) -> Iterator[tuple[Any, Any]]:
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


def _next_head(block: Any, after: dict[Any, list[Any]], loops: dict[Any, tuple[Any, set[Any]]]) -> Any:
    """The head of the first loop that is entered behind a block."""
    pending, seen = [block], {block}
    while pending:
        for other in after[pending.pop(0)]:
            if other in loops and block not in loops[other][1]:
                return other
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return None


def _annotate(module: Any, end: Any, inside: set[Any]) -> None:
    group = _Distinct(module, ())
    accesses = _Distinct(module, ('!"llvm.loop.parallel_accesses"', group.get_reference()))
    for block in inside:
        for instruction in block.instructions:
            place = {"load": 0, "store": 1}.get(instruction.opname)
            # variables of the function become registers, and are no memory then
            if place is not None and not _variable(instruction.operands[place]):
                instruction.set_metadata("llvm.access.group", group)
    itself = f"!{len(module.metadata)}"
    end.terminator.set_metadata("llvm.loop", _Distinct(module, (itself, accesses.get_reference())))


def _variable(pointer: Any) -> bool:
    while getattr(pointer, "opname", None) in ("getelementptr", "bitcast"):
        pointer = pointer.operands[0]
    return getattr(pointer, "opname", None) == "alloca"


class _Distinct(ir.MDValue):  # type: ignore[misc, unused-ignore]
    """Metadata that is no other, even of the same text, as groups of accesses and loops must be."""

    def __init__(self, module: Any, parts: tuple[str, ...]) -> None:
        super().__init__(module, (), str(len(module.metadata)))
        self.parts = parts

    def descr(self, buffer: list[str]) -> None:
        buffer += ("distinct !{ ", ", ".join(self.parts), " }\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


register(independent, _resolve, _lower, types.RangeType)
