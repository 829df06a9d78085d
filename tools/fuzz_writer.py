"""The text of a random program under construction, and the names that it has used."""

from __future__ import annotations

from collections.abc import Iterable


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
