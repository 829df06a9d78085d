"""Arrays that a loop passes on: distinct ones under names that change places, or a new one from each iteration.

    now, old = np.empty(n), np.empty(n)
    for k in range(steps):
        ...
        if done:
            break
        now, old = old, now

The names share memory over time, but never at the same time: they begin as different arrays, and the
copies that end an iteration only permute them.

    for k in range(steps):
        new = np.empty(n)
        ...
        now = new

Within an iteration, what it makes is other memory than what it began with.
"""

from __future__ import annotations

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Block, Const, For, Function, If, Loop, Name, Op, leaves, reads, walk, writes
from tapec.syntax.types import Array

_FRESH = frozenset({"empty", "zeros", "copy"})


def last_copies(body: Block) -> tuple[Assign, ...]:
    """The copies of names that end a block."""
    first = len(body)
    while first > 0 and isinstance(last := body[first - 1], Assign) and isinstance(last.value, Name):
        first -= 1
    return tuple(stmt for stmt in body[first:] if isinstance(stmt, Assign))


def permutation(body: Block) -> dict[str, str]:
    """What each name that the last copies of an iteration set holds afterwards, in names of before."""
    held: dict[str, str] = {}
    for stmt in last_copies(body):
        assert isinstance(stmt.value, Name)
        held[stmt.target] = held.get(stmt.value.id, stmt.value.id)
    return held


def cycle(body: Block, name: str) -> tuple[str, ...]:
    """The names that hold the value of `name` iteration after iteration, itself first; empty if it does not come round.

    Each begins the next iteration with what the one after it held.
    """
    held = permutation(body)
    found = [name]
    while (following := held.get(found[-1])) is not None and following != name:
        if following in found:
            return ()
        found.append(following)
    return tuple(found) if held.get(found[-1]) == name and len(found) > 1 else ()


def rotating(function: Function, scopes: Scopes) -> dict[str, int]:
    """Numbers for arrays: different names of one number never share memory at the same time."""
    found: dict[str, int] = {}
    for stmt in walk(function.body):
        if isinstance(stmt, For | Loop):
            names = _rotated(stmt, scopes, function, found)
            found |= dict.fromkeys(names, len(found) + 1)
    return found


def renewed(scopes: Scopes) -> dict[str, Scope]:
    """Arrays that each iteration of a loop makes for itself, and the loop's body."""
    found: dict[str, Scope] = {}
    for name, defs in scopes.defs.items():
        made = defs[0] if len(defs) == 1 else None
        if isinstance(made, Assign) and isinstance(made.value, Op) and made.value.fn in _FRESH:
            region = scopes.of[made.key]
            if region.is_loop:
                found[name] = region
    return found


def begun_with(name: str, region: Scope, scopes: Scopes) -> bool:
    """Whether a name stands, up to the copies that end an iteration, for what it stood for when the iteration began."""
    last = {stmt.key for stmt in last_copies(region.block)}
    return all(stmt.key in last or not scopes.of[stmt.key].inside(region) for stmt in scopes.defs.get(name, ()))


def _rotated(loop: For | Loop, scopes: Scopes, function: Function, known: dict[str, int]) -> list[str]:
    """The arrays that a loop permutes, if they are different ones when it begins.

    An iteration that leaves the loop may set them otherwise at its end, if one of them alone is used behind it.
    """
    end, leaving = _end(loop.body)
    held = permutation(end)
    if not any(isinstance(function.types.get(name), Array) for name in held):
        return []
    copies = {stmt.key for stmt in last_copies(end)}
    inside = {stmt.key for stmt in walk(loop.body)}
    names, origins, begun = [], [], set[int]()
    for name in held:
        if not isinstance(function.types.get(name), Array):
            continue
        first = [stmt for stmt in scopes.defs[name] if stmt.key not in inside]
        own = [stmt for stmt in scopes.defs[name] if stmt.key in inside]
        if not first or any(stmt.key not in copies and stmt.key not in leaving for stmt in own):
            continue
        if len(first) != 1 or not isinstance(first[0], Assign) or not isinstance(first[0].value, Name):
            return []
        names.append(name)
        origins.append(first[0].value.id)
        begun.add(first[0].key)
    if sorted(held[name] for name in names) != sorted(names) or len(set(origins)) != len(origins):
        return []
    behind = [stmt for stmt in walk(function.body) if stmt.key not in inside | begun]
    used = {name for stmt in behind for name in (*reads(stmt), *writes(stmt))} if leaving else set()
    if len(used.intersection(names)) > 1:
        return []
    together = {known.get(origin, -k) for k, origin in enumerate(origins)}
    fresh = all(is_fresh(origin, scopes) for origin in origins)
    return names if fresh or (len(together) == 1 and together.pop() > 0) else []


def _end(body: Block) -> tuple[Block, set[int]]:
    """The block that an iteration ends with unless it leaves the loop, and the last copies of those that leave it."""
    leaving: set[int] = set()
    while body and isinstance(last := body[-1], If) and leaves(last.body) != leaves(last.orelse):
        body, other = (last.orelse, last.body) if leaves(last.body) else (last.body, last.orelse)
        leaving |= _copies_before_leaving(other)
    return body, leaving


def _copies_before_leaving(block: Block) -> set[int]:
    """The copies that end the ways through a block, all of which leave a loop."""
    last = block[-1]
    if isinstance(last, If):
        return _copies_before_leaving(last.body) | _copies_before_leaving(last.orelse)
    block = block[:-1]
    # behind them stands which way out it is
    while block and isinstance(block[-1], Assign) and isinstance(block[-1].value, Const):
        block = block[:-1]
    return {stmt.key for stmt in last_copies(block)}


def is_fresh(name: str, scopes: Scopes) -> bool:
    """Whether a name is set once, to an array of its own."""
    defs = scopes.defs.get(name, [])
    if len(defs) != 1 or not isinstance(defs[0], Assign):
        return False
    value = defs[0].value
    return isinstance(value, Op) and value.fn in _FRESH
