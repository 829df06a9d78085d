"""Run many iterations of a loop side by side, so that its inner loops run on vectors.

    for i in range(n):                             for first in range(0, n, 64):
        image = np.empty(d)                            lanes = min(64, n - first)
        for c in range(d):                             image = np.empty((d, 64))
            w = icf[c]                  ->             for c in range(d):
            image[c] += w * x[c, i]                        w = icf[c]
        total = total + image[0]                           for lane in range(lanes):
                                                               i = first + lane
                                                               image[c, lane] += w * x[c, i]
                                                       for lane in range(lanes):
                                                           total = total + image[0, lane]

LLVM runs innermost loops on vectors only.  Where those are short, or need one iteration after the other, the iterations
of a loop around them do not: each is a lane of a vector.  The loop's iterations must be parallel; loops inside must
take the same way in all of them, or they stay whole in a lane (`analyses/lane_variance.py`).  What an iteration makes
for itself gets an axis of lanes, the last one; what lanes add to one element is added up in a variable, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tapec.analyses.aliases import Aliases
from tapec.analyses.iterations import Iterations
from tapec.analyses.lane_variance import Lanes
from tapec.optimise import costs
from tapec.optimise.name_origins import Fresh
from tapec.optimise.shapes.versions import for_answers
from tapec.optimise.vectors.lane_buffers import with_lanes_last
from tapec.optimise.vectors.lane_gain import copied_stops, few, gains, short_loops
from tapec.optimise.vectors.lane_packing import Packed
from tapec.optimise.vectors.short_lanes import LaneLengths, Uses, where_short
from tapec.optimise.vectors.vector_report import Obstacle, innermost, obstacle
from tapec.remarks import is_heard, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    blocks,
    changed,
    element_of,
    map_blocks,
    names_in,
    reads,
    substitute,
    walk,
    writes,
    zero_of,
)
from tapec.syntax.types import INT64, UINT64, Array, Scalar


def vectorise_outer_loops(
    function: Function,
    constants: frozenset[str] = frozenset(),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Function:
    """The function with such loops in lanes; see the module.  Afterwards a name may have several values.

    shapes  those of parameters, for which alone the function is made; None for any
    """
    function = with_lanes_last(function, lambda *loop: planned(*loop) is not None)
    iterations = Iterations(function)
    fresh = Fresh(function.types)
    uses = Uses(function)
    lengths = LaneLengths(iterations, shapes)

    def block(stmts: Block) -> Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: Stmt) -> Iterable[Stmt]:
        lanes = _possible(stmt, iterations)
        packed = None if lanes is None else Packed(lanes, fresh)
        if lanes is None or packed is None:
            refused(stmt, lanes)
            return (map_blocks(stmt, block),)
        if gains(lanes, packed):
            say(stmt, "64 iterations side by side")
            return Rewriting(lanes, packed, fresh, costs.LANE_WIDTH).loop()
        copies = Packed(lanes, fresh, once=True)
        if stops := copied_stops(lanes, copies):
            say(stmt, "64 iterations side by side where there are many")
            return short(lanes, copies, stops, costs.CACHED_ITERATIONS)
        if stops := short_loops(lanes):
            say(stmt, "64 iterations side by side where its inner loops are short")
            return short(lanes, packed, stops, costs.SHORT_IN_LANES)
        refused(stmt, lanes)
        return (map_blocks(stmt, block),)

    def refused(stmt: Stmt, lanes: Lanes | None) -> None:
        if is_heard() and isinstance(stmt, For) and _would_help(stmt, iterations):
            why = _obstacle(stmt, iterations) if lanes is None else ("they would gain nothing",)
            remark(stmt.span, "outer_vectorisation", "its iterations do not run side by side", *why)

    def say(stmt: Stmt, what: str) -> None:
        why = "they run on vectors where its inner loops do not; what an iteration keeps takes 64 times the room"
        remark(stmt.span, "outer_vectorisation", what, why)

    def short(lanes: Lanes, packed: Packed, stops: set[str], most: int) -> Iterable[Stmt]:
        types = dict(fresh.types)
        made = Rewriting(lanes, packed, fresh, costs.LANE_WIDTH).loop()
        # what an iteration makes has another rank in lanes
        own = fresh.anew(uses.only_in(lanes.loop))
        fresh.types |= {name: types[name] for name in own}
        return where_short(lanes.loop, made, map_blocks(lanes.loop, block), stops, most, own, fresh, lengths)

    made = replace(function, body=block(function.body), types=fresh.types)
    return for_answers(made, lengths.answers, constants) if lengths.answers else made


def planned(stmt: Stmt, iterations: Iterations, fresh: Fresh) -> Rewriting | None:
    """How a loop runs in lanes, if it can, and gains by it."""
    lanes = _possible(stmt, iterations)
    if lanes is None:
        return None
    packed = Packed(lanes, fresh)
    return Rewriting(lanes, packed, fresh, costs.LANE_WIDTH) if gains(lanes, packed) else None


def _possible(stmt: Stmt, iterations: Iterations) -> Lanes | None:
    """What differs between the iterations of a loop that can run in lanes."""
    if not isinstance(stmt, For) or stmt.step != Const(1) or stmt.slots is not None or few(stmt, iterations):
        return None
    # threads would share the lanes of what each of them has for itself
    if any(isinstance(inner, For) and inner.parallel for inner in walk((stmt,))):
        return None
    if not iterations.is_parallel(stmt):
        return None
    lanes = Lanes(stmt, iterations)
    return lanes if lanes.separate() else None


def _would_help(loop: For, iterations: Iterations) -> bool:
    """Whether a loop has innermost loops that may not run on vectors."""
    inner = [stmt for stmt, _ in innermost(loop.body)]
    return not few(loop, iterations) and any(obstacle(one, iterations) is not None for one in inner)


def _obstacle(loop: For, iterations: Iterations) -> Obstacle:
    """What keeps a loop's iterations from running side by side."""
    found = obstacle(loop, iterations)
    if found is None and not iterations.is_parallel(loop):
        return ("a function is called, which may do anything",)
    return found or ("inner loops, or what they work on, differ from iteration to iteration",)


@dataclass
class _Run:
    """Statements that each lane runs by itself, one after another; the loop over lanes stands for them."""

    body: list[Stmt] = field(default_factory=list)

    def touches(self, stmt: Stmt, aliases: Aliases) -> bool:
        """Whether a statement may have to stay behind the run."""
        mine, theirs = tuple(walk(self.body)), tuple(walk((stmt,)))
        uses = {aliases.find(name) for s in mine for name in (*reads(s), *writes(s))}
        return any(aliases.find(name) in uses for s in theirs for name in (*writes(s), *changed(s)))


class Rewriting:
    """One loop, on its way into lanes: so many iterations side by side, each step of theirs, or what `apart` cuts
    off.
    """

    def __init__(
        self,
        lanes: Lanes,
        packed: Packed,
        fresh: Fresh,
        width: int,
        disjoint: Callable[[list[Stmt], Stmt], bool] = lambda _run, _stmt: False,
    ) -> None:
        self.width = Const(width)
        self.disjoint = disjoint
        self.lanes = lanes
        self.packed = packed
        self.fresh = fresh
        self.runs: dict[int, _Run] = {}
        # in how many runs a name stands, those that find a value counted twice
        self.places: dict[str, int] = {}
        self.kept: dict[str, str] = {}
        var = lanes.loop.var
        self.first = fresh(f"{var}_first", INT64)
        self.count = fresh("lanes", INT64)
        # the extent of the last axis of memory: a loop of three iterations needs no more
        self.capacity = fresh("room", INT64)

    def loop(self) -> list[Stmt]:
        loop = self.lanes.loop
        body = self.outer(loop.body)
        for run in self.runs.values():
            for name in dict.fromkeys(name for s in walk(run.body) for name in (*self.reads(s), *writes(s))):
                # what a run finds is from the iteration before of a loop around it, or from another run
                found = not self.lanes.whole and self.reads_first(name, run.body) is True
                self.places[name] = self.places.get(name, 0) + (2 if found else 1)
        for name, number in self.places.items():
            if number > 1 and name in self.lanes.names and name != loop.var:
                type_ = self.fresh.types[name]
                assert isinstance(type_, Scalar)
                self.kept[name] = self.fresh(f"{name}_lanes", Array(type_.dtype, 1))
        for name, type_ in self.lanes.iterations.types.items():
            if isinstance(type_, Array) and self.lanes.widened(name):
                self.fresh.types[name] = replace(type_, ndim=type_.ndim + 1)
        before = self.sized(loop) if any(self.capacity in reads(stmt) for stmt in walk(body)) else []
        before += [
            Assign(buffer, Op("empty", (Const(self.dtype(name)), self.width)), loop.span)
            for name, buffer in self.kept.items()
        ]
        rest = self.fresh("size", INT64)
        head: list[Stmt] = [
            Assign(rest, Op("-", (loop.stop, Name(self.first))), loop.span),
            Assign(self.count, Op("min", (Name(rest), self.width)), loop.span),
        ]
        tail: list[Stmt] = []
        for made in self.packed.made(self.first, self.count, self.width):
            before += made.before
            head.append(made.first)
            tail += made.last
        new = replace(loop, var=self.first, step=self.width, body=(*head, *self.inner(body), *tail))
        return [*before, new]

    def sized(self, loop: For) -> list[Stmt]:
        """Set the number of lanes that the loop's memory has room for."""
        iterations, lanes = self.fresh("size", INT64), self.fresh("size", INT64)
        return [
            Assign(iterations, Op("-", (loop.stop, loop.start)), loop.span),
            Assign(lanes, Op("min", (Name(iterations), self.width)), loop.span),
            # no iterations, no lanes
            Assign(self.capacity, Op("max", (Name(lanes), Const(0))), loop.span),
        ]

    def dtype(self, name: str) -> str:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Scalar)
        return type_.dtype

    # where each lane goes its own way

    def outer(self, block: Block) -> Block:
        """The block with runs, which stand behind what need not wait for them."""
        out: list[Stmt] = []
        run = _Run()
        for stmt in block:
            if isinstance(stmt, Assign) and (stmt.target in self.lanes.rows or self.copies_sum(stmt)):
                continue
            if self.lanes.differs(stmt):
                if run.body and self.disjoint(run.body, stmt):
                    out.append(self.placed(run))
                    run = _Run()
                run.body.append(stmt)
                continue
            alike = not any(self.lanes.differs(s) for s in walk((stmt,)))
            if run.body and (not alike or run.touches(stmt, self.lanes.iterations.aliases)):
                out.append(self.placed(run))
                run = _Run()
            out.append(self.widened(stmt) if alike else map_blocks(stmt, self.outer))
        if run.body:
            out.append(self.placed(run))
        return tuple(out)

    def copies_sum(self, stmt: Assign) -> bool:
        return stmt.target in self.lanes.sums and isinstance(stmt.value, Name)

    def widened(self, stmt: Stmt) -> Stmt:
        """A statement that runs once for all lanes; memory that it makes has a last axis for them."""
        match stmt:
            case Assign(target=target, value=Op(fn="empty" | "zeros" as fn, args=args)) if self.lanes.widened(target):
                return replace(stmt, value=Op(fn, (*args, Name(self.capacity))))
        return map_blocks(stmt, lambda block: tuple(self.widened(s) for s in block))

    def placed(self, run: _Run) -> Stmt:
        stmt = For("", Const(0), Name(self.count), Const(1), tuple(run.body), span=run.body[0].span)
        self.runs[stmt.key] = run
        return stmt

    def reads(self, stmt: Stmt) -> Iterator[str]:
        """The names that a statement reads, with the subscripts of the rows whose elements it names."""
        yield from reads(stmt)
        named = element_of(stmt)
        found = None if named is None else self.lanes.element(*named)
        if found is not None:
            yield from (name for sub in found[1] for name in names_in(sub))

    def reads_first(self, name: str, block: Block | list[Stmt]) -> bool | None:
        """Whether a block may read a name before it sets it; None if it may do neither."""
        for stmt in block:
            if name in self.reads(stmt):
                return True
            if name in writes(stmt) and not isinstance(stmt, For):
                return False
            if isinstance(stmt, For) and stmt.var == name:
                continue
            inner = [self.reads_first(name, one) for one in blocks(stmt)]
            if True in inner:
                return True
            if isinstance(stmt, If) and inner == [False, False]:
                return False
        return None

    # what a lane does

    def inner(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            run = self.runs.get(stmt.key)
            if run is None:
                out.append(map_blocks(stmt, self.inner))
            else:
                out += self.side_by_side(stmt, run)
        return tuple(out)

    def side_by_side(self, loop: Stmt, run: _Run) -> list[Stmt]:
        """The loop over lanes of a run."""
        assert isinstance(loop, For)
        lane = self.fresh("lane", INT64)
        writer = _Lane(self, lane)
        body = writer.block(tuple(run.body), top=True)
        head: list[Stmt] = []
        if writer.iteration in {name for s in walk(body) for name in reads(s)}:
            head.append(Assign(writer.iteration, Op("+", (Name(self.first), Name(lane))), loop.span))
        tail: list[Stmt] = []
        for name, buffer in self.kept.items():
            own = writer.names.get(name)
            if own is None:
                continue
            if self.reads_first(name, run.body) is not False:
                head.append(Assign(own, Op("load", (Name(buffer), Name(lane))), loop.span))
            if any(name in writes(s) for s in walk(run.body)):
                tail.append(Store(buffer, (Name(lane),), Name(own), span=loop.span))
        new = replace(loop, var=lane, body=(*head, *body, *tail))
        return [*writer.before, new, *writer.after]


class _Lane:
    """The statements of a run for one lane, with names of its own for what is kept between runs."""

    def __init__(self, whole: Rewriting, lane: str) -> None:
        self.whole = whole
        self.lanes = whole.lanes
        self.lane = Name(lane)
        self.iteration = whole.fresh(self.lanes.loop.var, INT64)
        self.names: dict[str, str] = {self.lanes.loop.var: self.iteration}
        self.sums: dict[tuple[str, tuple[Expr, ...]], str] = {}
        self.before: list[Stmt] = []
        self.after: list[Stmt] = []
        # subscripts of the next statement
        self.casts: list[Stmt] = []

    def name(self, name: str) -> str:
        if name in self.lanes.sums:
            return self.lanes.sums[name]
        if name in self.whole.kept and name not in self.names:
            self.names[name] = self.whole.fresh(name, self.whole.fresh.types[name])
        return self.names.get(name, name)

    def renamed(self, value: Expr) -> Expr:
        return substitute(value, {name: Name(self.name(name)) for name in names_in(value)})

    def atom(self, value: Expr) -> Atom:
        new = self.renamed(value)
        assert isinstance(new, Name | Const)
        return new

    def block(self, block: Block, top: bool = False) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            new = self.statement(stmt, top)
            out += self.casts
            self.casts = []
            if new is not None:
                out.append(new)
        return tuple(out)

    def statement(self, stmt: Stmt, top: bool = False) -> Stmt | None:
        match stmt:
            case Assign(target=target, value=value):
                if target in self.lanes.rows or self.whole.copies_sum(stmt):
                    return None
                if isinstance(value, Op) and value.fn == "load":
                    assert isinstance(value.args[0], Name)
                    array, index = self.element(value.args[0].id, value.args[1:], stmt)
                    return replace(stmt, target=self.name(target), value=Op("load", (Name(array), *index)))
                return replace(stmt, target=self.name(target), value=self.renamed(value))
            case Store(array=array, index=index):
                place, subs = self.element(array, index, stmt)
                span = self.lanes.place(stmt)
                new = replace(stmt, array=place, index=subs, value=self.atom(stmt.value), span=span)
                return self.added_up(new) if top and stmt.accumulate and not self.disjoint(array, index) else new
            case For(var=var, start=start, stop=stop, step=step):
                first, last, by = (self.atom(bound) for bound in (start, stop, step))
                stmt = replace(stmt, var=self.name(var), start=first, stop=last, step=by)
            case If(test=test):
                stmt = replace(stmt, test=self.atom(test))
        return map_blocks(stmt, self.block)

    def element(self, array: str, index: tuple[Expr, ...], stmt: Stmt) -> tuple[str, tuple[Atom, ...]]:
        """An element that a statement reads or writes, as this lane finds it."""
        found = self.lanes.element(array, index)
        assert found is not None
        array, subs = found[0], tuple(self.atom(sub) for sub in found[1])
        copied = self.whole.packed.element(stmt, subs, self.lane)
        if copied is not None:
            return copied
        if self.lanes.widened(array):
            return array, (*subs, self.lane)
        return array, tuple(self.counted(sub, new) for sub, new in zip(found[1], subs, strict=True))

    def counted(self, sub: Expr, new: Atom) -> Atom:
        """A subscript that differs between lanes; without a sign if it is not negative, which vectors need to know."""
        assert isinstance(sub, Name | Const)
        if isinstance(sub, Const) or sub.id not in self.lanes.names or not self.lanes.iterations.never_negative(sub):
            return new
        self.casts.append(Assign(name := self.whole.fresh("size", UINT64), Op("cast.uint64", (new,))))
        return Name(name)

    def disjoint(self, array: str, index: tuple[Expr, ...]) -> bool:
        """Whether lanes may have elements of their own."""
        found = self.lanes.element(array, index)
        assert found is not None
        names = {name for sub in found[1] for name in names_in(sub)}
        return self.lanes.widened(found[0]) or not self.lanes.names.isdisjoint(names)

    def added_up(self, stmt: Store) -> Stmt:
        """An addition that all lanes make to one element, to a variable."""
        array = self.whole.fresh.types[stmt.array]
        assert isinstance(array, Array)
        given = None if isinstance(stmt.value, Const) else self.whole.fresh.types[stmt.value.id]
        if not array.is_float or given != array.element:
            return stmt
        key = stmt.array, stmt.index
        if key not in self.sums:
            self.sums[key] = self.whole.fresh(f"{stmt.array}_sum", array.element)
            self.before.append(Assign(self.sums[key], zero_of(array.element), stmt.span))
            self.after.append(replace(stmt, value=Name(self.sums[key])))
        name = Name(self.sums[key])
        return Assign(name.id, Op("+", (name, stmt.value)), stmt.span)
