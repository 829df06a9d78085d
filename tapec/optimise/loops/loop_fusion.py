"""Run a loop in the iterations of an earlier one that makes what it uses.

    for i in range(n):                        total = 0.0
        out[i] = model(x[i])                  for i in range(n):
    total = 0.0                       ->          out[i] = model(x[i])
    for i in range(n):                            total = total + (out[i] - y[i]) ** 2
        total = total + (out[i] - y[i]) ** 2

Then an iteration knows the derivative of what it makes, and can be reversed as soon as it has run: nothing is stored
for it.

The loops have the same iterations, which can run in any order.  The later one uses no variable of the earlier one, and
where one of them writes what the other uses, each iteration keeps to the elements that have its number, also of two
rows that may be one, as in `a[i] -= f * a[k]`, where the product is an array of its own at first.  What the earlier
loop makes is used nowhere else: its derivatives would come too late otherwise, and more would be stored.  Nests that
copy elements into one array, such as the parts that `np.concatenate` puts together, need nothing stored, and are joined
whatever uses the array.  What stands between the loops is numbers, views, allocations, and checks that may as well be
made before.  A loop of elementary functions on vectors is not joined with one that cannot run on vectors, unless that
has loops inside, which take longer, and neither is in a loop; nor is a loop that may be written out.

Expects one name per value, as `number_values` leaves it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS, is_memory
from tapec.analyses.iterations import Access, Iterations
from tapec.optimise import costs
from tapec.optimise.vector_operations import VECTORISED
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Note,
    Op,
    Raise,
    Stmt,
    Store,
    blocks,
    literal_range,
    loop_depth,
    map_blocks,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.linear import Sum
from tapec.syntax.renaming import replaced


def fuse_loops(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops in one; see the module."""
    for _ in range(costs.FUSION_ROUNDS):
        worker = _Together(function)
        body = worker.block(function.body)
        if not worker.joined:
            break
        function = replace(function, body=body)
    return function


class _Together:
    def __init__(self, function: Function) -> None:
        self.types = function.types
        self.iterations = Iterations(function)
        # accesses by memory
        self.uses = self.counted(function.body)
        self.given = {self.iterations.aliases.find(name) for name in function.params}
        self.joined = False
        # whether the block that is visited stands in a loop
        self.inside = False

    def counted(self, block: Block) -> Counter[str]:
        return Counter(self.iterations.aliases.find(access.array) for access in self.iterations.accesses(block))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        rest = list(block)
        while rest:
            first = rest.pop(0)
            place = self.partner(first, rest) if isinstance(first, For) else None
            if place is None:
                around = self.inside
                self.inside = around or isinstance(first, For | Loop)
                out.append(map_blocks(first, self.block))
                self.inside = around
                continue
            second = rest[place]
            assert isinstance(first, For) and isinstance(second, For)
            out += rest[:place]
            # it may make what the next one uses, too
            self.joined = True
            rest[: place + 1] = [fused(first, second, "loop_fusion", self.iterations)]
        return tuple(out)

    def partner(self, first: For, rest: list[Stmt]) -> int | None:
        """Where the loop stands that can run together with one that the statements follow."""
        place = next((k for k, stmt in enumerate(rest) if not self.quiet(stmt)), None)
        if place is None:
            return None
        second = rest[place]
        if not isinstance(second, For) or not _same_iterations(first, second) or not self.iterations.fixed(first.stop):
            return None
        if _short(first):
            return None
        copied = self.copies_into_one(first, second)
        apart = self.independent(first, [*rest[:place], second]) and self.feeds(first, second, copied)
        kept = copied or self.alone(first, second)
        fits = apart and kept and all(map(self.iterations.is_parallel, (first, second)))
        return place if fits and not self.slower(first, second) and not self.slower(second, first) else None

    def copies_into_one(self, first: For, second: For) -> bool:
        """Whether nests copy elements into one array: parts that are put together."""
        memories = [
            {self.iterations.aliases.find(stmt.array) for stmt in walk(loop.body) if isinstance(stmt, Store)}
            for loop in (first, second)
        ]
        own = memories[0] == memories[1] and len(memories[0]) == 1 and memories[0].isdisjoint(self.given)
        return own and all(map(_copies, (first, second)))

    def alone(self, first: For, second: For) -> bool:
        """Whether what a loop writes is the function's own, and used in the two loops alone."""
        inside = self.counted((first, second))
        written = {
            self.iterations.aliases.find(one.array)
            for one in self.iterations.accesses(first.body)
            if one.kind != "load"
        }
        return self.given.isdisjoint(written) and all(self.uses[memory] == inside[memory] for memory in written)

    def quiet(self, stmt: Stmt) -> bool:
        """Whether a statement may as well stand before a loop whose variables and elements it does not use."""
        match stmt:
            case Note() | Raise():
                return True
            case If():
                return all(self.quiet(inner) for block in blocks(stmt) for inner in block)
            case Assign(value=Op(fn=fn)) if fn == "dim" or fn in ALLOCATIONS or fn in VIEWS:
                return True
            case Assign(value=Op(fn=fn)) if fn.startswith("np.random"):
                return False
            case Assign():
                return not any(is_memory(self.types.get(name)) for name in (*reads(stmt), *writes(stmt)))
        return False

    def independent(self, loop: For, others: list[Stmt]) -> bool:
        """Whether other statements use no variable that a loop sets, and set none that it uses."""
        mine, theirs = list(walk((loop,))), list(walk(others))
        set_here = {name for stmt in mine for name in writes(stmt)}
        set_there = {name for stmt in theirs for name in writes(stmt)}
        used_there = {name for stmt in theirs for name in reads(stmt)}
        return set_here.isdisjoint(set_there | used_there) and set_there.isdisjoint(n for s in mine for n in reads(s))

    def feeds(self, first: For, second: For, copied: bool) -> bool:
        """Whether a loop uses elements that an earlier one makes, those of its own iteration alone.

        copied  whether it is enough that it uses none of another iteration
        """
        found = copied
        later: dict[str, list[Access]] = {}
        for access in self.iterations.accesses(second.body):
            later.setdefault(self.iterations.aliases.find(access.array), []).append(access)
        written = frozenset(written_in((first, second)))
        # a copy of what a nest has made does not keep the nest from lanes when it stays outside
        even = loop_depth(first.body) == loop_depth(second.body)
        inside = {name for loop in (first, second) for stmt in walk(loop.body) for name in writes(stmt)}
        for one in self.iterations.accesses(first.body):
            for other in later.get(self.iterations.aliases.find(one.array), ()):
                if one.kind == other.kind == "load" or (even and self.iterations.new_disjoint(one, other, written)):
                    continue
                if not self.same_iteration(one, first, other, second, inside):
                    return False
                found = found or (one.kind == "store" and other.kind == "load")
        return found

    def same_iteration(self, one: Access, first: For, other: Access, second: For, inside: set[str]) -> bool:
        """Whether a subscript tells that two accesses meet in iterations of the same number only.

        inside  the names that the loops set
        """
        here, there = self.element(one, inside), self.element(other, inside)
        if one.array == other.array and one.array not in inside:
            here, there = self.direct(one), self.direct(other)
        if here is None or there is None or here[0] != there[0]:
            return False
        integers = self.iterations.dependence.integers
        for sub, other_sub in zip(here[1], there[1], strict=False):
            if sub is None or other_sub is None or first.var not in sub.names():
                continue
            still = sub.names() - {first.var}
            stands = still.isdisjoint(inside) and all(self.iterations.fixed(Name(name)) for name in still)
            if stands and sub == other_sub.with_({second.var: Sum.of(first.var)}):
                return all(
                    integers.never_negative(number, self.iterations.region(access.stmt))
                    for number, access in ((sub, one), (other_sub, other))
                )
        return False

    def direct(self, access: Access) -> tuple[str, list[Sum | None]] | None:
        """The array of an access, and subscripts as sums; None if it is of all elements."""
        if access.index is None:
            return None
        return access.array, [self.iterations.dependence.integers.sum(sub) for sub in access.index]

    def element(self, access: Access, inside: set[str]) -> tuple[str, list[Sum | None]] | None:
        """The same of the array that a view is of, if that has one name throughout."""
        if access.index is None:
            return None
        array, subs = self.iterations.dependence.element(access.array, access.index)
        return (array, subs) if array not in inside and self.iterations.fixed(Name(array)) else None

    def slower(self, one: For, other: For) -> bool:
        """Whether a loop of elementary functions would no longer run on vectors for the sake of another one."""
        values = (stmt.value for stmt in walk(one.body) if isinstance(stmt, Assign))
        calls = any(isinstance(value, Op) and value.fn in VECTORISED and not _multiplies(value) for value in values)
        longer = not self.inside and any(isinstance(stmt, For | Loop) for stmt in other.body)
        return calls and self.straight(one) and not self.straight(other) and not longer

    def straight(self, loop: For) -> bool:
        """Whether a loop has no ways, no loops, and elements at numbers of its iterations."""
        if any(isinstance(stmt, If | For | Loop) for stmt in walk(loop.body)):
            return False
        inside = written_in(loop.body)
        subs = (sub for access in self.iterations.accesses(loop.body) for sub in access.index or ())
        known = (self.iterations.subscript(self.around(sub)) for sub in subs)
        return all(affine is not None and affine.base not in inside for affine in known)

    def around(self, sub: Expr) -> Expr:
        """A subscript as it is between the edges of a ring, which `loop_peeling` gives loops of their own."""
        match self.iterations.definition(sub) if isinstance(sub, Name) else None:
            case Op(fn="%", args=(number, _)):
                return number
        return sub


def fused(first: For, second: For, by: str, iterations: Iterations) -> For:
    """Two loops in one, as a pass says of itself."""
    remark(second.span, by, "runs in the iterations of {0}", "", first.span)
    begin, end = _parted(first.body, iterations)
    body, last = _parted(replaced(second.body, {second.var: Name(first.var)}), iterations)
    return replace(first, body=(*begin, *body, *end, *last))


def _parted(body: Block, iterations: Iterations) -> tuple[Block, Block]:
    """A loop's body, and the copies that end it: what the next iteration finds in variables."""
    place = len(body)
    while place and isinstance(stmt := body[place - 1], Assign) and isinstance(stmt.value, Name | Const):
        if iterations.fixed(Name(stmt.target)):
            break
        place -= 1
    return body[:place], body[place:]


def _same_iterations(first: For, second: For) -> bool:
    """Whether two loops make the same iterations."""
    if first.slots is not None or second.slots is not None or first.parallel != second.parallel:
        return False
    iterations = (first.start, first.stop, first.step)
    return iterations == (second.start, second.stop, second.step) and first.step == Const(1)


def _copies(loop: For) -> bool:
    """Whether a nest has loops, copies of elements, and sums of integers."""
    for stmt in walk(loop.body):
        match stmt:
            case For() | Store(accumulate=False):
                pass
            case Assign(value=Op(fn="load" | "+" | "-")):
                pass
            case _:
                return False
    return True


def _multiplies(value: Op) -> bool:
    """Whether a power is products of its base."""
    return value.fn == "**" and isinstance(value.args[1], Const) and isinstance(value.args[1].value, int)


def _short(loop: For) -> bool:
    """Whether a loop is known to make few iterations, which would be too long to write out in pairs."""
    counted = literal_range(loop)
    return counted is not None and len(counted) <= costs.UNROLLED_ITERATIONS
