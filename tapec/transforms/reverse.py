"""Reverse mode: a forward sweep that keeps what is needed, then the reverse sweep.

    shadows      adjoint arrays beside the primal arrays              shadow.py
    exits        trip counts and exit numbers of loops with `break`   exits.py
    sweep        adjoint statements, last to first                    sweep.py
    storage      how each primal value reaches them                   storage.py
    assembly     the two sweeps written out                           this module
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.activity import Activity
from tapec.analyses.memory import aliases, memory
from tapec.analyses.regions import Region, regions
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    walk,
    writes,
)
from tapec.syntax.types import INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter
from tapec.transforms.exits import LoopExits, instrument, leads_to
from tapec.transforms.shadow import Shadows
from tapec.transforms.storage import Planner, Slot
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop, Sweep, always_breaks


@dataclass(frozen=True)
class Reversed:
    """The two sweeps of a function.

    forward   statements of the forward sweep; `values` are the results after it
    backward  statements of the reverse sweep; it reads names that the forward sweep set
    adjoints  the adjoints of the sources, in their order
    seeds     parameters that hold the adjoints of the results, for those of float type
    """

    forward: Block
    backward: Block
    values: tuple[Atom, ...]
    adjoints: tuple[Atom, ...]
    seeds: tuple[str, ...]
    types: dict[str, Type]
    params: tuple[str, ...]


def reverse(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str] = frozenset(),
    unit_seed: bool = False,
    shared: bool = False,
) -> Reversed:
    """Reverse `function` with respect to the parameters `sources`.

    With `unit_seed` the adjoint of the only result is the number one, as for a gradient;
    otherwise there is a parameter `NAME_seed` for every result of float type.  With `shared` the
    adjoints of array sources are parameters after the seeds, and are added to.
    """
    return _Reverse(function, sources, constants, unit_seed, shared).run()


class _Reverse:
    def __init__(
        self,
        function: Function,
        sources: tuple[str, ...],
        constants: frozenset[str],
        unit_seed: bool,
        shared: bool,
    ) -> None:
        self.shared = shared
        self.function = function
        self.sources = sources
        self.constants = constants
        self.unit_seed = unit_seed
        self.types = dict(function.types)
        self.emitter = Emitter(self.types, set(self.types))

    def run(self) -> Reversed:
        function, emitter = self.function, self.emitter
        last = function.body[-1]
        assert isinstance(last, Return)
        targets = {a.id for a in last.values if isinstance(a, Name)}
        self.activity = Activity(function, aliases(function), set(self.sources), targets)
        shadows = Shadows(emitter, self.activity)
        given: list[str] = []
        if self.shared:
            for source in self.sources:
                if isinstance(self.types[source], Array):
                    given.append(shadows.of(source))
        own = [p for p in function.params if p not in shadows.names]
        entry = shadows.entry((*own, *sorted(self.constants)))
        body = shadows.block(function.body[:-1])
        body, self.exits = instrument(body, emitter, last.values)
        program = Function(function.name, (*function.params, *given), (*entry, *body), self.types)
        self.regions = regions(program)
        for constant in self.constants:
            self.regions.home[constant] = self.regions.root
            self.regions.defs[constant] = []
        self.memory = memory(program, self.regions, aliases(program), self.constants)
        self.sweep = Sweep(emitter, self.regions, self.memory, self.activity, shadows)
        swept = self.sweep.run(program.body, self.regions.root)
        self.place_snapshots(program)
        planner = Planner(emitter, self.regions, self.memory, self.exits, frozenset(shadows.names.values()))
        self.planner = planner
        self.plan = planner.run(swept)
        self.shadow_names = frozenset(shadows.names.values())
        forward = self.record(program.body, self.regions.root)
        values, kept = self.keep_results(last)
        seeds, seeding = self.seed(last, shadows)
        backward = (*self.reverse_block(swept, seeding),)
        adjoints, extra = self.adjoints(shadows)
        if self.shared:
            adjoints = tuple(
                a for a, s in zip(adjoints, self.sources, strict=True) if isinstance(self.types[s], Scalar)
            )
            seeds = (*seeds, *given)
        return Reversed(
            (*forward, *kept), (*backward, *extra), values, adjoints, seeds, self.types, function.params
        )

    # ends of the sweeps

    def keep_results(self, last: Return) -> tuple[tuple[Atom, ...], Block]:
        """Results in names of their own: the reverse sweep restores variables to earlier values."""
        out = self.emitter.child()
        out.span = last.span
        values: list[Atom] = []
        for value in last.values:
            if isinstance(value, Name) and self.regions.loop_of(value.id) is not None:
                values.append(out.let("result", value, self.types[value.id]))
            else:
                values.append(value)
        return tuple(values), tuple(out.out)

    def seed(self, last: Return, shadows: Shadows) -> tuple[tuple[str, ...], Block]:
        """The adjoints of the results: parameters, or one."""
        out = self.emitter.child()
        seeds: list[str] = []
        for value in last.values:
            type_ = out.type_of(value)
            if not type_.is_float:
                continue
            label = value.id if isinstance(value, Name) else "result"
            if isinstance(type_, Scalar):
                unit: Expr = Const(1.0)
                if not self.unit_seed:
                    seeds.append(self.emitter.fresh(f"{label}_seed", type_))
                    unit = Name(seeds[-1])
                if isinstance(value, Name) and value.id in self.activity:
                    out.accumulate(self.sweep.bar(value.id), unit)
            else:
                assert isinstance(value, Name)
                seeds.append(self.emitter.fresh(f"{label}_seed", type_))
                if value.id in self.activity:
                    out.add_elements(shadows.of(value.id), seeds[-1])
        return tuple(seeds), tuple(out.out)

    def adjoints(self, shadows: Shadows) -> tuple[tuple[Atom, ...], Block]:
        out = self.emitter.child()
        found: list[Atom] = []
        for source in self.sources:
            type_ = self.types[source]
            if isinstance(type_, Array):
                if source not in shadows.names:
                    shadows.names[source] = out.zeros_like(f"{source}_bar", source)
                found.append(Name(shadows.names[source]))
            elif source in self.sweep.bars:
                found.append(Name(self.sweep.bars[source]))
            else:
                assert isinstance(type_, Scalar)
                found.append(out.atom(_zero(type_)))
        return tuple(found), tuple(out.out)

    def place_snapshots(self, program: Function) -> None:
        """Make the copies that the sweep asked for known to the analyses."""
        self.copies: dict[int, list[Stmt]] = {}
        for stmt in walk(program.body):
            for original, copy in self.sweep.snapshots.get(id(stmt), ()):
                made = Assign(copy, Op("copy", (Name(original),)), getattr(stmt, "span", None))
                self.copies.setdefault(id(stmt), []).append(made)
                region = self.regions.of[id(stmt)]
                self.regions.of[id(made)] = region
                self.regions.place[id(made)] = self.regions.place[id(stmt)]
                self.regions.home[copy] = region
                self.regions.defs[copy] = [made]
                self.memory.homes[self.memory.aliases.find(copy)] = region

    # the forward sweep

    def record(self, block: Block, region: Region, replay: Region | None = None) -> list[Stmt]:
        """Run a block and store what the plan asks for; in a replay, nothing outside the trip changes."""
        out: list[Stmt] = []
        merges = self.merges_after(block, region)
        for stmt in block:
            match stmt:
                case If(test=test, body=body, orelse=orelse):
                    inner, other = self.regions.body[id(stmt)]
                    sides = self.record(body, inner, replay), self.record(orelse, other, replay)
                    if replay is None or sides[0] or sides[1]:
                        out.append(If(test, tuple(sides[0]), tuple(sides[1]), stmt.span))
                case For() | Loop():
                    out += self.record_loop(stmt, replay)
                case Store(array=array) if replay is not None and not self.memory.local_to(array, replay):
                    pass
                case Raise() | Print() | Push() if replay is not None:
                    pass
                case Assign(target=target) if replay is not None and not self.regions.home[target].inside(replay):
                    pass  # what the next trip begins with; this one must keep what it began with
                case _:
                    out.append(stmt)
                    out += self.copies.get(id(stmt), ())
                    for name in writes(stmt):
                        if not self.regions.merged(name) and name in self.plan.stored:
                            out.append(self.put(name, self.plan.stored[name]))
                    for made in self.copies.get(id(stmt), ()):
                        (name,) = writes(made)
                        if name in self.plan.stored:
                            out.append(self.put(name, self.plan.stored[name]))
            for name in merges.get(id(stmt), ()):
                out.append(self.put(name, self.plan.stored[name]))
        return out

    def merges_after(self, block: Block, region: Region) -> dict[int, list[str]]:
        """Stored merge names at home here, by the statement after which they are complete."""
        found: dict[int, list[str]] = {}
        for name, _ in self.plan.stored.items():
            if self.regions.home[name] is not region or not self.regions.merged(name):
                continue
            last = None
            for stmt in block:
                if any(name in writes(s) for s in walk((stmt,))):
                    last = stmt
            assert last is not None
            found.setdefault(id(last), []).append(name)
        return found

    def record_loop(self, stmt: For | Loop, replay: Region | None) -> list[Stmt]:
        (region,) = self.regions.body[id(stmt)]
        out: list[Stmt] = self.allocate(stmt)
        begin: list[Stmt] = self.counter(region, stmt)
        begin += [self.put(name, slot) for name, slot in self.plan.heads.get(id(region), {}).items()]
        if id(region) in self.plan.replayed:
            body: list[Stmt] = list(stmt.body)
        else:
            body = self.record(stmt.body, region, replay)
        if isinstance(stmt, For):
            new: Stmt = For(
                stmt.var, stmt.start, stmt.stop, stmt.step, (*begin, *body), stmt.parallel, stmt.span
            )
        else:
            exits = self.exits.of.get(id(stmt))
            whole = (*begin, *body)
            new = Loop(self.after_test(whole, exits.trips) if exits and exits.headed else whole, stmt.span)
        return [*out, new]

    def after_test(self, body: Block, trips: str) -> Block:
        """The body of a `while` that counts a trip, and stores its values, once the test is passed."""
        *before, last = body
        assert isinstance(last, If)
        kept = tuple(s for s in before if isinstance(s, Assign) and s.target != trips)
        moved = tuple(s for s in before if not isinstance(s, Assign) or s.target == trips)
        if always_breaks(last.orelse):
            return (*kept, If(last.test, (*moved, *last.body), last.orelse, last.span))
        return (*kept, If(last.test, last.body, (*moved, *last.orelse), last.span))

    def counter(self, region: Region, stmt: For | Loop) -> list[Stmt]:
        """The trip's number, where the loop's variable is something else."""
        name = self.plan.counters.get(id(region))
        if name is None or not isinstance(stmt, For):
            return []
        out = self.emitter.child()
        out.span = stmt.span
        if stmt.step == Const(-1):
            out.assign(name, Op("-", (stmt.start, Name(stmt.var))))
            return out.out
        offset = out.atom(Op("-", (Name(stmt.var), stmt.start)))
        if stmt.step == Const(1):
            out.assign(name, offset)
        else:
            out.assign(name, Op("//", (offset, stmt.step)))
        return out.out

    def allocate(self, stmt: For | Loop) -> list[Stmt]:
        """Buffers and stacks for a nest of loops, made before it."""
        out = self.emitter.child()
        out.span = stmt.span
        made: dict[Expr, Atom] = {}
        for slot, name in self.plan.buffers.get(id(stmt), ()):
            type_ = self.types[name]
            if slot.dense:
                assert isinstance(type_, Scalar)
                extents = self.planner.extents.of(slot.loops)
                assert extents is not None
                dims = []
                for extent in extents:
                    if extent not in made:
                        made[extent] = out.atom(extent)
                    dims.append(made[extent])
                out.assign(slot.name, Op("empty", (Const(type_.dtype), *dims)))
            else:
                out.assign(slot.name, Op("stack", _stack_args(type_)))
        return out.out

    def index(self, slot: Slot) -> tuple[Atom, ...]:
        out: list[Atom] = []
        for region in slot.loops:
            loop = region.owner
            assert isinstance(loop, For)
            out.append(Name(self.plan.counters.get(id(region), loop.var)))
        return tuple(out)

    def put(self, name: str, slot: Slot) -> Stmt:
        if slot.dense:
            return Store(slot.name, self.index(slot), Name(name))
        return Push(slot.name, Name(name))

    def get(self, name: str, slot: Slot) -> Stmt:
        if slot.dense:
            return Assign(name, Op("load", (Name(slot.name), *self.index(slot))))
        return Assign(name, Op("pop", (Name(slot.name),)))

    # the reverse sweep

    def reverse_block(self, block: RevBlock, before: Block = ()) -> list[Stmt]:
        region = block.region
        out = self.emitter.child()
        heads = self.plan.heads.get(id(region), {})
        for name, slot in self.plan.stored.items():
            if self.regions.home[name] is region:
                out.add(self.get(name, slot))
        for name, slot in heads.items():
            out.add(self.get(name, slot))
        if id(region) in self.plan.replayed:
            out.extend(self.record(region.block, region, region))
        for name in self.plan.recomputed.get(id(region), ()):
            out.extend(self.regions.defs[name])
        for bar in block.adjoints:
            type_ = self.types[bar]
            if isinstance(type_, Stack):
                out.assign(bar, Op("stack", _stack_args(type_.element)))
                continue
            assert isinstance(type_, Scalar)
            out.assign(bar, out.atom(_zero(type_)))
        out.extend(before)
        for item in block.items:
            if isinstance(item, RevIf):
                out.add(self.reverse_if(item))
            elif isinstance(item, RevLoop):
                out.extend(self.reverse_loop(item))
            else:
                out.add(item)
        return out.out

    def reverse_if(self, item: RevIf) -> Stmt:
        stmt = item.primal
        body = tuple(self.reverse_block(item.body))
        orelse = tuple(self.reverse_block(item.orelse))
        test: Atom = stmt.test
        if self.planner.is_exit_test(stmt):
            leaving, exits = self.leaving[-1]
            side = stmt.body if always_breaks(stmt.body) else stmt.orelse
            if exits.headed:
                return If(Const(True), orelse if side is stmt.body else body, (), stmt.span)
            if not exits.exit or leads_to(side, self.exits) == set(exits.numbers.values()):
                test = Name(leaving)
            else:
                return self.reverse_by_number(stmt, side, body, orelse)
            if side is stmt.orelse:
                body, orelse = orelse, body
        return If(test, body, orelse, stmt.span)

    def reverse_by_number(self, stmt: If, side: Block, body: Block, orelse: Block) -> Stmt:
        """Which of several exits was taken tells which way this `if` went."""
        leaving, exits = self.leaving[-1]
        out = self.emitter.child()
        assert exits.exit is not None
        test: Expr = Const(False)
        for number in sorted(leads_to(side, self.exits)):
            equal = Op("==", (Name(exits.exit), Const(number)))
            test = equal if test == Const(False) else Op("or", (test, equal))
        taken = out.atom(Op("and", (Name(leaving), test)))
        first, second = (body, orelse) if side is stmt.body else (orelse, body)
        # wrapped, so that the test is computed where the branch stands
        return If(Const(True), (*out.out, If(taken, first, second, stmt.span)), (), stmt.span)

    leaving: list[tuple[str, LoopExits]] = []

    def reverse_loop(self, item: RevLoop) -> list[Stmt]:
        stmt, region = item.primal, item.body.region
        out = self.emitter.child()
        out.span = stmt.span
        exits = self.exits.of.get(id(stmt))
        if exits is None:
            assert isinstance(stmt, For)
            begin = self.counter(region, stmt)
            body = (*begin, *self.reverse_block(item.body))
            start, stop, step = self.backwards(stmt, out)
            out.add(For(stmt.var, start, stop, step, body, False, stmt.span))
            return out.out
        leaving = self.emitter.fresh("leaving", Scalar("bool"))
        ends_by_break: Expr = Const(True)
        if isinstance(stmt, For):
            assert exits.exit is not None
            ends_by_break = Op("!=", (Name(exits.exit), Const(0)))
        if not exits.headed:
            out.assign(leaving, ends_by_break)
        self.leaving = [*self.leaving, (leaving, exits)]
        body = tuple(self.reverse_block(item.body))
        self.leaving = self.leaving[:-1]
        trip = self.emitter.fresh("trip", INT64)
        inner = self.emitter.child()
        if isinstance(stmt, For):
            offset = Name(trip) if stmt.step == Const(1) else Op("*", (Name(trip), stmt.step))
            inner.assign(stmt.var, inner.atom(Op("+", (stmt.start, offset))))
            inner.extend(self.counter(region, stmt))
        last = out.atom(Op("-", (Name(exits.trips), Const(1))))
        after = () if exits.headed else (Assign(leaving, Const(False), stmt.span),)
        out.add(For(trip, last, Const(-1), Const(-1), (*inner.out, *body, *after), False, stmt.span))
        return out.out

    def backwards(self, stmt: For, out: Emitter) -> tuple[Atom, Atom, Atom]:
        """The bounds that visit the values of a range from last to first."""
        start, stop, step = stmt.start, stmt.stop, stmt.step
        if step == Const(1):
            return out.atom(_minus(stop, 1)), out.atom(_minus(start, 1)), Const(-1)
        if step == Const(-1):
            return out.atom(_plus(stop, 1)), out.atom(_plus(start, 1)), Const(1)
        # the number of trips, rounded up; range() itself is empty where it is not positive
        trips = Op("neg", (Op("//", (Op("-", (start, stop)), step)),))
        count = out.atom(Op("max", (Const(0), trips)))
        last = Op("+", (start, Op("*", (Op("-", (count, Const(1))), step))))
        back = out.atom(Op("neg", (step,)))
        return out.atom(last), out.atom(Op("-", (start, step))), back


def _minus(expr: Expr, k: int) -> Expr:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return Const(expr.value - k)
    return Op("-", (expr, Const(k)))


def _plus(expr: Expr, k: int) -> Expr:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return Const(expr.value + k)
    return Op("+", (expr, Const(k)))


def _zero(type_: Scalar) -> Expr:
    return Const(0.0) if type_.dtype == "float64" else Op(f"cast.{type_.dtype}", (Const(0.0),))


def _stack_args(type_: Type) -> tuple[Expr, ...]:
    if isinstance(type_, Array):
        return (Const(type_.dtype), Const(type_.ndim), Const(type_.layout))
    assert isinstance(type_, Scalar)
    return (Const(type_.dtype),)


def reverse_callee(function: Function, constants: frozenset[str]) -> Function:
    """The adjoint of a recursive function, as a function that calls itself.

    It takes the arguments, a seed per float result and a shadow per float array, and returns the
    adjoints of its float numbers.
    """
    sources = tuple(p for p in function.params if function.types[p].is_float)
    swept = reverse(function, sources, constants, shared=True)
    body = (*swept.forward, *swept.backward, Return(swept.adjoints))
    return Function(f"{function.name}_adjoint", (*swept.params, *swept.seeds), body, swept.types)


__all__ = ["Call", "Reversed", "reverse", "reverse_callee"]
