"""Arrays that share memory, where a derivative inside lowered code is taken of a function that writes into one of them.

The function's parameters, and what it reads from outside, are taken to be separate.  An array that is passed twice
becomes one parameter, as it does from Python.  Of other arrays that may be views of one, the run is asked.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from tapec.analyses.aliases import origins
from tapec.errors import ArgumentOverlap
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.syntax.core import Assign, Const, Function, If, Name, Op, Raise, changed, walk
from tapec.syntax.types import BOOL, Array


def separate(
    ev: Evaluator, core: Function, titles: dict[str, str], given: dict[str, str], sources: frozenset[str], node: Any
) -> Function:
    """A function whose array parameters are separate wherever it writes; checks are written where it is called.

    titles   what the user calls the argument that a parameter belongs to; none for what is read from outside
    given    the names of arrays that are passed
    sources  the parameters that it is differentiated by
    """
    arrays = [p for p in core.params if isinstance(core.types[p], Array)]
    held = origins(core.body, core.types)
    written = {name for stmt in walk(core.body) for array in changed(stmt) for name in held.get(array, {array})}
    groups: dict[str, list[str]] = {}
    for name in arrays:
        groups.setdefault(given.get(name, name), []).append(name)
    changing = {array for array, names in groups.items() if not written.isdisjoint(names)}
    twice: dict[str, str] = {}
    for array in groups:
        if array in changing:
            first, *others = groups[array]
            _refuse(ev, first, others, titles, sources, node)
            twice |= dict.fromkeys(others, first)
    for one, other in combinations(groups, 2):
        first, second = groups[one][0], groups[other][0]
        if not changing.isdisjoint((one, other)) and ev.roots_of(first) & ev.roots_of(second):
            _ask(ev, first, second, titles)
    if not twice:
        return core
    same = tuple(Assign(second, Name(first), ev.span) for second, first in twice.items())
    return replace(core, params=tuple(p for p in core.params if p not in twice), body=(*same, *core.body))


def _refuse(
    ev: Evaluator, first: str, others: list[str], titles: dict[str, str], sources: frozenset[str], node: Any
) -> None:
    """Refuse what would make a parameter of its own of an array that `first` stands for."""
    for other in others:
        if other not in titles:
            ev.fail(
                ArgumentOverlap,
                f"argument `{titles[first]}` is an array that the function has from outside, too, and it is written",
                node,
                hint="pass a copy of it",
            )
        if other in sources:
            label = titles[other]
            ev.fail(
                ArgumentOverlap,
                f"`{label}` is the same array as another argument and is written: it has no gradient of its own",
                node,
                hint=f"differentiate by `{titles[first]}`, or pass a copy",
            )


def _ask(ev: Evaluator, first: str, second: str, titles: dict[str, str]) -> None:
    """Raise, when the program runs, if two arrays share memory."""
    own = [f"`{titles[name]}`" for name in (first, second) if name in titles]
    if len(own) == 2:
        what = f"arguments {own[0]} and {own[1]}"
    else:
        what = f"argument {own[0]} and an array from outside" if own else "arrays from outside"
    shared = ev.assign(Op("tapec_runtime.meet", (Name(first), Name(second))), BOOL)
    message = Const(f"{what} of a function that is differentiated share memory, and one of them is written")
    ev.emit(If(shared.atom, (Raise("tapec_runtime.AliasedInside", (message,), ev.span),), (), ev.span))
