"""Compute elementary functions in loops of their own, where the loop around them cannot run on vectors.

    for b in range(n):                          for b in range(n):
        e = math.exp(w[b] * x[b] + v[b])            t_kept[b] = w[b] * x[b] + v[b]
        e_store[k, b] = e                       for b in range(n):
        h[b] = 1.0 / (1.0 + e)          ->          t_kept[b] = math.exp(t_kept[b])
                                                for b in range(n):
                                                    e = t_kept[b]
                                                    e_store[k, b] = e
                                                    h[b] = 1.0 / (1.0 + e)

LLVM runs a loop on vectors only if few comparisons tell at run time that its arrays are apart.  A loop with
many arrays stays scalar, and so do the functions in it, which cost most.  In a loop over one buffer they do not.

The iterations of the loop must be parallel: then it does not matter how far one has come when another begins, and a
body may be cut between any two statements.  Accesses to memory that may be the same keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tapec.analyses.aliases import VIEWS, is_memory
from tapec.analyses.dependence import Affine
from tapec.analyses.iterations import Access
from tapec.optimise import costs
from tapec.optimise.loops.loop_preheader import Around, LoopPass
from tapec.optimise.shapes.loop_ranges import extent_of
from tapec.optimise.vector_operations import VECTORISED
from tapec.remarks import remark
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    Name,
    Op,
    Stmt,
    Store,
    names_in,
    reads,
    substitute,
    writes,
)
from tapec.syntax.types import FLOAT64, INT64, Array, Scalar


def stage_functions(function: Function, _constants: frozenset[str] = frozenset()) -> Function:
    """The function with such loops cut into stages; see the module."""
    return _Stages(function).rewritten()


@dataclass
class _Plan:
    """In which stage each statement of a loop's body runs.

    The result of a function that is called for stage `k` is there in stage `k + 1`.
    """

    loop: For
    levels: dict[int, int]
    groups: list[list[Access]]
    made: dict[str, Assign] = field(default_factory=dict)

    def level(self, stmt: Stmt) -> int:
        return self.levels[stmt.key]

    def there(self, name: str) -> int:
        """The first stage that can read a name without a buffer."""
        stmt = self.made[name]
        return self.level(stmt) + (_called(stmt) is not None)


class _Stages(LoopPass):
    def loop(self, loop: For, around: Around) -> list[Stmt] | None:
        """The stages of a loop."""
        # loops that run at the same time would share the buffers
        if any(isinstance(one, For) and one.parallel for one in around):
            return None
        plan = self.planned(loop)
        extent = None if plan is None else extent_of(self.iterations, loop, around[0])
        if plan is None or extent is None:
            return None
        why = "it works on too many arrays to run on vectors, its elementary functions do not"
        remark(loop.span, "function_stages", "cut into stages", why)
        return list(self.stages(plan, self.outside.size(extent, 0, loop)))

    # which loops

    def planned(self, loop: For) -> _Plan | None:
        """The stages of a loop that cannot run on vectors, but calls functions that can."""
        iterations = self.iterations
        if loop.step not in (Const(1), Const(-1)):
            return None
        if not all(isinstance(s, Assign | Store) for s in loop.body) or not any(map(_called, loop.body)):
            return None
        if any(isinstance(s, Assign) and (self.makes_memory(s) or self.single_precision(s)) for s in loop.body):
            return None
        if iterations.dependence.minimum(Affine(loop.var, 0)) < 0 or not iterations.is_parallel(loop):
            return None
        groups = iterations.groups(loop.body)
        if _comparisons(groups) <= costs.LLVM_COMPARISONS:
            return None
        return self.levelled(loop, groups)

    def single_precision(self, stmt: Assign) -> bool:
        """Whether a statement calls a function for another type than float64."""
        return _called(stmt) is not None and {self.fresh.types[n] for n in (stmt.target, *reads(stmt))} != {FLOAT64}

    def makes_memory(self, stmt: Assign) -> bool:
        """Whether a statement makes an array, or gives one another name."""
        return is_memory(self.fresh.types[stmt.target]) and not (
            isinstance(stmt.value, Op) and stmt.value.fn in VIEWS and all(map(self.defined_once, reads(stmt)))
        )

    def defined_once(self, name: str) -> bool:
        """Whether a name has one value, or is a loop's variable: what a view is made of."""
        return len(self.iterations.scopes.defs.get(name, ())) <= 1

    def levelled(self, loop: For, groups: list[list[Access]]) -> _Plan | None:
        """The earliest stage of each statement; None if all stand in one."""
        defs = self.iterations.scopes.defs
        inside = {stmt.key for stmt in loop.body}
        plan = _Plan(loop, {}, groups)
        for stmt in loop.body:
            if isinstance(stmt, Assign) and len(defs[stmt.target]) == 1:
                plan.made[stmt.target] = stmt
        # the statements of sums stay together, in their order
        carried = {s.target for s in loop.body if isinstance(s, Assign) and s.target not in plan.made}
        sums = {name for one in carried for name in self.iterations.sum_of(one, inside) or ()}
        access = {one.stmt.key: (group, one) for group in groups for one in group}
        last = 0
        for stmt in loop.body:
            level = max((plan.there(name) for name in reads(stmt) if name in plan.made), default=0)
            group, own = access.get(stmt.key, ([], None))
            for other in group:
                if other.stmt.key in plan.levels and own is not None and (own.kind, other.kind) != ("load", "load"):
                    level = max(level, plan.level(other.stmt))
            plan.levels[stmt.key] = level
            last = max(last, level + (_called(stmt) is not None))
        chain = [s for s in loop.body if isinstance(s, Assign) and (s.target in sums or not sums.isdisjoint(reads(s)))]
        if any(_called(s) for s in chain):
            return None
        for stmt in chain:
            plan.levels[stmt.key] = max(plan.level(s) for s in chain)
        return plan if last > 0 else None

    # writing them

    def stages(self, plan: _Plan, size: Atom) -> Iterator[Stmt]:
        last = max(plan.level(s) + (_called(s) is not None) for s in plan.loop.body)
        buffers = {name: self.buffer(name, size) for name in self.kept(plan)}
        for number in range(last + 1):
            body = [s for s in plan.loop.body if plan.level(s) == number]
            calls = [s for s in body if isinstance(s, Assign) and _called(s)]
            yield from self.stage(plan, number, [s for s in body if s not in calls], calls, buffers)
            for call in calls:
                yield self.called(plan.loop, call, buffers[call.target])

    def kept(self, plan: _Plan) -> list[str]:
        """The names whose values go from one stage to a later one in a buffer."""
        found = dict.fromkeys(s.target for s in plan.loop.body if isinstance(s, Assign) and _called(s))
        for stmt in plan.loop.body:
            for name in reads(stmt):
                self.fetch(plan, name, plan.level(stmt), found)
        return list(found)

    def fetch(self, plan: _Plan, name: str, stage: int, found: dict[str, None]) -> None:
        """Add what must be kept so that `stage` can read a name."""
        made = plan.made.get(name)
        if made is None or name in found or plan.level(made) == stage:
            return
        if not self.repeats(plan, made, stage):
            found[name] = None
            return
        for operand in reads(made):
            self.fetch(plan, operand, stage, found)

    def repeats(self, plan: _Plan, made: Assign, stage: int) -> bool:
        """Whether a statement gives the same at the beginning of a later stage, at no more than a load's price."""
        value = made.value
        if is_memory(self.fresh.types[made.target]) or isinstance(value, Name | Const):
            return True
        if value.fn == "load":
            (group,) = (group for group in plan.groups if any(access.stmt is made for access in group))
            return all(access.kind == "load" or plan.level(access.stmt) >= stage for access in group)
        return self.fresh.types[made.target] == INT64 and value.fn in ("+", "-", "*", "dim")

    def stage(
        self, plan: _Plan, number: int, body: list[Stmt], calls: list[Assign], buffers: dict[str, str]
    ) -> Iterator[For]:
        """The loop of one stage: its own statements, then what functions and later stages take."""
        loop = plan.loop
        var = Name(self.fresh(loop.var, INT64))
        names: dict[str, Expr] = {loop.var: var}
        out: list[Stmt] = []

        def read(name: str) -> Expr:
            made = plan.made.get(name)
            if made is None or name in names:
                return names.get(name, Name(name))
            new = Name(self.fresh(name, self.fresh.types[name]))
            if name in buffers and plan.level(made) < number:
                out.append(Assign(new.id, Op("load", (Name(buffers[name]), var)), made.span))
            else:
                out.append(Assign(new.id, renamed(made.value), made.span))
            names[name] = new
            return new

        def renamed(value: Expr) -> Expr:
            for name in names_in(value):
                read(name)
            return substitute(value, names)

        body = self.needed(plan, body, calls, buffers)
        # what earlier stages have computed, before this one stores anything
        for stmt in (*body, *calls):
            for name in reads(stmt):
                if name in plan.made and plan.level(plan.made[name]) < number:
                    read(name)
        for stmt in body:
            if isinstance(stmt, Store):
                array, *subs, value = (renamed(one) for one in (Name(stmt.array), *stmt.index, stmt.value))
                assert isinstance(array, Name) and isinstance(value, Name | Const)
                index = tuple(sub for sub in subs if isinstance(sub, Name | Const))
                out.append(replace(stmt, array=array.id, index=index, value=value))
            elif isinstance(stmt, Assign) and stmt.target in plan.made:
                read(stmt.target)
                if stmt.target in buffers:
                    out.append(Store(buffers[stmt.target], (var,), _atom(names[stmt.target]), span=stmt.span))
            elif isinstance(stmt, Assign):
                out.append(replace(stmt, value=renamed(stmt.value)))
        for call in calls:
            assert isinstance(call.value, Op)
            out.append(Store(buffers[call.target], (var,), _atom(renamed(call.value.args[-1])), span=call.span))
        if out:
            yield replace(loop, var=var.id, body=tuple(out))

    def needed(self, plan: _Plan, body: list[Stmt], calls: list[Assign], buffers: dict[str, str]) -> list[Stmt]:
        """The statements of a stage without those of values that later stages make again."""
        read = {name for call in calls for name in reads(call)}
        kept: list[Stmt] = []
        for stmt in reversed(body):
            again = isinstance(stmt, Assign) and stmt.target in plan.made and stmt.target not in buffers
            if not (again and read.isdisjoint(writes(stmt))):
                read.update(reads(stmt))
                kept.insert(0, stmt)
        return kept

    def called(self, loop: For, call: Assign, buffer: str) -> For:
        """The loop that calls a function for all elements of a buffer."""
        assert isinstance(call.value, Op)
        var, argument, result = self.fresh(loop.var, INT64), self.fresh("t", FLOAT64), self.fresh("t", FLOAT64)
        body: Block = (
            Assign(argument, Op("load", (Name(buffer), Name(var))), call.span),
            Assign(result, Op(call.value.fn, (*call.value.args[:-1], Name(argument))), call.span),
            Store(buffer, (Name(var),), Name(result), span=call.span),
        )
        return replace(loop, var=var, body=body)

    def buffer(self, name: str, size: Atom) -> str:
        type_ = self.fresh.types[name]
        assert isinstance(type_, Scalar)
        buffer = self.fresh(f"{name}_kept", Array(type_.dtype, 1))
        self.outside.write(Assign(buffer, Op("empty", (Const(type_.dtype), size))))
        return buffer


def _called(stmt: Stmt) -> str | None:
    """The elementary function of one argument that a statement calls."""
    match stmt:
        case Assign(value=Op(fn=fn, args=(Name(),))) if fn in VECTORISED:
            return fn
        case Assign(value=Op(fn="tapec_runtime.polygamma" as fn, args=(Const(value=0), Name()))):
            return fn
    return None


def _atom(expr: Expr) -> Atom:
    assert isinstance(expr, Name | Const)
    return expr


def _comparisons(groups: list[list[Access]]) -> int:
    """How many pairs of arrays a loop would have to tell apart, of which at least one is written."""
    written, others = 0, 0
    for group in groups:
        rows = {(access.array, access.index[:-1] if access.index else ()) for access in group}
        if any(access.kind != "load" for access in group):
            written += len(rows)
        else:
            others += len(rows)
    return written * (written - 1) // 2 + written * others
