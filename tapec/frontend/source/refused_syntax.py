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
    "JoinedStr": "a formatted string",
    "Nonlocal": "`nonlocal`",
    "Starred": "`*` outside a call, a list or a tuple",
    "Try": "`try`",
    "TryStar": "`except*`",
    "TypeAlias": "the `type` statement",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
}


# refused wherever it stands in a function, unless every decision is known, as in a tape's block
_REFUSED = (gast.Global, gast.Nonlocal, gast.Await, gast.AsyncFunctionDef)

# what the block of a tape may hold, where every decision is known
OF_TAPES = (gast.Global, gast.Nonlocal, gast.Try, gast.Yield, gast.YieldFrom)


@cache
def refused(definition: Any) -> Any:
    """The first piece of syntax that is refused; None if there is none.  A function is searched once, not per call."""
    found = [inner for inner in gast.walk(definition) if isinstance(inner, _REFUSED)]
    saying_nothing = _declarations_of_what_is_only_read(definition) if found else set()
    return next((inner for inner in found if inner not in saying_nothing), None)


def _declarations_of_what_is_only_read(definition: Any) -> set[Any]:
    """`global` and `nonlocal` of names that neither their function nor one inside it sets."""
    around: dict[Any, Any] = {}
    # functions come before those inside them
    for function in gast.walk(definition):
        if isinstance(function, gast.FunctionDef | gast.AsyncFunctionDef):
            declared = (node for node in gast.walk(function) if isinstance(node, gast.Global | gast.Nonlocal))
            around.update((node, function) for node in declared)
    return {node for node, function in around.items() if not _set_names(function) & {*node.names}}


def _set_names(definition: Any) -> frozenset[str]:
    """The names that a function, or one inside it, may set."""
    found: set[str] = set()
    for node in gast.walk(definition):
        match node:
            case gast.Name(id=name, ctx=gast.Store() | gast.Del()):
                found.add(name)
            case gast.FunctionDef(name=name) | gast.AsyncFunctionDef(name=name) | gast.ClassDef(name=name):
                found.add(name)
            case gast.alias(name=name, asname=own):
                found.add(own or name.partition(".")[0])
            case gast.MatchAs(name=name) | gast.MatchStar(name=name) | gast.MatchMapping(rest=name) if name:
                found.add(name)
    return frozenset(found)


def words(node: Any) -> str:
    """What a node is, for a message."""
    name = type(node).__name__
    return WORDS.get(name, f"`{name}`")
