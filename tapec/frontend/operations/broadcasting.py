"""Broadcasting: the shape of an elementwise expression, and how each array in it is read.

It is resolved here, once: an axis that is known to have the output's extent is indexed by the loop's
variable, one of extent 1 by 0.  What is not known is compared at run time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.symbolic_extents import AssumedExtents
from tapec.frontend.evaluator.values import Complex, Lazy, Sym, Tup, Value, number
from tapec.frontend.operations.allocation import (
    dim,
    dim_key,
    id_of,
    is_slice,
    nominal,
    of_parameters,
    rank_of,
    same_from_here,
)
from tapec.syntax.core import Const, Name
from tapec.syntax.linear import Sum
from tapec.syntax.types import Array

_ONE = Sum(number=1)


@dataclass
class Broadcast:
    """The shape of an elementwise expression, and how each array in it is read.

    extents   one per output axis
    narrow    axes (array, axis) that are known to have extent 1 and are read at 0
    replaced  arrays that take the place of those whose extents had to be compared at run time
    steps     instead, in a loop: 1 for an axis (array, axis) that runs along the output's, 0 for a repeated one
    keys      what identifies each extent
    written   how often the memory of the arrays was written into when copies took their place
    """

    extents: tuple[Sym, ...]
    narrow: frozenset[tuple[str, int]] = frozenset()
    replaced: dict[str, Sym] = field(default_factory=dict)
    keys: tuple[tuple[Any, int], ...] = ()
    steps: dict[tuple[str, int], Sym] = field(default_factory=dict)
    written: tuple[int, ...] = ()


def broadcast(ev: Evaluator, value: Value) -> Broadcast:
    """Work out the shape of an elementwise expression; emits the checks that are needed.

    Arrays whose extents are not known to fit are compared at run time.  Where they differ and may
    be broadcast, copies of full shape take their place, so that the loops stay simple; in a loop, where a
    copy would be made iteration after iteration, subscripts have a factor of 1 or 0 instead.
    """
    arrays = list(dict.fromkeys(array_leaves(value)))
    ndim = max(rank_of(array) for array in arrays)
    extents: list[Sym] = []
    keys: list[tuple[Any, int]] = []
    narrow: set[tuple[str, int]] = set()
    doubtful = False
    for axis in range(ndim):
        members = _members(ev, arrays, ndim, axis)
        wide = [m for m in members if m[2] != (Const(1), 0)]
        doubtful |= not ev.same_extents and not _agree(ev, wide)
        array, own, key = wide[0] if wide else members[0]
        extents.append(dim(ev, array, own))
        keys.append(key)
        if wide:
            narrow |= {(id_of(a), k) for a, k, key in members if key == (Const(1), 0)}
    if not doubtful:
        return Broadcast(tuple(extents), frozenset(narrow), {}, tuple(keys))
    ids = tuple(id_of(array) for array in arrays)
    known = ev.broadcasts.get(ids)
    if known is None or not _still_holds(ev, known, arrays):
        made = _stepped(ev, arrays, ndim) if ev.loops else _with_copies(ev, arrays, ndim, frozenset(narrow))
        known = ev.broadcasts[ids] = made
    return known


def _still_holds(ev: Evaluator, known: Broadcast, arrays: list[Sym]) -> bool:
    """Whether what was worked out for an expression still holds: copies may be out of date.

    The loops of a library function write into nothing that its arguments read; a user's loop may, in an earlier
    iteration.
    """
    inside = bool(ev.loops) and not (ev.frame.library and all(loop.library for loop in ev.loops))
    return not known.replaced or (not inside and known.written == _written(ev, arrays))


def _written(ev: Evaluator, arrays: list[Sym]) -> tuple[int, ...]:
    return tuple(sum(ev.written.get(root, 0) for root in ev.roots_of(id_of(array))) for array in arrays)


def _with_copies(ev: Evaluator, arrays: list[Sym], ndim: int, narrow: frozenset[tuple[str, int]]) -> Broadcast:
    """The shape of an expression in which copies of full shape take the place of arrays that do not have it.

    Axes that are known to be narrow stay so.
    """
    replaced = _aligned(ev, arrays, ndim, narrow)
    wide = [_wide(ev, arrays, ndim, axis, narrow)[0] for axis in range(ndim)]
    return Broadcast(
        tuple(dim(ev, replaced[id_of(array)], own) for array, own, _ in wide),
        narrow,
        replaced,
        tuple(dim_key(ev, replaced[id_of(array)], own) for array, own, _ in wide),
        written=_written(ev, arrays),
    )


def _stepped(ev: Evaluator, arrays: list[Sym], ndim: int) -> Broadcast:
    """The shape of an expression whose arrays are read with steps of 1 or 0."""
    extents, steps = [], {}
    for axis in range(ndim):
        members = _members(ev, arrays, ndim, axis)
        # a known extent other than 1 is the result's
        members.sort(key=lambda m: not isinstance(m[2][0], Const) or m[2] == (Const(1), 0))
        wide = [one for one in members if one[2] != (Const(1), 0)]
        if _agree(ev, wide):
            members = [one for one in members if one not in wide[1:]]
        extent = dim(ev, members[0][0], members[0][1])
        for array, own, key in members[1:]:
            if key != members[0][2] and (extent.constant is None or extent.constant == 1):
                extent = ev.op("ifelse", ev.op("==", extent, number(1)), dim(ev, array, own), extent)
        for array, own, _ in members:
            step = _step(ev, "stretch", extent, dim(ev, array, own))
            if step is not None:
                steps[id_of(array), own] = step
        extents.append(extent)
    for found in (*extents, *steps.values()):
        if isinstance(found.atom, Name):
            ev.temporary.discard(found.atom.id)  # it keeps its name: later reads are by it
    return Broadcast(tuple(extents), keys=tuple((extent.atom, 0) for extent in extents), steps=steps)


def _step(ev: Evaluator, check: str, extent: Sym, own: Sym) -> Sym | None:
    """0 for an axis that is repeated, 1 for another one, None if that is known; ValueError at run time for a misfit."""
    if own.atom == extent.atom:
        return None
    ev.call_library(check, (extent, own))
    if own.constant is not None:
        return number(0) if own.constant == 1 else None
    ev.may_broadcast = True
    return ev.op("ifelse", ev.op("==", own, extent), number(1), number(0))


def _agree(ev: Evaluator, members: list[tuple[Sym, int, tuple[Any, int]]]) -> bool:
    """Whether axes are equally long, or must be: those that are so where no array ends before its slices do.

    NumPy would broadcast a slice that is cut to one element, which nobody means; differing extents are a ValueError.
    """
    distinct = list({key: (array, own) for array, own, key in reversed(members)}.values())[::-1]
    if len(distinct) < 2:
        return True
    lengths = {nominal(ev, array, own) for array, own in distinct}
    if len(lengths) > 1 or None in lengths:
        return _taken_to_agree(ev, distinct)
    # the extent of an array that is no slice, if there is one, speaks for all of them from here on
    distinct.sort(key=lambda axis: is_slice(ev, *axis))
    _note_doubt(ev, distinct)
    extent = dim(ev, *distinct[0])
    for array, own in distinct[1:]:
        other = dim(ev, array, own)
        known = "agree", str(extent.atom), str(other.atom)
        if known not in ev.broadcasts:
            ev.call_library("agree", (extent, other))
            ev.broadcasts[known] = True
        same_from_here(ev, array, own, extent)
    return True


def _note_doubt(ev: Evaluator, axes: list[tuple[Sym, int]]) -> None:
    """Of a version whose operands need no broadcasting: that a slice which may end early is compared there alone.

    What is left of it may have one element, which the program broadcasts, and the version would refuse.
    """
    if ev.lengths.assumed is None or not any(is_slice(ev, *axis) for axis in axes):
        return
    found = nominal(ev, *axes[0])
    known = [] if found is None else [ev.lengths.own_axes.get(name) for name in found.names()]
    if any(part is not None and ev.lengths.assumed.bears_on(part) for part in known):
        ev.lengths.assumed.certain = False


def _taken_to_agree(ev: Evaluator, axes: list[tuple[Sym, int]]) -> bool:
    """Whether axes are taken to be equally long in the next version of a program whose operands need no broadcasting.

    Their extents are sums of extents of parameters: `w[:, 2 * h:]` beside `b[:h]`.
    """
    assumed = ev.lengths.assumed
    if assumed is None:
        return False
    first, *others = [_of_parameters(ev, assumed, array, own) for array, own in axes]
    for other in others:
        if first is None or other is None:
            return False
        assumed.unify(first, other)
    # what was taken before has made them the same already
    return not assumed.settled


def _of_parameters(ev: Evaluator, assumed: AssumedExtents, array: Sym, own: int) -> Sum | None:
    """The nominal extent of an axis as a sum of extents of parameters; None if it is something else.

    An axis beside one of a known number of elements has to have that number (`optimise.extents.demanded`).
    """
    dim(ev, array, own)
    found = nominal(ev, array, own)
    if found is None or not found.terms:
        return None
    return of_parameters(ev, assumed, found)


def _members(ev: Evaluator, arrays: list[Sym], ndim: int, axis: int) -> list[tuple[Sym, int, tuple[Any, int]]]:
    """The arrays that have an output axis: with their own axis and its key."""
    found = []
    for array in arrays:
        own = axis - (ndim - rank_of(array))
        if own >= 0:
            found.append((array, own, dim_key(ev, array, own)))
    if len({key for _, _, key in found}) > 1 and not ev.same_extents:
        return [(array, own, (Const(1), 0) if _is_single(ev, array, own) else key) for array, own, key in found]
    return found


def _is_single(ev: Evaluator, array: Sym, own: int) -> bool:
    """Whether an axis is a slice of one element (`x[:, 0:1]`), as is checked when the program runs."""
    if nominal(ev, array, own) != _ONE:
        return False
    extent = dim(ev, array, own)
    known = "single", str(extent.atom)
    if extent.constant is None and known not in ev.broadcasts:
        ev.call_library("single", (extent,))
        ev.broadcasts[known] = True
    return True


def _wide(
    ev: Evaluator, arrays: list[Sym], ndim: int, axis: int, narrow: frozenset[tuple[str, int]]
) -> list[tuple[Sym, int, tuple[Any, int]]]:
    """The members of an axis that are not known to be narrow."""
    return [one for one in _members(ev, arrays, ndim, axis) if (id_of(one[0]), one[1]) not in narrow]


def _aligned(ev: Evaluator, arrays: list[Sym], ndim: int, narrow: frozenset[tuple[str, int]]) -> dict[str, Sym]:
    """Arrays of one shape in place of `arrays`: themselves if their extents agree, else full copies."""
    differ = number(False)
    compared = []
    for axis in range(ndim):
        members = list({m[2]: m for m in _wide(ev, arrays, ndim, axis, narrow)}.values())
        compared.append(members)
        first = dim(ev, members[0][0], members[0][1])
        for array, own, _ in members[1:]:
            differ = ev.op("or", differ, ev.op("!=", first, dim(ev, array, own)))
    slots = {id_of(array): f"$select_{id_of(array)}" for array in arrays}

    def expand() -> None:
        shape = []
        for members in compared:
            extent = dim(ev, members[0][0], members[0][1])
            for array, own, _ in members[1:]:
                extent = ev.call_library("broadcast_extent", (extent, dim(ev, array, own)))
            shape.append(extent)
        for array in arrays:
            offset = ndim - rank_of(array)
            own_shape = tuple(
                number(1) if (id_of(array), own) in narrow else shape[offset + own] for own in range(rank_of(array))
            )
            ev.frame.env[slots[id_of(array)]] = ev.call_library("expanded", (array, Tup(own_shape)))

    def keep() -> None:
        for array in arrays:
            ev.frame.env[slots[id_of(array)]] = array

    ev.branch(differ, expand, keep)
    result: dict[str, Sym] = {}
    for array in arrays:
        merged = ev.sym(ev.frame.env.pop(slots[id_of(array)]))
        result[id_of(array)] = merged
    for axis in range(ndim):
        wide = _wide(ev, arrays, ndim, axis, narrow)
        extent = dim(ev, result[id_of(wide[0][0])], wide[0][1])
        for array, own, _ in _members(ev, arrays, ndim, axis):
            name = id_of(result[id_of(array)])
            known = Const(1) if (id_of(array), own) in narrow else extent.atom
            ev.dims[name, own] = known
            ev.dim_keys[name, own] = known, 0
    return result


def broadcast_into(ev: Evaluator, target: Sym, value: Value) -> Broadcast:
    """How `value` is read at the indices of `target`; ValueError at run time if it does not fit."""
    assert isinstance(target.type, Array)
    ndim, rank = target.type.ndim, value_rank(value)
    if rank > ndim:
        ev.fail(TypeMismatch, f"an array of rank {rank} does not fit into one of rank {ndim}")
    extents = tuple(dim(ev, target, axis) for axis in range(ndim))
    narrow: set[tuple[str, int]] = set()
    replaced: dict[str, Sym] = {}
    if ev.loops and not ev.same_extents:
        return _stepped_into(ev, target, value, extents)
    for array in dict.fromkeys(array_leaves(value)):
        offset = ndim - rank_of(array)
        differ = number(False)
        for own in range(rank_of(array)):
            (_, _, target_key), (_, _, own_key) = _members(ev, [target, array], ndim, own + offset)
            if own_key == (Const(1), 0) and target_key != own_key:
                narrow.add((id_of(array), own))
            elif not ev.same_extents and not _agree(ev, [(target, own + offset, target_key), (array, own, own_key)]):
                unequal = ev.op("!=", extents[own + offset], dim(ev, array, own))
                differ = ev.op("or", differ, unequal)
        if differ.constant is not False:
            # what is read at 0 stays as narrow as it is
            fitted = tuple(
                number(1) if (id_of(array), own) in narrow else extents[own + offset] for own in range(rank_of(array))
            )
            replaced[id_of(array)] = _fitted(ev, array, differ, fitted)
    return Broadcast(extents, frozenset(narrow), replaced)


def _stepped_into(ev: Evaluator, target: Sym, value: Value, extents: tuple[Sym, ...]) -> Broadcast:
    """How `value` is read at the indices of `target` in a loop: with steps of 1 or 0."""
    found, steps = list(extents), {}
    for array in dict.fromkeys(array_leaves(value)):
        offset = len(extents) - rank_of(array)
        for own in range(rank_of(array)):
            axes = (target, own + offset), (array, own)
            if _agree(ev, [(one, place, dim_key(ev, one, place)) for one, place in axes]):
                continue
            extent = dim(ev, array, own)
            step = _step(ev, "fit", extents[own + offset], extent)
            if step is not None:
                steps[id_of(array), own] = step
            elif extent.constant is not None:
                # it fits: the target's extent is known now
                found[own + offset] = extent
    return Broadcast(tuple(found), steps=steps)


def _fitted(ev: Evaluator, array: Sym, differ: Sym, extents: tuple[Sym, ...]) -> Sym:
    """`array`, or a copy of full shape if it has to be repeated."""
    return ev.sym(
        ev.select(differ, lambda: ev.call_library("expanded", (array, Tup(extents))), lambda: array, None)
    )


def array_leaves(value: Value) -> list[Sym]:
    if isinstance(value, Lazy):
        return [leaf for arg in value.args for leaf in array_leaves(arg)]
    if isinstance(value, Complex):
        return [leaf for part in (value.re, value.im) for leaf in array_leaves(part)]
    if isinstance(value, Sym) and isinstance(value.type, Array):
        return [value]
    return []


def value_rank(value: Value) -> int:
    """How many axes a value has; none for a number."""
    if isinstance(value, Sym | Lazy | Complex) and isinstance(value.type, Array):
        return value.type.ndim
    return 0
