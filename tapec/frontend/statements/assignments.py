"""Assignments."""

from __future__ import annotations

from typing import Any, TypeVar

import gast

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays import indexing, stores
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    Complex,
    Contents,
    Dct,
    Growing,
    Instance,
    Items,
    Iteration,
    Lazy,
    Lst,
    Record,
    Slice,
    Static,
    Stream,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    number,
    with_keys,
)
from tapec.frontend.expressions import declared_types, names_and_literals, operators
from tapec.frontend.iteration.coroutines import all_frames
from tapec.frontend.iteration.generators import Generator
from tapec.frontend.operations import allocation
from tapec.frontend.operations.python_errors import raise_if
from tapec.frontend.statements.nonlocal_variables import store_outer
from tapec.frontend.structures import made_objects
from tapec.frontend.structures.merging import leaves
from tapec.syntax.core import Assign, Name, reads
from tapec.syntax.types import Array, Scalar

_Fact = TypeVar("_Fact")


def assign(ev: Evaluator, node: gast.Assign) -> None:
    first, given = node.targets[0], node.value
    if isinstance(given, gast.GeneratorExp) and isinstance(first, gast.Tuple | gast.List):
        # unpacked at once, so that it gives all its items here
        given = gast.copy_location(gast.ListComp(given.elt, given.generators), given)
    value = ev.expr(given)
    if isinstance(value, Lazy) and not _only_stored(node):
        base = first.id if isinstance(first, gast.Name) else "t"
        value = ev.materialise(value, base)
    for target in node.targets:
        bind(ev, target, value, node)
        if isinstance(target, gast.Name) and target.id in ev.frame.env:
            value = ev.frame.env[target.id]  # it may have got the user's name


def _only_stored(node: gast.Assign) -> bool:
    """Whether an elementwise value goes straight into an array."""
    return len(node.targets) == 1 and isinstance(node.targets[0], gast.Subscript)


def bind(ev: Evaluator, target: Any, value: Value, node: Any) -> None:
    """`target = value` for any target."""
    match target:
        case gast.Name() if target.id in ev.frame.outer:
            store_outer(ev, ev.frame, target.id, ev.materialise(value))
        case gast.Name():
            value = declared_types.variable(ev, ev.frame, target.id, value, node)
            _keep(ev, target.id, named(ev, ev.materialise(value), target.id))
        case gast.Tuple() | gast.List():
            _unpack(ev, target, value, node)
        case gast.Subscript():
            owner = ev.expr(target.value)
            stores.store(ev, owner, names_and_literals.index(ev, target.slice), value, node)
        case gast.Starred():
            bind(ev, target.value, value, node)
        case gast.Attribute():
            store_attribute(ev, ev.expr(target.value), target.attr, value, target)
        case _:
            ev.fail(UnsupportedSyntax, "cannot assign to this", target)


def _keep(ev: Evaluator, ident: str, value: Value) -> None:
    """Give a variable its value."""
    ev.frame.env[ident] = value
    if not ev.frame.library:
        ev.bindings[ev.span, ident] = value


def store_attribute(ev: Evaluator, owner: Value, name: str, value: Value, node: Any) -> None:
    """`owner.name = value`."""
    value = ev.materialise(value)
    if ev.live is None:
        made_objects.store(ev, owner, name, value, node)
    else:
        ev.live.store_attribute(owner, name, value, node)


def _unpack(ev: Evaluator, target: Any, value: Value, node: Any) -> None:
    if isinstance(value, Iteration) and value.kind == "items" and value.progress is None:
        value = value.args[0]
    place = next((k for k, elt in enumerate(target.elts) if isinstance(elt, gast.Starred)), None)
    after = 0 if place is None else len(target.elts) - place - 1
    if place is not None and is_array(value):
        value = ev.call_object(list, [value], {}, node)
    if place is not None and _measured(ev, value):
        items = _around_middle(ev, value, place, after, node)
    else:
        items = unpacked(ev, value, len(target.elts), node)
        if place is not None:
            if len(items) < place + after:
                ev.fail(TypeMismatch, f"cannot unpack {len(items)} values into {len(target.elts)} names", node)
            middle = Lst("list")
            ev.heap[middle] = Items(items[place : len(items) - after])
            items = (*items[:place], middle, *items[len(items) - after :])
    if len(items) != len(target.elts):
        ev.fail(TypeMismatch, f"cannot unpack {len(items)} values into {len(target.elts)} names", node)
    for elt, item in zip(target.elts, items, strict=True):
        bind(ev, elt, item, node)


def _measured(ev: Evaluator, value: Value) -> bool:
    """Whether the length of what is unpacked is a number of the run."""
    return isinstance(value, Lst) and isinstance(ev.heap[value], Growing)


def _around_middle(ev: Evaluator, value: Value, place: int, after: int, node: Any) -> tuple[Value, ...]:
    """The items that `a, *middle, z = value` names; the middle of a list is a list."""
    contents = ev.heap[value] if isinstance(value, Lst) else None
    assert isinstance(contents, Growing)
    _refuse_count(ev, ev.op("<", contents.count, number(place + after)), "a list", place + after + 1)
    before = [indexing.load(ev, value, number(k), node) for k in range(place)]
    behind = [indexing.load(ev, value, number(k - after), node) for k in range(after)]
    middle = Slice(number(place), number(-after) if after else None, None)
    return (*before, indexing.load(ev, value, middle, node), *behind)


def unpacked(ev: Evaluator, value: Value, count: int, node: Any) -> tuple[Value, ...]:
    """The items of a value that is unpacked into `count` names."""
    if isinstance(value, Static | Instance | Generator | Stream):
        value = Tup(ev.known_items(value, node))
    value = with_keys(value)
    if isinstance(value, Tup):
        return value.items
    contents = ev.heap[value] if isinstance(value, Lst) else None
    if isinstance(contents, Items):
        return contents.values
    if isinstance(contents, Growing):
        _refuse_count(ev, ev.op("!=", contents.count, number(count)), "a list", count)
    elif isinstance(value, Sym) and isinstance(value.type, Array) and is_array(value):
        _refuse_count(ev, ev.op("!=", allocation.dim(ev, value, 0), number(count)), "an array", count)
    elif isinstance(value, Iteration | Dct):
        return ev.known_items(value, node)
    elif not is_array(value):
        ev.fail(TypeMismatch, f"cannot unpack {describe(value)}", node)
    return tuple(indexing.load(ev, value, number(k), node) for k in range(count))


def _refuse_count(ev: Evaluator, wrong: Sym, what: str, count: int) -> None:
    """Raise, when the program runs, what Python raises where the number of items is wrong."""
    raise_if(ev, wrong, "ValueError", f"cannot unpack {what} into {count} names")


def _rename(table: dict[tuple[str, int], _Fact], old: str, new: str) -> None:
    """What is known about the axes of `old` holds for `new`."""
    for key in [key for key in table if key[0] == old]:
        table[new, key[1]] = table.pop(key)


def named(ev: Evaluator, value: Value, ident: str) -> Value:
    """Give the temporary that was just computed the user's name."""
    if isinstance(value, Complex) and type(value) is not Complex:
        # the version of a variable
        return value
    if isinstance(value, Complex):
        im = _renamed_part(ev, value.im, f"{ident}_im")
        return Complex(_renamed_part(ev, value.re, f"{ident}_re"), im)
    if not isinstance(value, Sym) or not isinstance(value.atom, Name) or value.atom.id not in ev.temporary:
        return value
    old = value.atom.id
    last = ev.block[-1] if ev.block else None
    if not isinstance(last, Assign) or last.target != old or _known_elsewhere(ev, old):
        return value
    new = ev.define(ident, value.type)
    ev.block[-1] = Assign(new, last.value, last.span)
    if old in ev.copies_of_views:
        ev.copies_of_views[new] = ev.copies_of_views.pop(old)
    ev.lengths.rename(old, new)
    if not isinstance(value.type, Scalar):
        _rename(ev.dims, old, new)
        _rename(ev.dim_keys, old, new)
    elif not value.type.is_float:
        # it may be the extent of arrays
        for key, extent in ev.dims.items():
            if type(extent) is Name and extent.id == old:
                ev.dims[key] = Name(new)
        for part, found in ev.parts.items():
            if type(found) is Name and found.id == old:
                ev.parts[part] = Name(new)
        for key, (base, offset) in ev.dim_keys.items():
            if type(base) is Name and base.id == old:
                ev.dim_keys[key] = Name(new), offset
    if old in ev.roots:
        roots = ev.roots.pop(old)
        ev.roots[new] = frozenset({new}) if roots == frozenset({old}) else roots
        if old in ev.in_columns:
            ev.in_columns.add(new)
    return Sym(Name(new), value.type)


def _renamed_part(ev: Evaluator, part: Sym, ident: str) -> Sym:
    """A part of a complex number with the user's name, if the last statements computed it and none reads it."""
    own = part.atom.id if isinstance(part.atom, Name) else ""
    place = next((k for k in range(len(ev.block) - 1, -1, -1) if _target(ev.block[k]) in ("", own)), -1)
    if place < 0 or _target(ev.block[place]) != own or any(own in reads(s) for s in ev.block[place + 1 :]):
        return part
    # as if it had been computed last
    ev.block.append(ev.block.pop(place))
    made = named(ev, part, ident)
    ev.block.insert(place, ev.block.pop())
    if own in ev.partners or own in ev.partners.values():
        assert isinstance(made, Sym) and isinstance(made.atom, Name)
        new = made.atom.id
        ev.partners = {new if k == own else k: new if v == own else v for k, v in ev.partners.items()}
    return ev.sym(made)


def _target(stmt: Any) -> str:
    """The name that a plain assignment gives a value; empty for other statements."""
    return stmt.target if isinstance(stmt, Assign) else ""


def _known_elsewhere(ev: Evaluator, name: str) -> bool:
    """Whether another variable or a list holds the temporary already (`a = b = x * x`)."""
    variables = (held for frame in all_frames(ev) for held in frame.env.values())
    return any(_holds(held, name) for held in (*variables, *ev.heap.values()))


def _holds(value: Value | Contents, name: str) -> bool:
    if isinstance(value, Sym):
        return isinstance(value.atom, Name) and value.atom.id == name
    return any(isinstance(leaf.atom, Name) and leaf.atom.id == name for _, leaf in leaves(value))


def ann_assign(ev: Evaluator, node: gast.AnnAssign) -> None:
    if node.value is not None:
        value = ev.expr(node.value)
        bind(ev, node.target, value, node)


def aug_assign(ev: Evaluator, node: gast.AugAssign) -> None:
    fn = operators.SIGNS.get(type(node.op), "@")
    if isinstance(node.target, gast.Subscript):
        owner = ev.expr(node.target.value)
        index = names_and_literals.index(ev, node.target.slice)
        stores.update(ev, owner, index, fn, lambda: ev.expr(node.value), node)
        return
    if isinstance(node.target, gast.Attribute):
        holder = ev.expr(node.target.value)
        held = ev.get_attribute(holder, node.target.attr, node.target)
        new = stores.updated(ev, held, fn, ev.expr(node.value), node)
        if not (isinstance(holder, Record) and new is held):
            store_attribute(ev, holder, node.target.attr, new, node.target)
        return
    ident = node.target.id
    old = names_and_literals.name(ev, gast.copy_location(gast.Name(ident, gast.Load(), None, None), node.target))
    result = stores.updated(ev, old, fn, ev.expr(node.value), node, ident)
    result = declared_types.variable(ev, ev.frame, ident, result, node)
    if ident in ev.frame.outer:
        store_outer(ev, ev.frame, ident, result)
    elif result is not old:
        _keep(ev, ident, named(ev, result, ident))


HANDLERS: dict[type, Any] = {
    gast.Assign: assign,
    gast.AnnAssign: ann_assign,
    gast.AugAssign: aug_assign,
}
