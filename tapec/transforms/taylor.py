"""Taylor coefficients: beside every statement, those for the coefficients of a power series in one variable.

Arguments move along `x + t x_t1 + t**2 x_t2 + ...`; `x_t1` is the coefficient of t, the name itself that of t**0.  An
array has an array of the same aliasing for each coefficient.  Branches, bounds and subscripts are those of the zeroth
coefficients.  Griewank & Walther, Evaluating Derivatives, 2nd ed., chapter 13.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tapec.analyses.activity import Activity, is_callee, outputs
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, aliases
from tapec.errors import NotDifferentiable, Span
from tapec.frontend.evaluator.values import NONE, Sym, Tup, Value
from tapec.rules import rule_for
from tapec.rules.library import PRIMITIVES
from tapec.rules.power_series import ARRAY_SERIES, LINEAR, WITH_INVERSE
from tapec.rules.table import no_rule
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Expr,
    For,
    Function,
    If,
    Loop,
    Name,
    Op,
    Push,
    Return,
    Stmt,
    Store,
    changed,
    walk,
    writes,
    zero_of,
)
from tapec.syntax.custom_rule import calls_out, custom_of
from tapec.syntax.types import Array, Scalar, written
from tapec.transforms.emitter import Emitter
from tapec.transforms.primitives import lower_rule
from tapec.transforms.series import PowerSeries

Coefficients = tuple[Name | None, ...]


def taylor(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], order: int, name: str, given: int
) -> Function:
    """The function that takes coefficients of `sources`, too, and returns those of its results.

    given    how many coefficients it takes for each source; the others are zero
    returns  parameters `x_t1`, `x_t2`, ... follow the parameters, in the order of `sources`; each result of float type
             is followed by its coefficients
    """
    return _Taylor(function, sources, constants, order).run(name, given)


class _Taylor:
    """One function on its way to its Taylor coefficients."""

    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str], order: int) -> None:
        self.function, self.sources, self.constants, self.order = function, sources, constants, order
        self.types = dict(function.types)
        self.taken = set(self.types)
        returned = {a.id for a in function.results if isinstance(a, Name)}
        targets = returned if calls_out(function.body) else set(self.types) | returned
        self.shares = aliases(function)
        self.activity = Activity(function, self.shares, set(sources), targets)
        self.changed = {self.shares.find(array) for stmt in walk(function.body) for array in changed(stmt)}
        written_names = (name for stmt in walk(function.body) for name in writes(stmt))
        self.definitions = Counter((*function.params, *written_names))
        # of active names; None is zero, which only a name that is defined once may have
        self.names: dict[str, Coefficients] = {}

    def run(self, name: str, given: int) -> Function:
        emitter = Emitter(self.types, self.taken)
        extra = []
        for source in self.sources:
            taken = [emitter.fresh(f"{source}_t{k}", self.types[source]) for k in range(1, given + 1)]
            extra += taken
            still = self.definitions[source] == 1 and self.shares.find(source) not in self.changed
            others = range(given + 1, self.order + 1)
            zero = (None if still else self.zero(source, k, emitter) for k in others)
            self.names[source] = (*map(Name, taken), *zero)
        for other in (*self.function.params, *sorted(self.constants)):
            if other in self.activity and other not in self.names:
                # shares memory with an active array: its own coefficients are zero
                self.names[other] = tuple(self.zero(other, k, emitter) for k in range(1, self.order + 1))
        self.block(self.function.body, emitter)
        params = (*self.function.params, *extra)
        return Function(name, params, tuple(emitter.out), self.types, self.function.doc)

    def zero(self, name: str, k: int, emitter: Emitter) -> Name:
        type_ = self.types[name]
        if isinstance(type_, Array):
            return Name(emitter.zeros_like(f"{name}_t{k}", name))
        assert isinstance(type_, Scalar)
        return emitter.let(f"{name}_t{k}", zero_of(type_), type_)

    def of(self, atom: Expr, emitter: Emitter) -> Coefficients | None:
        """The coefficients of an atom, from the first on; None where it does not move."""
        if not isinstance(atom, Name) or atom.id not in self.activity:
            return None
        if atom.id not in self.names:
            kind = written(self.types[atom.id])
            self.names[atom.id] = tuple(Name(emitter.fresh(f"{atom.id}_t{k}", kind)) for k in range(1, self.order + 1))
        return self.names[atom.id]

    def define(self, target: str, values: Iterable[Expr | None], emitter: Emitter) -> None:
        """Say what the coefficients of a name are that is defined here; None is zero."""
        if self.definitions[target] > 1:
            for name, value in zip(self.of(Name(target), emitter) or (), values, strict=True):
                assert isinstance(name, Name)
                emitter.assign(name.id, self.zero_like(Name(target), emitter) if value is None else value)
            return
        kind, found = written(self.types[target]), []
        for k, value in enumerate(values, 1):
            made = None
            if value is not None:
                own = emitter.type_of(value) if isinstance(value, Name) else kind
                made = emitter.let(f"{target}_t{k}", value, own if isinstance(kind, Array) else kind)
            found.append(made)
        self.names[target] = tuple(found)

    def block(self, block: Block, emitter: Emitter) -> None:
        for stmt in block:
            emitter.span = getattr(stmt, "span", None)
            self.statement(stmt, emitter)

    def inner(self, block: Block, emitter: Emitter) -> Block:
        child = emitter.child()
        self.block(block, child)
        return tuple(child.out)

    def statement(self, stmt: Stmt, emitter: Emitter) -> None:
        if (own := custom_of(stmt)) is not None and any(target in self.activity for target in own[1]):
            raise _refused("a function with a derivative of one's own", stmt.span, "its rule gives the first one")
        match stmt:
            case Assign():
                self.assign(stmt, emitter)
            case Store():
                self.store(stmt, emitter)
                emitter.add(stmt)
            case If(test=test, body=body, orelse=orelse):
                emitter.add(If(test, self.inner(body, emitter), self.inner(orelse, emitter), stmt.span))
            case For(body=body):
                emitter.add(replace(stmt, body=self.inner(body, emitter)))
            case Loop(body=body):
                emitter.add(Loop(self.inner(body, emitter), stmt.span))
            case Push(stack=stack, value=value):
                if stack in self.activity:
                    self.push(stack, value, stmt.span, emitter)
                emitter.add(stmt)
            case Call(function=fn) if is_callee(fn) and any(t in self.activity for t in outputs(stmt)):
                raise _refused("a recursive function", stmt.span, "it is no part of the program that calls it")
            case Call():
                emitter.add(stmt)
                if any(target in self.activity for target in stmt.targets):
                    self.primitive(stmt.function, stmt.args, stmt.targets, emitter)
            case Return(values=values):
                results = tuple(part for value in values for part in self.result(value, emitter))
                emitter.add(Return(results, stmt.span))
            case _:
                emitter.add(stmt)

    def store(self, stmt: Store, emitter: Emitter) -> None:
        shadows = self.of(Name(stmt.array), emitter)
        if shadows is None:
            return
        moved = self.of(stmt.value, emitter) or (None,) * self.order
        for shadow, value in zip(shadows, moved, strict=True):
            if value is None and stmt.accumulate:
                continue
            assert shadow is not None
            type_ = self.types[shadow.id]
            assert isinstance(type_, Array)
            item = emitter.atom(zero_of(type_.element) if value is None else value, type_.element)
            emitter.add(Store(shadow.id, stmt.index, item, stmt.accumulate, stmt.span))

    def push(self, stack: str, value: Atom, span: Span | None, emitter: Emitter) -> None:
        moved = self.of(value, emitter) or (None,) * self.order
        for name, item in zip(self.of(Name(stack), emitter) or (), moved, strict=True):
            assert name is not None
            emitter.add(Push(name.id, self.zero_like(value, emitter) if item is None else item, span))

    def zero_like(self, value: Atom, emitter: Emitter) -> Atom:
        """Zero in the shape of an atom."""
        type_ = emitter.type_of(value)
        if isinstance(type_, Array):
            assert isinstance(value, Name)
            return Name(emitter.zeros_like("zero", value.id))
        assert isinstance(type_, Scalar)
        return emitter.atom(zero_of(type_))

    def result(self, value: Atom, emitter: Emitter) -> list[Atom]:
        """What is returned of a result: it, and its coefficients."""
        if not emitter.type_of(value).is_float:
            return [value]
        moved = self.of(value, emitter) or (None,) * self.order
        return [value, *(self.zero_like(value, emitter) if one is None else one for one in moved)]

    def assign(self, stmt: Assign, emitter: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if target not in self.activity:
            emitter.add(stmt)
        elif isinstance(value, Op) and value.fn in PRIMITIVES:
            emitter.add(stmt)
            self.primitive(value.fn, value.args, (target,), emitter)
        elif isinstance(value, Op) and isinstance(self.types[target], Scalar) and value.fn not in ("load", "pop"):
            self.operation(stmt, value, emitter)
        else:
            emitter.add(stmt)
            self.define(target, self.handed_on(target, value, emitter), emitter)

    def operation(self, stmt: Assign, value: Op, emitter: Emitter) -> None:
        """A number that an operation computes."""
        target, type_ = stmt.target, self.types[stmt.target]
        assert isinstance(type_, Scalar)
        rule = rule_for(value.fn)
        if rule is None or rule.tangent is None:
            raise no_rule(value.fn, stmt.span)
        head: Atom = Name(target)
        overwrites = head in value.args
        if overwrites:
            # an accumulation such as `s = s + x` takes the coefficients of before
            head = emitter.let("t", value, type_)
        else:
            emitter.add(stmt)
        series = PowerSeries(emitter, self.order, stmt.span)
        args = tuple(series.given(arg, self.of(arg, emitter)) for arg in value.args if isinstance(arg, Atom))
        node = series.of(value.fn, args, head)
        found = [series.coefficient(node, k) for k in range(1, self.order + 1)]
        self.define(target, [None if one is None else emitter.atom(one, type_) for one in found], emitter)
        if overwrites:
            emitter.assign(target, head)

    def handed_on(self, target: str, value: Expr, emitter: Emitter) -> list[Expr | None]:
        """The coefficients of what is copied, read, made or seen by another name: made in the same way."""
        zero = zero_of(type_) if isinstance(type_ := self.types[target], Scalar) else None
        if not isinstance(value, Op):
            return list(self.of(value, emitter) or (zero,) * self.order)
        if value.fn in ALLOCATIONS:
            return [Op("zeros", value.args)] * self.order
        if value.fn == "stack":
            return [value] * self.order
        owners = self.of(value.args[0], emitter) or (None,) * self.order
        if value.fn == "copy":
            return [self.zero_like(Name(target), emitter) if one is None else Op("copy", (one,)) for one in owners]
        if value.fn in VIEWS or value.fn in ("load", "pop"):
            return [None if one is None else Op(value.fn, (one, *value.args[1:])) for one in owners]
        raise no_rule(value.fn, emitter.span)

    def primitive(self, fn: str, args: tuple[Expr, ...], targets: tuple[str, ...], emitter: Emitter) -> None:
        """The coefficients of an operation on whole arrays."""
        moved = [self.of(arg, emitter) for arg in args]
        active = [target for target in targets if target in self.activity]
        if any(moved) and fn not in ARRAY_SERIES and fn not in LINEAR:
            raise _refused(f"`{fn}`", emitter.span, "no recurrence for its coefficients is known here")
        found: dict[str, list[Expr | None]] = {target: [] for target in targets}
        inverse: list[Expr | None] = []
        if fn in WITH_INVERSE and any(moved):
            inverse.append(emitter.let("inverse", Op("np.linalg.inv", args), emitter.type_of(args[0])))
        for k in range(1, self.order + 1):
            # of each argument coefficient k, and all up to that
            last = [None if own is None else own[k - 1] for own in moved]
            whole = [(arg, *(own or (None,) * k)[:k]) for arg, own in zip(args, moved, strict=True)]
            block: Block = ()
            value: Value = NONE
            if fn in LINEAR and any(last):
                y = tuple(map(Name, targets)) if len(targets) > 1 else Name(targets[0])
                block, value = lower_rule(emitter, PRIMITIVES[fn].tangent, [y, *args, *last])
            elif fn in ARRAY_SERIES and any(any(own[1:]) for own in whole):
                below = tuple((Name(target), *found[target]) for target in targets)
                given = [tuple(inverse)] if inverse else []
                taken = below if len(targets) > 1 else below[0]
                block, value = lower_rule(emitter, ARRAY_SERIES[fn], [taken, *whole, *given])
            emitter.extend(block)
            items = value.items if isinstance(value, Tup) else (value,) * len(targets)
            for target, item in zip(targets, items, strict=True):
                found[target].append(item.atom if isinstance(item, Sym) else None)
            if inverse:
                block, value = lower_rule(emitter, ARRAY_SERIES["np.linalg.inv"], [tuple(inverse), *whole])
                emitter.extend(block)
                inverse.append(value.atom if isinstance(value, Sym) else None)
        for target in active:
            values = found[target]
            if isinstance(self.types[target], Array) and self.shares.find(target) in self.changed:
                # what is written to later needs an array for each coefficient
                values = [self.zero_like(Name(target), emitter) if one is None else one for one in values]
            self.define(target, values, emitter)


def _refused(what: str, span: Span | None, reason: str) -> NotDifferentiable:
    hint = "take `tapec.jvp_fun` of `tapec.jvp_fun` for low orders"
    return NotDifferentiable(f"{what} has no Taylor coefficients", span, reason, hint)
