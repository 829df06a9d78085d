"""Let an iteration write into the row in which the next iteration would keep a copy of what it wrote.

    for k in range(steps):                          u = u_store[0] with what u held
        u_store[k, :] = u                           for k in range(steps):
        for i in range(1, n - 1):                       row = u_store[k + 1] with both ends of new
            new[i] = u[i - 1] + u[i + 1]     ->         new = row
        u, new = new, u                                 for i in range(1, n - 1):
                                                            new[i] = u[i - 1] + u[i + 1]
                                                        u, new = new, u

The buffers that change places are rows of the store then, one more of them than before, and what the reverse sweep
reads is where it was.  Copied is only what an iteration leaves as it was: the rim around the box of elements that a
nest of loops writes.

Needs a proof that the iteration stores into the buffer which is kept next and into no other, and that before the nest,
and in it but for the element itself, nothing reads that buffer: the element is read from the old one.  Afterwards
nothing stores into any of the buffers, and none leaves the function.  Refused inside other loops, where the store has
more axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.buffer_rotation import cycle, last_copies, permutation
from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Iterations
from tapec.errors import Span
from tapec.optimise.buffers.copy_borders import Border, Borders
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array


def drop_row_copies(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such copies left out; see the module."""
    worker = _KeptRows(function)
    body = worker.block(function.body)
    return replace(function, body=body, types=worker.fresh.types)


@dataclass(frozen=True)
class _Copy:
    """The copy of `array` into a row of `store`: the row's view, the nest that fills it, and extents asked for it."""

    array: str
    store: str
    view: Assign
    nest: For
    asked: tuple[Stmt, ...]


@dataclass(frozen=True)
class _Box:
    """The elements that a nest writes: bounds per axis, its loads of an element before that, and its store."""

    nest: For
    bounds: tuple[tuple[Affine, Affine], ...]
    loads: tuple[Assign, ...]
    store: Store


class _KeptRows:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)
        self.fresh = Fresh(function.types)
        self.borders = Borders(self.iterations, self.fresh)

    def block(self, block: Block) -> Block:
        """The function's body with all such loops changed."""
        out: list[Stmt] = []
        rows: dict[str, Expr] = {}
        taken: set[str] = set()
        for place, loop in enumerate(block):
            stmt = loop
            if isinstance(loop, For) and loop.slots is None and not loop.parallel and not may_leave(loop.body):
                for copy in self.copies(loop):
                    made = self.made(block[:place], copy)
                    box = None if made is None else self.box_of(block, place, loop, copy, made)
                    if made is None or box is None or self.nests.memory(copy.array) in taken:
                        continue
                    taken.add(self.nests.memory(copy.array))
                    rows[copy.store] = made.args[1]
                    extents = [n for n in made.args[2:] if isinstance(n, Name | Const)]
                    pairs = zip(box.bounds, extents, strict=True)
                    edges = [self.borders.edge(*bounds, n, loop.span, out) for bounds, n in pairs]
                    out += self.first(copy, extents, loop.span)
                    assert isinstance(stmt, For)
                    stmt = self.changed_loop(stmt, copy, box, edges)
            out.append(stmt)
        return tuple(new for stmt in out for new in self.with_another_row(stmt, rows))

    # which copies

    def copies(self, loop: For) -> list[_Copy]:
        """The copies of whole arrays into a row per iteration with which an iteration begins."""
        found = []
        for place, stmt in enumerate(loop.body):
            match stmt:
                case Assign(target=row, value=Op(fn="view", args=(Name(id=store), Name(id=var)))) if var == loop.var:
                    copy = self.copy(loop, place, row, store)
                    if copy is not None and (loop.start, loop.step) == (Const(0), Const(1)):
                        found.append(copy)
        return found

    def copy(self, loop: For, place: int, row: str, store: str) -> _Copy | None:
        first = self.nests.first(loop.body, place, row)
        type_, view = self.iterations.types[row], loop.body[place]
        nest = None if first is None else loop.body[first]
        if not isinstance(nest, For) or not isinstance(type_, Array) or not isinstance(view, Assign):
            return None
        found = self.nests.elements(nest, row, type_.ndim)
        if found is None or not _nothing_else(nest, type_.ndim):
            return None
        body, index, sizes = found
        match body:
            case (
                Assign(target=item, value=Op(fn="load", args=(Name(id=array), *subs))),
                Store(accumulate=False, array=target, value=Name(id=value)),
            ) if tuple(subs) == index and value == item and target == row:
                asked = tuple(self.extent_of(loop, size, array, axis) for axis, size in enumerate(sizes))
                if all(asked) and self.iterations.types[array] == type_:
                    return _Copy(array, store, view, nest, tuple(one for one in asked if one is not None))
        return None

    def extent_of(self, loop: For, size: Expr, array: str, axis: int) -> Stmt | None:
        """The statement of an iteration that asks for an extent."""
        extent = Op("dim", (Name(array), Const(axis)))
        made = (stmt for stmt in loop.body if isinstance(stmt, Assign) and Name(stmt.target) == size)
        return next((stmt for stmt in made if stmt.value == extent and self.iterations.fixed(Name(stmt.target))), None)

    def made(self, before: Block, copy: _Copy) -> Op | None:
        """What makes the store, if it is asked for rows alone, and nothing but the copy stores into them."""
        made = self.allocation(before, copy.store)
        if made is None or made.fn != "empty" or not all(map(self.nests.fixed, made.args[1:])):
            return None
        own = self.nests.memory(copy.store)
        inside = {stmt.key for stmt in walk((copy.view, copy.nest))}
        for stmt in walk(self.function.body):
            if stmt.key in inside or own not in self.nests.named(stmt):
                continue
            if copy.view.target in reads(stmt):
                return None
            match stmt:
                case Assign(value=Op(fn="empty")) if stmt.target == copy.store:
                    continue
                case Assign(value=Op(fn="view", args=(Name(id=array), sub, *_))):
                    if array != copy.store or isinstance(sub, Name | Const) and sub != Const(None):
                        continue
                case Assign(value=Op(fn="load")):
                    continue
                case Assign(value=Op(fn="dim", args=(Name(id=array), _))) if array != copy.store:
                    continue
            return None
        return made

    def allocation(self, before: Block, name: str) -> Op | None:
        """The one statement that makes an array of given extents, before the loop and in its block."""
        for stmt in before:
            match stmt:
                case Assign(value=Op(fn="empty" | "zeros") as made) if stmt.target == name:
                    return made if len(self.iterations.scopes.defs[name]) == 1 else None
        return None

    # what else may happen

    def box_of(self, block: Block, place: int, loop: For, copy: _Copy, made: Op) -> _Box | None:
        """The elements that an iteration writes into the array that is copied next; None where a proof is missing."""
        turned = cycle(loop.body, copy.array)
        if not turned:
            return None
        new = permutation(loop.body)[copy.array]
        box = self.box(loop, loop.body.index(copy.view), new)
        origins = self.origins(block[:place], turned)
        if box is None or origins is None:
            return None
        for origin in origins:
            zeros = self.allocation(block[:place], origin)
            if zeros is None or not self.alike(zeros, made):
                return None
        return box if self.keeps_disjoint(block, place, loop, set(turned), new) else None

    def alike(self, array: Op, store: Op) -> bool:
        """Whether an array has the type and extents of a row of a store."""
        if array.args[0] != store.args[0] or len(array.args) != len(store.args) - 1:
            return False
        pairs = zip(array.args[1:], store.args[2:], strict=True)
        return all(self.nests.fixed(a) and self.nests.size(a) == self.nests.size(b) for a, b in pairs)

    def origins(self, before: Block, turned: tuple[str, ...]) -> set[str] | None:
        """The arrays that the buffers are at first."""
        found = {stmt.target: stmt.value for stmt in before if isinstance(stmt, Assign) and stmt.target in turned}
        names = {value.id for value in found.values() if isinstance(value, Name)}
        return names if len(names) == len(turned) else None

    def keeps_disjoint(self, block: Block, place: int, loop: For, turned: set[str], new: str) -> bool:
        """Whether from the loop on nothing stores into a buffer that is kept, or has it by another name."""
        if any(self.iterations.may_share(one, new) for one in turned if one != new):
            return False
        own = self.nests.memory(new)
        own_copies = {stmt.key for stmt in last_copies(loop.body)}
        handed = turned | {stmt.target for stmt in last_copies(loop.body)}
        inside = {stmt.key for stmt in walk(loop.body)}
        for stmt in walk(block[place:]):
            met = {name for name in (*reads(stmt), *writes(stmt)) if is_memory(self.iterations.types.get(name))}
            met = {name for name in met if self.nests.memory(name) == own}
            if not met or stmt.key in own_copies:
                continue
            if not met <= handed:
                return False
            match stmt:
                case Store() if stmt.key in inside and stmt.array == new:
                    continue
                case Assign(value=Op(fn="load" | "dim")):
                    continue
            return False
        return True

    def box(self, loop: For, begun: int, new: str) -> _Box | None:
        """The box of elements that the first statement which meets an array writes."""
        type_ = self.iterations.types[new]
        place = next((k for k, stmt in enumerate(loop.body) if _names(stmt, new)), 0)
        stmt: Stmt = loop.body[place]
        if place <= begun or not isinstance(type_, Array):
            return None
        nest, loops = stmt, list[For]()
        while isinstance(stmt, For):
            meeting = [inner for inner in stmt.body if _names(inner, new)]
            if not self.counts(stmt, loop) or not meeting:
                return None
            loops.append(stmt)
            if len(loops) == type_.ndim:
                return self.innermost(nest, loops, meeting)
            if len(meeting) > 1:
                return None
            (stmt,) = meeting
        return None

    def innermost(self, nest: Stmt, loops: list[For], meeting: list[Stmt]) -> _Box | None:
        stores = [stmt for stmt in meeting if isinstance(stmt, Store)]
        if len(stores) != 1 or stores[0].accumulate or not isinstance(nest, For):
            return None
        (store,) = stores
        counted = [next((one for one in loops if self.is_variable(sub, one)), None) for sub in store.index]
        if None in counted or len({one.key for one in counted if one is not None}) != len(loops):
            return None
        loads: list[Assign] = []
        for stmt in meeting:
            match stmt:
                case Store():
                    pass
                case Assign(value=Op(fn="load", args=(array, *subs))) if array == Name(store.array):
                    if len(subs) != len(store.index) or not all(map(self.same, subs, store.index)):
                        return None
                    loads.append(stmt)
                case _:
                    return None
        before = tuple(load for load in loads if meeting.index(load) < meeting.index(store))
        bounds = []
        for one in counted:
            assert one is not None
            low, high = self.iterations.subscript(one.start), self.iterations.subscript(one.stop)
            assert low is not None and high is not None
            bounds.append((low, high))
        return _Box(nest, tuple(bounds), before, store)

    def counts(self, loop: For, around: For) -> bool:
        """Whether a loop counts up, not from below zero, between bounds that are set before `around`."""
        if loop.step != Const(1) or loop.parallel or may_leave(loop.body):
            return False
        (outer,) = self.iterations.scopes.body[around.key]
        if self.iterations.dependence.minimum(Affine(loop.var, 0)) < 0:
            return False
        for bound in (loop.start, loop.stop):
            affine = self.iterations.subscript(bound)
            if affine is None:
                return False
            if affine.base is not None:
                scope = self.iterations.scopes.scope_of.get(affine.base)
                if not self.iterations.fixed(Name(affine.base)) or (scope is not None and scope.inside(outer)):
                    return False
        return True

    def is_variable(self, sub: Atom, loop: For) -> bool:
        return self.same(sub, Name(loop.var))

    def same(self, first: Expr, second: Expr) -> bool:
        """Whether two subscripts are one number, with a sign or without."""
        return self.iterations.signed(first) == self.iterations.signed(second)

    # writing them

    def with_another_row(self, stmt: Stmt, rows: dict[str, Expr]) -> list[Stmt]:
        """The statement; the allocation of a store makes one row more."""
        if not isinstance(stmt, Assign) or stmt.target not in rows or not isinstance(stmt.value, Op):
            return [stmt]
        dtype, _, *sizes = stmt.value.args
        count = self.fresh("size", INT64)
        more = Assign(count, Op("+", (rows[stmt.target], Const(1))), stmt.span)
        return [more, replace(stmt, value=replace(stmt.value, args=(dtype, Name(count), *sizes)))]

    def first(self, copy: _Copy, extents: list[Atom], span: Span | None) -> list[Stmt]:
        """The array moves into the first row."""
        row = self.fresh(copy.view.target, self.iterations.types[copy.view.target])
        begin = Assign(row, Op("view", (Name(copy.store), Const(0))), span)
        copied = self.borders.whole(row, copy.array, extents, span)
        return [begin, *copied, Assign(copy.array, Name(row), span)]

    def changed_loop(self, loop: For, copy: _Copy, box: _Box, edges: list[Border]) -> For:
        """The loop with a row for what it writes, and without the copy."""
        new, span = box.store.array, copy.view.span
        following = self.fresh("t", INT64)
        row = self.fresh(copy.view.target, self.iterations.types[copy.view.target])
        begin: list[Stmt] = [Assign(following, Op("+", (Name(loop.var), Const(1))), span)]
        begin.append(Assign(row, Op("view", (Name(copy.store), Name(following))), span))
        begin += self.borders.rim(row, new, edges, span)
        old = new
        if box.loads:
            old = self.fresh(new, self.iterations.types[new])
            begin.append(Assign(old, Name(new), span))
        begin.append(Assign(new, Name(row), span))
        what, why = "`{0}` is written where it is kept", "the next iteration would copy what this one writes"
        remark(loop.span, "row_copies", what, why, Named(new))
        dropped = {copy.nest.key, *(stmt.key for stmt in copy.asked if not self.read_elsewhere(stmt, copy))}
        body: list[Stmt] = []
        for stmt in loop.body:
            if stmt is copy.view:
                body += begin
            elif any(inner is load for inner in walk((stmt,)) for load in box.loads):
                body.append(self.from_old(stmt, box.loads, old))
            elif stmt.key not in dropped:
                body.append(stmt)
        return replace(loop, body=tuple(body))

    def read_elsewhere(self, asked: Stmt, copy: _Copy) -> bool:
        """Whether an extent that a copy asks for is used otherwise, too."""
        inside = {stmt.key for stmt in walk((copy.nest,))}
        names = set(writes(asked))
        return any(stmt.key not in inside and not names.isdisjoint(reads(stmt)) for stmt in walk(self.function.body))

    def from_old(self, stmt: Stmt, loads: tuple[Assign, ...], old: str) -> Stmt:
        """A statement with some loads from another array."""
        if any(stmt is load for load in loads):
            assert isinstance(stmt, Assign) and isinstance(stmt.value, Op)
            return replace(stmt, value=replace(stmt.value, args=(Name(old), *stmt.value.args[1:])))
        return map_blocks(stmt, lambda block: tuple(self.from_old(inner, loads, old) for inner in block))


def _nothing_else(nest: Stmt, rank: int) -> bool:
    """Whether a nest holds nothing but loops around its innermost body."""
    for _ in range(rank - 1):
        if not isinstance(nest, For) or len(nest.body) != 1:
            return False
        (nest,) = nest.body
    return isinstance(nest, For)


def _names(stmt: Stmt, name: str) -> bool:
    return any(name in (*reads(inner), *writes(inner)) for inner in walk((stmt,)))
