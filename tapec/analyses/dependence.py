"""Can a later store, or an earlier one, touch the element that was loaded?

Decides for subscripts that are loop variables plus constants, with loop bounds of the same kind:
what elimination, triangular solves and recurrences are written in.  Everything else may touch.

    for k in range(n):
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]      no store reaches row k or column k again

A subscript of -1 means the last element, so a proof also needs subscripts that are not negative.

Elements of a view are elements of what it views: `row[j]` of `row = a[i]` is `a[i, j]`.  A view that
is made in a loop is another one in each trip.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.regions import Region, Regions
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Name, Op, Stmt, Store


@dataclass(frozen=True)
class Affine:
    """`base + offset`; `base` is a name, or None for a number."""

    base: str | None
    offset: int


class Dependence:
    """Questions about subscripts in the loops of one function."""

    def __init__(self, regions: Regions) -> None:
        self.regions = regions
        self.loops: dict[str, For] = {}
        for name, defs in regions.defs.items():
            if len(defs) == 1 and isinstance(defs[0], For):
                self.loops[name] = defs[0]

    def untouched(self, load: Assign, store: Store, home: Region) -> bool:
        """Whether no run of `store` that follows `load` writes the element that `load` read.

        Each run of `home` works on memory of its own.
        """
        value = load.value
        assert isinstance(value, Op) and isinstance(value.args[0], Name)
        array, read = self.element(value.args[0].id, value.args[1:])
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, home):
            return False
        here, there = self.regions.of[id(load)], self.regions.of[id(store)]
        common = [r for r in reversed(here.loops()) if there.inside(r) and r is not home and r.inside(home)]
        if any(not isinstance(region.owner, For) for region in common):
            return False
        pairs = [(r, w) for r, w in zip(read, write, strict=True) if r is not None and w is not None]
        cases: list[int | None] = list(range(len(common)))
        if self.regions.place[id(store)] > self.regions.place[id(load)]:
            cases.append(None)
        return all(any(self.apart(r, w, common, level) for r, w in pairs) for level in cases)

    def never_meets(self, load: Assign, store: Store, loop: Region) -> bool:
        """Whether no trip of `loop` writes with `store` what `load` reads, the loops around it standing still."""
        value = load.value
        assert isinstance(value, Op) and isinstance(value.args[0], Name)
        array, read = self.element(value.args[0].id, value.args[1:])
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, loop):
            return False
        around = loop.parent.loops() if loop.parent is not None else []
        common = [r for r in reversed(around) if isinstance(r.owner, For)]
        return any(
            self.apart(r, w, common, None) for r, w in zip(read, write, strict=True) if r is not None and w is not None
        )

    def unwritten(self, load: Assign, store: Store, loop: Region) -> bool:
        """Whether no run of `store` that comes before `load` in a run of `loop` writes the element that is read."""
        value = load.value
        assert isinstance(value, Op) and isinstance(value.args[0], Name)
        array, read = self.element(value.args[0].id, value.args[1:])
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, loop):
            return False
        here, there = self.regions.of[id(load)], self.regions.of[id(store)]
        # loops around that stand still, and those of the run that have moved on since the store
        common = [r for r in reversed(here.loops()) if there.inside(r)]
        if any(not isinstance(region.owner, For) for region in common):
            return False
        pairs = [(r, w) for r, w in zip(read, write, strict=True) if r is not None and w is not None]
        cases: list[int | None] = [level for level, region in enumerate(common) if region.inside(loop)]
        if self.regions.place[id(store)] < self.regions.place[id(load)]:
            cases.append(None)
        return all(any(self.apart(w, r, common, level) for r, w in pairs) for level in cases)

    def moves(self, array: str, region: Region) -> bool:
        """Whether a name may be another array later in the same run of a region."""
        home = self.regions.home.get(array)
        if home is None or self.regions.merged(array):
            return True
        return any(loop is not region and loop.inside(region) for loop in home.loops())

    def element(self, array: str, index: tuple[Expr, ...]) -> tuple[str, list[Affine | None]]:
        """The array that a view, or a view of a view, is of, and the subscripts of an element in it."""
        subs = [self.affine(sub) if isinstance(sub, Name | Const) else None for sub in index]
        while True:
            defs = self.regions.defs.get(array, [])
            made = defs[0].value if len(defs) == 1 and isinstance(defs[0], Assign) else None
            if not isinstance(made, Op) or made.fn != "view":
                return array, subs
            whole, *cuts = made.args
            assert isinstance(whole, Name)
            rest, outer = list(subs), []
            for cut in cuts:
                if cut == Const(None):
                    rest.pop(0)  # an axis of extent 1
                elif isinstance(cut, Name | Const):
                    outer.append(self.affine(cut))
                else:
                    outer.append(self.within(cut, rest.pop(0)))
            array, subs = whole.id, [*outer, *rest]

    def within(self, cut: Expr, sub: Affine | None) -> Affine | None:
        """The subscript of an element that a slice numbers `sub`, if that is as simple."""
        if not isinstance(cut, Op) or cut.fn != "slice" or sub is None:
            return None
        low, high, step = cut.args
        if step not in (Const(None), Const(1)):
            return None
        if low in (Const(None), Const(0)) and (high == Const(None) or self.minimum(sub) >= 0):
            return sub
        first = self.affine(low) if isinstance(low, Name | Const) else None
        if first is None or self.minimum(first) < 0 or self.minimum(sub) < 0:
            return None
        if first.base is None or sub.base is None:
            return Affine(first.base or sub.base, first.offset + sub.offset)
        return None

    def apart(self, read: Affine, write: Affine, common: list[Region], level: int | None) -> bool:
        """Whether two subscripts differ when the loop at `level` has moved on to the second, those outside it not.

        With level None all common loops are in the same trip.
        """
        if read.base is None and write.base is None:
            return read.offset != write.offset and min(read.offset, write.offset) >= 0
        if self.minimum(read) < 0:
            return False
        for place, region in enumerate(common):
            if level is not None and place > level:
                return False  # its value in the later trip is anything
            loop = region.owner
            if isinstance(loop, For) and self.apart_by(read, write, loop, level == place):
                return True
        return False

    def apart_by(self, read: Affine, write: Affine, loop: For, moves: bool) -> bool:
        """Whether bounds relative to a loop's variable v tell two subscripts apart.

        If the loop `moves`, the write is bounded by a later value: v + 1 or more if the loop counts up.
        """
        direction, moved = self.direction(loop), int(moves)
        if moves and direction == 0:
            return False
        lowest, highest = self.least(write, loop.var), self.most(write, loop.var)
        least, most = self.least(read, loop.var), self.most(read, loop.var)
        if most is not None and lowest is not None and not (moves and direction < 0) and lowest + moved > most:
            return True
        below = least is not None and highest is not None and not (moves and direction > 0) and highest - moved < least
        return below and self.minimum(write) >= 0

    def affine(self, atom: Atom) -> Affine | None:
        """An index as a name plus a number, following single definitions."""
        if isinstance(atom, Const):
            return Affine(None, atom.value) if isinstance(atom.value, int) else None
        if atom.id in self.loops:
            return Affine(atom.id, 0)
        defs = self.regions.defs.get(atom.id, [])
        if len(defs) == 1 and isinstance(defs[0], Assign) and isinstance(defs[0].value, Op):
            op = defs[0].value
            if op.fn in ("+", "-") and len(op.args) == 2:
                left, right = op.args
                assert isinstance(left, Name | Const) and isinstance(right, Name | Const)
                first, second = self.affine(left), self.affine(right)
                if first is not None and second is not None:
                    if second.base is None:
                        return Affine(first.base, first.offset + (second.offset if op.fn == "+" else -second.offset))
                    if first.base is None and op.fn == "+":
                        return Affine(second.base, first.offset + second.offset)
        return Affine(atom.id, 0) if len(defs) <= 1 else None

    def direction(self, loop: For) -> int:
        step = loop.step.value if isinstance(loop.step, Const) else None
        return 0 if not isinstance(step, int) else 1 if step > 0 else -1

    def least(self, value: Affine, target: str, depth: int = 0) -> int | None:
        """A number c with value >= target + c, if bounds of loops give one."""
        if value.base == target:
            return value.offset
        bound = self.bound(value.base, low=True) if depth < 8 else None
        inner = None if bound is None else self.least(bound, target, depth + 1)
        return None if inner is None else inner + value.offset

    def most(self, value: Affine, target: str, depth: int = 0) -> int | None:
        """A number c with value <= target + c, if bounds of loops give one."""
        if value.base == target:
            return value.offset
        bound = self.bound(value.base, low=False) if depth < 8 else None
        inner = None if bound is None else self.most(bound, target, depth + 1)
        return None if inner is None else inner + value.offset

    def bound(self, name: str | None, low: bool) -> Affine | None:
        """The least or greatest value of a loop's variable."""
        loop = self.loops.get(name) if name is not None else None
        direction = 0 if loop is None else self.direction(loop)
        if loop is None or direction == 0:
            return None
        first = self.affine(loop.start)
        last = self.affine(loop.stop)
        if (direction > 0) == low:
            return first
        if last is None:
            return None
        return Affine(last.base, last.offset - 1 if direction > 0 else last.offset + 1)

    def minimum(self, value: Affine, depth: int = 0) -> int:
        """A number that the value is never below; very small if none is known."""
        if value.base is None:
            return value.offset
        bound = self.bound(value.base, low=True) if depth < 8 else None
        if bound is None:
            return -(2**40)
        return self.minimum(bound, depth + 1) + value.offset


def is_element_load(stmt: Stmt) -> bool:
    """Whether a statement reads one element of an array into a number."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "load"
