"""Tangents and adjoints of whole-array primitives, lowered from the rules' Python."""

from __future__ import annotations

from typing import Any

from tapec.frontend.calls import calls
from tapec.frontend.evaluator.frames import DeadCode
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import NONE, Sym, Tup, Value
from tapec.frontend.full_evaluator import FullEvaluator
from tapec.syntax.core import Atom, Block, Name
from tapec.syntax.types import Array
from tapec.transforms.emitter import Emitter


def lower_rule(emitter: Emitter, function: Any, arguments: list[Any]) -> tuple[Block, Value]:
    """Inline a rule's function on names of core; an argument may be None or a tuple of names."""
    ev = FullEvaluator(frozenset(emitter.taken) | frozenset(emitter.types))
    ev.types = emitter.types
    ev.same_extents = True
    ev.span = emitter.span

    def value(argument: Any) -> Value:
        if argument is None:
            return NONE
        if isinstance(argument, tuple):
            return Tup(tuple(value(item) for item in argument))
        assert isinstance(argument, Atom)
        type_ = emitter.type_of(argument)
        if isinstance(type_, Array) and isinstance(argument, Name):
            ev.roots[argument.id] = frozenset({argument.id})
        return Sym(argument, type_)

    try:
        result = calls.call_library(ev, function, [value(a) for a in arguments], {})
        result = ev.materialise(result)
    except DeadCode:
        result = NONE
    emitter.taken |= ev.taken
    return freeze(ev.root), result
