"""Forward mode: beside every statement, the statement for its tangent.

The tangent of `x` is `x_dot`; the tangent of an array is an array with the same aliasing.
Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.1.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.activity import Activity, is_callee, outputs, refuse_outside
from tapec.analyses.aliases import ALLOCATIONS, VIEWS, aliases
from tapec.frontend.evaluator.values import Sym, Tup
from tapec.rules import rule_for
from tapec.rules.formula import simplify
from tapec.rules.library import PRIMITIVES
from tapec.rules.table import no_rule, refused_argument
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Call,
    Const,
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
    substitute,
    zero_of,
)
from tapec.syntax.custom_rule import Custom, calls_out, custom_of
from tapec.syntax.types import Array, Scalar, Stack, written
from tapec.transforms.emitter import Emitter
from tapec.transforms.primitives import lower_rule
from tapec.transforms.strong_zeros import POWERS, QUOTIENTS, may_be_infinite, zero_kept


def forward(
    function: Function,
    sources: tuple[str, ...],
    constants: frozenset[str] = frozenset(),
    name: str | None = None,
) -> Function:
    """The function that also takes the tangents of `sources` and returns the tangents of its results.

    Parameters `x_dot` follow the parameters, in the order of `sources`; each result of float type
    is followed by its tangent.
    """
    return ForwardMode(function, sources, constants).run(name or f"{function.name}_jvp")


class ForwardMode:
    """One function on its way to its tangent; `vector_forward.py` has it for several directions at once."""

    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> None:
        self.function = function
        self.sources = sources
        self.constants = constants
        self.types = dict(function.types)
        self.taken = set(self.types)
        returned = {a.id for a in function.results if isinstance(a, Name)}
        # what nothing comes of but values needs no tangent, which functions that are called as they are have not
        targets = returned if calls_out(function.body) else set(self.types) | returned
        self.activity = Activity(function, aliases(function), set(sources), targets)
        self.dots: dict[str, str] = {}

    def run(self, name: str) -> Function:
        emitter = Emitter(self.types, self.taken)
        extra = []
        for source in self.sources:
            dot = emitter.fresh(f"{source}_dot", self.types[source])
            self.dots[source] = dot
            extra.append(dot)
        for other in (*self.function.params, *sorted(self.constants)):
            if other in self.activity and other not in self.dots:
                # shares memory with an active array: its own tangent is zero
                self.dots[other] = emitter.zeros_like(f"{other}_dot", other)
        self.block(self.function.body, emitter)
        params = (*self.function.params, *extra)
        return Function(name, params, tuple(emitter.out), self.types, self.function.doc)

    def dot(self, name: str, emitter: Emitter) -> str:
        """The name of the tangent of `name`."""
        if name not in self.dots:
            self.dots[name] = emitter.fresh(f"{name}_dot", written(self.types[name]))
        return self.dots[name]

    def tangent(self, atom: Atom, emitter: Emitter) -> Expr | None:
        """The tangent of an atom; None where it is zero."""
        if isinstance(atom, Name) and atom.id in self.activity:
            return Name(self.dot(atom.id, emitter))
        return None

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
            self.custom(stmt, *own, emitter)
            return
        match stmt:
            case Assign():
                self.assign(stmt, emitter)
            case Store(array=array, index=index, value=value, accumulate=accumulate):
                if array in self.activity:
                    dot = self.tangent(value, emitter)
                    shadow = self.dot(array, emitter)
                    if dot is not None or not accumulate:
                        type_ = self.types[shadow]
                        assert isinstance(type_, Array)
                        item = zero_of(type_.element) if dot is None else dot
                        emitter.add(Store(shadow, index, emitter.atom(item, type_.element), accumulate, stmt.span))
                emitter.add(stmt)
            case If(test=test, body=body, orelse=orelse):
                emitter.add(If(test, self.inner(body, emitter), self.inner(orelse, emitter), stmt.span))
            case For(body=body):
                inner = self.inner(body, emitter)
                emitter.add(replace(stmt, body=inner))
            case Loop(body=body):
                emitter.add(Loop(self.inner(body, emitter), stmt.span))
            case Push(stack=stack, value=value):
                if stack in self.activity:
                    dot = self.tangent(value, emitter)
                    type_ = self.types[stack]
                    assert isinstance(type_, Stack)
                    item = dot if dot is not None else self.zero_like(value, type_, emitter)
                    assert isinstance(item, Name | Const)
                    emitter.add(Push(self.dot(stack, emitter), item, stmt.span))
                emitter.add(stmt)
            case Call(function=fn) if is_callee(fn) and any(t in self.activity for t in outputs(stmt)):
                self.call(stmt, emitter)
            case Call():
                emitter.add(stmt)
                if any(target in self.activity for target in stmt.targets):
                    self.primitive(stmt.function, stmt.args, stmt.targets, emitter)
            case Return(values=values):
                emitter.add(Return(tuple(self.results(values, emitter)), stmt.span))
            case _:
                emitter.add(stmt)

    def custom(
        self, stmt: Stmt, fn: Custom, targets: tuple[str, ...], args: tuple[Atom, ...], emitter: Emitter
    ) -> None:
        """Inline the derivative that the user gave for an operation."""
        emitter.add(stmt)
        rule, arguments = fn.rule, args[fn.rule.results :]
        refuse_outside(rule, arguments, self.activity)
        given = (self.tangent(arg, emitter) for arg in arguments[: rule.operands])
        dots = [None if dot is None else emitter.atom(dot) for dot in given]
        block, tangents = rule.push_forward(emitter, dots, [Name(target) for target in targets], arguments)
        emitter.extend(block)
        for target, dot in zip(targets, tangents, strict=True):
            type_ = self.types[target]
            if target not in self.activity:
                continue
            value: Expr | None = dot
            if value is None:
                value = zero_of(type_) if isinstance(type_, Scalar) else Name(emitter.zeros_like("zero", target))
            if isinstance(type_, Array):
                self.types[self.dot(target, emitter)] = emitter.type_of(value)
            emitter.assign(self.dot(target, emitter), value)

    def call(self, stmt: Call, emitter: Emitter) -> None:
        """A recursive function: its tangent takes the tangents of all its float arguments."""
        dots: list[Atom] = []
        changes = list(stmt.changes)
        for k, arg in enumerate(stmt.args):
            type_ = emitter.type_of(arg)
            if not type_.is_float:
                continue
            if k in stmt.changes:
                changes.append(len(stmt.args) + len(dots))
            dot = self.tangent(arg, emitter)
            if dot is None and isinstance(type_, Array):
                assert isinstance(arg, Name)
                dot = Name(emitter.zeros_like("zero", arg.id))
            if dot is None:
                assert isinstance(type_, Scalar)
                dot = zero_of(type_)
            dots.append(emitter.atom(dot))
        targets: list[str] = []
        for target in stmt.targets:
            targets.append(target)
            if self.types[target].is_float:
                targets.append(self.dot(target, emitter))
        name = f"{stmt.function}_tangent"
        emitter.add(Call(tuple(targets), name, (*stmt.args, *dots), stmt.span, tuple(changes)))

    def zero_like(self, value: Atom, stack: Stack, emitter: Emitter) -> Expr:
        if isinstance(stack.element, Scalar):
            return zero_of(stack.element)
        assert isinstance(value, Name)
        return Name(emitter.zeros_like("zero", value.id))

    def results(self, values: tuple[Atom, ...], emitter: Emitter) -> list[Atom]:
        out: list[Atom] = []
        for value in values:
            out.append(value)
            type_ = emitter.type_of(value)
            if not type_.is_float:
                continue
            dot = self.tangent(value, emitter)
            if dot is None and isinstance(type_, Array):
                assert isinstance(value, Name)
                dot = Name(emitter.zeros_like(f"{value.id}_dot", value.id))
            if dot is None:
                assert isinstance(type_, Scalar)
                dot = zero_of(type_)
            out.append(emitter.atom(dot))
        return out

    def assign(self, stmt: Assign, emitter: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if target not in self.activity:
            emitter.add(stmt)
            return
        if isinstance(self.types[target], Array | Stack):
            self.memory(stmt, emitter)
            return
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            emitter.add(stmt)
            self.primitive(value.fn, value.args, (target,), emitter)
            return
        type_ = self.types[target]
        assert isinstance(type_, Scalar)
        tangent = self.scalar_tangent(stmt, emitter)
        overwrites = isinstance(value, Op) and Name(target) in value.args
        if not overwrites:
            emitter.add(stmt)
        emitter.assign(self.dot(target, emitter), emitter.atom(tangent, type_))
        if overwrites:
            # an accumulation such as `s = s + x`: its formula does not use the result
            emitter.add(stmt)

    def scalar_tangent(self, stmt: Assign, emitter: Emitter) -> Expr:
        value, target = stmt.value, stmt.target
        type_ = self.types[target]
        assert isinstance(type_, Scalar)
        if isinstance(value, Name | Const):
            dot = self.tangent(value, emitter)
            return zero_of(type_) if dot is None else dot
        assert isinstance(value, Op)
        if value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            return Op("load", (Name(self.dot(array.id, emitter)), *value.args[1:]))
        if value.fn == "pop":
            stack = value.args[0]
            assert isinstance(stack, Name)
            return Op("pop", (Name(self.dot(stack.id, emitter)),))
        rule = rule_for(value.fn)
        if rule is None or rule.tangent is None:
            raise no_rule(value.fn, stmt.span)
        names: dict[str, Expr] = {"y": Name(target)}
        moved: list[str] = []
        for param, arg in zip(rule.params, value.args, strict=False):
            assert isinstance(arg, Name | Const)
            names[param] = arg
            dot = self.tangent(arg, emitter)
            if param in rule.refused and dot is not None:
                raise refused_argument(rule, param, stmt.span)
            names[f"d{param}"] = Const(0.0) if dot is None else dot
            if isinstance(dot, Name):
                moved.append(f"d{param}")
        # powers and quotients in adjoints are what has no second derivative at kinks, and says so
        poles = self.function.strong_zero and value.fn not in POWERS | QUOTIENTS
        poles = poles and may_be_infinite(value.fn, value.args)
        return self.zero_kept(rule.tangent, names, moved, type_) if poles else simplify(substitute(rule.tangent, names))

    def zero_kept(self, formula: Expr, names: dict[str, Expr], moved: list[str], type_: Scalar) -> Expr:
        """A tangent to which tangents of zero contribute zero, also where a partial derivative may be infinite."""
        total: Expr = Const(0.0)
        for one in moved:
            alone = {**names, **{other: Const(0.0) for other in moved if other != one}}
            dot = names[one]
            assert isinstance(dot, Name)
            kind = self.types[dot.id]
            assert isinstance(kind, Scalar)
            term = zero_kept(simplify(substitute(formula, alone)), dot.id, (kind, type_), self.function.again)
            total = term if total == Const(0.0) else Op("+", (total, term))
        return total

    def memory(self, stmt: Assign, emitter: Emitter) -> None:
        """An array or stack: its tangent is made in the same way."""
        target, value = stmt.target, stmt.value
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            emitter.add(stmt)
            self.primitive(value.fn, value.args, (target,), emitter)
            return
        emitter.add(stmt)
        dot = self.dot(target, emitter)
        if isinstance(value, Name):
            shadow = self.tangent(value, emitter)
            emitter.assign(dot, shadow if shadow is not None else Name(emitter.zeros_like("zero", value.id)))
            return
        assert isinstance(value, Op)
        if value.fn in ALLOCATIONS:
            emitter.assign(dot, Op("zeros", value.args))
        elif value.fn in VIEWS or value.fn == "pop":
            owner = value.args[0]
            assert isinstance(owner, Name)
            emitter.assign(dot, Op(value.fn, (Name(self.dot(owner.id, emitter)), *value.args[1:])))
        elif value.fn == "stack":
            emitter.assign(dot, value)
        elif value.fn == "copy":
            shadow = self.tangent(value.args[0], emitter)  # type: ignore[arg-type]
            emitter.assign(dot, Name(emitter.zeros_like("zero", target)) if shadow is None else Op("copy", (shadow,)))
        else:
            raise no_rule(value.fn, stmt.span)

    def primitive(self, fn: str, args: tuple[Expr, ...], targets: tuple[str, ...], emitter: Emitter) -> None:
        result = tuple(Name(t) for t in targets)
        dots = [self.tangent(arg, emitter) if isinstance(arg, Name) else None for arg in args]
        if not any(dots):
            # active by another array that the name may stand for
            for target in targets:
                if target in self.activity:
                    emitter.assign(self.dot(target, emitter), Name(emitter.zeros_like("zero", target)))
            return
        y = result if len(result) > 1 else result[0]
        block, value = lower_rule(emitter, PRIMITIVES[fn].tangent, [y, *args, *dots])
        emitter.extend(block)
        values = value.items if isinstance(value, Tup) else (value,)
        for target, item in zip(targets, values, strict=True):
            if target in self.activity and isinstance(item, Sym):
                if isinstance(item.type, Array):
                    self.types[self.dot(target, emitter)] = item.type
                emitter.assign(self.dot(target, emitter), item.atom)


def forward_callee(function: Function, constants: frozenset[str]) -> Function:
    """The tangent of a recursive function, as a function that calls itself."""
    sources = tuple(p for p in function.params if function.types[p].is_float)
    return forward(function, sources, constants, f"{function.name}_tangent")
