"""What iterations leave for the next ones, where LLVM can shift vectors of it.

    for i in range(n):
        here = u[i]
        d[i] = here - left
        left = here

`left` is what the iteration before has computed, from nothing that another iteration left: of eight iterations, it is
their vector of `here`, shifted by one.  LLVM runs such a loop on vectors if nothing that reads `left` is stored before
`here` is computed.
"""

from __future__ import annotations

from tapec.syntax.core import Assign, Block, Expr, Name, Note, Op, Store, reads

_IN_ORDER = frozenset({"pop"})


def shifted(body: Block) -> dict[str, str]:
    """Variables that an iteration reads as the one before has left them -> the names of the values that it leaves in
    them.

    Of a loop without ways, in which nothing but sums waits for the iteration before otherwise; no variable of others.
    """
    if not all(isinstance(stmt, Assign | Store | Note) for stmt in body):
        return {}
    if any(isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in _IN_ORDER for stmt in body):
        return {}
    made = {stmt.target: (place, stmt) for place, stmt in enumerate(body) if isinstance(stmt, Assign)}
    found: dict[str, str] = {}
    read = ((place, name) for place, stmt in enumerate(body) for name in reads(stmt) if name in made)
    for name in {name for place, name in read if place <= made[name][0]}:
        _, stmt = made[name]
        copied = made.get(stmt.value.id) if isinstance(stmt.value, Name) else None
        if _follows(name, made):
            if not _sums(name, stmt.value if copied is None else copied[1].value, made):
                return {}
        elif isinstance(stmt.value, Name) and copied is not None:
            found[name] = stmt.value.id
    return found


def _follows(name: str, made: dict[str, tuple[int, Assign]]) -> bool:
    """Whether what an iteration leaves under a name follows from what it has found there."""
    wanted, seen = [name], {name}
    while wanted:
        place, stmt = made[wanted.pop()]
        for one in reads(stmt):
            if one == name and place <= made[name][0]:
                return True
            if one in made and one not in seen:
                seen.add(one)
                wanted.append(one)
    return False


def _sums(name: str, value: Expr, made: dict[str, tuple[int, Assign]]) -> bool:
    """Whether a value is what a name had, and what was added to that in some statements."""
    while isinstance(value, Op) and value.fn in ("+", "-"):
        on = [one.id for one in value.args if isinstance(one, Name) and (one.id == name or _uses(name, one.id, made))]
        if len(on) != 1 or (value.fn == "-" and Name(on[0]) != value.args[0]):
            return False
        if on == [name]:
            return True
        value = made[on[0]][1].value
    return False


def _uses(name: str, value: str, made: dict[str, tuple[int, Assign]]) -> bool:
    """Whether the value of a name follows in an iteration from another name."""
    wanted, seen = [value] if value in made else [], {value}
    while wanted:
        read = set(reads(made[wanted.pop()][1]))
        if name in read:
            return True
        new = {one for one in read if one in made} - seen
        seen |= new
        wanted += new
    return False
