"""Core under construction: blocks that still grow, and what the iterations of loops around are known to do.

A block that is written is a list; a list in it stands for its statements.  `freeze` makes core of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tapec.errors import Span
from tapec.frontend.evaluator.values import Sym
from tapec.syntax.core import Atom, Block, For, If, Loop, Name, Stmt


@dataclass
class OpenIf:
    """An `if` under construction; its blocks still grow."""

    test: Atom
    body: list[Any]
    orelse: list[Any]
    span: Span | None


@dataclass
class OpenLoop:
    """A loop under construction; `header` is None for `while True`."""

    header: tuple[str, Atom, Atom, Atom, bool, Atom | None] | None
    body: list[Any]
    span: Span | None


@dataclass
class OpenIteration:
    """An iteration of a counted loop under construction.

    outer   the block that the loop is written into
    before  what is written there before the loop
    known   the names that there are before it
    """

    start: Sym
    stop: Sym
    outer: list[Any]
    before: list[Any]
    body: list[Any]
    known: frozenset[str]

    def keeps(self, value: Sym) -> bool:
        """Whether a number is there before the loop, and is the same in every iteration."""
        return not isinstance(value.atom, Name) or value.atom.id in self.known


def freeze(block: Iterable[Any]) -> Block:
    """Turn a block under construction into core."""
    out: list[Stmt] = []
    for item in block:
        if isinstance(item, list):
            out.extend(freeze(item))
        elif isinstance(item, OpenIf):
            out.append(If(item.test, freeze(item.body), freeze(item.orelse), item.span))
        elif isinstance(item, OpenLoop) and item.header is None:
            out.append(Loop(freeze(item.body), item.span))
        elif isinstance(item, OpenLoop) and item.header is not None:
            var, start, stop, step, parallel, slots = item.header
            out.append(For(var, start, stop, step, freeze(item.body), parallel, item.span, slots))
        else:
            out.append(item)
    return tuple(out)


def length_of(block: Iterable[Any]) -> int:
    """How many statements a block under construction has, those inside others not counted."""
    return sum(length_of(item) if isinstance(item, list) else 1 for item in block)
