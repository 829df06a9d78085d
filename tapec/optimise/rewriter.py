"""The driver of passes that replace statements one by one, by any number of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import Block, Function, Stmt


class Rewriter:
    """Rewrites a function; a pass says what `statement` becomes.

    function   what is rewritten
    fresh      makes names; `fresh.types` has the types of all names
    statement  takes a statement, and what `block` was given with the block around it; statements that it leaves as they
               are it hands to `map_blocks(stmt, self.block)`, so that those inside are visited, too
    """

    statement: Callable[..., Iterable[Stmt]]

    def __init__(self, function: Function) -> None:
        self.function = function
        self.fresh = Fresh(function.types)

    def block(self, block: Block, *context: Any) -> Block:
        return tuple(new for stmt in block for new in self.statement(stmt, *context))

    def rewritten(self, *context: Any) -> Function:
        """The function with all its statements rewritten."""
        body = self.block(self.function.body, *context)
        return replace(self.function, body=body, types=self.fresh.types)
