"""Write a variable that counts with a loop as a formula of the loop's variable.

    p = d                                   p = d
    for c in range(n):                      for c in range(n):
        for r in range(c + 1, n):   ->          for r in range(c + 1, n):
            y[r] += q[p] * x[c]                     y[r] += q[p + (r - (c + 1))] * x[c]
            p = p + 1                           p = p + max(n - (c + 1), 0)

Nothing is then carried from iteration to iteration, and the reverse sweep need not keep the count of each.
The loop must make all its iterations, and each of them the same step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tapec.optimise.rewriter import Rewriter
from tapec.remarks import Named, remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Break,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    map_blocks,
    walk,
    writes,
    written_in,
)
from tapec.syntax.renaming import replaced
from tapec.syntax.types import INT64


def count_by_formula(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with formulas for counters; see the module.  Afterwards copies of names are left to clean up."""
    return _Counters(function).rewritten()


class _Counters(Rewriter):
    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        stmt = map_blocks(stmt, self.block)
        if not isinstance(stmt, For) or stmt.step != Const(1) or any(isinstance(s, Break) for s in walk(stmt.body)):
            yield stmt
            return
        inside = written_in(stmt.body) | {stmt.var}
        if any(isinstance(bound, Name) and bound.id in inside for bound in (stmt.start, stmt.stop)):
            yield stmt
            return
        after: list[Stmt] = []
        for counter, step in self.counters(stmt, inside):
            what, why = "`{0}` is computed from `{1}`, not carried", "every iteration adds {2}"
            about = Named(counter, stmt.span), Named(stmt.var, stmt.span), step
            remark(stmt.span, "closed_form_counters", what, why, *about)
            first = self.fresh(counter, INT64)
            yield Assign(first, Name(counter), stmt.span)
            head: list[Stmt] = []
            now = self.moved(first, self.difference(Name(stmt.var), stmt.start, head, stmt), step, head, stmt)
            kept = tuple(s for s in stmt.body if not (isinstance(s, Assign) and s.target == counter))
            stmt = replace(stmt, body=(*head, *replaced(kept, {counter: now})))
            iterations = self.computed(
                Op("max", (self.difference(stmt.stop, stmt.start, after, stmt), Const(0))), after, stmt
            )
            after.append(Assign(counter, self.moved(first, iterations, step, after, stmt), stmt.span))
        yield stmt
        yield from after

    def counters(self, loop: For, inside: set[str]) -> list[tuple[str, Atom]]:
        """The variables that each iteration leaves larger by a step, and that step."""
        made = {s.target: s.value for s in loop.body if isinstance(s, Assign)}
        setting = [name for stmt in walk(loop.body) for name in writes(stmt)]
        found: list[tuple[str, Atom]] = []
        for stmt in reversed(loop.body):
            if not isinstance(stmt, Assign) or not isinstance(stmt.value, Name | Const):
                break
            counter, value = stmt.target, stmt.value
            if self.fresh.types[counter] != INT64 or setting.count(counter) != 1 or not isinstance(value, Name):
                continue
            match made.get(value.id):
                case Op(fn="+", args=(Name(id=base), Const(value=int()) | Name() as step)) if base == counter:
                    if not isinstance(step, Name) or step.id not in inside:
                        found.append((counter, step))
        return found

    def difference(self, end: Atom, start: Atom, out: list[Stmt], loop: For) -> Atom:
        return end if start == Const(0) else self.computed(Op("-", (end, start)), out, loop)

    def moved(self, first: str, iterations: Atom, step: Atom, out: list[Stmt], loop: For) -> Atom:
        """The counter after an iteration count."""
        way = iterations if step == Const(1) else self.computed(Op("*", (iterations, step)), out, loop)
        return self.computed(Op("+", (Name(first), way)), out, loop)

    def computed(self, value: Expr, out: list[Stmt], loop: For) -> Atom:
        name = self.fresh("t", INT64)
        out.append(Assign(name, value, loop.span))
        return Name(name)
