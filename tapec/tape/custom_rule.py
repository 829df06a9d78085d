"""The rule of a function with a derivative of its own, written into the program where a derivative needs it.

A rule is a function of adjoints, a gradient function, or one of tangents.  Either one serves the mode that is its own
as it is, and the other mode by its transpose (`transforms/transposition.py`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.errors import NotDifferentiable, NoTranspose, Span, TapecError
from tapec.frontend.allocation import dim
from tapec.frontend.attributes import global_array
from tapec.frontend.closures import Make, opened
from tapec.frontend.complex_arithmetic import joined, parts
from tapec.frontend.evaluator import DeadCode, Evaluator, Frame
from tapec.frontend.lower import new_evaluator
from tapec.frontend.open_blocks import freeze
from tapec.frontend.rebuilt import gathered, spread
from tapec.frontend.source import FunctionSource
from tapec.frontend.tensors import require_equal
from tapec.frontend.values import (
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
from tapec.syntax.core import Atom, Block, Const, Name, Op
from tapec.syntax.types import Array, Scalar, Type
from tapec.tape.object_standins import Refusing
from tapec.transforms.emitter import Emitter
from tapec.transforms.transposition import NotLinear, transposed

PULLBACK, TANGENT = "gradient function", "tangent function"
# how often the rule of a function may need itself while it is written
_DEPTH = 8
_running: list[Any] = []


def leaves_of(value: Any) -> Iterator[Sym]:
    """The numbers and arrays of an argument or result, each of which has an adjoint."""
    if isinstance(value, Sym):
        yield value
    elif isinstance(value, Complex):
        yield from parts(value)
    elif isinstance(value, Tup | Rebuilt):
        for item in value.items:
            yield from leaves_of(item)


@dataclass
class Rule:
    """What `syntax/custom_rule.py` asks of a rule.

    label      the function's name; `source` its text, and `key` what it is known by
    functions  what makes its gradient function, its tangent function, or both; by role
    given      the arguments, as structure of leaves, of which the first `needed` were given; `result` the result
    kept       the types of what the functions read from around them; the number of a result in place of a type
    extents    what tells which extents are equal, of the results, the operands and what is kept
    """

    label: str
    source: FunctionSource
    key: Any
    functions: dict[str, Make]
    given: tuple[Any, ...]
    needed: int
    result: Any
    outside: int
    kept: list[Type | int]
    alive: bool
    constants: dict[str, Any]
    extents: list[tuple[Any, ...]]

    def __post_init__(self) -> None:
        self.result_types = [leaf.type for leaf in leaves_of(self.result)]
        self.operand_types = [leaf.type for one in self.given for leaf in leaves_of(one)]
        self.results, self.operands = len(self.result_types), len(self.operand_types)
        self.read = frozenset(kind for kind in self.kept if isinstance(kind, int))

    def pull_back(
        self,
        emitter: Emitter,
        seeds: Sequence[Atom | None],
        results: Sequence[Atom],
        arguments: Sequence[Atom],
        active: Sequence[bool],
    ) -> tuple[Block, list[Atom | None]]:
        shapes = [result if seed is None else seed for seed, result in zip(seeds, results, strict=True)]
        atoms = _Atoms(results, arguments, shapes)
        if PULLBACK in self.functions:
            lowered = self._lowered(PULLBACK, emitter, seeds, atoms)
            return lowered.block, lowered.returned
        return self._transposed(TANGENT, emitter, seeds, atoms, active)

    def push_forward(
        self, emitter: Emitter, tangents: Sequence[Atom | None], results: Sequence[Atom], arguments: Sequence[Atom]
    ) -> tuple[Block, list[Atom | None]]:
        atoms = _Atoms(results, arguments, results)
        if TANGENT not in self.functions:
            return self._transposed(PULLBACK, emitter, tangents, atoms, [True] * self.results)
        out = emitter.child()
        lowered = self._lowered(TANGENT, out, tangents, atoms)
        if lowered.written & {atom.id for atom in tangents if isinstance(atom, Name)}:
            # tangents stay as they are: the function writes into copies
            own = [_copy(out, atom) for atom in tangents]
            lowered = self._lowered(TANGENT, out, own, atoms)
        out.extend(lowered.block)
        # a tangent shares memory with nothing, as what it belongs to does
        shared = {atom.id for atom in (*tangents, *results, *arguments) if isinstance(atom, Name)}
        returned = []
        for atom in lowered.returned:
            roots = lowered.roots.get(atom.id, frozenset()) if isinstance(atom, Name) else frozenset()
            returned.append(_copy(out, atom) if roots & shared else atom)
            shared |= roots
        return tuple(out.out), returned

    def refuse(self, name: str) -> NotDifferentiable:
        return NotDifferentiable(
            f"the derivative of `{self.label}` that is given does not tell that by `{name}`",
            self.source.span(self.source.node),
            reason=f"its value depends on `{name}`, which has a derivative and is none of its arguments",
            hint=f"make it an argument, or read `tapec.stop_gradient({name})`",
        )

    def find_constants(self, ev: Evaluator, results: Sequence[Atom], arguments: Sequence[Atom], node: Any) -> None:
        """Make the arrays of modules and closures that the functions read constants of the program."""
        found = dict(self.constants)
        self.constants, shared = found, self.constants
        for role in self.functions:
            emitter = Emitter(dict(ev.types), set(ev.types), ev.span)
            # errors are told when a derivative is asked for
            with contextlib.suppress(TapecError):
                types = self._taken_types(role)
                given = [Name(emitter.fresh("d", type_)) if type_.is_float else None for type_ in types]
                self._lowered(role, emitter, given, _Atoms(results, arguments, results), (*ev.finding, self.key))
        self.constants = shared
        for name, array in found.items():
            if name not in shared:
                global_array(ev, array, node)

    def _taken_types(self, role: str) -> list[Type]:
        return self.result_types if role == PULLBACK else self.operand_types

    def _transposed(
        self,
        role: str,
        emitter: Emitter,
        weights: Sequence[Atom | None],
        atoms: _Atoms,
        active: Sequence[bool],
    ) -> tuple[Block, list[Atom | None]]:
        """The other mode; `weights` of what the function returns, of whose arguments some are `active`."""
        scratch = Emitter(dict(emitter.types), set(emitter.taken), emitter.span)
        likes = atoms.shapes if role == PULLBACK else atoms.arguments[: self.operands]
        base = "adjoint" if role == PULLBACK else "tangent"
        given: list[Atom | None] = []
        for type_, on in zip(self._taken_types(role), active, strict=True):
            own = Array(type_.dtype, type_.ndim) if isinstance(type_, Array) else type_
            given.append(Name(scratch.fresh(base, own)) if on and type_.is_float else None)
        out = emitter.child()
        lowered = self._lowered(role, scratch, given, atoms)
        pairs = [
            (atom, weight)
            for atom, weight in zip(lowered.returned, weights, strict=True)
            if isinstance(atom, Name) and weight is not None
        ]
        inputs = [(atom.id, like) for atom, like in zip(given, likes, strict=True) if isinstance(atom, Name)]
        try:
            sums = iter(transposed(out, scratch.types, lowered.block, inputs, pairs) if pairs else ())
        except NotLinear as found:
            raise self._one_way(role, found.span or lowered.span, "it is not linear") from None
        except NotDifferentiable as found:
            raise self._one_way(role, found.span or lowered.span, found.message) from None
        return tuple(out.out), [next(sums) if pairs and isinstance(atom, Name) else None for atom in given]

    def _one_way(self, role: str, span: Span | None, reason: str) -> NoTranspose:
        if role == PULLBACK:
            mode, other = "forward", "tangents: tapec.custom_jvp, its `defjvp`, or jvp= of tapec.register"
        else:
            mode, other = "reverse", "adjoints: tapec.custom_gradient, or vjp= of tapec.register"
        message = f"`{self.label}` has no {mode} mode: its {role} cannot be transposed"
        return NoTranspose(message, span, reason, f"give it a rule for {other}")

    def _lowered(
        self,
        role: str,
        emitter: Emitter,
        given: Sequence[Atom | None],
        atoms: _Atoms,
        finding: tuple[Any, ...] = (),
    ) -> _Lowered:
        """The statements of a function for adjoints or tangents, `given`, which are zero where they are None."""
        if _running.count(self.key) > _DEPTH:
            raise NotDifferentiable(
                f"the {role} of `{self.label}` asks for the derivative of `{self.label}`, again and again",
                self.source.span(self.source.node),
                hint="compute it by other functions",
            )
        _running.append(self.key)
        try:
            return _Lowering(self, role, emitter, atoms, finding).run(given)
        finally:
            _running.pop()


@dataclass(frozen=True)
class _Atoms:
    """The results of an operation and its other arguments, in the program; `shapes` has those of the results."""

    results: Sequence[Atom]
    arguments: Sequence[Atom]
    shapes: Sequence[Atom]


@dataclass
class _Lowered:
    """What a function returns, and the statements that compute it; the roots of what it returns and writes into."""

    block: Block
    returned: list[Atom | None]
    roots: dict[str, frozenset[str]]
    written: set[str]
    span: Span | None


def _copy(out: Emitter, atom: Atom | None) -> Atom | None:
    if atom is None or not isinstance(type_ := out.type_of(atom), Array):
        return atom
    return out.let("t", Op("copy", (atom,)), Array(type_.dtype, type_.ndim))


class _Lowering:
    """One of a rule's functions, lowered behind what an emitter has written."""

    def __init__(
        self,
        rule: Rule,
        role: str,
        emitter: Emitter,
        atoms: _Atoms,
        finding: tuple[Any, ...],
    ) -> None:
        self.rule, self.role, self.emitter = rule, role, emitter
        self.ev = ev = new_evaluator(frozenset(emitter.taken) | frozenset(emitter.types))
        ev.types, ev.span, ev.constants = emitter.types, emitter.span, rule.constants
        ev.calls_as_is, ev.finding = True, finding
        if rule.alive:
            ev.live = Refusing(ev, f"the {role} of `{rule.label}` calls a function")
        ev.frame = Frame(rule.source, lambda ident: None)
        ev.frames.append(ev.frame)
        behind = iter(atoms.arguments[rule.operands + rule.outside :])
        leaves = [atoms.results[kind] if isinstance(kind, int) else next(behind) for kind in rule.kept]
        types = [rule.result_types[kind] if isinstance(kind, int) else kind for kind in rule.kept]
        self.function: Value = rule.functions[role](opened(ev, leaves, types))
        # what must stay as it is
        self.leaves = leaves
        self.outer = {atom.id for atom in (*atoms.results, *atoms.arguments) if isinstance(atom, Name)}
        self.span = _span_of(ev, self.function) or rule.source.span(rule.source.node)
        self.operands = atoms.arguments[: rule.operands]
        self.shapes = atoms.shapes

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

    def run(self, given: Sequence[Atom | None]) -> _Lowered:
        ev, rule = self.ev, self.rule
        self._note_extents(given)
        pulls = self.role == PULLBACK
        takes = (rule.result,) if pulls else rule.given
        if pulls and isinstance(rule.result, Tup) and rule.result.cls is None:
            takes = rule.result.items
        likes = self.shapes if pulls else self.operands
        leaves = iter([self._given(*one) for one in zip(given, rule._taken_types(self.role), likes, strict=True)])
        atoms: list[Atom | None]
        try:
            found = ev.apply(self.function, [self._filled(one, leaves) for one in takes], {}, None)
            ev.span = self.span
            targets = iter(self.operands if pulls else self.shapes)
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
        return _Lowered(freeze(ev.root), atoms, ev.roots, set(ev.written), self.span)

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
        count, least = len(self.rule.given), self.rule.needed
        listed = isinstance(found, Tup) or (isinstance(found, Rebuilt) and found.keys is None)
        items = found.items if listed else (found,)
        if count == 1 and isinstance(self.rule.given[0], Tup | Rebuilt) and not (listed and len(items) == 1):
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

    def _atoms(self, value: Any, like: Any, targets: Iterator[Atom]) -> Iterator[Atom | None]:
        """Adjoints of the numbers and arrays of an argument, or tangents of those of the result."""
        if isinstance(like, Sym):
            yield self._atom(value, like.type, next(targets))
        elif is_none(value):
            yield from (None for _ in leaves_of(like) if next(targets))
        elif isinstance(like, Complex):
            if not isinstance(value, Complex):
                zero = self.ev.call_object(np.zeros_like, [value], {}, None) if like.is_array else number(0.0)
                value = Complex(value, self.ev.materialise(zero))
            for part, own in zip(parts(value), parts(like), strict=True):
                yield self._atom(part, own.type, next(targets))
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

    def _atom(self, value: Any, type_: Any, target: Atom) -> Atom | None:
        ev = self.ev
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
            made = ev.method(value, "astype", [Static(np.dtype(type_.dtype))], {}, None)
            value = ev.sym(ev.materialise(made))
        what = "adjoint" if self.role == PULLBACK else "tangent"
        message = f"the {self.role} of `{self.rule.label}` returns an {what} of another shape".replace("an t", "a t")
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
