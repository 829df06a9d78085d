"""Sparsity patterns: beside every statement, the statement for the sources that its value depends on.

    z = x[i] * y                 z_set = tapec_runtime.union(sets, x_set[i], y_set)

The set of `x` is `x_set`, a number that names it (see `tapec_runtime.index_sets`); that of an array is an array of
numbers with the same aliasing.  So the sets of the results say which elements of the Jacobian may be other than zero,
for all arguments that lead the same way through the program (`decision_digests`).  A value that depends on sources by a
derivative has all of them in its set, also where that derivative happens to be zero; operations that the rules give no
derivative add nothing.  Array operations with rules of their own have the set of all their operands in each element,
but for products, where an element has those of its row and column.

Griewank & Walther, Evaluating Derivatives, 2nd ed., section 7.1.
"""

from __future__ import annotations

from dataclasses import replace

from tapec.analyses.activity import differentiable_operands, is_callee, outputs
from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.rules import rule_for
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
    Print,
    Push,
    Return,
    Stmt,
    Store,
    changed,
    reads,
    walk,
    writes,
)
from tapec.syntax.custom_rule import Custom
from tapec.syntax.types import BOOL, INT64, Array, Stack
from tapec.transforms.decision_digests import digest_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.joined_branches import is_joined, unmarked
from tapec.transforms.numbered_elements import count_of, each_element
from tapec.transforms.sets_of_values import SetsOfValues
from tapec.transforms.slots import stack_args
from tapec.transforms.ssa import to_ssa


def source_sets(
    function: Function, sources: tuple[str, ...], constants: frozenset[str], integers: tuple[str, ...]
) -> Function:
    """The function of the same parameters and `sets` that returns the sets of its results, and a digest of decisions.

    function  as `decision_digests.traced` makes it
    integers  those among its parameters that decide anything
    sets      as `tapec_runtime.index_sets.room_for_sets` makes it, for the elements of all sources: those of the first
              one by rows, then those of the next
    returns   the sets of the elements of all float results, in one array of int64; the digest
    """
    return _SourceSets(function, sources, constants).run(integers)


class _SourceSets(SetsOfValues):
    def __init__(self, function: Function, sources: tuple[str, ...], constants: frozenset[str]) -> None:
        super().__init__(function, sources)
        self.function, self.sources, self.constants = function, sources, constants
        # names that are set anew from what they were
        self.accumulated = {
            name for stmt in walk(function.body) for name in writes(stmt) if name in reads(stmt)
        }
        # of numbers that are set in the branch at hand, of which both ways count
        self.local: dict[str, list[str]] = {}

    def run(self, integers: tuple[str, ...]) -> Function:
        out = self.emitter
        self.begin(out)
        self.block(self.function.body[:-1], out)
        *values, trace = self.function.results
        floats = [value for value in values if out.type_of(value).is_float]
        found = Name(out.fresh("found", Array("int64", 1, "C")))
        out.assign(found.id, Op("empty", (Const("int64"), count_of(out, floats))))

        def visit(inner: Emitter, value: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            item = self.set_of(value) or Const(0)
            if isinstance(item, Name) and isinstance(self.types[item.id], Array):
                item = inner.let("s", Op("load", (item, *index)), INT64)
            inner.add(Store(found.id, (place,), item))

        each_element(out, floats, visit)
        digest = digest_of(integers, out)
        whole = out.let("trace", Op("tapec_runtime.noted", (digest, trace)), INT64)
        params, body = (*self.function.params, self.room.id), (*out.out, Return((found, whole)))
        made = Function(f"{self.function.name}_sparsity", params, body, self.types)
        return to_ssa(made, self.constants)

    def begin(self, out: Emitter) -> None:
        """Number the elements of the sources; whatever shares memory with an active array begins with empty sets."""
        for source in self.sources:
            if isinstance(self.types[source], Array):
                self.sets[source] = self.zeros_like(f"{source}_set", source, out)
            else:
                self.sets[source] = out.fresh(f"{source}_set", INT64)

        def visit(inner: Emitter, source: Atom, index: tuple[Atom, ...], place: Atom) -> None:
            assert isinstance(source, Name)
            if isinstance(self.types[source.id], Array):
                inner.add(Store(self.sets[source.id], index, place))
            else:
                inner.assign(self.sets[source.id], place)

        each_element(out, [Name(source) for source in self.sources], visit, first=Const(1))
        for other in (*self.function.params, *sorted(self.constants)):
            if other in self.activity and other not in self.sets and isinstance(self.types[other], Array):
                self.sets[other] = self.zeros_like(f"{other}_set", other, out)

    # statements

    def block(self, block: Block, out: Emitter) -> None:
        for stmt in block:
            out.span = getattr(stmt, "span", None)
            self.statement(stmt, out)

    def inner(self, block: Block, out: Emitter) -> Block:
        child = out.child()
        self.block(block, child)
        return tuple(child.out)

    def statement(self, stmt: Stmt, out: Emitter) -> None:
        match stmt:
            case Assign(target=target) if target in self.activity:
                self.assign(stmt, out)
            case Store(array=array, index=index, value=value, accumulate=accumulate):
                if array in self.activity:
                    self.store(Name(self.name_of(array)), index, self.set_of(value), accumulate, out)
                out.add(stmt)
            case If() if is_joined(stmt):
                self.local = {}
                for name, sets in self.both_ways(stmt, out).items():
                    out.assign(self.name_of(name), self.union(sets, out))
                self.local = {}
                out.add(replace(stmt, body=unmarked(stmt.body), orelse=unmarked(stmt.orelse)))
            case If(test=test, body=body, orelse=orelse):
                out.add(If(test, self.inner(body, out), self.inner(orelse, out), stmt.span))
            case For(body=body):
                # joining sets is no work for several threads, and a run is not reversed
                out.add(replace(stmt, body=self.inner(body, out), parallel=False, independent=False, slots=None))
            case Loop(body=body):
                out.add(Loop(self.inner(body, out), stmt.span))
            case Push(stack=stack, value=value):
                if stack in self.activity:
                    kind = self.types[stack]
                    assert isinstance(kind, Stack)
                    item: Atom | None = self.set_of(value)
                    if item is None and isinstance(kind.element, Array):
                        assert isinstance(value, Name)
                        item = Name(self.zeros_like("none", value.id, out))
                    out.add(Push(self.name_of(stack), item or Const(0), stmt.span))
                out.add(stmt)
            case Call(args=args) if any(target in self.activity for target in outputs(stmt)):
                whole = self.union_of_all(list(args), out)
                out.add(stmt)
                for target in stmt.targets:
                    if target in self.activity:
                        self.fill(target, whole, out)
                if is_callee(stmt.function):
                    for array in changed(stmt):
                        if array in self.activity:
                            self.widen(array, whole, out)
            case Print():
                pass  # the values are computed by another program, which prints
            case _:
                out.add(stmt)

    def both_ways(self, stmt: If, out: Emitter) -> dict[str, list[str]]:
        """The sets of what both ways of a branch give, for each number that they set."""
        before = dict(self.local)
        first, second = (before | self.way(block, out) for block in (stmt.body, stmt.orelse))
        # what one of them alone sets is read there alone
        return {name: [*first[name], *second[name]] for name in first if name in second}

    def way(self, block: Block, out: Emitter) -> dict[str, list[str]]:
        """The sets of the numbers that a way sets; what it stores may be in its elements."""
        before, found = dict(self.local), {}
        for stmt in block:
            out.span = stmt.span
            match stmt:
                case Assign(target=target, value=value) if self.types[target].is_float:
                    if target in self.activity:
                        found[target] = self.local[target] = self.parts_of(value, out)
                case Assign(target=target):
                    if self.types[target] != BOOL:
                        out.add(stmt)
                case Store(array=array, index=index, value=value) if array in self.activity:
                    self.add(Name(self.name_of(array)), index, self.parts_of(value, out), out)
                case If():
                    for name, sets in self.both_ways(stmt, out).items():
                        found[name] = self.local[name] = sets
        self.local = before
        return found

    def parts_of(self, value: Expr, out: Emitter) -> list[str]:
        """The sets whose union is that of an expression in a branch."""
        if isinstance(value, Name) and value.id in self.local:
            return self.local[value.id]
        if isinstance(value, Name | Const):
            sets = self.set_of(value)
            return [sets.id] if sets is not None else []
        if value.fn == "load":
            sets = self.set_of(value.args[0])
            if sets is None:
                return []
            return [out.let("s", Op("tapec_runtime.set_at", (sets, *value.args[1:])), INT64).id]
        self.check(value, out)
        operands = differentiable_operands(value)
        return list(dict.fromkeys(part for name in operands for part in self.parts_of(Name(name), out)))

    def add(self, sets: Name, index: tuple[Atom, ...], parts: list[str], out: Emitter) -> None:
        """Add to the set of an element, if it is in range."""
        test = out.let("inside", Op("tapec_runtime.lies_in", (sets, *index)), BOOL)
        inner = out.child()
        before = inner.let("s", Op("load", (sets, *index)), INT64)
        inner.add(Store(sets.id, index, self.union([before.id, *parts], inner), False, out.span))
        out.add(If(test, tuple(inner.out), (), out.span))

    def store(
        self, sets: Name, index: tuple[Atom, ...], value: Name | None, accumulate: bool, out: Emitter
    ) -> None:
        if accumulate:
            if value is not None:
                before = out.let("s", Op("load", (sets, *index)), INT64)
                out.add(Store(sets.id, index, self.union([before.id, value.id], out), False, out.span))
        else:
            out.add(Store(sets.id, index, value or Const(0), False, out.span))

    def fill(self, target: str, whole: Atom, out: Emitter) -> None:
        """What an operation has computed depends on all that it was given."""
        if not isinstance(self.types[target], Array):
            out.assign(self.name_of(target), whole)
            return
        made = self.zeros_like(f"{target}_set", target, out)
        out.assign(self.name_of(target), Name(made))
        out.each(made, lambda inner, index: inner.add(Store(made, index, whole, False, out.span)))

    def widen(self, array: str, whole: Atom, out: Emitter) -> None:
        """What a call may have written may depend on all that it was given, too."""
        sets = Name(self.name_of(array))
        if not isinstance(self.types[sets.id], Array):
            raise no_rule(f"list `{array}` among the arguments of a call", out.span)

        def body(inner: Emitter, index: tuple[Atom, ...]) -> None:
            before = inner.let("s", Op("load", (sets, *index)), INT64)
            parts = [before.id, *([whole.id] if isinstance(whole, Name) else [])]
            inner.add(Store(sets.id, index, self.union(parts, inner), False, out.span))

        out.each(sets.id, body)

    def assign(self, stmt: Assign, out: Emitter) -> None:
        target, value = stmt.target, stmt.value
        if isinstance(self.types[target], Array | Stack):
            self.memory(stmt, out)
        elif isinstance(value, Name | Const):
            out.add(stmt)
            out.assign(self.name_of(target), self.set_of(value) or Const(0))
        elif value.fn in ("load", "pop"):
            owner = value.args[0]
            assert isinstance(owner, Name)
            sets = Op(value.fn, (Name(self.name_of(owner.id)), *value.args[1:]))
            out.add(stmt)
            out.assign(self.name_of(target), sets)
        elif value.fn in PRIMITIVES or isinstance(value.fn, Custom):
            self.primitive(stmt, value, out)
        else:
            self.check(value, out)
            operands = tuple(differentiable_operands(value))
            parts = [found.id for name in operands if (found := self.set_of(Name(name)))]
            whole = self.union(parts, out)
            out.add(stmt)
            made = self.name_of(target)
            out.assign(made, whole)
            if not {target, *operands} & self.accumulated:
                # what an iteration of a loop hands on is set at its end: till then the parts are what they are here
                self.parts[made] = self.apart(parts)

    def check(self, value: Op, out: Emitter) -> None:
        """Raise for an operation that has no derivative by what it is given."""
        rule = rule_for(value.fn)
        if rule is None or rule.tangent is None:
            raise no_rule(value.fn, out.span)
        for param, arg in zip(rule.params, value.args, strict=False):
            if param in rule.refused and self.set_of(arg) is not None:
                raise refused_argument(rule, param, out.span)

    def memory(self, stmt: Assign, out: Emitter) -> None:
        """An array or list: its sets are made in the same way."""
        target, value = stmt.target, stmt.value
        if isinstance(value, Op) and (value.fn in PRIMITIVES or isinstance(value.fn, Custom)):
            self.primitive(stmt, value, out)
            return
        out.add(stmt)
        sets = self.name_of(target)
        if isinstance(value, Name):
            out.assign(sets, self.set_of(value) or Name(self.zeros_like("none", value.id, out)))
            return
        assert isinstance(value, Op)
        if value.fn in ALLOCATIONS:
            out.assign(sets, Op("zeros", (Const("int64"), *value.args[1:])))
        elif value.fn in VIEWS or value.fn == "pop":
            owner = value.args[0]
            assert isinstance(owner, Name)
            out.assign(sets, Op(value.fn, (Name(self.name_of(owner.id)), *value.args[1:])))
        elif value.fn == "stack":
            kind = self.types[sets]
            assert isinstance(kind, Stack)
            out.assign(sets, Op("stack", stack_args(kind.element)))
        elif value.fn == "copy":
            found = self.set_of(value.args[0])
            out.assign(sets, Name(self.zeros_like("none", target, out)) if found is None else Op("copy", (found,)))
        else:
            raise no_rule(value.fn, stmt.span)

    def primitive(self, stmt: Assign, value: Op, out: Emitter) -> None:
        out.add(stmt)
        if value.fn == "np.dot" and all(isinstance(arg, Name) for arg in value.args):
            self.product(stmt.target, value.args[0].id, value.args[1].id, out)  # type: ignore[union-attr]
            return
        self.fill(stmt.target, self.union_of_all([Name(name) for name in differentiable_operands(value)], out), out)

    def product(self, target: str, first: str, second: str, out: Emitter) -> None:
        """A product of vectors and matrices: an element has the sets of a row and of a column."""
        types = self.types
        ranks = [type_.ndim for name in (first, second) if isinstance(type_ := types[name], Array)]
        inner_extent = out.let("size", Op("dim", (Name(first), Const(ranks[0] - 1))), INT64)
        if isinstance(types[target], Array):
            made = Name(self.zeros_like(f"{target}_set", target, out))
            out.assign(self.name_of(target), made)
        else:
            made = Name(out.fresh(f"{target}_set", Array("int64", 1, "C")))
            out.assign(made.id, Op("zeros", (Const("int64"), Const(1))))

        def body(one: Emitter, index: tuple[Atom, ...]) -> None:
            rows = index[: ranks[0] - 1]
            columns = index[ranks[0] - 1 :] if isinstance(types[target], Array) else ()
            k = one.fresh("k", INT64)
            deepest = one.child()
            before = deepest.let("s", Op("load", (made, *index)), INT64)
            parts = [before.id]
            for operand, place in ((first, (*rows, Name(k))), (second, (Name(k), *columns))):
                sets = self.set_of(Name(operand))
                if sets is not None:
                    parts.append(deepest.let("s", Op("load", (sets, *place)), INT64).id)
            deepest.add(Store(made.id, index, self.union(parts, deepest), False, out.span))
            one.add(For(k, Const(0), inner_extent, Const(1), tuple(deepest.out), span=out.span))

        if isinstance(types[target], Array):
            out.each(made.id, body)
        else:
            body(out, (Const(0),))
            out.assign(self.name_of(target), Op("load", (made, Const(0))))
