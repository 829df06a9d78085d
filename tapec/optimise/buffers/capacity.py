"""How many iterations a loop makes in all, where loops around it run it with other bounds each time.

    for i in range(n):                  total = 0
        m = start[i + 1] - start[i]     for i in range(n):
        for p in range(m):        ->        m = start[i + 1] - start[i]
            ...                             total += max(m, 0)

What the bounds follow from is computed twice: numbers that the loops do not hand from iteration to iteration, and
elements of arrays that they leave alone.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.iterations import Iterations
from tapec.analyses.scopes import Scope
from tapec.errors import Span
from tapec.optimise.name_origins import Fresh
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Op,
    Raise,
    Stmt,
    changed,
    may_leave,
    names_in,
    walk,
    written_in,
)
from tapec.syntax.renaming import renamed
from tapec.syntax.types import INT64
from tapec.transforms.iteration_bounds import iteration_count

_AGAIN = frozenset(
    {"+", "-", "*", "//", "%", "max", "min", "dim", "load", "<", "<=", ">", ">=", "==", "!=", "not", "and", "or"}
)


class Capacity:
    """Counts iterations of the loops of a function."""

    def __init__(self, function: Function, fresh: Fresh) -> None:
        self.iterations = Iterations(function)
        self.fresh = fresh

    def of(self, body: Scope, outermost: For) -> tuple[Block, Atom] | None:
        """Statements that stand before a nest of loops, and how many iterations one of its loops makes in all."""
        if any(isinstance(stmt, Raise) for stmt in walk(outermost.body)):
            return None
        worker = _Counting(self, outermost)
        return worker.run(body)


class _Counting:
    """Goes outward from a loop, and writes what counts its iterations."""

    def __init__(self, room: Capacity, outermost: For) -> None:
        self.iterations = room.iterations
        self.fresh = room.fresh
        self.outermost = outermost
        self.written = written_in((outermost,))
        aliases = self.iterations.aliases
        self.changed = {aliases.find(array) for stmt in walk((outermost,)) for array in changed(stmt)}
        # what stands before the loop so far, what it counts, and the names that this follows from
        self.stmts: list[Stmt] = []
        self.amount: Atom = Const(1)
        self.wanted: set[str] = set()
        self.span: Span | None = outermost.span

    def run(self, body: Scope) -> tuple[Block, Atom] | None:
        region, again, needed = body, set[str](), list[Assign]()
        while True:
            owner = region.owner
            self.span = getattr(owner, "span", None)
            match owner:
                case For(slots=None, step=Const()) if self.counted(owner):
                    self.loop(owner, bool(needed) or owner.var in self.wanted)
                    again.add(owner.var)
                case If():
                    self.branch(owner, region.block is owner.body)
                case _:
                    return None
            if owner is self.outermost:
                break
            assert region.parent is not None
            region = region.parent
            found = self.needed(region.block)
            if found is None:
                return None
            needed = found
            self.stmts = [*needed, *self.stmts]
            again.update(stmt.target for stmt in needed)
        if not self.written.isdisjoint(self.wanted):
            return None
        return renamed(tuple(self.stmts), self.fresh.anew(sorted(again))), self.amount

    def counted(self, loop: For) -> bool:
        """Whether the bounds of a loop tell how many iterations it makes."""
        whole = (isinstance(a, Const) or self.fresh.types[a.id] == INT64 for a in (loop.start, loop.stop))
        return not may_leave(loop.body) and all(whole)

    def loop(self, loop: For, differs: bool) -> None:
        """Take what has been counted once per iteration of a loop; it may differ from iteration to iteration."""
        if differs:
            total = self.fresh("total", INT64)
            more = Assign(total, Op("+", (Name(total), self.amount)), self.span)
            # without a line, since nothing is told of it that is true of the user's loop
            summed = replace(loop, body=(*self.stmts, more), parallel=False, span=None)
            self.stmts, self.amount = [Assign(total, Const(0), self.span), summed], Name(total)
            self.wanted.discard(loop.var)
        else:
            iterations = self.value(Op("max", (self.flat(iteration_count(loop.start, loop.stop, loop.step)), Const(0))))
            self.amount = iterations if self.amount == Const(1) else self.value(Op("*", (iterations, self.amount)))
        self.wanted.update(name for bound in (loop.start, loop.stop) for name in names_in(bound))

    def branch(self, stmt: If, taken: bool) -> None:
        """Count on one side of a test alone."""
        total = self.fresh("total", INT64)
        self.stmts.append(Assign(total, self.amount, self.span))
        inner: Block = tuple(self.stmts)
        counted = If(stmt.test, inner if taken else (), () if taken else inner, self.span)
        self.stmts = [Assign(total, Const(0), self.span), counted]
        self.amount = Name(total)
        self.wanted |= set(names_in(stmt.test))

    def needed(self, block: Block) -> list[Assign] | None:
        """The statements of a block that what has been counted follows from; None if they cannot run twice."""
        made = {stmt.target: stmt for stmt in block if isinstance(stmt, Assign)}
        found: set[str] = set()
        wanted = [name for name in self.wanted if name in made]
        while wanted:
            name = wanted.pop()
            if name in found:
                continue
            if not self.again(made[name]):
                return None
            found.add(name)
            self.wanted |= set(names_in(made[name].value))
            wanted += [name for name in names_in(made[name].value) if name in made]
        self.wanted -= found
        return [stmt for stmt in made.values() if stmt.target in found]

    def again(self, stmt: Assign) -> bool:
        """Whether a statement can be run a second time, before the loops."""
        value = stmt.value
        if not self.iterations.fixed(Name(stmt.target)):
            return False
        if not isinstance(value, Op):
            return True
        if value.fn not in _AGAIN:
            return False
        if value.fn in ("load", "dim"):
            array = next(names_in(value))
            still = value.fn == "dim" or self.iterations.aliases.find(array) not in self.changed
            return still and array not in self.written
        return True

    def value(self, expr: Expr) -> Name:
        name = self.fresh("size", INT64)
        self.stmts.append(Assign(name, expr, self.span))
        return Name(name)

    def flat(self, expr: Expr) -> Atom:
        if not isinstance(expr, Op):
            return expr
        return self.value(Op(expr.fn, tuple(self.flat(arg) for arg in expr.args)))
