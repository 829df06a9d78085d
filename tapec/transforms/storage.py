"""How each primal value that the reverse sweep reads gets there.

A value at scope outside all loops is still in its variable.  A value at scope in a loop is

  loaded      from the element that the iteration stored it in, if that takes less than what follows;
  recomputed  in the reversed iteration, if that is cheap and its operands are there;
  stored      in a buffer indexed by the loop counters, if the iteration counts are known before the
              outermost loop, else on a list used as a stack, or in buffers of the inner loops whose
              iteration counts are known before them, which go on such a list; a branch's value as what
              it is merged into;
  replayed    with its whole iteration, if the loop's iterations can be run again on their own: nothing of
              the loop is then stored in the forward sweep.

Griewank & Walther, Evaluating Derivatives, 2nd ed., chapters 5 and 12.
"""

from __future__ import annotations

import math

from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, Expr, For, If, Loop, Name, reads, walk
from tapec.syntax.types import Array, Scalar, Stack
from tapec.transforms.carried_shadows import carried_shadows, rotation
from tapec.transforms.iteration_bounds import literal
from tapec.transforms.recomputation_costs import STORE, STORE_ARRAY
from tapec.transforms.storage_plan import Slot, StoragePlan
from tapec.transforms.stored_elements import StoredElements
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop, always_breaks

# so many numbers take longer to push than an array takes to make
_FEW = 16


class Planner(StoredElements):
    """Decides for every value that the reversed statements read."""

    # the lists of a function whose values go on those that it is handed, by the type of their elements; its name
    lists: dict[Scalar | Array, str]
    label = ""

    def run(self, reverse: RevBlock, fused: dict[int, RevLoop] | None = None) -> StoragePlan:
        """The plan for what is left of the reverse sweep, and for the loops that are fused."""
        self.lists = {}
        bodies = [reverse, *(item.body for item in (fused or {}).values())]
        self.plan.fused = frozenset(fused or ())
        self._choose_replays(reverse)
        for item in (fused or {}).values():
            self._choose_replays(item.body, only_arrays=True)
        for body in bodies:
            self._demand_block(body)
        self.choose_copies()
        self.choose_starts()
        # what must be stored comes first, and in the order of the program: values that follow from it are cheap then
        self._pending.sort(key=self._turn)
        while self._pending:
            self._provide(*self._pending.pop())
        for names in self.plan.recomputed.values():
            names[:] = self._in_order(names)
        return self.plan

    def _in_order(self, names: list[str]) -> list[str]:
        """Names in the order of the program, but for those that others follow from.

        A value that is loaded from the element it was stored in may have been computed before there was a view of that.
        """
        asked, found = set(names), dict[str, None]()

        def visit(name: str) -> None:
            if name not in asked:
                return
            asked.remove(name)
            again = self.plan.reloaded.get(name)
            for stmt in self.scopes.defs[name] if again is None else (again,):
                for operand in reads(stmt):
                    visit(operand)
            found[name] = None

        for name in sorted(names, key=lambda n: self.scopes.place[self.scopes.defs[n][0].key]):
            visit(name)
        return list(found)

    def _turn(self, demand: tuple[str, Scope]) -> tuple[bool, int]:
        """Where a demand stands among the others: the last is the first to be met."""
        defs = self.scopes.defs[demand[0]]
        return len(defs) > 1, -self.scopes.place[defs[0].key] if defs else 0

    # what is read

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

    def _demand_loop(self, loop: For | Loop, region: Scope) -> None:
        if isinstance(loop, For):
            for bound in (loop.start, loop.stop, loop.step):
                self._demand(bound, region)
        known = self.exits.of.get(loop.key)
        if known is not None:
            self._demand(Name(known.iterations), region)
            if known.exit is not None:
                self._demand(Name(known.exit), region)

    def is_exit_test(self, stmt: If) -> bool:
        """Whether how the loop was left tells which way an `if` went."""
        return always_breaks(stmt.body) or always_breaks(stmt.orelse)

    # values

    def _provide(self, name: str, region: Scope) -> None:
        loop = self.scopes.loop_of(name) if self.scopes.merged(name) else None
        if loop is not None and region.inside(loop):
            # a fused iteration is reversed before it sets the names for the next one
            if (name, loop.key) not in self._done and loop.key not in self.plan.fused:
                self._done.add((name, loop.key))
                self._store_start(name, loop)
            return
        scope = self.scopes.scope_of[name]
        if (name, scope.key) in self._done:
            return
        cost = self._cost(name, scope)
        chain = self.chain(scope)
        held = self.held(name, scope) if chain else None
        self._done.add((name, scope.key))
        if not chain:
            return  # still in its variable, or replayed
        defs = self.scopes.defs[name]
        if len(defs) == 1 and isinstance(defs[0], For):
            return  # the reversed loop's own variable
        if len(defs) == 1 and self.copied(defs[0]):
            served = self.from_copy(name, scope, chain)
            assert served
            return
        scalar = isinstance(self.types[name], Scalar)
        if held is not None:
            self.from_element(name, held, scope)
            return
        if cost < (STORE if scalar else STORE_ARRAY) or (not scalar and self._refers(name)):
            self.plan.recomputed.setdefault(scope.key, []).append(name)
            for stmt in defs:
                for operand in reads(stmt):
                    self._demand(Name(operand), scope)
            return
        if self.from_copy(name, scope, chain) or self._from_merge(name, scope):
            return
        slot = self._slot(name, chain)
        self.plan.stored[name] = slot

    def _from_merge(self, name: str, scope: Scope) -> bool:
        """Have a branch's value from the name that it is merged into: one place is kept for both branches."""
        branch = scope.owner
        if not isinstance(branch, If) or self.is_exit_test(branch):
            return False
        for stmt in scope.block:
            if isinstance(stmt, Assign) and stmt.value == Name(name) and self.types[stmt.target] == self.types[name]:
                defs = self.scopes.defs[stmt.target]
                if len(defs) > 1 and all(self.scopes.of[one.key].owner is branch for one in defs):
                    self.plan.recomputed.setdefault(scope.key, []).append(name)
                    self.plan.reloaded[name] = Assign(name, Name(stmt.target), stmt.span)
                    self._demand(Name(stmt.target), scope)
                    return True
        return False

    def _store_start(self, name: str, loop: Scope) -> None:
        if self._passed_on(name, loop) or self._counts(name, loop):
            return
        root = self.root(loop.parent) if loop.parent is not None else loop
        chain = tuple(r for r in reversed(loop.loops()) if r is loop or (r is not root and r.inside(root)))
        self.plan.starts.setdefault(loop.key, {})[name] = self._slot(name, chain, loop)

    def _passed_on(self, name: str, loop: Scope) -> bool:
        """Whether a reversed iteration has a name by what the iterations do with it: see carried_shadows.py."""
        owner = loop.owner
        known = {one for one, where in self._done if where == loop.key} - {name}
        outside = loop.parent is not None and not self.chain(loop.parent)
        if not outside or not isinstance(owner, For) or loop.key in self.plan.replayed or owner.key in self.exits.of:
            return False
        turned = rotation(name, loop, self.scopes)
        if turned and known.isdisjoint(turned):
            self.plan.rotated.setdefault(loop.key, []).append(turned)
            self._done |= {(one, loop.key) for one in turned}
            return True
        found = carried_shadows(name, loop, self.scopes, self.memory, self.types) if name in self.shadows else None
        if found is None or found.made in known:
            return False
        self.plan.handed.setdefault(loop.key, []).append(found)
        self._done.add((found.made, loop.key))
        return True

    def _counts(self, name: str, loop: Scope) -> bool:
        """Whether the number of an iteration tells what it begins with."""
        found = self.counting(name, loop)
        if found is None or loop.parent is None:
            return False
        self.plan.counting.setdefault(loop.key, []).append(found)
        for expr in (found.first, found.step):
            self._demand(expr, loop.parent)
        self._demand_loop_counter(loop)
        return True

    def _slot(self, name: str, chain: tuple[Scope, ...], iteration: Scope | None = None) -> Slot:
        """Where a value is kept; with `iteration` what an iteration begins with."""
        type_ = self.types[name]
        outermost = chain[0]
        if isinstance(type_, Scalar) and (counted := self._counted(chain)) is not None:
            first, extents = counted
            inner = chain[first:]
            kept = [k for k, loop in enumerate(inner) if not self._same_in(name, loop)] or [len(inner) - 1]
            loops = tuple(inner[k] for k in kept)
            buffer = self.emitter.fresh(f"{name}_store", Array(type_.dtype, len(loops)))
            slot = Slot(buffer, loops, True, tuple(extents[k] for k in kept), chain[:first])
            if first:
                self._on_stack(buffer, inner[0], chain[:first])
                outermost = inner[0]
        else:
            assert isinstance(type_, Scalar | Array)
            slot = self._stack(name, type_, chain, iteration or self.scopes.scope_of[name])
        assert outermost.owner is not None
        self.plan.buffers.setdefault(outermost.owner.key, []).append((slot, name))
        for loop in chain:
            self._demand_loop_counter(loop)
        return slot

    def _stack(self, name: str, type_: Scalar | Array, chain: tuple[Scope, ...], scope: Scope) -> Slot:
        """A list for the values of a name; what a call keeps goes on one for all of a type."""
        if self.tape is None or len(chain) > 1 or chain[0] is not self.tape:
            return Slot(
                self.emitter.fresh(f"{name}_stack", Stack(type_)),
                chain,
                False,
                late=self.tape is not None and self.calls_in(scope),
            )
        if type_ not in self.lists:
            self.lists[type_] = self.emitter.fresh(f"{self.label}_{type_.dtype}s", Stack(type_))
        return Slot(self.lists[type_], chain, False, late=True)

    def _counted(self, chain: tuple[Scope, ...]) -> tuple[int, tuple[Expr, ...]] | None:
        """The place from which on the iteration counts of loops are known before the first of them, and those
        counts.
        """
        extents = None if chain[0] is self.tape else self.extents.of(chain)
        if extents is not None:
            return 0, extents
        # buffers in iterations that are reversed at once, or run again, would be made too often
        if self.root(chain[0]).parent is not None:
            return None
        for first in range(1, len(chain)):
            extents = self.extents.of(chain[first:])
            # an array takes as long as some pushes, and loops around data, such as rows of a sparse matrix, are short
            if isinstance(chain[first - 1].owner, For) and chain[first - 1] is not self.tape:
                continue
            if extents is not None and not _few(extents):
                return first, extents
        return None

    def _on_stack(self, buffer: str, inner: Scope, around: tuple[Scope, ...]) -> None:
        """Have a buffer that is made before a loop, in each iteration of those around, back in the reverse sweep."""
        type_ = self.types[buffer]
        assert inner.parent is not None and around[0].owner is not None and isinstance(type_, Array)
        stack = self._stack(buffer, type_, around, inner.parent)
        self.plan.buffers.setdefault(around[0].owner.key, []).append((stack, buffer))
        self.plan.stored[buffer] = stack
        self.scopes.scope_of[buffer] = inner.parent
        self.scopes.defs[buffer] = []


def _few(extents: tuple[Expr, ...]) -> bool:
    """Whether loops are known to make a few iterations."""
    known = [literal(extent) for extent in extents]
    return None not in known and math.prod(count for count in known if count is not None) <= _FEW
