"""Raise where the first value that is not finite appears: `debug="nan"`.

    t = np.log(x)               t = np.log(x)
                        ->      if np.isnan(t) or np.isinf(t) and np.isfinite(x):
                                    raise tapec_runtime.NonFiniteValue(t, "np.log(x)", ..., "x", x)

A value is tested where something is computed: what is only read, copied or chosen may be anything, until something is
computed from it or it is returned.  So a nan that is left out by `np.isnan`, a sentinel, and an adjoint of zero beside
an infinite partial derivative raise nothing.  An infinite value raises where all operands are finite.

The program is tested before it is differentiated: the tests stand in the forward sweep, whether or not the
derivative needs the values.  What the transforms add is tested after them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Sequence
from dataclasses import replace

from tapec.analyses.aliases import ALLOCATIONS, VIEWS
from tapec.errors import Span
from tapec.optimise.name_origins import is_adjoint, is_tangent
from tapec.optimise.simplify.dead_code import drop_dead_code
from tapec.optimise.simplify.shown_operations import ShownOperations
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Expr,
    For,
    Function,
    If,
    Name,
    Note,
    Op,
    Push,
    Raise,
    Return,
    Stmt,
    Store,
    distinct,
    map_blocks,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar
from tapec.transforms.emitter import Emitter

ERROR = "tapec_runtime.NonFiniteValue"
REVERSE = "reverse sweep"
# what hands values on; of arrays, what makes one of which nothing is computed
_READ = frozenset({"load", "pop", "stop_gradient", "grown", "stack"})
_MOVED = frozenset({*_READ, *VIEWS, *ALLOCATIONS, "copy"})
# what residuals are kept in
_RESIDUALS = re.compile(r"_(store|stack)(_\d+)*$")
# what raises where an array has a nan
_REFUSING = ("np.linalg.", "tapec_runtime.factorised")
_CLASSES = frozenset({"np.isnan", "np.isinf", "np.isfinite"})


def tested(function: Function, constants: frozenset[str] = frozenset()) -> Function:
    """A program that is to be differentiated, with tests of the numbers on which its results depend."""
    function = replace(function, body=distinct(function.body))
    needed = {stmt.key for stmt in walk(drop_dead_code(function, constants).body)}
    types = dict(function.types)
    worker = _Tests(function, Emitter(types, set(types)), needed=needed)
    body = worker.block(function.body)
    if len(function.results) == 1:
        body = (*body[:-1], *worker.of_result(function.leaving), body[-1])
    return replace(function, body=body, types=types)


def add_non_finite_tests(function: Function) -> Function:
    """The function with tests of what is not tested yet; see the module."""
    types = dict(function.types)
    raises = any(isinstance(stmt, Raise) and stmt.exception == ERROR for stmt in walk(function.body))
    # a name that a test asks for
    known = {
        name
        for stmt in walk(function.body)
        if raises and isinstance(stmt, Assign) and isinstance(stmt.value, Op) and stmt.value.fn == "np.isnan"
        for name in reads(stmt)
    }
    worker = _Tests(function, Emitter(types, set(types)), known)
    return replace(function, body=worker.block(function.body), types=types)


def _chosen_from(function: Function) -> frozenset[str]:
    """The names whose values reach the rest of the program by a choice alone."""
    readers: dict[str, list[Stmt]] = {}
    defs: dict[str, int] = {}
    for stmt in walk(function.body):
        for name in writes(stmt):
            defs[name] = defs.get(name, 0) + 1
        for name in reads(stmt):
            readers.setdefault(name, []).append(stmt)
    found: set[str] = set()

    def is_chosen_from(name: str) -> bool:
        if defs.get(name) != 1 or name in function.params or not readers.get(name):
            return False
        return all(_chooses(stmt, name) or _target(stmt) in found for stmt in readers[name])

    before = -1
    while len(found) != before:
        before = len(found)
        found.update(name for name in defs if name not in found and is_chosen_from(name))
    return frozenset(found)


def _chooses(stmt: Stmt, name: str) -> bool:
    """Whether a statement only chooses a value, asks of which class it is, or keeps it for the reverse sweep."""
    match stmt:
        case Assign(value=Op(fn="ifelse", args=(test, *sides))):
            return Name(name) in sides and test != Name(name)
        case Assign(value=Op(fn=fn)):
            return fn in _CLASSES
        case Store(array=array, accumulate=False) | Push(stack=array):
            return _RESIDUALS.search(array) is not None
    return False


def _target(stmt: Stmt) -> str | None:
    """The number that a statement computes from others."""
    match stmt:
        case Assign(target=target, value=Op(fn=fn)) if fn not in _READ:
            return target
    return None


class _Tests:
    """Writes the tests.

    tested    the names that have been tested
    needed    the keys of the statements that are tested; None for all
    untested  what computes the names that are only chosen from
    counters  the variables of the loops around a statement
    """

    def __init__(
        self,
        function: Function,
        emitter: Emitter,
        tested: Container[str] = (),
        needed: Container[int] | None = None,
    ) -> None:
        self.emitter, self.tested, self.needed = emitter, tested, needed
        chosen = _chosen_from(function)
        self.untested = {s.target: s.value for s in walk(function.body) if isinstance(s, Assign) and s.target in chosen}
        self.shown = ShownOperations(function)
        self.counters: list[Name] = []
        self.reverse = False

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            self.reverse |= isinstance(stmt, Note) and stmt.text == REVERSE
            if isinstance(stmt, For):
                self.counters.append(Name(stmt.var))
            needed = self.needed is None or stmt.key in self.needed
            if needed:
                out += self.ahead(stmt)
            out.append(map_blocks(stmt, self.block))
            if isinstance(stmt, For):
                self.counters.pop()
            if needed:
                out += self.behind(stmt)
        return tuple(out)

    def ahead(self, stmt: Stmt) -> list[Stmt]:
        """The test of arrays for which NumPy's linear algebra raises an error of its own, without a place."""
        match stmt:
            case Assign(value=Op(fn=fn) as value, span=Span() as span) if any(part in fn for part in _REFUSING):
                if not self.is_tested(stmt.target):
                    return []
                out = self.emitter.child()
                out.span = span
                for arg in dict.fromkeys(value.args):
                    if isinstance(arg, Name) and self.is_float(arg, Array):
                        found = self.largest(out, arg.id)
                        is_nan = out.let("t", Op("np.isnan", (found,)), BOOL)
                        place = out.let("t", Op("tapec_runtime.first_not_finite", (arg,)), INT64)
                        pairs = [("the element", place), (f"max(abs({self.shown.text(arg)}))", found)]
                        self.add_error(out, is_nan, found, "comes out of", self.shown.text(value), pairs)
                return list(out.out)
        return []

    def behind(self, stmt: Stmt) -> list[Stmt]:
        """The test of what a statement computes."""
        match stmt:
            case Assign(target=target, value=Op(fn=fn) as value, span=Span() as span) if self.is_tested(target):
                moved = _MOVED if isinstance(self.emitter.types[target], Array) else _READ
                return [] if fn in moved else self.of_value(target, value, span)
            case Store(array=array, index=index, value=Name() as value, accumulate=True, span=Span() as span):
                type_ = self.emitter.types[array]
                if isinstance(type_, Array) and type_.is_float and len(index) == type_.ndim:
                    return self.of_element(stmt, value, span)
        return []

    def is_tested(self, target: str) -> bool:
        type_ = self.emitter.types[target]
        return (
            isinstance(type_, Scalar | Array)
            and type_.is_float
            and target not in self.untested
            and target not in self.tested
        )

    def of_value(self, target: str, value: Op, span: Span) -> list[Stmt]:
        """The test of what one operation computes: a number, or an array as a whole."""
        out = self.emitter.child()
        out.span = span
        found = self.largest(out, target) if isinstance(self.emitter.types[target], Array) else Name(target)
        is_nan = out.let("t", Op("np.isnan", (found,)), BOOL)
        test: Atom = is_nan
        # a statement such as `s = s + x` has changed its operand
        numbers = [arg for arg in self.numbers(value) if arg != Name(target)]
        arrays = [arg.id for arg in value.args if isinstance(arg, Name) and self.is_float(arg, Array)]
        inside = {array: self.largest(out, array) for array in dict.fromkeys(arrays) if array != target}
        if Name(target) not in value.args:
            tested = [arg for arg in numbers if self.is_float(arg) and arg.id not in self.untested]
            test = self.with_infinite(out, is_nan, found, [*inside.values(), *tested])
        side = next((arg.id for arg in numbers if value.fn == "ifelse" and arg.id in self.untested), None)
        if side is not None and isinstance(chosen := self.untested[side], Op):
            # what was computed before it was chosen
            value, numbers = chosen, self.numbers(chosen)
        pairs: list[tuple[str, Atom]] = []
        if found != Name(target):
            place = out.let("t", Op("tapec_runtime.first_not_finite", (Name(target),)), INT64)
            pairs.append(("the element", place))
        pairs += [(f"max(abs({self.shown.text(Name(array))}))", atom) for array, atom in inside.items()]
        pairs += [(self.shown.text(arg), arg) for arg in numbers]
        self.add_error(out, test, found, "comes out of", self.shown.text(value), pairs)
        return list(out.out)

    def of_element(self, store: Store, value: Name, span: Span) -> list[Stmt]:
        """The test of an element to which something is added."""
        out = self.emitter.child()
        out.span = span
        item = out.let("t", Op("load", (Name(store.array), *store.index)), self.element(store.array))
        is_nan = out.let("t", Op("np.isnan", (item,)), BOOL)
        element, added = self.shown.text(Op("load", (Name(store.array), *store.index))), self.shown.text(value)
        self.add_error(out, is_nan, item, "comes out of", f"{element} + {added}", [(added, value)])
        return list(out.out)

    def largest(self, out: Emitter, array: str) -> Name:
        return out.let("t", Op("tapec_runtime.largest", (Name(array),)), self.element(array))

    def element(self, array: str) -> Scalar:
        type_ = self.emitter.types[array]
        assert isinstance(type_, Array)
        return type_.element

    def with_infinite(self, out: Emitter, is_nan: Name, value: Name, operands: Sequence[Expr]) -> Atom:
        """Whether a value is nan, or infinite where all operands are finite."""
        parts: list[Expr] = [Op("np.isinf", (value,)), *(Op("np.isfinite", (arg,)) for arg in operands)]
        born = functools.reduce(lambda one, two: out.atom(Op("and", (one, two))), map(out.atom, parts))
        return out.atom(Op("or", (is_nan, born)))

    def of_result(self, leaving: Return) -> list[Stmt]:
        """The test of a number that is returned, and has not been tested where it was computed."""
        result = leaving.values[0]
        if not isinstance(result, Name) or leaving.span is None or not self.is_float(result):
            return []
        out = self.emitter.child()
        out.span = leaving.span
        is_nan = out.let("t", Op("np.isnan", (result,)), BOOL)
        self.add_error(out, is_nan, result, "is returned as", self.shown.text(result), [])
        return list(out.out)

    def add_error(
        self, out: Emitter, test: Atom, value: Name, how: str, shown: str, operands: Sequence[tuple[str, Atom]]
    ) -> None:
        """Raise the error, with the values of operands and the counts of the loops around."""
        span = out.span
        assert span is not None
        told: dict[str, Atom] = {}
        for text, atom in operands:
            if text not in told:
                told[text] = atom
            elif isinstance(atom, Name) and self.shown.words.is_users(atom.id):
                told[atom.id] = atom
        told |= {one.id: one for one in self.counters if self.is_told(one.id, (shown, *told))}
        pairs = [part for text, atom in told.items() for part in (Const(text), atom)]
        texts = (shown, how, self.sweep(value.id), places(span))
        out.add(If(test, (Raise(ERROR, (value, *map(Const, texts), *pairs), span),), (), span))

    def is_told(self, counter: str, texts: Sequence[str]) -> bool:
        """Whether the variable of a loop says anything: it is the user's, or stands in the texts of an error."""
        return self.shown.words.is_users(counter) or any(re.search(rf"\b{counter}\b", text) for text in texts)

    def sweep(self, name: str) -> str:
        if self.reverse:
            return "in the reverse sweep"
        return "in a tangent" if is_tangent(name) else "in the reverse sweep" if is_adjoint(name) else ""

    def numbers(self, value: Op) -> list[Name]:
        """The operands of an operation that are numbers."""
        found = [arg for arg in dict.fromkeys(value.args) if isinstance(arg, Name)]
        return [arg for arg in found if isinstance(self.emitter.types[arg.id], Scalar)]

    def is_float(self, arg: Name, kind: type[Scalar | Array] = Scalar) -> bool:
        type_ = self.emitter.types[arg.id]
        return isinstance(type_, kind) and type_.is_float


def places(span: Span) -> str:
    """The user's line, and those of the calls that lead to it, a line each."""
    found = (f"{at.file}:{at.line}, in {at.function}: {at.text.strip()}" for at in span.lines())
    return "\n".join(dict.fromkeys(found))
