"""Join loops of the generated function that come to the same elements.

    for i in range(n):                        for i in range(n):
        t = x[i] * x[i] - c                       t = x[i] * x[i] - c
        x_bar[i] = t * x[i]                       x_bar[i] = t * x[i]
    total = 0.0                       ->          total += abs(x[i])
    for i in range(n):
        total += abs(x[i])

Each pass over memory that is left out is time where arrays are larger than the caches.  Arrays that were made for the
second loop alone become numbers of an iteration (`privatisation`, `scalar_replacement`).

The loops have the same iterations, which can run in any order.  Where one of them writes what the other uses, each
iteration keeps to the elements that have its number on one axis, so that an iteration of the second loop needs no other
iteration of the first one.  Statements between the loops stand before both, or behind both if they need the first one;
the second one then may not need them.

`fuse_neighbours` joins loops without loops around or inside, where arrays are large.  `fuse_inner_neighbours` comes
after the passes that look for products and stencils, and takes loops in loops, too, and nests of two: rows of a matrix
that are written, summed and divided by their sums run once over what is in the first cache.  Nests of different depth
stay apart, since the deeper one may run in lanes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from tapec.analyses.iterations import Access, Iterations
from tapec.optimise import costs
from tapec.optimise.buffers.privatisation import privatise
from tapec.optimise.buffers.scalar_replacement import replace_small_arrays
from tapec.optimise.loops.loop_fusion import fused
from tapec.optimise.loops.store_forwarding import forward_stores
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.value_numbering import number_values
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Stmt,
    Store,
    loop_depth,
    map_blocks,
    reads,
    walk,
    writes,
    written_in,
)


def fuse_neighbours(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops joined; see the module."""
    before = function
    for _ in range(costs.FUSION_ROUNDS):
        if sum(isinstance(stmt, For) for stmt in function.body) < 2:
            break
        body = _Neighbours(function, depth=1).joined(function.body)
        if len(body) == len(function.body):
            break
        function = replace(function, body=body)
    if function is before:
        return function
    function = drop_dead_code(number_values(function, constants), constants)
    function = replace_small_arrays(privatise(function, constants), constants)
    return forward_stores(drop_dead_code(number_values(function, constants), constants))


def fuse_inner_neighbours(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops joined inside of other loops; see the module."""
    before = function
    fit: dict[int, tuple[Stmt, bool]] = {}
    for _ in range(costs.FUSION_ROUNDS):
        worker = _Neighbours(function, 2, fit)
        body = worker.joined(tuple(map(worker.inside, function.body)))
        if not worker.found:
            break
        function = replace(function, body=body)
        # what is known of loops that have not been joined holds in the next round
        fit = worker.still_fit()
    if function is before:
        return function
    return forward_stores(drop_dead_code(number_values(function, constants), constants))


@dataclass(frozen=True)
class _Used:
    """What a statement reads and writes: names, and memory (as `Aliases.find` has it)."""

    read: frozenset[str]
    written: frozenset[str]
    # of memory, elements
    loaded: frozenset[str]
    stored: frozenset[str]

    def conflicts(self, other: _Used) -> bool:
        """Whether the order of two statements matters."""
        return not (
            self.written.isdisjoint(other.read | other.written)
            and other.written.isdisjoint(self.read)
            and self.stored.isdisjoint(other.loaded | other.stored)
            and other.stored.isdisjoint(self.loaded)
        )

    def without_memory(self) -> _Used:
        return replace(self, loaded=frozenset(), stored=frozenset())


class _Neighbours:
    """Joins loops of one function.

    depth    how deep the nests are that are joined
    earlier  whether loops fit, by their keys, as far as that is known from before others were joined
    """

    def __init__(self, function: Function, depth: int, earlier: dict[int, tuple[Stmt, bool]] | None = None) -> None:
        self.depth = depth
        self.iterations = Iterations(function)
        self.found = 0
        self.stmts: list[Stmt] = []
        find = self.iterations.aliases.find
        # accesses by memory; arguments and what is returned are used by the caller, too
        self.uses = Counter(find(one.array) for one in self.iterations.accesses(function.body))
        self.uses.update(map(find, function.params))
        self._used: dict[int, tuple[Stmt, _Used]] = {}
        self._earlier = earlier or {}
        self._fit: dict[int, tuple[Stmt, bool]] = {}

    def still_fit(self) -> dict[int, tuple[Stmt, bool]]:
        """Of the function's own loops, whether they fit; others have been made here, and are not in its facts."""
        own = self.iterations.scopes.body
        return {key: known for key, known in self._fit.items() if key in own and own[key][0].owner is known[0]}

    def inside(self, stmt: Stmt) -> Stmt:
        """A statement with loops joined inside its loops, the innermost that are first."""
        made = map_blocks(stmt, lambda block: tuple(map(self.inside, block)))
        return map_blocks(made, self.joined) if isinstance(made, For | Loop) else made

    def joined(self, block: Block) -> Block:
        """A block's statements, where each loop has been joined with at most one other."""
        if sum(isinstance(stmt, For) for stmt in block) < 2:
            return block
        self.stmts = list(block)
        place = 0
        while place < len(self.stmts):
            first = self.stmts[place]
            found = self.partner(place, first) if isinstance(first, For) and self.fits(first) else None
            if found is not None:
                second, behind = found
                between = self.stmts[place + 1 : second]
                later = [stmt for stmt in between if stmt.key in behind]
                before = [stmt for stmt in between if stmt.key not in behind]
                loop = self.stmts[second]
                assert isinstance(first, For) and isinstance(loop, For)
                both = fused(first, loop, "neighbour_fusion", self.iterations)
                self.stmts[place : second + 1] = [*before, both, *later]
                place += len(before)
                self.found += 1
            place += 1
        return tuple(self.stmts)

    def partner(self, place: int, first: For) -> tuple[int, set[int]] | None:
        """Where the next loop stands that can be joined, and which statements between them (by id) go behind both."""
        behind: dict[int, _Used] = {}
        mine = self.used(first)
        for k in range(place + 1, min(place + 1 + costs.FUSION_DISTANCE, len(self.stmts))):
            stmt = self.stmts[k]
            if not self.iterations.free_of_effects((stmt,)):
                return None
            used = self.used(stmt)
            waits = any(used.conflicts(other) for other in behind.values())
            if isinstance(stmt, For) and not waits and self.fits(stmt) and self.joins(first, stmt):
                return k, set(behind)
            # a heading of what follows stays in front of it
            if waits or used.conflicts(mine) or isinstance(stmt, Note):
                behind[stmt.key] = used
        return None

    def used(self, stmt: Stmt) -> _Used:
        known = self._used.get(stmt.key)
        if known is None:
            inside = list(walk((stmt,)))
            accesses = list(self.iterations.accesses((stmt,)))
            stored = (one for one in accesses if one.kind != "load")
            # an addition to an element reads it, too
            loaded = (one for one in accesses if one.kind != "store")
            find = self.iterations.aliases.find
            known = self._used[stmt.key] = (
                stmt,
                _Used(
                    frozenset(name for one in inside for name in reads(one)),
                    frozenset(name for one in inside for name in writes(one)),
                    frozenset(find(one.array) for one in loaded),
                    frozenset(find(one.array) for one in stored),
                ),
            )
        return known[1]

    def fits(self, loop: For) -> bool:
        """Whether a loop may be joined with another one at all: it has no ways, and elements at known places."""
        known = self._fit.get(loop.key)
        if known is None and loop.key in self._earlier and self._earlier[loop.key][0] is loop:
            known = self._fit[loop.key] = self._earlier[loop.key]
        if known is None:
            plain = loop.step == Const(1) and not loop.parallel and not loop.independent and loop.slots is None
            fits = plain and _straight(loop.body) and loop_depth((loop,)) <= self.depth
            fits = fits and self.iterations.fixed(loop.stop) and self.iterations.is_parallel(loop)
            known = self._fit[loop.key] = loop, fits and self.in_order(loop)
        return known[1]

    def in_order(self, loop: For) -> bool:
        """Whether all subscripts go up or down with the iterations, or stand still."""
        counters = {stmt.var for stmt in walk(loop.body) if isinstance(stmt, For)}
        inside = set(written_in(loop.body)) - counters
        for access in self.iterations.accesses(loop.body):
            for sub in access.index or (None,):
                known = None if sub is None else self.iterations.dependence.integers.sum(sub)
                if known is None or abs(known.factor(loop.var)) > 1 or not inside.isdisjoint(known.names()):
                    return False
        return True

    def joins(self, first: For, second: For) -> bool:
        """Whether two loops make the same iterations, and one needs no variable of the other."""
        shapes = ((loop.start, loop.stop, loop_depth((loop,))) for loop in (first, second))
        names = (self.used(loop).without_memory() for loop in (first, second))
        return next(shapes) == next(shapes) and not next(names).conflicts(next(names)) and self.share(first, second)

    def share(self, first: For, second: For) -> bool:
        """Whether loops meet the same elements, and in iterations of the same number only where one of them writes."""
        mine, theirs = ([*self.iterations.accesses(loop.body)] for loop in (first, second))
        if self.comparisons([*mine, *theirs]) > costs.LLVM_COMPARISONS:
            return False
        set_inside = {name for loop in (first, second) for stmt in walk(loop.body) for name in writes(stmt)}
        shared = False
        for one in mine:
            for other in theirs:
                if not self.iterations.may_share(one.array, other.array):
                    continue
                same = one.array == other.array and one.array not in set_inside
                same = same and self.same_iteration(one, first, other, second)
                if not same and not one.kind == other.kind == "load":
                    return False
                shared = shared or same
        return shared

    def comparisons(self, accesses: list[Access]) -> int:
        """How many pairs of arrays a loop has to tell apart, of which at least one is written.

        Arrays that nothing else uses will be numbers.
        """
        find = self.iterations.aliases.find
        inside = Counter(find(one.array) for one in accesses)
        stays = [one for one in accesses if inside[find(one.array)] < self.uses[find(one.array)]]
        written = {find(one.array) for one in stays if one.kind != "load"}
        others = {find(one.array) for one in stays} - written
        return len(written) * (len(written) - 1) // 2 + len(written) * len(others)

    def same_iteration(self, one: Access, first: For, other: Access, second: For) -> bool:
        """Whether two accesses are of the element that has the iteration's own number, in both loops, on one axis."""
        if one.index is None or other.index is None:
            return False
        return (Name(first.var), Name(second.var)) in zip(one.index, other.index, strict=True)


def _straight(body: Block) -> bool:
    """Whether branches only choose between values, in loops inside, too."""
    chosen = (stmt for one in walk(body) if isinstance(one, If) for stmt in walk((one,)))
    return all(isinstance(stmt, Assign | Store | If | For) for stmt in walk(body)) and all(
        isinstance(stmt, Assign | If) for stmt in chosen
    )
