"""Which names carry derivatives: those that depend on a source and influence a target.

Varied: depends differentiably on a source.  Useful: a target depends differentiably on it.
Active: both.  Integers, booleans and strings are never active.  Single assignment makes the
result exact along the program for numbers; arrays are tracked per class of shared memory.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tapec.analyses.aliases import VIEWS, Aliases, is_memory
from tapec.rules import rule_for
from tapec.rules.library import OPAQUE, PRIMITIVES
from tapec.syntax.core import Assign, Call, Expr, Function, Name, Op, Push, Stmt, Store, changed, walk
from tapec.syntax.custom_rule import Custom, CustomRule, Opaque
from tapec.syntax.types import Type

CARRIERS = frozenset({"load", "pop", *VIEWS})


def is_callee(function: str) -> bool:
    """Whether a call's name is that of a generated function; others are dotted, or come with what they are."""
    return "." not in function and not isinstance(function, Custom | Opaque)


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
        yield from _operands(value.fn, value.args)
        return
    if value.fn in PRIMITIVES:
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    if value.fn == "copy":
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    rule = None if isinstance(value.fn, Opaque) or value.fn.partition(";")[0] in OPAQUE else rule_for(value.fn)
    if rule is None:
        # its result may depend on its operands: whoever differentiates it finds no rule
        yield from (arg.id for arg in value.args if isinstance(arg, Name))
        return
    if rule.inert:
        return
    for arg, param, contribution in zip(value.args, rule.params, rule.contributions, strict=False):
        # whoever differentiates by one that is refused is told
        if (contribution is not None or param in rule.refused) and isinstance(arg, Name):
            yield arg.id


def call_operands(stmt: Call) -> Iterator[str]:
    """The names on which what a call computes may depend with a derivative."""
    if isinstance(stmt.function, Custom):
        return _operands(stmt.function, stmt.args)
    return (arg.id for arg in stmt.args if isinstance(arg, Name))


def _operands(fn: Custom, args: tuple[Expr, ...]) -> Iterator[str]:
    """The operands of an operation with a rule of its own; also what the rule does not know, which is refused."""
    first = fn.rule.results
    return (arg.id for arg in args[first : first + fn.rule.operands + fn.rule.outside] if isinstance(arg, Name))


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


def refuse_outside(rule: CustomRule, arguments: Sequence[Expr], activity: Activity) -> None:
    """Refuse a rule whose operation depends, beside on its operands, on what has a derivative; see `CustomRule`."""
    for arg in arguments[rule.operands : rule.operands + rule.outside]:
        if isinstance(arg, Name) and arg.id in activity:
            raise rule.refuse(arg.id)


def _flows(function: Function) -> Iterator[tuple[str, str]]:
    """Edges from a name to the names that depend on it with a derivative."""
    types = function.types

    def carries(name: str) -> bool:
        type_ = types.get(name)
        return type_ is not None and type_.is_float

    for stmt in walk(function.body):
        for source, target in edges(stmt):
            if carries(source) and carries(target):
                yield source, target


def edges(stmt: Stmt) -> Iterator[tuple[str, str]]:
    """Edges from what a statement reads to what it writes that depends on it with a derivative."""
    match stmt:
        case Assign(target=target, value=value):
            for operand in differentiable_operands(value):
                yield operand, target
        case Store(array=array, value=Name(id=value)):
            yield value, array
        case Push(stack=stack, value=Name(id=value)):
            yield value, stack
        case Call(function=fn) if fn in PRIMITIVES or fn in OPAQUE or isinstance(fn, Custom | Opaque) or is_callee(fn):
            for operand in call_operands(stmt):
                for target in outputs(stmt):
                    yield operand, target


def reach(start: set[str], edges: Mapping[str, Iterable[str]]) -> set[str]:
    """The names that edges lead to, and those that they start from."""
    found, pending = set(start), list(start)
    while pending:
        for following in edges.get(pending.pop(), ()):
            if following not in found:
                found.add(following)
                pending.append(following)
    return found
