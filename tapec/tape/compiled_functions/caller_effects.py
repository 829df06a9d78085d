"""What a compiled function leaves in objects of its caller: statements that follow the program.

The program itself knows numbers and arrays only.  Lists, dicts, attributes, variables of modules or
outer functions and random generators are changed behind it: where the program raises, none of them is.
"""

from __future__ import annotations

import types
from collections import deque
from typing import Any

from tapec.frontend.evaluator.values import Items, Lst, Static, Sym, Value
from tapec.frontend.structures import dicts
from tapec.tape.compiled_functions.compiled_call import Outcome
from tapec.tape.objects.random_state import take_state
from tapec.tape.objects.variable_versions import VariablePair, VariableSym


def effects(outcome: Outcome) -> list[str]:
    """The statements; the places of the objects are added to `outcome`."""
    live = outcome.live
    lines: list[str] = []
    for obj, slot, made in live.lists:
        lines += _list(outcome, obj, slot, made)
    for changed, (obj, slot) in live.dicts.items():
        lines += _dict(outcome, obj, slot, changed)
    for obj, cells in live.objects.written.values():
        holder = _holder(outcome, obj, live.guards.owners.get(id(obj)))
        lines += [f"{holder}.{name} = {_cell(outcome, cell)}" for name, cell in cells.items()]
    for obj, slot, cells in live.outer.values():
        holder = _holder(outcome, obj, slot if slot >= 0 else None)
        for name, cell in cells.items():
            step = f".{name}" if isinstance(obj, types.CellType) else f"[{name!r}]"
            lines.append(f"{holder}{step} = {_cell(outcome, cell)}")
    for generator, place, copied, copied_place in live.draws.drawn():
        outcome.namespace["take_state"] = take_state
        holder = _holder(outcome, generator, place)
        lines.append(f"take_state({holder}, {outcome.through(copied, copied_place)})")
    return lines


def changes_structure(outcome: Outcome) -> bool:
    """Whether a call leaves other objects than it finds, so that the next one may be another program."""
    live, ev = outcome.live, outcome.ev
    for obj, _, made in live.lists:
        now = ev.heap[made]
        if isinstance(now, Items) and len(now.values) != len(obj):
            return True
    if any(set(dicts.keys_of(ev, changed)) != set(live.contents[changed]) for changed in live.dicts):
        return True
    held = [(vars(obj) if hasattr(obj, "__dict__") else {}, cells) for obj, cells in live.objects.written.values()]
    for obj, _, cells in live.outer.values():
        held.append(({"cell_contents": obj.cell_contents} if isinstance(obj, types.CellType) else obj, cells))
    return any(_is_other(outcome, before.get(name), cell) for before, cells in held for name, cell in cells.items())


def _is_other(outcome: Outcome, before: Any, cell: Lst) -> bool:
    """Whether what an attribute is set to is no number or array in the place of another one."""
    contents = outcome.ev.heap.get(cell)
    if not isinstance(contents, Items):
        return False
    (now,) = contents.values
    if isinstance(now, Static):
        return now.obj is not before
    return before is None or (outcome.live.pin and isinstance(now, Sym) and now.constant != before)


def _holder(outcome: Outcome, obj: Any, slot: int | None) -> str:
    if slot is None:
        outcome.refuse(f"a change of a {type(obj).__name__} that is reached in an unusual way")
    return outcome.through(obj, slot)


def _list(outcome: Outcome, obj: Any, slot: int, made: Lst) -> list[str]:
    now, entry = outcome.ev.heap[made], outcome.live.contents[made]
    if isinstance(now, Items) and _same_items(now.values, entry):
        return []
    holder = outcome.through(obj, slot)
    if isinstance(now, Items):
        items = f"[{', '.join(outcome.text(value) for value in now.values)}]"
    else:
        items = f"list({outcome.text(outcome.ev.as_array(made, None))})"
    if isinstance(obj, deque):
        return [f"{holder}.clear()", f"{holder}.extend({items})"]
    return [f"{holder}[:] = {items}"]


def _same_items(now: tuple[Value, ...], entry: tuple[Value, ...]) -> bool:
    return len(now) == len(entry) and all(map(_same, now, entry))


def _same(now: Value, entry: Value) -> bool:
    if isinstance(now, VariableSym | VariablePair) and isinstance(entry, VariableSym | VariablePair):
        return now.variable is entry.variable
    return now == entry


def _dict(outcome: Outcome, obj: Any, slot: int, made: Any) -> list[str]:
    ev, entry = outcome.ev, outcome.live.contents[made]
    now = {key: dicts.get(ev, made, key) for key in dicts.keys_of(ev, made)}
    kept = [key for key in entry if key in now]
    moved = list(now)[: len(kept)] != kept
    changed = now if moved else {key: value for key, value in now.items() if not _kept(entry, key, value)}
    if not changed and len(kept) == len(entry):
        return []
    holder = outcome.through(obj, slot)
    if moved:
        lines = [f"{holder}.clear()"]
    else:
        lines = [f"del {holder}[{outcome.constant(key)}]" for key in entry if key not in now]
    return lines + [f"{holder}[{outcome.constant(key)}] = {outcome.text(value)}" for key, value in changed.items()]


def _kept(entry: dict[Any, Value], key: Any, value: Value) -> bool:
    return key in entry and _same(value, entry[key])


def _cell(outcome: Outcome, cell: Lst) -> str:
    contents = outcome.ev.heap.get(cell)
    if not isinstance(contents, Items):
        outcome.refuse(f"`{cell.label}` in an object, which only the run knows")
    return outcome.text(contents.values[0])
