"""Which loops run forward and back in one pass.

Where all that flows out of a loop is sums, and the adjoints of those sums are known before it
begins, each iteration can be reversed as soon as it has run: its values are still in their variables, and
nothing is stored or computed again.

    for i in range(n):                    total_bar = 1.0 / n
        r = w * x[i] - y[i]               for i in range(n):
        total = total + r * r      ->         r = w * x[i] - y[i]
    return total / n                          total = total + r * r
                                              w_bar += 2 * r * x[i] * total_bar

A loop is fused if it stands at the top level, or in an iteration that is reversed at once itself, and

  - it has no `break`;
  - the numbers that its iterations hand on are sums, or have no derivative;
  - its reversed iterations only add to adjoints and shadows from outside, and read none but those of the sums;
  - the adjoints of the sums follow from numbers that are set before the loop;
  - what the reverse sweep does before it would come to the loop does not read what the iterations add to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tapec.analyses.activity import Activity
from tapec.analyses.aliases import Memory
from tapec.analyses.iterations import Iterations
from tapec.analyses.scopes import Scope, Scopes
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    changed,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import Array, Scalar, Stack, Type
from tapec.transforms.loop_exits import Exits
from tapec.transforms.reverse_statements import adds_element, adds_to, asks_extent, at, clears, flat, sets, statements
from tapec.transforms.sweep import RevBlock, RevIf, RevLoop, Sweep


@dataclass
class ReversedAtOnce:
    """The loops (by the id of their body's region), and what stands before them.

    before  by the id of the first fused loop of a block: the statements of the reverse sweep that it needs
    begun   blocks (by the id of their region) whose adjoints start at zero there
    """

    loops: dict[int, RevLoop] = field(default_factory=dict)
    before: dict[int, list[Stmt]] = field(default_factory=dict)
    begun: dict[int, Scope] = field(default_factory=dict)


@dataclass(frozen=True)
class _Names:
    """The names that a reversed statement sets, and all that occur in it."""

    written: frozenset[str]
    all: frozenset[str]


class ImmediateReversal:
    """Chooses the loops of one function; takes them, and what they need, out of the reverse sweep.

    With `only_users`, loops that are statements over whole arrays keep both sweeps.
    """

    def __init__(
        self,
        program: Function,
        scopes: Scopes,
        memory: Memory,
        activity: Activity,
        exits: Exits,
        sweep: Sweep,
        only_users: bool = False,
    ) -> None:
        # why the last loop was not fused, and what that is about
        self.refusal: tuple[Any, ...] = ()
        self.types: dict[str, Type] = program.types
        self.scopes = scopes
        self.memory = memory
        self.activity = activity
        self.exits = exits
        self.sweep = sweep
        self.only_users = only_users
        self.iterations = Iterations(program)
        self.shadows = frozenset(sweep.shadows.names.values())
        self.shadowed = {shadow: name for name, shadow in sweep.shadows.names.items()}
        self.scopes_of = {bar: region for region in self.all_regions() for bar in sweep.scopes_of.get(region.key, ())}
        self.found = ReversedAtOnce()
        self.inputs: dict[int, set[str]] = {}
        self.names: dict[int, _Names] = {}

    def all_regions(self) -> Iterator[Scope]:
        yield self.scopes.root
        for inner in self.scopes.body.values():
            yield from inner

    def choose(self, swept: RevBlock, seeding: Block = ()) -> ReversedAtOnce:
        """The fused loops; `swept.items` loses what is placed with them, and begins with the seeds."""
        items: list[Stmt | RevIf | RevLoop] = [*seeding, *swept.items]
        taken: set[int] = set()
        first: Stmt | None = None
        before: list[Stmt] = []
        for place, item in enumerate(items):
            if not isinstance(item, RevLoop):
                continue
            found = self.early(item, items[:place], taken)
            self.remark(item, found is not None)
            if found is None:
                continue
            needed, early, moved = found
            taken |= {item.key, *needed}
            self.found.loops[item.body.region.key] = item
            first, before = item.primal, [*early, *moved]
            # while all of it is there: what is fused inside leaves it
            self.named(item)
            self.choose(item.body)
        if first is not None:
            self.found.before[first.key] = before
            self.found.begun[first.key] = swept.region
        if first is not None or seeding:
            swept.items = [item for item in items if item.key not in taken]
        return self.found

    def remark(self, item: RevLoop, fused: bool) -> None:
        """Remark what became of a loop."""
        why = ("each iteration is reversed as soon as it has run",) if fused else self.refusal
        remark(item.primal.span, "immediate_reversal", "fused" if fused else "not fused", *why)

    def refuse(self, why: str, *about: Any) -> Any:
        """Note why a loop is not fused; returns None."""
        self.refusal = (why, *about)

    # one loop

    def early(
        self, item: RevLoop, earlier: list[Stmt | RevIf | RevLoop], taken: set[int]
    ) -> tuple[set[int], list[Stmt], list[Stmt]] | None:
        """What a fused loop needs of the reverse sweep; None if it is not fused.

        The earlier statements by id, the primal statements that must run before the loop for them, and the
        earlier statements themselves.
        """
        needed = self.needed(item, earlier, taken)
        if needed is None:
            return None
        moved = [s for s in earlier if s.key in needed and not isinstance(s, RevIf | RevLoop)]
        early: dict[str, Stmt] = {}
        loop = item.primal
        assert isinstance(loop, For)
        if not all(self.known_before(loop, s, early) for s in moved):
            return self.refuse("the derivative by what it adds up is not known before it has run")
        return needed, list(early.values()), moved

    def needed(self, item: RevLoop, earlier: list[Stmt | RevIf | RevLoop], taken: set[int]) -> set[int] | None:
        """The earlier statements of the reverse sweep (by id) that a fused loop needs; None if it is not fused."""
        loop, region = item.primal, item.body.region
        if not isinstance(loop, For):
            return self.refuse("how many iterations it makes is not known before they have run")
        if loop.key in self.exits.of:
            return self.refuse("a `break` may end it")
        if self.only_users and not (loop.span is not None and loop.span.begins_loop):
            return self.refuse("it stands for a statement over whole arrays, as which it is printed")
        sums = self.sums(loop, region)
        if sums is None:
            return None
        inputs = {self.sweep.bars[name] for name in sums if name in self.sweep.bars}
        added = self.added(item, inputs)
        if added is None:
            return None
        needed = self.writers(inputs, earlier, taken)
        if needed is None:
            return None
        for other in earlier:
            if other.key not in needed and other.key not in taken and not self.only_adds(other, added):
                return self.refuse("{0} overwrites what the derivatives of its iterations add to", at(other))
        self.inputs[item.key] = inputs
        return needed | {s.key for s in earlier if s.key in taken and not isinstance(s, RevIf | RevLoop)}

    def sums(self, loop: For, region: Scope) -> list[str] | None:
        """The sums that a loop hands on; None if it hands on something else that has a derivative."""
        found: list[str] = []
        inside = {stmt.key for stmt in walk(loop.body)}
        copies = {stmt.key for stmt in end_copies(region, self.scopes)}
        for name in dict.fromkeys(name for stmt in walk(loop.body) for name in writes(stmt)):
            defs = self.scopes.defs[name]
            if all(stmt.key in inside for stmt in defs):
                continue
            if any(stmt.key in inside and stmt.key not in copies for stmt in defs):
                return self.refuse("the last value of `{0}` is used after it", self.named_by_user(name))
            if not isinstance(self.types[name], Scalar):
                return self.refuse("`{0}` is another array in each iteration", self.named_by_user(name))
            if name in self.activity:
                if self.iterations.sum_of(name, inside) is None:
                    return self.refuse("each iteration needs `{0}` of the one before", self.named_by_user(name))
                found.append(name)
        return found

    def added(self, item: RevLoop, inputs: set[str]) -> set[str] | None:
        """The adjoints and shadows from outside that reversed iterations add to; None if they do more than that."""
        loop, region = item.primal, item.body.region
        found: set[str] = set()
        for stmt in statements(item.body):
            if isinstance(stmt, Push | Call) and any(self.outside(name, region) for name in reads(stmt)):
                return self.refuse("{0} works on a whole array, or a list, that all iterations share", stmt.span)
            if self.undoes(stmt, region):
                return self.refuse("{0} changes an array that later statements read", stmt.span)
            for name in {*writes(stmt), *reads(stmt)}:
                if name in self.scopes_of and name not in inputs and not self.scopes_of[name].inside(region):
                    if not adds_to(stmt, name):
                        return self.refuse("{0} does more than add up what outlives an iteration", stmt.span)
                    found.add(name)
                elif self.outside(name, region):
                    if self.made_later(name, loop):
                        return self.refuse("{0} needs an array that grows after it", stmt.span)
                    if not adds_element(stmt, name) and not asks_extent(stmt):
                        return self.refuse_shared(loop, name, stmt)
                    found.add(self.memory.aliases.find(name))
        return found

    def refuse_shared(self, loop: For | Loop, shadow: str, reversed_: Stmt) -> Any:
        """Note that a loop's iterations do more than add to a shadow: because they write into its array."""
        classes = self.memory.aliases
        array = classes.find(self.shadowed.get(shadow, shadow))
        inner = list(walk(loop.body))
        written = [s for s in inner if any(classes.find(name) == array for name in changed(s))]
        if not written:
            return self.refuse("its iterations use what the iterations of an outer loop hand on: {0}", reversed_.span)
        named = self.named_by_user(changed(written[0])[0])
        for stmt in inner:
            touched = () if isinstance(stmt, Store) else reads(stmt)
            if any(name in self.types and classes.find(name) == array for name in touched):
                why = "{0} reads `{2}`, which {1} writes in an earlier iteration"
                return self.refuse(why, stmt.span, written[0].span, named)
        return self.refuse("{0} writes into `{1}`, which is read after the loop", written[0].span, named)

    def named_by_user(self, name: str) -> Named:
        """A variable, with the line that makes it."""
        return Named(name, self.scopes.line_of(name))

    def outside(self, name: str, region: Scope) -> bool:
        """Whether a name is a shadow, or a stack of adjoints, that outlives an iteration."""
        if not isinstance(self.types.get(name), Array | Stack):
            return False
        if name in self.scopes_of:
            return not self.scopes_of[name].inside(region)
        return name in self.shadows and not self.memory.local_to(name, region)

    def made_later(self, shadow: str, loop: For | Loop) -> bool:
        """Whether a shadow is made behind a loop, as that of an array that grows."""
        place, (iteration,) = self.scopes.place[loop.key], self.scopes.body[loop.key]
        later = (made for made in self.scopes.defs.get(shadow, ()) if self.scopes.place[made.key] > place)
        return any(not self.scopes.of[made.key].inside(iteration) for made in later)

    def undoes(self, stmt: Stmt, region: Scope) -> bool:
        """Whether a reversed iteration would undo, before it is read, what the iteration has stored for those that
        follow.
        """
        if not isinstance(stmt, Store) or not isinstance(stmt.value, Name) or stmt.value.id not in self.sweep.old:
            return False
        return not self.memory.local_to(stmt.array, region)

    def writers(self, names: set[str], earlier: list[Stmt | RevIf | RevLoop], taken: set[int]) -> set[int] | None:
        """The statements that compute adjoints; None if they are not plain arithmetic on numbers."""
        pending, found = set(names), set[int]()
        wanted = set(names)
        while pending:
            name = pending.pop()
            for place, item in enumerate(earlier):
                if isinstance(item, RevIf | RevLoop | If | For | Loop):
                    # a fused loop leaves the adjoints of its own sums as they are
                    if not (item.key in taken and name in self.inputs[item.key]) and name in self.named(item).written:
                        return self.refuse("what it adds up is used by a loop or a branch: {0}", at(item))
                    continue
                if name not in writes(item):
                    continue
                if clears(item) and not any(name in self.named(later).all for later in earlier[place + 1 :]):
                    continue
                if not isinstance(item, Assign) or not isinstance(self.types.get(name), Scalar):
                    return self.refuse("what it adds up is used by more than arithmetic on numbers: {0}", at(item))
                if item.key not in found:
                    found.add(item.key)
                    for read in reads(item):
                        if isinstance(self.types.get(read), Array | Stack):
                            return self.refuse("the derivative by what it adds up comes from an array: {0}", at(item))
                        if read not in wanted and not self.primal(read):
                            wanted.add(read)
                            pending.add(read)
        if not self.read_last(wanted, found, earlier):
            return self.refuse("what it adds up is used again after other derivatives are known")
        return found

    def read_last(self, names: set[str], found: set[int], earlier: list[Stmt | RevIf | RevLoop]) -> bool:
        """Whether statements that stay read the names only when all that set them have been passed."""
        for name in names:
            setting = [place for place, item in enumerate(earlier) if item.key in found and sets(item, name)]
            before = earlier[: max(setting, default=0)]
            if any(name in self.named(item).all for item in before if item.key not in found):
                return False
        return True

    def named(self, item: Stmt | RevIf | RevLoop) -> _Names:
        """The names in a reversed statement; found once, since many loops ask."""
        known = self.names.get(item.key)
        if known is None:
            inner = list(flat(item))
            written = frozenset(name for stmt in inner for name in writes(stmt))
            known = _Names(written, written.union(name for stmt in inner for name in reads(stmt)))
            self.names[item.key] = known
        return known

    def primal(self, name: str) -> bool:
        """Whether a name is the primal program's."""
        return name in self.scopes.scope_of

    def known_before(self, loop: For, stmt: Stmt, early: dict[str, Stmt]) -> bool:
        """Whether the primal values that a statement reads can be had before a loop.

        `early` takes the statements that compute those which the program sets later.
        """
        place = self.scopes.place[loop.key]
        for name in reads(stmt):
            if not self.primal(name) or name in early:
                continue
            scope, here = self.scopes.scope_of[name], self.scopes.of[loop.key]
            if not here.inside(scope):
                return False
            defs = self.scopes.defs[name]
            set_before = [self.scopes.place[made.key] < place for made in defs]
            # what a loop around this one carries is there when an iteration begins
            if all(set_before) or (scope is not here and any(set_before)):
                continue
            if scope is not here or len(defs) != 1 or not self.pure(defs[0]):
                return False
            if not self.known_before(loop, defs[0], early):
                return False
            early[name] = defs[0]
        return True

    def pure(self, stmt: Stmt) -> bool:
        """Whether a statement computes a number from numbers."""
        if not isinstance(stmt, Assign) or not isinstance(self.types[stmt.target], Scalar):
            return False
        if not isinstance(stmt.value, Op):
            return True
        scalars = all(isinstance(self.types.get(name), Scalar) for name in reads(stmt))
        return stmt.value.fn == "dim" or (scalars and not stmt.value.fn.startswith("np.random"))

    def only_adds(self, item: Stmt | RevIf | RevLoop, added: set[str]) -> bool:
        """Whether what stays behind does no more than add to what the iterations add to."""
        for stmt in flat(item):
            for name in {*writes(stmt), *reads(stmt)}:
                array = isinstance(self.types.get(name), Array | Stack)
                if (self.memory.aliases.find(name) if array else name) not in added:
                    continue
                if not (adds_element(stmt, name) or asks_extent(stmt) if array else adds_to(stmt, name)):
                    return False
        return True


def end_copies(region: Scope, scopes: Scopes) -> list[Assign]:
    """The copies that end an iteration: what the loop's merge names hold in the next one."""
    found: list[Assign] = []
    for stmt in reversed(region.block):
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Name | Const):
            break
        if scopes.scope_of[stmt.target].inside(region):
            break
        found.append(stmt)
    return found[::-1]
