"""Let an array that a loop fills take the memory of one that the loop reads for the last time.

    e = np.empty(n)                           x_bar = np.empty(n)
    for i in range(n):                        for i in range(n):
        e[i] = np.exp(x[i])                       x_bar[i] = np.exp(x[i])
        s += e[i]                      ->         s += x_bar[i]
    x_bar = np.empty(n)                       for i in range(n):
    for i in range(n):                            x_bar[i] = x_bar[i] / s
        x_bar[i] = e[i] / s

Large arrays are fresh memory, which costs more than the arithmetic on it.  An iteration reads the element before it
fills it, and no other iteration does.  Refused where another name may have the memory that would be shared, sizes may
differ, or something outside the block reads the array, as the reverse sweep of a branch does; an array of the user's
keeps its name, and so its memory.

A matrix product is memory of its own, too: an array that is nothing but a copy of it becomes the product itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise.buffers.covering_nests import Nests
from tapec.optimise.name_origins import Vocabulary, is_adjoint
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Stmt,
    Store,
    blocks,
    map_blocks,
    reads,
    substitute,
    walk,
    writes,
)


def reuse_buffers(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays in one; see the module."""
    return replace(function, body=_Reused(function).block(function.body))


class _Reused:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.nests = Nests(self.iterations)
        self.words = Vocabulary(function)
        # how many names have one memory, and what is used otherwise than by element
        self.names: dict[str, int] = {}
        for name, type_ in function.types.items():
            if is_memory(type_) and name in self.iterations.scopes.defs:
                own = self.nests.memory(name)
                self.names[own] = self.names.get(own, 0) + 1
        self.whole = {name for stmt in walk(function.body) if not _by_element(stmt) for name in reads(stmt)}
        # the statements that have run when a block begins
        self.ran: list[Stmt] = []
        self.outside = frozenset(_outside(function))
        # arrays in the memory of others, of which less is known
        self.renewed: set[str] = set()

    def block(self, block: Block) -> Block:
        ran = len(self.ran)
        out: list[Stmt] = []
        for stmt in block:
            out.append(map_blocks(stmt, self.block))
            self.ran.append(out[-1])
        del self.ran[ran:]
        block = tuple(out)
        for made in block:
            if isinstance(made, Assign) and isinstance(made.value, Op) and made.value.fn == "empty":
                block = self.reused(block, made, made.value)
        return block

    def reused(self, block: Block, made: Assign, empty: Op) -> Block:
        """The block with the array that `made` allocates in the place of another one, if there is one."""
        array = made.target
        place = next((k for k, stmt in enumerate(block) if stmt is made), None)
        first = None if place is None else self.nests.first(block, place, array)
        if first is None or len(self.iterations.scopes.defs[array]) != 1:
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
                    copied = self.stored(body[store]) == Name(stmt.target)
                    fits = self.fits(block[:first], old, array, empty, copied)
                    if fits and self.ends(block, first, body, store, stmt):
                        return self.renamed(block, first, made, old, body[store] if copied else made)
        return block

    def stored(self, store: Stmt) -> Expr | None:
        """What a store writes, by its first name."""
        value: Expr | None = store.value if isinstance(store, Store) else None
        while isinstance(value, Name) and isinstance(made := self.iterations.definition(value), Name):
            value = made
        return value

    def fits(self, before: Block, old: str, array: str, empty: Op, copied: bool) -> bool:
        """Whether `old` is made by a block for itself alone, with the type of `array` and room for its elements."""
        made = [stmt.value for stmt in before if isinstance(stmt, Assign) and stmt.target == old]
        alone = self.names.get(self.nests.memory(old)) == 1 and not any(
            old in names for names in (self.whole, self.outside, self.renewed)
        )
        return (
            alone
            and (is_adjoint(old) or not self.words.is_users(old))
            and self.iterations.types[old] == self.iterations.types[array]
            and len(self.iterations.scopes.defs[old]) == 1
            and len(made) == 1
            and isinstance(made[0], Op)
            and all(map(self.nests.fixed, empty.args[1:]))
            and (
                (made[0].fn in ("empty", "zeros") and made[0].args == empty.args)
                or (copied and made[0].fn == "np.dot" and self.in_place(before, old, array, empty))
            )
        )

    def in_place(self, before: Block, product: str, array: str, empty: Op) -> bool:
        """Whether the elements of a copy of a product are where the product has them, wherever they are asked for."""
        sizes = (self.nests.extent(product, axis) for axis in range(len(empty.args) - 1))
        known = [*self.ran, *before]
        if all(self.nests.equal(one, other, known) for one, other in zip(sizes, empty.args[1:], strict=True)):
            return True
        # the product may be the larger one: then nobody may ask how large the copy is, nor count from its end
        if array in self.whole or self.names[self.nests.memory(array)] != 1:
            return False
        stmts = [stmt for stmt in walk(self.function.body) if array in reads(stmt) or array in writes(stmt)]
        return all(self.counted_from_zero(stmt, array) for stmt in stmts)

    def counted_from_zero(self, stmt: Stmt, array: str) -> bool:
        """Whether a statement makes an array, or names an element of it by subscripts that are not negative."""
        match stmt:
            case Assign(target=target):
                return target == array or self.elements_of(stmt.value)
            case Store(index=index):
                return all(map(self.iterations.never_negative, index))
        return False

    def elements_of(self, value: Expr) -> bool:
        match value:
            case Op(fn="load", args=(_, *subs)):
                return all(isinstance(sub, Name | Const) and self.iterations.never_negative(sub) for sub in subs)
        return False

    def ends(self, block: Block, first: int, body: Block, store: int, load: Assign) -> bool:
        """Whether loads like this one, before the store, are all that the nest and what follows it read of an array."""
        assert isinstance(load.value, Op) and isinstance(load.value.args[0], Name)
        own = self.nests.memory(load.value.args[0].id)
        if any(own in self.nests.met(stmt) for stmt in block[first + 1 :]):
            return False
        inside = {stmt.key for stmt in body[:store] if isinstance(stmt, Assign) and stmt.value == load.value}
        return not any(own in self.nests.named(stmt) for stmt in walk((block[first],)) if stmt.key not in inside)

    def renamed(self, block: Block, first: int, made: Assign, old: str, needless: Stmt) -> Block:
        """The block in which `old` has the name of the array that `made` would allocate, without a needless store.

        Nothing behind `first` names `old`.
        """
        new, own = made.target, self.nests.memory(old)
        what = "`{0}` takes the memory of an array that is read for the last time"
        remark(block[first].span, "buffer_reuse", what, "", Named(new))
        self.renewed.add(new)
        names: dict[str, Expr] = {old: Name(new)}

        def change(stmt: Stmt) -> Stmt:
            stmt = map_blocks(stmt, changed)
            match stmt:
                # what does not name the array stays the same object, by which it is found again
                case Assign(target=target, value=value) if old in (*writes(stmt), *reads(stmt)):
                    return replace(stmt, target=new if target == old else target, value=substitute(value, names))
                case Store(array=array):
                    return replace(stmt, array=new if array == old else array)
            return stmt

        def changed(inner: Block) -> Block:
            kept = [stmt for stmt in inner if stmt is not made and stmt is not needless]
            return tuple([change(stmt) if own in self.nests.met(stmt) else stmt for stmt in kept])

        begin = min(k for k, stmt in enumerate(block) if stmt is made or old in writes(stmt))
        return (*block[:begin], *changed(block[begin : first + 1]), *block[first + 1 :])


def _outside(function: Function) -> Iterator[str]:
    """The names that a block inside a statement sets, and something outside the block names."""
    total = Counter(name for stmt in walk(function.body) for name in (*reads(stmt), *writes(stmt)))
    for inner in (block for stmt in walk(function.body) for block in blocks(stmt)):
        made = {stmt.target for stmt in inner if isinstance(stmt, Assign)}
        if made:
            found = Counter(name for stmt in walk(inner) for name in (*reads(stmt), *writes(stmt)) if name in made)
            yield from (name for name in made if found[name] < total[name])


def _by_element(stmt: Stmt) -> bool:
    """Whether a statement uses arrays by single elements alone, and by their extents."""
    if isinstance(stmt, Assign):
        return isinstance(stmt.value, Op) and stmt.value.fn in ("load", "dim")
    return isinstance(stmt, Store | If | For)
