"""Allocate once what every trip of a loop would allocate anew.

    for k in range(steps):               tmp = np.empty(n)
        tmp = np.empty(n)       ->       for k in range(steps):
        ...                                  ...

Only where no memory of a trip outlives it, and where the extents are known not to be negative: an
allocation that raises must not run where the loop makes no trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.facts import facts
from tapec.journal import Listener, Named
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    map_blocks,
    names_in,
    walk,
    writes,
)

_WHOLE_NUMBERS = frozenset({"+", "-", "*", "max", "min", "dim"})


def hoist_allocations(
    function: Function, _constants: frozenset[str] = frozenset(), listener: Listener | None = None
) -> Function:
    """The function with allocations moved out of loops; see the module."""
    return replace(function, body=_Hoist(function, listener).block(function.body))


class _Hoist:
    def __init__(self, function: Function, listener: Listener | None) -> None:
        self.listener = listener
        self.types = function.types
        known = facts(function)
        self.aliases, self.members = known.aliases, known.members
        self.definitions: dict[str, Expr | None] = {}
        for stmt in walk(function.body):
            for name in writes(stmt):
                single = isinstance(stmt, Assign) and name not in self.definitions
                self.definitions[name] = stmt.value if single and isinstance(stmt, Assign) else None

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            # innermost loops first, so that an allocation rises as far as it can
            new = map_blocks(stmt, self.block)
            # threads need memory of their own
            if isinstance(new, Loop) or (isinstance(new, For) and not new.parallel):
                lifted = self.lifted(new)
                out += [s for s in new.body if id(s) in lifted]
                new = replace(new, body=tuple(s for s in new.body if id(s) not in lifted))
            out.append(new)
        return tuple(out)

    def lifted(self, loop: For | Loop) -> set[int]:
        """The statements (by id) of a loop's body that can stand before it."""
        inside = {name for stmt in walk((loop,)) for name in writes(stmt)}
        at_top = {s.target: s for s in loop.body if isinstance(s, Assign)}
        found: set[int] = set()
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn != "empty":
                continue
            own = self.members[self.aliases.find(stmt.target)]
            if own <= inside and self.definitions.get(stmt.target) is not None:
                needed = self.extents(stmt.value.args[1:], inside, at_top)
                if needed is not None:
                    found |= {id(stmt), *needed}
                    if self.listener is not None:
                        why = "no trip of {1} hands it on"
                        about = Named(stmt.target, stmt.span), loop.span
                        self.listener.decide(stmt.span, "hoist", "`{0}` is allocated once", why, *about)
        return found

    def extents(self, dims: tuple[Expr, ...], inside: set[str], at_top: dict[str, Assign]) -> set[int] | None:
        """The statements that must move along; None if an extent is not known before the loop."""
        found: set[int] = set()
        for dim in dims:
            if not self.natural(dim):
                return None
            for name in self.reached(dim, inside):
                made = at_top.get(name)
                value = self.definitions.get(name)
                if made is None or not isinstance(value, Op) or value.fn not in _WHOLE_NUMBERS:
                    return None
                found.add(id(made))
        return found

    def reached(self, expr: Expr, inside: set[str]) -> Iterator[str]:
        """The names set in the loop from which an expression is computed."""
        for name in names_in(expr):
            if name in inside:
                yield name
                value = self.definitions.get(name)
                if value is not None:
                    yield from self.reached(value, inside)

    def natural(self, expr: Expr) -> bool:
        """Whether a number is known not to be negative."""
        if isinstance(expr, Const):
            return isinstance(expr.value, int) and expr.value >= 0
        value = self.definitions.get(expr.id) if isinstance(expr, Name) else expr
        if not isinstance(value, Op):
            return False
        return value.fn == "dim" or (value.fn == "max" and any(self.natural(arg) for arg in value.args))
