"""Arrays that are copied for the reverse sweep, which then reads their elements again.

    for t in range(steps):                        for t in range(steps):
        for i in range(1, n - 1):                     states[t] = u
            new[i] = u[i] * (u[i + 1] - u[i - 1])     for i in range(1, n - 1): ...
        u, new = new, u

What an iteration computes from the elements of an array would be kept as one number each: two per point here, fifteen
in the equations of shallow water.  One copy of the array gives all of them.  A nest of loops gets copies if

- it stores into none of the arrays, so that one state of each serves all of the nest;
- the elements that it reads are those of a grid: each axis is counted by a loop of its own, up to an extent of an
  array, so that a copy is not larger than what would be kept for one value;
- fewer arrays are copied than values would be kept.

Elements that a nest reads again and again, in more loops than the array has axes, are another case: there one value
alone is worth a copy.  As many of the loops as the array has axes must be as long as one, as far as can be told.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.aliases import Memory
from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.buffer_rotation import begun_with, renewed, rotating
from tapec.analyses.scopes import Scope, Scopes
from tapec.errors import Span
from tapec.syntax.core import Assign, Const, Expr, For, Function, Name, Op, Stmt, changed, names_in
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.emitter import Emitter
from tapec.transforms.iteration_bounds import IterationBounds
from tapec.transforms.loop_coverage import LoopCoverage
from tapec.transforms.loop_exits import Exits
from tapec.transforms.recomputation_costs import STORE, repeatable
from tapec.transforms.replays import Replays
from tapec.transforms.storage_plan import Slot, Snapshot

# so deep are expressions that a copy can give
_DEPTH = 8
# an array, and the body of the loop before which it is copied
Pair = tuple[str, Scope]


@dataclass(frozen=True)
class _Shape:
    """The extents of every array that a name may stand for."""

    extents: tuple[Expr, ...]


class Copies(Replays):
    """Chooses the arrays, and makes the copies known to the analyses."""

    def __init__(
        self, emitter: Emitter, scopes: Scopes, memory: Memory, exits: Exits, shadows: frozenset[str]
    ) -> None:
        super().__init__(emitter, scopes, memory, exits, shadows)
        self.extents = IterationBounds(emitter.types, scopes)
        self._copied: dict[str, list[Scope]] = {}
        self._chosen = False
        self._pending: list[tuple[str, Scope]] = []
        # loads from rows as loads from whole arrays, by the load's id
        self._wholes: dict[int, tuple[Assign, Name]] = {}

    def choose_copies(self) -> None:
        """Of what the reverse sweep asks for, find the nests in which copies of arrays take less."""
        program = Function("", (), self.scopes.root.block, self.types)
        self._sizes = BatchExtents(program, (), self.scopes)
        self._reach = LoopCoverage(self.scopes, self._sizes)
        self._buffers = rotating(program, self.scopes)
        self._renewed = renewed(self.scopes)
        asked = {(name, self.scopes.scope_of[name].key): name for name, _ in self._pending}
        wanted: dict[str, set[Pair]] = {}
        for name in dict.fromkeys(asked.values()):
            found = self._copies_for(name)
            if found:
                wanted[name] = found
        self._copied = _by_array({pair for pairs in wanted.values() for pair in pairs})
        served = {name: pairs for name, pairs in wanted.items() if self._cost(name, self.scopes.scope_of[name]) < STORE}
        loops = {loop.key: loop for pairs in served.values() for _, loop in pairs}
        chosen: set[Pair] = set()
        for loop in loops.values():
            values = [pairs for pairs in served.values() if any(one is loop for _, one in pairs)]
            arrays = {pair for pairs in values for pair in pairs}
            if len(values) > len(arrays):
                chosen |= arrays
        self._copied = _by_array(chosen)
        self._chosen = True

    def _copies_for(self, name: str) -> set[Pair] | None:
        """The arrays whose copies give a value that would be kept; None if they do not."""
        if self.scopes.merged(name) or not isinstance(self.types[name], Scalar):
            return None
        scope = self.scopes.scope_of[name]
        if len(self.chain(scope)) < 2 or self._cost(name, scope) < STORE:
            return None
        return self._sources(Name(name), _DEPTH)

    def _sources(self, expr: Expr, depth: int) -> set[Pair] | None:
        found: set[Pair] = set()
        for name in names_in(expr):
            scope = self.scopes.scope_of.get(name)
            if scope is None or not self.chain(scope):
                continue
            defs = self.scopes.defs[name]
            if len(defs) == 1 and isinstance(defs[0], For):
                continue
            if len(defs) != 1 or depth == 0 or not isinstance(defs[0], Assign) or not repeatable(defs[0]):
                return None
            made = defs[0]
            inner = made.value
            if isinstance(inner, Op) and inner.fn == "load":
                array, *subs = inner.args
                assert isinstance(array, Name)
                if self._missing(made, array.id):
                    loop = self._nest_of_grid(made, array.id, tuple(subs), self.chain(scope))
                    if loop is None:
                        return None
                    found.add((array.id, loop))
                inner = Op("load", tuple(subs))
            elif not isinstance(self.types[name], Scalar):
                return None
            more = self._sources(inner, depth - 1)
            if more is None:
                return None
            found |= more
        return found

    def _missing(self, load: Stmt, array: str) -> bool:
        """Whether the reverse sweep finds an element no more: it is overwritten, or of an array of the iteration."""
        own = array not in self.shadows and self._allocated(array) and self.chain(self.scopes.scope_of[array])
        return bool(own) or not self.memory.stable(load, array)

    def _nest_of_grid(self, load: Stmt, array: str, subs: tuple[Expr, ...], chain: tuple[Scope, ...]) -> Scope | None:
        """The outermost loop that counts one of the subscripts of a load from an array, if they go over all of it."""
        shape = self._shape(array, frozenset())
        if shape is None:
            return None
        counted = []
        for sub, extent in zip(subs, shape.extents, strict=True):
            place = self._reach.counted_by(sub, extent, chain)
            if place is None or place in counted:
                return None
            counted.append(place)
        first = min(counted)
        loop = chain[first]
        return loop if first > 0 and self._in_rows(array, chain[:first]) and self._serves(load, array, loop) else None

    def _in_rows(self, array: str, around: tuple[Scope, ...]) -> bool:
        """Whether copies of an array, one per iteration of the loops around, are rows of a buffer."""
        shape = self._shape(array, frozenset())
        if shape is None or around[0] is self.tape or self.extents.of(around) is None:
            return False
        # one value each in the whole run of the function, whichever iteration has made the array
        names = [name for extent in shape.extents for name in names_in(extent)]
        return not any(self.scopes.scope_of[name].loops() for name in names)

    def _serves(self, load: Stmt, array: str, loop: Scope) -> bool:
        """Whether an array holds before a loop what is loaded from it in the loop."""
        if self.scopes.scope_of[array].inside(loop) or any(
            self.scopes.of[made.key].inside(loop) for made in self.scopes.defs.get(array, ())
        ):
            return False
        return not self._stored_in(array, loop) or self.memory.as_before(load, array, loop)

    def _stored_in(self, array: str, loop: Scope) -> bool:
        """Whether an iteration of a loop stores into the memory that an array's name stands for meanwhile."""
        for stmt in self.memory.stores.get(self.memory.aliases.find(array), ()):
            if not self.scopes.of[stmt.key].inside(loop):
                continue
            if not all(self._disjoint(one, array, loop) for one in changed(stmt)):
                return True
        return False

    def _disjoint(self, one: str, other: str, loop: Scope) -> bool:
        """Whether two arrays that share memory over time never do so in an iteration of a loop."""
        if one != other and self._buffers.get(one, 0) == self._buffers.get(other, -1):
            return True
        iteration = self._renewed.get(one)
        return iteration is not None and loop.inside(iteration) and begun_with(other, iteration, self.scopes)

    def _shape(self, array: str, asked: frozenset[str]) -> _Shape | None:
        """The extents of a name that stands for whole arrays of one shape."""
        type_ = self.types[array]
        assert isinstance(type_, Array)
        if array in asked:
            return _Shape(())
        defs = self.scopes.defs.get(array, [])
        found: set[_Shape] = set() if defs else {self._extents(array, type_.ndim)}
        for made in defs:
            match made:
                case Assign(value=Name(id=source)) | Assign(value=Op(fn="copy", args=(Name(id=source),))):
                    known = self._shape(source, asked | {array})
                case Assign(value=Op(fn="empty" | "zeros", args=(_, *sizes))):
                    same = [self._sizes.extent(size) for size in sizes]
                    known = None if None in same else _Shape(tuple(size for size in same if size is not None))
                case _:
                    known = None
            if known is None:
                return None
            found.add(known)
        found.discard(_Shape(()))
        return found.pop() if len(found) == 1 else _Shape(()) if not found else None

    def _extents(self, array: str, ndim: int) -> _Shape:
        return _Shape(tuple(Op("dim", (Name(array), Const(axis))) for axis in range(ndim)))

    # copies that are made

    def copied(self, stmt: Stmt) -> bool:
        """Whether a load reads an element that is gone later, of an array that is copied for it."""
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn != "load":
            return False
        array = stmt.value.args[0]
        assert isinstance(array, Name)
        if self._nest(stmt) is not None:
            return self._missing(stmt, array.id)
        scope = self.scopes.scope_of[stmt.target]
        if not self._chosen or self.scopes.merged(stmt.target) or self._is_there(stmt, array.id, scope):
            return False
        load, array = self._of_whole(stmt, array)
        type_ = self.types[array.id]
        assert isinstance(type_, Array)
        return self._repeated(load, array.id, type_, self.chain(scope)) is not None

    def _of_whole(self, load: Assign, row: Name) -> tuple[Assign, Name]:
        """A load from a row of an array as one from the array, `row[j]` as `a[i, j]`; itself from others."""
        found = self._wholes.get(load.key)
        if found is None:
            found = load, row
            made = self.scopes.defs.get(row.id, [])
            here = len(made) == 1 and self.scopes.of[load.key].inside(self.scopes.of[made[0].key])
            view = made[0].value if here and isinstance(made[0], Assign) else None
            if isinstance(view, Op) and view.fn == "view" and not any(map(_is_slice, view.args[1:])):
                assert isinstance(load.value, Op) and isinstance(view.args[0], Name)
                value = Op("load", (*view.args, *load.value.args[1:]))
                found = Assign(load.target, value, load.span), view.args[0]
                self.scopes.of[found[0].key] = self.scopes.of[load.key]
                self.scopes.place[found[0].key] = self.scopes.place[load.key]
            self._wholes[load.key] = found
        return found

    def _nest(self, stmt: Stmt) -> Scope | None:
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn != "load":
            return None
        array = stmt.value.args[0]
        assert isinstance(array, Name)
        loops = self._copied.get(array.id, ())
        around = self.scopes.of[stmt.key].loops() if loops else []
        return next((loop for loop in loops if loop in around and self._serves(stmt, array.id, loop)), None)

    def from_copy(self, name: str, scope: Scope, chain: tuple[Scope, ...]) -> bool:
        """Load an element from a copy of its array instead, where there is one or is worth one."""
        (made,) = self.scopes.defs[name] if not self.scopes.merged(name) else (None,)
        if not isinstance(made, Assign) or not isinstance(made.value, Op) or made.value.fn != "load":
            return False
        array = made.value.args[0]
        assert isinstance(array, Name)
        loop = self._nest(made)
        if loop is None:
            made, array = self._of_whole(made, array)
        assert isinstance(made.value, Op)
        type_ = self.types[array.id]
        assert isinstance(type_, Array)
        if loop is not None:
            kept = self._grid(array.id, type_, loop, chain)
        else:
            loop = self._repeated(made, array.id, type_, chain)
            if loop is None:
                return False
            around = chain[: chain.index(loop)]
            if around and self._in_rows(array.id, around):
                kept = self._grid(array.id, type_, loop, chain)
            else:
                kept = self._snapshot(array.id, type_, loop)
        self.plan.recomputed.setdefault(scope.key, []).append(name)
        self.plan.reloaded[name] = Assign(name, Op("load", (Name(kept), *made.value.args[1:])), made.span)
        for operand in made.value.args[1:]:
            self._demand(operand, scope)
        assert loop.parent is not None
        self._demand(Name(kept), loop.parent)
        return True

    def _repeated(self, load: Assign, array: str, type_: Array, chain: tuple[Scope, ...]) -> Scope | None:
        """A loop that has more loops inside, itself counted, than the array has axes, before which a copy serves."""
        assert isinstance(load.value, Op)
        for place, loop in enumerate(chain):
            if loop is self.tape or len(chain) - place <= type_.ndim or not self._serves(load, array, loop):
                continue
            inner = chain[place:]
            # a copy of all of it once, or beside stores into it, only for loops that go over all of it
            if place and not self._stored_in(array, loop) and sum(map(self._reach.is_long, inner)) >= type_.ndim:
                return loop
            if self._reach.over_all(load.value.args[1:], inner):
                return loop
        return None

    def _snapshot(self, array: str, type_: Array, loop: Scope) -> str:
        """The name of a copy of an array that is made before a loop."""
        owner = loop.owner
        assert owner is not None
        known = self._known(array, loop)
        if known is not None:
            return known
        kept = self.emitter.fresh(f"{array}_kept", Array(type_.dtype, type_.ndim))
        made = Assign(kept, Op("copy", (Name(array),)), getattr(owner, "span", None))
        self._place(Snapshot(kept, array, (made,)), made, loop)
        return kept

    def _grid(self, array: str, type_: Array, loop: Scope, chain: tuple[Scope, ...]) -> str:
        """The name of a row of a buffer that an array is copied to before a loop: one row per iteration of those
        around.
        """
        known = self._known(array, loop)
        if known is not None:
            return known
        owner, outermost = loop.owner, chain[0].owner
        assert owner is not None and outermost is not None and chain[0].parent is not None
        around = chain[: chain.index(loop)]
        span: Span | None = getattr(owner, "span", None)
        shape, iterations = self._shape(array, frozenset()), self.extents.of(around)
        assert shape is not None and iterations is not None
        buffer = self.emitter.fresh(f"{array}_store", Array(type_.dtype, len(iterations) + type_.ndim))
        slot = Slot(buffer, around, True, (*iterations, *shape.extents))
        kept = self.emitter.fresh(f"{array}_kept", Array(type_.dtype, type_.ndim))
        self.plan.buffers.setdefault(outermost.key, []).append((slot, kept))
        for one in around:
            self._demand_loop_counter(one)
        self.scopes.scope_of[buffer] = chain[0].parent
        self.scopes.defs[buffer] = []
        out = self.emitter.child()
        out.span = span
        counted = (Name(self.plan.counters.get(one.key, one.owner.var)) for one in around if isinstance(one.owner, For))
        made = Assign(kept, Op("view", (Name(buffer), *counted)), span)
        self.memory.aliases.join(kept, buffer)
        self.memory.scopes_of[self.memory.aliases.find(buffer)] = chain[0].parent
        out.add(made)
        out.copy_elements(kept, array)
        self._place(Snapshot(kept, array, tuple(out.out), slot), made, loop)
        return kept

    def _known(self, array: str, loop: Scope) -> str | None:
        made = self.plan.snapshots.get(loop.owner_key, ())
        return next((one.name for one in made if one.array == array), None)

    def _place(self, snapshot: Snapshot, made: Assign, loop: Scope) -> None:
        owner = loop.owner
        assert owner is not None and loop.parent is not None
        self.plan.snapshots.setdefault(owner.key, []).append(snapshot)
        self.scopes.scope_of[snapshot.name] = loop.parent
        self.scopes.defs[snapshot.name] = [made]
        self.scopes.of[made.key] = loop.parent
        self.scopes.place[made.key] = self.scopes.place[owner.key]
        cls = self.memory.aliases.find(snapshot.name)
        self.memory.scopes_of.setdefault(cls, loop.parent)

    # what it takes

    def _demand(self, expr: Expr, region: Scope) -> None:
        for name in names_in(expr):
            if name in self.scopes.scope_of:
                self._pending.append((name, region))

    def _demand_loop_counter(self, loop: Scope) -> None:
        owner = loop.owner
        if isinstance(owner, For) and (owner.start != Const(0) or owner.step != Const(1)):
            if loop.key not in self.plan.counters:
                self.plan.counters[loop.key] = self.emitter.fresh("iteration", INT64)
            if loop.parent is not None:
                for bound in (owner.start, owner.step):
                    self._demand(bound, loop.parent)


def _is_slice(sub: Expr) -> bool:
    """Whether a subscript of a view keeps an axis, or makes one."""
    return isinstance(sub, Op) or sub == Const(None)


def _by_array(pairs: set[Pair]) -> dict[str, list[Scope]]:
    found: dict[str, list[Scope]] = {}
    for array, loop in pairs:
        found.setdefault(array, []).append(loop)
    return found
