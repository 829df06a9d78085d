"""Gradients of a recorded block: which program answers, what it is given, and what its results mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError, TapecError
from tapec.frontend.evaluator.evaluator import Prepare
from tapec.optimise import prepare, tested
from tapec.syntax.core import Block, Function, Name, Return
from tapec.syntax.types import Array, Scalar
from tapec.tape.answers.row_gradients import TableRows
from tapec.tape.answers.targets_and_sources import SourceNames, joined, sources_of, targets_of
from tapec.tape.derivatives.block_derivative import DerivedProgram, GradientRequest, connections, derive, originals
from tapec.tape.derivatives.branch_connectivity import decided, depends_on_the_way, tests_of
from tapec.tape.derivatives.complex_sources import check_parts
from tapec.tape.derivatives.connectivity import SOURCES, connection_program, settled
from tapec.tape.derivatives.recomputed_values import with_copies
from tapec.tape.derivatives.rounding_errors import margins, with_errors
from tapec.tape.objects.block_inputs import packable
from tapec.tape.plan.tape_plan import TapePlan
from tapec.tape.run.compiled_derivative import CompiledDerivative, compiled
from tapec_runtime.variables import UnconnectedGradients, Variable, plain

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording

_Sources = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class GradientCall:
    """How a derivative is called.

    inputs    names of the inputs
    zeros     for each zero its value, or the place of the source whose shape it has
    seeds     whether the targets' weights are passed
    first     how many results are values of targets
    adjoints  for each source the places of its adjoints among the results behind those
    """

    program: CompiledDerivative
    inputs: tuple[str, ...]
    zeros: tuple[Any, ...]
    seeds: bool
    first: int
    adjoints: tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True)
class Shaped:
    """A zero of the shape of a source."""

    source: int
    dtype: str


def differentiate(
    recording: Recording,
    targets: list[Any],
    sources: list[Any],
    weights: list[Any],
    policy: UnconnectedGradients,
    jit: bool | None,
    kind: str = "gradient",
    rows: bool = False,
) -> list[Any]:
    """The gradients of the targets' weighted sum, or (`kind`) the Jacobians of the only target.

    rows  whether gradients of tables are given as the rows that were taken
    """
    plan = recording.plan
    wanted = [part for one, weight in zip(targets, weights, strict=True) for part in targets_of(recording, one, weight)]
    halves = [sources_of(recording, source) for source in sources]
    whole, sources = sources, [one.value for own in halves for one in own]
    versions = tuple(one.names for own in halves for one in own)
    pairs = tuple((own[0].names, own[1].names) for own in halves if len(own) == 2)
    if rows:
        asked = TableRows(recording, versions, sources, jit)
        versions, sources = asked.versions, asked.sources
    names = tuple(one.name for one in wanted)
    if kind != "gradient":
        # the rows of a complex target are the gradients of its real part
        names = names[:1]
    call = plan.calls.get((names, versions, kind))
    if call is None:
        call = _call(recording, names, versions, jit, kind, pairs)
    results: tuple[Any, ...] = ()
    if call.inputs or call.zeros or call.seeds:
        arguments = [recording.input(name) for name in call.inputs]
        for zero in call.zeros:
            arguments.append(_zeros(zero, sources) if type(zero) is Shaped else zero)
        if call.seeds:
            for value, name, weight, _ in wanted:
                one = weight is None and type(value) is np.float64
                arguments.append(1.0 if one else _seed(weight, value, plan, name))
        results = call.program(arguments, jit)
    if not all(agree(one.value, value, one.whole) for one, value in zip(wanted, results[: call.first], strict=False)):
        _check_rounding(recording, wanted, results[: call.first], versions, jit)
    adjoints = results[call.first :]
    positions = list(call.adjoints)
    doubtful = [k for k, own in enumerate(positions) if own is not None and _all_zero(adjoints, own)]
    if not rows:
        doubtful = _whole_zeros(doubtful, positions, halves)
    # a target's derivative by itself is 1 where the tape knows it, and None where only another way would have led there
    doubtful += [k for k, own in enumerate(positions) if own is not None and not set(names).isdisjoint(versions[k])]
    for k in _unconnected(recording, doubtful, names, versions, jit) if doubtful else ():
        positions[k] = None
    shape = np.shape(targets[0]) if kind != "gradient" else ()
    policies = [policy] * len(sources)
    if len(wanted) > len(names):
        # what only the imaginary part depends on is connected, too
        reached = connections(request_of(plan, (wanted[1].name,), versions))
        policies = [UnconnectedGradients.ZERO if there else policy for there in reached]
    found = [
        _gradient(source, own, adjoints, given, shape)
        for source, own, given in zip(sources, positions, policies, strict=True)
    ]
    parts = iter(asked.gathered(found, policy) if rows else found)
    return [joined(source, [next(parts) for _ in own]) for source, own in zip(whole, halves, strict=True)]


def _whole_zeros(zeros: list[int], positions: list[Any], halves: list[list[SourceNames]]) -> list[int]:
    """Of the sources whose adjoints are zero those that matter: of a complex one both parts must be."""
    found: list[int] = []
    first = 0
    for own in halves:
        places = range(first, first + len(own))
        if all(k in zeros or positions[k] is None for k in places):
            found += [k for k in places if k in zeros]
        first += len(own)
    return found


def _all_zero(adjoints: tuple[Any, ...], places: tuple[int, ...]) -> bool:
    for place in places:
        found = adjoints[place]
        if found != 0.0 if isinstance(found, float) else np.any(found):
            return False
    return True


# which program


def _call(
    recording: Recording,
    targets: tuple[str, ...],
    sources: _Sources,
    jit: bool | None,
    kind: str,
    pairs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...],
) -> GradientCall:
    """The call for these names; kept where it does not depend on the way that the block went."""
    plan = recording.plan
    program = _program(recording, targets, sources, jit, kind, pairs)
    derivative = program.derivative
    zeros = []
    for _, name in derivative.zeros:
        type_ = plan.types[name]
        assert isinstance(type_, Array | Scalar)
        place = next(k for k, own in enumerate(program.sources) if name in own)
        zeros.append(Shaped(place, type_.dtype) if isinstance(type_, Array) else _scalar(0.0, type_))
    called = bool(derivative.function.params)
    call = GradientCall(
        program,
        derivative.inputs if called else (),
        tuple(zeros) if called else (),
        called and kind == "gradient",
        derivative.first,
        derivative.adjoints,
    )
    if not plan.branching[targets, sources, kind]:
        plan.calls[targets, sources, kind] = call
    return call


def _program(
    recording: Recording,
    targets: tuple[str, ...],
    sources: _Sources,
    jit: bool | None,
    kind: str,
    pairs: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...],
) -> CompiledDerivative:
    """The compiled derivative for these names; on the way that was gone, where that matters."""
    plan = recording.plan
    request = replace(request_of(plan, targets, sources), kind=kind, pairs=pairs)
    key: tuple[Any, ...] = (targets, sources, kind)
    if key not in plan.branching:
        merged = plan.merged & {name for source in sources for name in source}
        plan.branching[key] = bool(merged) or depends_on_the_way(request)
    if plan.branching[key]:
        way = _way(recording, jit)
        request = _on_the_way(plan, replace(request, block=plan.ways[way]))
        key = (*key, way)
    return plan.program(key, partial(_derived, plan, request, recording.objects))


def _derived(plan: TapePlan, request: GradientRequest, objects: Sequence[Any]) -> CompiledDerivative:
    check_parts(request)
    if plan.options.debug:
        block = Function("block", (), (*request.block, Return(request.targets)), request.types)
        with_tests = tested(block, request.constants)
        body = tuple(stmt for stmt in with_tests.body if not isinstance(stmt, Return))
        request = replace(request, block=body, types=with_tests.types)
    fast = None
    if plan.options.fast:
        fast = partial(_derivative, request, prepare, packable(plan.leaves, objects))
    return _printed(plan, _derivative(request), request.sources, fast)


def _derivative(
    request: GradientRequest, prepare: Prepare | None = None, packs: Collection[str] = ()
) -> DerivedProgram:
    try:
        return derive(request, prepare, packs=packs)
    except LoweringError:
        raise
    except TapecError as error:
        raise LoweringError(error.message, error.span, error.reason, error.hint) from error


def _printed(
    plan: TapePlan, made: DerivedProgram, sources: _Sources = (), fast: Callable[[], DerivedProgram] | None = None
) -> CompiledDerivative:
    return compiled(made, plan.constants, plan.callees, plan.options, sources, fast)


def request_of(plan: TapePlan, targets: tuple[str, ...], sources: _Sources) -> GradientRequest:
    return GradientRequest(
        plan.block,
        plan.types,
        frozenset(plan.constants),
        tuple(Name(target) for target in targets),
        sources,
        frozenset(with_copies(plan.region.watched, plan.recomputed)),
        frozenset(plan.region.stopped),
        frozenset(plan.copies),
        frozenset(leaf.name for leaf in plan.leaves if leaf.ident),
    )


def _on_the_way(plan: TapePlan, request: GradientRequest) -> GradientRequest:
    """The request with every source by the name of its first definition on this way."""
    known = originals(request.block, request.copies)

    def named(source: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(plan.known_as(known[name]) if name in known else name for name in source)

    pairs = tuple((named(re), named(im)) for re, im in request.pairs)
    return replace(request, sources=tuple(map(named, request.sources)), pairs=pairs)


def _way(recording: Recording, jit: bool | None) -> tuple[bool, ...]:
    """The values of the tests of the branches that were met, outermost first."""
    plan = recording.plan
    way: tuple[bool, ...] = ()
    while True:
        block = plan.ways.setdefault(way, plan.block)
        program = plan.program(("tests", way), partial(_tests, plan, block))
        if program is None:
            return way
        arguments = [recording.input(name) for name in program.derivative.inputs]
        values = tuple(bool(value) for value in program(arguments, jit))
        way += values
        plan.ways.setdefault(way, decided(block, values))


def _tests(plan: TapePlan, block: Block) -> CompiledDerivative | None:
    made = tests_of(block, plan.types)
    return None if made is None else _printed(plan, made)


def _unconnected(
    recording: Recording, doubtful: list[int], targets: tuple[str, ...], sources: _Sources, jit: bool | None
) -> list[int]:
    """Which of the sources whose gradient is zero were not connected on the way that the block went."""
    plan = recording.plan
    found: list[int] = []
    for start in range(0, len(doubtful), SOURCES):
        chunk = doubtful[start : start + SOURCES]
        key = "connections", targets, tuple(sources[k] for k in chunk)
        program = plan.program(key, partial(_connections, plan, targets, key[2]))
        if program is None:
            continue
        [word] = program([recording.input(name) for name in program.derivative.inputs], jit)
        found += [k for place, k in enumerate(chunk) if not int(word) >> (place + 1) & 1]
    return found


def _connections(plan: TapePlan, targets: tuple[str, ...], sources: _Sources) -> CompiledDerivative | None:
    request = request_of(plan, targets, sources)
    return None if settled(request) else _printed(plan, connection_program(request))


# arguments and results


def _zeros(zero: Shaped, sources: list[Any]) -> Any:
    source = sources[zero.source]
    return np.zeros(source.shape if isinstance(source, Variable) else np.shape(source), zero.dtype)


def _scalar(value: float, type_: Any) -> Any:
    return np.float32(value) if type_.dtype == "float32" else float(value)


def _seed(weight: Any, target: Any, plan: TapePlan, name: str) -> Any:
    """The adjoint that a target starts with."""
    weight, type_ = plain(weight), plan.types[name]
    assert isinstance(type_, Array | Scalar)
    if np.ndim(target) == 0 and not isinstance(target, np.ndarray):
        return _scalar(1.0 if weight is None else weight, type_)
    layout = getattr(type_, "layout", "C")
    made = np.empty(np.shape(target), type_.dtype, order="F" if layout == "F" else "C")
    made[...] = 1.0 if weight is None else weight
    return made


def ones_for(target: Any, type_: Array) -> Any:
    """The adjoint that an array starts with if it is not weighed."""
    return np.ones(target.shape, type_.dtype, order="F" if type_.layout == "F" else "C")


def agree(target: Any, value: Any, whole: Any = None) -> bool:
    """Whether the program gives what the block gave: the safety net for what lowering cannot see.

    whole  what is complex, for one of its parts: its size is the measure
    """
    # the common case; what is not a number fails both comparisons and goes the long way
    numbers = isinstance(value, float) and isinstance(target, float)
    if numbers and (value == target or abs(value - target) <= 1e-7 * abs(target) < np.inf):
        return True
    ours, theirs = np.asarray(value), np.asarray(plain(target))
    if ours.shape != theirs.shape:
        return False
    single = "float32" in (str(ours.dtype), str(theirs.dtype))
    tolerance = 1e-3 if single else 1e-7
    with np.errstate(invalid="ignore"):
        difference = np.max(np.abs(ours - theirs), initial=0.0)
    # the common case again; infinities and what is not a number go the long way
    sizes = np.abs(theirs if whole is None else np.asarray(whole))
    if difference <= tolerance * np.max(sizes, initial=0.0) < np.inf:
        return True
    scale = max(float(np.max(sizes, initial=0.0, where=np.isfinite(sizes))), 1e-300)
    return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def _check_rounding(
    recording: Recording, wanted: list[Any], values: tuple[Any, ...], sources: _Sources, jit: bool | None
) -> None:
    """Values differ: by the rounding of what was added up, or the block did what the source does not say."""
    plan = recording.plan
    names = tuple(one.name for one in wanted)[: len(values)]
    program = plan.program(("rounded", names, sources), lambda: _rounded(plan, names, sources))
    try:
        allowed = margins(program, [recording.input(name) for name in program.derivative.inputs], jit)
    except Exception:  # noqa: BLE001  a little off, the program may go where it raises
        allowed = [0.0] * len(values)
    for one, value, margin in zip(wanted, values, allowed, strict=False):
        if agree(one.value, value, one.whole):
            continue
        ours, theirs = np.asarray(value), np.asarray(plain(one.value))
        if ours.shape == theirs.shape and np.all(np.abs(ours - theirs) <= margin):
            continue
        raise LoweringError(
            f"the target `{one.name}` has another value than the program read from the block's source",
            reason="the block depends on something that the source does not show: time, threads, replaced functions",
            hint="compute it before the tape and use the result inside",
        )


def _rounded(plan: TapePlan, names: tuple[str, ...], sources: _Sources) -> CompiledDerivative:
    return _printed(plan, with_errors(request_of(plan, names, sources)))


def _gradient(
    source: Any,
    positions: tuple[int, ...] | None,
    adjoints: tuple[Any, ...],
    policy: UnconnectedGradients,
    shape: tuple[int, ...],
) -> Any:
    """One entry of the answer, with the source's dtype, and its shape behind that of a Jacobian's target."""
    if positions is None and policy is UnconnectedGradients.NONE:
        return None
    total = None if positions is None else adjoints[positions[0]]
    if type(source) is np.float64 and isinstance(total, float) and len(positions or ()) == 1:
        return np.float64(total)
    dtype = source.dtype if isinstance(source, Variable | np.ndarray | np.generic) else np.dtype(np.float64)
    if positions is None:
        own = source.shape if isinstance(source, Variable) else np.shape(source)
        made = np.zeros((*shape, *own), dtype)
        return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
    for position in positions[1:]:
        total = total + adjoints[position]
    made = np.asarray(total, dtype=dtype)
    return made[()] if made.ndim == 0 and not isinstance(source, np.ndarray) else made
