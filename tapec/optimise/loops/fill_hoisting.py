"""Fill an array once, before a loop whose iterations would all fill it alike.

    for t in range(steps):                    cp = np.zeros(n)
        cp = np.zeros(n)                      if 0 < steps:
        dp = np.zeros(n)                          for i in range(1, n):
        for i in range(1, n):         ->              cp[i] = c[i] / (b[i] - a[i] * cp[i - 1])
            m = b[i] - a[i] * cp[i - 1]       for t in range(steps):
            cp[i] = c[i] / m                      dp = np.zeros(n)
            dp[i] = (u[i] - a[i] * ...) / m       for i in range(1, n):
        ...                                           m = b[i] - a[i] * cp[i - 1]
                                                      dp[i] = (u[i] - a[i] * ...) / m
                                                  ...

The coefficients of an elimination in a time step, factors of a matrix, tables of weights: the adjoint of what fills
them runs once, too.  An array is filled alike by all iterations if what computes its elements depends on nothing that
an iteration changes.  Where the rest of an iteration reads an element, it must be what it will be when the iteration
has ended.

An array that the program makes before the loop counts as made in each iteration if iterations read of it what they have
written themselves alone (`analyses/definite_writes.py`).  It may do so in several loops, which then have one each.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tapec.analyses.definite_writes import DefiniteWrites
from tapec.analyses.dependence import is_element_load
from tapec.analyses.iterations import Iterations
from tapec.analyses.loop_invariance import Invariance, can_be_parted, exchanged, kept, some_iteration
from tapec.analyses.random_draws import drawn
from tapec.optimise.buffers.allocation_hoisting import WHOLE_NUMBERS
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Call,
    Const,
    For,
    Function,
    If,
    Name,
    Op,
    Print,
    Push,
    Stmt,
    Store,
    distinct,
    literal_range,
    reads,
    walk,
    writes,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import BOOL, INT64


def hoist_fills(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such arrays filled before the loops; see the module."""
    while (found := _Fillings(function).moved()) is not None:
        function = replace(found, body=distinct(found.body))
    return function


@dataclass(frozen=True)
class _Filling:
    """A loop, and of an iteration the statements that fill an array (by key), what its extents need, its
    stores.
    """

    loop: For
    stmts: set[int]
    sizes: list[Assign]
    stores: list[Store]


class _Fillings:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.iterations = Iterations(function)
        self.scopes = self.iterations.scopes
        self.fresh = Fresh(function.types)
        self.scratch = dict(self.arrays())

    def moved(self) -> Function | None:
        """The function with one array filled earlier; None if there is none to move."""
        for array, made in self.scratch.items():
            block = self.scopes.of[made.key].block
            loops = self.loops(array, made, block)
            if not loops:
                continue
            changes: dict[int, tuple[Stmt, ...]] = {made.key: ()}
            for filling in loops:
                name = self.fresh_name(array) if len(loops) > 1 else array
                changes[filling.loop.key] = self.split(array, filling, made, name)
            return replace(self.function, body=exchanged(self.function.body, changes), types=self.fresh.types)
        return None

    def fresh_name(self, array: str) -> str:
        return self.fresh(array, self.function.types[array])

    def arrays(self) -> Iterator[tuple[str, Assign]]:
        """The arrays that are made here, and used element by element alone, with what makes them; inner ones first."""
        users: dict[str, bool] = {}
        for stmt in walk(self.function.body):
            for name in reads(stmt):
                users[name] = users.get(name, True) and self.by_element(stmt, name)
        for stmt in reversed(list(walk(self.function.body))):
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op):
                continue
            names = [Name(stmt.target), *(arg for arg in stmt.value.args[1:] if isinstance(arg, Name))]
            alone = users.get(stmt.target, False) and all(map(self.iterations.fixed, names))
            if stmt.value.fn in ("empty", "zeros") and alone:
                yield stmt.target, stmt

    def by_element(self, stmt: Stmt, array: str) -> bool:
        """Whether a statement itself reads or writes an element of an array, or asks for an extent, and no more."""
        if isinstance(stmt, Store):
            return array not in {part.id for part in (*stmt.index, stmt.value) if isinstance(part, Name)}
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn not in ("load", "dim"):
            return False
        return stmt.value.args[0] == Name(array)

    # which loops

    def loops(self, array: str, made: Assign, block: Block) -> list[_Filling]:
        """What fills the array in the loops whose iterations have it to themselves, and fill it alike."""
        around = self.scopes.of[made.key].owner
        if isinstance(around, For):
            found = self.filling(array, around, made)
            return [] if found is None else [found]
        if len(made.value.args) != 2:  # type: ignore[union-attr]
            return []
        return self.own(array, made, tuple(stmt for stmt in block if stmt is not made)) or []

    def own(self, array: str, made: Assign, block: Block) -> list[_Filling] | None:
        """The same of the innermost such loops around all uses of an array in a block; None if there are others."""
        found: list[_Filling] = []
        for stmt in block:
            if not _mentions(stmt, array):
                continue
            if not isinstance(stmt, For) or array in reads(stmt):
                return None
            inner = self.own(array, made, stmt.body)
            if inner is None:
                assert isinstance(made.value, Op)
                if not DefiniteWrites(array, self.iterations.dependence.integers, made.value.args[1:]).before_reading(
                    stmt.body
                ):
                    return None
                one = self.filling(array, stmt, made)
                inner = None if one is None else [one]
            if inner is None:
                return None
            found += inner
        return found

    # what fills an array

    def filling(self, array: str, loop: For, made: Assign) -> _Filling | None:
        """What fills an array in an iteration; None if iterations may fill it differently."""
        if not can_be_parted(self.iterations, loop):
            return None
        known = Invariance(self.iterations, loop, self.scratch)
        stores = [stmt for stmt in known.inside if isinstance(stmt, Store) and stmt.array == array]
        found = known.needed(stores)
        sizes = self.sizes(made, known)
        if not any(isinstance(stmt, For) and stmt.key in found for stmt in known.inside):
            return None
        if not known.all_invariant(found | {stmt.key for stmt in sizes}, array):
            return None
        if not all(isinstance(one.value, Op) and one.value.fn in WHOLE_NUMBERS for one in sizes):
            return None
        scope = self.scopes.body[loop.key][0]
        rest = known.needed([stmt for stmt in known.inside if self.is_wanted(stmt, array, loop)])
        loads = [stmt for stmt in known.inside if isinstance(stmt, Assign) and is_element_load(stmt)]
        loads = [stmt for stmt in loads if stmt.key in rest and array in reads(stmt)]
        settled = all(self.iterations.dependence.untouched(load, store, scope) for load in loads for store in stores)
        return _Filling(loop, found, sizes, stores) if loads and settled else None

    def sizes(self, made: Assign, known: Invariance) -> list[Assign]:
        """What computes the extents of an array in an iteration, in order."""
        if not known.holds(made):
            return []
        found = known.needed([made]) - {made.key}
        return [stmt for stmt in known.inside if stmt.key in found]  # type: ignore[misc]

    def is_wanted(self, stmt: Stmt, array: str, loop: For) -> bool:
        """Whether a statement does something for others than the array."""
        if isinstance(stmt, Store):
            return stmt.array != array
        if isinstance(stmt, Break | Call | Push | Print) or drawn(stmt) is not None:
            return True
        return isinstance(stmt, Assign) and self.iterations.left_over(loop, {stmt.target})

    # moving it

    def split(self, array: str, found: _Filling, made: Assign, name: str) -> tuple[Stmt, ...]:
        """What fills the array, under another name, and the loop without it."""
        loop, sizes, stores = found.loop, found.sizes, found.stores
        why = "every iteration of {1} would fill it alike"
        about = Named(array, made.span), loop.span
        remark(made.span, "fill_hoisting", "`{0}` is filled once, before the loop", why, *about)
        filling = kept(loop.body, found.stmts - {stmt.key for stmt in (*sizes, made)})
        anew = self.fresh.anew(one for stmt in (*sizes, *walk(filling)) for one in writes(stmt))
        anew[array] = name
        filled = renamed(filling, anew)
        if literal_range(loop):
            out = [*renamed((*sizes, made), anew), *filled]
        else:
            test, some = some_iteration(self.iterations, loop, self.fresh("some", BOOL))
            out = [test, *renamed(tuple(sizes), anew)]
            out += [*self.made_if(some, made, anew), If(some, filled, (), loop.span)]
        gone: dict[int, tuple[Stmt, ...]] = {made.key: ()}
        gone |= {store.key: () for store in stores}
        if (value := self.read_again(stores, loop)) is not None:
            load = Op("load", (Name(array), *stores[-1].index))
            gone[value.key] = (replace(value, value=load),)
        body = exchanged(loop.body, gone)
        return (*out, replace(loop, body=renamed(body, {array: name})))

    def read_again(self, stores: list[Store], loop: For) -> Assign | None:
        """What computes the element that the last store of an iteration writes, if the others can load it instead."""
        *others, store = stores
        around = self.scopes.of[store.key]
        inner = around.owner
        if not isinstance(inner, For) or self.scopes.of[inner.key].owner is not loop or len(store.index) != 1:
            return None
        made = next((stmt for stmt in around.block if store.value == Name(getattr(stmt, "target", ""))), None)
        place = self.iterations.subscript(store.index[0])
        types = self.function.types
        # in every iteration of the inner loop another element, and known where the value is computed
        if not isinstance(made, Assign) or store.accumulate or place is None or place.base != inner.var:
            return None
        if types[made.target] != types[store.array].element:  # type: ignore[union-attr]
            return None
        if not self.iterations.dependence.direction(inner) or self.iterations.dependence.minimum(place) < 0:
            return None
        # nor does a later iteration of the inner loop store something else there
        scope = self.scopes.body[loop.key][0]
        if not all(self.iterations.dependence.untouched(store, other, scope) for other in others):
            return None
        known = store.index[0] == Name(inner.var) or any(
            store.index[0] == Name(getattr(stmt, "target", "")) for stmt in around.block[: around.block.index(made)]
        )
        return made if known and self.iterations.fixed(store.value) else None

    def made_if(self, some: Name, made: Assign, anew: dict[str, str]) -> Iterator[Stmt]:
        """What makes the array, of no elements if there is no iteration and its extents are no extents, perhaps."""
        assert isinstance(made.value, Op)
        dtype, *extents = made.value.args
        for place, extent in enumerate(extents):
            if not isinstance(extent, Name) or self.iterations.never_negative(extent):
                continue
            extents[place] = Name(self.fresh("size", INT64))
            own = Name(anew.get(extent.id, extent.id))
            yield Assign(extents[place].id, Op("ifelse", (some, own, Const(0))), made.span)  # type: ignore[union-attr]
        yield from renamed((replace(made, value=Op(made.value.fn, (dtype, *extents))),), anew)


def _mentions(stmt: Stmt, array: str) -> bool:
    return any(array in (*reads(one), *writes(one)) for one in walk((stmt,)))
