"""Statements that branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import gast

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import OpenIf
from tapec.frontend.evaluator.values import Complex, Contents, Items, Lst, State, Sym, Tup
from tapec.frontend.operations.allocation import id_of
from tapec.frontend.statements.loop_carried import LoopContext
from tapec.frontend.structures.lists import element_type, growing
from tapec.frontend.structures.merging import Way, merge
from tapec.syntax.core import Atom, Break, Const, Name
from tapec.syntax.types import Array

_Key = TypeVar("_Key", str, tuple[str, int])


def if_(ev: Evaluator, node: gast.If) -> None:
    test = ev.truth(ev.expr(node.test), node.test)
    if isinstance(test.atom, Const):
        ev.statements(node.body if test.atom.value else node.orelse)
        return
    assert ev.frame.liveness is not None
    live = ev.frame.liveness.after.get(id(node), frozenset())
    branch(ev, test, lambda: ev.statements(node.body), lambda: ev.statements(node.orelse), live)


def branch(
    ev: Evaluator,
    test: Sym,
    body: Callable[[], None],
    orelse: Callable[[], None],
    live: frozenset[str] | None = None,
) -> None:
    """Lower both sides of an `if`, and merge what they leave behind; one side if the test is known."""
    test = ev.decided(test)
    if isinstance(test.atom, Const):
        (body if test.atom.value else orelse)()
        return
    outer = ev.block
    entry = ev.snapshot()
    sides: list[tuple[list[Any], State | None]] = []
    roots: list[list[Any]] = []
    for side in (body, orelse):
        root: list[Any] = []
        roots.append(root)
        ev.block, ev.dead = root, False
        ev.restore(entry)
        side()
        sides.append((ev.block, None if ev.dead else ev.snapshot()))
    (then_block, then_state), (else_block, else_state) = sides
    then_root, else_root = roots
    ev.block, ev.dead = outer, False
    span = ev.span
    if then_state is None and else_state is None:
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        ev.dead = True
        return
    if (then_state is None or else_state is None) and not _breaks(then_root if then_state is None else else_root):
        # one side raises: what follows is not part of the other one
        if else_state is None:
            ev.block, ev.dead = outer, False
            ev.restore(entry)
            test = ev.op("not", test)
        ev.emit(OpenIf(test.atom, then_root if then_state is None else else_root, [], span))
        root, cursor, state = (
            (else_root, else_block, else_state) if then_state is None else (then_root, then_block, then_state)
        )
        outer.extend(root)
        assert state is not None
        ev.restore(state)
        ev.block = outer if cursor is root else cursor
        return
    if then_state is None or else_state is None:
        # one side never goes on: what follows is written inside the other one
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        state = then_state or else_state
        assert state is not None
        ev.restore(state)
        ev.block = then_block if else_state is None else else_block
        return
    if _breaks(then_root) or _breaks(else_root):
        # the end of the loop's body: each way that goes on ends the iteration where it is
        context: LoopContext = ev.loops[-1]
        for block, state in ((then_block, then_state), (else_block, else_state)):
            context.exits.append((block, state.env, state.heap))
        ev.emit(OpenIf(test.atom, then_root, else_root, span))
        ev.dead = True
        return
    ways = (Way(then_block, then_state.heap), Way(else_block, else_state.heap))
    merged = State(
        dims=_on_both_sides(then_state.dims, else_state.dims),
        parts=_on_both_sides(then_state.parts, else_state.parts),
    )
    known = set(ev.heap)
    for name in sorted(then_state.env.keys() | else_state.env.keys()):
        first, second = then_state.env.get(name), else_state.env.get(name)
        if live is not None and name not in live and not name.startswith("$"):
            if first is second:
                merged.env[name] = first  # type: ignore[assignment]
            continue
        value = merge(ev, name, first, second, ways)
        if value is not None:
            merged.env[name] = value
        if isinstance(first, Sym) and isinstance(second, Sym) and isinstance(value, Sym) and value is not first:
            _note_extents(ev, value, merged, entry, ((first, then_state), (second, else_state)))
    for key in (key for key in then_state.heap if key in else_state.heap):
        merged.heap[key] = _merge_contents(ev, key, then_state.heap[key], else_state.heap[key], ways)
    # what containers hold for which the ways have met
    merged.heap.update({key: contents for key, contents in ev.heap.items() if key not in known})
    ev.restore(merged)
    if ev.live is not None:
        ev.live.all_met()
    if then_root or else_root:
        ev.emit(OpenIf(test.atom, then_root, else_root, span))


def _on_both_sides(first: dict[_Key, Atom], second: dict[_Key, Atom]) -> dict[_Key, Atom]:
    """What two sides know alike; most of it is of before, and the same objects."""
    return {key: one for key, one in first.items() if (other := second.get(key)) is one or other == one}


def _note_extents(
    ev: Evaluator, array: Sym, merged: State, entry: State, sides: tuple[tuple[Sym, State], tuple[Sym, State]]
) -> None:
    """An array has the extents that it has on both sides, if those are equal: `if better: u = new`."""
    if not isinstance(array.type, Array) or not all(isinstance(side.atom, Name) for side, _ in sides):
        return
    for axis in range(array.type.ndim):
        known = {state.dims.get((id_of(side), axis)) for side, state in sides}
        keys = {ev.dim_keys.get((id_of(side), axis), (state.dims.get((id_of(side), axis)), 0)) for side, state in sides}
        if len(keys) > 1 or (None, 0) in keys:
            continue
        (ev.dim_keys[id_of(array), axis],) = keys
        extent = known.pop() if len(known) == 1 else None
        if extent is not None and extent in entry.dims.values():
            merged.dims[id_of(array), axis] = extent


def _breaks(block: list[Any]) -> bool:
    """Whether a block under construction leaves the loop around it."""
    for item in block:
        if isinstance(item, Break):
            return True
        if isinstance(item, OpenIf) and (_breaks(item.body) or _breaks(item.orelse)):
            return True
    return False


def _merge_contents(ev: Evaluator, key: Lst, first: Contents, second: Contents, ways: tuple[Way, Way]) -> Contents:
    if first == second:
        return first
    if isinstance(first, Items) and isinstance(second, Items) and len(first.values) == len(second.values):
        merged = merge(ev, key.label, Tup(first.values), Tup(second.values), ways)
        if isinstance(merged, Tup):
            return Items(merged.items)
    sides = []
    element = element_type(ev, first, second)
    for contents, way in zip((first, second), ways, strict=True):
        with way.end(ev):
            sides.append(growing(ev, contents, element))
    new = [merge(ev, key.label, a, b, ways) for a, b in zip(*map(_parts, sides), strict=True)]
    buffer, count = new
    if not _is_buffer(buffer) or not isinstance(count, Sym):
        ev.fail(TypeMismatch, f"the list `{key.label}` holds different types after each branch")
    return type(sides[0])(buffer, count)


def _is_buffer(value: Any) -> bool:
    return all(map(_is_buffer, value.items)) if isinstance(value, Tup) else isinstance(value, Sym | Complex)


def _parts(contents: Any) -> tuple[Sym, Sym]:
    return contents.buffer, contents.count
