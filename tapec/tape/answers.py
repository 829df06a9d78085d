"""The gradients and Jacobians that lowered code asks a tape for, written where it asks.

Whether a source is connected may depend on the run: then the answer has a flag beside it, and is
None where the flag is not set.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError, UnsupportedType, UsageError
from tapec.frontend.complexes import lead, parts
from tapec.frontend.elementwise import dim
from tapec.frontend.evaluator import Evaluator, freeze
from tapec.frontend.optional import present
from tapec.frontend.values import NONE, Complex, Items, Lst, MaybeNone, Sym, Value, describe, is_none, number
from tapec.syntax.core import (
    Assign,
    Atom,
    Block,
    Const,
    Function,
    If,
    Name,
    Op,
    Raise,
    Return,
    Store,
    reads,
    walk,
    writes,
)
from tapec.syntax.types import BOOL, INT64, Array, Scalar
from tapec.tape.again import AGAIN, AGAIN_HINT, AGAIN_REASON, untold, with_copies
from tapec.tape.arguments import adjoint, joined_adjoint, numbers, seeds, sources, zero_policy
from tapec.tape.connected import SOURCES, connection_program, settled
from tapec.tape.derive import Derivative, Request, connections, derive
from tapec.tape.held import canonical, list_elements, replace_everywhere
from tapec.tape.live import LiveObjects
from tapec.tape.randomness import draws
from tapec.tape.versions import VariablePair, VariableSym, keys_of
from tapec.transforms.emitter import Emitter
from tapec.transforms.inline import quiet
from tapec.transforms.nested import splice

if TYPE_CHECKING:
    from tapec.tape.region import Region

_PARAMETERS = {
    "gradient": ("target", "sources", "output_gradients", "unconnected_gradients"),
    "jacobian": (
        "target", "sources", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor",
    ),
    "batch_jacobian": (
        "target", "source", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor",
    ),
}  # fmt: skip
_FORMS = {"gradient": "gradient", "jacobian": "jacobian", "batch_jacobian": "batch"}


def answer(
    region: Region, method: str, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Write what `tape.gradient`, `jacobian` or `batch_jacobian` gives."""
    given = dict(zip(_PARAMETERS[method], args, strict=False)) | kwargs
    form = _FORMS[method]
    rows = given.get("indexed_slices", number(False))
    if not isinstance(rows, Sym) or rows.constant is not False:
        ev.fail(
            LoweringError,
            "`indexed_slices` of a tape inside another one, or in a compiled function",
            node,
            hint="ask for the array",
        )
    region.ask(ev, node)
    if form != "gradient":
        _check_rows(region, ev, given, node)
    asked = _targets(ev, given["target"], form, node)
    found: list[Sym | Complex] = []
    structure = sources(ev, given["source" if form == "batch" else "sources"], found, node)
    zero = zero_policy(ev, given.get("unconnected_gradients", NONE), node) or form == "batch"
    weights = given.get("output_gradients", NONE)
    targets, chosen = _weighted(ev, asked, weights, node)
    if form == "batch":
        _check_batch(ev, asked[0], found, node)
    shape = lead(asked[0]) if form != "gradient" else None
    # the rows of a complex target are the gradients of its real part
    beside = targets[1:] if form != "gradient" else []
    targets = targets[:1] if form != "gradient" else targets
    by = [part for value in found for part in parts(value)]
    versions = tuple(names for value in found for names in _versions(region, ev, value, node))
    _check_elements(region, ev, targets, by, node)
    block = _drawn_once(ev, quiet(region.recorded()), node)
    _check_stores(region, ev, block, node)
    request = Request(
        block,
        ev.types,
        frozenset(ev.constants),
        tuple(target.atom for target in targets),
        versions,
        frozenset(with_copies(region.watched, ev.recomputed)),
        frozenset(region.stopped),
        frozenset(ev.copies),
        form=form,
    )
    derivative = derive(request)
    given_weights = seeds(ev, targets, chosen, derivative, node)
    values, adjoints = _written(ev, derivative, given_weights, () if region.alone else block)
    # an intermediate step of a decided program is what it is; elsewhere the run tells
    flagged = not zero and not ev.deciding and not settled(request)
    flags = _flags(ev, request, derivative, adjoints) if flagged else {}
    cut = _cut_off(ev, request, derivative, node) if not zero and ev.deciding and not settled(request) else set()
    region.used = True
    if region.alone:
        _take_over(ev, targets, values)
    # what only the imaginary part of the target depends on is connected, too
    also = connections(replace(request, targets=tuple(one.atom for one in beside))) if beside else (False,) * len(by)
    halves: list[Value] = []
    for k, (value, positions) in enumerate(zip(by, derivative.adjoints, strict=True)):
        entry = adjoint(ev, value, None if k in cut else positions, adjoints, zero or also[k], shape, form == "batch")
        if form == "gradient":
            _note_extents(ev, value, entry)
        if k in flags and isinstance(entry, Sym):
            entry = MaybeNone(entry, flags[k])
        halves.append(entry)
    remaining = iter(halves)
    entries = [joined_adjoint(ev, value, [next(remaining) for _ in parts(value)], shape, form == "batch")
               for value in found]
    result: Value = structure(entries)
    return result


def _drawn_once(ev: Evaluator, block: Block, node: Any) -> Block:
    """The block without its random draws: a gradient is that of the numbers that were drawn."""
    kept = tuple(stmt for stmt in block if not draws(stmt))
    for stmt in walk(kept):
        if draws(stmt):
            ev.fail(
                LoweringError,
                "random numbers drawn in a branch or loop of a tape's block",
                node,
                reason="the gradient would run the branch or loop again, with other numbers",
                hint="draw an array of them before it",
            )
    return kept


def _note_extents(ev: Evaluator, source: Sym, entry: Value) -> None:
    """A gradient has its source's shape."""
    if isinstance(entry, Sym) and isinstance(entry.atom, Name) and isinstance(entry.type, Array):
        for axis in range(entry.type.ndim):
            ev.dims[entry.atom.id, axis] = dim(ev, source, axis).atom


def _targets(ev: Evaluator, value: Value, form: str, node: Any) -> list[Sym | Complex]:
    value = present(ev, value)
    if form != "gradient" and not isinstance(value, Sym | Complex):
        ev.fail(UnsupportedType, f"a Jacobian of {describe(value)}: it has one target, a number or an array", node)
    found: list[Sym | Complex] = []
    numbers(ev, value, found, node)
    if any(isinstance(one, VariableSym | VariablePair) for one in found):
        ev.fail(UsageError, "a variable cannot be a target", node, hint="use a value computed from it")
    return found


def _weighted(
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


def _check_rows(region: Region, ev: Evaluator, given: dict[str, Value], node: Any) -> None:
    at_once = given.get("parallel_iterations", NONE)
    if isinstance(at_once, Sym) and isinstance(at_once.constant, int) and at_once.constant < 1:
        ev.fail(UsageError, "parallel_iterations must be at least 1", node)
    together = given.get("experimental_use_pfor", number(True))
    if not region.persistent and isinstance(together, Sym) and together.constant is not True:
        region.misused(ev, "experimental_use_pfor=False needs a persistent tape", node)


def _check_batch(ev: Evaluator, target: Sym | Complex, found: list[Sym | Complex], node: Any) -> None:
    if len(found) != 1:
        ev.fail(UnsupportedType, "batch_jacobian takes one source", node)
    for one in (target, found[0]):
        if not isinstance(one.type, Array) or one.type.ndim < 2:
            ev.fail(UsageError, f"batch_jacobian of {one.type}: it needs arrays of rank 2 or more", node)
    _same_extents(ev, lead(target), lead(found[0]), [0], "batch_jacobian needs arrays with the same first dimension")


def _versions(region: Region, ev: Evaluator, value: Sym | Complex, node: Any) -> list[tuple[str, ...]]:
    """The names of a source, or those of both its parts."""
    if isinstance(value, VariableSym | VariablePair) and isinstance(ev.live, LiveObjects):
        known = [tuple(ev.live.versions[key][1]) for key in keys_of(value.variable)[: len(parts(value))]]
        return [_followed(ev, own, node) for own in known]
    return [
        _followed(ev, (canonical(ev.copies, part.atom.id, region.watched),), node)
        if isinstance(part.atom, Name) and part.type.is_float
        else ()
        for part in parts(value)
    ]


def _followed(ev: Evaluator, own: tuple[str, ...], node: Any) -> tuple[str, ...]:
    """The names, with those of the copies that derivatives of inner tapes made."""
    lost = untold(own, ev.recomputed)
    if lost is not None:
        ev.fail(LoweringError, AGAIN.format(lost), node, reason=AGAIN_REASON, hint=AGAIN_HINT)
    return with_copies(own, ev.recomputed)


def _check_elements(region: Region, ev: Evaluator, targets: list[Sym], sources: list[Sym], node: Any) -> None:
    """An element of a list that a loop fills is an object of the program, but which one is not known."""
    if not ev.list_memory:
        return
    elements = list_elements(ev, freeze(ev.root))
    inside = {name for stmt in walk(region.recorded()) for name in writes(stmt)}
    outside = [one.atom.id for one in targets if isinstance(one.atom, Name) and one.atom.id not in inside]
    for name in (*outside, *(one.atom.id for one in sources if isinstance(one.atom, Name))):
        if name in elements:
            ev.fail(
                LoweringError,
                "a gradient of, or with respect to, an element of a list that a loop or branch fills",
                node,
                hint="bind the value to a variable where it is computed",
            )


def _check_stores(region: Region, ev: Evaluator, block: Block, node: Any) -> None:
    """The stretch is run once more for its derivative: nothing that it reads may have changed."""
    inside = {name for stmt in walk(block) for name in writes(stmt)}
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


def _written(
    ev: Evaluator, derivative: Derivative, weights: list[Sym], block: Block
) -> tuple[list[Value], list[Value]]:
    """The derivative's statements, written into the current block; the targets' values and the adjoints.

    Numbers of `block` are read, not computed again: what depends on them here depends on them for
    outer tapes too.
    """
    function = derivative.function
    counts = Counter(name for stmt in walk(block) for name in writes(stmt))
    known = {stmt.target for stmt in block if isinstance(stmt, Assign) and counts[stmt.target] == 1}
    known = {name for name in known if isinstance(ev.types[name], Scalar)}
    body = tuple(stmt for stmt in function.body if not (isinstance(stmt, Assign) and stmt.target in known))
    again = {name for stmt in walk(body) for name in writes(stmt)}
    twice = [name for name in counts if name in again and ev.types[name].is_float]
    made = Counter(name for stmt in walk(body) for name in writes(stmt))
    at_top = {stmt.target for stmt in body if isinstance(stmt, Assign)}
    followed = [name for name in twice if isinstance(ev.types[name], Array) and made[name] == 1 and name in at_top]
    linked = tuple(name for name in known if any(name in reads(stmt) for stmt in walk(body)))
    if not derivative.function.params:
        return [], []
    emitter = Emitter(ev.types, ev.taken, ev.span)
    zeros: dict[str, Atom] = {}
    for zero, name in derivative.zeros:
        if isinstance(ev.types[name], Array):
            zeros[zero] = Name(emitter.zeros_like(zero, name))
        else:
            zeros[zero] = emitter.cast(Const(0.0), ev.types[name])  # type: ignore[arg-type]
    for stmt in emitter.out:
        ev.emit(stmt)
        for name in writes(stmt):
            if isinstance(ev.types.get(name), Array):
                ev.roots[name] = frozenset({name})
    bound = dict(zip((z for z, _ in derivative.zeros), zeros.values(), strict=True))
    bound |= {seed: value.atom for seed, value in zip(derivative.seeds, weights, strict=True)}
    prologue = tuple(Assign(param, atom, ev.span) for param, atom in bound.items())
    outer = [a.id for a in bound.values() if isinstance(a, Name)]
    params = (*derivative.inputs, *linked, *outer)
    # the derivative may use a name that the program has given to a weight since
    types = {**ev.types, **function.types, **{name: ev.types[name] for name in outer}}
    last = function.body[-1]
    assert isinstance(last, Return)
    count = len(last.values) - len({p for ps in derivative.adjoints if ps for p in ps})
    leaving = Return((*last.values, *(Name(name) for name in followed)), last.span)
    whole = Function("inner", tuple(dict.fromkeys(params)), (*prologue, *body[:-1], leaving), types)
    results = splice(ev, whole)
    copies = dict(zip(followed, results[len(last.values) :], strict=True))
    for name in twice:
        _note_copy(ev, name, copies.get(name))
    return results[:count], results[count : len(last.values)]


def _note_copy(ev: Evaluator, name: str, copy: Value | None) -> None:
    """Remember where a value was computed once more."""
    known = ev.recomputed.get(name, ())
    followed = known is not None and isinstance(copy, Sym) and isinstance(copy.atom, Name)
    ev.recomputed[name] = (*known, copy.atom.id) if followed else None  # type: ignore[misc, union-attr]


def _take_over(ev: Evaluator, targets: list[Sym], values: list[Value]) -> None:
    """Use the targets as the derivative computes them: what computed them before is then not needed."""
    new = {
        target.atom.id: value
        for target, value in zip(targets, values, strict=False)
        if isinstance(target.atom, Name) and isinstance(target.type, Scalar) and isinstance(value, Sym)
    }
    replace_everywhere(ev, new)


def _flags(ev: Evaluator, request: Request, derivative: Derivative, adjoints: list[Value]) -> dict[int, Atom]:
    """For each connected source a boolean: whether it was connected on the way that the program went."""
    connected = [k for k, positions in enumerate(derivative.adjoints) if positions is not None]
    flags: dict[int, Atom] = {}
    for start in range(0, len(connected), SOURCES):
        chunk = connected[start : start + SOURCES]
        cells = {k: Lst("present") for k in chunk}
        for cell in cells.values():
            ev.heap[cell] = Items((number(True),))
        zero = number(False)
        for k in chunk:
            for position in derivative.adjoints[k] or ():
                zero = ev.sym(ev.binary("|", zero, _all_zero(ev, adjoints[position])))
        ev.branch(zero, lambda chunk=chunk, cells=cells: _ask(ev, request, chunk, cells), lambda: None)
        for k in chunk:
            contents = ev.heap.pop(cells[k])
            assert isinstance(contents, Items) and isinstance(contents.values[0], Sym)
            flags[k] = contents.values[0].atom
    return flags


def _cut_off(ev: Evaluator, request: Request, derivative: Derivative, node: Any) -> set[int]:
    """The sources that this very run does not connect, though another order of stores would."""
    connected = [k for k, positions in enumerate(derivative.adjoints) if positions is not None]
    found: set[int] = set()
    for start in range(0, len(connected), SOURCES):
        chunk = connected[start : start + SOURCES]
        program = connection_program(replace(request, sources=tuple(request.sources[k] for k in chunk))).function
        [word] = splice(ev, replace(program, types={**ev.types, **program.types}))
        for place, k in enumerate(chunk):
            bit = ev.op("!=", ev.binary("&", word, number(1 << (place + 1))), number(0))
            if ev.known(bit, node).constant is False:
                found.add(k)
    return found


def _all_zero(ev: Evaluator, value: Value) -> Sym:
    """Only a gradient of nothing but zeros may be one that is None."""
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return ev.sym(ev.op("==", value, ev.cast(number(0.0), value.type)))
    return ev.op("not", ev.sym(ev.materialise(ev.call_object(np.any, [value], {}, None))))


def _ask(ev: Evaluator, request: Request, chunk: list[int], cells: dict[int, Lst]) -> None:
    """Run the block once more, with a word of bits beside each number that tells what it depends on."""
    asked = replace(request, sources=tuple(request.sources[k] for k in chunk))
    program = connection_program(asked).function
    [word] = splice(ev, replace(program, types={**ev.types, **program.types}))
    for place, k in enumerate(chunk):
        bit = ev.binary("&", word, number(1 << (place + 1)))
        ev.heap[cells[k]] = Items((ev.op("!=", bit, number(0)),))
