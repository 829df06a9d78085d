"""Which names carry derivatives: those that depend on a source and influence a target.

Varied: depends differentiably on a source.  Useful: a target depends differentiably on it.
Active: both.  Integers, booleans and strings are never active.  Single assignment makes the
result exact along the program for numbers; arrays are tracked per class of shared memory.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tapec.analyses.aliases import VIEWS, Aliases, is_memory
from tapec.rules import rule_for
from tapec.rules.library import OPAQUE, PRIMITIVES
from tapec.syntax.core import Assign, Call, Expr, Function, Name, Op, Push, Stmt, Store, changed, walk
from tapec.syntax.custom_rule import Custom, Opaque
from tapec.syntax.types import Type

CARRIERS = frozenset({"load", "pop", *VIEWS})


def is_callee(function: str) -> bool:
    """Whether a call's name is that of a generated function; others are dotted."""
    return "." not in function


def outputs(stmt: Call) -> tuple[str, ...]:
    """What a call computes: its targets, and the arrays that it writes into."""
    return (*stmt.targets, *changed(stmt))


def differentiable_operands(value: Expr) -> Iterator[str]:
    """The names on which the value depends with a derivative."""
    if isinstance(value, Name):
        yield value.id
    if not isinstance(value, Op):
        return
    if value.fn in CARRIERS:
        first = value.args[0]
        assert isinstance(first, Name)
        yield first.id
        return
    if isinstance(value.fn, Custom):
        operands = value.args[1 : 1 + value.fn.rule.operands]
        yield from (arg.id for arg in operands if isinstance(arg, Name))
        return
    if value.fn in PRIMITIVES:
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    if value.fn == "copy":
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    if isinstance(value.fn, Opaque) or value.fn.partition(";")[0] in OPAQUE:
        # its result does depend on its operands: whoever differentiates it finds no rule
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    rule = rule_for(value.fn)
    if rule is None or rule.inert:
        return
    for arg, param, contribution in zip(value.args, rule.params, rule.contributions, strict=False):
        # whoever differentiates by one that is refused is told
        if (contribution is not None or param in rule.refused) and isinstance(arg, Name):
            yield arg.id


class Activity:
    """`name in activity`, for numbers and arrays alike."""

    def __init__(self, function: Function, aliases: Aliases, sources: set[str], targets: set[str]):
        self._types = function.types
        self._aliases = aliases
        flows = list(_flows(function))
        forward: dict[str, list[str]] = {}
        backward: dict[str, list[str]] = {}
        for source, target in flows:
            a, b = self._key(source), self._key(target)
            forward.setdefault(a, []).append(b)
            backward.setdefault(b, []).append(a)
        self.varied = reach({self._key(n) for n in sources}, forward)
        self.useful = reach({self._key(n) for n in targets}, backward)
        self.active = self.varied & self.useful

    def _key(self, name: str) -> str:
        return self._aliases.find(name) if is_memory(self._types.get(name)) else name

    def varies(self, name: str) -> bool:
        """Whether a name depends differentiably on a source."""
        return self._key(name) in self.varied

    def matters(self, name: str) -> bool:
        """Whether a target depends differentiably on a name."""
        return self._key(name) in self.useful

    def __contains__(self, name: str) -> bool:
        type_: Type | None = self._types.get(name)
        return type_ is not None and type_.is_float and self._key(name) in self.active


def _flows(function: Function) -> Iterator[tuple[str, str]]:
    """Edges from a name to the names that depend on it with a derivative."""
    types = function.types

    def carries(name: str) -> bool:
        type_ = types.get(name)
        return type_ is not None and type_.is_float

    for stmt in walk(function.body):
        for source, target in _edges(stmt):
            if carries(source) and carries(target):
                yield source, target


def _edges(stmt: Stmt) -> Iterator[tuple[str, str]]:
    match stmt:
        case Assign(target=target, value=value):
            for operand in differentiable_operands(value):
                yield operand, target
        case Store(array=array, value=Name(id=value)):
            yield value, array
        case Push(stack=stack, value=Name(id=value)):
            yield value, stack
        case Call(function=fn, args=args) if fn in PRIMITIVES or fn in OPAQUE or is_callee(fn):
            for arg in args:
                if isinstance(arg, Name):
                    for target in outputs(stmt):
                        yield arg.id, target


def reach(start: set[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """The names that edges lead to, and those that they start from."""
    found, pending = set(start), list(start)
    while pending:
        for following in edges.get(pending.pop(), ()):
            if following not in found:
                found.add(following)
                pending.append(following)
    return found
