"""Add nothing where there is nothing to add.

The adjoint of a choice is zero on the side that was not taken, and adding it is work without effect.
What only spreads such an adjoint moves to the side where it is not zero.

    if taken:                             if taken:
        t_bar = y_bar                         x_bar[i] += w[i] * y_bar
    else:                          ->         w_bar[i] += x[i] * y_bar
        t_bar = 0.0
    x_bar[i] += w[i] * t_bar
    w_bar[i] += x[i] * t_bar

Done where at least two elements are added to: a single addition runs faster without a branch.  Short loops that do
nothing but spread the adjoint, over the coordinates of a point, say, move with it; longer ones may run on vectors, or
side by side with others, and stay.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.iterations import Iterations
from tapec.optimise import costs
from tapec.optimise.name_origins import is_adjoint
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    For,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    literal_range,
    map_blocks,
    mentions,
    reads,
    walk,
    writes,
)


def skip_zeros(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with additions of zero taken out; see the module.  Afterwards a name may have several values."""
    worker = _Zeros(function)
    return replace(function, body=worker.block(function.body))


class _Zeros:
    def __init__(self, function: Function) -> None:
        self.iterations = Iterations(function)
        self.uses: Counter[str] = Counter()
        for stmt in walk(function.body):
            self.uses.update(reads(stmt))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        rest = list(block)
        while rest:
            stmt = map_blocks(rest.pop(0), self.block)
            if isinstance(stmt, If):
                for name, side in self.zeros(stmt):
                    spread = self.spread(name, rest)
                    if sum(isinstance(s, Store) for s in walk(spread)) >= costs.SKIPPED_STORES:
                        self.remark(stmt)
                        stmt = self.moved(stmt, side, spread)
                        taken = {s.key for s in spread}
                        rest = [s for s in rest if s.key not in taken]
            out.append(stmt)
        return tuple(out)

    def remark(self, stmt: If) -> None:
        why = "on the other side the adjoint is zero"
        remark(stmt.span, "zero_skipping", "what one side spreads is added on that side alone", why)

    def zeros(self, stmt: If) -> list[tuple[str, bool]]:
        """The adjoints that one side sets to zero, and whether that is the second side."""
        if any(isinstance(s, Break | Raise) for s in walk((stmt,))):
            return []
        sides = [{s.target: s.value for s in side if isinstance(s, Assign)} for side in (stmt.body, stmt.orelse)]
        found = []
        for name in sides[0].keys() & sides[1].keys():
            values = [side[name] for side in sides]
            if is_adjoint(name) and values.count(Const(0.0)) == 1 and len(self.iterations.scopes.defs[name]) == 2:
                found.append((name, values[1] == Const(0.0)))
        return sorted(found)

    def spread(self, name: str, rest: list[Stmt]) -> list[Stmt]:
        """The statements that do nothing but add multiples of an adjoint; none if they are not all of its uses."""
        names, found = {name}, list[Stmt]()
        left = self.uses[name]
        passed: list[Stmt] = []
        for stmt in rest:
            used = sum(read in names for inner in walk((stmt,)) for read in reads(inner))
            if not used:
                passed.append(stmt)
                continue
            made = self.spreads(stmt, names)
            factors = self.factors(stmt, passed)
            passed = [other for other in passed if not any(other is one for one in factors)]
            if made is None or any(self.between(one, other) for one in (*factors, stmt) for other in passed):
                return []
            found += [*factors, stmt]
            left += sum(self.uses[one] for one in made) - sum(
                read in names or read in made for inner in walk((stmt,)) for read in reads(inner)
            )
            names |= made
        inside = Counter(read for stmt in found for inner in walk((stmt,)) for read in reads(inner))
        moved = {name for stmt in found for name in writes(stmt)} - names
        return found if left == 0 and all(inside[one] == self.uses[one] for one in moved) else []

    def factors(self, stmt: Stmt, passed: list[Stmt]) -> list[Stmt]:
        """The computations of numbers among `passed` that a statement needs, in their order."""
        needed = {name for inner in walk((stmt,)) for name in reads(inner)}
        found: list[Stmt] = []
        for one in reversed(passed):
            if isinstance(one, Assign) and one.target in needed and self.is_number(one):
                found.insert(0, one)
                needed |= set(reads(one))
        return found

    def spreads(self, stmt: Stmt, names: set[str]) -> set[str] | None:
        """The multiples that a statement, or a short loop, computes of `names`; None if it does anything else."""
        if not isinstance(stmt, For):
            if not self.multiple(stmt, names):
                return None
            return {stmt.target} if isinstance(stmt, Assign) else set()
        iterations = literal_range(stmt)
        if iterations is None or len(iterations) > costs.SKIPPED_ITERATIONS or stmt.parallel or stmt.slots is not None:
            return None
        made: set[str] = set()
        others = {stmt.var}
        for inner in stmt.body:
            if isinstance(inner, Assign) and names.isdisjoint(reads(inner)) and made.isdisjoint(reads(inner)):
                if not self.is_number(inner):
                    return None
                others.add(inner.target)
            elif isinstance(inner, Assign | Store) and self.multiple(inner, names | made):
                made |= set(writes(inner))
            else:
                return None
        # nobody else may read what moves with the loop
        inside = Counter(name for inner in stmt.body for name in reads(inner))
        return made if all(inside[name] == self.uses[name] for name in others) else None

    def is_number(self, stmt: Assign) -> bool:
        """Whether a statement computes a number that has no other value, and does nothing else."""
        if is_memory(self.iterations.types[stmt.target]) or not self.iterations.fixed(Name(stmt.target)):
            return False
        return not isinstance(stmt.value, Op) or (
            stmt.value.fn != "pop" and bool(stmt.value.args) and not stmt.value.fn.startswith("np.random")
        )

    def multiple(self, stmt: Stmt, names: set[str]) -> bool:
        """Whether a statement computes or adds a multiple of one of `names`, which has no other value."""
        match stmt:
            case Assign(target=target, value=Op(fn=fn, args=args)) if self.iterations.fixed(Name(target)):
                involved = [mentions(arg, names) for arg in args]
                if fn == "neg" or (fn in ("+", "-") and all(involved)):
                    return True
                return (fn == "*" and sum(involved) == 1) or (fn == "/" and involved == [True, False])
            case Store(index=index, value=Name(id=value), accumulate=True):
                return value in names and not any(mentions(sub, names) for sub in index)
        return False

    def between(self, moved: Stmt, passed: Stmt) -> bool:
        """Whether `moved` cannot go before `passed`."""
        inner = list(walk((moved,)))
        read = {name for one in inner for name in reads(one)}
        if set(writes(passed)) & read or not isinstance(passed, Assign | Store):
            return True
        if isinstance(passed, Store) and any(
            access.kind == "load" and self.iterations.may_share(access.array, passed.array)
            for access in self.iterations.accesses((moved,))
        ):
            return True
        stored = [one.array for one in inner if isinstance(one, Store)]
        return any(
            access.kind != "add" and self.iterations.may_share(access.array, array)
            for access in (self.iterations.accesses((passed,)) if stored else ())
            for array in stored
        )

    def moved(self, stmt: If, second: bool, spread: list[Stmt]) -> If:
        """The branch with statements added to the side where the adjoint is not zero."""
        if second:
            return replace(stmt, body=(*stmt.body, *spread))
        return replace(stmt, orelse=(*stmt.orelse, *spread))
