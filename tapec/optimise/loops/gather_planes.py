"""Write the additions of a nest to neighbours on two axes as one nest over the elements that receive them.

    for i in range(1, n - 1):                     for i in range(1, n - 1):
        for j in range(1, m - 1):                     for j in range(1, m - 1):
            s = c[i, j] * y_bar[i, j]                     s_kept[i + 1, j + 1] = c[i, j] * y_bar[i, j]
            x_bar[i - 1, j] += s          ->      for i in range(n if n - 1 > 1 else 0):
            x_bar[i + 1, j] += s                      for j in range(m if m - 1 > 1 else 0):
            x_bar[i, j - 1] += s                          x_bar[i, j] += (s_kept[i + 2, j + 1] + s_kept[i, j + 1]
            x_bar[i, j + 1] += s                                          + s_kept[i + 1, j + 2] + s_kept[i + 1, j])

The adjoint of a stencil on a grid adds to a row of elements per neighbouring row, in each of its iterations; afterwards
each element is read and written once.  `scatter_to_gather` does the same along one row.

Of a nest whose iterations do nothing else with the array, in any other plane, either: the order of additions does not
matter.  The planes of values have zeros around them, as the rows there have at both ends.  What an iteration adds to
the element of its own number alone stays where it is.  Done where fewer elements are written then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Access
from tapec.optimise.loops.loop_preheader import Around, LoopPass
from tapec.optimise.loops.scatter_to_gather import (
    IndexSpan,
    bounds_of_elements,
    moved,
    padding,
    standing,
    standing_still,
    straight,
)
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    walk,
    written_in,
)
from tapec.syntax.types import INT64, Array


def gather_planes(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such nests after those that add to neighbours; see the module."""
    return _Planes(function).rewritten()


def gather_planes_by_iteration(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The same with planes for each iteration of a loop whose iterations share nothing, so that it can run on
    threads.
    """
    return _Planes(function, by_iteration=True).rewritten()


@dataclass(frozen=True)
class _Addition:
    """An addition of an iteration: `sign` times `value`, to the element so far from the iteration's own number on
    either axis.
    """

    stmt: Store
    offsets: tuple[int, int]
    value: Atom
    sign: int


@dataclass(frozen=True)
class _Plane:
    """The elements with some subscripts that stand still; the others are counted by the nest's two loops."""

    array: str
    still: tuple[tuple[int, Affine], ...]
    axes: tuple[int, int]


@dataclass(frozen=True)
class _Sides:
    """The loops of a nest, from the outer one, with what is known before the outermost loop around them."""

    loops: tuple[For, For]
    spans: tuple[IndexSpan, IndexSpan]
    extents: tuple[Expr, Expr]


class _Planes(LoopPass):
    def loop(self, outer: For, around: Around) -> list[Stmt] | None:
        """A nest of two loops without the additions that can wait, and the nests that make them."""
        inner = _inner(outer)
        if inner is None or not self.iterations.free_of_effects(outer.body):
            return None
        inside = written_in((outer,))
        planes: list[tuple[_Plane, list[_Addition]]] = []
        for group in self.iterations.groups(outer.body):
            planes += self.planes(group, outer, inner, inside)
        sides = self.sides(outer, inner, around[0]) if planes else None
        if sides is None:
            return None
        buffers: dict[Atom, str] = {}
        after: list[Stmt] = []
        waiting = [one for _, additions in planes for one in additions]
        pads = tuple(
            padding(self.iterations, loop, max(_reach(additions, axis) for _, additions in planes))
            for axis, loop in enumerate(sides.loops)
        )
        sizes = tuple(
            self.outside.size(extent, pad + max(_reach(additions, axis) for _, additions in planes), loop)
            for axis, (extent, pad, loop) in enumerate(zip(sides.extents, pads, sides.loops, strict=True))
        )
        for one in waiting:
            if one.value not in buffers:
                buffers[one.value] = self.outside.buffer(one.stmt, "zeros", sizes)
        for plane, additions in planes:
            after.append(self.gathering(plane, additions, sides, buffers, pads))
            why = "what an iteration adds to neighbours in `{0}` waits: each element is then written once"
            remark(outer.span, "gather_planes", "gathered", why, Named(plane.array))
        kept = self.without(inner, waiting, buffers, sides.loops, pads)
        body = tuple(replace(inner, body=kept) if stmt is inner else stmt for stmt in outer.body)
        return [replace(outer, body=body), *after]

    # which additions can wait

    def planes(
        self, group: list[Access], outer: For, inner: For, inside: set[str]
    ) -> list[tuple[_Plane, list[_Addition]]]:
        """The additions of a group that wait, by the planes that they are in."""
        array = group[0].array
        type_ = self.iterations.types[array]
        alone = all(one.kind == "add" and one.array == array for one in group) and array not in inside
        if not alone or len(group) < 2 or not isinstance(type_, Array) or not type_.is_float:
            return []
        found: dict[_Plane, list[_Addition]] = {}
        for access in group:
            placed = self.placed(access, outer, inner, inside)
            if placed is None:
                return []
            plane, addition = placed
            found.setdefault(plane, []).append(addition)
        waiting = ((plane, _waiting(additions)) for plane, additions in found.items())
        return [(plane, additions) for plane, additions in waiting if additions]

    def placed(self, access: Access, outer: For, inner: For, inside: set[str]) -> tuple[_Plane, _Addition] | None:
        """The plane of an addition, and where in it; None if subscripts count in other ways, or from the end."""
        if not any(access.stmt is stmt for stmt in inner.body) or not access.index:
            return None
        counted: dict[str | None, tuple[int, int]] = {}
        still: list[tuple[int, Affine]] = []
        for axis, sub in enumerate(access.index):
            one = self.iterations.subscript(sub)
            if one is None:
                return None
            if one.base not in (outer.var, inner.var):
                still.append((axis, one))
                if one.base in inside:
                    return None
            elif one.base in counted or self.iterations.dependence.minimum(one) < 0:
                return None
            else:
                counted[one.base] = axis, one.offset
        if len(counted) < 2:
            return None
        assert isinstance(access.stmt, Store)
        (row, down), (column, along) = counted[outer.var], counted[inner.var]
        known = self.value(access.stmt.value, inner)
        if known is None:
            return None
        value, sign = known
        plane = _Plane(access.array, tuple(still), (row, column))
        return plane, _Addition(access.stmt, (down, along), value, sign)

    def value(self, atom: Atom, inner: For) -> tuple[Atom, int] | None:
        """What is added, as a number that other additions may add, too, and its sign."""
        if not self.one_value(atom, inner):
            return None
        match self.iterations.definition(atom):
            case Op(fn="neg", args=(Name() as other,)) if self.one_value(other, inner):
                return other, -1
        return atom, 1

    def one_value(self, atom: Atom, inner: For) -> bool:
        """Whether an iteration sets a name once, if only in the branches of one statement."""
        if self.iterations.fixed(atom):
            return True
        assert isinstance(atom, Name)
        made = {stmt.key for stmt in self.iterations.scopes.defs[atom.id]}
        return any(made <= {one.key for one in walk((stmt,))} for stmt in inner.body if isinstance(stmt, If))

    def sides(self, outer: For, inner: For, outermost: For | Loop) -> _Sides | None:
        """What is known of the nest's bounds; None if they are not the same whenever it runs."""
        (behind, beside) = (standing(self.iterations, loop, outermost) for loop in (outer, inner))
        (rows, columns) = (extent_of(self.iterations, loop, outermost) for loop in (outer, inner))
        if behind is None or beside is None or rows is None or columns is None:
            return None
        return _Sides((outer, inner), (behind, beside), (rows, columns))

    # writing them

    def without(
        self,
        inner: For,
        waiting: list[_Addition],
        buffers: dict[Atom, str],
        loops: tuple[For, For],
        pads: tuple[int, ...],
    ) -> Block:
        """The body of the inner loop, which keeps what it added."""
        gone = {one.stmt.key: one for one in waiting}
        kept: set[Atom] = set()
        body: list[Stmt] = []
        for stmt in inner.body:
            one = gone.get(stmt.key)
            if one is None:
                body.append(stmt)
            elif one.value not in kept:
                kept.add(one.value)
                place = tuple(
                    moved(self.fresh, Name(loop.var), pad, stmt, body) for loop, pad in zip(loops, pads, strict=True)
                )
                body.append(Store(buffers[one.value], place, one.value, False, stmt.span))
        return tuple(body)

    def gathering(
        self, plane: _Plane, additions: list[_Addition], sides: _Sides, buffers: dict[Atom, str], pads: tuple[int, ...]
    ) -> For:
        """The nest over the elements of a plane that receive."""
        stmt = additions[0].stmt
        outer, inner = sides.loops
        names = [self.fresh(loop.var, INT64) for loop in sides.loops]
        bounds = [
            bounds_of_elements(span, (one.offsets[axis] for one in additions), loop, self.outside)
            for axis, (span, loop) in enumerate(zip(sides.spans, sides.loops, strict=True))
        ]
        type_ = self.fresh.types[plane.array]
        assert isinstance(type_, Array)
        body: list[Stmt] = []
        total: Atom | None = None
        # the first one has its own sign
        for one in sorted(additions, key=lambda one: -one.sign):
            subs = tuple(
                moved(self.fresh, Name(name), pad - offset, stmt, body)
                for name, pad, offset in zip(names, pads, one.offsets, strict=True)
            )
            value = self.fresh("t", type_.element)
            body.append(Assign(value, Op("load", (Name(buffers[one.value]), *subs)), one.stmt.span))
            if total is None and one.sign > 0:
                total = Name(value)
                continue
            both = self.fresh("t", type_.element)
            sign = "+" if one.sign > 0 else "-"
            made = Op("neg", (Name(value),)) if total is None else Op(sign, (total, Name(value)))
            body.append(Assign(both, made, one.stmt.span))
            total = Name(both)
        assert total is not None
        place: dict[int, Atom] = {}
        for axis, still in plane.still:
            place[axis] = standing_still(self.fresh, still, stmt, body)
        place |= {axis: Name(name) for axis, name in zip(plane.axes, names, strict=True)}
        index = tuple(place[axis] for axis in sorted(place))
        body.append(Store(plane.array, index, total, True, stmt.span))
        (first, last), (left, right) = bounds
        columns = For(names[1], left, right, Const(1), tuple(body), False, inner.span)
        return For(names[0], first, last, Const(1), (columns,), False, outer.span)


def _inner(outer: For) -> For | None:
    """The loop in another one, where there is nothing else but whole numbers and the like; its iterations are alike."""
    loops = [stmt for stmt in outer.body if isinstance(stmt, For)]
    plain = all(isinstance(stmt, For | Assign) for stmt in outer.body)
    if len(loops) != 1 or not plain or not all(loop.step in (Const(1), Const(-1)) for loop in (outer, *loops)):
        return None
    return loops[0] if straight(loops[0].body) else None


def _waiting(additions: list[_Addition]) -> list[_Addition]:
    """The additions to a plane that wait; none if that writes no fewer elements."""
    own = [one for one in additions if one.offsets == (0, 0)]
    alone = len(own) == 1 and all(one is own[0] or one.value != own[0].value for one in additions)
    rows: dict[int, list[_Addition]] = {}
    for one in additions:
        rows.setdefault(one.offsets[0], []).append(one)
    # one addition to each row stays, and the others wait for the end of the row
    now = sum(1 if len(row) == 1 else 1 + len({one.value for one in row}) for row in rows.values())
    waiting = [one for one in additions if not alone or one is not own[0]]
    later = 1 + len({one.value for one in waiting}) + alone
    # of values that go to one or two elements each, the planes take as long as the elements would
    shared = len(waiting) >= 2 * len({one.value for one in waiting})
    return waiting if len(rows) > 1 and shared and later < now else []


def _reach(additions: list[_Addition], axis: int) -> int:
    """How far apart the elements are on an axis that one iteration adds to."""
    offsets = [one.offsets[axis] for one in additions]
    return max(offsets) - min(offsets)
