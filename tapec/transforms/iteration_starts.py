"""Numbers that an iteration begins with, kept in place of more numbers that follow from them.

    while way < length:                         while way < length:
        i = floor(x)                                keep x, y
        j = floor(y)                     ->         i = floor(x)
        keep i, j, i >= 0 and j >= 0                ...
        if i >= 0 and j >= 0:                       if i >= 0 and j >= 0:
            keep x - i, y - j                           ...
        x += step_x                                 x += step_x
        y += step_y                                 y += step_y

A value by itself is kept if that takes less than what an iteration begins with and all that leads from there to the
value. Where several values follow from the same few numbers, those are kept, if that and the values' computation take
less.
"""

from __future__ import annotations

from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, For, names_in
from tapec.syntax.types import Scalar
from tapec.transforms.array_copies import Copies
from tapec.transforms.recomputation_costs import EXPENSIVE, STORE, repeatable

# so long are the ways from a start to a value
_DEPTH = 12
# a merge name, and the body of the loop that carries it
Start = tuple[str, Scope]


class IterationStarts(Copies):
    """Chooses such numbers, and demands them."""

    def choose_starts(self) -> None:
        """Of what the reverse sweep asks for, find the values that are better had from what their iteration begins
        with.
        """
        values: dict[str, frozenset[Start]] = {}
        for name in dict.fromkeys(name for name, _ in self._pending):
            starts = self._starts_of(name)
            if starts:
                values[name] = starts
        asked = {name for name, _ in self._pending}
        for group in _connected(values):
            starts = frozenset(start for name in group for start in values[name])
            group.sort(key=lambda name: self.scopes.place[self.scopes.defs[name][0].key])
            followed, taken = self._following(group, starts)
            new = [(name, loop) for name, loop in starts if name not in asked]
            scopes_of = [self.scopes.scope_of[name] for name in group]
            kept = sum(max(self._cost(name, scope) for scope in scopes_of) for name, _ in new)
            if followed * STORE > kept + taken:
                self._pending += sorted(
                    ((name, next(scope for scope in scopes_of if scope.inside(loop))) for name, loop in new),
                    key=lambda start: start[0],
                )

    def _starts_of(self, name: str) -> frozenset[Start] | None:
        """What a value that would be kept follows from; None if that is more than what iterations begin with."""
        scope = self.scopes.scope_of.get(name)
        if scope is None or not isinstance(self.types[name], Scalar) or not self.chain(scope):
            return None
        if self.scopes.merged(name) or self._cost(name, scope) < STORE:
            return None
        return self._leading_to(name, scope, _DEPTH)

    def _leading_to(self, name: str, region: Scope, depth: int) -> frozenset[Start] | None:
        scope = self.scopes.scope_of.get(name)
        loop = self.scopes.loop_of(name) if scope is not None and self.scopes.merged(name) else None
        if loop is not None and region.inside(loop):
            if loop.key in self.plan.fused:
                return frozenset()
            return frozenset({(name, loop)}) if isinstance(self.types[name], Scalar) else None
        if scope is None or not self.chain(scope):
            return frozenset()
        made = self.scopes.defs[name][0]
        if isinstance(made, For):
            return frozenset()
        if self.scopes.merged(name) or depth == 0 or not isinstance(made, Assign) or not repeatable(made):
            return None
        if self._own_cost(made, scope) >= EXPENSIVE:
            return None
        found: frozenset[Start] = frozenset()
        for operand in names_in(made.value):
            if not isinstance(self.types.get(operand), Scalar):
                continue
            more = self._leading_to(operand, scope, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    def _following(self, names: list[str], starts: frozenset[Start]) -> tuple[int, float]:
        """How many values are computed again if the starts are kept, and what that takes."""
        known = set(self._done)
        self._done |= {(name, loop.key) for name, loop in starts}
        count, taken = 0, 0.0
        for name in names:
            scope = self.scopes.scope_of[name]
            cost = self._cost(name, scope)
            if cost < STORE:
                count += 1
                taken += cost
                self._done.add((name, scope.key))
        self._done = known
        return count, taken


def _connected(values: dict[str, frozenset[Start]]) -> list[list[str]]:
    """The values in groups that have no start in common with others."""
    groups: list[tuple[set[Start], list[str]]] = []
    for name, starts in values.items():
        touching = [group for group in groups if not starts.isdisjoint(group[0])]
        together = set(starts).union(*(one for one, _ in touching))
        joined = [n for _, names in touching for n in names] + [name]
        groups = [group for group in groups if group not in touching] + [(together, joined)]
    return [names for _, names in groups]
