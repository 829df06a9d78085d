"""Which loops of the reverse sweep run each iteration again before they reverse it."""

from __future__ import annotations

from collections.abc import Iterator

from tapec.analyses.activity import is_callee
from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, Call, For, If, Loop, Name, Op, Stmt, has_checkpoints, names_in, reads, walk
from tapec.syntax.types import Array, Scalar
from tapec.transforms.loop_exits import count_breaks
from tapec.transforms.recomputation_costs import STORE, Costs, allocates, repeatable
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop


class Replays(Costs):
    """Chooses the loops of one function."""

    _pending: list[tuple[str, Scope]]

    def _choose_replays(self, block: RevBlock, only_arrays: bool = False) -> None:
        """Choose the loops whose iterations are run again; in a fused iteration, where buffers are small, only for
        arrays.
        """
        for item in block.items:
            if isinstance(item, RevIf):
                self._choose_replays(item.body, only_arrays)
                self._choose_replays(item.orelse, only_arrays)
            elif isinstance(item, RevLoop):
                if item.body.region is self.tape:
                    self._choose_replays(item.body, only_arrays)
                    continue
                wanted = not only_arrays or any(allocates(stmt) for stmt in walk(item.body.region.block))
                outside = self._replayable(item) if wanted and self._worth(item) else None
                if outside is not None:
                    self.plan.replayed.add(item.body.region.key)
                    # what the iteration reads from outside, and what it begins with, must be there again
                    self._pending += [(name, item.body.region) for name in sorted(outside)]
                else:
                    self._choose_replays(item.body, only_arrays)

    def _replayable(self, item: RevLoop) -> set[str] | None:
        """The names that an iteration reads from outside, if it can be run again; else None."""
        region = item.body.region
        if isinstance(item.primal, Loop) or count_breaks(item.primal.body):
            return None
        if not any(isinstance(s, For | Loop) or allocates(s) for s in walk(region.block)):
            return None
        if has_checkpoints(region.block):
            return None
        if any(_consumes(s) for s in walk(region.block)) or self.calls_in(region):
            return None
        return self._slice_inputs(region, _names_read(item.body))

    def _worth(self, item: RevLoop) -> bool:
        """Whether running an iteration again beats keeping what it computes.

        It does unless all that would be kept are numbers of loops that have other loops inside: one number
        is kept then for many iterations of those.
        """
        region = item.body.region
        deepest = max(len(inner.loops()) for inner in self._inside(region))
        for name in sorted(_names_read(item.body)):
            scope = self.scopes.scope_of.get(name)
            if scope is None or not scope.inside(region) or self._cost(name, scope) < STORE:
                continue
            if not isinstance(self.types[name], Scalar) or len(scope.loops()) >= deepest:
                return True
        return False

    def _inside(self, region: Scope) -> Iterator[Scope]:
        """A region and those inside it."""
        yield region
        for stmt in region.block:
            for inner in self.scopes.body[stmt.key]:
                yield from self._inside(inner)

    def _slice_inputs(self, body: Scope, needed: set[str]) -> set[str] | None:
        """What running an iteration of `body` again for the needed values reads; None if it would not repeat them."""
        pending, seen, classes = list(needed), set(), set()
        outside: set[str] = set()

        def control(stmt: Stmt) -> None:
            for region in self.scopes.of[stmt.key].ancestors():
                owner = region.owner
                if region is body or owner is None:
                    return
                pending.extend(reads(owner))
                if isinstance(owner, For | Loop):
                    pending.extend(
                        name for s in walk(owner.body) if isinstance(s, If) and count_breaks((s,)) for name in reads(s)
                    )

        def filled(array: str) -> bool:
            """Go on to what the stores into an iteration's own memory read; False if a call writes into it."""
            cls = self.memory.aliases.find(array)
            if cls in classes:
                return True
            classes.add(cls)
            for store in self.memory.stores.get(cls, ()):
                if isinstance(store, Call):
                    return False
                pending.extend(reads(store))
                control(store)
            return True

        # of a product, say, the reversed statement reads the elements itself
        for name in needed:
            ours = name in self.scopes.scope_of and isinstance(self.types[name], Array)
            if ours and self.memory.local_to(name, body) and not filled(name):
                return None
        while pending:
            name = pending.pop()
            if name in seen or name not in self.scopes.scope_of:
                continue
            seen.add(name)
            if not self.scopes.scope_of[name].inside(body):
                if self.scopes.loop_of(name) is body and not isinstance(self.types[name], Scalar):
                    return None
                outside.add(name)
                continue
            for stmt in self.scopes.defs[name]:
                pending.extend(reads(stmt))
                control(stmt)
                if not repeatable(stmt) or self._escapes(stmt, body):
                    return None
                for array in self._memory_read(stmt):
                    if self.memory.local_to(array, body):
                        if not filled(array):
                            return None
                    elif not self.memory.stable(stmt, array):
                        return None
        return outside

    def _escapes(self, stmt: Stmt, body: Scope) -> bool:
        """Whether a statement makes memory that outlives its iteration: made again, it would be another one."""
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


def _consumes(stmt: Stmt) -> bool:
    """Whether a statement takes what is there once: a number of a list, or of a random stream.

    An iteration that is run again would take another one, needed or not.
    """
    return not repeatable(stmt) and not (isinstance(stmt, Call) and is_callee(stmt.function))
