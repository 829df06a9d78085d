"""Operations that carry their own rule, or none: what `custom_gradient` and `opaque` become in core."""

from __future__ import annotations

from typing import Any, Protocol

from tapec.syntax.core import Atom, Block, operations, walk


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


class Opaque(str):
    """The name of a function that is called as it is; its result has no derivative.

    compiled  what compiled code calls by that name
    python    what Python calls
    """

    compiled: Any
    python: Any

    def __new__(cls, name: str, compiled: Any, python: Any) -> Opaque:
        made = super().__new__(cls, name)
        made.compiled, made.python = compiled, python
        return made


def opaque_functions(block: Block) -> dict[str, Opaque]:
    """The functions that a block calls as they are, by name."""
    ops = (op for stmt in walk(block) for op in operations(stmt))
    return {str(op.fn): op.fn for op in ops if isinstance(op.fn, Opaque)}
