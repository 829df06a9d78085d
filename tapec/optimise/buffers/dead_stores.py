"""Leave out what the last loop over an array stores into it: nobody reads it afterwards.

    for i in range(n):                        for i in range(n):
        y_bar[i] += s_bar                         t = y_bar[i] + s_bar
        x_bar[i] = y[i] * y_bar[i]     ->         x_bar[i] = y[i] * t

Loops that have been joined leave such stores: the one before them had been read by the other.  The array is made in the
block of the loop, has one name, and is used by element only; in the loop every use is of one element, that of the
iteration. No other iteration uses it: subscripts below zero, which mean elements from the end, are refused.

So are stores into an array that an iteration has taken over from the one before, and gives up for one that it has made:

    for k in range(n - 1, -1, -1):            for k in range(n - 1, -1, -1):
        made = first if k == 0 else ...           made = first if k == 0 else ...
        for i in range(m):                        for i in range(m):
            t = carried[i]            ->              t = carried[i]
            carried[i] = 0.0                          made[i] += t * y[k, i]
            made[i] += t * y[k, i]                carried = made
        carried = made
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeGuard

from tapec.analyses.aliases import ALLOCATIONS, aliases, is_memory
from tapec.analyses.carried_arrays import CarriedArrays
from tapec.analyses.facts import facts
from tapec.analyses.iterations import Iterations
from tapec.optimise.name_origins import Fresh
from tapec.optimise.simplify.value_numbering import number_values
from tapec.remarks import Named, remark
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
    Return,
    Stmt,
    Store,
    blocks,
    changed,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, Array


def drop_dead_stores(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function without such stores; see the module."""
    worker = _LastStores(number_values(function, constants))
    body = worker.block(worker.function.body)
    return replace(worker.function, body=body, types=worker.fresh.types) if worker.found else function


class _LastStores:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.fresh = Fresh(function.types)
        self.iterations = Iterations(function)
        self.found = False
        known = aliases(function)
        names = Counter(known.find(name) for name, type_ in function.types.items() if is_memory(type_))
        self.alone = {name for name in function.types if names[known.find(name)] == 1}
        self.defined = Counter(name for stmt in walk(function.body) for name in writes(stmt))
        self.used = _uses(function.body)
        self._mentioned: dict[int, tuple[Stmt, frozenset[str]]] = {}
        self.passed = tuple(facts(function).carried_arrays.values())

    def mentioned(self, stmt: Stmt) -> frozenset[str]:
        """What a statement, and those inside it, name otherwise than for an extent."""
        known = self._mentioned.get(stmt.key)
        if known is None or known[0] is not stmt:
            own = () if _is_extent(stmt) else (*reads(stmt), *writes(stmt), *changed(stmt))
            inner = (self.mentioned(one) for block in blocks(stmt) for one in block)
            known = self._mentioned[stmt.key] = stmt, frozenset(own).union(*inner)
        return known[1]

    def block(self, block: Block) -> Block:
        out = [self.given_up(stmt, map_blocks(stmt, self.block)) for stmt in block]
        made = [stmt.target for stmt in block if self.makes(stmt)]
        if made:
            used = _uses(block)
            last = {name: place for place, stmt in enumerate(block) for name in self.mentioned(stmt)}
            for array in made:
                loop = out[last[array]]
                # what a branch has made may be read in another one later
                if isinstance(loop, For) and used[array] == self.used[array]:
                    out[last[array]] = self.nest(loop, array, ())
        return tuple(out)

    def given_up(self, loop: Stmt, new: Stmt) -> Stmt:
        """A loop, `new` by now, without stores into what its iterations give up."""
        for one in self.passed:
            if one.iteration.owner is not loop or not isinstance(new, For):
                continue
            met = [place for place, stmt in enumerate(new.body) if one.carried in self.mentioned(stmt)]
            # the last statement that names it sets it to what the iteration has made
            last = new.body[met[-2]] if len(met) > 1 else None
            if isinstance(last, For) and self.is_left(one):
                body = list(new.body)
                body[met[-2]] = self.nest(last, one.carried, ())
                new = replace(new, body=tuple(body))
        return new

    def is_left(self, passed: CarriedArrays) -> bool:
        """Whether nobody reads what an iteration has given up: there is no view of it, and no other name."""
        scopes, place, made = self.iterations.scopes, self.iterations.scopes.place, passed.made
        loop = passed.iteration.owner_key
        around = scopes.of[loop]
        members = facts(self.function).members[self.iterations.aliases.find(passed.carried)]
        own = {passed.carried, made, passed.new, passed.first}
        if not members.isdisjoint(self.function.params):
            return False
        begun = min(place[stmt.key] for stmt in scopes.defs[made])
        for stmt in walk(self.function.body):
            named = members.intersection((*reads(stmt), *writes(stmt)))
            if not named or _is_extent(stmt):
                continue
            if isinstance(stmt, Assign) and stmt.target in members:
                whole = isinstance(stmt.value, Op) and stmt.value.fn in ALLOCATIONS
                if not whole and (not isinstance(stmt.value, Name) or stmt.value.id == passed.carried):
                    return False
                # a loop around would find what it was before
                if stmt.target not in own and not scopes.of[stmt.key].inside(around):
                    return False
                continue
            if isinstance(stmt, Call | Push | Return) and not named <= {passed.first}:
                return False
            inside = scopes.of[stmt.key].inside(passed.iteration)
            if passed.new in named and scopes.of[stmt.key] is not scopes.scope_of[passed.new]:
                return False
            if made in named and inside and place[stmt.key] < begun:
                return False
            if named - own and place[stmt.key] > place[loop]:
                return False
        return True

    def makes(self, stmt: Stmt) -> TypeGuard[Assign]:
        """Whether a statement makes an array that has no other name, and no other statement sets it."""
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op) or stmt.value.fn not in ALLOCATIONS:
            return False
        return stmt.target in self.alone and self.defined[stmt.target] == 1

    def nest(self, loop: For, array: str, around: tuple[str, ...]) -> For:
        """A loop without stores into an array that nobody reads after it; the same loop if there are none such."""
        counted = (*around, loop.var)
        met = [place for place, stmt in enumerate(loop.body) if array in self.mentioned(stmt)]
        inner = loop.body[met[0]] if met else None
        if len(met) == 1 and isinstance(inner, For):
            made = self.nest(inner, array, counted)
            return replace(loop, body=(*loop.body[: met[0]], made, *loop.body[met[0] + 1 :]))
        uses = [loop.body[place] for place in met]
        element = self.element(uses, array)
        if element is None or not any(isinstance(stmt, Store) for stmt in uses):
            return loop
        # two numbers of different signs may mean one element
        if not all(element.count(Name(var)) == 1 and self.iterations.never_negative(Name(var)) for var in counted):
            return loop
        return replace(loop, body=self.without(loop.body, array, element))

    def element(self, uses: list[Stmt], array: str) -> tuple[Atom, ...] | None:
        """The subscripts of the one element that some statements read and store, in the array's own type."""
        type_ = self.function.types[array]
        assert isinstance(type_, Array)
        found = set()
        for stmt in uses:
            match stmt:
                case Assign(value=Op(fn="load", args=(_, *subscripts))):
                    found.add(tuple(subscripts))
                case Store(index=index, value=value):
                    own = FLOAT64 if isinstance(value, Const) else self.function.types[value.id]
                    if own != type_.element or (isinstance(value, Const) and not isinstance(value.value, float)):
                        return None
                    found.add(index)
                case _:
                    return None
        return found.pop() if len(found) == 1 else None  # type: ignore[return-value]

    def without(self, body: Block, array: str, element: tuple[Atom, ...]) -> Block:
        """The statements of an iteration with a number in place of its element."""
        type_ = self.function.types[array]
        assert isinstance(type_, Array)
        out: list[Stmt] = []
        value: Atom | None = None
        for stmt in body:
            if array not in self.mentioned(stmt):
                out.append(stmt)
            elif isinstance(stmt, Assign):
                if value is None:
                    out.append(stmt)
                    value = Name(stmt.target)
                else:
                    out.append(replace(stmt, value=value))
            elif isinstance(stmt, Store) and stmt.accumulate:
                if value is None:
                    value = Name(self.fresh("t", type_.element))
                    out.append(Assign(value.id, Op("load", (Name(array), *element)), stmt.span))
                total = Name(self.fresh("t", type_.element))
                out.append(Assign(total.id, Op("+", (value, stmt.value)), stmt.span))
                value = total
            elif isinstance(stmt, Store):
                value = stmt.value
        self.found = True
        span = next(stmt.span for stmt in body if isinstance(stmt, Store) and stmt.array == array)
        why = "nobody reads it after the loop"
        remark(span, "dead_stores", "the last values of `{0}` are not stored", why, Named(array))
        return tuple(out)


def _uses(block: Block) -> Counter[str]:
    """How many statements of a block, and of those inside, name what they name."""
    return Counter(name for stmt in walk(block) for name in {*reads(stmt), *changed(stmt)})


def _is_extent(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn in ("dim", "stride")
