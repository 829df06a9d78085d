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
    If,
    Loop,
    Op,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
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
    found = _Verifier(function, constants, readable).run()
    return [*found, *_several(function)] if single else found


class _Verifier:
    """Collects faults in a list: it looks at every statement after every pass, where generators would take the time."""

    def __init__(self, function: Function, constants: frozenset[str], readable: bool) -> None:
        self.function = function
        self.types = function.types
        self.constants = constants
        self.readable = readable
        self.keys = set[int]()
        self.found: list[str] = []

    def run(self) -> list[str]:
        known = {*self.function.params, *self.constants}
        self.found += [f"parameter {name} has no type" for name in self.function.params if name not in self.types]
        self.block(self.function.body, known, loops=0, outermost=True)
        return self.found

    def block(self, block: Block, known: set[str], loops: int, outermost: bool = False) -> None:
        """Note the faults of a block, before which some names may be set; adds to them what it may set."""
        for place, stmt in enumerate(block):
            last = place == len(block) - 1
            if stmt.key in self.keys:
                self.found.append(f"{_kind(stmt)} stands twice")
            self.keys.add(stmt.key)
            self.statement(stmt, known)
            kind = type(stmt)
            if kind is If or kind is Break or kind is Raise:
                if not last and leaves((stmt,)) and not isinstance(block[place + 1], Return):
                    self.found.append(f"{_kind(block[place + 1])} follows a statement that leaves")
                if kind is Break and not loops:
                    self.found.append("break outside a loop")
            elif kind is Return and not (outermost and last):
                self.found.append("return before the end")
            if isinstance(stmt, If):
                way = set(known)
                self.block(stmt.body, way, loops)
                self.block(stmt.orelse, known, loops)
                known |= way
            elif isinstance(stmt, For | Loop):
                # an iteration reads what earlier ones have set
                known |= written_in((stmt,))
                self.block(stmt.body, known, loops + 1)
            known.update(writes(stmt))

    def statement(self, stmt: Stmt, known: set[str]) -> None:
        if not known.issuperset(reads(stmt)):
            unset = dict.fromkeys(name for name in reads(stmt) if name not in known)
            self.found += [f"{name} is read by {_kind(stmt)}, and not set before" for name in unset]
        for name in writes(stmt):
            if name not in self.types:
                self.found.append(f"{name} has no type")
        if isinstance(stmt, Push) and not isinstance(self.types.get(stmt.stack), Stack):
            self.found.append(f"{stmt.stack} is no list")
        elif isinstance(stmt, For):
            if self.types.get(stmt.var) != INT64:
                self.found.append(f"{stmt.var} counts, and is {self.types.get(stmt.var)}")
            if not self.readable and stmt.var in written_in(stmt.body):
                self.found.append(f"{stmt.var} counts, and is assigned")
        element = element_of(stmt)
        if element is not None:
            type_ = self.types.get(element[0])
            if isinstance(type_, Array) and len(element[1]) != type_.ndim:
                self.found.append(f"{element[0]} has {type_.ndim} axes, and {len(element[1])} subscripts")


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
