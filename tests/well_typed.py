"""Whether the types that a program in core form says its names have are those of what they are set to.

The text of a program does not show them: passes and transforms go by them, and a number that is taken for an integer
has no derivative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tapec.errors import TapecError
from tapec.syntax.core import Assign, Atom, Const, For, Function, Name, Op, Push, Stmt, Store, walk
from tapec.syntax.types import INT64, Array, Scalar, Stack, Type
from tapec.transforms.emitter import Emitter


def ill_typed(function: Function) -> list[str]:
    """What is set to a value of another type than it has; descriptions for people."""
    return [text for stmt in walk(function.body) for text in _found(stmt, function.types)]


def _found(stmt: Stmt, types: Mapping[str, Type]) -> Iterator[str]:
    match stmt:
        case Assign(target=target, value=value):
            own, theirs = types[target], _type_of(value, types)
            if theirs is not None and not _agree(own, theirs):
                yield f"{target}: {own} = {value}: {theirs}"
        case Store(array=array, value=value):
            own, theirs = types[array], _type_of(value, types)
            assert isinstance(own, Array)
            if theirs is not None and not isinstance(value, Const) and not _agree(own.element, theirs):
                yield f"element of {array}: {own} = {value}: {theirs}"
        case Push(stack=stack, value=value):
            own, theirs = types[stack], _type_of(value, types)
            assert isinstance(own, Stack)
            if theirs is not None and not _agree(own.element, theirs):
                yield f"{stack}: {own}.append({value}: {theirs})"
        case For(var=var) if types[var] != INT64:
            yield f"{var} counts, and is {types[var]}"


def _agree(own: Type, theirs: Type) -> bool:
    """Whether a value can be of a name; of arrays that meet in one, the layouts may differ."""
    if isinstance(own, Array) and isinstance(theirs, Array):
        return (own.dtype, own.ndim) == (theirs.dtype, theirs.ndim)
    return own == theirs


def _type_of(value: Atom | Op, types: Mapping[str, Type]) -> Type | None:
    """The type of a value; None for what is not an operation on numbers, an element or another name."""
    if isinstance(value, Op):
        if isinstance(value.fn, str) and value.fn in ("load", "pop"):
            (owner, *_) = value.args
            assert isinstance(owner, Name)
            held = types[owner.id]
            return held.element if isinstance(held, Array | Stack) else held
        # some functions of the runtime return integers, which the table of operations does not know
        if isinstance(value.fn, str) and value.fn.startswith("tapec_runtime."):
            return None
        if any(isinstance(arg, Const) and isinstance(arg.value, str) for arg in value.args):
            return None
        known = [_type_of(arg, types) for arg in value.args]
        if not all(isinstance(one, Scalar) for one in known):
            return None
    try:
        return Emitter(dict(types), set()).type_of(value)
    except (TapecError, AssertionError, AttributeError, KeyError):
        return None
