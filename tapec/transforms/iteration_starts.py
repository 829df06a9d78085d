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

# so long are the ways from a head to a value
_DEPTH = 12
# a merge name, and the body of the loop that carries it
Head = tuple[str, Scope]


class IterationStarts(Copies):
    """Chooses such numbers, and demands them."""

    def choose_heads(self) -> None:
        """Of what the reverse sweep asks for, find the values that are better had from what their iteration begins
        with.
        """
        values: dict[str, frozenset[Head]] = {}
        for name in dict.fromkeys(name for name, _ in self._pending):
            heads = self._heads_of(name)
            if heads:
                values[name] = heads
        asked = {name for name, _ in self._pending}
        for group in _connected(values):
            heads = frozenset(head for name in group for head in values[name])
            group.sort(key=lambda name: self.scopes.place[self.scopes.defs[name][0].key])
            followed, taken = self._following(group, heads)
            new = [(name, loop) for name, loop in heads if name not in asked]
            homes = [self.scopes.home[name] for name in group]
            kept = sum(max(self._cost(name, home) for home in homes) for name, _ in new)
            if followed * STORE > kept + taken:
                self._pending += sorted(
                    ((name, next(home for home in homes if home.inside(loop))) for name, loop in new),
                    key=lambda head: head[0],
                )

    def _heads_of(self, name: str) -> frozenset[Head] | None:
        """What a value that would be kept follows from; None if that is more than what iterations begin with."""
        home = self.scopes.home.get(name)
        if home is None or not isinstance(self.types[name], Scalar) or not self.chain(home):
            return None
        if self.scopes.merged(name) or self._cost(name, home) < STORE:
            return None
        return self._leading_to(name, home, _DEPTH)

    def _leading_to(self, name: str, region: Scope, depth: int) -> frozenset[Head] | None:
        home = self.scopes.home.get(name)
        loop = self.scopes.loop_of(name) if home is not None and self.scopes.merged(name) else None
        if loop is not None and region.inside(loop):
            if loop.key in self.plan.fused:
                return frozenset()
            return frozenset({(name, loop)}) if isinstance(self.types[name], Scalar) else None
        if home is None or not self.chain(home):
            return frozenset()
        made = self.scopes.defs[name][0]
        if isinstance(made, For):
            return frozenset()
        if self.scopes.merged(name) or depth == 0 or not isinstance(made, Assign) or not repeatable(made):
            return None
        if self._own_cost(made, home) >= EXPENSIVE:
            return None
        found: frozenset[Head] = frozenset()
        for operand in names_in(made.value):
            if not isinstance(self.types.get(operand), Scalar):
                continue
            more = self._leading_to(operand, home, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    def _following(self, names: list[str], heads: frozenset[Head]) -> tuple[int, float]:
        """How many values are computed again if the heads are kept, and what that takes."""
        known = set(self._done)
        self._done |= {(name, loop.key) for name, loop in heads}
        count, taken = 0, 0.0
        for name in names:
            home = self.scopes.home[name]
            cost = self._cost(name, home)
            if cost < STORE:
                count += 1
                taken += cost
                self._done.add((name, home.key))
        self._done = known
        return count, taken


def _connected(values: dict[str, frozenset[Head]]) -> list[list[str]]:
    """The values in groups that have no head in common with others."""
    groups: list[tuple[set[Head], list[str]]] = []
    for name, heads in values.items():
        touching = [group for group in groups if not heads.isdisjoint(group[0])]
        joined = (set(heads).union(*(one for one, _ in touching)), [n for _, names in touching for n in names] + [name])
        groups = [group for group in groups if group not in touching] + [joined]
    return [names for _, names in groups]
