"""Syntax that is refused, and the words for it in messages."""

from __future__ import annotations

from functools import cache
from typing import Any

import gast

WORDS = {
    "AsyncFor": "`async for`",
    "AsyncFunctionDef": "`async def`",
    "AsyncWith": "`async with`",
    "Await": "`await`",
    "Bytes": "bytes",
    "ClassDef": "a class defined inside a function",
    "Dict": "a dict",
    "FormattedValue": "a formatted string",
    "GeneratorExp": "a generator expression",
    "Global": "`global`",
    "Import": "`import` inside a function",
    "ImportFrom": "`import` inside a function",
    "JoinedStr": "a formatted string",
    "Nonlocal": "`nonlocal`",
    "Starred": "`*` outside a call, a list or a tuple",
    "Try": "`try`",
    "TryStar": "`try`",
    "TypeAlias": "the `type` statement",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
}


# refused wherever it stands in a function, unless every decision is known, as in a tape's block
_REFUSED = (gast.Global, gast.Nonlocal, gast.Yield, gast.YieldFrom, gast.Await, gast.AsyncFunctionDef)


@cache
def refused(definition: Any) -> Any:
    """The first piece of syntax that is refused; None if there is none.  A function is searched once, not per call."""
    return next((inner for inner in gast.walk(definition) if isinstance(inner, _REFUSED)), None)


def words(node: Any) -> str:
    """What a node is, for a message."""
    name = type(node).__name__
    return WORDS.get(name, f"`{name}`")
