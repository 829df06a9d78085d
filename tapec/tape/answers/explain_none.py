"""Why a gradient is None: the statement that cuts the path from source to target, in words.

Of one that is connected, what its numbers are: `explain_numbers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tapec.analyses.activity import call_operands, differentiable_operands
from tapec.analyses.aliases import Aliases, aliases, is_memory
from tapec.errors import LoweringError
from tapec.syntax.core import (
    Assign,
    Call,
    Const,
    Function,
    Name,
    Op,
    Return,
    Stmt,
    Store,
    reads,
    walk,
    writes,
)
from tapec.tape.answers.explain_numbers import at_line, explain_numbers
from tapec.tape.answers.gradients import request_of
from tapec.tape.answers.object_names import atoms_of
from tapec.tape.answers.targets_and_sources import sources_of, targets_of
from tapec.tape.derivatives.block_derivative import connections
from tapec.tape.plan.tape_plan import TapePlan
from tapec_runtime.variables import Variable

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording

_KINDS = {
    "stop_gradient": "a value that is stopped",
    "cast.int64": "a conversion to an integer",
    "floor": "a step function",
}
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def explain(recording: Recording, target: Any, source: Any) -> str:
    """What connects a target with a source, or what keeps them apart."""
    plan = recording.plan
    try:
        ends = [one.name for one in targets_of(recording, target, None)]
        starts = tuple(name for one in sources_of(recording, source) for name in one.names)
    except LoweringError as error:
        return str(error)
    kind = atoms_of(recording.names.of.get(id(target)))
    if not ends and kind and all(isinstance(one, Const) for one in kind):
        return "not connected: the target is a constant of the block"
    if not ends and kind and isinstance(kind[0], Name):
        return f"not connected: the target is of type {plan.types[kind[0].id]}, which has no derivative"
    if not ends:
        return "not connected: the target was made before the tape's block, or after it"
    if not starts:
        return f"not connected: the block does not use the source{_integer(plan, recording, source)}"
    request, end = request_of(plan, tuple(ends), (starts,)), ends[0]
    graph = _Graph(plan)
    if connections(request)[0]:
        path = frozenset(graph.reach(set(starts), graph.forward) & graph.reach(set(ends), graph.backward))
        said = explain_numbers(recording, target, source, tuple(ends), path, graph.key)
        made = filter(None, plan.compiled.values())
        ran = "compiled" if any(one.jitted is not None for one in made) else "as Python"
        return f"connected: a path of derivatives leads from the source to the target; the derivative ran {ran}{said}"
    watched = set(plan.region.watched)
    if isinstance(source, Variable) and not watched & set(starts):
        return "not connected: the variable is not watched" + graph.first_use(starts)
    if not graph.reach(watched, graph.forward) & set(starts):
        return "not connected: the source is not watched before it is used" + graph.first_use(starts)
    found = graph.cuts(set(starts), end)
    if found:
        return "not connected: " + "; ".join(found)
    earlier = [name for name, copied in plan.copies.items() if name in starts]
    originals = {plan.copies[name] for name in earlier}
    if originals and end in graph.reach(originals, graph.any_forward):
        return "not connected: what the target uses was computed before the source was watched" + graph.first_use(
            tuple(originals)
        )
    return "not connected: the target is not computed from the source" + graph.place_of(end)


def _integer(plan: TapePlan, recording: Recording, source: Any) -> str:
    atom = recording.names.of.get(id(source))
    if isinstance(atom, Name) and not plan.types[atom.id].is_float:
        return f" as a float: it is of type {plan.types[atom.id]}"
    return ""


class _Graph:
    """Which names flow into which, with and without a derivative."""

    def __init__(self, plan: TapePlan) -> None:
        self.plan = plan
        self.stmts = list(walk(plan.block))
        self.classes: Aliases = aliases(Function("stretch", (), (*plan.block, Return(())), plan.types))
        self.forward: dict[str, set[str]] = {}
        self.any_forward: dict[str, set[str]] = {}
        self.backward: dict[str, set[str]] = {}
        for stmt in self.stmts:
            derived = set(self.derived(stmt))
            for name in reads(stmt):
                for made in self.made(stmt):
                    a, b = self.key(name), self.key(made)
                    self.any_forward.setdefault(a, set()).add(b)
                    self.backward.setdefault(b, set()).add(a)
                    if name in derived:
                        self.forward.setdefault(a, set()).add(b)

    def key(self, name: str) -> str:
        return self.classes.find(name) if is_memory(self.plan.types.get(name)) else name

    def made(self, stmt: Stmt) -> tuple[str, ...]:
        return (stmt.array,) if isinstance(stmt, Store) else tuple(writes(stmt))

    def derived(self, stmt: Stmt) -> Iterator[str]:
        """The operands that a statement's result depends on with a derivative."""
        match stmt:
            case Assign(target=target, value=value):
                if target not in self.plan.region.stopped and self.plan.types[target].is_float:
                    yield from differentiable_operands(value)
            case Store(value=Name(id=name)):
                yield name
            case Call():
                yield from call_operands(stmt)

    def reach(self, start: set[str], edges: dict[str, set[str]]) -> set[str]:
        found = {self.key(name) for name in start}
        pending = list(found)
        while pending:
            for following in edges.get(pending.pop(), ()):
                if following not in found:
                    found.add(following)
                    pending.append(following)
        return found

    def cuts(self, starts: set[str], end: str) -> list[str]:
        """The statements behind which nothing depends on the source with a derivative, though the target uses them."""
        varied = self.reach(starts, self.forward)
        useful = self.reach({end}, self.backward)
        found: list[str] = []
        for stmt in self.stmts:
            derived = set(self.derived(stmt))
            cut = [n for n in reads(stmt) if self.key(n) in varied and n not in derived]
            if cut and any(self.key(made) in useful for made in self.made(stmt)):
                text = f"{self.reason(stmt)} cuts the path{at_line(getattr(stmt, 'span', None))}"
                if text not in found:
                    found.append(text)
        return found[:3]

    def reason(self, stmt: Stmt) -> str:
        if isinstance(stmt, Assign):
            if stmt.target in self.plan.region.stopped:
                return "recording that was stopped, or a reset,"
            function = stmt.value.fn if isinstance(stmt.value, Op) else ""
            if function in _COMPARISONS:
                return "a comparison"
            if isinstance(function, str) and function in _KINDS:
                return _KINDS[function]
            if not self.plan.types[stmt.target].is_float:
                return f"a value of type {self.plan.types[stmt.target]}"
            if function:
                return f"`{function}`, which has no derivative,"
        return "a value without derivative"

    def first_use(self, names: tuple[str, ...]) -> str:
        for stmt in self.stmts:
            if set(reads(stmt)) & set(names):
                return "; it is first used" + at_line(getattr(stmt, "span", None))
        return ""

    def place_of(self, name: str) -> str:
        for stmt in self.stmts:
            if name in self.made(stmt):
                return ", but" + at_line(getattr(stmt, "span", None))
        return ""
