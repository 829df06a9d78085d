"""Arrays that the iterations of a loop pass on, and how the reverse sweep has them without keeping any.

Rotated: buffers that change places.  The reversed iteration changes them back.

    now, old = old, now                      old, now = now, old

Handed on: each iteration makes an array that is all that the next one gets.  The shadow of what an iteration made is
the one that the next iteration, reversed before it, has filled: only the shadow of what it got is made.

    for t in range(n):                       new_bar = best_bar
        new = np.empty(k)                    best_bar = first_bar if t == 0 else np.zeros(k)
        ...                           ->     ...
        best = new

Both hold for loops without `break` at the top level, or in an iteration that is replayed or fused.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.aliases import Memory
from tapec.analyses.buffer_rotation import cycle, last_copies
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, For, Name, Op, Stmt, names_in
from tapec.syntax.types import Array, Type


@dataclass(frozen=True)
class CarriedShadow:
    """The shadow that a loop's iterations hand on: its merge name, the one that an iteration makes, and the first
    one.
    """

    carried: str
    made: str
    first: str
    zeros: Op
    statements: tuple[Stmt, ...]


def rotation(name: str, loop: Scope, scopes: Scopes) -> tuple[str, ...]:
    """The names that an iteration permutes with `name`; none if they do not keep their last values."""
    owner = loop.owner
    assert isinstance(owner, For)
    turned = cycle(owner.body, name)
    copies = {stmt.key for stmt in last_copies(owner.body)}
    for one in turned:
        defs = scopes.defs[one]
        inside = [stmt for stmt in defs if scopes.of[stmt.key].inside(loop)]
        if len(defs) != 2 or len(inside) != 1 or inside[0].key not in copies:
            return ()
    return turned


def carried_shadows(
    name: str, loop: Scope, scopes: Scopes, memory: Memory, types: dict[str, Type]
) -> CarriedShadow | None:
    """How a shadow that a loop carries is handed on; None if anything else happens to it."""
    owner, defs = loop.owner, scopes.defs[name]
    assert isinstance(owner, For)
    inside = [stmt for stmt in defs if scopes.of[stmt.key].inside(loop)]
    if len(defs) != 2 or len(inside) != 1 or inside[0] not in last_copies(owner.body):
        return None
    (copy,), (init,) = inside, [stmt for stmt in defs if stmt is not inside[0]]
    if not (isinstance(copy, Assign) and isinstance(init, Assign)):
        return None
    if not (isinstance(copy.value, Name) and isinstance(init.value, Name)):
        return None
    made, first = copy.value.id, init.value.id
    group = {one for one in types if memory.aliases.find(one) == memory.aliases.find(name)}
    if group != {name, made, first} or not isinstance(types[name], Array):
        return None
    zeros = _zeros(made, scopes)
    if zeros is None or scopes.of[scopes.defs[made][0].key] is not loop or _zeros(first, scopes) is None:
        return None
    if any(scopes.scope_of[extent].inside(loop) or scopes.merged(extent) for extent in names_in(zeros)):
        return None
    return CarriedShadow(name, made, first, zeros, (copy, scopes.defs[made][0]))


def _zeros(name: str, scopes: Scopes) -> Op | None:
    """What makes an array of zeros, if that is all that a name is."""
    defs = scopes.defs.get(name, [])
    value = defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None
    return value if isinstance(value, Op) and value.fn == "zeros" else None
