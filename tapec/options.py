"""What a user can ask of a compilation; every field is part of the cache key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options of a derivative.

    level   0: as differentiated; 1: cleaned up, in the user's shape and order; 2: made fast, too
    quote   whether generated source quotes the user's lines
    math    "fast": elementary functions in loops are the runtime's, within 2 units in the last place,
            so that LLVM can vectorise the loops; "libm": they are the C library's
    """

    level: int = 2
    quote: bool = True
    math: str = "fast"
