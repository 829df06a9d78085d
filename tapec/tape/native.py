"""What a tape keeps of the block that it recorded natively, and the gradients that follow from it."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from tapec.errors import LoweringError, TapecError
from tapec.syntax.core import Atom, Const, Name
from tapec.syntax.types import Array, Scalar
from tapec.tape.decide import decided, depends_on_the_way, tests_of
from tapec.tape.connected import SOURCES, connection_program, settled
from tapec.tape.continued import joined
from tapec.tape.derive import Request, derive, originals, tracked
from tapec.tape.held import canonical
from tapec.tape.names import Names
from tapec.tape.plan import Plan
from tapec.tape.lowering import plan_for
from tapec.tape.run import Compiled, compiled, returned
from tapec.tape.snapshots import snapshot
from tapec_runtime.variables import UnconnectedGradients, Variable, plain


class Recording:
    """One run of a block: its plan, the inputs at entry, and the names of the objects it leaves.

    place    the code object whose frame entered the block
    unnamed  why a value that the block made may have no name; empty if it has one
    """

    def __init__(self, frame: Any, tape: Any, earlier: Recording | None) -> None:
        plan, objects, holders = plan_for(frame, tape)
        self.code, self.unnamed, self.pauses = frame.f_code, "", 0
        self.holders = {slot: obj for (slot, _), obj in zip(plan.lists, holders, strict=True)}
        self.inputs: dict[str, Any] = {}
        mapping: dict[str, str] = {}
        if earlier is None:
            self.plan, self.own, self.names = plan, plan, Names(plan.order)
        else:
            self.own = plan
            self.plan, mapping = joined(earlier.plan, earlier.names, plan, objects)
            self.inputs.update(earlier.inputs)
            self.names, self.unnamed = earlier.names, earlier.unnamed
            self.names.order = self.plan.order
        self.mapping = mapping
        for leaf, obj in zip(plan.leaves, objects, strict=True):
            name = mapping.get(leaf.name, leaf.name)
            if earlier is None or name not in earlier.plan.types:
                self.names.leaf(obj, replace(leaf, name=name))
                self.inputs[name] = snapshot(obj)
        self._check_sharing(objects)

    def _check_sharing(self, objects: tuple[Any, ...]) -> None:
        """Arrays that are written must not share memory with others: the inputs are copies."""
        if not self.own.written:
            return
        for leaf, obj in zip(self.own.leaves, objects, strict=True):
            if leaf.name not in self.own.written or not isinstance(obj, np.ndarray):
                continue
            for other in objects:
                if other is not obj and isinstance(other, np.ndarray) and np.may_share_memory(obj, other):
                    raise LoweringError(
                        f"`{leaf.name}` is written in place and shares memory with another array of the block",
                        hint="copy one of them before the tape",
                    )

    # the end of the block

    def harvest(self, frame: Any) -> None:
        """Give every object that the block leaves behind its name in the residual program."""
        frame = self._own_frame(frame)
        if self.own.escapes:
            self.unnamed = "the target was handed out of the tape's block without a name"
            if frame is not None:
                _catch_return(frame, self)
        self._harvest(frame, self.own)
        self.holders = {}

    def returned(self, value: Any) -> None:
        """What the block returned."""
        if self.own.result is not None:
            self.names.harvest(self.own.result, value, self.own.heap, self.mapping)
            self.unnamed = ""

    def broken(self, frame: Any, trace: Any, error: BaseException) -> None:
        """The block ended by an exception: what it did before counts."""
        frame = self._own_frame(frame)
        plan = self.own
        if plan.raised:
            self._harvest(frame, plan)
            return
        while trace is not None and frame is not None and trace.tb_frame is not frame:
            trace = trace.tb_next
        line = trace.tb_lineno if trace is not None else 0
        mark = next((mark for mark in plan.marks if line in mark.lines), None)
        if mark is None or self.plan is not plan:
            raise LoweringError(
                f"the tape's block ended by {type(error).__name__} where its state is not known",
                hint="catch the exception outside the tape's block",
            )
        if not mark.simple:
            self.unnamed = f"the tape's block ended by {type(error).__name__} in line {line}, which may have made it"
        self.plan = self.own = plan.upto(mark)
        self.names.order = self.plan.order
        self._harvest(frame, self.own)

    def paused(self, frame: Any) -> Recording:
        """What has been recorded so far, for a gradient while recording is stopped."""
        frame = self._own_frame(frame)
        plan = self.own
        if frame is None or self.plan is not plan or self.pauses >= len(plan.pauses):
            raise LoweringError(
                "a gradient inside `stop_recording`, where the state of the block is not known",
                hint="ask for it after the tape's block",
            )
        made = copy.copy(self)
        made.plan = made.own = plan.upto(plan.pauses[self.pauses])
        self.pauses += 1
        made.names = Names(made.plan.order)
        made.names.__dict__.update({key: copy.copy(value) for key, value in self.names.__dict__.items()})
        made._harvest(frame, made.own)
        return made

    def _own_frame(self, frame: Any) -> Any:
        """The frame that entered the block, at or behind `frame`."""
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return frame

    def _harvest(self, frame: Any, plan: Plan) -> None:
        variables = {} if frame is None else frame.f_locals
        heap = plan.heap
        for name, value in plan.final.items():
            if name in variables:
                self.names.harvest(value, variables[name], heap, self.mapping)
        for slot, contents in plan.lists:
            self.names.harvest(contents, self.holders[slot], heap, self.mapping)

    def tracked(self) -> frozenset[int]:
        """The objects that depend on watched ones."""
        names = tracked(self._request((), ()))
        return frozenset(key for key, atom in self.names.of.items() if isinstance(atom, Name) and atom.id in names)

    # gradients

    def differentiate(
        self,
        targets: list[Any],
        sources: list[Any],
        weights: list[Any],
        policy: UnconnectedGradients,
        jit: bool | None,
        form: str = "gradient",
    ) -> list[Any]:
        """The gradients of the targets' weighted sum, or (`form`) the Jacobians of the only target."""
        plan = self.plan
        pairs = [(one, self._target_name(one), weight) for one, weight in zip(targets, weights, strict=True)]
        pairs = [(one, atom, w) for one, atom, w in pairs if isinstance(atom, Name) and _is_float(plan, atom)]
        versions = tuple(self._source_names(source) for source in sources)
        atoms: tuple[Atom, ...] = tuple(atom for _, atom, _ in pairs)  # type: ignore[misc]
        program = self._program(atoms, versions, jit, form)
        derivative = program.derivative
        if derivative.function.params:
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
            if form == "gradient":
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
        positions = list(derivative.adjoints)
        doubtful = [
            k for k, own in enumerate(positions) if own is not None and not any(np.any(adjoints[p]) for p in own)
        ]
        for k in self._unconnected(doubtful, atoms, versions, jit) if doubtful else ():
            positions[k] = None
        shape = np.shape(targets[0]) if form != "gradient" else ()
        return [
            _gradient(source, own, adjoints, policy, shape) for source, own in zip(sources, positions, strict=True)
        ]

    def _unconnected(
        self, doubtful: list[int], targets: tuple[Atom, ...], sources: tuple[tuple[str, ...], ...], jit: bool | None
    ) -> list[int]:
        """Which of the sources whose gradient is zero were not connected on the way that the block went."""
        plan = self.plan
        found: list[int] = []
        for start in range(0, len(doubtful), SOURCES):
            chunk = doubtful[start : start + SOURCES]
            key = "connections", targets, tuple(sources[k] for k in chunk)
            if key not in plan.compiled:
                request = self._request(targets, key[2])
                if settled(request):
                    continue
                plan.compiled[key] = compiled(connection_program(request), plan.constants, plan.callees)
            program = plan.compiled[key]
            [word] = program([self._input(name) for name in program.derivative.inputs], jit)
            found += [k for place, k in enumerate(chunk) if not int(word) >> (place + 1) & 1]
        return found

    def _program(
        self, targets: tuple[Atom, ...], sources: tuple[tuple[str, ...], ...], jit: bool | None, form: str
    ) -> Compiled:
        """The compiled derivative for these names; on the way that was gone, where that matters."""
        plan = self.plan
        request = replace(self._request(targets, sources), form=form)
        key: tuple[Any, ...] = (targets, sources, form)
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

    def _request(self, targets: tuple[Atom, ...], sources: tuple[tuple[str, ...], ...]) -> Request:
        plan = self.plan
        return Request(
            plan.block,
            plan.types,
            frozenset(plan.constants),
            targets,
            sources,
            frozenset(plan.region.watched),
            frozenset(plan.region.stopped),
            frozenset(plan.copies),
            frozenset(leaf.name for leaf in plan.leaves if leaf.ident),
        )

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
        if self.unnamed:
            raise LoweringError(self.unnamed, hint="bind it to a variable inside the block")
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
            own = [versions for versions in plan.versions if versions and versions[0] == atom.id]
            later = self.names.again.get(id(source), ())
            return tuple(v for versions in own for v in versions) + tuple(
                v for versions in plan.versions if versions and versions[0] in later for v in versions
            )
        if id(source) in names.twins:
            raise LoweringError(
                f"a source that is a plain conversion of `{atom.id}`",
                reason="the two have one history in the program, so that they cannot be told apart",
                hint=f"ask for the gradient with respect to `{atom.id}`",
            )
        if atom.id in plan.recomputed:
            raise LoweringError(
                f"the source `{atom.id}` is computed once more for the gradient of an inner tape",
                reason="what that gradient depends on is not this value, but one like it",
                hint="ask for the gradient with respect to what it was computed from",
            )
        return (canonical(plan.copies, atom.id, plan.region.watched),)



def _catch_return(frame: Any, recording: Recording) -> None:
    """Tell the recording what its block returns, if that is how the block ends."""
    lines = recording.own.lines
    if sys.getprofile() is not None:
        # somebody else watches the calls of this thread
        return

    def watch(running: Any, event: str, value: Any) -> None:
        if running is frame and event == "return":
            sys.setprofile(None)
            if running.f_lineno in lines:
                recording.returned(value)

    sys.setprofile(watch)


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
    source: Any,
    positions: tuple[int, ...] | None,
    adjoints: tuple[Any, ...],
    policy: UnconnectedGradients,
    shape: tuple[int, ...],
) -> Any:
    """One entry of the answer, with the source's dtype, and its shape behind that of a Jacobian's target."""
    dtype = source.dtype if isinstance(source, Variable | np.ndarray | np.generic) else np.dtype(np.float64)
    if positions is None:
        if policy is UnconnectedGradients.NONE:
            return None
        own = source.shape if isinstance(source, Variable) else np.shape(source)
        made = np.zeros((*shape, *own), dtype)
        return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
    total = adjoints[positions[0]]
    for position in positions[1:]:
        total = total + adjoints[position]
    made = np.asarray(total, dtype=dtype)
    return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
