"""Let an array that a loop fills take the memory of one that the loop reads for the last time.

    e = np.empty(n)                           x_bar = np.empty(n)
    for i in range(n):                        for i in range(n):
        e[i] = np.exp(x[i])                       x_bar[i] = np.exp(x[i])
        s += e[i]                      ->         s += x_bar[i]
    x_bar = np.empty(n)                       for i in range(n):
    for i in range(n):                            x_bar[i] = x_bar[i] / s
        x_bar[i] = e[i] / s

Large arrays are fresh memory, which costs more than the arithmetic on it.  A trip reads the element before it fills it,
and no other trip does.  Refused where another name may have the memory that would be shared, or sizes may differ; an
array of the user's keeps its name, and so its memory.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.memory import is_memory
from tapec.analyses.trips import Trips
from tapec.optimise.names import Vocabulary, is_adjoint
from tapec.optimise.nests import Nests
from tapec.syntax.core import (
    Assign,
    Block,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    reads,
    substitute,
    walk,
)


def reuse_memory(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays in one; see the module."""
    return replace(function, body=_Reused(function).block(function.body))


class _Reused:
    def __init__(self, function: Function) -> None:
        self.trips = Trips(function)
        self.nests = Nests(self.trips)
        self.words = Vocabulary(function)
        # how many names have one memory, and what is used otherwise than by element
        self.names: dict[str, int] = {}
        for name, type_ in function.types.items():
            if is_memory(type_) and name in self.trips.regions.defs:
                own = self.nests.memory(name)
                self.names[own] = self.names.get(own, 0) + 1
        self.whole = {name for stmt in walk(function.body) if not _by_element(stmt) for name in reads(stmt)}

    def block(self, block: Block) -> Block:
        block = tuple(map_blocks(stmt, self.block) for stmt in block)
        for made in block:
            if isinstance(made, Assign) and isinstance(made.value, Op) and made.value.fn == "empty":
                block = self.reused(block, made, made.value)
        return block

    def reused(self, block: Block, made: Assign, empty: Op) -> Block:
        """The block with the array that `made` allocates in the place of another one, if there is one."""
        array = made.target
        place = next((k for k, stmt in enumerate(block) if stmt is made), None)
        first = None if place is None else self.nests.first(block, place, array)
        if first is None or len(self.trips.regions.defs[array]) != 1:
            return block
        found = self.nests.element(block[first], array, empty.args[1:])
        if found is None:
            return block
        body, index = found
        (*others, store) = (k for k, stmt in enumerate(body) if self.nests.memory(array) in self.nests.met(stmt))
        if others or not isinstance(body[store], Store) or getattr(body[store], "accumulate", True):
            return block
        for stmt in body[:store]:
            match stmt:
                case Assign(value=Op(fn="load", args=(Name(id=old), *subscripts))) if tuple(subscripts) == index:
                    if self.same_size(block[:first], old, array, empty) and self.ends(block, first, body, store, stmt):
                        copied = getattr(body[store], "value", None) == Name(stmt.target)
                        return self.renamed(block, made, old, body[store] if copied else made)
        return block

    def same_size(self, before: Block, old: str, array: str, empty: Op) -> bool:
        """Whether `old` is made by a block for itself alone, with the size and type of `array`."""
        made = [stmt.value for stmt in before if isinstance(stmt, Assign) and stmt.target == old]
        alone = self.names.get(self.nests.memory(old)) == 1 and old not in self.whole
        alone = alone and (is_adjoint(old) or not self.words.is_users(old))
        return (
            alone
            and self.trips.types[old] == self.trips.types[array]
            and len(self.trips.regions.defs[old]) == 1
            and len(made) == 1
            and isinstance(made[0], Op)
            and made[0].fn in ("empty", "zeros")
            and made[0].args == empty.args
            and all(map(self.nests.fixed, empty.args[1:]))
        )

    def ends(self, block: Block, first: int, body: Block, store: int, load: Assign) -> bool:
        """Whether loads like this one, before the store, are all that the nest and what follows it read of an array."""
        assert isinstance(load.value, Op) and isinstance(load.value.args[0], Name)
        own = self.nests.memory(load.value.args[0].id)
        if any(own in self.nests.met(stmt) for stmt in block[first + 1 :]):
            return False
        inside = {id(stmt) for stmt in body[:store] if isinstance(stmt, Assign) and stmt.value == load.value}
        return not any(own in self.nests.named(stmt) for stmt in walk((block[first],)) if id(stmt) not in inside)

    def renamed(self, block: Block, made: Assign, old: str, needless: Stmt) -> Block:
        """The block in which `old` has the name of the array that `made` would allocate, without a needless store."""
        new = made.target
        names: dict[str, Expr] = {old: Name(new)}

        def change(stmt: Stmt) -> Stmt:
            stmt = map_blocks(stmt, changed)
            match stmt:
                case Assign(target=target, value=value):
                    return replace(stmt, target=new if target == old else target, value=substitute(value, names))
                case Store(array=array):
                    return replace(stmt, array=new if array == old else array)
            return stmt

        def changed(inner: Block) -> Block:
            return tuple(change(stmt) for stmt in inner if stmt is not made and stmt is not needless)

        return changed(block)


def _by_element(stmt: Stmt) -> bool:
    """Whether a statement uses arrays by single elements alone, and by their extents."""
    if isinstance(stmt, Assign):
        return isinstance(stmt.value, Op) and stmt.value.fn in ("load", "dim")
    return isinstance(stmt, Store | If | For)
