"""Arrays in memory: fresh ones, and the extents of their axes."""

from __future__ import annotations

from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.symbolic_extents import AssumedExtents, Axis, ExtentPart
from tapec.frontend.evaluator.values import PART_OF, Complex, Sym, number
from tapec.frontend.operations import complex_arithmetic
from tapec.syntax.core import Const, Name, Op
from tapec.syntax.linear import Sum
from tapec.syntax.types import INT64, Array


def alloc(ev: Evaluator, dtype: str, dims: tuple[Sym, ...], zero: bool = False, base: str = "t") -> Sym:
    """Emit a fresh C-contiguous array."""
    type_ = Array(dtype, len(dims), "C")
    fn = "zeros" if zero else "empty"
    result = ev.assign(Op(fn, (Const(dtype), *(d.atom for d in dims))), type_, base)
    assert isinstance(result.atom, Name)
    ev.roots[result.atom.id] = frozenset({result.atom.id})
    for axis, extent in enumerate(dims):
        ev.dims[result.atom.id, axis] = extent.atom
    return result


def allocate(ev: Evaluator, dtype: str, dims: tuple[Sym, ...], zero: bool = False, base: str = "t") -> Sym | Complex:
    """A fresh array of any dtype; two for a complex one."""
    if dtype not in PART_OF:
        return alloc(ev, dtype, dims, zero, base)
    names = (base, base) if base == "t" else (f"{base}_re", f"{base}_im")
    re, im = (alloc(ev, PART_OF[dtype], dims, zero, name) for name in names)
    return complex_arithmetic.joined(ev, re, im)


def renamed(ev: Evaluator, array: Sym, base: str = "t") -> Sym:
    """An array by another name, of which other things can be noted."""
    assert isinstance(array.atom, Name) and isinstance(array.type, Array)
    result = ev.assign(array.atom, array.type, base)
    assert isinstance(result.atom, Name)
    ev.roots[result.atom.id] = ev.roots.get(array.atom.id, frozenset())
    for axis in range(array.type.ndim):
        ev.dims[result.atom.id, axis] = dim(ev, array, axis).atom
        ev.dim_keys[result.atom.id, axis] = dim_key(ev, array, axis)
    return result


def dim(ev: Evaluator, array: Sym, axis: int) -> Sym:
    """The extent of an axis, read once per array."""
    assert isinstance(array.atom, Name)
    partner = ev.partners.get(array.atom.id)
    if partner is not None:
        return dim(ev, Sym(Name(partner), array.type), axis)
    key = (array.atom.id, axis)
    if ev.lengths.assumed is not None and key not in ev.dims and array.atom.id in ev.parameters:
        taken = _taken(ev, ev.lengths.assumed, key)
        if taken is not None:
            return taken
    if array.atom.id in ev.constants:
        return number(ev.constants[array.atom.id].shape[axis])
    if ev.live is not None and key not in ev.dims and (same := ev.live.extent(*key)) is not None:
        other = number(same) if isinstance(same, int) else dim(ev, Sym(Name(same[0]), ev.types[same[0]]), same[1])
        ev.dims[key] = other.atom
        # it has two meanings now: none of the user's names may become its own
        ev.temporary.discard(other.atom.id if isinstance(other.atom, Name) else "")
    if key not in ev.dims:
        base = f"{array.atom.id}_n{axis}" if array.atom.id not in ev.temporary else "size"
        ev.dims[key] = ev.assign(Op("dim", (array.atom, Const(axis))), INT64, base).atom
        ev.temporary.add(ev.block[-1].target)  # a user's `n = x.shape[0]` renames it
        ev.lengths.note_extent(ev.block[-1].target, *key)
        if array.atom.id in ev.parameters:
            ev.lengths.own_axes[ev.block[-1].target] = ExtentPart(*key)
    return Sym(ev.dims[key], INT64)


def _taken(ev: Evaluator, assumed: AssumedExtents, axis: Axis) -> Sym | None:
    """What a parameter's extent is taken to be, in terms of others; None if nothing but itself."""
    own = assumed.extent(ExtentPart(*axis))
    sum_ = assumed.of(own)
    if sum_ == own:
        return None
    extents = {name: _part(ev, assumed.parts[name]) for name in sum_.names()}
    taken = total(ev, sum_.with_({name: ev.lengths.sum(extent.atom) for name, extent in extents.items()}))
    ev.dims[axis] = taken.atom
    return taken


def _part(ev: Evaluator, part: ExtentPart) -> Sym:
    """A parameter's extent, or a part of one, which the extent itself may be taken to be a multiple of."""
    array = ev.parameters[part.parameter]
    if part.divisor == 1:
        return dim(ev, array, part.axis)
    if part.name not in ev.parts:
        whole = ev.assign(Op("dim", (array.atom, Const(part.axis))), INT64, "size")
        ev.lengths.own_axes[id_of(whole)] = part._replace(divisor=1)
        ev.parts[part.name] = ev.op("//", whole, number(part.divisor)).atom
    return Sym(ev.parts[part.name], INT64)


def of_parameters(ev: Evaluator, assumed: AssumedExtents, sum_: Sum) -> Sum | None:
    """A sum by the names of parameters' extents; None if there is anything else in it."""
    parts = {name: ev.lengths.own_axes.get(name) for name in sum_.names()}
    if None in parts.values():
        return None
    return sum_.with_({name: assumed.extent(part) for name, part in parts.items() if part is not None})


def total(ev: Evaluator, sum_: Sum) -> Sym:
    """An integer that is a sum of names."""
    made = number(sum_.number)
    for name, factor in sum_.terms:
        part = Sym(Name(name), INT64)
        if abs(factor) != 1:
            part = ev.op("*", number(abs(factor)), part)
        made = ev.op("+" if factor > 0 else "-", made, part)
    return made


def dim_key(ev: Evaluator, array: Sym, axis: int) -> tuple[Any, int]:
    """What identifies an extent: two axes with equal keys are equally long."""
    assert isinstance(array.atom, Name)
    partner = ev.partners.get(array.atom.id)
    if partner is not None:
        return dim_key(ev, Sym(Name(partner), array.type), axis)
    key = ev.dim_keys.get((array.atom.id, axis))
    if key is not None:
        return key
    return dim(ev, array, axis).atom, 0


def nominal(ev: Evaluator, array: Sym, axis: int) -> Sum | None:
    """The extent of an axis if no array ends before its slices do; None if that is not known."""
    assert isinstance(array.atom, Name)
    ident = ev.partners.get(array.atom.id, array.atom.id)
    return ev.lengths.nominal(ident, axis, ev.dims.get((ident, axis)))


def is_slice(ev: Evaluator, array: Sym, axis: int) -> bool:
    """Whether an axis is what a slice has taken, which may be less than it asked for."""
    return ev.lengths.is_slice(ev.partners.get(id_of(array), id_of(array)), axis)


def same_from_here(ev: Evaluator, array: Sym, axis: int, extent: Sym) -> None:
    """An axis is known to be as long as another one, from here on in this block."""
    place = ev.partners.get(id_of(array), id_of(array)), axis
    if place[0] not in ev.constants:
        ev.dims[place] = extent.atom


def rank_of(value: Sym) -> int:
    """How many axes an array has."""
    assert isinstance(value.type, Array)
    return value.type.ndim


def id_of(value: Sym) -> str:
    """The name of an array."""
    assert isinstance(value.atom, Name)
    return value.atom.id
