"""What all iterations of a loop would do alike: the statements that depend on nothing which an iteration changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapec.analyses.aliases import is_memory
from tapec.analyses.dependence import is_element_load
from tapec.analyses.iterations import Iterations
from tapec.analyses.random_draws import drawn
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    For,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    changed,
    map_blocks,
    may_leave,
    reads,
    walk,
    writes,
)


class Invariance:
    """Questions about one loop.

    arrays  those whose stores a statement stands for, too, not what makes them alone
    """

    def __init__(self, iterations: Iterations, loop: For, arrays: Iterable[str] = ()) -> None:
        self.iterations = iterations
        self.arrays = frozenset(arrays)
        self.inside = list(walk(loop.body))
        self.written = {name for stmt in self.inside for name in writes(stmt)} | {loop.var}
        self.touched = {iterations.aliases.find(name) for stmt in self.inside for name in changed(stmt)}
        # the statement of the loop's body that each stands in
        self.place = {inner.key: place for place, stmt in enumerate(loop.body) for inner in walk((stmt,))}
        raises = [self.place[stmt.key] for stmt in self.inside if isinstance(stmt, Raise)]
        self._first_raise = min(raises, default=len(loop.body))

    def holds(self, stmt: Stmt) -> bool:
        return stmt.key in self.place

    def needed(self, wanted: Sequence[Stmt]) -> set[int]:
        """The statements of an iteration that some of them need, with those around them, by key."""
        found: set[int] = set()
        pending = list(wanted)
        while pending:
            stmt = pending.pop()
            if stmt.key in found:
                continue
            found.add(stmt.key)
            around = self.iterations.scopes.of[stmt.key].owner
            if around is not None and self.holds(around):
                pending.append(around)
            for name in reads(stmt):
                if name not in self.arrays or isinstance(stmt, Assign):
                    pending += filter(self.holds, self.iterations.scopes.defs.get(name, ()))
        return found

    def all_invariant(self, found: set[int], array: str = "") -> bool:
        """Whether statements, with all that they need, do in every iteration what they do in the first, and do it
        there.

        array  the one that they may store into
        """
        stmts = [stmt for stmt in self.inside if stmt.key in found]
        # behind a check there may be elements that are not there where it would have raised an error
        if any(self.place[stmt.key] >= self._first_raise and _is_element(stmt) for stmt in stmts):
            return False
        return all(self._is_invariant(stmt, found, array) for stmt in stmts)

    def _is_invariant(self, stmt: Stmt, found: set[int], array: str) -> bool:
        match stmt:
            case Store(array=stored) if stored == array:
                pass
            case For(slots=None, body=body) if not may_leave(body):
                pass
            case Assign(value=Op(fn="pop")):
                return False
            case If() | Assign() if drawn(stmt) is None:
                pass
            case Call(function=function, changes=()) if function.startswith("np.linalg."):
                pass
            case _:
                return False
        for name in reads(stmt):
            if name == array:
                continue
            if is_memory(self.iterations.types.get(name)) and self.iterations.aliases.find(name) in self.touched:
                return False
            if name in self.written and not all(one.key in found for one in self.iterations.scopes.defs.get(name, ())):
                return False
        return True


def _is_element(stmt: Stmt) -> bool:
    """Whether a statement reads or writes an element."""
    return isinstance(stmt, Store) or is_element_load(stmt)


def can_be_parted(iterations: Iterations, loop: For) -> bool:
    """Whether all iterations of a loop are made, by a known step, unless one raises an error."""
    return loop.slots is None and iterations.dependence.direction(loop) != 0 and not may_leave(loop.body)


def some_iteration(iterations: Iterations, loop: For, name: str) -> tuple[Assign, Name]:
    """What sets a name to whether such a loop makes any iteration, and the name."""
    sign = "<" if iterations.dependence.direction(loop) > 0 else ">"
    return Assign(name, Op(sign, (loop.start, loop.stop)), loop.span), Name(name)


def kept(block: Block, wanted: set[int]) -> Block:
    """The statements that are wanted, in the blocks that they stand in."""
    return tuple(map_blocks(stmt, lambda inner: kept(inner, wanted)) for stmt in block if stmt.key in wanted)


def exchanged(block: Block, changes: dict[int, tuple[Stmt, ...]]) -> Block:
    """The block with others in the place of some statements, which are told by key."""
    out: list[Stmt] = []
    for stmt in block:
        found = changes.get(stmt.key)
        out += found if found is not None else (map_blocks(stmt, lambda inner: exchanged(inner, changes)),)
    return tuple(out)
