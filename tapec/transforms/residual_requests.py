"""What functions that are handed lists ask of those that call them; see recursive_residuals.py."""

from __future__ import annotations

from dataclasses import dataclass


class Unhandable(Exception):
    """What a function keeps cannot go on lists that its callers hand down; says why."""


@dataclass(frozen=True)
class Asks:
    """What a function that is handed lists asks of those that call it.

    elements  the positions of the arrays whose elements its pullback reads
    shadows   whether its forward sweep takes the shadows of its arrays, too
    """

    elements: frozenset[int] = frozenset()
    shadows: bool = False
