"""The elements that iterations of one loop come to: which are handed on to the next iteration, and which nobody else
meets.
"""

from __future__ import annotations

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Access, Iterations
from tapec.syntax.core import Assign, Const, For, Store, writes
from tapec.syntax.types import FLOAT64, Array


class Elements:
    """Questions about the subscripts in a loop without loops or branches, which counts up or down by one and reads no
    array as a whole.
    """

    def __init__(self, iterations: Iterations, loop: For) -> None:
        self.iterations = iterations
        self.loop = loop
        self.direction = 1 if loop.step == Const(1) else -1
        self.inside = {name for stmt in loop.body for name in writes(stmt)} | {loop.var}

    def pair(self, group: list[Access]) -> tuple[Assign, Store, bool] | None:
        """The load and the addition of such an element, and whether the load's element is set in its iteration.

        Nothing else in the loop may meet the row of the elements.
        """
        array = group[0].array
        type_ = self.iterations.types[array]
        if any(one.array != array for one in group) or array in self.inside:
            return None
        if not isinstance(type_, Array) or type_.dtype != "float64":
            return None
        places = [self.place(one) for one in group]
        for one, read in zip(group, places, strict=True):
            for other, added in zip(group, places, strict=True):
                if one.kind != "load" or other.kind != "add" or read is None or added is None:
                    continue
                steps = [b.offset - a.offset for a, b in zip(read, added, strict=True) if b.base == self.loop.var]
                bases = [a.base for a in read] == [b.base for b in added]
                if not bases or steps != [self.direction] or not self.same_row(read, added):
                    continue
                beside = [k for k, place in enumerate(places) if place is None or not self.disjoint(place, read)]
                cleared = [group[k] for k in beside if group[k] is not one and group[k] is not other]
                if all(k.kind == "store" and k.index == one.index for k in cleared) and all(
                    self.loop.body.index(k.stmt) > self.loop.body.index(one.stmt) for k in cleared
                ):
                    assert isinstance(one.stmt, Assign) and isinstance(other.stmt, Store)
                    value = other.stmt.value
                    if isinstance(value, Const) or self.iterations.types[value.id] == FLOAT64:
                        return one.stmt, other.stmt, bool(cleared)
        return None

    def same_row(self, one: list[Affine], other: list[Affine]) -> bool:
        return all(a == b for a, b in zip(one, other, strict=True) if a.base != self.loop.var)

    def place(self, access: Access) -> list[Affine] | None:
        """Subscripts of which each counts with the loop, or stands still; none is negative."""
        assert access.index is not None
        found = [self.iterations.subscript(sub) for sub in access.index]
        known = [one for one in found if one is not None]
        still = all(one.base == self.loop.var or one.base not in self.inside for one in known)
        counted = all(self.iterations.dependence.minimum(one) >= 0 for one in known)
        return known if len(known) == len(found) and still and counted else None

    def disjoint(self, one: list[Affine], other: list[Affine]) -> bool:
        """Whether elements are in different rows, whatever the iterations."""
        return len(one) == len(other) and any(
            a.base == b.base != self.loop.var and a.offset != b.offset for a, b in zip(one, other, strict=True)
        )

    def before_store(self, load: Access, store: Access, earlier: bool) -> bool:
        """Whether a load never comes to an element after a store did."""
        read, written = self.place(load), self.place(store)
        if load.array != store.array or load.array in self.inside or read is None or written is None:
            return False
        later = [
            (b.offset - a.offset) * self.direction
            for a, b in zip(read, written, strict=True)
            if a.base == b.base == self.loop.var
        ]
        return self.disjoint(read, written) or any(ahead < 0 or (ahead == 0 and earlier) for ahead in later)

    def along_row(self, access: Access) -> bool:
        place = self.place(access)
        return place is not None and all(one.base != self.loop.var for one in place[:-1])
