"""Calls of functions that are not read: they are called as they are, and their results have no derivative.

A function of numbers that Numba can call, such as one of its dispatchers or a C function of ctypes, is called by
compiled code.  Any other one is called by Python, in Numba's object mode: it cannot write into its arguments, and its
result is copied.  What it returns has to be one number or array, whose type is given, or is that of what it returns for
arguments of ones.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.errors import NumbaError

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedType
from tapec.frontend import numba_types
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.values import Lst, Sym, Tup, Value, describe
from tapec.rules import function_name
from tapec.rules.library import library_function
from tapec.syntax.core import Name, Op
from tapec.syntax.custom_rule import Opaque
from tapec.syntax.types import Array, Scalar, Type

_serial = itertools.count(1)
# extents of arrays of ones, of which the first is taken that a function accepts
_EXTENTS = (2, 3, 1)


def opaque_call(
    ev: Evaluator, function: Callable[..., Any], args: list[Value], kwargs: dict[str, Value], node: Any, result: Any
) -> Value:
    """A call of a function as it is; `result` is its type in Numba's notation, or None."""
    title = getattr(function, "__name__", type(function).__name__)
    if kwargs:
        ev.fail(UnsupportedType, f"`{title}` is called as it is, with arguments by position", node)
    syms: list[Sym] = []
    for arg in args:
        value = ev.materialise(ev.as_array(arg, node) if isinstance(arg, Tup | Lst) else arg)
        if not isinstance(value, Sym) or not isinstance(value.type, Scalar | Array):
            ev.fail(UnsupportedType, f"`{title}` is called as it is, and cannot take {describe(value)}", node)
        syms.append(value)
    types_ = tuple(sym.type for sym in syms)
    direct = _by_numba(function, types_)
    found = numba_types.from_numba(direct) if direct is not None else None
    if direct is None:
        found = _type_of(ev, result, node) if result is not None else _tried(ev, function, title, types_, node)
    if not isinstance(found, Scalar | Array):
        ev.fail(UnsupportedType, f"`{title}` is called as it is, and has to return one number or array", node)
    called = ev.opaque.get((id(function), found))
    if called is None:
        plain = title.isidentifier() and not title.startswith("_")
        # no variable: nothing else keeps others from having the name
        name = f"{title if plain else 'function'}__{next(_serial)}"
        if direct is not None and not isinstance(found, Array) and not any(isinstance(one, Array) for one in types_):
            called = Opaque(name, function, function)
        else:
            guarded = _guarded(function, title, found)
            called = Opaque(name, _by_python(guarded, len(syms), found), guarded)
        ev.opaque[id(function), found] = called
    made = ev.assign(Op(called, tuple(sym.atom for sym in syms)), found)
    if isinstance(found, Array) and isinstance(made.atom, Name):
        ev.roots[made.atom.id] = frozenset({made.atom.id})
    return made


def _by_numba(function: Any, types_: tuple[Type, ...]) -> Any:
    """What a function returns that Numba can call; None for others."""
    if not type(function).__module__.startswith(("numba.", "_ctypes", "ctypes")):
        return None
    try:
        kind = numba_types.type_of_value(function)
        found = numba_types.context().resolve_function_type(kind, tuple(map(numba_types.to_numba, types_)), {})
    except (ValueError, NumbaError):
        return None
    return None if found is None else found.return_type


def _type_of(ev: Evaluator, result: Any, node: Any) -> Type | None:
    """The type that a user gives."""
    try:
        if isinstance(result, str):
            (known, *_), _ = sigutils.normalize_signature(f"({result},)")
        else:
            known = result
        return numba_types.from_numba(known)
    except (TypeError, NameError, ValueError, SyntaxError, AttributeError):
        ev.fail(TypeMismatch, f"{result!r} is not the type of a number or an array", node, hint='write "f8" or "f8[:]"')


def _tried(ev: Evaluator, function: Callable[..., Any], title: str, types_: tuple[Type, ...], node: Any) -> Type | None:
    """The type of what a function returns for ones."""
    error: Exception | None = None
    for extent in _EXTENTS:
        given = [
            np.ones((extent,) * one.ndim, one.dtype) if isinstance(one, Array) else np.ones((), str(one))[()]
            for one in types_
        ]
        try:
            with np.errstate(all="ignore"):
                made = function(*given)
            return numba_types.from_numba(numba_types.type_of_value(_plain(made)))
        except Exception as failed:  # noqa: BLE001  whatever the user's function raises
            error = failed
    ev.fail(
        UnsupportedFunction,
        f"cannot tell what `{title}` returns, which is called as it is",
        node,
        reason=f"of arguments of ones it made {type(error).__name__}: {error}",
        hint=f'say its type: tapec.opaque({title}, "f8[:]")',
    )


def _plain(value: Any) -> Any:
    """A number of Python or NumPy, or a contiguous array."""
    return np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)[()]


def _guarded(function: Callable[..., Any], title: str, result: Scalar | Array) -> Callable[..., Any]:
    """A function that cannot write into its arguments, whose result has memory of its own, and the type it should."""
    kind, ndim = (result.dtype, result.ndim) if isinstance(result, Array) else (str(result), 0)

    def called(*args: Any) -> Any:
        made = np.array(function(*map(_read_only, args)), kind, order="C")
        if made.ndim != ndim:
            raise TypeError(f"`{title}` returned {made.ndim} axes, not {ndim}")
        return made if ndim else made[()]

    return called


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    made = value.view()
    made.flags.writeable = False
    return made


def _by_python(function: Callable[..., Any], count: int, result: Scalar | Array) -> Callable[..., Any]:
    """A function that compiled code can call, which calls another one in Python."""
    kind = result.dtype if isinstance(result, Array) else str(result)
    kind = "boolean" if kind == "bool" else kind
    if isinstance(result, Array):
        kind += f"[{', '.join([':'] * (result.ndim - 1) + ['::1'])}]"
    names = ", ".join(f"x{k}" for k in range(count))
    lines = (
        f"def called({names}):\n"
        f'    with objmode(result="{kind}"):\n'
        f"        result = function({names})\n"
        "    return result\n"
    )
    file = f"<tapec opaque {next(_serial)}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(True), file)
    space: dict[str, Any] = {"objmode": numba.objmode, "function": function}
    exec(compile(lines, file, "exec"), space)
    made: Callable[..., Any] = numba.njit(space["called"])
    return made


class OpaqueFunction:
    """A function that differentiated code calls as it is; see `tapec.opaque`."""

    def __init__(self, function: Callable[..., Any], result: Any = None) -> None:
        self.function = function
        self.result = result
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tapec opaque {self.function!r}>"

    def __tapec_lower__(self, ev: Evaluator, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return opaque_call(ev, self.function, args, kwargs, node, self.result)


# functions that users have given a derivative, by id, with what lowers a call of them
_REGISTERED: dict[int, tuple[Callable[..., Any], Any]] = {}


def note_registered(function: Callable[..., Any], carrier: Any) -> None:
    """Lower calls of a function by the derivative that a user has given it."""
    _REGISTERED[id(function)] = function, carrier


def lowering_of(function: Any) -> Any:
    """What lowers a call of an object that knows how to be: a derivative, a tape, a custom or registered gradient."""
    # a method has the attributes of its function
    own = None if isinstance(function, types.MethodType) else getattr(function, "__tapec_lower__", None)
    if own is None and id(function) in _REGISTERED:
        return _REGISTERED[id(function)][1].__tapec_lower__
    return own


def has_derivative(function: Any) -> bool:
    """Whether a function has a derivative of its own, by a rule or a plain function of ours."""
    if lowering_of(function) is not None:
        return True
    try:
        return function_name(function) is not None or library_function(function) is not None
    except TypeError:
        return False
