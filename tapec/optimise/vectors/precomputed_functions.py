"""Compute elementary functions before a loop whose iterations need one another, where the functions need none of that.

    for t in range(n):                          for t in range(n):
        e = math.exp(c * x[t])                      e_kept[t] = math.exp(c * x[t])
        s = s * e                    ->         for t in range(n):
        total = total + s                           s = s * e_kept[t]
                                                    total = total + s

The first of these loops runs on vectors, the second one never would have.  Steps of a random path, with exponentials of
normal numbers, are such loops.

For innermost loops that make all their iterations.  A function's argument is computed in each iteration from what the
loop leaves alone.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.aliases import is_memory
from tapec.analyses.dependence import Affine
from tapec.optimise import costs
from tapec.optimise.loops.loop_preheader import Around, LoopPass
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.vectors.if_conversion import calls_functions
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Call,
    Const,
    Expr,
    For,
    Function,
    Loop,
    Name,
    Op,
    Stmt,
    Store,
    may_leave,
    reads,
    substitute,
    walk,
    writes,
)
from tapec.syntax.types import FLOAT64, INT64, Array


def precompute_functions(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops before; see the module."""
    if not any(map(calls_functions, walk(function.body))):
        return function
    worker = _Ahead(function)
    made = worker.rewritten()
    # what only the functions have read
    return drop_dead_code(made, constants) if worker.any else function


class _Ahead(LoopPass):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.any = False

    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        """The loop that computes the functions, and the rest."""
        # loops that run at the same time would share the buffers
        if any(isinstance(one, For) and one.parallel for one in around):
            return None
        if loop.step not in (Const(1), Const(-1)) or loop.slots is not None or may_leave(loop.body):
            return None
        if any(isinstance(stmt, For | Loop | Call) for stmt in walk(loop.body)):
            return None
        calls, needed = self.calls(loop)
        if not calls or self.iterations.is_parallel(loop):
            return None
        if self.iterations.dependence.minimum(Affine(loop.var, 0)) < 0:
            return None
        extent = extent_of(self.iterations, loop, around[0])
        if extent is None:
            return None
        why = "they need nothing of the iterations before, and run on vectors then"
        remark(loop.span, "precomputed_functions", "elementary functions are computed before", why)
        self.any = True
        size = self.outside.computed(extent, loop)
        if not self.iterations.never_negative(size):
            size = self.outside.computed(Op("max", (size, Const(0))), loop)
        buffers = {}
        for call in calls:
            buffers[call.target] = self.fresh(f"{call.target}_kept", Array("float64", 1))
            self.outside.write(Assign(buffers[call.target], Op("empty", (Const("float64"), size)), call.span))
        taken = {call.key: Op("load", (Name(buffers[call.target]), Name(loop.var))) for call in calls}
        body = tuple(
            replace(stmt, value=taken[stmt.key]) if isinstance(stmt, Assign) and stmt.key in taken else stmt
            for stmt in loop.body
        )
        return [self.first(loop, needed, buffers), replace(loop, body=body)]

    def first(self, loop: For, needed: list[Assign], buffers: dict[str, str]) -> For:
        """The loop that computes the functions."""
        var = Name(self.fresh(loop.var, INT64))
        names: dict[str, Expr] = {loop.var: var}
        body: list[Stmt] = []
        for stmt in needed:
            new = self.fresh(stmt.target, self.fresh.types[stmt.target])
            body.append(replace(stmt, target=new, value=substitute(stmt.value, names)))
            names[stmt.target] = Name(new)
            if stmt.target in buffers:
                body.append(Store(buffers[stmt.target], (var,), Name(new), span=stmt.span))
        return replace(loop, var=var.id, body=tuple(body))

    # what can be computed before

    def calls(self, loop: For) -> tuple[list[Assign], list[Assign]]:
        """The functions whose arguments need nothing of other iterations, and all statements that compute them, in
        order.
        """
        inner = list(walk(loop.body))
        written = {name for stmt in inner for name in writes(stmt)} | {loop.var}
        stored = {stmt.array for stmt in inner if isinstance(stmt, Store)}
        # by name: what computes it in each iteration, in order
        made: dict[str, list[Assign]] = {loop.var: []}
        found: list[Assign] = []
        for stmt in loop.body:
            if not isinstance(stmt, Assign) or not self.is_pure(stmt, stored):
                continue
            operands = [name for name in reads(stmt) if name in written]
            if all(name in made for name in operands):
                used = {one.key for name in operands for one in made[name]}
                made[stmt.target] = [one for one in loop.body if isinstance(one, Assign) and one.key in used] + [stmt]
                alike = {self.fresh.types[name] for name in (stmt.target, *reads(stmt))} == {FLOAT64}
                if operands and alike and calls_functions(stmt):
                    found.append(stmt)
        needed = {one.key for stmt in found for one in made[stmt.target]}
        if len(needed) > costs.COMPUTED_TWICE:
            return [], []
        return found, [stmt for stmt in loop.body if isinstance(stmt, Assign) and stmt.key in needed]

    def is_pure(self, stmt: Assign, stored: set[str]) -> bool:
        """Whether a statement computes a number that has no other value, from numbers and elements that stay."""
        if is_memory(self.fresh.types[stmt.target]) or not self.iterations.fixed(Name(stmt.target)):
            return False
        match stmt.value:
            case Op(fn="load", args=(Name(id=array), *_)):
                return not any(self.iterations.may_share(array, other) for other in stored)
            case Op(fn=fn):
                numbers = not any(is_memory(self.fresh.types[name]) for name in reads(stmt))
                return numbers and fn != "pop" and not fn.startswith("np.random")
        return True
