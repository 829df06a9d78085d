"""Which way a block's branches went, where that decides between None and a gradient.

A source may be connected on one way through the block and not on another.  The branches are then
decided by running the block up to them, and the derivative is taken of the way that was gone.
Branches inside loops stay: a source that only some iterations connect counts as connected.  So do those of NumPy
functions, which connect what they read and what they give, whether there are elements or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from tapec.syntax.core import Assign, Block, For, Function, If, Raise, Return, Stmt, Store, ends_in_error, walk, writes
from tapec.syntax.types import Type
from tapec.tape.derivatives.block_derivative import DerivedProgram, GradientRequest, connections, inputs_of

_WAYS = 64
_STATEMENT = re.compile(r"(for|while|if|elif)\b")


def depends_on_the_way(request: GradientRequest) -> bool:
    """Whether the ways through the block differ in which sources are connected."""
    if not any(map(_chosen, request.block)):
        return False
    # merged arrays share memory in the whole block, and may not on any way
    found = {connections(request)}
    for count, way in enumerate(_ways(request.block, request.types)):
        if count == _WAYS:
            return True
        found.add(connections(replace(request, block=way)))
        if len(found) > 1:
            return True
    return False


def _ways(block: Block, types: Mapping[str, Type]) -> Iterator[Block]:
    """Every way through the branches of a block that floats may depend on, loops aside."""
    for place, stmt in enumerate(block):
        if _chosen(stmt):
            # nobody comes out of a side that raises
            sides = [side for side in (stmt.body, stmt.orelse) if not ends_in_error(side)]
            if not any(_moves_floats(side, types) for side in sides):
                # extents, indices: whatever they are, floats depend on the same floats
                sides = sides[:1]
            for side in sides:
                yield from _ways((*block[:place], *side, *block[place + 1 :]), types)
            return
    yield block


def _moves_floats(block: Block, types: Mapping[str, Type]) -> bool:
    """Whether a block does more than compute integers and booleans, or raise."""
    return any(
        not isinstance(stmt, If | Raise | Assign) or any(types[name].is_float for name in writes(stmt))
        for stmt in walk(block)
    )


def of_one_call(stmt: Stmt) -> bool:
    """Whether a loop, or a branch with one, is a NumPy function's own.

    Then all that it does stands in the user's text as one expression.
    """
    if not isinstance(stmt, For | If) or stmt.span is None or _STATEMENT.match(stmt.span.text, stmt.span.column):
        return False
    inside = tuple(walk((stmt,)))
    fills = any(isinstance(inner, For | Store) for inner in inside)
    return fills and all(getattr(inner, "span", stmt.span) == stmt.span for inner in inside)


def _chosen(stmt: Stmt) -> TypeGuard[If]:
    """Whether a statement is a branch of the user's."""
    return isinstance(stmt, If) and not of_one_call(stmt)


def tests_of(block: Block, types: dict[str, Type]) -> DerivedProgram | None:
    """A program for the tests of the outermost branches; None if there are no branches."""
    tests = tuple(stmt.test for stmt in block if _chosen(stmt))
    if not tests:
        return None
    last = max(place for place, stmt in enumerate(block) if _chosen(stmt))
    body = (*block[:last], Return(tests))
    inputs = inputs_of(body)
    return DerivedProgram(Function("tests", inputs, body, types), inputs, (), (), ())


def decided(block: Block, values: tuple[bool, ...]) -> Block:
    """The block with its outermost branches replaced by the sides that were taken."""
    return _decided(block, iter(values))


def _decided(block: Block, values: Iterator[bool]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if _chosen(stmt):
            out += stmt.body if next(values) else stmt.orelse
        else:
            out.append(stmt)
    return tuple(out)


def straightened(block: Block) -> Block:
    """What follows a branch that never goes on stands behind it, not inside the other branch."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If) and stmt.orelse and ends_in_error(stmt.body):
            out += [If(stmt.test, stmt.body, (), stmt.span), *straightened(stmt.orelse)]
        elif isinstance(stmt, If) and stmt.orelse and ends_in_error(stmt.orelse):
            out += [If(stmt.test, (), stmt.orelse, stmt.span), *straightened(stmt.body)]
        else:
            out.append(stmt)
    return tuple(out)
