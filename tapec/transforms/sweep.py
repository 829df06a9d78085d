"""The reverse sweep as mathematics: adjoint statements that may read any primal value.

Statements are visited last to first.  How the primal values that they read reach the reverse
sweep is not decided here but in `storage.py`; loops and branches therefore come out as `RevFor`,
`RevLoop` and `RevIf`, which still point at their primal statement.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tapec.analyses.activity import Activity, is_callee, outputs, refuse_outside
from tapec.analyses.aliases import Memory
from tapec.analyses.scopes import Scope, Scopes
from tapec.errors import NotDifferentiable
from tapec.rules import rule_for
from tapec.rules.formula import simplify
from tapec.rules.library import PRIMITIVES
from tapec.rules.table import no_rule, refused_argument
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Break,
    Call,
    Const,
    Expr,
    For,
    If,
    Loop,
    Name,
    Op,
    Push,
    Stmt,
    Store,
    key_field,
    substitute,
    zero_of,
)
from tapec.syntax.custom_rule import Custom, custom_of
from tapec.syntax.types import Array, Scalar, Stack
from tapec.transforms.emitter import Emitter
from tapec.transforms.primitives import lower_rule
from tapec.transforms.reciprocals import with_reciprocals
from tapec.transforms.residual_requests import Asks, Unhandable
from tapec.transforms.shadow import Shadows
from tapec.transforms.shared_functions import share_functions
from tapec.transforms.strong_zeros import Overflows, may_be_infinite, zero_kept

_ROOTS = frozenset({"np.sqrt", "math.sqrt"})


@dataclass
class RevIf:
    """The reversal of an `if`: reversed branches under the same test."""

    primal: If
    body: RevBlock
    orelse: RevBlock
    key: int = key_field()


@dataclass
class RevLoop:
    """The reversal of a loop: iterations last to first."""

    primal: For | Loop
    body: RevBlock
    key: int = key_field()


@dataclass
class RevBlock:
    """Reversed statements of a region, and the adjoints of the numbers at scope in it."""

    region: Scope
    items: list[Stmt | RevIf | RevLoop] = field(default_factory=list)
    adjoints: list[str] = field(default_factory=list)


class Sweep:
    """Generates the reverse sweep of a program with shadows."""

    def __init__(
        self,
        emitter: Emitter,
        scopes: Scopes,
        memory: Memory,
        activity: Activity,
        shadows: Shadows,
    ) -> None:
        self.emitter = emitter
        self.types = emitter.types
        self.scopes = scopes
        self.memory = memory
        self.activity = activity
        self.shadows = shadows
        self.bars: dict[str, str] = {}
        self.scopes_of: dict[int, list[str]] = {}
        # copies of arrays after and before a statement
        self.snapshots: dict[int, list[tuple[str, str]]] = {}
        self.entries: dict[int, list[tuple[str, str]]] = {}
        # elements as they were before a store, which the reverse sweep puts back
        self.old: frozenset[str] = frozenset()
        # whether adjoints may be multiplied by reciprocals
        self.divide_once = False
        # whether adjoints of zero contribute zero, whatever they are multiplied by
        self.strong_zero = True
        # whether the adjoints are differentiated in turn
        self.again = False
        self.squares: frozenset[str] = frozenset()
        self.overflows: Overflows | None = None
        # by function whose values go on lists that it is handed
        self.asked: Mapping[str, Asks] = {}
        # the calls of those that are reversed, by id, and the shadows that their forward sweep takes
        self.handed: dict[int, tuple[Atom, ...]] = {}
        # writes the reversal of a checkpointed loop
        self.checkpointed: Callable[[For], list[Stmt]] | None = None

    def bar(self, name: str) -> str:
        """The adjoint of an active number; it starts at zero where the number is at scope."""
        if name not in self.bars:
            bar = self.emitter.fresh(f"{name}_bar", self.types[name])
            self.bars[name] = bar
            self.scopes_of.setdefault(self.scopes.scope_of[name].key, []).append(bar)
        return self.bars[name]

    def stack_bar(self, name: str) -> str:
        """For a stack of numbers, the stack of their adjoints; the forward sweep leaves both empty."""
        if name not in self.bars:
            self.bars[name] = self.shadows.of(name)
            self.scopes_of.setdefault(self.scopes.scope_of[name].key, []).append(self.bars[name])
        return self.bars[name]

    def run(self, block: Block, region: Scope) -> RevBlock:
        result = RevBlock(region)
        for stmt in reversed(block):
            self.emitter.span = getattr(stmt, "span", None)
            result.items += self.reverse(stmt)
        if self.divide_once:
            result.items = with_reciprocals(result.items, region, self.scopes, self.emitter)
        result.adjoints = self.scopes_of.setdefault(region.key, [])
        if region is self.scopes.root:
            share_functions(result, self.scopes, self.types)
        return result

    def reverse(self, stmt: Stmt) -> list[Any]:
        match stmt:
            case If(body=body, orelse=orelse):
                inner, other = self.scopes.body[stmt.key]
                reversed_if = RevIf(stmt, self.run(body, inner), self.run(orelse, other))
                return [reversed_if] if reversed_if.body.items or reversed_if.orelse.items else []
            case For(slots=slots) if slots is not None and self.checkpointed is not None:
                return list(self.checkpointed(stmt))
            case For(body=body) | Loop(body=body):
                (inner,) = self.scopes.body[stmt.key]
                reversed_loop = RevLoop(stmt, self.run(body, inner))
                return [reversed_loop] if reversed_loop.body.items else []
        out = self.emitter.child()
        out.span = self.emitter.span
        match stmt:
            case Assign(target=target, value=Op(args=(Name(id=array), *_) as place)) if target in self.old:
                index = tuple(sub for sub in place[1:] if isinstance(sub, Name | Const))
                out.add(Store(array, index, Name(target), False, out.span))
            case Assign(target=target) if target in self.activity:
                self.assign(stmt, out)
            case Store(array=array) if array in self.activity:
                self.store(stmt, out)
            case Push(stack=stack, value=Name(id=value)) if stack in self.activity and value in self.activity:
                if isinstance(self.types[value], Scalar):
                    item = out.let("t", Op("pop", (Name(self.stack_bar(stack)),)), self.types[value])
                    out.accumulate(self.bar(value), item)
            case Push(stack=stack) if stack in self.activity:
                element = self.types[stack]
                if isinstance(element, Stack) and isinstance(element.element, Scalar):
                    out.let("t", Op("pop", (Name(self.stack_bar(stack)),)), element.element)
            case Call(targets=targets, function=Custom()):
                if any(target in self.activity for target in targets):
                    self.custom(stmt, out)
            case Call(targets=targets, function=fn, args=args) if fn in PRIMITIVES:
                if any(target in self.activity for target in targets):
                    self.primitive(stmt, fn, args, targets, out)
            case Call(function=fn) if any(target in self.activity for target in outputs(stmt)):
                if not is_callee(fn):
                    raise no_rule(fn, stmt.span)
                self.call(stmt, out)
        return list(out.out)

    def call(self, stmt: Call, out: Emitter) -> None:
        """A recursive function: its adjoint returns the adjoints of its numbers.

        A function that is handed lists has put on them what its pullback takes.  The adjoint of another one runs it
        again; what the function writes into, its adjoint writes into a copy that was made before the call.
        """
        asked = self.asked.get(stmt.function)
        operands: list[Atom] = []
        for k, arg in enumerate(stmt.args):
            if asked is None and k in stmt.changes:
                operands.append(self.before(stmt, arg))
            elif asked is None or k in asked.elements:
                operands.append(self.unchanged(stmt, arg))
            else:
                operands.append(arg)
        seeds: list[Atom] = []
        for target in stmt.targets:
            type_ = self.types[target]
            if isinstance(type_, Array) and type_.is_float:
                active = target in self.activity
                seeds.append(Name(self.shadows.of(target) if active else out.zeros_like(f"{target}_bar", target)))
            elif isinstance(type_, Scalar) and type_.is_float:
                seeds.append(Name(self.bar(target)) if target in self.activity else out.atom(zero_of(type_)))
        arrays: list[Atom] = []
        numbers: list[tuple[Atom, str]] = []
        for arg in stmt.args:
            type_ = out.type_of(arg)
            if not type_.is_float:
                continue
            active = isinstance(arg, Name) and arg.id in self.activity
            if isinstance(type_, Array):
                assert isinstance(arg, Name)
                arrays.append(Name(self.shadows.of(arg.id) if active else out.zeros_like(f"{arg.id}_bar", arg.id)))
            else:
                numbers.append((arg, out.fresh("t", type_)))
        names = tuple(name for _, name in numbers)
        first = len(operands) + len(seeds)
        changes = range(first, first + len(arrays))
        if asked is None:
            name, changes_ = f"{stmt.function}_adjoint", (*stmt.changes, *changes)
        else:
            name, changes_ = f"{stmt.function}_reverse", tuple(changes)
            self.handed[stmt.key] = tuple(arrays) if asked.shadows else ()
            floats = (arg for arg in stmt.args if isinstance(out.type_of(arg), Array) and out.type_of(arg).is_float)
            if asked.shadows and not all(isinstance(arg, Name) and arg.id in self.activity for arg in floats):
                raise Unhandable("an array that it is given has no shadow")
        out.add(Call(names, name, (*operands, *seeds, *arrays), stmt.span, changes_))
        for arg, name in numbers:
            if isinstance(arg, Name) and arg.id in self.activity:
                self.contribute(arg.id, Name(name), out)

    def is_array(self, name: str) -> bool:
        return isinstance(self.types[name], Array)

    def contribute(self, name: str, expr: Expr, out: Emitter) -> None:
        out.accumulate(self.bar(name), expr)

    def assign(self, stmt: Assign, out: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if isinstance(value, Op) and isinstance(value.fn, Custom):
            self.custom(stmt, out)
            return
        if isinstance(self.types[target], Array | Stack):
            if isinstance(value, Op) and value.fn in PRIMITIVES:
                self.primitive(stmt, value.fn, value.args, (target,), out)
            elif isinstance(value, Op) and value.fn == "copy":
                owner = value.args[0]
                assert isinstance(owner, Name)
                if owner.id in self.activity:
                    out.add_elements(self.shadows.of(owner.id), self.shadows.of(target))
            return
        if isinstance(value, Op) and value.fn in PRIMITIVES:
            self.primitive(stmt, value.fn, value.args, (target,), out)
            return
        bar = self.bar(target)
        if isinstance(value, Name | Const):
            if isinstance(value, Name) and value.id in self.activity:
                self.contribute(value.id, Name(bar), out)
            if self.scopes.merged(target) and self.scopes.loop_of(target) is not None:
                # the iteration before sees this variable anew
                type_ = self.types[target]
                assert isinstance(type_, Scalar)
                out.assign(bar, out.atom(zero_of(type_)))
            return
        assert isinstance(value, Op)
        if value.fn == "load":
            array = value.args[0]
            assert isinstance(array, Name)
            index = tuple(a for a in value.args[1:] if isinstance(a, Name | Const))
            out.add(Store(self.shadows.of(array.id), index, Name(bar), True, out.span))
            return
        if value.fn == "pop":
            stack = value.args[0]
            assert isinstance(stack, Name)
            out.add(Push(self.stack_bar(stack.id), Name(bar), out.span))
            return
        rule = rule_for(value.fn)
        if rule is None:
            raise no_rule(value.fn, stmt.span)
        for param, arg in zip(rule.params, value.args, strict=False):
            if param in rule.refused and isinstance(arg, Name) and arg.id in self.activity:
                raise refused_argument(rule, param, stmt.span)
        names: dict[str, Expr] = dict(zip(rule.params, value.args, strict=False))
        names |= {"y": Name(target), "y_bar": Name(bar)}
        for arg, contribution in zip(value.args, rule.contributions, strict=False):
            if contribution is not None and isinstance(arg, Name) and arg.id in self.activity:
                found = simplify(substitute(contribution, names))
                self.contribute(arg.id, self.zero_kept(value.fn, value.args, bar, Name(target), found), out)

    def zero_kept(self, fn: str, args: tuple[Expr, ...], bar: str, result: Name, contribution: Expr) -> Expr:
        """A contribution that is zero for an adjoint of zero, also where the partial derivative may be infinite.

        The root of a sum of squares contributes zero where that is zero.
        """
        infinite = may_be_infinite(fn, args) or (self.overflows is not None and self.overflows.at(result.id, fn))
        if not self.strong_zero or not infinite:
            return contribution
        type_ = self.types[bar]
        assert isinstance(type_, Scalar)
        if fn in _ROOTS and isinstance(args[0], Name) and args[0].id in self.squares:
            # zero at the tip of a cone, as the derivative of `abs` is; there is no second derivative
            zero = zero_of(type_)
            tip = Op("known", (zero, Op("np.divide", (result, zero))))
            return Op("ifelse", (Op("!=", (result, zero)), contribution, tip))
        return zero_kept(contribution, bar, (type_, type_), self.again)

    def custom(self, stmt: Assign | Call, out: Emitter) -> None:
        """Inline the derivative that the user gave for an operation."""
        own = custom_of(stmt)
        assert own is not None
        fn, targets, args = own
        rule, operands = fn.rule, args[fn.rule.results :]
        refuse_outside(rule, operands, self.activity)
        active = [isinstance(one, Name) and one.id in self.activity for one in operands[: rule.operands]]
        # of the operands the shapes are needed, which adjoints have as well
        arguments = [
            Name(self.shadows.of(one.id)) if on and isinstance(one, Name) and self.is_array(one.id) else one
            for one, on in zip(operands, active, strict=False)
        ]
        first = rule.operands + rule.outside
        arguments += [*operands[rule.operands : first], *(self.unchanged(stmt, one) for one in operands[first:])]
        seeds: list[Atom | None] = []
        for target in targets:
            found = target in self.activity
            bar = self.shadows.of if self.is_array(target) else self.bar
            seeds.append(Name(bar(target)) if found else None)
        results = [self.unchanged(stmt, one) if k in rule.read else one for k, one in enumerate(map(Name, targets))]
        block, adjoints = rule.pull_back(out, seeds, results, arguments, active)
        out.extend(block)
        for operand, adjoint, on in zip(operands, adjoints, active, strict=False):
            if adjoint is None or not on:
                continue
            assert isinstance(operand, Name)
            if self.is_array(operand.id):
                assert isinstance(adjoint, Name)
                out.add_elements(self.shadows.of(operand.id), adjoint.id)
            else:
                self.contribute(operand.id, adjoint, out)

    def store(self, stmt: Store, out: Emitter) -> None:
        shadow = self.shadows.of(stmt.array)
        type_ = self.types[stmt.array]
        assert isinstance(type_, Array)
        place = (Name(shadow), *stmt.index)
        active = isinstance(stmt.value, Name) and stmt.value.id in self.activity
        if stmt.accumulate:
            if active and isinstance(stmt.value, Name):
                self.contribute(stmt.value.id, Op("load", place), out)
            return
        if active and isinstance(stmt.value, Name):
            # take before clearing: the value may be read from the same element
            taken = out.let("t", Op("load", place), type_.element)
            out.add(Store(shadow, stmt.index, out.atom(zero_of(type_.element)), False, out.span))
            self.contribute(stmt.value.id, taken, out)
        else:
            out.add(Store(shadow, stmt.index, out.atom(zero_of(type_.element)), False, out.span))

    def primitive(self, stmt: Stmt, fn: str, args: tuple[Expr, ...], targets: tuple[str, ...], out: Emitter) -> None:
        """Inline the adjoint of a whole-array operation."""
        bars: list[Atom | None] = []
        operands: list[Atom] = []
        for arg in args:
            assert isinstance(arg, Name | Const)
            operands.append(self.unchanged(stmt, arg))
            if not isinstance(arg, Name) or arg.id not in self.activity:
                bars.append(None)
            elif isinstance(self.types[arg.id], Array):
                bars.append(Name(self.shadows.of(arg.id)))
            else:
                raise NotDifferentiable(f"`{fn}` has no derivative with respect to a number", out.span)
        results: list[Atom] = [self.unchanged(stmt, Name(t)) for t in targets]
        seeds: list[Atom | None] = []
        for target in targets:
            if target not in self.activity:
                seeds.append(None)
            elif isinstance(self.types[target], Array):
                seeds.append(Name(self.shadows.of(target)))
            else:
                seeds.append(Name(self.bar(target)))
        y: Any = tuple(results) if len(results) > 1 else results[0]
        y_bar: Any = tuple(seeds) if len(seeds) > 1 else seeds[0]
        block, _ = lower_rule(out, PRIMITIVES[fn].adjoint, [y, *operands, y_bar, *bars])
        out.extend(block)

    def unchanged(self, stmt: Stmt, arg: Atom) -> Atom:
        """An operand with the contents it has at `stmt`: itself, or a copy made there."""
        if not isinstance(arg, Name) or not isinstance(self.types[arg.id], Array):
            return arg
        if self.memory.stable(stmt, arg.id):
            return arg
        return self.copied(stmt, arg.id, self.snapshots)

    def before(self, stmt: Stmt, arg: Atom) -> Atom:
        """A copy of an array as it is before `stmt`."""
        assert isinstance(arg, Name)
        return self.copied(stmt, arg.id, self.entries)

    def copied(self, stmt: Stmt, name: str, copies: dict[int, list[tuple[str, str]]]) -> Name:
        """The name of a copy that the forward sweep is to make beside `stmt`."""
        known = copies.setdefault(stmt.key, [])
        for original, copy in known:
            if original == name:
                return Name(copy)
        type_ = self.types[name]
        assert isinstance(type_, Array)
        copy = self.emitter.fresh(f"{name}_kept", Array(type_.dtype, type_.ndim, "C"))
        known.append((name, copy))
        return Name(copy)


def always_breaks(block: Block) -> bool:
    """Whether a block's every way ends in Break."""
    for stmt in block:
        if isinstance(stmt, Break):
            return True
        if isinstance(stmt, If) and always_breaks(stmt.body) and always_breaks(stmt.orelse):
            return True
    return False
