"""The values that variables and lists hold while a block is lowered, and copies that stand for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Sym
from tapec.frontend.iteration.coroutines import all_frames
from tapec.frontend.structures.merging import rebuild
from tapec.syntax.core import Assign, Block, Name, Op, walk
from tapec.syntax.types import Array
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.variable_versions import Chosen, VariableSym


def held_values(ev: Evaluator) -> list[Sym]:
    """Every number and array that a variable or list of an open frame holds."""
    found: list[Sym] = []

    def note(path: Any, leaf: Sym) -> Sym:
        # what a variable holds is in its cell
        if not isinstance(leaf, VariableSym):
            found.append(leaf.made if isinstance(leaf, Chosen) else leaf)
        return leaf

    for frame in all_frames(ev):
        for value in frame.env.values():
            rebuild(value, note)
    for contents in ev.heap.values():
        rebuild(contents, note)
    return found


def replace_everywhere(ev: Evaluator, new: dict[str, Sym]) -> None:
    """Put copies in place of names, wherever a variable or list holds them."""

    def changed(path: Any, leaf: Sym) -> Sym:
        if isinstance(leaf, Chosen):
            return leaf.replaced(changed(path, leaf.made))
        if isinstance(leaf, VariableSym) or not isinstance(leaf.atom, Name):
            return leaf
        return new.get(leaf.atom.id, leaf)

    for frame in all_frames(ev):
        for key, value in frame.env.items():
            frame.env[key] = rebuild(value, changed)
    for cell, contents in ev.heap.items():
        ev.heap[cell] = rebuild(contents, changed)
    live = ev.live
    if isinstance(live, LiveObjects):
        live.replace(new, changed)


def duplicate(ev: Evaluator, value: Sym) -> Sym:
    """The same value under a new name; an array in memory of its own."""
    if not isinstance(value.type, Array):
        base = value.atom.id if isinstance(value.atom, Name) else "x"
        number = ev.assign(value.atom, value.type, base)
        ev.temporary.discard(number.atom.id)  # type: ignore[union-attr]
        return number
    assert isinstance(value.atom, Name)
    type_ = Array(value.type.dtype, value.type.ndim, "C")
    made = ev.assign(Op("copy", (value.atom,)), type_, value.atom.id)
    assert isinstance(made.atom, Name)
    # the tape knows it by this name
    ev.temporary.discard(made.atom.id)
    ev.roots[made.atom.id] = frozenset({made.atom.id})
    for axis in range(type_.ndim):
        known = ev.dims.get((value.atom.id, axis))
        if known is not None:
            ev.dims[made.atom.id, axis] = known
    return made


def list_elements(ev: Evaluator, block: Block) -> frozenset[str]:
    """Names of numbers read from lists that a loop or branch fills: which objects those are is not known."""
    found: set[str] = set()
    for stmt in walk(block):
        match stmt:
            case Assign(target=target, value=Op(fn="load", args=(Name(id=array), *_))):
                if ev.roots.get(array, frozenset()) & ev.list_memory:
                    found.add(target)
            case Assign(target=target, value=Name(id=name)) if name in found:
                found.add(target)
    return frozenset(found)


def original(copies: dict[str, str], name: str) -> str:
    """What the copies that watches, pauses and resets make are copies of."""
    while name in copies:
        name = copies[name]
    return name


def canonical(copies: dict[str, str], name: str, watched: dict[str, None]) -> str:
    """The name that a tape knows a value by: the copy that it watches, else the original."""
    own = original(copies, name)
    return next((one for one in watched if original(copies, one) == own), own)


def versions_for(
    versions: Iterable[str], copies: dict[str, str], watched: Collection[str], stopped: Collection[str]
) -> tuple[str, ...]:
    """The versions of a variable for one tape, without copies that others have made of what it watches."""

    def follows(one: str) -> bool:
        while one in copies and one not in stopped:
            one = copies[one]
            if one in watched:
                return True
        return False

    return tuple(one for one in versions if not follows(one))


def latest(copies: dict[str, str], name: str) -> str:
    """The last name that a watch, pause or reset gave a value: what is used after it."""
    own = original(copies, name)
    return next((one for one in reversed(copies) if original(copies, one) == own), name)
