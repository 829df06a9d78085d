"""What is known of one program: the analyses that passes ask for, each made when it is asked for first.

Pass after pass asks the same, because most leave the program as it is.  So the facts of the program that was asked
about last are kept; another body, or other names, are another program.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tapec.analyses.aliases import Aliases, aliases, is_memory
from tapec.analyses.buffer_rotation import renewed, rotating
from tapec.analyses.carried_arrays import CarriedArrays, carried_arrays
from tapec.analyses.dependence import Dependence
from tapec.analyses.scopes import Scope, Scopes, scopes
from tapec.syntax.core import Block, For, Function, Stmt, reads, walk


class Facts:
    """The analyses of a function; nobody changes what they give.

    readers[name]   the statements that read a name
    members[class]  the names of a class of arrays that may share memory
    parallel[key]   a loop that was asked about, and whether its iterations can run in any order
    accesses[key]   a statement that was asked about, and what it reads and writes of elements
    made[key]       a block that was asked about, by its first statement, and the classes that each run of it has
                    memory of its own for
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parallel: dict[int, tuple[For, bool]] = {}
        self.accesses: dict[int, tuple[Stmt, tuple[Any, ...]]] = {}
        self.made: dict[int | None, tuple[Block, frozenset[str]]] = {}

    @cached_property
    def aliases(self) -> Aliases:
        return aliases(self.function)

    @cached_property
    def scopes(self) -> Scopes:
        return scopes(self.function)

    @cached_property
    def dependence(self) -> Dependence:
        return Dependence(self.scopes)

    @cached_property
    def buffers(self) -> dict[str, int]:
        return rotating(self.function, self.scopes)

    @cached_property
    def renewed(self) -> dict[str, Scope]:
        return renewed(self.scopes)

    @cached_property
    def carried_arrays(self) -> dict[str, CarriedArrays]:
        return carried_arrays(self.function, self.scopes, self.dependence.integers)

    @cached_property
    def readers(self) -> dict[str, list[Stmt]]:
        found: dict[str, list[Stmt]] = {}
        for stmt in walk(self.function.body):
            for name in dict.fromkeys(reads(stmt)):
                found.setdefault(name, []).append(stmt)
        return found

    @cached_property
    def members(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name, type_ in self.function.types.items():
            if is_memory(type_):
                found.setdefault(self.aliases.find(name), set()).add(name)
        return found

    def hold_for(self, function: Function) -> bool:
        """Whether a function has the same body, as an object, and the same names."""
        own = self.function
        return (
            own.body is function.body
            and own.types == function.types
            and (own.params, own.shared) == (function.params, function.shared)
        )


_last: Facts | None = None


def facts(function: Function) -> Facts:
    """The facts of a function."""
    global _last
    found = _last
    if found is None or not found.hold_for(function):
        found = _last = Facts(function)
    return found
