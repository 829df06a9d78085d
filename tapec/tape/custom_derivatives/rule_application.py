"""The rule of a function with a derivative of its own, written into the program where a derivative needs it.

A rule is a function of adjoints, a gradient function, or one of tangents.  Either one serves the mode that is its own
as it is, and the other mode by its transpose (`transforms/transposition.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tapec.errors import NotDifferentiable, NoTranspose, Span, TapecError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.expressions.outside_objects import global_array
from tapec.frontend.source.function_source import FunctionSource
from tapec.frontend.structures.captured_values import Make
from tapec.syntax.core import Atom, Block, Name, Op
from tapec.syntax.types import Array, Type
from tapec.tape.custom_derivatives.rule_lowering import PULLBACK, TANGENT, Atoms, LoweredRule, RuleLowering, leaves_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.transposition import NotLinear, transposed

# how often the rule of a function may need itself while it is written
_DEPTH = 8
_running: list[Any] = []


@dataclass
class OwnRule:
    """What `syntax/custom_rule.py` asks of a rule.

    label      the function's name; `source` the text that it is in, `span` where, and `key` what it is known by
    functions  what makes its gradient function, its tangent function, or both; by role
    given      the arguments, as structure of leaves; `result` the result
    kept       the types of what the functions read from around them; the number of a result in place of a type
    extents    what tells which extents are equal, of the results, the operands and what is kept
    """

    label: str
    source: FunctionSource
    span: Span
    key: Any
    functions: dict[str, Make]
    given: tuple[Any, ...]
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
        atoms = Atoms(results, arguments, shapes, active)
        if PULLBACK in self.functions:
            lowered = self._lowered(PULLBACK, emitter, seeds, atoms)
            return lowered.block, lowered.returned
        return self._transposed(TANGENT, emitter, seeds, atoms, active)

    def push_forward(
        self, emitter: Emitter, tangents: Sequence[Atom | None], results: Sequence[Atom], arguments: Sequence[Atom]
    ) -> tuple[Block, list[Atom | None]]:
        atoms = Atoms(results, arguments, results, [tangent is not None for tangent in tangents])
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
            f"the rule of `{self.label}` says nothing of the derivative by `{name}`",
            self.span,
            reason=f"its value depends on `{name}`, which has a derivative and is none of its arguments",
            hint=f"make it an argument, or read `tapec.stop_gradient({name})`",
        )

    def find_constants(self, ev: Evaluator, results: Sequence[Atom], arguments: Sequence[Atom], node: Any) -> None:
        """Make the arrays of modules and closures that the functions read constants of the program."""
        found = dict(self.constants)
        self.constants, shared = found, self.constants
        for role in self.functions.keys() & {PULLBACK, TANGENT}:
            emitter = Emitter(dict(ev.types), set(ev.types), ev.span)
            # errors are told when a derivative is asked for
            with contextlib.suppress(TapecError):
                types = self.taken_types(role)
                given = [Name(emitter.fresh("d", type_)) if type_.is_float else None for type_ in types]
                self._lowered(role, emitter, given, Atoms(results, arguments, results), (*ev.finding, self.key))
        self.constants = shared
        for name, array in found.items():
            if name not in shared:
                global_array(ev, array, node)

    def taken_types(self, role: str) -> list[Type]:
        return self.result_types if role == PULLBACK else self.operand_types

    def _transposed(
        self,
        role: str,
        emitter: Emitter,
        weights: Sequence[Atom | None],
        atoms: Atoms,
        active: Sequence[bool],
    ) -> tuple[Block, list[Atom | None]]:
        """The other mode; `weights` of what the function returns, of whose arguments some are `active`."""
        scratch = Emitter(dict(emitter.types), set(emitter.taken), emitter.span)
        likes = atoms.shapes if role == PULLBACK else atoms.arguments[: self.operands]
        base = "adjoint" if role == PULLBACK else "tangent"
        given: list[Atom | None] = []
        for type_, on in zip(self.taken_types(role), active, strict=True):
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
        return NoTranspose(
            f"`{self.label}` has no {mode} mode: its {role} cannot be transposed",
            span,
            reason,
            hint=f"give it a rule for {other}",
        )

    def _lowered(
        self,
        role: str,
        emitter: Emitter,
        given: Sequence[Atom | None],
        atoms: Atoms,
        finding: tuple[Any, ...] = (),
    ) -> LoweredRule:
        """The statements of a function for adjoints or tangents, `given`, which are zero where they are None."""
        if _running.count(self.key) > _DEPTH:
            raise NotDifferentiable(
                f"the {role} of `{self.label}` asks for the derivative of `{self.label}`, again and again",
                self.span,
                hint="compute it by other functions",
            )
        _running.append(self.key)
        try:
            return RuleLowering(self, role, emitter, atoms, finding).run(given)
        finally:
            _running.pop()


def _copy(out: Emitter, atom: Atom | None) -> Atom | None:
    if atom is None or not isinstance(type_ := out.type_of(atom), Array):
        return atom
    return out.let("t", Op("copy", (atom,)), Array(type_.dtype, type_.ndim))


