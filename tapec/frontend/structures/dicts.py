"""Dicts whose keys are known: making them, their items and their methods.

The keys are structure, the items are values.  Both are state of the evaluator: a dict is a list of
keys and one cell per key on the heap, so that branches and loops carry items as they carry lists.
"""

from __future__ import annotations

import collections
from typing import Any

import gast

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Dct,
    Items,
    Iteration,
    Lst,
    Maybe,
    Poison,
    Static,
    Sym,
    Template,
    Tup,
    Value,
    describe,
    mapping,
    number,
)
from tapec.frontend.operations import runtime_text
from tapec.frontend.structures.constant_containers import refuse_change


def new_dict(ev: Evaluator, pairs: dict[Any, Value], cls: type = dict, missing: Value | None = None) -> Dct:
    made = Dct(Lst("keys"), {}, ev.block, cls, missing)
    ev.heap[made.keys] = Items(tuple(Static(key) for key in pairs))
    for key, value in pairs.items():
        cell = made.cells[key] = Lst(str(key))
        ev.heap[cell] = Items((ev.materialise(value),))
    return made


def keys_of(ev: Evaluator, owner: Dct, node: Any = None) -> list[Any]:
    """The keys, in order."""
    contents = ev.heap.get(owner.keys)
    if not isinstance(contents, Items):
        ev.fail(TypeMismatch, "the keys of this dict are not known here", node)
    return [key.obj for key in contents.values if isinstance(key, Static)]


def ordered_keys(ev: Evaluator, owner: Dct, node: Any) -> list[Any]:
    """The keys, in the order in which Python runs over them."""
    keys = keys_of(ev, owner, node)
    if owner.cls in (set, frozenset) and len(keys) > 1:
        ev.fail(
            UnsupportedSyntax,
            "the order of a set is not known here",
            node,
            hint="run over `sorted(...)`, or keep the elements in a dict or list",
        )
    return keys


def key_of(
    ev: Evaluator,
    index: Value,
    node: Any,
    what: str = "a key of a dict, or an element of a set,",
    hint: str = "use an array that is as long as there are keys",
) -> Any:
    """The key that an index stands for; `what` it is, and a hint, for the error where that is not known."""
    index = ev.materialise(index)
    if isinstance(index, Tup):
        return tuple(key_of(ev, item, node, what, hint) for item in index.items)
    if isinstance(index, Sym):
        index = ev.decided(index, node)
        if index.constant is not None:
            return index.constant
    if isinstance(index, Static) and isinstance(index.obj, Template) and index.obj.make is not None and ev.deciding:
        return runtime_text.settled(ev, index.obj, node)
    if isinstance(index, Static) and not isinstance(index.obj, Template):
        if ev.live is not None:
            ev.live.asked(index.obj)
        return index.obj
    message = f"{what} is {describe(index)}, which only the run knows"
    ev.fail(UnsupportedSyntax, message, node, hint=ev.or_by_a_tape(hint))


def cell_value(ev: Evaluator, cell: Lst, label: Any, node: Any) -> Value:
    """What a cell holds now."""
    contents = ev.heap.get(cell)
    value = contents.values[0] if isinstance(contents, Items) else None
    if value is None or isinstance(value, Poison | Maybe):
        ev.fail(
            TypeMismatch,
            f"{label!r} does not hold one kind of value here",
            node,
            reason=value.reason if isinstance(value, Poison) else "it is set on some ways only",
        )
    return value


def item(ev: Evaluator, owner: Dct, index: Value, node: Any) -> Value:
    """`owner[index]`."""
    key = key_of(ev, index, node)
    keys = keys_of(ev, owner, node)
    if key not in keys and owner.missing is not None:
        store(ev, owner, index, ev.apply(owner.missing, [], {}, node), node)
        return get(ev, owner, key, node)
    if key not in keys and owner.cls is collections.Counter:
        return number(0)
    if key not in keys:
        ev.fails(KeyError, f"the dict has no key {key!r}", node, f"it has {', '.join(map(repr, keys))}")
    return get(ev, owner, key, node)


def get(ev: Evaluator, owner: Dct, key: Any, node: Any = None) -> Value:
    """The item of a key that the dict has."""
    return cell_value(ev, owner.cells[key], key, node)


def store(ev: Evaluator, owner: Dct, index: Value, value: Value, node: Any) -> None:
    """`owner[index] = value`."""
    refuse_change(ev, owner.keys, node)
    key = key_of(ev, index, node)
    keys = keys_of(ev, owner, node)
    if key not in keys:
        _may_change(ev, owner, node)
        owner.cells[key] = Lst(str(key))
        ev.heap[owner.keys] = Items((*(Static(k) for k in keys), Static(key)))
    ev.heap[owner.cells[key]] = Items((ev.materialise(value),))
    if ev.live is not None:
        ev.live.changed(owner)


def remove(ev: Evaluator, owner: Dct, key: Any, node: Any) -> Value:
    """Take a key out; its item."""
    _may_change(ev, owner, node)
    value = get(ev, owner, key, node)
    del owner.cells[key]
    ev.heap[owner.keys] = Items(tuple(Static(k) for k in keys_of(ev, owner, node) if k != key))
    if ev.live is not None:
        ev.live.changed(owner)
    return value


def _may_change(ev: Evaluator, owner: Dct, node: Any) -> None:
    """Which keys a dict has may not depend on a branch or loop."""
    refuse_change(ev, owner.keys, node)
    if ev.block is not owner.home:
        ev.fail(TypeMismatch, "the keys of a dict change inside a branch or loop", node)


def method(ev: Evaluator, owner: Dct, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    keys = keys_of(ev, owner, node)
    match name:
        case "keys" | "values" | "items":
            return Iteration(f"dict.{name}", (owner,))
        case "copy":
            return new_dict(ev, {key: get(ev, owner, key, node) for key in keys}, owner.cls, owner.missing)
        case "get":
            key = key_of(ev, args[0], node)
            return get(ev, owner, key, node) if key in keys else args[1] if len(args) > 1 else NONE
        case "setdefault":
            key = key_of(ev, args[0], node)
            if key not in keys:
                store(ev, owner, args[0], args[1] if len(args) > 1 else NONE, node)
            return get(ev, owner, key, node)
        case "move_to_end" if owner.cls is collections.OrderedDict:
            key = key_of(ev, args[0], node)
            last = ev.decided(ev.truth(kwargs.get("last", args[1] if len(args) > 1 else number(True)))).constant
            _may_change(ev, owner, node)
            others = [one for one in keys if one != key]
            ev.heap[owner.keys] = Items(tuple(map(Static, [*others, key] if last else [key, *others])))
            return NONE
        case "popitem" if keys:
            first = [kwargs.get("last", number(True)), *args][-1]
            key = keys[-1 if ev.decided(ev.truth(first)).constant else 0]
            return Tup((ev.wrap(key), remove(ev, owner, key, node)))
        case "pop":
            key = key_of(ev, args[0], node)
            if key in keys:
                return remove(ev, owner, key, node)
            if len(args) > 1:
                return args[1]
            ev.fail(TypeMismatch, f"the dict has no key {key!r}", node)
        case "update":
            for source in args:
                for key, value in pairs(ev, source, node).items():
                    store(ev, owner, Static(key), value, node)
            for key, value in kwargs.items():
                store(ev, owner, Static(key), value, node)
            return NONE
        case "clear":
            for key in keys:
                remove(ev, owner, key, node)
            return NONE
    return None


def argument_method(ev: Evaluator, owner: Tup, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """A method of a dict that is an argument; None if it has none of that name."""
    items = mapping(owner)
    if items is None or not hasattr(dict, name):
        return None
    if name not in ("copy", "get", "items", "keys", "values"):
        ev.fail(UnsupportedSyntax, f"`{name}` of a dict that is an argument", node, hint="change a copy: `dict(p)`")
    return method(ev, new_dict(ev, items), name, args, kwargs, node)


def viewed(ev: Evaluator, view: Iteration, node: Any) -> Tup:
    """What `keys()`, `values()` or `items()` give, as the dict is now."""
    (owner,) = view.args
    assert isinstance(owner, Dct)
    keys = keys_of(ev, owner, node)
    if view.kind == "dict.keys":
        return Tup(tuple(ev.wrap(key) for key in keys))
    values = [get(ev, owner, key, node) for key in keys]
    if view.kind == "dict.values":
        return Tup(tuple(values))
    return Tup(tuple(Tup((ev.wrap(key), value)) for key, value in zip(keys, values, strict=True)))


def pairs(ev: Evaluator, value: Value, node: Any) -> dict[Any, Value]:
    """What `dict(value)` holds."""
    if isinstance(value, Dct):
        return {key: get(ev, value, key, node) for key in keys_of(ev, value, node)}
    if (items := mapping(value)) is not None:
        return dict(items)
    if isinstance(value, Iteration):
        value = Tup(ev.known_items(value, node))
    if isinstance(value, Lst) and isinstance(contents := ev.heap[value], Items):
        value = Tup(contents.values)
    if isinstance(value, Tup) and all(isinstance(one, Tup) and len(one.items) == 2 for one in value.items):
        return {key_of(ev, one.items[0], node): one.items[1] for one in value.items}  # type: ignore[attr-defined]
    ev.fail(UnsupportedSyntax, f"a dict of {describe(value)}", node)


def united(ev: Evaluator, left: Value, right: Value, node: Any) -> Dct | None:
    """`left | right` of dicts; None of anything else."""
    for side in (left, right):
        if mapping(side) is None and not (isinstance(side, Dct) and issubclass(side.cls, dict)):
            return None
    return new_dict(ev, pairs(ev, left, node) | pairs(ev, right, node), left.cls if isinstance(left, Dct) else dict)


def replace(ev: Evaluator, owner: Dct, made: Dct, node: Any) -> None:
    """Give a dict or set, in place, what another one holds."""
    found = pairs(ev, made, node)
    for key in keys_of(ev, owner, node):
        if key not in found:
            remove(ev, owner, key, node)
    for key, value in found.items():
        store(ev, owner, Static(key), value, node)


def dict_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`dict(...)`."""
    found = pairs(ev, args[0], node) if args else {}
    return new_dict(ev, {**found, **kwargs})


def literal(ev: Evaluator, node: gast.Dict) -> Value:
    found: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found |= pairs(ev, ev.expr(value), node)
        else:
            found[key_of(ev, ev.expr(key), node)] = ev.materialise(ev.expr(value))
    return new_dict(ev, found)


HANDLERS: dict[type, Any] = {gast.Dict: literal}
