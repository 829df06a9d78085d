"""Lists and dicts that a loop or branch binds a name to anew: `state = step(state)`, `{k: v - g[k] for k, v in ...}`.

Where ways meet, such a name stands for one container or another.  What it holds then meets item by item, as a tuple's
items do, in a container of its own.  That is right as long as nobody changes it, since other names may stand for one
of those that met: a change is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Dct,
    Instance,
    Items,
    Lst,
    Maybe,
    Poison,
    Rebuilt,
    RebuiltList,
    Static,
    Tup,
    Value,
)
from tapec.frontend.structures.dicts import get, keys_of


def spread(ev: Evaluator, value: Value | None) -> Value | None:
    """A container, also one in tuples and other containers, as what it holds now; None if that is not known."""
    if isinstance(value, Dct):
        contents = ev.heap.get(value.keys)
        if value.cls is not dict or value.missing is not None or not isinstance(contents, Items):
            return None
        keys = tuple(keys_of(ev, value))
        cells = [ev.heap.get(value.cells[key]) for key in keys]
        if not all(isinstance(cell, Items) and not isinstance(cell.values[0], Poison | Maybe) for cell in cells):
            return None
        return _held(ev, keys, tuple(get(ev, value, key) for key in keys))
    if isinstance(value, Lst) and type(value) in (Lst, RebuiltList):
        contents = ev.heap.get(value)
        return _held(ev, None, contents.values) if isinstance(contents, Items) else None
    if isinstance(value, Instance) and ev.live is None:
        contents = ev.heap.get(value.keys)
        names = [key.obj for key in contents.values if isinstance(key, Static)] if isinstance(contents, Items) else []
        cells = [ev.heap.get(value.cells[name]) for name in names]
        if not all(isinstance(cell, Items) and not isinstance(cell.values[0], Poison | Maybe) for cell in cells):
            return None
        held = _held(ev, tuple(names), tuple(cell.values[0] for cell in cells if isinstance(cell, Items)))
        return replace(held, cls=value.cls) if isinstance(held, Rebuilt) else None
    if isinstance(value, Tup):
        items = [spread(ev, item) for item in value.items]
        return None if any(item is None for item in items) else Tup(tuple(items), value.cls)  # type: ignore[arg-type]
    return value


def _held(ev: Evaluator, keys: tuple[Any, ...] | None, values: tuple[Value, ...]) -> Value | None:
    items = [spread(ev, item) for item in values]
    return None if any(item is None for item in items) else Rebuilt(keys, tuple(items))  # type: ignore[arg-type]


def share(ev: Evaluator, value: Value | None) -> None:
    """Note that another name may stand for a container, and for those in it."""
    if isinstance(value, Dct | Instance):
        ev.shared.add(value.keys)
        held = [ev.heap.get(cell) for cell in value.cells.values()]
    elif isinstance(value, Lst):
        ev.shared.add(value)
        held = [ev.heap.get(value)]
    else:
        held = [Items(value.items)] if isinstance(value, Tup) else []
    for contents in held:
        for item in contents.values if isinstance(contents, Items) else ():
            share(ev, item)


def has_containers(value: Any) -> bool:
    """Whether `spread` has found containers in a value."""
    return isinstance(value, Rebuilt) or (isinstance(value, Tup) and any(map(has_containers, value.items)))


def gathered(ev: Evaluator, value: Any) -> Any:
    """New containers for what `spread` gives."""
    if isinstance(value, Tup):
        return Tup(tuple(gathered(ev, item) for item in value.items), value.cls)
    if not isinstance(value, Rebuilt):
        return value
    items = [gathered(ev, item) for item in value.items]
    if value.keys is None:
        made = RebuiltList("list")
        ev.heap[made] = Items(tuple(items))
        return made
    cells = {key: Lst(str(key)) for key in value.keys}
    keys = RebuiltList("keys" if value.cls is None else "object")
    found = Dct(keys, cells, ev.block) if value.cls is None else Instance(value.cls, cells, ev.block, keys)
    ev.heap[found.keys] = Items(tuple(map(Static, value.keys)))
    for key, item in zip(value.keys, items, strict=True):
        ev.heap[cells[key]] = Items((item,))
    return found
