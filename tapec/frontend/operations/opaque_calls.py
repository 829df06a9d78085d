"""Calls of functions that are not read: they are called as they are, and their results have no derivative.

A function of numbers that Numba can call, such as one of its dispatchers or a C function of ctypes, is called by
compiled code.  Any other one is called by Python, in Numba's object mode: it cannot write into its arguments, and its
result is copied.  What it returns has to be a number, an array or a tuple of those, whose types are given, or are those
of what it returns for arguments of ones.
"""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.errors import NumbaError

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedType
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import Lst, Static, Sym, Tup, Value, describe
from tapec.syntax.core import Call, Name, Op
from tapec.syntax.custom_rule import Opaque
from tapec.syntax.types import Array, Scalar, Type

_serial = itertools.count(1)
# extents of arrays of ones, of which the first is taken that a function accepts
_EXTENTS = (2, 3, 1)


def opaque_call(
    ev: Evaluator, function: Callable[..., Any], args: list[Value], kwargs: dict[str, Value], node: Any, result: Any
) -> Value:
    """A call of a function as it is; `result` is its type in Numba's notation, those of a tuple, or None."""
    title = getattr(function, "__name__", type(function).__name__)
    syms: list[Sym] = []

    def place(arg: Value) -> Any:
        """The position of a number or array among `syms`; other objects that are known."""
        value = ev.materialise(ev.as_array(arg, node) if isinstance(arg, Tup | Lst) else arg)
        if isinstance(value, Static):
            return _Known(value.obj)
        if not isinstance(value, Sym) or not isinstance(value.type, Scalar | Array):
            ev.fail(UnsupportedType, f"`{title}` is called as it is, and cannot take {describe(value)}", node)
        syms.append(value)
        return len(syms) - 1

    places = tuple(map(place, args))
    named = tuple((key, place(value)) for key, value in kwargs.items())
    arranged = function if places == tuple(range(len(syms))) and not named else _arranged(function, places, named)
    types_ = tuple(sym.type for sym in syms)
    direct = _by_numba(arranged, types_)
    if direct is not None:
        found = _types_of(direct)
    elif result is not None:
        found = _given(ev, result, node)
    else:
        found = _tried(ev, arranged, title, syms, node)
    if found is None:
        message = f"`{title}` is called as it is, and has to return a number, an array, or a tuple of those"
        ev.fail(UnsupportedType, message, node)
    key = (id(function), places, named, found)
    called = ev.opaque.get(key)
    if called is None:
        plain = title.isidentifier() and not title.startswith("_")
        # no variable: nothing else keeps others from having the name
        name = f"{title if plain else 'function'}__{next(_serial)}"
        if direct is not None and not any(isinstance(one, Array) for one in (*found.members, *types_)):
            called = Opaque(name, arranged, arranged)
        else:
            guarded = _guarded(arranged, title, found, not getattr(function, "_can_compile", True))
            called = Opaque(name, _by_python(guarded, len(syms), found), guarded)
        ev.opaque[key] = called
    atoms = tuple(sym.atom for sym in syms)
    if not found.several:
        return _noted(ev, ev.assign(Op(called, atoms), found.members[0]))
    made = [Sym(Name(ev.define("t", one, temporary=True)), one) for one in found.members]
    ev.emit(Call(tuple(one.atom.id for one in made if isinstance(one.atom, Name)), called, atoms, ev.span))
    return Tup(tuple(_noted(ev, one) for one in made))


def _noted(ev: Evaluator, made: Sym) -> Sym:
    """An array, which has memory of its own."""
    if isinstance(made.type, Array) and isinstance(made.atom, Name):
        ev.roots[made.atom.id] = frozenset({made.atom.id})
    return made


@dataclass(frozen=True)
class _Results:
    """The types of what a function returns: one, or those of a tuple."""

    members: tuple[Scalar | Array, ...]
    several: bool


def _results(kinds: list[Type | None], several: bool) -> _Results | None:
    members = tuple(one for one in kinds if isinstance(one, Scalar | Array))
    return _Results(members, several) if members and len(members) == len(kinds) else None


def _types_of(kind: Any) -> _Results | None:
    """Of a type of Numba's."""
    if isinstance(kind, numba.types.BaseTuple):
        members: Any = kind
        return _results([numba_types.from_numba(one) for one in members], True)
    return _results([numba_types.from_numba(kind)], False)


class _Known:
    """An object that a function is given whenever it is called; the same as another one of the same object."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)


def _arranged(function: Callable[..., Any], places: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> Any:
    """A function of numbers and arrays by position, which hands them on with objects that are known, and by name."""

    def arranged(*given: Any) -> Any:
        args, kwargs = (
            [one.obj if isinstance(one, _Known) else given[one] for one in part]
            for part in (places, [one for _, one in named])
        )
        return function(*args, **dict(zip((name for name, _ in named), kwargs, strict=True)))

    return arranged


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


def _given(ev: Evaluator, result: Any, node: Any) -> _Results | None:
    """The types that a user gives."""
    several = isinstance(result, tuple | list)
    kinds = []
    for one in result if several else [result]:
        try:
            if isinstance(one, str):
                (known, *_), _ = sigutils.normalize_signature(f"({one},)")
            else:
                known = one
            if not several and isinstance(known, numba.types.BaseTuple):
                return _types_of(known)
            kinds.append(numba_types.from_numba(known))
        except (TypeError, NameError, ValueError, SyntaxError, AttributeError):
            hint = 'write "f8" or "f8[:]", and ("f8", "f8[:]") for a tuple'
            ev.fail(TypeMismatch, f"{one!r} is not the type of a number or an array", node, hint=hint)
    return _results(kinds, several)


def _tried(ev: Evaluator, function: Callable[..., Any], title: str, syms: list[Sym], node: Any) -> _Results | None:
    """The types of what a function returns for ones, and for literals as they are."""
    error: Exception | None = None
    for extent in _EXTENTS:
        given = [
            sym.constant
            if sym.constant is not None
            else np.ones((extent,) * sym.type.ndim, sym.type.dtype)
            if isinstance(sym.type, Array)
            else np.ones((), str(sym.type))[()]
            for sym in syms
        ]
        try:
            with np.errstate(all="ignore"):
                made = function(*given)
            several = isinstance(made, tuple | list)
            kinds = [numba_types.type_of_value(_plain(one)) for one in (made if several else [made])]
            return _results([numba_types.from_numba(one) for one in kinds], several)
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


def _guarded(function: Callable[..., Any], title: str, results: _Results, declared: bool) -> Callable[..., Any]:
    """A function that cannot write into its arguments, whose results have memory of their own, and the types they
    should.  `declared` signatures of Numba's are of arrays that could be written into: such a function gets copies."""
    kinds = [_kind(one) for one in results.members]

    def own(value: Any, kind: str, ndim: int) -> Any:
        made = np.array(value, kind, order="C")
        if made.ndim != ndim:
            raise TypeError(f"`{title}` returned {made.ndim} axes, not {ndim}")
        return made if ndim else made[()]

    def called(*args: Any) -> Any:
        given = [_copied(arg) for arg in args] if declared else [_read_only(arg) for arg in args]
        made = function(*given)
        if declared and not all(_same(one, other) for one, other in zip(given, args, strict=True)):
            raise ValueError(f"`{title}` writes into its arguments")
        if not results.several:
            return own(made, *kinds[0])
        if not isinstance(made, tuple | list) or len(made) != len(kinds):
            count = len(made) if isinstance(made, tuple | list) else 1
            raise TypeError(f"`{title}` returned {count} values, not {len(kinds)}")
        return tuple(own(one, *kind) for one, kind in zip(made, kinds, strict=True))

    return called


def _kind(type_: Scalar | Array) -> tuple[str, int]:
    return (type_.dtype, type_.ndim) if isinstance(type_, Array) else (str(type_), 0)


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    made = value.view()
    made.flags.writeable = False
    return made


def _copied(value: Any) -> Any:
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


def _same(copy: Any, value: Any) -> bool:
    return not isinstance(value, np.ndarray) or copy.tobytes() == value.tobytes()


def _by_python(function: Callable[..., Any], count: int, results: _Results) -> Callable[..., Any]:
    """A function that compiled code can call, which calls another one in Python."""
    made_ = [f"y{k}" for k in range(len(results.members))]
    kinds = ", ".join(f'{name}="{_notation(one)}"' for name, one in zip(made_, results.members, strict=True))
    listed, names = ", ".join(made_), ", ".join(f"x{k}" for k in range(count))
    lines = (
        f"def called({names}):\n"
        f"    with objmode({kinds}):\n"
        f"        {listed}{',' if results.several else ''} = function({names})\n"
        f"    return {f'({listed},)' if results.several else listed}\n"
    )
    file = f"<tapec opaque {next(_serial)}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(True), file)
    space: dict[str, Any] = {"objmode": numba.objmode, "function": function}
    exec(compile(lines, file, "exec"), space)
    made: Callable[..., Any] = numba.njit(space["called"])
    return made


def _notation(type_: Scalar | Array) -> str:
    """A type in Numba's notation."""
    kind = type_.dtype if isinstance(type_, Array) else str(type_)
    kind = "boolean" if kind == "bool" else kind
    axes = [":"] * (type_.ndim - 1) + ["::1"] if isinstance(type_, Array) else []
    return f"{kind}[{', '.join(axes)}]" if axes else kind


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
