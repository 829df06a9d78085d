"""Lists and tuples that are arguments, whose items have one structure: a loop over one is a loop.

    params = [(w, b), ...]     ->     item_0    the elements of all `w`, one array after the other
                                      starts_0  where each begins, and the end of the last one
                                      extents_0_0, extents_0_1
                                      item_1, starts_1    of all `b`
                                      count     how many items there are

The items may have arrays of other extents, of one dtype and number of axes each; numbers are one array.  A program is
then one for any number of items.  Where a function asks for more than items and their number it is refused, and lowered
anew with an argument for each array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tapec.frontend.arrays import subscripts
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import PackedList, Record, Slice, Sym, Tup, Value, number
from tapec.frontend.structures.merging import note_roots
from tapec.syntax.core import Name, Op
from tapec.syntax.types import Array


@dataclass(frozen=True)
class ItemLeaf:
    """A number, for no axes, or an array."""

    dtype: str
    ndim: int

    def fields(self, k: int) -> tuple[str, ...]:
        """The names of what holds this leaf, the k-th one, of all items."""
        extents = (f"extents_{k}_{axis}" for axis in range(self.ndim)) if self.ndim > 1 else ()
        return (f"item_{k}", *((f"starts_{k}",) if self.ndim else ()), *extents)


@dataclass(frozen=True)
class ItemNest:
    """A tuple, or a named tuple that may stand for an object or a dict."""

    cls: Any
    items: tuple[Form, ...]


# None stands for None, and for what the class of a named tuple knows
Form = ItemLeaf | ItemNest | None


def leaves_of(form: Form) -> list[ItemLeaf]:
    """The numbers and arrays of an item, in their order."""
    if isinstance(form, ItemNest):
        return [leaf for item in form.items for leaf in leaves_of(item)]
    return [] if form is None else [form]


def fields_of(form: Form) -> list[str]:
    """The names of what a packed list consists of."""
    return [name for k, leaf in enumerate(leaves_of(form)) for name in leaf.fields(k)] + ["count"]


def packed(form: Form, values: Iterable[Value]) -> PackedList:
    """A list as a program has it: `values` for `fields_of(form)`."""
    *parts, count = values
    assert isinstance(count, Sym)
    return PackedList(form, tuple(parts), number(0), count)


def item(ev: Evaluator, owner: PackedList, index: Sym, node: Any) -> Value:
    """The item at a place that is in range."""
    place = index if owner.first.constant == 0 else ev.op("+", owner.first, index)
    return _built(ev, owner.form, iter(_numbers_and_arrays(ev, owner, place, node)))


def _numbers_and_arrays(ev: Evaluator, owner: PackedList, place: Sym, node: Any) -> Iterator[Value]:
    parts = iter(owner.parts)

    def at(k: Sym) -> Sym:
        return ev.sym(subscripts.load_at(ev, ev.sym(next(parts)), (k.atom,)))

    for leaf in leaves_of(owner.form):
        if leaf.ndim == 0:
            yield at(place)
            continue
        flat, starts = ev.sym(next(parts)), ev.sym(next(parts))
        after = ev.op("+", place, number(1))
        start, stop = (ev.sym(subscripts.load_at(ev, starts, (k.atom,))) for k in (place, after))
        view = ev.sym(subscripts.view(ev, flat, (Slice(start, stop, None),), node))
        yield view if leaf.ndim == 1 else _shaped(ev, view, [at(place) for _ in range(leaf.ndim)])


def _shaped(ev: Evaluator, view: Sym, extents: list[Sym]) -> Sym:
    """A view of the elements of an array, in its shape."""
    assert isinstance(view.type, Array)
    type_ = Array(view.type.dtype, len(extents), "C", view.type.readonly)
    made = ev.assign(Op("reshape", (view.atom, *(extent.atom for extent in extents))), type_)
    assert isinstance(made.atom, Name)
    note_roots(ev, made.atom.id, view)
    for axis, extent in enumerate(extents):
        ev.dims[made.atom.id, axis] = extent.atom
    return made


def _built(ev: Evaluator, form: Form, values: Iterator[Value], known: Any = None) -> Value:
    """An item of its numbers and arrays."""
    if form is None:
        return ev.wrap(known)
    if isinstance(form, ItemLeaf):
        return next(values)
    held = getattr(form.cls, "known_items", {})
    items = tuple(_built(ev, inner, values, held.get(k)) for k, inner in enumerate(form.items))
    if hasattr(form.cls, "object_names"):
        return Record(items, form.cls)
    return Tup(items, getattr(form.cls, "stands_for", form.cls), is_argument=True)


