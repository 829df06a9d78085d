"""A checkpointed loop in both sweeps: snapshots on the way forward, iterations run again on the way back.

    forward                                      reverse
    for t in range(n):                           for t in reversed(range(n)):
        if t == place:                               first = iteration of the last snapshot; its state again
            snapshot; place = the next one           for again in range(first, t):
        iteration                                             snapshot, if `again` is the next place
                                                         iteration
                                                     drop the snapshot of t, if there is one
                                                     iteration, kept; then its reversal

`tapec_runtime.next_checkpoint` says where snapshots go.  An iteration is a function of its own here: of what it reads,
returning what it hands on.  Its reversal is that of any function, and is written in place.

A loop inside a loop that is not checkpointed begins with one snapshot, which the forward sweep keeps, and
places the others in the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tapec.analyses.aliases import aliases
from tapec.analyses.buffer_rotation import permutation
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
    Raise,
    Return,
    Stmt,
    Store,
    map_blocks,
    walk,
    written_in,
)
from tapec.syntax.types import INT64, Array, Scalar
from tapec.transforms.checkpoint_contents import Checkpointed, contents
from tapec.transforms.emitter import Emitter
from tapec.transforms.splice import spliced
from tapec.transforms.ssa import to_ssa
from tapec.transforms.sweep import Sweep

_NEXT = "tapec_runtime.next_checkpoint"
CHANGED = "an array that a checkpointed loop hands on changes its shape"


@dataclass(frozen=True)
class Forward:
    """What stands before a loop of the forward sweep, and what its iterations begin with."""

    before: Block
    begin: Block


@dataclass
class SnapshotSlots:
    """Names of the snapshots: how many fit, how many there are, and the iterations that they belong to."""

    most: Atom
    depth: str
    iterations: str
    place: str
    numbers: dict[str, str]
    arrays: dict[str, str]
    extents: dict[str, list[Atom]]


class Schedule:
    """Writes one loop, `stmt` in the program with shadows; `pull_back` reverses its iteration.

    inner  whether the function is itself an iteration, so that nobody sees the last contents of its arrays
    """

    def __init__(
        self, sweep: Sweep, stmt: For, info: Checkpointed, inner: bool, pull_back: Callable[..., Function]
    ) -> None:
        self.sweep = sweep
        self.stmt = stmt
        self.info = info
        self.inner = inner
        self.types = sweep.types
        self.loop = info.loop
        self.pull_back = pull_back
        self.emitter = sweep.emitter

    def active(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.sweep.activity]

    def write(self) -> tuple[Forward | None, list[Stmt]]:
        """The loop in the forward sweep, None if it stays as it is, and its reversal."""
        inside = written_in(self.loop.body)
        arrays = {stmt.array for stmt in walk(self.loop.body) if isinstance(stmt, Store)}
        if not self.active(tuple(inside | arrays)):
            return None, []
        info = self.info
        out = self.emitter.child()
        out.span = self.loop.span
        forward: Forward | None = None
        if info.outer:
            before, begin = out.child(), out.child()
            slots = self.slots(before, {name: name for name in (*info.state, *info.carried)})
            before.assign(slots.place, Const(0))
            # what follows the loop counts as its last iteration
            stop = before.let("t", Op("+", (self.loop.stop, Const(1))), INT64)
            self.keep_here(begin, self.loop.var, stop, slots, {name: name for name in (*info.state, *info.carried)})
            forward = Forward(tuple(before.out), tuple(begin.out))
        last = [(name, out.let(f"{name}_last", Op("copy", (Name(name),)), self.copied(name))) for name in self.seen()]
        for name in info.frozen:
            self.fill(out, name, self.kept(name))
        again = {name: name for name in info.state} | {n: out.fresh(n, self.types[n]) for n in info.carried}
        if not info.outer:
            slots = self.first_snapshot(out)
        for name in info.turned:
            out.assign(again[name], Name(name))
        self.backwards(out, slots, again)
        for name, copy in last:
            self.fill(out, name, copy.id)
        return forward, out.out

    def seen(self) -> list[str]:
        """Arrays whose last contents the caller sees."""
        if self.inner:
            return []
        return [name for name in (*self.info.state, *self.info.frozen) if name in self.info.visible]

    def kept(self, name: str) -> str:
        """A copy of an array that the forward sweep makes before the loop."""
        return self.sweep.copied(self.stmt, name, self.sweep.entries).id

    def copied(self, name: str) -> Array:
        type_ = self.types[name]
        assert isinstance(type_, Array)
        return Array(type_.dtype, type_.ndim)

    # snapshots

    def slots(self, out: Emitter, like: dict[str, str]) -> SnapshotSlots:
        """Make room for the snapshots, of arrays with the shapes that they have now."""
        assert self.loop.slots is not None
        fewer = out.let("t", Op("min", (self.loop.slots, self.loop.stop)), INT64)
        most = out.let("slots", Op("max", (fewer, Const(1))), INT64)
        iterations = out.let("iterations_saved", Op("empty", (Const("int64"), most)), Array("int64", 1))
        slots = SnapshotSlots(most, out.fresh("depth", INT64), iterations.id, out.fresh("place", INT64), {}, {}, {})
        out.assign(slots.depth, Const(0))
        for name in self.info.numbers:
            type_ = self.types[name]
            assert isinstance(type_, Scalar)
            made = Op("empty", (Const(type_.dtype), most))
            slots.numbers[name] = out.let(f"{name}_saved", made, Array(type_.dtype, 1)).id
        for name in (*self.info.values, *self.info.state):
            array = self.copied(name)
            dims = [out.let("size", Op("dim", (Name(like[name]), Const(k))), INT64) for k in range(array.ndim)]
            made = Op("empty", (Const(array.dtype), most, *dims))
            slots.arrays[name] = out.let(f"{name}_saved", made, Array(array.dtype, array.ndim + 1)).id
            slots.extents[name] = list(dims)
        self.check_turned(out, slots)
        return slots

    def first_snapshot(self, out: Emitter) -> SnapshotSlots:
        """The snapshot of what the loop began with, from what the forward sweep kept of it."""
        info = self.info
        kept = {name: self.kept(name) for name in info.state}
        for name in info.values:
            first = info.initial[name]
            assert isinstance(first, Name)
            kept[name] = first.id
        slots = self.slots(out, kept)
        for name in info.numbers:
            out.add(Store(slots.numbers[name], (Const(0),), info.initial[name], False, out.span))
        for name, array in slots.arrays.items():
            self.save_array(out, array, Const(0), kept[name])
        out.add(Store(slots.iterations, (Const(0),), Const(0), False, out.span))
        out.assign(slots.depth, Const(1))
        return slots

    def keep_here(self, out: Emitter, iteration: str, stop: Atom, slots: SnapshotSlots, names: dict[str, str]) -> None:
        """A snapshot, if this iteration is the place for the next one."""
        inner = out.child()
        depth = Name(slots.depth)
        inner.add(Store(slots.iterations, (depth,), Name(iteration), False, out.span))
        for name, array in slots.numbers.items():
            inner.add(Store(array, (depth,), Name(names[name]), False, out.span))
        for name, array in slots.arrays.items():
            if name in self.info.values:
                self.check_shape(inner, names[name], slots.extents[name])
            self.save_array(inner, array, depth, names[name])
        inner.assign(slots.depth, Op("+", (depth, Const(1))))
        self.next_place(inner, Name(iteration), stop, slots)
        test = out.atom(Op("==", (Name(iteration), Name(slots.place))))
        out.add(If(test, tuple(inner.out), (), out.span))

    def next_place(self, out: Emitter, first: Atom, stop: Atom, slots: SnapshotSlots) -> None:
        free = out.atom(Op("-", (slots.most, Name(slots.depth))))
        out.assign(slots.place, Op(_NEXT, (first, stop, free)))

    def check_shape(self, out: Emitter, name: str, extents: list[Atom]) -> None:
        own = [out.let("size", Op("dim", (Name(name), Const(axis))), INT64) for axis in range(len(extents))]
        self.check_extents(out, own, extents)

    def check_extents(self, out: Emitter, own: Sequence[Atom], others: Sequence[Atom]) -> None:
        for one, other in zip(own, others, strict=True):
            differs = out.atom(Op("!=", (one, other)))
            out.add(If(differs, (Raise("ValueError", (Const(CHANGED),), out.span),), (), out.span))

    def check_turned(self, out: Emitter, slots: SnapshotSlots) -> None:
        """A snapshot goes into whatever buffer has the name by then, which must not be of another size."""
        held = permutation(self.loop.body)
        for name in self.info.turned:
            if held.get(name) in self.info.turned:
                self.check_extents(out, slots.extents[name], slots.extents[held[name]])

    def save_array(self, out: Emitter, saved: str, slot: Atom, name: str) -> None:
        element = self.copied(name).element

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            item = inner.let("t", Op("load", (Name(name), *index)), element)
            inner.add(Store(saved, (slot, *index), item, False, out.span))

        out.each(name, body)

    def fill(self, out: Emitter, name: str, source: str, slot: Atom | None = None) -> None:
        """Set all elements of an array to those of another one, or of one of its slots."""
        element = self.copied(name).element
        first: tuple[Atom, ...] = () if slot is None else (slot,)

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            item = inner.let("t", Op("load", (Name(source), *first, *index)), element)
            inner.add(Store(name, index, item, False, out.span))

        out.each(name, body)

    def restore(self, out: Emitter, slots: SnapshotSlots, slot: Atom, again: dict[str, str]) -> None:
        """The state of a snapshot."""
        for name, array in slots.numbers.items():
            out.assign(again[name], Op("load", (Name(array), slot)))
        for name, array in slots.arrays.items():
            if name in self.info.values:
                self.allocate(out, again[name], slots.extents[name])
            self.fill(out, again[name], array, slot)

    def allocate(self, out: Emitter, name: str, extents: list[Atom]) -> None:
        type_ = self.types[name]
        assert isinstance(type_, Array)
        if type_.layout == "F" and type_.ndim > 1:
            made = Op("empty", (Const(type_.dtype), *reversed(extents)))
            rows = out.let("t", made, Array(type_.dtype, type_.ndim))
            out.assign(name, Op("transpose", (rows,)))
        else:
            out.assign(name, Op("empty", (Const(type_.dtype), *extents)))

    # the reverse sweep

    def backwards(self, out: Emitter, slots: SnapshotSlots, again: dict[str, str]) -> None:
        """The loop over iterations from the last to the first."""
        bars = self.shadows(out)
        iteration = out.fresh(self.loop.var, INT64)
        inner = out.child()
        top = inner.let("t", Op("-", (Name(slots.depth), Const(1))), INT64)
        first = inner.let("first", Op("load", (Name(slots.iterations), top)), INT64)
        self.restore(inner, slots, top, again)
        stop = inner.let("t", Op("+", (Name(iteration), Const(1))), INT64)
        self.next_place(inner, first, stop, slots)
        forth = out.fresh("again", INT64)
        step = inner.child()
        self.keep_here(step, forth, stop, slots, again)
        self.run(step, forth, again)
        inner.add(For(forth, first, Name(iteration), Const(1), tuple(step.out), False, out.span))
        self.drop(inner, iteration, slots)
        self.reverse_iteration(inner, iteration, again, bars)
        last = out.atom(Op("-", (self.loop.stop, Const(1))))
        out.add(For(iteration, last, Const(-1), Const(-1), tuple(inner.out), False, out.span))
        for name in self.active(self.info.values):
            start = self.info.initial[name]
            if isinstance(start, Name) and start.id in self.sweep.activity:
                out.add_elements(self.sweep.shadows.of(start.id), bars[name])

    def shadows(self, out: Emitter) -> dict[str, str]:
        """Names for the shadows of the arrays that the loop carries: other arrays from iteration to iteration."""
        bars = {}
        for name in self.active((*self.info.values, *self.info.turned)):
            shadow = self.sweep.shadows.of(name)
            bars[name] = out.fresh(shadow, self.types[shadow])
            out.assign(bars[name], Name(shadow))
        return bars

    def drop(self, out: Emitter, iteration: str, slots: SnapshotSlots) -> None:
        """A snapshot that an iteration begins with is needed no more when the iteration is reversed."""
        top = out.let("t", Op("-", (Name(slots.depth), Const(1))), INT64)
        latest = out.let("t", Op("load", (Name(slots.iterations), top)), INT64)
        reached = out.atom(Op("==", (latest, Name(iteration))))
        out.add(If(reached, (Assign(slots.depth, top, out.span),), (), out.span))

    def run(self, out: Emitter, iteration: str, again: dict[str, str]) -> None:
        """An iteration, run again."""
        carried = self.info.carried
        body = without_stores(self.loop.body, self.info.unread)
        step = Function("step", self.params(), (*body, Return(tuple(map(Name, carried)))), self.types)
        bound: dict[str, Atom] = {self.loop.var: Name(iteration)}
        bound.update((name, Name(again[name])) for name in carried)
        results = spliced(out, step, bound, frozenset())
        self.assign_all(out, [(again[name], value) for name, value in zip(carried, results, strict=True)])

    def params(self) -> tuple[str, ...]:
        return (self.loop.var, *self.info.params)

    def assign_all(self, out: Emitter, pairs: list[tuple[str, Expr]]) -> None:
        """Assign at once."""
        targets = {target for target, _ in pairs}
        ready = []
        for target, value in pairs:
            if isinstance(value, Name) and value.id in targets and value.id != target:
                value = out.let(value.id, value, self.types[value.id])
            ready.append((target, value))
        for target, value in ready:
            if value != Name(target):
                out.assign(target, value)

    def reverse_iteration(self, out: Emitter, iteration: str, again: dict[str, str], bars: dict[str, str]) -> None:
        """An iteration with what it keeps, and its reversal."""
        info, sweep = self.info, self.sweep
        numbers, values = self.active(info.numbers), self.active(info.values)
        handed = (*map(Name, (*numbers, *values)),)
        whole = Function("iteration", self.params(), (*self.loop.body, Return(handed)), self.types)
        single = to_ssa(whole, avoid=frozenset(self.emitter.taken))
        sources = tuple(name for name in info.params if name in sweep.activity)
        arrays = [name for name in sources if isinstance(self.types[name], Array)]
        shared = self.sharing()
        back = self.pull_back(replace(single, shared=shared), sources, frozenset(arrays), self.info.unread)
        seeds = back.params[len(self.params()) :]
        bound: dict[str, Atom] = {self.loop.var: Name(iteration)}
        bound.update((name, Name(again[name])) for name in info.carried)
        if info.turned:
            self.turn_back(out, bars)
        for name, seed in zip((*numbers, *values), seeds, strict=False):
            bar = bars.get(name) or sweep.bar(name)
            bound[seed] = out.let("t", Name(bar), self.types[bar]) if name in numbers else Name(bar)
        for name in numbers:
            out.assign(sweep.bar(name), out.atom(Const(0.0), self.types[name]))  # type: ignore[arg-type]
        fresh: dict[str, str] = {}
        for name in values:
            fresh[name] = out.zeros_like(bars[name], again[name])
        for name, given in zip(arrays, seeds[len(seeds) - len(arrays) :], strict=True):
            bound[given] = Name(fresh.get(name) or bars.get(name) or sweep.shadows.of(name))
        adjoints = spliced(out, back, bound, frozenset())
        for name, adjoint in zip([s for s in sources if s not in arrays], adjoints, strict=True):
            out.accumulate(sweep.bar(name), adjoint)
        for name, made in fresh.items():
            out.assign(bars[name], Name(made))

    def sharing(self) -> tuple[frozenset[str], ...]:
        """The parameters of an iteration that may share memory."""
        groups: dict[str, set[str]] = {}
        for name in self.info.params:
            if isinstance(self.types[name], Array) and name not in self.info.carried:
                groups.setdefault(self.sweep.memory.aliases.find(name), set()).add(name)
        return tuple(frozenset(group) for group in groups.values() if len(group) > 1)

    def turn_back(self, out: Emitter, bars: dict[str, str]) -> None:
        """Give the shadows of buffers that change places the names that they had when the iteration began."""
        held = permutation(self.loop.body)
        self.assign_all(
            out, [(bars[held[name]], Name(bars[name])) for name in self.active(self.info.turned) if name in held]
        )


def without_stores(block: Block, arrays: frozenset[str]) -> Block:
    """A block that leaves some arrays as they are."""
    return tuple(
        map_blocks(stmt, lambda inner: without_stores(inner, arrays))
        for stmt in block
        if not (isinstance(stmt, Store) and stmt.array in arrays)
    )


def sharing(function: Function, arrays: frozenset[str]) -> frozenset[str]:
    """All names of a function that may share memory with some arrays."""
    found = aliases(function)
    classes = {found.find(name) for name in arrays}
    return frozenset(name for name in function.types if found.find(name) in classes)


def never_read(function: Function) -> frozenset[str]:
    """The names of arrays from outside whose contents a function never reads."""
    found = aliases(function)
    read = {found.find(array) for stmt in walk(function.body) for array in contents(stmt, function.types)}
    arrays = [param for param in function.params if isinstance(function.types[param], Array)]
    return sharing(function, frozenset(array for array in arrays if found.find(array) not in read))
