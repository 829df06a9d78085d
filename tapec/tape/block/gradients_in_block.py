"""The gradients and Jacobians that lowered code asks a tape for, written where it asks.

Whether a source is connected may depend on the run: then the answer has a flag beside it, and is
None where the flag is not set.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.errors import LoweringError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import NONE, Complex, Items, Lst, MaybeNone, Sym, Value, number
from tapec.frontend.operations.allocation import dim
from tapec.frontend.operations.complex_arithmetic import lead, parts
from tapec.syntax.core import Assign, Atom, Block, Const, Function, Name, Return, reads, walk, writes, written_in
from tapec.syntax.types import Array, Scalar, written
from tapec.tape.block.gradient_arguments import adjoint, joined_adjoint, seeds, sources, zero_policy
from tapec.tape.block.merged_objects import claims_of, joined_behind
from tapec.tape.block.requests_in_block import (
    asked_targets,
    check_batch,
    check_elements,
    check_rows,
    check_stores,
    drawn_once,
    source_names,
    weighted,
)
from tapec.tape.block.watched_copies import replace_everywhere
from tapec.tape.derivatives.block_derivative import DerivedProgram, GradientRequest, Packing, connections, derive
from tapec.tape.derivatives.complex_sources import check_parts
from tapec.tape.derivatives.connectivity import SOURCES, connection_program, settled
from tapec.tape.derivatives.recomputed_values import with_copies
from tapec.tape.objects.live_objects import LiveObjects
from tapec.transforms.emitter import Emitter
from tapec.transforms.nested import note_memory, splice
from tapec.transforms.packed_columns import item_of
from tapec.transforms.splice import quiet

if TYPE_CHECKING:
    from tapec.tape.block.tape_region import TapeRegion

_PARAMETERS = {
    "gradient": ("target", "sources", "output_gradients", "unconnected_gradients"),
    "jacobian": (
        "target", "sources", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor",
    ),
    "batch_jacobian": (
        "target", "source", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor",
    ),
}  # fmt: skip
_KINDS = {"gradient": "gradient", "jacobian": "jacobian", "batch_jacobian": "batch"}


def answer(
    region: TapeRegion, method: str, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Write what `tape.gradient`, `jacobian` or `batch_jacobian` gives."""
    given = dict(zip(_PARAMETERS[method], args, strict=False)) | kwargs
    kind = _KINDS[method]
    rows = given.get("indexed_slices", number(False))
    if not isinstance(rows, Sym) or rows.constant is not False:
        ev.fail(
            LoweringError,
            "`indexed_slices` of a tape inside another one, or in a compiled function",
            node,
            hint="ask for the array",
        )
    region.ask(ev, node)
    if kind != "gradient":
        check_rows(region, ev, given, node)
    asked = asked_targets(ev, given["target"], kind, node)
    found: list[Sym | Complex] = []
    structure = sources(ev, given["source" if kind == "batch" else "sources"], found, node)
    zero = zero_policy(ev, given.get("unconnected_gradients", NONE), node) or kind == "batch"
    weights = given.get("output_gradients", NONE)
    targets, chosen = weighted(ev, asked, weights, node)
    if kind == "batch":
        check_batch(ev, asked[0], found, node)
    shape = lead(asked[0]) if kind != "gradient" else None
    # the rows of a complex target are the gradients of its real part
    beside = targets[1:] if kind != "gradient" else []
    targets = targets[:1] if kind != "gradient" else targets
    by = [part for value in found for part in parts(value)]
    versions = tuple(names for value in found for names in source_names(region, ev, value, node))
    check_elements(region, ev, targets, by, node)
    block = drawn_once(ev, quiet(region.recorded()), node)
    check_stores(region, ev, block, node)
    whole, atoms = joined_behind(region, ev, block, [*targets, *beside], node)
    request = GradientRequest(
        whole,
        ev.types,
        frozenset(ev.constants),
        atoms[: len(targets)],
        versions,
        frozenset(with_copies(region.watched, ev.recomputed)),
        frozenset(region.stopped),
        frozenset(ev.copies),
        kind=kind,
        pairs=_pairs(found, versions),
    )
    if isinstance(ev.live, LiveObjects) and not ev.deciding:
        ev.live.claims += claims_of(region, ev, request, [names for _, names in ev.live.versions.values()], node)
    check_parts(request, ev.where(node))
    # beside the block its numbers are read, not computed again: those must keep their names
    # decisions are taken with the numbers of inputs, not of what is packed of them
    alone = region.alone and not ev.deciding and isinstance(ev.live, LiveObjects)
    packs = ev.live.packed_by_derivatives() if alone else ()  # type: ignore[union-attr]
    derivative = derive(request, ev.prepare if region.alone else None, again=not region.alone, packs=packs)
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
    also = connections(replace(request, targets=atoms[len(targets) :])) if beside else (False,) * len(by)
    halves: list[Value] = []
    for k, (value, positions) in enumerate(zip(by, derivative.adjoints, strict=True)):
        entry = adjoint(ev, value, None if k in cut else positions, adjoints, zero or also[k], shape, kind == "batch")
        if kind == "gradient":
            _note_extents(ev, value, entry)
        if k in flags and isinstance(entry, Sym):
            entry = MaybeNone(entry, flags[k])
        halves.append(entry)
    remaining = iter(halves)
    entries = [joined_adjoint(ev, value, [next(remaining) for _ in parts(value)], shape, kind == "batch")
               for value in found]
    result: Value = structure(entries)
    return result


def _pairs(
    found: list[Sym | Complex], versions: tuple[tuple[str, ...], ...]
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The names of both parts of each complex source, among those of all parts."""
    names = iter(versions)
    own = [[next(names) for _ in parts(value)] for value in found]
    return tuple((halves[0], halves[1]) for halves in own if len(halves) == 2)


def _note_extents(ev: Evaluator, source: Sym, entry: Value) -> None:
    """A gradient has its source's shape."""
    if isinstance(entry, Sym) and isinstance(entry.atom, Name) and isinstance(entry.type, Array):
        for axis in range(entry.type.ndim):
            ev.dims[entry.atom.id, axis] = dim(ev, source, axis).atom


def _written(
    ev: Evaluator, derivative: DerivedProgram, weights: list[Sym], block: Block
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
    again = written_in(body)
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
    inputs = derivative.inputs if derivative.packing is None else _packed_inputs(ev, derivative.packing)
    params = (*(name for name in inputs if name not in bound), *linked, *outer)
    # the derivative may use a name that the program has given to a weight since
    types = {**ev.types, **function.types, **{name: ev.types[name] for name in outer}}
    last = function.leaving
    count = derivative.first
    leaving = Return((*last.values, *(Name(name) for name in followed)), last.span)
    whole = Function("inner", tuple(dict.fromkeys(params)), (*prologue, *body[:-1], leaving), types)
    results = splice(ev, whole)
    copies = dict(zip(followed, results[len(last.values) :], strict=True))
    for name in twice:
        _note_copy(ev, name, copies.get(name))
    adjoints = results[count : len(last.values)]
    return results[:count], adjoints if derivative.packing is None else _unpacked(ev, derivative.packing, adjoints)


def _packed_inputs(ev: Evaluator, packing: Packing) -> tuple[str, ...]:
    """The inputs of a derivative that are packed, as inputs of the program."""
    assert isinstance(ev.live, LiveObjects)
    program = packing.program
    ev.live.packed.append(program)
    for name in program.packed:
        ev.types[name] = program.function.types[name]
        ev.taken.add(name)
        ev.fixed.add(name)
        if isinstance(ev.types[name], Array):
            ev.roots[name] = frozenset({name})
    return (*program.inputs, *program.packed)


def _unpacked(ev: Evaluator, packing: Packing, found: list[Value]) -> list[Value]:
    """The adjoints of the sources, of which those that are packed are views."""
    assert isinstance(ev.live, LiveObjects)
    places: dict[str, int] = {}
    adjoints: list[Value] = []
    for source in packing.sources:
        column, place = packing.program.place(source) or (None, 0)
        whole = found[places.setdefault(source if column is None else column.items, len(places))]
        if column is None:
            adjoints.append(whole)
            continue
        assert isinstance(whole, Sym) and isinstance(whole.atom, Name)
        ev.live.adjoints.add(whole.atom.id)
        out = Emitter(ev.types, ev.taken, ev.span)
        made = out.let("t", item_of(out, column, whole.atom.id, Const(place)), written(column.type))
        for stmt in out.out:
            ev.emit(stmt)
        note_memory(ev, tuple(out.out))
        adjoints.append(Sym(made, written(column.type)))
    return adjoints


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


def _flags(
    ev: Evaluator, request: GradientRequest, derivative: DerivedProgram, adjoints: list[Value]
) -> dict[int, Atom]:
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
        ev.branch(zero, partial(_ask, ev, request, chunk, cells), lambda: None)
        for k in chunk:
            contents = ev.heap.pop(cells[k])
            assert isinstance(contents, Items) and isinstance(contents.values[0], Sym)
            flags[k] = contents.values[0].atom
    return flags


def _cut_off(ev: Evaluator, request: GradientRequest, derivative: DerivedProgram, node: Any) -> set[int]:
    """The sources that this very run does not connect, though another order of stores would."""
    connected = [k for k, positions in enumerate(derivative.adjoints) if positions is not None]
    found: set[int] = set()
    for start in range(0, len(connected), SOURCES):
        chunk = connected[start : start + SOURCES]
        program = connection_program(replace(request, sources=tuple(request.sources[k] for k in chunk))).function
        [word] = splice(ev, replace(program, types={**ev.types, **program.types}))
        for place, k in enumerate(chunk):
            bit = ev.op("!=", ev.binary("&", word, number(1 << (place + 1))), number(0))
            if ev.decided(bit, node).constant is False:
                found.add(k)
    return found


def _all_zero(ev: Evaluator, value: Value) -> Sym:
    """Only a gradient of nothing but zeros may be one that is None."""
    if isinstance(value, Sym) and isinstance(value.type, Scalar):
        return ev.sym(ev.op("==", value, ev.cast(number(0.0), value.type)))
    return ev.op("not", ev.sym(ev.materialise(ev.call_object(np.any, [value], {}, None))))


def _ask(ev: Evaluator, request: GradientRequest, chunk: list[int], cells: dict[int, Lst]) -> None:
    """Run the block once more, with a word of bits beside each number that tells what it depends on."""
    asked = replace(request, sources=tuple(request.sources[k] for k in chunk))
    program = connection_program(asked).function
    [word] = splice(ev, replace(program, types={**ev.types, **program.types}))
    for place, k in enumerate(chunk):
        bit = ev.binary("&", word, number(1 << (place + 1)))
        ev.heap[cells[k]] = Items((ev.op("!=", bit, number(0)),))
