"""Whole numbers to which each iteration of a loop adds the same: the number of the iteration tells them.

    j = i - 1                                   for iteration in range(iterations - 1, -1, -1):
    while j >= 0 and a[j] > key:                    j = i - 1 - iteration
        a[j + 1] = a[j]                  ->         ...
        j -= 1

Nothing is kept of them.  However an iteration may leave the loop, those before it have run to their ends, and each has
taken its step.  Loops that make all their iterations have formulas for such counters before they are reversed
(`optimise/simplify/closed_form_counters.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Atom, Const, Expr, If, Name, Op
from tapec.syntax.types import INT64, Type
from tapec.transforms.sweep import always_breaks


@dataclass(frozen=True)
class Counting:
    """A name that a loop carries: what it is at first, and what each iteration adds, or subtracts."""

    name: str
    first: Expr
    sign: str
    step: Atom


def counting(name: str, loop: Scope, scopes: Scopes, types: dict[str, Type]) -> Counting | None:
    """How a name counts the iterations of a loop that carries it; None if it does not."""
    defs = scopes.defs.get(name, ())
    if types.get(name) != INT64 or len(defs) != 2:
        return None
    inside = [stmt for stmt in defs if scopes.of[stmt.key].inside(loop)]
    outside = [stmt for stmt in defs if scopes.of[stmt.key] is loop.parent]
    if len(inside) != 1 or len(outside) != 1:
        return None
    (last,), (init,) = inside, outside
    if not isinstance(last, Assign) or not isinstance(init, Assign) or not _whole(init.value):
        return None
    if scopes.place[init.key] > scopes.place[loop.owner_key] or not _ends(scopes.of[last.key], loop):
        return None
    made = scopes.defs.get(last.value.id, ()) if isinstance(last.value, Name) else ()
    if len(made) != 1 or scopes.of[made[0].key] is not scopes.of[last.key]:
        return None
    match made[0]:
        case Assign(value=Op(fn="+" | "-" as sign, args=(Name(id=base), Name() | Const() as step))) if base == name:
            pass
        case Assign(value=Op(fn="+" as sign, args=(Name() | Const() as step, Name(id=base)))) if base == name:
            pass
        case _:
            return None
    if isinstance(step, Name):
        scope = scopes.scope_of.get(step.id)
        if scope is None or scope.inside(loop) or scopes.merged(step.id) or types.get(step.id) != INT64:
            return None
    return Counting(name, init.value, sign, step)


def _whole(value: Expr) -> bool:
    """Whether a value is had again by arithmetic alone."""
    return not isinstance(value, Op) or value.fn in ("+", "-", "*")


def _ends(region: Scope, loop: Scope) -> bool:
    """Whether every iteration of a loop that does not leave it comes to a block."""
    while region is not loop:
        owner = region.owner
        if not isinstance(owner, If) or region.parent is None:
            return False
        other = owner.orelse if region.block is owner.body else owner.body
        if not always_breaks(other):
            return False
        region = region.parent
    return True
