"""Loops whose iterations work on elements of their own.

LLVM does not know that two arrays are apart.  Before a loop that reads and writes several of them it compares their
ranges, each with each, and where the comparisons are many it does not run the loop on vectors at all.  Metadata
(`llvm.loop.parallel_accesses`, see LLVM's language reference) tells it that no comparison is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from tapec_runtime import machine_loops
from tapec_runtime.registration import register


def independent(iterations: Any) -> Any:
    """The range itself; where a compiled loop runs over it, no iteration may touch an element that another one stores.

    iterations    a range
    returns  the same range

    >>> independent(range(1, 3))
    range(1, 3)
    """
    return iterations


def _resolve(_context: Any) -> Callable[[Any], Any]:
    def result(iterations: Any) -> Any:
        return iterations if isinstance(iterations, types.RangeType) else None

    return result


def _lower(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    machine_loops.when_written(builder.function, _tell, builder.block)
    return args[0]


def _tell(function: Any, before: list[Any]) -> None:
    after = machine_loops.successors(function)
    loops = machine_loops.found(after)
    for block in before:
        head = _next_head(block, after, loops)
        if head is not None:
            _annotate(function.module, *loops[head])


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
    # LLVM would write a loop of few iterations out before it asks whether it runs on vectors; those it may write out
    whole = _Distinct(module, ('!"llvm.loop.unroll.disable"',))
    done = _Distinct(module, ('!"llvm.loop.isvectorized"', "i32 1"))
    then = _Distinct(module, ('!"llvm.loop.vectorize.followup_vectorized"', done.get_reference()))
    itself = f"!{len(module.metadata)}"
    parts = (itself, *(one.get_reference() for one in (accesses, whole, then)))
    end.terminator.set_metadata("llvm.loop", _Distinct(module, parts))


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
