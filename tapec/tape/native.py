"""What a tape keeps of the block that it recorded natively, and the gradients that follow from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tapec.errors import LoweringError, TapecError
from tapec.syntax.core import Atom, Const, Name
from tapec.syntax.types import Array, Scalar
from tapec.tape.decide import decided, depends_on_the_way, tests_of
from tapec.tape.derive import Request, derive, originals
from tapec.tape.held import canonical
from tapec.tape.names import Names
from tapec.tape.plan import Plan, plan_for
from tapec.tape.run import Compiled, compiled, returned
from tapec.tape.snapshots import snapshot
from tapec_runtime.variables import UnconnectedGradients, Variable, plain


class Recording:
    """One run of a block: its plan, the inputs at entry, and the names of the objects it leaves."""

    def __init__(self, frame: Any, tape: Any) -> None:
        plan, objects, lists = plan_for(frame, tape)
        self.plan, self.lists = plan, lists
        self.names = Names()
        self.inputs: dict[str, Any] = {}
        for leaf, obj in zip(plan.leaves, objects, strict=True):
            self.names.leaf(obj, leaf)
            self.inputs[leaf.name] = snapshot(obj)
        self._check_sharing(objects)

    def _check_sharing(self, objects: tuple[Any, ...]) -> None:
        """Arrays that are written must not share memory with others: the inputs are copies."""
        for leaf, obj in zip(self.plan.leaves, objects, strict=True):
            if leaf.name not in self.plan.written or not isinstance(obj, np.ndarray):
                continue
            for other in objects:
                if other is not obj and isinstance(other, np.ndarray) and np.may_share_memory(obj, other):
                    raise LoweringError(
                        f"`{leaf.name}` is written in place and shares memory with another array of the block",
                        hint="copy one of them before the tape",
                    )

    def harvest(self, frame: Any) -> None:
        """Give every object that the block leaves behind its name in the residual program."""
        variables = frame.f_locals
        for name, value in self.plan.final.items():
            if name in variables:
                self.names.harvest(value, variables[name], self.plan.heap)
        for obj, (_, contents) in zip(self.lists, self.plan.lists, strict=True):
            self.names.harvest(contents, obj, self.plan.heap)

    def differentiate(
        self,
        targets: list[Any],
        sources: list[Any],
        weights: list[Any],
        policy: UnconnectedGradients,
        jit: bool | None,
    ) -> list[Any]:
        plan = self.plan
        pairs = [(one, self._target_name(one), weight) for one, weight in zip(targets, weights, strict=True)]
        pairs = [(one, atom, w) for one, atom, w in pairs if isinstance(atom, Name) and _is_float(plan, atom)]
        versions = tuple(self._source_names(source) for source in sources)
        atoms: tuple[Atom, ...] = tuple(atom for _, atom, _ in pairs)  # type: ignore[misc]
        program = self._program(atoms, versions, jit)
        derivative = program.derivative
        if derivative.seeds:
            arguments = [self._input(name) for name in derivative.inputs]
            shapes = {
                name: source.shape if isinstance(source, Variable) else np.shape(source)
                for source, own in zip(sources, program.sources, strict=True)
                for name in own
            }
            for _, name in derivative.zeros:
                type_ = plan.types[name]
                assert isinstance(type_, Array | Scalar)
                is_array = isinstance(type_, Array)
                arguments.append(np.zeros(shapes[name], type_.dtype) if is_array else _scalar(0.0, type_))
            arguments += [
                _seed(weight, one, plan.types[atom.id]) for one, atom, weight in pairs if isinstance(atom, Name)
            ]
            results = program(arguments, jit)
        else:
            results = ()
        first = returned(derivative.function) - len({p for ps in derivative.adjoints if ps for p in ps})
        for (one, atom, _), value in zip(pairs, results[:first], strict=False):
            _compare(one, value, atom)
        adjoints = results[first:]
        return [
            _gradient(source, positions, adjoints, policy)
            for source, positions in zip(sources, derivative.adjoints, strict=True)
        ]

    def _program(
        self, targets: tuple[Atom, ...], sources: tuple[tuple[str, ...], ...], jit: bool | None
    ) -> Compiled:
        """The compiled derivative for these names; on the way that was gone, where that matters."""
        plan = self.plan
        request = Request(
            plan.block,
            plan.types,
            frozenset(plan.constants),
            targets,
            sources,
            frozenset(plan.region.watched),
            frozenset(plan.region.stopped),
            frozenset(plan.copies),
        )
        key: tuple[Any, ...] = (targets, sources)
        if key not in plan.branching:
            merged = plan.merged & {name for source in sources for name in source}
            plan.branching[key] = bool(merged) or depends_on_the_way(request)
        if plan.branching[key]:
            way = self._way(jit)
            request = self._on_the_way(replace(request, block=plan.ways[way]))
            key = (*key, way)
        program = plan.compiled.get(key)
        if program is None:
            try:
                made = derive(request)
            except LoweringError:
                raise
            except TapecError as error:
                raise LoweringError(error.message, error.span, error.reason, error.hint) from error
            program = plan.compiled[key] = compiled(made, plan.constants, plan.callees, request.sources)
        return program

    def _on_the_way(self, request: Request) -> Request:
        """The request with every source by the name of its first definition on this way."""
        known = originals(request.block, request.copies)
        watched = self.plan.region.watched
        sources = tuple(
            tuple(canonical(self.plan.copies, known[name], watched) if name in known else name for name in source)
            for source in request.sources
        )
        return replace(request, sources=sources)

    def _way(self, jit: bool | None) -> tuple[bool, ...]:
        """The values of the tests of the branches that were met, outermost first."""
        plan = self.plan
        way: tuple[bool, ...] = ()
        while True:
            block = plan.ways.setdefault(way, plan.block)
            if ("tests", way) not in plan.compiled:
                made = tests_of(block, plan.types)
                if made is None:
                    return way
                plan.compiled["tests", way] = compiled(made, plan.constants, plan.callees)
            program = plan.compiled["tests", way]
            arguments = [self._input(name) for name in program.derivative.inputs]
            values = tuple(bool(value) for value in program(arguments, jit))
            way += values
            plan.ways.setdefault(way, decided(block, values))

    def _input(self, name: str) -> Any:
        plan = self.plan
        if name not in self.inputs:
            return plan.constants[name]
        value = self.inputs[name]
        # the derivative program writes where the block did
        return snapshot(value) if name in plan.written else value

    def _target_name(self, target: Any) -> Atom | None:
        key = id(target)
        if key in self.names.doubtful:
            _ambiguous(target)
        if key in self.names.of:
            atom = self.names.of[key]
            if isinstance(atom, Name):
                # seen from this tape: the copy that it watches, if it watches one
                seen = canonical(self.plan.copies, atom.id, self.plan.region.watched)
                return Name(seen) if seen in self.plan.region.watched else atom
            return atom
        if self.plan.escapes:
            raise LoweringError(
                "the target was handed out of the tape's block without a name",
                hint="bind it to a variable inside the block",
            )
        return None

    def _source_names(self, source: Any) -> tuple[str, ...]:
        """The names of a source: one, or a variable's versions; none if it was not recorded."""
        plan, names = self.plan, self.names
        if id(source) in names.doubtful:
            _ambiguous(source)
        atom = names.of.get(id(source))
        if atom is None or isinstance(atom, Const) or not _is_float(plan, atom):
            return ()
        if isinstance(source, Variable):
            for versions in plan.versions:
                if atom.id == versions[0]:
                    return tuple(versions)
        if id(source) in names.twins:
            raise LoweringError(
                f"a source that is a plain conversion of `{atom.id}`",
                reason="the two have one history in the program, so that they cannot be told apart",
                hint=f"ask for the gradient with respect to `{atom.id}`",
            )
        return (canonical(plan.copies, atom.id, plan.region.watched),)



def _ambiguous(value: Any) -> None:
    raise LoweringError(
        f"the number {value!r} has several meanings in the tape's block",
        reason="Python shares equal floats, so that they cannot be told apart",
        hint="make it with tapec.constant",
    )


def _is_float(plan: Plan, atom: Name) -> bool:
    return bool(plan.types[atom.id].is_float)


def _scalar(value: float, type_: Any) -> Any:
    return np.float32(value) if type_.dtype == "float32" else float(value)


def _seed(weight: Any, target: Any, type_: Any) -> Any:
    """The adjoint that a target starts with."""
    weight = plain(weight)
    if np.ndim(target) == 0 and not isinstance(target, np.ndarray):
        return _scalar(1.0 if weight is None else weight, type_)
    made = np.empty(np.shape(target), type_.dtype, order="F" if type_.layout == "F" else "C")
    made[...] = 1.0 if weight is None else weight
    return made


def _compare(target: Any, value: Any, atom: Any) -> None:
    """The program must give what the block gave: the safety net for what lowering cannot see."""
    # the common case; what is not a number fails both comparisons and goes the long way
    numbers = isinstance(value, float) and isinstance(target, float)
    if numbers and (value == target or abs(value - target) <= 1e-7 * abs(target) < np.inf):
        return
    ours, theirs = np.asarray(value), np.asarray(plain(target))
    if ours.shape != theirs.shape:
        _differs(atom)
    single = "float32" in (str(ours.dtype), str(theirs.dtype))
    tolerance = 1e-3 if single else 1e-7
    scale = max(float(np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))), 1e-300)
    if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        _differs(atom)


def _differs(atom: Any) -> None:
    raise LoweringError(
        f"the target `{atom.id}` has another value than the program read from the block's source",
        reason="the block depends on something that the source does not show: time, threads, replaced functions",
        hint="compute it before the tape and use the result inside",
    )


def _gradient(
    source: Any, positions: tuple[int, ...] | None, adjoints: tuple[Any, ...], policy: UnconnectedGradients
) -> Any:
    """One entry of the answer, with the source's shape and dtype."""
    dtype = source.dtype if isinstance(source, Variable | np.ndarray | np.generic) else np.dtype(np.float64)
    if positions is None:
        if policy is UnconnectedGradients.NONE:
            return None
        made = np.zeros(np.shape(source) if not isinstance(source, Variable) else source.shape, dtype)
        return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
    total = adjoints[positions[0]]
    for position in positions[1:]:
        total = total + adjoints[position]
    made = np.asarray(total, dtype=dtype)
    return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
