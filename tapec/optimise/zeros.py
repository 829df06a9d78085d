"""Add nothing where there is nothing to add.

The adjoint of a choice is zero on the side that was not taken, and adding it is work without effect.
What only spreads such an adjoint moves to the side where it is not zero.

    if taken:                             if taken:
        t_bar = y_bar                         x_bar[i] += w[i] * y_bar
    else:                          ->         w_bar[i] += x[i] * y_bar
        t_bar = 0.0
    x_bar[i] += w[i] * t_bar
    w_bar[i] += x[i] * t_bar

Done where at least two elements are added to: a single addition runs faster without a branch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tapec.analyses.trips import Trips
from tapec.optimise.names import is_adjoint
from tapec.syntax.core import (
    Assign,
    Block,
    Break,
    Const,
    Expr,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    Store,
    map_blocks,
    names_in,
    reads,
    walk,
    writes,
)

_LEAST = 2


def skip_zeros(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with additions of zero taken out; see the module.  Afterwards a name may have several values."""
    worker = _Zeros(function)
    return replace(function, body=worker.block(function.body))


class _Zeros:
    def __init__(self, function: Function) -> None:
        self.trips = Trips(function)
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
                    if sum(isinstance(s, Store) for s in spread) >= _LEAST:
                        stmt = self.moved(stmt, side, spread)
                        taken = {id(s) for s in spread}
                        rest = [s for s in rest if id(s) not in taken]
            out.append(stmt)
        return tuple(out)

    def zeros(self, stmt: If) -> list[tuple[str, bool]]:
        """The adjoints that one side sets to zero, and whether that is the second side."""
        if any(isinstance(s, Break | Raise) for s in walk((stmt,))):
            return []
        sides = [{s.target: s.value for s in side if isinstance(s, Assign)} for side in (stmt.body, stmt.orelse)]
        found = []
        for name in sides[0].keys() & sides[1].keys():
            values = [side[name] for side in sides]
            if is_adjoint(name) and values.count(Const(0.0)) == 1 and len(self.trips.regions.defs[name]) == 2:
                found.append((name, values[1] == Const(0.0)))
        return sorted(found)

    def spread(self, name: str, rest: list[Stmt]) -> list[Stmt]:
        """The statements that do nothing but add multiples of an adjoint; none if they are not all of its uses."""
        names, found = {name}, list[Stmt]()
        left = self.uses[name]
        passed: list[Stmt] = []
        for stmt in rest:
            used = sum(read in names for read in reads(stmt))
            if not used:
                passed.append(stmt)
                continue
            if not self.multiple(stmt, names) or any(self.between(stmt, other) for other in passed):
                return []
            found.append(stmt)
            left -= used
            if isinstance(stmt, Assign):
                names.add(stmt.target)
                left += self.uses[stmt.target]
        return found if left == 0 else []

    def multiple(self, stmt: Stmt, names: set[str]) -> bool:
        """Whether a statement computes or adds a multiple of one of `names`, which has no other value."""
        match stmt:
            case Assign(target=target, value=Op(fn=fn, args=args)) if self.trips.fixed(Name(target)):
                involved = [_involves(arg, names) for arg in args]
                if fn == "neg":
                    return True
                return (fn == "*" and sum(involved) == 1) or (fn == "/" and involved == [True, False])
            case Store(index=index, value=Name(id=value), accumulate=True):
                return value in names and not any(_involves(sub, names) for sub in index)
        return False

    def between(self, moved: Stmt, passed: Stmt) -> bool:
        """Whether `moved` cannot go before `passed`."""
        if set(writes(passed)) & set(reads(moved)) or not isinstance(passed, Assign | Store):
            return True
        if not isinstance(moved, Store):
            return False
        return any(
            access.kind != "add" and self.trips.may_share(access.array, moved.array)
            for access in self.trips.accesses((passed,))
        )

    def moved(self, stmt: If, second: bool, spread: list[Stmt]) -> If:
        """The branch with statements added to the side where the adjoint is not zero."""
        if second:
            return replace(stmt, body=(*stmt.body, *spread))
        return replace(stmt, orelse=(*stmt.orelse, *spread))


def _involves(expr: Expr, names: set[str]) -> bool:
    return not names.isdisjoint(names_in(expr))
