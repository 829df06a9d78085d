"""Constructs of Python by the words a user has for them."""

from __future__ import annotations

from typing import Any

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


def words(node: Any) -> str:
    """What a node is, for a message."""
    name = type(node).__name__
    return WORDS.get(name, f"`{name}`")
