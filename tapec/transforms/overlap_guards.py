"""Refuse, at run time, arguments that share memory where the function writes into one of them.

Parameters are taken to be separate, and so are the elements of one: that is what lets the compiler keep a value in a
variable while another array, or element, is written.  Where nothing is written, sharing does no harm.
"""

from __future__ import annotations

from tapec.syntax.core import Block, Const, Function, If, Name, Op, Raise, changed, walk
from tapec.syntax.types import BOOL, Array
from tapec.transforms.emitter import Emitter


def separate_arguments(
    function: Function,
    roots: dict[str, frozenset[str]],
    whole: dict[str, str] | None = None,
    refusal: str = "tapec_runtime.AliasedArguments",
) -> Block:
    """Checks for the start of the function; empty where no pair of arguments needs one.

    roots    for each array name, whose memory it may be
    whole    for each part of a complex argument, the argument: its parts interleave, and share no element
    refusal  what they raise
    """
    argument = whole or {}
    arrays = [p for p in function.params if isinstance(function.types[p], Array)]
    written = _written(function, roots)
    emitter = Emitter(function.types, set(function.types))
    for k, first in enumerate(arrays):
        for second in arrays[k + 1 :]:
            if first not in written and second not in written:
                continue
            names = [argument.get(name, name) for name in (first, second)]
            if names[0] == names[1]:
                continue
            shared = emitter.let("shared", Op("tapec_runtime.overlap", (Name(first), Name(second))), BOOL)
            message = f"arguments `{names[0]}` and `{names[1]}` share memory, and one of them is written"
            emitter.add(If(shared, (Raise(refusal, (Const(message),)),), ()))
    return tuple(emitter.out)


def separate_elements(
    function: Function, roots: dict[str, frozenset[str]], whole: dict[str, str], contiguous: frozenset[str]
) -> Block:
    """Checks for the start of the function that no argument that it writes into overlaps itself.

    roots       for each array name, whose memory it may be
    whole       for each part of a complex argument, the argument
    contiguous  parts of complex arguments that are contiguous
    """
    written = {whole.get(name, name) for name in _written(function, roots)}
    emitter = Emitter(function.types, set(function.types))
    for param in function.params:
        kind, argument = function.types[param], whole.get(param, param)
        if not isinstance(kind, Array) or kind.layout != "A" or param in contiguous or argument not in written:
            continue
        # the other part has the same strides
        written.discard(argument)
        parts = Const(2 if param in whole else 1)
        shared = emitter.let("shared", Op("tapec_runtime.overlaps_itself", (Name(param), parts)), BOOL)
        message = f"argument `{argument}` overlaps itself: elements of it share memory, and it is written"
        emitter.add(If(shared, (Raise("tapec_runtime.AliasedElements", (Const(message),)),), ()))
    return tuple(emitter.out)


def _written(function: Function, roots: dict[str, frozenset[str]]) -> set[str]:
    """Whose memory the function writes into."""
    return {
        root
        for stmt in walk(function.body)
        for array in changed(stmt)
        for root in roots.get(array, frozenset({array}))
    }
