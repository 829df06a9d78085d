"""Whether a program in core form is well formed: what every pass may count on, and has to leave behind.

`faults` names each breach in words, for tests and fuzzers, which ask after every pass:

keys     no statement's key stands twice
names    every name has a type; what is read is set before, in a block around the reader or in an earlier
         iteration of a loop around it; parameters are not assigned
leaving  nothing follows a `Break` or `Raise` in its block, nor an `if` whose sides both end so, but for the `Return`;
         a `Break` stands in a loop; the one `Return` comes last
lists    `Push` goes to a list; an element has as many subscripts as its array has axes
counters a counted loop's variable is an integer, which its body does not assign before names are made readable
single   in a program of single definitions, a name that is assigned at several places takes copies of atoms there

Source: the grammar in `core.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    For,
    Function,
    Loop,
    Op,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    blocks,
    element_of,
    leaves,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.types import INT64, Array, Stack


def faults(
    function: Function, constants: frozenset[str] = frozenset(), single: bool = False, readable: bool = False
) -> list[str]:
    """What is wrong with a function, which may read some names that it does not set; empty if nothing is.

    single    whether it is to have single definitions
    readable  whether names have been made readable, which may give several values one name
    """
    found = list(_Verifier(function, constants, readable).run())
    return [*found, *_several(function)] if single else found


class _Verifier:
    def __init__(self, function: Function, constants: frozenset[str], readable: bool) -> None:
        self.function = function
        self.types = function.types
        self.constants = constants
        self.readable = readable
        self.keys = set[int]()

    def run(self) -> Iterator[str]:
        known = {*self.function.params, *self.constants}
        yield from (f"parameter {name} has no type" for name in self.function.params if name not in self.types)
        yield from self.block(self.function.body, known, loops=0, outermost=True)

    def block(self, block: Block, known: set[str], loops: int, outermost: bool = False) -> Iterator[str]:
        """The faults of a block, before which some names may be set; adds to them what it may set."""
        for place, stmt in enumerate(block):
            last = place == len(block) - 1
            if stmt.key in self.keys:
                yield f"{_kind(stmt)} stands twice"
            self.keys.add(stmt.key)
            yield from self.statement(stmt, known)
            if not last and leaves((stmt,)) and not isinstance(block[place + 1], Return):
                yield f"{_kind(block[place + 1])} follows a statement that leaves"
            if isinstance(stmt, Break) and not loops:
                yield "break outside a loop"
            if isinstance(stmt, Return) and not (outermost and last):
                yield "return before the end"
            inside = loops + isinstance(stmt, For | Loop)
            if isinstance(stmt, For | Loop):
                # an iteration reads what earlier ones have set
                known |= written_in((stmt,))
                for body in blocks(stmt):
                    yield from self.block(body, known, inside)
            else:
                after = set(known)
                for body in blocks(stmt):
                    way = set(known)
                    yield from self.block(body, way, inside)
                    after |= way
                known |= after
            known.update(writes(stmt))

    def statement(self, stmt: Stmt, known: set[str]) -> Iterator[str]:
        for name in dict.fromkeys(reads(stmt)):
            if name not in known:
                yield f"{name} is read by {_kind(stmt)}, and not set before"
        for name in writes(stmt):
            if name not in self.types:
                yield f"{name} has no type"
        match stmt:
            case Push(stack=name) if not isinstance(self.types.get(name), Stack):
                yield f"{name} is no list"
            case For(var=var, body=body):
                if self.types.get(var) != INT64:
                    yield f"{var} counts, and is {self.types.get(var)}"
                if not self.readable and var in written_in(body):
                    yield f"{var} counts, and is assigned"
        element = element_of(stmt)
        if element is not None:
            type_ = self.types.get(element[0])
            if isinstance(type_, Array) and len(element[1]) != type_.ndim:
                yield f"{element[0]} has {type_.ndim} axes, and {len(element[1])} subscripts"


def _several(function: Function) -> Iterator[str]:
    """Names that are assigned at several places, where they are given something else than an atom."""
    defs: dict[str, list[Stmt]] = {}
    for stmt in walk(function.body):
        for name in writes(stmt):
            defs.setdefault(name, []).append(stmt)
    for name, stmts in defs.items():
        if name in function.params:
            yield f"parameter {name} is assigned"
        if len(stmts) > 1 and not all(isinstance(one, Assign) and not isinstance(one.value, Op) for one in stmts):
            yield f"{name} is assigned at {len(stmts)} places, not as a copy"


def _kind(stmt: Stmt) -> str:
    match stmt:
        case Assign(target=target):
            return f"`{target} =`"
        case Store(array=array):
            return f"`{array}[...] =`"
        case For(var=var):
            return f"`for {var}`"
        case Raise(exception=exception):
            return f"`raise {exception}`"
    return type(stmt).__name__
