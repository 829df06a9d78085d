"""Can a later store, or an earlier one, touch the element that was loaded?

Decides for subscripts that are sums of loops' variables, extents and the like with factors (`analyses.integers`): what
elimination, triangular solves, recurrences and states in one array are written in.  Everything else may touch.

    for k in range(n):
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]      no store reaches row k or column k again

A subscript of -1 means the last element, so a proof also needs subscripts that are not negative.

Elements of a view are elements of what it views: `row[j]` of `row = a[i]` is `a[i, j]`.  A view that
is made in a loop is another one in each iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.integers import Integers
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import Assign, Atom, Const, Expr, For, Name, Op, Stmt, Store
from tapec.syntax.linear import Sum


@dataclass(frozen=True)
class Affine:
    """`base + offset`; `base` is a name, or None for a number."""

    base: str | None
    offset: int


class Dependence:
    """Questions about subscripts in the loops of one function."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.integers = Integers(scopes)
        self.loops = self.integers.loops

    def untouched(self, load: Assign | Store, store: Store, scope: Scope) -> bool:
        """Whether no run of `store` that follows `load` writes the element that `load` read, or stored.

        Each run of `scope` works on memory of its own.
        """
        array, read = self.element(*_named(load))
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, scope):
            return False
        here, there = self.scopes.of[load.key], self.scopes.of[store.key]
        common = [region for region in here.loops() if there.inside(region)]
        cases: list[Scope | None] = [r for r in common if r is not scope and r.inside(scope)]
        if self.scopes.place[store.key] > self.scopes.place[load.key]:
            cases.append(None)
        pairs = list(zip(read, write, strict=True))
        return all(any(self.disjoint(r, w, common, moves) for r, w in pairs) for moves in cases)

    def never_conflicts(self, load: Assign, store: Store, loop: Scope) -> bool:
        """Whether no iteration of `loop` writes with `store` what `load` reads, the loops around it standing still."""
        array, read = self.element(*_named(load))
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, loop):
            return False
        around = loop.parent.loops() if loop.parent is not None else []
        return any(self.disjoint(r, w, around, None) for r, w in zip(read, write, strict=True))

    def unwritten(self, load: Assign, store: Store, loop: Scope) -> bool:
        """Whether no run of `store` that comes before `load` in a run of `loop` writes the element that is read."""
        array, read = self.element(*_named(load))
        target, write = self.element(store.array, store.index)
        if target != array or len(read) != len(write) or self.moves(array, loop):
            return False
        here, there = self.scopes.of[load.key], self.scopes.of[store.key]
        # loops around that stand still, and those of the run that have moved on since the store
        common = [region for region in here.loops() if there.inside(region)]
        cases: list[Scope | None] = [region for region in common if region.inside(loop)]
        if self.scopes.place[store.key] < self.scopes.place[load.key]:
            cases.append(None)
        pairs = list(zip(read, write, strict=True))
        return all(any(self.disjoint(w, r, common, moves) for r, w in pairs) for moves in cases)

    def moves(self, array: str, region: Scope) -> bool:
        """Whether a name may be another array later in the same run of a region."""
        scope = self.scopes.scope_of.get(array)
        if scope is None or self.scopes.merged(array):
            return True
        return any(loop is not region and loop.inside(region) for loop in scope.loops())

    def element(self, array: str, index: tuple[Expr, ...]) -> tuple[str, list[Sum | None]]:
        """The array that a view, or a view of a view, is of, and the subscripts of an element in it."""
        subs = [self.integers.sum(sub) for sub in index]
        while True:
            defs = self.scopes.defs.get(array, [])
            made = defs[0] if len(defs) == 1 else None
            if not isinstance(made, Assign) or not isinstance(made.value, Op) or made.value.fn != "view":
                return array, subs
            whole, *cuts = made.value.args
            assert isinstance(whole, Name)
            rest, outer = list(subs), []
            for cut in cuts:
                if cut == Const(None):
                    rest.pop(0)  # an axis of extent 1
                elif isinstance(cut, Name | Const):
                    outer.append(self.integers.bound(cut, made))
                else:
                    outer.append(self.within(cut, rest.pop(0), made))
            array, subs = whole.id, [*outer, *rest]

    def within(self, cut: Expr, sub: Sum | None, made: Stmt) -> Sum | None:
        """The subscript of an element that a slice numbers `sub`, where that does not count from the end."""
        if not isinstance(cut, Op) or cut.fn != "slice" or sub is None:
            return None
        low, high, step = cut.args
        stride = 1 if step == Const(None) else step.value if isinstance(step, Const) else None
        if not isinstance(stride, int) or stride < 1:
            return None
        counted = self.integers.never_negative(sub)
        if low in (Const(None), Const(0)) and (counted or (high == Const(None) and stride == 1)):
            return sub.times(stride)
        first = self.integers.bound(low, made)
        if first is None or not counted or not self.integers.never_negative(first, beside=sub):
            return None
        return first.plus(sub.times(stride))

    def disjoint(self, first: Sum | None, second: Sum | None, common: list[Scope], moves: Scope | None) -> bool:
        """Whether two subscripts differ when a loop has moved on to the second, and those outside it have not.

        common  the loops around both, innermost first
        moves   the body of one of them, or None: all are in the same iteration
        """
        here = common[0] if common else None
        if not self.integers.never_negative(first, here) or not self.integers.never_negative(second, here):
            return False
        if moves is None:
            return self.integers.never_equal(first, second, common)
        return isinstance(moves.owner, For) and self.integers.disjoint(first, second, moves.owner, later=True)

    def affine(self, atom: Atom) -> Affine | None:
        """An index as a name plus a number, following single definitions."""
        if isinstance(atom, Const):
            return Affine(None, atom.value) if isinstance(atom.value, int) else None
        if atom.id in self.loops:
            return Affine(atom.id, 0)
        defs = self.scopes.defs.get(atom.id, [])
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

    def minimum(self, value: Affine) -> int:
        """A number that the value is never below; very small if none is known."""
        known = self._minimum(value, 0)
        if known < 0 and value.base is not None:
            sum_ = self.integers.sum(Name(value.base))
            if sum_ is not None and self.integers.never_negative(sum_.plus(Sum(number=value.offset))):
                return 0
        return known

    def _minimum(self, value: Affine, depth: int) -> int:
        if value.base is None:
            return value.offset
        bound = self.bound(value.base, low=True) if depth < 8 else None
        if bound is None:
            return -(2**40)
        return self._minimum(bound, depth + 1) + value.offset


def _named(stmt: Assign | Store) -> tuple[str, tuple[Expr, ...]]:
    """The array and the subscripts of the element that a statement loads or stores."""
    if isinstance(stmt, Store):
        return stmt.array, stmt.index
    assert isinstance(stmt.value, Op) and isinstance(stmt.value.args[0], Name)
    return stmt.value.args[0].id, stmt.value.args[1:]


def is_element_load(stmt: Stmt) -> bool:
    """Whether a statement reads one element of an array into a number."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "load"
