"""The text of a random program under construction, and the names that it has used."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar


class InSight(Protocol):
    """The names that a statement may use; numbers among them."""

    @property
    def scalars(self) -> tuple[str, ...]: ...


Names = TypeVar("Names", bound=InSight)


class Writer:
    """Lines of source, and fresh names."""

    lines: list[str]
    names: int

    def emit(self, depth: int, text: str) -> None:
        """Add a line, indented."""
        self.lines.append("    " * depth + text)

    def emit_all(self, depth: int, texts: Iterable[str]) -> None:
        """Add lines, indented further than they are."""
        for text in texts:
            self.emit(depth, text)

    def new(self, prefix: str) -> str:
        """A name that is not used yet."""
        self.names += 1
        return f"{prefix}{self.names}"


class Blocks(Writer, Generic[Names]):
    """Blocks of statements; `budget` is the number of statements still wanted."""

    rng: random.Random
    budget: int

    def statement(self, scope: Names, depth: int) -> Names:
        """Write a statement; returns what is in sight behind it."""
        raise NotImplementedError

    def scalar(self, scope: Names) -> str:
        """An expression that is a number."""
        raise NotImplementedError

    def block(self, scope: Names, depth: int, size: int) -> Names:
        """At least one statement; names made in the block stay inside it."""
        wrote = len(self.lines)
        for _ in range(size):
            if self.budget <= 0:
                break
            self.budget -= 1
            scope = self.statement(scope, depth)
        if len(self.lines) == wrote:
            self.emit(depth, f"{self.rng.choice(scope.scalars)} = {self.scalar(scope)}")
        return scope
