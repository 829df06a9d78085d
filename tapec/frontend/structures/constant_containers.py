"""Lists, dicts and ranges that a module, a closure or an object holds: constants, as arrays are.

They are lists and dicts of the evaluator's like others, so that all that reads those reads them.  The function
may not change them: what it did to them would be lost when it is compiled.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.errors import UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Contents,
    Dct,
    Growing,
    Items,
    Iteration,
    Lst,
    RebuiltList,
    Static,
    Tup,
    Value,
    number,
)

# a longer list of numbers becomes an array, that a loop runs over and an index looks up
_FEW = 8


@dataclass(frozen=True, eq=False)
class ConstantList(Lst):
    """A list, or the keys of a dict, that the function did not make."""

    held: tuple[Any, ...] = ()


def constant(ev: Evaluator, obj: Any, node: Any) -> Value | None:
    """The value of a container; None for an object of another kind."""
    kind = type(obj)
    if kind is range:
        return Iteration("range", tuple(map(number, (obj.start, obj.stop, obj.step))))
    if kind is list:
        made = _known(ev, obj, ConstantList("list", tuple(obj)))
        if made not in ev.heap:
            ev.heap[made] = _contents(ev, obj, node)
        return made
    if kind in (dict, collections.OrderedDict):
        found = _known(ev, obj, Dct(ConstantList("keys"), {key: Lst(str(key)) for key in obj}, ev.block, kind))
        ev.heap[found.keys] = Items(tuple(map(Static, obj)))
        for key, item in obj.items():
            if found.cells[key] not in ev.heap:
                ev.heap[found.cells[key]] = Items((ev.wrap(item, node, ("item", obj, key)),))
        return found
    return None


def _known(ev: Evaluator, obj: Any, new: Any) -> Any:
    """What stands for `obj`, the same wherever it is reached."""
    # the object is kept, and its id with it
    return ev.containers.setdefault((type(new), id(obj)), (obj, new))[1]


def _contents(ev: Evaluator, obj: list[Any], node: Any) -> Contents:
    if len(obj) > _FEW and (all(type(item) is float for item in obj) or all(type(item) is int for item in obj)):
        table = _known(ev, obj, np.array(obj))
        if table.dtype in (np.float64, np.int64):
            return Growing(ev.sym(ev.wrap(table, node)), number(len(obj)))
    return Items(tuple(ev.wrap(item, node, ("item", obj, k)) for k, item in enumerate(obj)))


def spelled(ev: Evaluator, value: Value) -> tuple[Value, ...] | None:
    """The items of a list whose length is known, also of one that has become an array; None for others."""
    contents = ev.heap[value] if isinstance(value, Lst) else None
    if isinstance(contents, Items):
        return contents.values
    return tuple(map(number, value.held)) if isinstance(value, ConstantList) else None


def as_tuple(ev: Evaluator, value: Value) -> Value:
    """A list of constants, and those in it, as tuples: nothing tells them apart where only items are read."""
    contents = ev.heap[value] if isinstance(value, ConstantList) else None
    if not isinstance(contents, Items):
        return value
    return Tup(tuple(as_tuple(ev, item) for item in contents.values))


def refuse_change(ev: Evaluator, owner: Lst, node: Any) -> None:
    """Raise UnsupportedSyntax where a list, or the keys of a dict, is not the function's own."""
    if isinstance(owner, ConstantList):
        kind = "list" if owner.label == "list" else "dict"
        ev.fail(
            UnsupportedSyntax,
            f"cannot change a {kind} that was made outside the function",
            node,
            reason="it is a constant, as an array of a module is",
            hint=f"change a copy, {kind}(...)",
        )
    if isinstance(owner, RebuiltList) or owner in ev.shared:
        kind = {"keys": "dict", "object": "object"}.get(owner.label, "list")
        a = "an" if kind == "object" else "a"
        ev.fail(
            UnsupportedSyntax,
            f"cannot change {a} {kind} that a loop or branch has bound to its name",
            node,
            reason=f"another name may stand for the same {kind}",
            hint="make another object with the new attributes" if kind == "object" else f"change a copy, {kind}(...)",
        )
