"""Why a gradient that is connected is zero or not finite: the line where its numbers become so.

Of a gradient that is not finite, the derivative runs again with tests of each number (`debug="nan"`).  Of one that is
zero, adjoints of all values of the block are computed: somewhere on each path one that is not zero has an operand
whose adjoint is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError, Span, TapecError
from tapec.syntax.core import Function, Name, Return, Stmt, changed, reads, walk, writes
from tapec.syntax.types import Array, Scalar
from tapec.tape.answers.gradients import differentiate, ones_for, request_of
from tapec.tape.derivatives.block_derivative import DerivedProgram, derive, inputs_of
from tapec.tape.plan.tape_plan import TapePlan
from tapec.tape.run.compiled_derivative import compiled
from tapec_runtime.non_finite import NonFiniteValue
from tapec_runtime.variables import UnconnectedGradients

if TYPE_CHECKING:
    from tapec.tape.answers.recording import Recording

# of a name, what it is filed under
Key = Callable[[str], str]


def explain_numbers(
    recording: Recording, target: Any, source: Any, ends: tuple[str, ...], path: frozenset[str], key: Key
) -> str:
    """What is to be said of the numbers in a gradient; nothing if it is finite and not zero.

    path  the keys of what is computed from the source, and of which the target is
    """
    try:
        (found,) = differentiate(recording, [target], [source], [None], UnconnectedGradients.NONE, None)
    except LoweringError as error:
        return f"; there is no gradient: {error}"
    if found is None:
        return ", but not on the way that the block went: the gradient is None"
    numbers = np.asarray(found)
    if not np.all(np.isfinite(numbers)):
        return f"; the gradient is not finite: {_born(recording, target, source)}"
    if numbers.size and not np.any(numbers):
        return f"; the gradient is zero{_broken(recording, ends, path, key)}"
    return ""


def _born(recording: Recording, target: Any, source: Any) -> str:
    """Where the first value that is not finite appears."""
    plan = copy.copy(recording.plan)
    plan.options = replace(plan.options, level=min(plan.options.level, 1), debug="nan", parallel=False)
    plan.compiled, plan.calls, plan.branching, plan.ways = {}, {}, {}, {}
    again = copy.copy(recording)
    again.plan = plan
    for jit in (False, True):
        try:
            differentiate(again, [target], [source], [None], UnconnectedGradients.ZERO, jit)
        except NonFiniteValue as error:
            return str(error)
        except (ArithmeticError, ValueError):
            # Python raises where compiled code gives infinity
            continue
    return "each value is finite, but what is added up is not"


def _broken(recording: Recording, ends: tuple[str, ...], path: frozenset[str], key: Key) -> str:
    """The statements at which all paths end."""
    plan = recording.plan
    known = _adjoints(recording, ends, _names(plan, path, key))
    adjoints = {key(name): moves for name, moves in known.items()}
    lost: dict[str, list[Stmt]] = {}
    for stmt in plan.block:
        made = {key(name) for name in _left_by(stmt)} & adjoints.keys()
        if not any(adjoints[name] for name in made):
            continue
        used = {key(name) for inner in walk((stmt,)) for name in reads(inner)}
        for name in sorted((used & path) - made):
            if adjoints.get(name) is False:
                lost.setdefault(name, []).append(stmt)
    texts: list[str] = []
    for stmts in lost.values():
        if len(stmts) == 1:
            text = f"the derivative is zero{at_line(_span(stmts[0]))}"
        else:
            text = "derivatives cancel, or are zero," + " and".join(at_line(_span(stmt)) for stmt in stmts)
        if text not in texts:
            texts.append(text)
    return ": " + "; ".join(texts[:3]) if texts else ""


def _names(plan: TapePlan, path: frozenset[str], key: Key) -> list[str]:
    """What lies on a path: the inputs of the block, and what its statements make, the last name of each."""
    found: dict[str, str] = {}
    floats = {name for name, type_ in plan.types.items() if isinstance(type_, Array | Scalar) and type_.is_float}
    made = [name for stmt in plan.block for name in _left_by(stmt)]
    for name in (*inputs_of(plan.block), *made):
        if name in floats and key(name) in path:
            found.setdefault(key(name), name)
    return list(found.values())


def _left_by(stmt: Stmt) -> list[str]:
    """The names that a statement sets, and the arrays that it writes."""
    inner = list(walk((stmt,)))
    return [name for one in inner for name in (*writes(one), *changed(one))]


def _adjoints(recording: Recording, ends: tuple[str, ...], names: Sequence[str]) -> dict[str, bool]:
    """For each of `names` for which that is known, whether its adjoint is other than zero; by itself an end's is."""
    found = dict.fromkeys(ends, True)
    values = _values(recording, (*names, *ends))
    for name in names:
        if name in values and name not in found:
            try:
                found[name] = _moves(recording, ends, name, values)
            except TapecError:
                # it is overwritten, or may be another value: what is not known breaks no path
                continue
    return found


def _values(recording: Recording, names: Sequence[str]) -> dict[str, Any]:
    """What the block computes under some names that it leaves set."""
    plan = recording.plan
    left = {name for stmt in plan.block for name in writes(stmt)} | set(inputs_of(plan.block))
    own = [*dict.fromkeys(name for name in names if name in left)]
    function = Function("values", (), (*plan.block, Return(tuple(map(Name, own)))), dict(plan.types))
    inputs = inputs_of(function.body)
    program = DerivedProgram(replace(function, params=inputs), inputs, (), (), ())
    results = _run(recording, program, [recording.input(name) for name in inputs])
    return dict(zip(own, results, strict=True))


def _moves(recording: Recording, ends: tuple[str, ...], name: str, values: dict[str, Any]) -> bool:
    """Whether the adjoint of a name is other than zero."""
    plan = recording.plan
    request = request_of(plan, ends, ((name,),))
    request = replace(request, watched=request.watched | {name})
    made = derive(request)
    if made.adjoints[0] is None:
        return False
    zeros = [np.zeros_like(values[cut]) if np.ndim(values[cut]) else 0.0 for _, cut in made.zeros]
    seeds = []
    for end in ends:
        type_ = plan.types[end]
        seeds.append(ones_for(values[end], type_) if isinstance(type_, Array) else 1.0)
    results = _run(recording, made, [*map(recording.input, made.inputs), *zeros, *seeds])
    return any(bool(np.any(results[made.first + place])) for place in made.adjoints[0])


def _run(recording: Recording, program: DerivedProgram, arguments: list[Any]) -> tuple[Any, ...]:
    plan = recording.plan
    options = replace(plan.options, level=0)
    return compiled(program, plan.constants, plan.callees, options)(arguments, None)


def _span(stmt: Stmt) -> Span | None:
    found = getattr(stmt, "span", None)
    assert found is None or isinstance(found, Span)
    return found


def at_line(span: Span | None) -> str:
    """Where a statement stands, in a sentence."""
    return "" if span is None else f" at {span.file}:{span.line}: {span.text.strip()}"
