"""Containers of `collections`, and sets: dicts and lists of the evaluator's with rules of their own.

A set is a dict that holds nothing.  In which order Python would run over it is not known here.
"""

from __future__ import annotations

import collections
import copy
import operator
import types
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import Raised
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Dct,
    Deque,
    Items,
    Iteration,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_none,
    is_scalar,
    number,
    static_int,
)
from tapec.frontend.iteration.sequences import known_items
from tapec.frontend.structures import dicts

_SETS = (set, frozenset)


# dicts


def defaultdict(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`defaultdict(factory, ...)`."""
    missing, *rest = args or [NONE]
    pairs = dicts.pairs(ev, rest[0], node) if rest else {}
    return dicts.new_dict(ev, {**pairs, **kwargs}, collections.defaultdict, None if is_none(missing) else missing)


def ordered_dict(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`OrderedDict(...)`."""
    pairs = dicts.pairs(ev, args[0], node) if args else {}
    return dicts.new_dict(ev, {**pairs, **kwargs}, collections.OrderedDict)


def counter(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`Counter(...)` of a dict, or of known items."""
    counts: dict[Any, Value] = {}
    if args and isinstance(args[0], Dct) and args[0].cls not in _SETS:
        counts = dicts.pairs(ev, args[0], node)
    elif args:
        keys = [dicts.key_of(ev, item, node) for item in known_items(ev, args[0], node)]
        counts = {key: number(count) for key, count in collections.Counter(keys).items()}
    return dicts.new_dict(ev, {**counts, **kwargs}, collections.Counter)


# deques


def deque(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`deque(items, maxlen)`."""
    capacity = kwargs.get("maxlen", args[1] if len(args) > 1 else NONE)
    known = None if is_none(capacity) else static_int(ev.decided(ev.scalar(capacity, node), node))
    if known is None and not is_none(capacity):
        ev.fail(UnsupportedSyntax, "the `maxlen` of a deque is not known here", node, hint="write it as a number")
    made = Deque("deque", known)
    ev.heap[made] = Items(())
    _fill(ev, made, list(known_items(ev, args[0], node)) if args else [])
    return made


def _fill(ev: Evaluator, owner: Deque, values: list[Value], left: bool = False) -> None:
    if owner.capacity is not None:
        values = values[: owner.capacity] if left else values[max(0, len(values) - owner.capacity) :]
    ev.heap[owner] = Items(tuple(values))


def deque_method(ev: Evaluator, owner: Deque, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """Methods of a deque; None for those that it has as a list."""
    contents = ev.heap[owner]
    if not isinstance(contents, Items):
        hint = ev.or_by_a_tape("append to a list")
        ev.fail(TypeMismatch, "a deque changes its length in a branch or loop", node, hint=hint)
    values = list(contents.values)
    given = [ev.materialise(arg) for arg in args]
    match name:
        case "append":
            _fill(ev, owner, values + given)
        case "appendleft":
            _fill(ev, owner, given + values, left=True)
        case "extend":
            _fill(ev, owner, values + list(known_items(ev, args[0], node)))
        case "extendleft":
            _fill(ev, owner, list(known_items(ev, args[0], node))[::-1] + values, left=True)
        case "popleft" | "pop":
            if not values:
                ev.fails(IndexError, "pop from an empty deque", node)
            taken = values.pop(0 if name == "popleft" else -1)
            ev.heap[owner] = Items(tuple(values))
            return taken
        case "rotate":
            steps = static_int(ev.decided(ev.scalar(given[0], node), node)) if given else 1
            if steps is None:
                ev.fail(UnsupportedSyntax, "how far a deque is rotated is not known here", node)
            turned = collections.deque(values)
            turned.rotate(steps)
            ev.heap[owner] = Items(tuple(turned))
        case "copy":
            made = Deque("deque", owner.capacity)
            ev.heap[made] = contents
            return made
        case _:
            return None
    return NONE


# sets


def set_display(ev: Evaluator, node: gast.Set) -> Value:
    """`{a, b}`."""
    return _new_set(ev, [dicts.key_of(ev, ev.expr(elt), node) for elt in node.elts])


def set_call(cls: type) -> Any:
    """`set(...)` and `frozenset(...)`."""

    def make(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        return _new_set(ev, keys(ev, args[0], node) if args else [], cls)

    return make


def _new_set(ev: Evaluator, elements: list[Any], cls: type = set) -> Dct:
    return dicts.new_dict(ev, dict.fromkeys(elements, NONE), cls)


def is_set(value: Value) -> bool:
    """Whether operators combine a value as sets."""
    if isinstance(value, Iteration):
        return value.kind in ("dict.keys", "dict.items")
    return (isinstance(value, Dct) and value.cls in _SETS) or (isinstance(value, Static) and type(value.obj) in _SETS)


def keys(ev: Evaluator, value: Value, node: Any) -> list[Any]:
    """The elements of a set, or of what becomes one."""
    if isinstance(value, Dct):
        return dicts.keys_of(ev, value, node)
    if isinstance(value, Static) and isinstance(value.obj, set | frozenset):
        return list(value.obj)
    return [dicts.key_of(ev, item, node) for item in known_items(ev, value, node)]


_COMBINED = {"|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor}


def combined(ev: Evaluator, fn: str, left: Value, right: Value, node: Any) -> Value:
    """`left | right` and its kin, of sets and the keys of dicts."""
    if fn not in _COMBINED or not (is_set(left) and is_set(right)):
        ev.fail(TypeMismatch, f"cannot compute `{fn}` of {describe(left)} and {describe(right)}", node)
    first, second = (dict.fromkeys(keys(ev, side, node)) for side in (left, right))
    chosen = _COMBINED[fn](first.keys(), second.keys())
    cls = left.cls if isinstance(left, Dct) else type(left.obj) if isinstance(left, Static) else set
    return _new_set(ev, sorted(chosen, key=[*first, *second].index), cls)


_NAMED = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}
_TESTS = {"issubset": operator.le, "issuperset": operator.ge, "isdisjoint": lambda a, b: not a & b}


def set_method(ev: Evaluator, owner: Dct, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """Methods of a set."""
    own = dicts.keys_of(ev, owner, node)
    if name in _NAMED:
        result: Value = owner
        for other in args:
            result = combined(ev, _NAMED[name], result, _new_set(ev, keys(ev, other, node)), node)
        return result if args else _new_set(ev, own, owner.cls)
    if name in _TESTS:
        return number(bool(_TESTS[name](set(own), set(keys(ev, args[0], node)))))
    if name == "copy":
        return _new_set(ev, own, owner.cls)
    if name == "add":
        dicts.store(ev, owner, args[0], NONE, node)
    elif name == "update":
        for key in [key for arg in args for key in keys(ev, arg, node)]:
            dicts.store(ev, owner, Static(key), NONE, node)
    elif name in ("discard", "remove") and dicts.key_of(ev, args[0], node) in own:
        dicts.remove(ev, owner, dicts.key_of(ev, args[0], node), node)
    elif name == "remove" and ev.deciding:
        raise Raised(KeyError)
    elif name == "clear":
        for key in own:
            dicts.remove(ev, owner, key, node)
    elif name != "discard":
        return None
    return NONE


def method(ev: Evaluator, owner: Value, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value | None:
    """Methods of what this file makes; None for other values, and for methods that are those of dicts and lists."""
    if isinstance(owner, Deque):
        return deque_method(ev, owner, name, args, kwargs, node)
    if isinstance(owner, Dct) and owner.cls in _SETS:
        return set_method(ev, owner, name, args, kwargs, node)
    if isinstance(owner, Dct) and owner.cls is collections.Counter and name == "update":
        for key, more in dicts.pairs(ev, counter(ev, args, kwargs, node), node).items():
            held = dicts.item(ev, owner, Static(key), node)
            dicts.store(ev, owner, Static(key), ev.binary("+", held, more, node), node)
        return NONE
    if isinstance(owner, Dct) and owner.cls is collections.Counter and name == "total":
        return _total(ev, [dicts.get(ev, owner, key, node) for key in dicts.keys_of(ev, owner, node)])
    return None


def _total(ev: Evaluator, values: list[Value]) -> Sym:
    total = number(0)
    for value in values:
        total = ev.op("+", total, value)
    return total


def copy_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`copy.copy` of a list, dict or array."""
    (value,) = args
    if not isinstance(value, Lst | Dct) and not is_array(value):
        ev.fail(UnsupportedSyntax, f"`copy.copy` of {describe(value)}", node, hint="make it anew")
    return ev.apply(ev.get_attribute(value, "copy", node), [], {}, node)


def deep_copy(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`copy.deepcopy` of numbers, arrays, and lists, tuples and dicts of those; what is there twice is copied once."""
    if len(args) != 1 or kwargs:
        ev.fail(UnsupportedSyntax, "`copy.deepcopy` with a memo", node, hint="leave it out")
    return _deeply(ev, args[0], {}, node)


def _deeply(ev: Evaluator, value: Value, copied: dict[Any, Value], node: Any) -> Value:
    """A deep copy of a value; those of others are filed by what they are copies of."""
    key = value.atom if is_array(value) else value if isinstance(value, Lst | Dct) else None  # type: ignore[attr-defined]
    if key is not None and key in copied:
        return copied[key]
    made: Value | None = None
    # a variable would be another one
    if (type(value) is Sym and is_scalar(value)) or (isinstance(value, Static) and isinstance(value.obj, _ATOMS)):
        made = value
    elif isinstance(value, Tup) and not value.is_argument:
        made = Tup(tuple(_deeply(ev, item, copied, node) for item in value.items), value.cls)
    elif type(value) is Lst and isinstance(contents := ev.heap[value], Items):
        made = ev.new_list(Items(tuple(_deeply(ev, item, copied, node) for item in contents.values)))
    elif type(value) is Dct and value.cls is dict:
        keys = dicts.keys_of(ev, value, node)
        made = dicts.new_dict(ev, {one: _deeply(ev, dicts.get(ev, value, one, node), copied, node) for one in keys})
    elif type(value) is Sym and is_array(value):
        made = copy_(ev, [value], {}, node)
    if made is None:
        hint = "copy it before, or copy its arrays one by one"
        ev.fail(UnsupportedSyntax, f"`copy.deepcopy` of {describe(value)}", node, hint=hint)
    if key is not None:
        copied[key] = made
    return made


# what `copy.deepcopy` hands out as it is
_ATOMS = (type(None), str, bytes, type, types.FunctionType, types.BuiltinFunctionType, np.dtype)


SPECIAL: dict[Any, Any] = {
    copy.copy: copy_,
    copy.deepcopy: deep_copy,
    collections.defaultdict: defaultdict,
    collections.OrderedDict: ordered_dict,
    collections.Counter: counter,
    collections.deque: deque,
    **{cls: set_call(cls) for cls in _SETS},
}
EXPRESSIONS: dict[type, Any] = {gast.Set: set_display}
