"""How each primal value that the reverse sweep reads gets there.

A value at home outside all loops is still in its variable.  A value at home in a loop is

  recomputed  in the reversed trip, if that is cheap and its operands are there;
  stored      in a buffer indexed by the loop counters, if the trip counts are known before the
              outermost loop, else on a list used as a stack;
  replayed    with its whole trip, if the loop's trips can be run again on their own: nothing of
              the loop is then stored in the forward sweep.

Griewank & Walther, Evaluating Derivatives, 2nd ed., chapters 5 and 12.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tapec.analyses.activity import is_callee
from tapec.analyses.memory import ALLOCATIONS, VIEWS, Memory
from tapec.analyses.regions import Region, Regions
from tapec.analyses.rotation import cycle, last_copies
from tapec.syntax.core import (
    Assign,
    Call,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Stmt,
    names_in,
    reads,
    walk,
)
from tapec.syntax.types import INT64, Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.exits import Exits, count_breaks
from tapec.transforms.extents import Extents
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop, always_breaks

# relative costs; a store and its load cost STORE
STORE = 2.6
_COST = {
    "/": 1.5,
    "//": 1.5,
    "%": 1.5,
    "load": 0.7,
    "np.sqrt": 2.0,
    "math.sqrt": 2.0,
    **dict.fromkeys(("+", "-", "*", "neg", "dim", "ifelse", "not", "and", "or"), 0.3),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 0.3),
    **dict.fromkeys(("min", "max", "abs", "np.abs", "math.fabs", "cast.float64", "cast.int64"), 0.4),
}
STORE_OUTSIDE = 0.3
STORE_ARRAY = 15.0
EXPENSIVE = 20.0


@dataclass
class Slot:
    """Where a stored value is kept: a buffer with one axis per loop that changes the value, or a stack."""

    name: str
    loops: tuple[Region, ...]
    dense: bool
    extents: tuple[Expr, ...] = ()


@dataclass
class Plan:
    """The decisions, per region.

    replayed    loop bodies (by id) that are run again in the reverse sweep
    stored      slots by value name; `heads` are values that a loop's trip begins with
    recomputed  names recomputed at the start of a reversed region
    fused       loop bodies (by id) whose trips are reversed as soon as they have run
    rotated     names that a loop's trip permutes, in cycles that the reversed trip turns back
    """

    replayed: set[int] = field(default_factory=set)
    fused: frozenset[int] = frozenset()
    stored: dict[str, Slot] = field(default_factory=dict)
    heads: dict[int, dict[str, Slot]] = field(default_factory=dict)
    recomputed: dict[int, list[str]] = field(default_factory=dict)
    buffers: dict[int, list[tuple[Slot, str]]] = field(default_factory=dict)
    counters: dict[int, str] = field(default_factory=dict)
    rotated: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)


class Planner:
    """Decides for every value that the reversed statements read."""

    def __init__(
        self, emitter: Emitter, regions: Regions, memory: Memory, exits: Exits, shadows: frozenset[str]
    ) -> None:
        self.emitter = emitter
        self.types = emitter.types
        self.regions = regions
        self.memory = memory
        self.exits = exits
        self.shadows = shadows
        self.plan = Plan()
        self.extents = Extents(emitter.types, regions)
        self._merged: set[str] = set()
        self._done: set[tuple[str, int]] = set()
        self._pending: list[tuple[str, Region]] = []

    def run(self, reverse: RevBlock, fused: dict[int, RevLoop] | None = None) -> Plan:
        """The plan for what is left of the reverse sweep, and for the loops that are fused."""
        bodies = [reverse, *(item.body for item in (fused or {}).values())]
        self.plan.fused = frozenset(fused or ())
        self._choose_replays(reverse)
        for item in (fused or {}).values():
            self._choose_replays(item.body, only_arrays=True)
        for body in bodies:
            self._demand_block(body)
        # what must be stored comes first: values that follow from it are cheap then
        self._pending.sort(key=lambda demand: self.regions.merged(demand[0]))
        while self._pending:
            self._provide(*self._pending.pop())
        for names in self.plan.recomputed.values():
            names.sort(key=lambda n: self.regions.place[id(self.regions.defs[n][0])])
        return self.plan

    # what is read

    def _demand(self, expr: Expr, region: Region) -> None:
        for name in names_in(expr):
            if name in self.regions.home:
                self._pending.append((name, region))

    def _demand_block(self, block: RevBlock) -> None:
        region = block.region
        for item in block.items:
            if isinstance(item, RevIf):
                if not self.is_exit_test(item.primal):
                    self._demand(item.primal.test, region)
                self._demand_block(item.body)
                self._demand_block(item.orelse)
            elif isinstance(item, RevLoop):
                self._demand_loop(item.primal, region)
                self._demand_block(item.body)
            else:
                for stmt in walk((item,)):
                    for name in reads(stmt):
                        self._demand(Name(name), region)

    def _demand_loop(self, loop: For | Loop, region: Region) -> None:
        if isinstance(loop, For):
            for bound in (loop.start, loop.stop, loop.step):
                self._demand(bound, region)
        known = self.exits.of.get(id(loop))
        if known is not None:
            self._demand(Name(known.trips), region)
            if known.exit is not None:
                self._demand(Name(known.exit), region)

    def is_exit_test(self, stmt: If) -> bool:
        """Whether how the loop was left tells which way an `if` went."""
        return always_breaks(stmt.body) or always_breaks(stmt.orelse)

    # replays

    def _choose_replays(self, block: RevBlock, only_arrays: bool = False) -> None:
        """Choose the loops whose trips are run again; in a fused trip, where buffers are small, only for arrays."""
        for item in block.items:
            if isinstance(item, RevIf):
                self._choose_replays(item.body, only_arrays)
                self._choose_replays(item.orelse, only_arrays)
            elif isinstance(item, RevLoop):
                wanted = not only_arrays or any(_allocates(stmt) for stmt in walk(item.body.region.block))
                outside = self._replayable(item) if wanted else None
                if outside is not None:
                    self.plan.replayed.add(id(item.body.region))
                    # what the trip reads from outside, and what it begins with, must be there again
                    self._pending += [(name, item.body.region) for name in sorted(outside)]
                else:
                    self._choose_replays(item.body, only_arrays)

    def _replayable(self, item: RevLoop) -> set[str] | None:
        """The names that a trip reads from outside, if it can be run again; else None."""
        region = item.body.region
        if isinstance(item.primal, Loop) or count_breaks(item.primal.body):
            return None
        if not any(isinstance(s, For | Loop) or _allocates(s) for s in walk(region.block)):
            return None
        return self._slice_inputs(region, _names_read(item.body))

    def _slice_inputs(self, body: Region, needed: set[str]) -> set[str] | None:
        """What running a trip of `body` again for the needed values reads; None if it would not repeat them."""
        pending, seen, classes = list(needed), set(), set()
        outside: set[str] = set()

        def control(stmt: Stmt) -> None:
            for region in self.regions.of[id(stmt)].ancestors():
                owner = region.owner
                if region is body or owner is None:
                    return
                pending.extend(reads(owner))
                if isinstance(owner, For | Loop):
                    pending.extend(
                        name for s in walk(owner.body) if isinstance(s, If) and count_breaks((s,)) for name in reads(s)
                    )

        while pending:
            name = pending.pop()
            if name in seen or name not in self.regions.home:
                continue
            seen.add(name)
            if not self.regions.home[name].inside(body):
                if self.regions.loop_of(name) is body and not isinstance(self.types[name], Scalar):
                    return None
                outside.add(name)
                continue
            for stmt in self.regions.defs[name]:
                pending.extend(reads(stmt))
                control(stmt)
                if not _repeatable(stmt) or self._escapes(stmt, body):
                    return None
                for array in self._memory_read(stmt):
                    if self.memory.local_to(array, body):
                        cls = self.memory.aliases.find(array)
                        if cls not in classes:
                            classes.add(cls)
                            for store in self.memory.stores.get(cls, ()):
                                if isinstance(store, Call):
                                    return None
                                pending.extend(reads(store))
                                control(store)
                    elif not self.memory.stable(stmt, array):
                        return None
        return outside

    def _escapes(self, stmt: Stmt, body: Region) -> bool:
        """Whether a statement makes memory that outlives its trip: made again, it would be another one."""
        if not isinstance(stmt, Assign) or isinstance(self.types[stmt.target], Scalar):
            return False
        if isinstance(stmt.value, Name) or (isinstance(stmt.value, Op) and stmt.value.fn in VIEWS):
            return False
        return not self.memory.local_to(stmt.target, body)

    def _memory_read(self, stmt: Stmt) -> list[str]:
        """Arrays whose contents a statement reads."""
        if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
            if stmt.value.fn in VIEWS or stmt.value.fn in ("dim", "stride") or stmt.value.fn in ALLOCATIONS:
                return []
            return [n for n in names_in(stmt.value) if isinstance(self.types.get(n), Array)]
        if isinstance(stmt, Call):
            return [n for n in reads(stmt) if isinstance(self.types.get(n), Array)]
        return []

    # values

    def root(self, region: Region) -> Region:
        """The region whose run, forward or replayed, records what `region` needs."""
        for around in region.ancestors():
            if around.parent is None or id(around) in self.plan.replayed or id(around) in self.plan.fused:
                return around
        raise AssertionError("a region without a root")

    def chain(self, region: Region) -> tuple[Region, ...]:
        """The loop bodies around a region up to its root, outermost first."""
        root = self.root(region)
        return tuple(r for r in reversed(region.loops()) if r is not root and r.inside(root))

    def _provide(self, name: str, region: Region) -> None:
        loop = self.regions.loop_of(name) if self.regions.merged(name) else None
        if loop is not None and region.inside(loop):
            # a fused trip is reversed before it sets the names for the next one
            if (name, id(loop)) not in self._done and id(loop) not in self.plan.fused:
                self._done.add((name, id(loop)))
                self._store_head(name, loop)
            return
        home = self.regions.home[name]
        if (name, id(home)) in self._done:
            return
        cost = self._cost(name, home)
        self._done.add((name, id(home)))
        chain = self.chain(home)
        if not chain:
            return  # still in its variable, or replayed
        defs = self.regions.defs[name]
        if len(defs) == 1 and isinstance(defs[0], For):
            return  # the reversed loop's own variable
        if cost < (STORE if isinstance(self.types[name], Scalar) else STORE_ARRAY):
            self.plan.recomputed.setdefault(id(home), []).append(name)
            for stmt in defs:
                for operand in reads(stmt):
                    self._demand(Name(operand), home)
            return
        slot = self._slot(name, home, chain)
        self.plan.stored[name] = slot

    def _store_head(self, name: str, loop: Region) -> None:
        turned = self._rotation(name, loop)
        if turned:
            self.plan.rotated.setdefault(id(loop), []).append(turned)
            self._done |= {(one, id(loop)) for one in turned}
            return
        root = self.root(loop.parent) if loop.parent is not None else loop
        chain = tuple(r for r in reversed(loop.loops()) if r is loop or (r is not root and r.inside(root)))
        self.plan.heads.setdefault(id(loop), {})[name] = self._slot(name, loop, chain)

    def _rotation(self, name: str, loop: Region) -> tuple[str, ...]:
        """The names that a trip permutes with `name`; none if they do not keep their last values."""
        owner = loop.owner
        assert isinstance(owner, For | Loop)
        outside = loop.parent is not None and not self.chain(loop.parent)
        if not outside or id(loop) in self.plan.replayed or id(owner) in self.exits.of:
            return ()
        turned = cycle(owner.body, name)
        copies = {id(stmt) for stmt in last_copies(owner.body)}
        for one in turned:
            defs = self.regions.defs[one]
            inside = [stmt for stmt in defs if self.regions.of[id(stmt)].inside(loop)]
            if len(defs) != 2 or len(inside) != 1 or id(inside[0]) not in copies:
                return ()
            if (one, id(loop)) in self._done and one != name:
                return ()
        return turned

    def _slot(self, name: str, region: Region, chain: tuple[Region, ...]) -> Slot:
        type_ = self.types[name]
        outermost = chain[0].owner
        assert outermost is not None
        extents = self.extents.of(chain) if isinstance(type_, Scalar) else None
        if extents is None:
            assert isinstance(type_, Scalar | Array)
            slot = Slot(self.emitter.fresh(f"{name}_stack", Stack(type_)), chain, False)
        else:
            assert isinstance(type_, Scalar)
            kept = [k for k, loop in enumerate(chain) if not self._same_in(name, loop)] or [len(chain) - 1]
            loops = tuple(chain[k] for k in kept)
            buffer = self.emitter.fresh(f"{name}_store", Array(type_.dtype, len(loops)))
            slot = Slot(buffer, loops, True, tuple(extents[k] for k in kept))
        self.plan.buffers.setdefault(id(outermost), []).append((slot, name))
        for loop in chain:
            self._demand_loop_counter(loop)
        return slot

    def _same_in(self, name: str, loop: Region, depth: int = 0) -> bool:
        """Whether a value is the same in all trips of a loop, the loops around it standing still."""
        home = self.regions.home.get(name)
        if home is None or not home.inside(loop):
            # what the loop carries differs from trip to trip
            return home is None or not (self.regions.merged(name) and self.regions.loop_of(name) is loop)
        defs = self.regions.defs[name]
        if depth > 12 or len(defs) != 1:
            return False
        if isinstance(defs[0], For):
            # compared at the same value of an inner loop's variable
            return home is not loop and all(self._same_in(read, loop, depth + 1) for read in reads(defs[0]))
        if not isinstance(defs[0], Assign) or not _repeatable(defs[0]):
            return False
        value = defs[0].value
        if isinstance(value, Op) and value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            if not self.memory.constant_in(defs[0], array.id, loop):
                return False
        elif any(not isinstance(self.types.get(read), Scalar) for read in names_in(value)):
            return False
        return all(self._same_in(read, loop, depth + 1) for read in names_in(value))

    def _demand_loop_counter(self, loop: Region) -> None:
        owner = loop.owner
        if isinstance(owner, For) and (owner.start != Const(0) or owner.step != Const(1)):
            if id(loop) not in self.plan.counters:
                self.plan.counters[id(loop)] = self.emitter.fresh("trip", INT64)
            if loop.parent is not None:
                for bound in (owner.start, owner.step):
                    self._demand(bound, loop.parent)

    def _cost(self, name: str, region: Region, depth: int = 0) -> float:
        """What recomputing a value in the reversed trip costs."""
        if depth > 12:
            return EXPENSIVE
        home = self.regions.home.get(name)
        if home is None:
            return 0.0
        loop = self.regions.loop_of(name) if self.regions.merged(name) else None
        if loop is not None and region.inside(loop):
            return 0.0 if (name, id(loop)) in self._done or id(loop) in self.plan.fused else STORE
        if not self.chain(home):
            return 0.0
        if (name, id(home)) in self._done:
            return 0.0
        outside = isinstance(self.types[name], Scalar) and len(self.chain(home)) < len(self.chain(region))
        defs = self.regions.defs[name]
        if len(defs) == 1 and isinstance(defs[0], For):
            return 0.0
        stmt = defs[0] if len(defs) == 1 else None
        if not isinstance(stmt, Assign) or not _repeatable(stmt):
            return STORE_OUTSIDE if outside else EXPENSIVE
        own = self._own_cost(stmt, home)
        cost = own + sum(self._cost(operand, home, depth + 1) for operand in names_in(stmt.value))
        # at worst it is stored once for all trips of the inner loop
        return min(cost, STORE_OUTSIDE) if outside else cost

    def _merged_class(self, array: str) -> bool:
        """Whether a merge name may share the memory of an array."""
        if not self._merged:
            self._merged = {
                self.memory.aliases.find(name)
                for name, type_ in self.types.items()
                if not isinstance(type_, Scalar) and len(self.regions.defs.get(name, ())) != 1
            }
        return self.memory.aliases.find(array) in self._merged

    def _own_cost(self, stmt: Assign, home: Region) -> float:
        value = stmt.value
        if not isinstance(value, Op):
            return 0.1
        if value.fn in VIEWS:
            return 1.0
        if value.fn == "zeros" and stmt.target in self.shadows:
            # a shadow of zeros can be made anew if nothing outside the trip shares it, and if no
            # merge name does: that one would be restored to the shadow of the forward sweep
            anew = self.memory.local_to(stmt.target, home) and not self._merged_class(stmt.target)
            return 1.0 if anew else EXPENSIVE
        if value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            return _COST["load"] if self.memory.stable(stmt, array.id) else EXPENSIVE
        if value.fn == "**" and value.args[1] in (Const(2), Const(2.0)):
            return 0.3
        return _COST.get(value.fn, EXPENSIVE)


def _repeatable(stmt: Stmt) -> bool:
    """Whether a statement gives the same values when it is run again."""
    if isinstance(stmt, Assign) and isinstance(stmt.value, Op):
        return stmt.value.fn != "pop" and not stmt.value.fn.startswith("np.random")
    if isinstance(stmt, Call):
        return not stmt.function.startswith("np.random") and not is_callee(stmt.function)
    return True


def _allocates(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ALLOCATIONS


def _names_read(block: RevBlock) -> set[str]:
    """Every name that reversed statements read, inner blocks included."""
    found: set[str] = set()
    for item in block.items:
        if isinstance(item, RevIf):
            found |= set(names_in(item.primal.test)) | _names_read(item.body) | _names_read(item.orelse)
        elif isinstance(item, RevLoop):
            found |= set(reads(item.primal)) | _names_read(item.body)
        else:
            for stmt in walk((item,)):
                found |= set(reads(stmt))
    return found
