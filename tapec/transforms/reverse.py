"""Reverse mode: a forward sweep that keeps what is needed, then the reverse sweep.

    relaxations  branches where elements take what is better          relaxations.py
    growth       one shadow for arrays that grow                      grown_shadows.py
    shadows      adjoint arrays beside the primal arrays              shadow.py
    exits        iteration counts and exit numbers of loops with `break`   loop_exits.py
    sweep        adjoint statements, last to first                    sweep.py
    fusion       loops whose iterations are reversed as soon as they ran   immediate_reversal.py
    storage      how each primal value reaches them                   storage.py
    slots        the buffers and stacks that it needs                 slots.py
    assembly     the two sweeps written out                           assembly.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import aliases, memory
from tapec.analyses.batch_extents import BatchExtents
from tapec.analyses.lower_bounds import sums_of_squares
from tapec.analyses.scopes import scopes
from tapec.remarks import heard_by, is_heard, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Return,
    Stmt,
    distinct,
    walk,
    zero_of,
)
from tapec.syntax.types import Array, Scalar, Type
from tapec.transforms.assembly import Assembly
from tapec.transforms.checkpoint_contents import find
from tapec.transforms.checkpointed_sweeps import Forward, Schedule, never_read, sharing, without_stores
from tapec.transforms.emitter import Emitter
from tapec.transforms.grown_shadows import GrownShadow, expanded, with_growth
from tapec.transforms.immediate_reversal import ImmediateReversal, ReversedAtOnce
from tapec.transforms.index_guards import with_guards
from tapec.transforms.last_iteration import of_last_iteration
from tapec.transforms.loop_exits import instrument
from tapec.transforms.plan_remarks import remark_plan
from tapec.transforms.relaxations import with_branches
from tapec.transforms.residual_requests import Asks
from tapec.transforms.shadow import Shadows
from tapec.transforms.storage import Planner
from tapec.transforms.storage_plan import Slot
from tapec.transforms.strong_zeros import Overflows
from tapec.transforms.sweep import RevBlock, Sweep
from tapec.transforms.undo import arrays_to_undo, only_reversed, remark_undo, with_old_values


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

    def function(self, name: str, results: tuple[Atom, ...] | None = None) -> Function:
        """Both sweeps in one function; it returns the adjoints, if no other results are asked for."""
        body = (*self.forward, *self.backward, Return(self.adjoints if results is None else results))
        return Function(name, (*self.params, *self.seeds), body, self.types)


def reverse(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str] = frozenset(),
    unit_seed: bool = False,
    shared: bool = False,
    fuse: bool = False,
    outputs: frozenset[str] | None = None,
    grow: bool | None = None,
    asked: Mapping[str, Asks] | None = None,
    brief: bool = False,
) -> Reversed:
    """Reverse `function` with respect to the parameters `sources`.

    With `unit_seed` the adjoint of the first result is the number one, as for a gradient, and others have none;
    otherwise there is a parameter `NAME_seed` for every result of float type.  With `shared` the
    adjoints of array sources are parameters after the seeds, and are added to.  With `fuse` the forward
    sweep reverses the iterations of independent loops as soon as they have run; with `grow`, by default as `fuse`,
    arrays that grow have one shadow.  Functions in `asked` have put what their pullbacks take on lists: see
    recursive_residuals.py.  With `brief` a program is to be short, not fast: of the loops only the user's are
    fused.  The iteration of a loop is reversed with `outputs`, the array parameters whose last contents are results.
    """
    function = with_guards(function, sources, targets_of(function, shared, outputs, unit_seed))
    function = _prepared(function, fuse and not brief)
    growing = with_growth(function) if (fuse if grow is None else grow) else GrownShadow(function)
    function = growing.function
    given = growing, sources, constants, unit_seed, shared, fuse
    if brief or not fuse:
        return Reversal(*given, outputs, asked=asked, brief=brief).run()
    with heard_by(None):  # all remarks are on the last one
        first = Reversal(*given, outputs, asked=asked)
        swept = first.run()
        arrays = arrays_to_undo(function, first.program, first.planner)
        if arrays:
            second = Reversal(*given, outputs, arrays, asked)
            changed = second.run()
            if second.as_much_at_once(first) and only_reversed(arrays, second.fused):
                swept = changed
            else:
                arrays = frozenset()
    return Reversal(*given, outputs, arrays, asked).run() if is_heard() else swept


def kept_by_loops(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], unit_seed: bool, fuse: bool
) -> list[tuple[For | Loop, list[tuple[Slot, Type]]]]:
    """What the reversal of a function stores for its outermost loops."""
    # iterations that let an array grow are not run again from a snapshot: see grown_shadows.py
    growing = GrownShadow(_prepared(function, fuse))
    worker = Reversal(growing, sources, constants, unit_seed, False, fuse)
    worker.run()
    kept = []
    for stmt in walk(worker.program.body):
        slots = [(slot, worker.types[name]) for slot, name in worker.plan.buffers.get(stmt.key, ())]
        if slots and isinstance(stmt, For | Loop) and not worker.scopes.of[stmt.key].loops():
            kept.append((stmt, slots))
    return kept


def targets_of(
    function: Function, shared: bool, outputs: frozenset[str] | None, unit_seed: bool = False
) -> set[str]:
    """The names that hold what is differentiated; see `reverse`."""
    targets = {a.id for a in function.leaving.values[: 1 if unit_seed else None] if isinstance(a, Name)}
    if outputs is not None:
        targets |= outputs
    elif shared:
        # what a callee leaves in the caller's arrays is a result, too
        targets.update(p for p in function.params if isinstance(function.types[p], Array))
    return targets


def _prepared(function: Function, fuse: bool) -> Function:
    function = of_last_iteration(function)
    function = with_branches(function) if fuse else function
    return replace(function, body=distinct(function.body))


class Reversal(Assembly):
    """One function and its two sweeps; `reverse` says what it takes."""

    def __init__(
        self,
        growing: GrownShadow,
        sources: tuple[str, ...],
        constants: frozenset[str],
        unit_seed: bool,
        shared: bool,
        fuse: bool,
        outputs: frozenset[str] | None = None,
        undone: frozenset[str] = frozenset(),
        asked: Mapping[str, Asks] | None = None,
        brief: bool = False,
    ) -> None:
        self.undone = undone
        self.brief = brief
        self.outputs = outputs
        self.shared = shared
        self.fuse = fuse
        self.growing = growing
        self.function = function = growing.function
        self.sources = sources
        self.constants = constants
        self.unit_seed = unit_seed
        self.types = dict(function.types)
        self.emitter = Emitter(self.types, set(self.types))
        self.iterations: dict[int, str] = {}
        self.scheduled_forward: dict[int, Forward | None] = {}
        self.asked = asked or {}

    def run(self) -> Reversed:
        """Both sweeps."""
        seeds, seeding, swept, shadows = self.analyse()
        last = self.function.leaving
        forward = self.record(self.program.body, self.scopes.root)
        values, kept = self.keep_results(last)
        backward = (*self.reverse_block(swept, seeding),)
        adjoints, extra = self.adjoints(shadows)
        forward_sweep, reverse_sweep = (
            expanded(block, self.growing.written) for block in ((*forward, *kept), (*backward, *extra))
        )
        return Reversed(forward_sweep, reverse_sweep, values, adjoints, seeds, self.types, self.function.params)

    def analyse(self) -> tuple[tuple[str, ...], Block, RevBlock, Shadows]:
        """The seeds, what it takes to add them, the reverse sweep as mathematics, and the shadows; makes the plan."""
        emitter = self.emitter
        body, old = with_old_values(self.function.body, self.undone, emitter)
        function = replace(self.function, body=body)
        last = function.leaving
        targets = targets_of(function, self.shared, self.outputs, self.unit_seed)
        self.activity = Activity(function, aliases(function), set(self.sources), targets)
        self.checkpoints = find(function, self.constants)
        sizes = BatchExtents(function, (), scopes(function))
        shadows = Shadows(emitter, self.activity, self.checkpoints, sizes, self.growing.lasts)
        given: list[str] = []
        if self.shared:
            for source in self.sources:
                if isinstance(self.types[source], Array):
                    given.append(shadows.of(source))
        own = [p for p in function.params if p not in shadows.names]
        entry = shadows.entry((*own, *sorted(self.constants)))
        body = shadows.block(function.body[:-1])
        body, self.exits = instrument(body, emitter, last.values)
        # shadows share memory as their arrays do
        beside = (frozenset(shadows.names[n] for n in group if n in shadows.names) for group in function.shared)
        groups = (*function.shared, *(group for group in beside if len(group) > 1))
        program = Function(function.name, (*function.params, *given), (*entry, *body), self.types, shared=groups)
        self.program = program
        self.scopes = scopes(program)
        for constant in self.constants:
            self.scopes.scope_of[constant] = self.scopes.root
            self.scopes.defs[constant] = []
        self.memory = memory(program, self.scopes, aliases(program), self.constants)
        self.sweep = Sweep(emitter, self.scopes, self.memory, self.activity, shadows)
        self.sweep.checkpointed = self.scheduled
        self.sweep.old = old
        self.sweep.divide_once = self.fuse and not self.brief
        self.sweep.strong_zero, self.sweep.again = self.function.strong_zero, self.function.again
        self.sweep.squares = sums_of_squares(program)
        self.sweep.overflows = Overflows(program, [value.id for value in last.values if isinstance(value, Name)])
        self.sweep.asked = self.asked
        swept = self.sweep.run(program.body, self.scopes.root)
        self.place_snapshots(program)
        seeds, seeding = self.seed(last, shadows)
        self.fused = ReversedAtOnce()
        if self.fuse:
            parts = (program, self.scopes, self.memory, self.activity, self.exits, self.sweep)
            self.fused = ImmediateReversal(*parts, only_users=self.brief).choose(swept, seeding)
            seeding = ()
        bars = frozenset((*shadows.names.values(), *shadows.rows))
        planner = Planner(emitter, self.scopes, self.memory, self.exits, bars)
        self.planner = planner
        planner.brief = self.brief
        planner.undone = self.undone
        planner.handed = frozenset(self.sweep.handed)
        handed = (one for arrays in self.sweep.handed.values() for one in arrays)
        planner.given = frozenset(one.id for one in handed if isinstance(one, Name))
        self.begin_plan(planner)
        self.plan = planner.run(swept, self.fused.loops)
        if is_heard():
            remark_undo(self.undone, self.scopes)
            remark_plan(self.plan, self.scopes, self.memory, self.types, bars)
        return (*seeds, *given), seeding, swept, shadows

    def begin_plan(self, planner: Planner) -> None:
        """Tell the planner what is particular to a function."""

    def as_much_at_once(self, other: Reversal) -> bool:
        """Whether as many loops as in another reversal are reversed at once, or run again."""
        mine, theirs = self.plan, other.plan
        return len(mine.fused) >= len(theirs.fused) and len(mine.replayed) >= len(theirs.replayed)

    # checkpointed loops

    def scheduled(self, stmt: For) -> list[Stmt]:
        """The reversal of a checkpointed loop; notes what stands in the forward sweep."""
        # others are computed, from the limit of memory for instance
        given = not isinstance(stmt.slots, Name) or stmt.slots.id in self.function.params
        what = "checkpointed, with {0} snapshots" if given else "checkpointed"
        why = "iterations are run again from the nearest snapshot"
        remark(stmt.span, "checkpoint_contents", what, why, stmt.slots)
        nested = self.outputs is not None
        schedule = Schedule(self.sweep, stmt, self.checkpoints[stmt.var], nested, reverse_iteration)
        self.scheduled_forward[stmt.key], reversed_ = schedule.write()
        return reversed_

    # ends of the sweeps

    def keep_results(self, last: Return) -> tuple[tuple[Atom, ...], Block]:
        """Results in names of their own: the reverse sweep restores variables to earlier values."""
        out = self.emitter.child()
        out.span = last.span
        values: list[Atom] = []
        for value in last.values:
            if isinstance(value, Name) and self.scopes.loop_of(value.id) is not None:
                values.append(out.let("result", value, self.types[value.id]))
            else:
                values.append(value)
        return tuple(values), tuple(out.out)

    def seed(self, last: Return, shadows: Shadows) -> tuple[tuple[str, ...], Block]:
        """The adjoints of the results: parameters, or one."""
        out = self.emitter.child()
        seeds: list[str] = []
        for value in last.values[: 1 if self.unit_seed else None]:
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
                found.append(out.atom(zero_of(type_)))
        if self.shared:
            # shadows of arrays are the caller's
            found = [a for a, s in zip(found, self.sources, strict=True) if isinstance(self.types[s], Scalar)]
        return tuple(found), tuple(out.out)

    def place_snapshots(self, program: Function) -> None:
        """Make the copies that the sweep asked for known to the analyses."""
        self.copies, self.entries = {}, {}
        for stmt in walk(program.body):
            after = [(self.copies, *pair) for pair in self.sweep.snapshots.get(stmt.key, ())]
            before = [(self.entries, *pair) for pair in self.sweep.entries.get(stmt.key, ())]
            for copies, original, copy in (*before, *after):
                made = Assign(copy, Op("copy", (Name(original),)), getattr(stmt, "span", None))
                copies.setdefault(stmt.key, []).append(made)
                region = self.scopes.of[stmt.key]
                self.scopes.of[made.key] = region
                self.scopes.place[made.key] = self.scopes.place[stmt.key]
                self.scopes.scope_of[copy] = region
                self.scopes.defs[copy] = [made]
                self.memory.scopes_of[self.memory.aliases.find(copy)] = region


def reverse_iteration(
    function: Function,
    sources: tuple[str, ...],
    outputs: frozenset[str],
    unread: frozenset[str],
) -> Function:
    """The reversal of a loop's iteration: takes what the iteration takes, seeds and shadows; returns the adjoints of
    numbers.

    It runs the iteration itself, but for stores into the arrays `unread`, and into those that neither the iteration nor
    its reversal reads: what they hold comes from a snapshot again before it is read.
    """
    swept = reverse(function, sources, shared=True, outputs=outputs)
    whole = replace(function, body=(*swept.forward, *swept.backward), types=swept.types)
    forward = without_stores(swept.forward, sharing(whole, unread) | never_read(whole))
    body = (*forward, *swept.backward, Return(swept.adjoints))
    return Function(f"{function.name}_reversed", (*swept.params, *swept.seeds), body, swept.types)


def reverse_callee(function: Function, constants: frozenset[str]) -> Function:
    """The adjoint of a recursive function, as a function that calls itself.

    It takes the arguments, a seed per float result and a shadow per float array, and returns the
    adjoints of its float numbers.
    """
    sources = tuple(p for p in function.params if function.types[p].is_float)
    return reverse(function, sources, constants, shared=True).function(f"{function.name}_adjoint")
