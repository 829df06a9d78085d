"""Operations that carry their own rule, or none: what `custom_gradient`, `custom_jvp` and `opaque` become in core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tapec.syntax.core import Assign, Atom, Block, Call, Op, Stmt, operations, walk


class CustomRule(Protocol):
    """The derivative that a user gave.

    results   how many results the operation has, which are its first arguments
    operands  how many of the arguments that follow are differentiated
    outside   how many arguments that follow in turn must have no derivative, as the rule does not say it
    read      the positions of the results whose contents the rule reads; of others, and of operands, it reads shapes
    """

    results: int
    operands: int
    outside: int
    read: frozenset[int]

    def pull_back(
        self,
        emitter: Any,
        seeds: Sequence[Atom | None],
        results: Sequence[Atom],
        arguments: Sequence[Atom],
        active: Sequence[bool],
    ) -> tuple[Block, list[Atom | None]]:
        """Statements that compute the operands' adjoints from those of the results, and the adjoints.

        seeds      the adjoints of the results; None for those without
        arguments  those of the operation, behind the results
        active     which operands need an adjoint
        """

    def push_forward(
        self, emitter: Any, tangents: Sequence[Atom | None], results: Sequence[Atom], arguments: Sequence[Atom]
    ) -> tuple[Block, list[Atom | None]]:
        """Statements that compute the tangents of the results from those of the operands, and the tangents."""

    def refuse(self, name: str) -> Exception:
        """What says that the results depend on a name from outside, which has a derivative."""


class Custom(str):
    """The name of an operation whose values are its first arguments, and whose derivative is `rule`.

    Its arguments are the values, the operands, what must have no derivative, and what else the rule reads.  The name is
    unique; the rule lives as long as the program.  An operation of several results is a `Call`.
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

    @property
    def shown(self) -> str:
        """What the user calls it."""
        return self.rpartition("__")[0]


def custom_of(stmt: Stmt) -> tuple[Custom, tuple[str, ...], tuple[Atom, ...]] | None:
    """The operation with a rule of its own that a statement is, its targets and its arguments; None for others."""
    # most statements are neither
    if type(stmt) is Assign and type(stmt.value) is Op and type(stmt.value.fn) is Custom:
        return stmt.value.fn, (stmt.target,), stmt.value.args  # type: ignore[return-value]
    if type(stmt) is Call and type(stmt.function) is Custom:
        return stmt.function, stmt.targets, stmt.args
    return None


def calls_out(block: Block) -> bool:
    """Whether a block has operations with rules of their own, or calls functions as they are."""
    return any(type(fn) is Custom or type(fn) is Opaque for stmt in walk(block) for fn in called(stmt))


def opaque_functions(block: Block) -> dict[str, Opaque]:
    """The functions that a block calls as they are, by name."""
    return {str(fn): fn for stmt in walk(block) for fn in called(stmt) if isinstance(fn, Opaque)}


def called(stmt: Stmt) -> Iterator[str]:
    """The names of what a statement itself calls."""
    if isinstance(stmt, Call):
        yield stmt.function
    yield from (op.fn for op in operations(stmt))
