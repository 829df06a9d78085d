"""What a user can ask of a compilation; every field is part of the cache key."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Literal, TypedDict

from tapec.errors import UsageError

LEVELS = (0, 1, 2)
MATH = ("fast", "libm")


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

    def __tapec_key__(self) -> tuple[Any, ...]:
        """What tells options from others, for the cache."""
        return astuple(self)


DEFAULT = Options()


class Keywords(TypedDict, total=False):
    """The options as keywords of the transforms."""

    opt_level: Literal[0, 1, 2]
    math: Literal["fast", "libm"]


def chosen(keywords: Keywords) -> Options:
    """The options that keywords ask for; raises UsageError for unknown ones."""
    unknown = keywords.keys() - Keywords.__annotations__.keys()
    if unknown:
        raise UsageError(
            f"there is no option `{min(unknown)}`", hint=f"the options are {', '.join(Keywords.__annotations__)}"
        )
    level = keywords.get("opt_level", Options.level)
    math = keywords.get("math", Options.math)
    if level not in LEVELS or isinstance(level, bool):
        raise UsageError(f"opt_level must be 0, 1 or 2, not {level!r}")
    if math not in MATH:
        raise UsageError(f'math must be "fast" or "libm", not {math!r}')
    return Options(level=level, math=math)
