"""Operations that carry their own rule: what `custom_gradient` becomes in core."""

from __future__ import annotations

from typing import Any, Protocol

from tapec.syntax.core import Atom, Block


class CustomRule(Protocol):
    """The derivative that a user gave.

    operands  how many of the operation's arguments, after the first, are differentiated
    """

    operands: int

    def pull_back(self, emitter: Any, seed: Atom, arguments: tuple[Atom, ...]) -> tuple[Block, list[Atom | None]]:
        """Statements that compute the operands' adjoints from the result's, and the adjoints."""


class Custom(str):
    """The name of an operation whose value is its first argument, and whose derivative is `rule`.

    Its arguments are the value, the operands, and what else the rule reads.  The name is unique;
    the rule lives as long as the program.
    """

    rule: CustomRule

    def __new__(cls, name: str, rule: CustomRule) -> Custom:
        made = super().__new__(cls, name)
        made.rule = rule
        return made
