"""What a user can ask of a compilation; every field is part of the cache key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options of a derivative.

    level   0: as differentiated; 1: cleaned up, in the user's shape
    quote   whether generated source quotes the user's lines
    """

    level: int = 1
    quote: bool = True
