"""Refuse, at run time, arguments that share memory where the function writes into one of them.

Parameters are taken to be separate: that is what lets the compiler keep a value in a variable
while another array is written.  Where nothing is written, sharing does no harm.
"""

from __future__ import annotations

from tapec.syntax.core import Block, Const, Function, If, Name, Op, Raise, changed, walk
from tapec.syntax.types import BOOL, Array
from tapec.transforms.emitter import Emitter


def separate_arguments(
    function: Function, roots: dict[str, frozenset[str]], whole: dict[str, str] | None = None
) -> Block:
    """Checks for the start of the function; empty where no pair of arguments needs one.

    roots  for each array name, whose memory it may be
    whole  for each part of a complex argument, the argument: its parts interleave, and share no element
    """
    argument = whole or {}
    arrays = [p for p in function.params if isinstance(function.types[p], Array)]
    written: set[str] = set()
    for stmt in walk(function.body):
        for array in changed(stmt):
            written |= roots.get(array, frozenset({array}))
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
            emitter.add(If(shared, (Raise("tapec_runtime.AliasedArguments", (Const(message),)),), ()))
    return tuple(emitter.out)
