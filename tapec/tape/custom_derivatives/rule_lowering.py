"""A function of a rule, lowered where a derivative needs it: what it takes and returns are adjoints or tangents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import NotDifferentiable, Span
from tapec.frontend.arrays.array_creation import astype
from tapec.frontend.arrays.tensor_products import require_equal
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Frame
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Func,
    Rebuilt,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_none,
    mapping,
    number,
)
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.frontend.operations.allocation import dim
from tapec.frontend.operations.complex_arithmetic import joined, parts
from tapec.frontend.structures.captured_values import opened
from tapec.frontend.structures.rebuilt_containers import gathered, spread
from tapec.syntax.core import Atom, Block, Const, Name
from tapec.syntax.types import Array, Scalar, Type
from tapec.tape.objects.object_standins import Refusing
from tapec.transforms.emitter import Emitter

if TYPE_CHECKING:
    from tapec.tape.custom_derivatives.rule_application import OwnRule

PULLBACK, TANGENT = "gradient function", "tangent function"
# what makes the variables that a gradient function takes by this name, as TensorFlow's do
VARIABLES = "variables"


def leaves_of(value: Any) -> Iterator[Sym]:
    """The numbers and arrays of an argument or result, each of which has an adjoint."""
    if isinstance(value, Sym):
        yield value
    elif isinstance(value, Complex):
        yield from parts(value)
    elif isinstance(value, Tup | Rebuilt):
        for item in value.items:
            yield from leaves_of(item)


# what has the shape of an adjoint or tangent, and whether anybody needs it
_Target = tuple[Atom, bool]


@dataclass(frozen=True)
class Atoms:
    """The results of an operation and its other arguments, in the program.

    shapes  what has those of the results
    needed  which operands need an adjoint; None for all
    """

    results: Sequence[Atom]
    arguments: Sequence[Atom]
    shapes: Sequence[Atom]
    needed: Sequence[bool] | None = None


@dataclass
class LoweredRule:
    """What a function returns, and the statements that compute it; the roots of what it returns and writes into."""

    block: Block
    returned: list[Atom | None]
    roots: dict[str, frozenset[str]]
    written: set[str]
    span: Span | None


class RuleLowering:
    """One of a rule's functions, lowered behind what an emitter has written."""

    def __init__(
        self,
        rule: OwnRule,
        role: str,
        emitter: Emitter,
        atoms: Atoms,
        finding: tuple[Any, ...],
    ) -> None:
        self.rule, self.role, self.emitter = rule, role, emitter
        self.ev = ev = FullEvaluator(frozenset(emitter.taken) | frozenset(emitter.types))
        ev.types, ev.span, ev.constants = emitter.types, emitter.span, rule.constants
        ev.calls_as_is, ev.finding = True, finding
        if rule.alive:
            ev.live = Refusing(ev, f"the {role} of `{rule.label}` calls a function")
        ev.frame = Frame(rule.source, lambda ident: None)
        ev.frames.append(ev.frame)
        behind = iter(atoms.arguments[rule.operands + rule.outside :])
        leaves = [atoms.results[kind] if isinstance(kind, int) else next(behind) for kind in rule.kept]
        types = [rule.result_types[kind] if isinstance(kind, int) else kind for kind in rule.kept]
        opening = opened(ev, leaves, types)
        self.function: Value = rule.functions[role](opening)
        self.named: dict[str, Value] = {}
        if VARIABLES in rule.functions:
            self.named[VARIABLES] = rule.functions[VARIABLES](opening)
        # what must stay as it is
        self.leaves = leaves
        self.outer = {atom.id for atom in (*atoms.results, *atoms.arguments) if isinstance(atom, Name)}
        self.span = _span_of(ev, self.function) or rule.span
        self.operands = atoms.arguments[: rule.operands]
        self.shapes, self.needed = atoms.shapes, atoms.needed

    def _note_extents(self, given: Sequence[Atom | None]) -> None:
        """Tell the evaluator which extents are equal."""
        rule, pulls = self.rule, self.role == PULLBACK
        known: dict[Any, Atom] = {}
        count = rule.results
        first = rule.extents[:count] if pulls else rule.extents[count : count + rule.operands]
        atoms = [*given, *self.shapes, *self.operands, *self.leaves]
        every: list[tuple[Any, int, Any]] = []
        for atom, keys in zip(atoms, (*first, *rule.extents), strict=True):
            if isinstance(atom, Name):
                every += [(atom, axis, key) for axis, key in enumerate(keys)]
        counts = Counter(key for _, _, key in every)
        for atom, axis, key in every:
            if isinstance(key[0], Const) and key[1] == 0:
                self.ev.dims[atom.id, axis] = key[0]
            elif key in known:
                self.ev.dims[atom.id, axis] = known[key]
            elif counts[key] > 1:
                known[key] = dim(self.ev, Sym(atom, self.emitter.type_of(atom)), axis).atom

    def run(self, given: Sequence[Atom | None]) -> LoweredRule:
        ev, rule = self.ev, self.rule
        self._note_extents(given)
        pulls = self.role == PULLBACK
        takes = (rule.result,) if pulls else rule.given
        if pulls and isinstance(rule.result, Tup) and rule.result.cls is None:
            takes = rule.result.items
        likes = self.shapes if pulls else self.operands
        leaves = iter([self._given(*one) for one in zip(given, rule.taken_types(self.role), likes, strict=True)])
        atoms: list[Atom | None]
        ev.span = self.span
        try:
            found = ev.apply(self.function, [self._filled(one, leaves) for one in takes], self.named, None)
            shapes = self.operands if pulls else self.shapes
            needed = self.needed if pulls and self.needed is not None else [True] * len(shapes)
            targets = iter(list(zip(shapes, needed, strict=True)))
            items = self._items(found)
            likes_ = rule.given if pulls else (rule.result,)
            atoms = [atom for one, like in zip(items, likes_, strict=True) for atom in self._atoms(one, like, targets)]
        except DeadCode:
            atoms = [None] * (rule.operands if pulls else rule.results)
        self.emitter.taken |= ev.taken
        if (written := sorted(self.outer & ev.written.keys())):
            raise NotDifferentiable(
                f"the {self.role} of `{rule.label}` writes into an array that it reads from around it",
                self.span,
                reason=f"`{written[0]}` is needed as it is",
                hint="write into a copy",
            )
        return LoweredRule(freeze(ev.root), atoms, ev.roots, set(ev.written), self.span)

    # what it is given

    def _given(self, atom: Atom | None, type_: Type, like: Atom) -> Value:
        ev = self.ev
        if not type_.is_float:
            return NONE
        if atom is not None:
            own = self.emitter.type_of(atom)
            return _symbol(ev, atom, own)
        if isinstance(type_, Scalar):
            return ev.cast(number(0.0), type_)
        return ev.sym(ev.materialise(ev.call_object(np.zeros_like, [_symbol(ev, like, type_)], {}, None)))

    def _filled(self, like: Any, leaves: Iterator[Value]) -> Value:
        """An adjoint or tangent of the structure of what it belongs to; None for what has none."""
        if isinstance(like, Sym):
            return next(leaves)
        if isinstance(like, Complex):
            re, im = next(leaves), next(leaves)
            assert isinstance(re, Sym) and isinstance(im, Sym)
            return joined(self.ev, re, im) if like.is_array else Complex(re, im)
        if isinstance(like, Tup):
            return Tup(tuple(self._filled(item, leaves) for item in like.items), like.cls)
        if isinstance(like, Rebuilt):
            made: Value = gathered(self.ev, Rebuilt(like.keys, tuple(self._filled(one, leaves) for one in like.items)))
            return made
        return NONE

    # what it returns

    def _items(self, returned: Value) -> tuple[Any, ...]:
        """What is returned for each argument, or for the result."""
        found = self._spread(returned)
        if self.role == TANGENT:
            return (found,)
        if self.named:
            return self._with_variables(found)
        return self._by_argument(found, self.rule.given)

    def _with_variables(self, found: Any) -> tuple[Any, ...]:
        """The adjoints of the arguments, and those of the variables."""
        if not isinstance(found, Tup) or len(found.items) != 2:
            raise NotDifferentiable(
                f"the gradient function of `{self.rule.label}` returns {_shown(found)}",
                self.span,
                hint="return the adjoints of the arguments and those of the variables, as `variables` asks",
            )
        arguments, variables = (self._spread(one) for one in found.items)
        if not isinstance(variables, Tup | Rebuilt):
            variables = Tup((variables,))
        return (*self._by_argument(arguments, self.rule.given[:-1]), variables)

    def _by_argument(self, found: Any, given: Sequence[Any]) -> tuple[Any, ...]:
        """One adjoint for each argument; those of the last ones that nobody needs may be left out."""
        flags = iter([True] * len(self.operands) if self.needed is None else self.needed)
        needed = [any([next(flags) for _ in leaves_of(one)]) for one in given]
        count, least = len(given), max((k + 1 for k, on in enumerate(needed) if on), default=0)
        listed = isinstance(found, Tup) or (isinstance(found, Rebuilt) and found.keys is None)
        items = found.items if listed else (found,) if count else ()
        if count == 1 and isinstance(given[0], Tup | Rebuilt) and not (listed and len(items) == 1):
            items = (found,)
        if not least <= len(items) <= count:
            what = "value" if len(items) == 1 else "values"
            arguments = "argument" if count == 1 else "arguments"
            raise NotDifferentiable(
                f"the gradient function of `{self.rule.label}` returns {len(items)} {what} for {count} {arguments}",
                self.span,
                hint="return one for each argument, None for those without derivative",
            )
        return (*items, *[NONE] * (count - len(items)))

    def _spread(self, value: Value) -> Any:
        value = self.ev.materialise(value)
        found = spread(self.ev, value)
        return value if found is None else found

    def _atoms(self, value: Any, like: Any, targets: Iterator[_Target]) -> Iterator[Atom | None]:
        """Adjoints of the numbers and arrays of an argument, or tangents of those of the result."""
        if isinstance(like, Sym):
            yield self._atom(value, like.type, *next(targets))
        elif is_none(value):
            for _ in leaves_of(like):
                next(targets)
                yield None
        elif isinstance(like, Complex):
            if not isinstance(value, Complex):
                zero = self.ev.call_object(np.zeros_like, [value], {}, None) if like.is_array else number(0.0)
                value = Complex(value, self.ev.materialise(zero))
            for part, own in zip(parts(value), parts(like), strict=True):
                yield self._atom(part, own.type, *next(targets))
        elif isinstance(like, Tup | Rebuilt):
            keys = value.keys if isinstance(value, Rebuilt) else None
            own = mapping(like) if isinstance(like, Tup) else None
            if not isinstance(value, Tup | Rebuilt) or len(value.items) != len(like.items):
                self._mismatch(value, like)
            names = like.keys if isinstance(like, Rebuilt) else None if own is None else tuple(own)
            if own is not None and isinstance(value, Tup):
                keys = tuple(mapping(value) or own)
            items = dict(zip(keys or range(len(value.items)), value.items, strict=True))
            wanted = names or tuple(range(len(like.items)))
            if items.keys() != set(wanted):
                self._mismatch(value, like)
            for key, one in zip(wanted, like.items, strict=True):
                yield from self._atoms(items[key], one, targets)

    def _atom(self, value: Any, type_: Any, target: Atom, needed: bool) -> Atom | None:
        ev = self.ev
        if not needed:
            return None
        if not isinstance(value, Value):
            self._mismatch(value, type_)
        if is_none(value) or not type_.is_float:
            return None
        if isinstance(type_, Scalar):
            if not isinstance(value, Sym) or not isinstance(value.type, Scalar):
                self._mismatch(value, type_)
            return ev.cast(ev.scalar(value), type_).atom
        if not isinstance(value, Sym) or not isinstance(value.type, Array) or value.type.ndim != type_.ndim:
            self._mismatch(value, type_)
        if value.type.dtype != type_.dtype:
            made = astype(ev, [value, Static(np.dtype(type_.dtype))], {}, None)
            value = ev.sym(ev.materialise(made))
        what = "an adjoint" if self.role == PULLBACK else "a tangent"
        message = f"the {self.role} of `{self.rule.label}` returns {what} of another shape"
        for axis in range(type_.ndim):
            require_equal(ev, dim(ev, value, axis), dim(ev, _symbol(ev, target, type_), axis), message)
        return value.atom

    def _mismatch(self, value: Any, like: Any) -> Any:
        shown, wanted = (_shown(one) for one in (value, like))
        subject = "an argument" if self.role == PULLBACK else "a result"
        message = f"the {self.role} of `{self.rule.label}` returns {shown} for {subject} of {wanted}"
        raise NotDifferentiable(message, self.span)


def _shown(value: Any) -> str:
    if isinstance(value, Rebuilt):
        return "a list" if value.keys is None else "a dict"
    return describe(value) if isinstance(value, Value) else str(value)


def _span_of(ev: Evaluator, function: Value) -> Span | None:
    """Where a function of a rule is written."""
    return function.frame.source.span(function.node) if isinstance(function, Func) else None


def _symbol(ev: Evaluator, atom: Atom, type_: Any) -> Sym:
    if isinstance(type_, Array) and isinstance(atom, Name):
        ev.roots.setdefault(atom.id, frozenset({atom.id}))
    return Sym(atom, type_)
