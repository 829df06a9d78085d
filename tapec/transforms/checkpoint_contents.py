"""What a checkpointed loop hands on from iteration to iteration: what a snapshot of it must hold.

Running an iteration again needs

  numbers  that the loop carries;
  values   arrays that iterations make and hand on, and never write into afterwards: a snapshot is a copy;
  turned   buffers that change places: their contents go by name, since no two share memory;
  state    arrays that iterations write into, and read where a later iteration may have written;
  frozen   arrays that iterations read, and that only code after the loop writes into.

Elements that nobody writes after they were read are in no snapshot: they are still there.  Stores into
arrays whose contents the iterations do not read are not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, Memory, aliases, is_memory, memory
from tapec.analyses.buffer_rotation import last_copies, permutation
from tapec.analyses.random_draws import drawn
from tapec.analyses.scopes import Scope, Scopes, scopes
from tapec.errors import NotDifferentiable
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
    For,
    Function,
    Name,
    Op,
    Push,
    Stmt,
    blocks,
    changed,
    names_in,
    reads,
    walk,
    written_in,
)
from tapec.syntax.types import Array, Scalar, Type

_NO_CONTENTS = frozenset({"dim", "stride", *VIEWS, *ALLOCATIONS})
_FRESH = frozenset({"empty", "zeros", "copy"})


@dataclass(frozen=True)
class Checkpointed:
    """A loop and what its snapshots hold; see the module.

    initial  what each name that the loop carries begins with
    params   all names from outside that an iteration reads, with those that the loop carries
    unread   arrays into which iterations need not store when they run again
    visible  the names of `state` and `frozen` whose last contents the caller sees
    outer    whether no other loop is around it
    """

    loop: For
    numbers: tuple[str, ...]
    values: tuple[str, ...]
    turned: tuple[str, ...]
    state: tuple[str, ...]
    frozen: tuple[str, ...]
    initial: dict[str, Atom]
    params: tuple[str, ...]
    unread: frozenset[str]
    visible: frozenset[str]
    outer: bool

    @property
    def carried(self) -> tuple[str, ...]:
        return (*self.numbers, *self.values, *self.turned)


def find(function: Function, constants: frozenset[str]) -> dict[str, Checkpointed]:
    """The checkpointed loops of a function by their variables; those inside another one are left to its iterations.

    raises  NotDifferentiable for a loop whose iterations cannot be run again
    """
    loops = list(_outermost(function.body))
    return _Finder(function, constants).all(loops) if loops else {}


def _outermost(block: Block) -> list[For]:
    found: list[For] = []
    for stmt in block:
        if isinstance(stmt, For) and stmt.slots is not None:
            found.append(stmt)
        else:
            for inner in blocks(stmt):
                found += _outermost(inner)
    return found


class _Finder:
    def __init__(self, function: Function, constants: frozenset[str]) -> None:
        self.function = function
        self.types = function.types
        self.scopes: Scopes = scopes(function)
        for constant in constants:
            self.scopes.scope_of[constant] = self.scopes.root
            self.scopes.defs[constant] = []
        self.memory: Memory = memory(function, self.scopes, aliases(function), constants)
        seen = {*function.params, *constants, *(value.id for value in function.results if isinstance(value, Name))}
        self.seen = {self.memory.aliases.find(name) for name in seen if is_memory(self.types.get(name))}

    def all(self, loops: list[For]) -> dict[str, Checkpointed]:
        return {loop.var: self.loop(loop) for loop in loops}

    def loop(self, loop: For) -> Checkpointed:
        (region,) = self.scopes.body[loop.key]
        check_repeatable(loop)
        written = written_in(loop.body)
        defs = self.scopes.defs
        carried = sorted(n for n in written if any(not self.scopes.of[d.key].inside(region) for d in defs[n]))
        initial = {name: self.initial(name, region) for name in carried}
        arrays = [name for name in carried if not isinstance(self.types[name], Scalar)]
        values, turned = self.arrays(loop, region, arrays, initial)
        outside = {name for stmt in walk(loop.body) for name in reads(stmt)} - written - {loop.var}
        whole = {self.memory.aliases.find(name) for name in values}
        needed = self.needed(loop, region) - whole
        stored = {self.memory.aliases.find(array) for stmt in walk(loop.body) for array in changed(stmt)}
        bases = self.bases(sorted(outside | set(turned)), needed)
        state = tuple(name for name in bases if self.memory.aliases.find(name) in stored)
        frozen = tuple(name for name in bases if name not in state)
        unread = stored - needed - whole - {self.memory.aliases.find(name) for name in turned}
        unread = {cls for cls in unread if not self.memory.scopes_of[cls].inside(region)}
        return Checkpointed(
            loop=loop,
            numbers=tuple(name for name in carried if name not in arrays),
            values=values,
            turned=turned,
            state=(*turned, *(name for name in state if name not in turned)),
            frozen=frozen,
            initial=initial,
            params=tuple(sorted(outside | set(carried))),
            unread=frozenset(name for cls in unread for name in self.members(cls)),
            visible=frozenset(n for n in (*turned, *bases) if self.memory.aliases.find(n) in self.seen),
            outer=not region.loops()[1:],
        )

    def initial(self, name: str, region: Scope) -> Atom:
        """What a carried name holds when the loop begins."""
        first = [stmt for stmt in self.scopes.defs[name] if not self.scopes.of[stmt.key].inside(region)]
        (made,) = first
        assert isinstance(made, Assign) and isinstance(made.value, Name | Const)
        return made.value

    # arrays that the loop carries

    def arrays(
        self, loop: For, region: Scope, carried: list[str], initial: dict[str, Atom]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The carried arrays: those that are values, and those that change places."""
        values: list[str] = []
        turned: list[str] = []
        for name in carried:
            if not isinstance(self.types[name], Array):
                raise self.refused(
                    loop, name, "it is a list that grows from iteration to iteration", "make an array first"
                )
        for cls in dict.fromkeys(self.memory.aliases.find(name) for name in carried):
            names = [name for name in carried if self.memory.aliases.find(name) == cls]
            if self.only_new_written(loop, cls) and not self.written_later(loop, region, cls):
                values += names
            elif self.turns(loop, names, cls, initial):
                turned += names
            elif self.only_new_written(loop, cls):
                reason = "code after the loop writes into it"
                raise self.refused(loop, names[0], reason, "copy it after the loop and write into the copy")
            else:
                reason = "iterations write into it, and hand on other arrays in its place, as a list that grows does"
                hint = "fill one array in place, or let buffers that .copy() or np.zeros() made change places"
                raise self.refused(loop, names[0], reason, hint)
        return tuple(values), tuple(turned)

    def only_new_written(self, loop: For, cls: str) -> bool:
        """Whether iterations write only into arrays of a class that they have made themselves."""
        body = loop.body[: len(loop.body) - len(last_copies(loop.body))]
        inside = written_in(body)
        own = aliases(Function("iteration", (), body, self.types))
        old = {own.find(name) for name in self.members(cls) if name not in inside}
        arrays = [array for stmt in walk(body) for array in changed(stmt)]
        return not any(own.find(array) in old for array in arrays if self.memory.aliases.find(array) == cls)

    def members(self, cls: str) -> list[str]:
        return [n for n, type_ in self.types.items() if is_memory(type_) and self.memory.aliases.find(n) == cls]

    def written_later(self, loop: For, region: Scope, cls: str) -> bool:
        """Whether code that follows the loop writes into arrays of a class."""
        scope, here = self.memory.scopes_of[cls], self.scopes.place[loop.key]
        around = [one for one in region.loops()[1:] if one.inside(scope) and one is not scope]
        for store in self.memory.stores.get(cls, ()):
            where, place = self.scopes.of[store.key], self.scopes.place[store.key]
            repeated = [one for one in around if where.inside(one)]
            if where.inside(region) or (place < here and not repeated):
                continue
            made = [self.allocation(array) for array in changed(store)]
            if not all(one is not None and self.since(one, place > here, here, repeated) for one in made):
                return True
        return False

    def since(self, made: Assign, after: bool, here: int, repeated: list[Scope]) -> bool:
        """Whether an array is made after the loop, or anew in each iteration of the loops that repeat it."""
        if after:
            return self.scopes.place[made.key] > here
        return all(self.scopes.of[made.key].inside(one) for one in repeated)

    def allocation(self, name: str) -> Assign | None:
        """What makes the memory of an array, if that is known."""
        defs = self.scopes.defs.get(name, [])
        made = defs[0] if len(defs) == 1 else None
        if not isinstance(made, Assign) or not isinstance(made.value, Op):
            return None
        if made.value.fn in _FRESH:
            return made
        (base, *_) = (*names_in(made.value), "")
        return self.allocation(base) if made.value.fn in VIEWS else None

    def turns(self, loop: For, names: list[str], cls: str, initial: dict[str, Atom]) -> bool:
        """Whether iterations only permute arrays of which no two share memory, and that go by no other names."""
        held = permutation(loop.body)
        if sorted(held.get(name, "") for name in names) != sorted(names):
            return False
        inside = written_in(loop.body)
        used = {name for stmt in walk(loop.body) for name in reads(stmt)} - inside
        if any(self.memory.aliases.find(n) == cls for n in used if is_memory(self.types.get(n))):
            return False
        origins = [self.origin(initial[name]) for name in names]
        return all(
            one is not None and other is not None and self.disjoint(one, other)
            for k, one in enumerate(origins)
            for other in origins[:k]
        )

    def origin(self, atom: Atom) -> tuple[str, int | None] | None:
        """The array that an array is, or the one whose row of a known number it is; None if that is not known."""
        if not isinstance(atom, Name):
            return None
        if atom.id in self.function.params:
            shared = any(atom.id in group for group in self.function.shared)
            return None if shared else (atom.id, None)
        defs = self.scopes.defs.get(atom.id, [])
        made = defs[0] if len(defs) == 1 else None
        if not isinstance(made, Assign) or not isinstance(made.value, Op):
            return None
        if made.value.fn in _FRESH:
            return atom.id, None
        # rows of one array
        match made.value:
            case Op(fn="view", args=(Name() as base, Const(value=int() as row), *_)):
                owner = self.origin(base)
                return (owner[0], row) if owner is not None and owner[1] is None and row >= 0 else None
        return None

    def disjoint(self, one: tuple[str, int | None], other: tuple[str, int | None]) -> bool:
        return one[0] != other[0] or (one[1] is not None and other[1] is not None and one[1] != other[1])

    def refused(self, loop: For, name: str, reason: str, hint: str) -> NotDifferentiable:
        message = f"a checkpointed loop cannot hand on the array `{name}` like this"
        return NotDifferentiable(message, loop.span, reason=reason, hint=hint)

    # arrays that stay where they are

    def needed(self, loop: For, region: Scope) -> set[str]:
        """Classes of arrays from outside whose contents iterations read, and that are not what they were by then."""
        found: set[str] = set()
        for stmt in walk(loop.body):
            for array in contents(stmt, self.types):
                if not self.memory.local_to(array, region) and not self.memory.stable(stmt, array):
                    found.add(self.memory.aliases.find(array))
            if isinstance(stmt, Call):
                # its stores cannot be left out when an iteration runs again
                outside = [a for a in changed(stmt) if not self.memory.local_to(a, region)]
                found.update(self.memory.aliases.find(array) for array in outside)
        return found

    def bases(self, names: list[str], classes: set[str]) -> list[str]:
        """The names of the classes, without views of arrays that are among them."""
        found = [n for n in names if is_memory(self.types.get(n)) and self.memory.aliases.find(n) in classes]
        return [name for name in found if not self.viewed(name, found)]

    def viewed(self, name: str, others: list[str]) -> bool:
        defs = self.scopes.defs[name]
        made = defs[0] if len(defs) == 1 else None
        if not isinstance(made, Assign) or not isinstance(made.value, Op) or made.value.fn not in VIEWS:
            return False
        (base, *_) = names_in(made.value)
        return base in others or self.viewed(base, others)


def contents(stmt: Stmt, types: dict[str, Type]) -> list[str]:
    """The arrays whose contents a statement reads."""
    match stmt:
        case Assign(value=Op(fn=fn) as value) if fn not in _NO_CONTENTS:
            return [n for n in names_in(value) if is_memory(types.get(n))]
        case Call():
            return [n for n in reads(stmt) if is_memory(types.get(n))]
    return []


def check_repeatable(loop: For) -> None:
    """Iterations that are run again must compute the same.

    raises  NotDifferentiable
    """
    inside = written_in(loop.body)
    for stmt in walk(loop.body):
        name = drawn(stmt)
        if name is not None:
            raise NotDifferentiable(
                f"a checkpointed loop that calls `{name}`",
                stmt.span,
                reason="its iterations run again in the reverse sweep, and would draw other numbers",
                hint="draw before the loop and pass the numbers in an array",
            )
        grows = isinstance(stmt, Push) and stmt.stack not in inside
        if grows:
            raise NotDifferentiable(
                "a checkpointed loop that appends to a list from outside",
                stmt.span,
                reason="its iterations run again in the reverse sweep",
                hint="store into an array that is made before the loop",
            )
