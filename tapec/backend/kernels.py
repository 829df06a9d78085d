"""What stands several times in a long program, as functions that are compiled once.

    t = np.dot(x, w)                                     def loss_part_1(x, w, b):
    y = np.empty(...)                                        t = np.dot(x, w)
    for i in range(n): y[i] = tanh(t[i] + b[i])    ->        ...
    s = np.dot(y, v)                                         return y
    z = np.empty(...)
    for i in range(n): z[i] = tanh(s[i] + c[i])          y = loss_part_1(x, w, b)
    ...                                                  z = loss_part_1(y, v, c)

Numba's time grows faster than a function.  Runs of statements are equal if they have one text under other names, and
the same types.  Inside loops nothing is looked at: there a call would cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tapec.analyses.liveness import Liveness
from tapec.backend import printer
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    distinct,
    ends_in_error,
    reads,
    same,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar

# the shortest program that is looked at, the longest run, and how many statements a function has to save: as a number,
# and as a part of the program
_LONG, _LONGEST, _SAVED, _PART = 80, 40, 20, 0.08
# what a call costs, in statements
_CALL = 0.3
_NAME = re.compile(r"\b[^\W\d]\w*")


@dataclass
class _Run:
    """Equal runs of statements: where they stand in a block, and the names in them in the order of the text."""

    block: int
    first: int
    stmts: Block
    names: tuple[str, ...]
    handed_on: frozenset[int]


def with_kernels(function: Function) -> tuple[Function, tuple[Function, ...]]:
    """The program with calls in place of statements that stand in it several times, and what is called."""
    if sum(1 for _ in walk(function.body)) < _LONG:
        return function, ()
    function = replace(function, body=distinct(function.body))
    return _Kernels(function).made()


class _Kernels:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.live = Liveness(function)
        self.blocks = list(_blocks(function.body))
        # the names that are set before a statement, whichever way the program goes
        self.before: dict[int, frozenset[str]] = {}
        self._note_set(function.body, frozenset(function.params))
        # of each statement: what tells it from others; None for one that stays
        numbers: dict[object, int] = {}
        keys = [[self._key((stmt,)) for stmt in block] for block in self.blocks]
        self.keys = [[key and numbers.setdefault(key, len(numbers) + 1) for key in block] for block in keys]
        self.sizes = [[sum(1 for _ in walk((stmt,))) for stmt in block] for block in self.blocks]
        self.saved = max(_SAVED, _PART * sum(map(sum, self.sizes)))
        self.calls: dict[int, Stmt | None] = {}
        self.kernels: list[Function] = []
        self.taken = {*function.types, *function.params}

    def _note_set(self, block: Block, names: frozenset[str]) -> frozenset[str]:
        """Note what is set before each statement of a block that begins with some names; what is behind it."""
        for stmt in block:
            self.before[stmt.key] = names
            if isinstance(stmt, If):
                sides = [(side, self._note_set(side, names)) for side in (stmt.body, stmt.orelse)]
                # nobody comes out of a side that raises
                ways = [found for side, found in sides if not ends_in_error(side)]
                names = frozenset.intersection(*ways) if ways else names
            elif isinstance(stmt, Assign | Call):
                names |= set(writes(stmt))
        return names

    def made(self) -> tuple[Function, tuple[Function, ...]]:
        refused: set[tuple[int | None, ...]] = set()
        while (best := self._best(refused)) is not None:
            refused.add(best)
            for group in self._groups(best):
                if (len(group) - 1) * sum(1 for _ in walk(group[0].stmts)) >= self.saved:
                    self._outline(group)
        if not self.kernels:
            return self.function, ()
        return replace(self.function, body=self._called(self.function.body)), tuple(self.kernels)

    def _best(self, refused: set[tuple[int | None, ...]]) -> tuple[int | None, ...] | None:
        """The keys of the runs that save most."""
        gains: dict[tuple[int | None, ...], tuple[int, int, tuple[int, int]]] = {}
        for b, keys in enumerate(self.keys):
            for first in range(len(keys)):
                size = 0
                for last in range(first, min(first + _LONGEST, len(keys))):
                    if keys[last] is None:
                        break
                    size += self.sizes[b][last]
                    run = tuple(keys[first : last + 1])
                    count, _, (block, end) = gains.get(run, (0, size, (-1, -1)))
                    # runs of one kind may not overlap
                    if block != b or first >= end:
                        gains[run] = count + 1, size, (b, last + 1)
        found = [
            ((count - 1) * size - _CALL * count, run)
            for run, (count, size, _) in gains.items()
            if count > 1 and (count - 1) * size >= self.saved and run not in refused
        ]
        return max(found, key=lambda one: (one[0], len(one[1])))[1] if found else None

    def _groups(self, wanted: tuple[int | None, ...]) -> list[list[_Run]]:
        """The runs with some keys that are equal as a whole."""
        groups: dict[object, list[_Run]] = {}
        for b, keys in enumerate(self.keys):
            first = 0
            while first + len(wanted) <= len(keys):
                if tuple(keys[first : first + len(wanted)]) != wanted:
                    first += 1
                    continue
                stmts = self.blocks[b][first : first + len(wanted)]
                key, names = self._text(stmts)
                run = self._run(b, first, stmts, names)
                if run is not None:
                    groups.setdefault(key, []).append(run)
                first += len(wanted)
        return list(groups.values())

    def _key(self, stmts: Block) -> Any:
        if any(map(_stays, walk(stmts))) or not all(map(self._passes, _names(stmts))):
            return None
        return self._text(stmts)[0]

    def _passes(self, name: str) -> bool:
        """Whether a function takes what a name stands for; constants have the same names in all functions."""
        type_ = self.function.types.get(name)
        return type_ is None or isinstance(type_, Scalar) or (isinstance(type_, Array) and type_.ndim > 0)

    def _text(self, stmts: Block) -> tuple[object, tuple[str, ...]]:
        """What tells statements from others, and the names in them, in their order."""
        text = "\n".join(printer.statements(stmts, 0, False))
        names = _names(stmts) & self.function.types.keys()
        ordered = tuple(dict.fromkeys(word for word in _NAME.findall(text) if word in names))
        places = {name: k for k, name in enumerate(ordered)}
        plain = _NAME.sub(lambda match: f"_{places[match[0]]}" if match[0] in places else match[0], text)
        # the text of messages says what the user wrote
        raised = tuple((one.exception, one.cls, one.args) for one in walk(stmts) if isinstance(one, Raise))
        return (plain, tuple(self.function.types[name] for name in ordered), raised), ordered

    def _run(self, block: int, first: int, stmts: Block, names: tuple[str, ...]) -> _Run | None:
        """A run, with what it hands on; None for one whose results a function may not have set."""
        if not self._needed(stmts) & self.function.types.keys() <= self.before[stmts[0].key]:
            return None
        made = {name for stmt in walk(stmts) for name in writes(stmt)}
        handed_on = {name for name in made if self.live.live_after(stmts[-1], name)}
        set_here = {name for stmt in stmts if isinstance(stmt, Assign | Call) for name in writes(stmt)}
        if not handed_on <= set_here | self._needed(stmts) or not handed_on <= set(names):
            return None
        return _Run(block, first, stmts, names, frozenset(names.index(name) for name in handed_on))

    def _needed(self, stmts: Block) -> set[str]:
        """The names that statements read before they set them, and the arrays that they store into."""
        alone = Liveness(Function("part", (), (*stmts, Return(())), self.function.types))
        made = {name for stmt in walk(stmts) for name in writes(stmt)}
        return {name for name in _names(stmts) if alone.entry & alone.names.bit(name) or name not in made}

    def _outline(self, group: list[_Run]) -> None:
        """A function for equal runs, and calls in their places."""
        number = len(self.kernels) + 1
        while (name := f"{self.function.name}_part_{number}") in self.taken:
            number += 1
        self.taken.add(name)
        start = group[0]
        needed = self._needed(start.stmts)
        params = [k for k, one in enumerate(start.names) if one in needed]
        results = sorted(frozenset[int]().union(*(run.handed_on for run in group)))
        set_here = {one for stmt in start.stmts if isinstance(stmt, Assign | Call) for one in writes(stmt)}
        if any(start.names[k] not in set_here | needed for k in results):
            return
        stored = {one.array for one in walk(start.stmts) if isinstance(one, Store)}
        changes = tuple(place for place, k in enumerate(params) if start.names[k] in stored)
        for run in group:
            targets = tuple(run.names[k] for k in results)
            args = tuple(Name(run.names[k]) for k in params)
            span = getattr(run.stmts[0], "span", None)
            self.calls[run.stmts[0].key] = Call(targets, name, args, span, changes)
            self.calls.update(dict.fromkeys((stmt.key for stmt in run.stmts[1:]), None))
            for k in range(run.first, run.first + len(run.stmts)):
                self.keys[run.block][k] = None
        body = (*start.stmts, Return(tuple(Name(start.names[k]) for k in results)))
        types = {one: self.function.types[one] for one in start.names}
        own = tuple(start.names[k] for k in params)
        self.kernels.append(replace(self.function, name=name, params=own, body=body, types=types, doc=""))

    def _called(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if stmt.key in self.calls:
                call = self.calls[stmt.key]
                out += [] if call is None else [call]
            elif isinstance(stmt, If):
                body, orelse = self._called(stmt.body), self._called(stmt.orelse)
                unchanged = same(body, stmt.body) and same(orelse, stmt.orelse)
                out.append(stmt if unchanged else replace(stmt, body=body, orelse=orelse))
            else:
                out.append(stmt)
        return tuple(out)


def _blocks(block: Block) -> Iterator[Block]:
    """The blocks of a program that stand in no loop."""
    yield block
    for stmt in block:
        if isinstance(stmt, If):
            yield from _blocks(stmt.body)
            yield from _blocks(stmt.orelse)


def _names(stmts: Block) -> set[str]:
    found = {name for stmt in walk(stmts) for name in (*reads(stmt), *writes(stmt))}
    return found | {stmt.array for stmt in walk(stmts) if isinstance(stmt, Store)}


def _stays(stmt: Stmt) -> bool:
    """Whether a statement stays where it is: lists belong to one function, and threads know one program."""
    return isinstance(stmt, Return | Note | Push | Loop) or (isinstance(stmt, For) and stmt.parallel)
