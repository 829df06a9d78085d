"""Functions under `functools.cache` and `lru_cache`; those under `singledispatch` are refused.

A cached function gives what it computed at an earlier call, so its value may be older than the program.  It is
read as a constant: what it is given is known, and it reads nothing that may carry a derivative.

Which function a dispatching one calls depends on the class of an argument, and compiled code has types: an item of an
array, say, is a number of NumPy's in Python, and the same as any other there.
"""

from __future__ import annotations

import functools
from typing import Any

from tapec.errors import UnsupportedFunction
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Static, Sym, Tup, Value, describe
from tapec.frontend.structures.merging import leaves
from tapec.syntax.core import Name, reads, walk, writes

_CACHED = type(functools.cache(len))
# the functions that dispatch, by the code that they share
_DISPATCHING = {
    functools.singledispatch(lambda x: x).__code__,  # type: ignore[attr-defined]
    functools.singledispatchmethod(lambda x: x).__get__(None).__code__,
}


def is_cached(obj: Any) -> bool:
    return isinstance(obj, _CACHED)


def call_cached(ev: Evaluator, obj: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call the function behind a cache."""
    name = getattr(obj, "__name__", "function")
    for value in (*args, *kwargs.values()):
        if not _is_plain(value):
            _refuse(ev, f"the cached function `{name}` of {describe(value)}", node)
    key = ("cached", id(obj), tuple(args), tuple(kwargs.items()))
    if key in ev.cached:
        return ev.cached[key]
    block, start = ev.block, len(ev.block)
    result = ev.materialise(ev.call_object(obj.__wrapped__, args, kwargs, node))
    written = tuple(walk(freeze(block[start:])))
    own = {target for stmt in written for target in writes(stmt)}
    held = {leaf.atom.id for _, leaf in leaves(result) if isinstance(leaf.atom, Name)}
    for read in sorted({one for stmt in written for one in reads(stmt)} | held):
        if read not in own and ev.types[read].is_float and ev.live is not None and ev.live.may_vary(read):
            _refuse(ev, f"the cached function `{name}`, which reads `{read}`", node)
    if block is ev.root:
        ev.cached[key] = result
    return result


def refuse_dispatching(ev: Evaluator, obj: Any, node: Any) -> None:
    """Refuse a function, or method, under `functools.singledispatch`."""
    if getattr(obj, "__code__", None) in _DISPATCHING:
        ev.fail(
            UnsupportedFunction,
            f"cannot differentiate a call to `{obj.__name__}`, a function under functools.singledispatch",
            node,
            reason="which function it calls depends on the class of its argument, and compiled code has types",
            hint="call the function that is registered for the class, or ask by `isinstance` which one it is",
        )


def _is_plain(value: Value) -> bool:
    if isinstance(value, Tup):
        return all(map(_is_plain, value.items))
    if isinstance(value, Static):
        return True
    return isinstance(value, Sym) and (value.constant is not None or not (value.is_array or value.type.is_float))


def _refuse(ev: Evaluator, message: str, node: Any) -> None:
    ev.fail(
        UnsupportedFunction,
        message,
        node,
        reason="its value may be that of an earlier call, which no derivative belongs to",
        hint="call the function without its cache, `f.__wrapped__(...)`",
    )
