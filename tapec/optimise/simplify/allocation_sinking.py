"""Make arrays and views where they are first used.

A shadow is allocated beside its primal, but only the reverse sweep uses it.  An allocation or a
view moves down its block to the statement that mentions it first.

    x_bar = np.zeros(n)                 y = np.sin(x)
    y = np.sin(x)             ->        x_bar = np.zeros(n)
    x_bar[i] += np.cos(x)               x_bar[i] += np.cos(x)
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.syntax.core import Assign, Block, Function, Op, Stmt, map_blocks, reads, walk, writes

_MOVABLE = VIEWS | ALLOCATIONS | {"dim"}


def sink_allocations(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with allocations and views moved down; see the module."""
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    moved: dict[int, list[Stmt]] = {}
    stays: list[tuple[int, Stmt]] = []
    # for each name the first place below where it is mentioned, and where it is assigned
    mentioned: dict[str, int] = {}
    assigned: dict[str, int] = {}
    for place in range(len(block) - 1, -1, -1):
        stmt = map_blocks(block[place], _block)
        to = _destination(stmt, place, mentioned, assigned)
        if to is None:
            stays.append((place, stmt))
            for inner in walk((stmt,)):
                mentioned |= dict.fromkeys((*reads(inner), *writes(inner)), place)
                assigned |= dict.fromkeys(writes(inner), place)
        else:
            # where it stands now it has nothing to do with the user's line
            moved.setdefault(to, []).append(replace(stmt, span=None) if isinstance(stmt, Assign) else stmt)
            for name in reads(stmt):
                mentioned[name] = min(mentioned.get(name, to), to)
            for name in writes(stmt):
                assigned[name] = mentioned[name] = to
    out: list[Stmt] = []
    for place, stmt in reversed(stays):
        out += reversed(moved.get(place, ()))
        out.append(stmt)
    return tuple(out)


def _destination(stmt: Stmt, place: int, mentioned: dict[str, int], assigned: dict[str, int]) -> int | None:
    """Where a statement can go: before the first mention of its target, unless an operand changes."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn not in _MOVABLE:
        return None
    to = mentioned.get(stmt.target)
    if to is None or any(assigned.get(name, to) < to for name in reads(stmt)):
        return None
    return to if to > place + 1 else None
