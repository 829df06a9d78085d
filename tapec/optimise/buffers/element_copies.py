"""Arrays that are records: in which one store keeps elements of another array, each at a place of its own.

    first = np.empty((n - 1, n))
    for k in range(1, n):
        for i in range(k):
            x = y[i]
            first[k - 1, i] = x         a record of `y`, which `(k - 1, i)` tells

Nothing else stores into a record, and each loop around the store has an axis of it, so that nothing is overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapec.analyses.iterations import Access, Iterations
from tapec.analyses.scopes import Scope
from tapec.syntax.core import Assign, Atom, Const, For, Function, Name, Op, Stmt, Store
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array


@dataclass(frozen=True, eq=False)
class ElementCopy:
    """A buffer with one store: of elements that are loaded from an array.

    index  where the store puts it
    subs   where in the array it has been
    loops  around the store, outermost first
    """

    buffer: str
    store: Store
    index: tuple[Sum, ...]
    load: Assign
    array: str
    subs: tuple[Sum, ...]
    loops: tuple[For, ...]


class ElementCopies:
    """The records of a function, in the order of their stores."""

    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.scopes = self.iterations.scopes
        self.integers = self.iterations.dependence.integers
        self.accesses: dict[str, list[Access]] = {}
        for access in self.iterations.accesses(function.body):
            self.accesses.setdefault(self.iterations.aliases.find(access.array), []).append(access)
        names: dict[str, list[str]] = {}
        for name, type_ in function.types.items():
            if isinstance(type_, Array):
                names.setdefault(self.iterations.aliases.find(name), []).append(name)
        self.names = names
        self.found = [found for name in function.types if (found := self.record(name)) is not None]
        self.found.sort(key=lambda one: self.scopes.place[one.store.key])

    def accesses_of(self, record: ElementCopy) -> list[Access]:
        """The statements that read or write elements of a record."""
        return self.accesses[self.iterations.aliases.find(record.buffer)]

    def record(self, buffer: str) -> ElementCopy | None:
        """An array read as a record."""
        defs = self.scopes.defs.get(buffer, [])
        if len(defs) != 1 or not isinstance(defs[0], Assign) or not isinstance(defs[0].value, Op):
            return None
        # an array of zeros may be read where nothing was stored
        if defs[0].value.fn != "empty" or buffer in self.scopes.params:
            return None
        memory = self.iterations.aliases.find(buffer)
        if any(name != buffer and self.viewed(name, ())[0] != buffer for name in self.names[memory]):
            return None
        accesses = self.accesses.get(memory, [])
        stores = [access.stmt for access in accesses if access.kind != "load"]
        if len(stores) != 1 or len(accesses) < 2 or any(access.index is None for access in accesses):
            return None
        (store,) = stores
        if not isinstance(store, Store) or store.accumulate:
            return None
        load = next(iter(self.scopes.defs.get(store.value.id, ())), None) if isinstance(store.value, Name) else None
        match load:
            case Assign(value=Op(fn="load", args=(Name(id=array), *subs))) if self.iterations.fixed(store.value):
                pass
            case _:
                return None
        if self.iterations.aliases.find(array) == memory or self.dtype(array) != self.dtype(buffer):
            return None
        if not self.scopes.of[store.key].inside(self.scopes.of[load.key]):
            return None
        _, atoms = self.viewed(store.array, store.index)
        index, places = self.sums(atoms, store), self.sums(tuple(s for s in subs if isinstance(s, Name | Const)), load)
        loops = self.loops(self.scopes.of[store.key])
        if index is None or places is None or loops is None:
            return None
        # each place is written once: each loop has an axis, and no subscript counts from the end
        counted = {name_of(sum_) for sum_ in index}
        here = self.scopes.of[store.key]
        if not all(loop.var in counted for loop in loops):
            return None
        if not all(self.integers.never_negative(sum_, here) for sum_ in index):
            return None
        return ElementCopy(buffer, store, index, load, array, places, loops)

    def viewed(self, name: str, index: tuple[Atom, ...]) -> tuple[str, tuple[Atom, ...]]:
        """The array of which a name may be a view of some rows, and the subscripts in it."""
        match self.iterations.definition(Name(name)):
            case Op(fn="view", args=(Name(id=whole), *cuts)):
                atoms = tuple(cut for cut in cuts if isinstance(cut, Name | Const) and cut != Const(None))
                if len(atoms) == len(cuts):
                    return whole, (*atoms, *index)
        return name, index

    def dtype(self, array: str) -> str | None:
        type_ = self.iterations.types[array]
        return type_.dtype if isinstance(type_, Array) else None

    def sums(self, atoms: tuple[Atom, ...], where: Stmt) -> tuple[Sum, ...] | None:
        found = [self.integers.bound(atom, where) for atom in atoms]
        known = [one for one in found if one is not None]
        return tuple(known) if len(known) == len(found) else None

    def loops(self, region: Scope) -> tuple[For, ...] | None:
        """The loops around a region, outermost first, if all of them make the iterations that they say."""
        owners = [loop.owner for loop in region.loops()][::-1]
        loops = [owner for owner in owners if isinstance(owner, For) and owner.slots is None]
        return tuple(loops) if len(loops) == len(owners) else None


def name_of(sum_: Sum) -> str | None:
    """The name to which a sum adds a number, if it is one."""
    match sum_.terms:
        case ((name, 1),) if "*" not in name:
            return name
    return None
