"""The two sweeps of reverse mode written out, by the plan of how values are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from tapec.analyses.aliases import Memory
from tapec.analyses.scopes import Scope, Scopes
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Print,
    Push,
    Raise,
    Stmt,
    Store,
    walk,
    writes,
    zero_of,
)
from tapec.syntax.types import INT64, Scalar, Stack
from tapec.transforms.carried_shadows import CarriedShadow
from tapec.transforms.checkpointed_sweeps import Forward
from tapec.transforms.emitter import Emitter
from tapec.transforms.immediate_reversal import ReversedAtOnce, end_copies
from tapec.transforms.iteration_bounds import iteration_count
from tapec.transforms.iteration_counters import Counting
from tapec.transforms.late_pushes import LatePushes
from tapec.transforms.loop_exits import Exits, LoopExits, leads_to
from tapec.transforms.replayed_statements import needed_of
from tapec.transforms.slots import Slots, stack_args
from tapec.transforms.storage import Planner
from tapec.transforms.storage_plan import Slot
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop, Sweep, always_breaks


class Assembly(Slots):
    """Writes the two sweeps by the plan of what is kept."""

    scopes: Scopes
    memory: Memory
    sweep: Sweep
    exits: Exits
    planner: Planner
    fused: ReversedAtOnce
    # copies made after a statement, and before it, by the statement's id
    copies: dict[int, list[Stmt]]
    entries: dict[int, list[Stmt]]
    # the loops around the place that the reverse sweep has reached: the flag of their last iteration, and their exits
    leaving: list[tuple[str, LoopExits]] = []
    # by the loop body's id
    iterations: dict[int, str]
    # what stands before checkpointed loops and begins their iterations, by the loop's id
    scheduled_forward: dict[int, Forward | None]

    @cached_property
    def stored_in(self) -> dict[int, list[tuple[str, Slot]]]:
        """What the plan stores, by the region that a value belongs to; asked when the plan is complete."""
        found: dict[int, list[tuple[str, Slot]]] = {}
        for name, slot in self.plan.stored.items():
            found.setdefault(self.scopes.scope_of[name].key, []).append((name, slot))
        return found

    # the forward sweep

    def record(
        self, block: Block, region: Scope, replay: Scope | None = None, waiting: dict[str, Slot] | None = None
    ) -> list[Stmt]:
        """Run a block and store what the plan asks for; in a replay, nothing outside the iteration changes.

        waiting  values of the block around that have to wait for the calls in this one: see late_pushes.py
        """
        out: list[Stmt] = []
        merges = self.merges_after(block, region)
        exits = self.exits.of.get(region.owner_key)
        headed = exits is not None and exits.headed
        late = LatePushes(self.planner, region, self.plan, block, waiting, headed)

        def keep(name: str) -> None:
            slot = self.plan.stored.get(name)
            if slot is not None and not late.takes(name, slot):
                out.append(self.put(name, slot))

        for place, stmt in enumerate(block):
            if replay is None and stmt.key in self.fused.before:
                out += self.before_fused(stmt)
            match stmt:
                case If(test=test, body=body, orelse=orelse):
                    inner, other = self.scopes.body[stmt.key]
                    more = late.handed_on(place)
                    sides = self.record(body, inner, replay, more[0]), self.record(orelse, other, replay, more[1])
                    if replay is None or sides[0] or sides[1]:
                        out.append(If(test, tuple(sides[0]), tuple(sides[1]), stmt.span))
                case For() | Loop():
                    for copy in self.plan.snapshots.get(stmt.key, ()):
                        out += copy.statements
                        keep(copy.name)
                    entries = self.entries.get(stmt.key, [])
                    out += entries
                    for entry in entries:
                        (name,) = writes(entry)
                        keep(name)
                    around = {slot.name: self.plan.stored[slot.name] for slot in self.buffers_of(stmt)}
                    now = [name for name, slot in around.items() if slot.late and not late.takes(name, slot)]
                    out += self.record_loop(stmt, replay)
                    out += [self.put(name, around[name]) for name in now]
                case Store(array=array) if replay is not None and not self.memory.local_to(array, replay):
                    pass
                case Raise() | Print() | Push() if replay is not None:
                    pass
                case Call() if replay is not None and stmt.changes:
                    pass  # nothing that it makes is needed: see Planner
                case Assign(target=target) if replay is not None and not self.scopes.scope_of[target].inside(replay):
                    pass  # what the next iteration begins with; this one must keep what it began with
                case _:
                    entries, copies = self.entries.get(stmt.key, []), self.copies.get(stmt.key, [])
                    if stmt.key in self.sweep.handed:
                        assert isinstance(stmt, Call)
                        given = (*stmt.args, *self.sweep.handed[stmt.key])
                        call = replace(stmt, function=f"{stmt.function}_forward", args=given)
                        out += [*entries, call, *copies]
                    else:
                        out += [*entries, stmt, *copies]
                    for name in writes(stmt):
                        if not self.scopes.merged(name):
                            keep(name)
                    for made in (*entries, *copies):
                        (name,) = writes(made)
                        keep(name)
            for name in merges.get(stmt.key, ()):
                keep(name)
            out += [self.put(name, slot) for name, slot in late.after(place)]
        out += [self.put(name, slot) for name, slot in late.at_end()]
        return out

    def merges_after(self, block: Block, region: Scope) -> dict[int, list[str]]:
        """Stored merge names at scope here, by the statement after which they are complete."""
        found: dict[int, list[str]] = {}
        for name, _ in self.stored_in.get(region.key, ()):
            if not self.scopes.merged(name):
                continue
            last = None
            for stmt in block:
                if any(name in writes(s) for s in walk((stmt,))):
                    last = stmt
            assert last is not None
            found.setdefault(last.key, []).append(name)
        return found

    def before_fused(self, stmt: Stmt) -> list[Stmt]:
        """The adjoints of a block, as far as its fused loops need them."""
        out = self.emitter.child()
        self.zeros(self.sweep.scopes_of.get(self.fused.begun[stmt.key].key, ()), out)
        return [*out.out, *self.fused.before[stmt.key]]

    def zeros(self, bars: Iterable[str], out: Emitter) -> None:
        """Where the adjoints of numbers begin."""
        for bar in bars:
            type_ = self.types[bar]
            if isinstance(type_, Scalar):
                out.assign(bar, out.atom(zero_of(type_)))

    def fused_loop(self, stmt: For, region: Scope) -> list[Stmt]:
        """A loop whose iterations are reversed as soon as they have run, before they set the names of the next one."""
        copies = end_copies(region, self.scopes)
        body = self.record(stmt.body[: len(stmt.body) - len(copies)], region)
        # the reversed iteration may bring merge names of inner loops back to earlier values
        kept: list[Stmt] = []
        last: list[Stmt] = []
        for copy in copies:
            if isinstance(copy.value, Name) and self.scopes.merged(copy.value.id):
                name = self.emitter.fresh(copy.value.id, self.types[copy.value.id])
                kept.append(Assign(name, copy.value, copy.span))
                copy = replace(copy, value=Name(name))
            last.append(copy)
        reversed_ = self.reverse_block(self.fused.loops[region.key].body)
        return [For(stmt.var, stmt.start, stmt.stop, stmt.step, (*body, *kept, *reversed_, *last), False, stmt.span)]

    def record_loop(self, stmt: For | Loop, replay: Scope | None) -> list[Stmt]:
        (region,) = self.scopes.body[stmt.key]
        if region.key in self.plan.fused:
            assert isinstance(stmt, For)
            return self.fused_loop(stmt, region)
        if isinstance(stmt, For) and stmt.slots is not None:
            return self.checkpointed_loop(stmt)
        out: list[Stmt] = self.allocate(stmt)
        begin: list[Stmt] = self.counter(region, stmt)
        starts = self.plan.starts.get(region.key, {})
        begin += [self.put(name, slot) for name, slot in starts.items() if not slot.late]
        if region.key in self.plan.replayed:
            body: list[Stmt] = list(stmt.body)
        else:
            body = self.record(stmt.body, region, replay)
        after = self.emitter.child()
        after.span = stmt.span
        for one in self.plan.handed.get(region.key, ()):
            assert isinstance(stmt, For)
            body = [s for s in body if s.key not in {one.key for one in one.statements}]
            self.make_last(one, stmt, after)
        if isinstance(stmt, For):
            new: Stmt = For(stmt.var, stmt.start, stmt.stop, stmt.step, (*begin, *body), stmt.parallel, stmt.span)
        else:
            exits = self.exits.of.get(stmt.key)
            whole = (*begin, *body)
            new = Loop(self.after_test(whole, exits.iterations) if exits and exits.headed else whole, stmt.span)
        return [*out, new, *after.out]

    def checkpointed_loop(self, stmt: For) -> list[Stmt]:
        """A loop whose iterations run as they are, with the snapshots that its reversal begins with."""
        snapshots = self.scheduled_forward[stmt.key]
        before, begin = ((), ()) if snapshots is None else (snapshots.before, snapshots.begin)
        return [*before, replace(stmt, body=(*begin, *stmt.body), slots=None)]

    def after_test(self, body: Block, iterations: str) -> Block:
        """The body of a `while` that counts an iteration, and stores its values, once the test is passed."""
        *before, last = body
        assert isinstance(last, If)
        kept = tuple(s for s in before if isinstance(s, Assign) and s.target != iterations)
        moved = tuple(s for s in before if not isinstance(s, Assign) or s.target == iterations)
        if always_breaks(last.orelse):
            return (*kept, If(last.test, (*moved, *last.body), last.orelse, last.span))
        return (*kept, If(last.test, last.body, (*moved, *last.orelse), last.span))

    # the reverse sweep

    def reverse_block(self, block: RevBlock, before: Block = ()) -> list[Stmt]:
        region = block.region
        out = self.emitter.child()
        starts = self.plan.starts.get(region.key, {})
        for name, slot in self.stored_in.get(region.key, ()):
            out.add(self.get(name, slot))
        for name, slot in starts.items():
            out.add(self.get(name, slot))
        for counting in self.plan.counting.get(region.key, ()):
            self.count(counting, region, out)
        for turned in self.plan.rotated.get(region.key, ()):
            self.turn_back(turned, out)
        for one in self.plan.handed.get(region.key, ()):
            self.hand_back(one, region, out)
        begin = len(out.out)
        replayed = self.record(region.block, region, region) if region.key in self.plan.replayed else []
        for name in self.plan.recomputed.get(region.key, ()):
            again = self.plan.reloaded.get(name)
            out.extend(self.scopes.defs[name] if again is None else [again])
        for bar in block.adjoints:
            type_ = self.types[bar]
            if isinstance(type_, Stack):
                out.assign(bar, Op("stack", stack_args(type_.element)))
        if region not in self.fused.begun.values():
            self.zeros(block.adjoints, out)
        out.extend(before)
        for item in block.items:
            if isinstance(item, RevIf):
                out.add(self.reverse_if(item))
            elif isinstance(item, RevLoop):
                out.extend(self.reverse_loop(item))
            else:
                out.add(item)
        rest = out.out[begin:]
        return [*out.out[:begin], *needed_of(replayed, rest, self.types), *rest] if replayed else out.out

    def count(self, one: Counting, region: Scope, out: Emitter) -> None:
        """What an iteration begins with, by its number."""
        loop = region.owner
        number = self.plan.counters.get(region.key, loop.var) if isinstance(loop, For) else self.iteration(region)
        way = Name(number) if one.step == Const(1) else out.atom(Op("*", (Name(number), one.step)))
        out.assign(one.name, Op(one.sign, (out.atom(one.first), way)))

    def turn_back(self, turned: tuple[str, ...], out: Emitter) -> None:
        """Undo the copies that ended an iteration: each name held what the one before it in the cycle holds now."""
        first, *rest = turned
        kept = out.let(first, Name(turned[-1]), self.types[first])
        for before, name in reversed(list(zip(turned, rest, strict=False))):
            out.assign(name, Name(before))
        out.assign(first, kept)

    def hand_back(self, one: CarriedShadow, region: Scope, out: Emitter) -> None:
        """The shadow of what an iteration made is what the next iteration filled; that of what it got begins with
        zeros.
        """
        loop = region.owner
        assert isinstance(loop, For)
        out.assign(one.made, Name(one.carried))
        test = out.atom(Op("==", (Name(loop.var), loop.start)))
        first, later = Assign(one.carried, Name(one.first), loop.span), Assign(one.carried, one.zeros, loop.span)
        out.add(If(test, (first,), (later,), loop.span))

    def make_last(self, one: CarriedShadow, loop: For, out: Emitter) -> None:
        """The shadow of what the last iteration made: the forward sweep needs no other."""
        iterations = out.atom(iteration_count(loop.start, loop.stop, loop.step))
        test = out.atom(Op(">", (iterations, Const(0))))
        out.add(If(test, (Assign(one.carried, one.zeros, loop.span),), (), loop.span))

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

    def reverse_loop(self, item: RevLoop) -> list[Stmt]:
        stmt, region = item.primal, item.body.region
        out = self.emitter.child()
        out.span = stmt.span
        exits = self.exits.of.get(stmt.key)
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
        iteration = self.iteration(region)
        inner = self.emitter.child()
        if isinstance(stmt, For):
            offset = Name(iteration) if stmt.step == Const(1) else Op("*", (Name(iteration), stmt.step))
            inner.assign(stmt.var, inner.atom(Op("+", (stmt.start, offset))))
            inner.extend(self.counter(region, stmt))
        last = out.atom(Op("-", (Name(exits.iterations), Const(1))))
        after = () if exits.headed else (Assign(leaving, Const(False), stmt.span),)
        out.add(For(iteration, last, Const(-1), Const(-1), (*inner.out, *body, *after), False, stmt.span))
        return out.out

    def iteration(self, region: Scope) -> str:
        """The variable of a reversed loop that may be left early: the number of the iteration."""
        if region.key not in self.iterations:
            self.iterations[region.key] = self.emitter.fresh("iteration", INT64)
        return self.iterations[region.key]

    def backwards(self, stmt: For, out: Emitter) -> tuple[Atom, Atom, Atom]:
        """The bounds that visit the values of a range from last to first."""
        start, stop, step = stmt.start, stmt.stop, stmt.step
        if step == Const(1):
            return out.atom(_minus(stop, 1)), out.atom(_minus(start, 1)), Const(-1)
        if step == Const(-1):
            return out.atom(_plus(stop, 1)), out.atom(_plus(start, 1)), Const(1)
        # the iteration count, rounded up; range() itself is empty where it is not positive
        iterations = Op("neg", (Op("//", (Op("-", (start, stop)), step)),))
        count = out.atom(Op("max", (Const(0), iterations)))
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
