"""What lowered code asks a tape for: the targets with their weights, the names of the sources, the statements between.

What cannot be answered is refused here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.analyses.random_draws import drawn
from tapec.errors import LoweringError, UnsupportedType, UsageError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import NONE, Complex, Sym, Value, describe, is_none, number
from tapec.frontend.operations.complex_arithmetic import lead, parts
from tapec.syntax.core import Block, Const, If, Name, Op, Raise, Store, reads, walk, written_in
from tapec.syntax.types import BOOL, INT64, Array
from tapec.tape.block.gradient_arguments import numbers
from tapec.tape.block.watched_copies import canonical, list_elements, versions_for
from tapec.tape.derivatives.recomputed_values import followed
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.variable_versions import VariablePair, VariableSym, keys_of

if TYPE_CHECKING:
    from tapec.tape.block.tape_region import TapeRegion


def asked_targets(ev: Evaluator, value: Value, kind: str, node: Any) -> list[Sym | Complex]:
    """The numbers and arrays that are differentiated; of a Jacobian the only one."""
    value = ev.present(value)
    if kind != "gradient" and not isinstance(value, Sym | Complex):
        ev.fail(UnsupportedType, f"a Jacobian of {describe(value)}: it has one target, a number or an array", node)
    found: list[Sym | Complex] = []
    numbers(ev, value, found, node)
    if any(isinstance(one, VariableSym | VariablePair) for one in found):
        ev.fail(UsageError, "a variable cannot be a target", node, hint="use a value computed from it")
    return found


def weighted(
    ev: Evaluator, targets: list[Sym | Complex], given: Value, node: Any
) -> tuple[list[Sym], list[Sym | None]]:
    """The float targets, and both parts of complex ones, with their weights; None for ones."""
    weights: list[Sym | Complex | None] = [None] * len(targets)
    if not is_none(given):
        found: list[Sym | Complex | None] = []
        numbers(ev, given, found, node, none=True)
        if len(found) != len(targets):
            ev.fail(UsageError, f"{len(found)} output gradients for {len(targets)} targets", node)
        weights = found
        for target, weight in zip(targets, weights, strict=True):
            _check_shape(ev, target, weight, node)
    pairs: list[tuple[Sym, Sym | None]] = []
    for target, weight in zip(targets, weights, strict=True):
        if isinstance(target, Complex):
            pairs += _weighted_parts(ev, target, weight)
        elif isinstance(weight, Complex):
            ev.fail(UsageError, "a complex output gradient for a real target", node)
        elif target.type.is_float:
            pairs.append((target, weight))
    return [target for target, _ in pairs], [weight for _, weight in pairs]


def _weighted_parts(ev: Evaluator, target: Complex, weight: Sym | Complex | None) -> list[tuple[Sym, Sym | None]]:
    """Both parts of a target with their weights, which are the parts of its own."""
    if isinstance(weight, Complex):
        return [(target.re, weight.re), (target.im, weight.im)]
    nothing: Value = ev.cast(number(0.0), target.im.type) if not target.is_array else ev.materialise(
        ev.call_object(np.zeros_like, [target.im], {}, None)
    )
    return [(target.re, weight), (target.im, ev.sym(nothing))]


def _check_shape(ev: Evaluator, target: Sym | Complex, weight: Sym | Complex | None, node: Any) -> None:
    """An output gradient has the shape of its target."""
    if weight is None:
        return
    target, weight = lead(target), lead(weight)
    assert isinstance(target, Sym) and isinstance(weight, Sym)
    ours, theirs = (one.type.ndim if isinstance(one.type, Array) else 0 for one in (target, weight))
    if ours != theirs:
        ev.fail(UsageError, f"an output gradient of {weight.type} for a target of {target.type}", node)
    _same_extents(ev, target, weight, range(ours), "an output gradient has another shape than its target")


def _same_extents(ev: Evaluator, first: Sym, second: Sym, axes: Any, message: str) -> None:
    for axis in axes:
        sides = [ev.assign(Op("dim", (one.atom, Const(axis))), INT64) for one in (first, second)]
        differs = ev.assign(Op("!=", (sides[0].atom, sides[1].atom)), BOOL)
        ev.emit(If(differs.atom, (Raise("ValueError", (Const(message),), ev.span),), (), ev.span))


def check_rows(region: TapeRegion, ev: Evaluator, given: dict[str, Value], node: Any) -> None:
    """How the rows of a Jacobian are computed must be possible."""
    at_once = given.get("parallel_iterations", NONE)
    if isinstance(at_once, Sym) and isinstance(at_once.constant, int) and at_once.constant < 1:
        ev.fail(UsageError, "parallel_iterations must be at least 1", node)
    together = given.get("experimental_use_pfor", number(True))
    if not region.persistent and isinstance(together, Sym) and together.constant is not True:
        ev.fails(RuntimeError, "experimental_use_pfor=False needs a persistent tape", node, refusal=LoweringError)


def check_batch(ev: Evaluator, target: Sym | Complex, found: list[Sym | Complex], node: Any) -> None:
    """The target and its only source are arrays, row by row of the same examples."""
    if len(found) != 1:
        ev.fail(UnsupportedType, "batch_jacobian takes one source", node)
    for one in (target, found[0]):
        if not isinstance(one.type, Array) or one.type.ndim < 2:
            ev.fail(UsageError, f"batch_jacobian of {one.type}: it needs arrays of rank 2 or more", node)
    _same_extents(ev, lead(target), lead(found[0]), [0], "batch_jacobian needs arrays with the same first dimension")


def source_names(region: TapeRegion, ev: Evaluator, value: Sym | Complex, node: Any) -> list[tuple[str, ...]]:
    """The names of a source, or those of both its parts."""
    span = ev.where(node)
    if isinstance(value, VariableSym | VariablePair) and isinstance(ev.live, LiveObjects):
        known = [
            versions_for(ev.live.versions[key][1], ev.copies, region.watched, region.stopped)
            for key in keys_of(value.variable)[: len(parts(value))]
        ]
        return [followed(own, ev.recomputed, span) for own in known]
    return [
        followed((canonical(ev.copies, part.atom.id, region.watched),), ev.recomputed, span)
        if isinstance(part.atom, Name) and part.type.is_float
        else ()
        for part in parts(value)
    ]


def check_elements(region: TapeRegion, ev: Evaluator, targets: list[Sym], sources: list[Sym], node: Any) -> None:
    """An element of a list that a loop fills is an object of the program, but which one is not known."""
    if not ev.list_memory:
        return
    elements = list_elements(ev, freeze(ev.root))
    inside = written_in(region.recorded())
    outside = [one.atom.id for one in targets if isinstance(one.atom, Name) and one.atom.id not in inside]
    for name in (*outside, *(one.atom.id for one in sources if isinstance(one.atom, Name))):
        if name in elements:
            ev.fail(
                LoweringError,
                "a gradient of, or with respect to, an element of a list that a loop or branch fills",
                node,
                hint="bind the value to a variable where it is computed",
            )


def check_stores(region: TapeRegion, ev: Evaluator, block: Block, node: Any) -> None:
    """The stretch is run once more for its derivative: nothing that it reads may have changed."""
    inside = written_in(block)
    read = {name for stmt in walk(block) for name in reads(stmt)} - inside
    roots = frozenset().union(*(ev.roots.get(name, frozenset()) for name in read))
    after = freeze(region.block[region.end :]) if region.end is not None else ()
    for stmt in (*walk(block), *walk(after)):
        if isinstance(stmt, Store) and ev.roots.get(stmt.array, frozenset()) & roots:
            ev.fail(
                LoweringError,
                "an array from outside a nested tape is written in place",
                node,
                hint="copy it inside the tape",
            )


def drawn_once(ev: Evaluator, block: Block, node: Any) -> Block:
    """The block without its random draws: a gradient is that of the numbers that were drawn."""
    kept = tuple(stmt for stmt in block if drawn(stmt) is None)
    for stmt in walk(kept):
        if drawn(stmt) is not None:
            ev.fail(
                LoweringError,
                "random numbers drawn in a branch or loop of a tape's block",
                node,
                reason="the gradient would run the branch or loop again, with other numbers",
                hint="draw an array of them before it",
            )
    return kept
