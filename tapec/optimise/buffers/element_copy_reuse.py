"""Keep the elements of an array once that two loops of an iteration keep for the reverse sweep.

    for k in range(1, n):                           for k in range(1, n):
        for i in range(k):                              for i in range(k):
            x = y[i]                                        x = y[i]
            first[k - 1, i] = x                             first[k - 1, i] = x
            ...                               ->            ...
        for i in range(k):                              for i in range(k):
            z = y[k - i - 1]                                z = y[k - i - 1]
            second[k - 1, i] = z                            ...
            ...
    ...                                             ...
            b = second[t, i]                                b = first[t, t - i]

What a record holds follows from its own subscripts: `second[t, i]` is what `y[k - i - 1]` was in the iteration with
`k - 1 = t`.  The other record, or a copy of the array, has it at `first[t, k - i - 1]`.

Needs a proof that nothing stores into the array from one of the two loops to the other, that the record which stays
holds every element that the other one holds, and that each place of either is written once.  Both are read along
their last axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tapec.analyses.iterations import Access
from tapec.analyses.scopes import Scope, common
from tapec.optimise.buffers.element_copies import ElementCopies, ElementCopy, name_of
from tapec.optimise.name_origins import Fresh
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    map_blocks,
    may_leave,
    walk,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64


def share_element_copies(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function without such records; see the module."""
    if not _may_keep_twice(function):
        return function
    records = ElementCopies(function)
    found = _Twice(records).alike()
    if not found:
        return function
    for one in found:
        why = "an iteration keeps these elements of `{0}` already"
        remark(one.gone.load.span, "element_copy_reuse", "not kept again", why, Named(one.gone.array))
    change = _Change(records, found)
    body = change.block(function.body)
    return replace(function, body=body, types=change.fresh.types)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A record, the one that has its elements, too, and where, in places such as `#0` of its own subscripts."""

    gone: ElementCopy
    stays: ElementCopy
    index: tuple[Sum, ...]


class _Twice:
    """Looks for records that hold the same elements."""

    def __init__(self, records: ElementCopies) -> None:
        self.records = records
        self.iterations = records.iterations
        self.scopes = self.iterations.scopes
        self.integers = self.iterations.dependence.integers

    def alike(self) -> list[_Pair]:
        """The records that are not needed; those that stay in their place are not among them."""
        found: list[_Pair] = []
        gone: set[str] = set()
        stay: set[str] = set()
        for one in self.records.found:
            for other in self.records.found:
                if one is other or one.array != other.array or one.buffer in stay or other.buffer in gone:
                    continue
                index = self.place_of(one, other)
                if index is not None:
                    found.append(_Pair(one, other, index))
                    gone.add(one.buffer)
                    stay.add(other.buffer)
                    break
        return found

    def place_of(self, gone: ElementCopy, stays: ElementCopy) -> tuple[Sum, ...] | None:
        """Where one record has the elements of another one, if it has all of them."""
        here = common(self.scopes.of[gone.store.key], self.scopes.of[stays.store.key])
        if not all(self.scopes.of[one.load.key].inside(here) for one in (gone, stays)):
            return None
        first, last = self.part(stays.store, here), self.part(gone.store, here)
        if first is last or not self.only_loops(stays.store, here):
            return None
        parts = [first, last, self.part(stays.load, here), self.part(gone.load, here)]
        places = [self.scopes.place[part.key] for part in parts]
        window = [stmt for stmt in here.block if min(places) <= self.scopes.place[stmt.key] <= max(places)]
        inner = len(self.records.loops(here) or ())
        own = list(stays.loops[inner:])
        values = self.solved(gone, stays, [loop.var for loop in own])
        if values is None or not self.holds(gone, own, values):
            return None
        behind = gone if window[-1] is last else stays
        if not self.unchanged(gone, stays, own, window) or not self.untouched(behind, window):
            return None
        readers = [access.stmt for access in self.records.accesses_of(gone) if access.stmt is not gone.store]
        if any(self.inside(reader, window) for reader in readers):
            return None
        return self.placed(gone, stays, values)

    def part(self, stmt: Stmt, here: Scope) -> Stmt:
        """The statement of a region that a statement is, or is part of."""
        region = self.scopes.of[stmt.key]
        while region is not here:
            assert region.owner is not None and region.parent is not None
            stmt, region = region.owner, region.parent
        return stmt

    def only_loops(self, stmt: Stmt, here: Scope) -> bool:
        """Whether nothing but loops stand between a region and a statement, so that every iteration comes to it."""
        region = self.scopes.of[stmt.key]
        while region is not here:
            owner = region.owner
            if not isinstance(owner, For) or owner.step != Const(1) or may_leave(owner.body):
                return False
            assert region.parent is not None
            region = region.parent
        return True

    def inside(self, stmt: Stmt, window: list[Stmt]) -> bool:
        region: Scope | None = self.scopes.of[stmt.key]
        while region is not None:
            if any(stmt is one for one in window):
                return True
            if region.owner is None:
                return False
            stmt, region = region.owner, region.parent
        return False

    def solved(self, gone: ElementCopy, stays: ElementCopy, own: list[str]) -> dict[str, Sum] | None:
        """In which iterations of its own loops a record has met the elements of another one."""
        values: dict[str, Sum] = {}
        for mine, wanted in zip(stays.subs, gone.subs, strict=True):
            counting = [name for name in own if name in mine.names()]
            if not counting:
                if mine != wanted:
                    return None
                continue
            (name, *more) = counting
            if more or name in values or mine.factor(name) != 1 or "*" in "".join(n for n, _ in mine.terms):
                return None
            values[name] = wanted.plus(mine.plus(Sum.of(name), -1), -1)
        return values if len(values) == len(own) else None

    def holds(self, gone: ElementCopy, own: list[For], values: dict[str, Sum]) -> bool:
        """Whether a record's loops, which make all iterations of their ranges, come to these."""
        where = self.scopes.of[gone.store.key]
        for loop in own:
            start, stop = self.integers.bound(loop.start, loop), self.integers.bound(loop.stop, loop)
            if start is None or stop is None:
                return False
            value = values[loop.var]
            if not self.integers.never_negative(value.plus(start.with_(values), -1), where):
                return False
            if not self.integers.never_negative(stop.with_(values).plus(value, -1).plus(Sum(number=1), -1), where):
                return False
        return True

    def unchanged(self, gone: ElementCopy, stays: ElementCopy, own: list[For], window: list[Stmt]) -> bool:
        """Whether what the subscripts of both are made of is the same for both."""
        bounds = [self.integers.bound(bound, loop) for loop in own for bound in (loop.start, loop.stop)]
        sums = [*stays.index, *stays.subs, *(bound for bound in bounds if bound is not None)]
        names = {name for sum_ in sums for name in sum_.names()} - {loop.var for loop in own}
        return not (names | {gone.array}) & written_in(window)

    def untouched(self, behind: ElementCopy, window: list[Stmt]) -> bool:
        """Whether nothing stores into the array before the later of two records, in a window, has been made."""
        memory = self.iterations.aliases.find(behind.array)
        *before, last = window
        touched = [access for access in self.iterations.accesses((last,)) if self.touches(access, memory)]
        if any(self.touches(access, memory) for access in self.iterations.accesses(tuple(before))):
            return False
        if not touched:
            return True
        # each iteration may store into the element that it has loaded, and no other iteration loads that
        counted = [name_of(sum_) for sum_ in behind.subs]
        inner = [loop.var for loop in behind.loops if loop.var in written_in([last])]
        if any(counted.count(var) != 1 for var in inner):
            return False
        loaded = self.scopes.of[behind.load.key]
        for access in touched:
            stmt = access.stmt
            if not isinstance(stmt, Store) or stmt.array != behind.array:
                return False
            if self.records.sums(stmt.index, stmt) != behind.subs:
                return False
            after = self.scopes.place[stmt.key] > self.scopes.place[behind.load.key]
            if not after or not self.scopes.of[stmt.key].inside(loaded):
                return False
        return True

    def touches(self, access: Access, memory: str) -> bool:
        return access.kind != "load" and self.iterations.aliases.find(access.array) == memory

    def placed(self, gone: ElementCopy, stays: ElementCopy, values: dict[str, Sum]) -> tuple[Sum, ...] | None:
        """The subscripts of the record that stays, in those of the other one."""
        places: dict[str, Sum] = {}
        for axis, sum_ in enumerate(gone.index):
            name = name_of(sum_)
            if name is not None:
                places.setdefault(name, Sum.of(f"#{axis}").plus(Sum(number=sum_.number), -1))
        found = tuple(sum_.with_(values).with_(places) for sum_ in stays.index)
        along = f"#{len(gone.index) - 1}"
        if abs(found[-1].factor(along)) != 1 or any(along in sum_.names() for sum_ in found[:-1]):
            return None
        names = {name for sum_ in found for name in sum_.names() if not name.startswith("#")}
        scopes_of = [self.scopes.scope_of[name] for name in (*names, stays.buffer)]
        if any(self.scopes.merged(name) for name in names) or any(scope.loops() for scope in scopes_of):
            return None
        readers = [self.scopes.of[access.stmt.key] for access in self.records.accesses_of(gone)]
        return found if all(reader.inside(scope) for reader in readers for scope in scopes_of) else None


class _Change:
    """Writes the function without records."""

    def __init__(self, records: ElementCopies, found: list[_Pair]) -> None:
        self.records = records
        self.fresh = Fresh(records.iterations.types)
        self.pairs = {one.gone.buffer: one for one in found}
        self.gone = {one.gone.store.key for one in found}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if stmt.key in self.gone:
                continue
            if not isinstance(stmt, Assign):
                out.append(map_blocks(stmt, self.block))
            elif stmt.target not in self.pairs and self.records.viewed(stmt.target, ())[0] not in self.pairs:
                out += self.loaded(stmt)
        return tuple(out)

    def loaded(self, stmt: Assign) -> list[Stmt]:
        """A load from a record that is gone, from the other one."""
        match stmt.value:
            case Op(fn="load", args=(Name(id=name), *subs)):
                array, index = self.records.viewed(name, tuple(s for s in subs if isinstance(s, Name | Const)))
            case _:
                return [stmt]
        if array not in self.pairs:
            return [stmt]
        pair = self.pairs[array]
        out: list[Stmt] = []
        atoms = [self.atom(sum_, index, stmt, out) for sum_ in pair.index]
        return [*out, replace(stmt, value=Op("load", (Name(pair.stays.buffer), *atoms)))]

    def atom(self, sum_: Sum, index: tuple[Atom, ...], stmt: Assign, out: list[Stmt]) -> Atom:
        """A sum of a load's subscripts and other names, computed."""
        # what is added comes first: `t - i` is shorter than `-i + t`
        terms = sorted(sum_.terms, key=lambda term: term[1] < 0)
        total: Atom | None = None if terms or sum_.number else Const(0)
        for product, factor in terms:
            parts = [index[int(name[1:])] if name.startswith("#") else Name(name) for name in product.split("*")]
            part = parts[0]
            for other in parts[1:]:
                part = self.computed("*", part, other, stmt, out)
            if abs(factor) != 1 or (total is None and factor < 0):
                part = self.computed("*", part, Const(factor if total is None else abs(factor)), stmt, out)
            if total is not None:
                part = self.computed("+" if factor > 0 else "-", total, part, stmt, out)
            total = part
        if sum_.number and total is not None:
            sign = "+" if sum_.number > 0 else "-"
            return self.computed(sign, total, Const(abs(sum_.number)), stmt, out)
        return Const(sum_.number) if total is None else total

    def computed(self, fn: str, first: Atom, second: Atom, stmt: Assign, out: list[Stmt]) -> Name:
        name = self.fresh("size", INT64)
        out.append(Assign(name, Op(fn, (first, second)), stmt.span))
        return Name(name)


def _may_keep_twice(function: Function) -> bool:
    """Whether elements of one array are stored in two others, as they are."""
    loaded: dict[str, str] = {}
    kept: dict[str, set[str]] = {}
    for stmt in walk(function.body):
        match stmt:
            case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *_))):
                loaded[target] = array
            case Store(array=buffer, value=Name(id=value), accumulate=False) if value in loaded:
                kept.setdefault(loaded[value], set()).add(buffer)
    return any(len(buffers) > 1 for buffers in kept.values())
