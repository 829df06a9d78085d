"""Ask Numba for the type of one operation.

Core form names every intermediate, so a program is typed operation by operation, with the
resolution that Numba's own inference uses for each of its constraints.  No code is generated,
except for what NumPy overloads compile when they are resolved.
"""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from numba import typeof
from numba.core import errors as numba_errors
from numba.core import types as nt

from tapec.frontend.evaluator import scalar_types
from tapec.syntax.core import Const, Expr, Op
from tapec.syntax.types import Array, Scalar, Text, Type
from tapec_runtime.locking import contexts, jit_turned_on, refresh

# Numba fills this module with its settings while it is imported

_SCALARS: dict[nt.Type, Scalar] = {
    nt.float64: Scalar("float64"),
    nt.float32: Scalar("float32"),
    nt.boolean: Scalar("bool"),
    **{getattr(nt, name): Scalar(name) for name in ("int8", "int16", "int32", "int64")},
    **{getattr(nt, name): Scalar(name) for name in ("uint8", "uint16", "uint32", "uint64")},
}
_NUMBA_SCALARS: dict[str, nt.Type] = {
    **{scalar.dtype: numba_type for numba_type, scalar in _SCALARS.items()},
    # no type of core; only asked about
    "complex64": nt.complex64,
    "complex128": nt.complex128,
}

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "neg": operator.neg,
    "pos": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}


def callable_of(fn: str) -> Callable[..., Any]:
    """The Python object that an operation's name stands for."""
    if fn in OPERATORS:
        return OPERATORS[fn]
    module, _, name = fn.rpartition(".")
    root, *rest = (module or "builtins").split(".")
    found: Any = importlib.import_module({"np": "numpy"}.get(root, root))
    for part in (*rest, name):
        found = getattr(found, part)
    function: Callable[..., Any] = found
    return function


def to_numba(core_type: Type) -> nt.Type:
    """The Numba type of a core type."""
    if isinstance(core_type, Scalar):
        return _NUMBA_SCALARS[core_type.dtype]
    if isinstance(core_type, Array):
        element = _NUMBA_SCALARS[core_type.dtype]
        layout = cast(Literal["C", "F", "A"], core_type.layout)
        return nt.Array(element, core_type.ndim, layout, readonly=core_type.readonly)
    if isinstance(core_type, Text):
        return nt.unicode_type
    raise TypeError(f"no Numba type for {core_type}")


def from_numba(numba_type: nt.Type) -> Type | None:
    """The core type of a Numba type; None where tapec has none."""
    numba_type = nt.unliteral(numba_type)
    if isinstance(numba_type, nt.UnicodeType):
        return Text()
    if numba_type in _SCALARS:
        return _SCALARS[numba_type]
    if isinstance(numba_type, nt.Array) and numba_type.dtype in _SCALARS:
        dtype = _SCALARS[numba_type.dtype].dtype
        return Array(dtype, numba_type.ndim, numba_type.layout, not numba_type.mutable)
    return None


def type_of_value(value: object) -> nt.Type:
    """Numba's type of a Python value; raises ValueError where it has none."""
    numba_type: nt.Type = typeof(value)
    return numba_type


@functools.lru_cache(maxsize=1)
def context() -> Any:
    """What Numba resolves types by."""
    # importing the function registries is what `njit` does on its first compilation
    refresh()
    return contexts[0]


@functools.lru_cache(maxsize=20_000)
def _resolve(function: Callable[..., Any], args: tuple[nt.Type, ...]) -> nt.Type | None:
    return scalar_types.known_type(function, args) or _resolved_by_numba(function, args)


def _resolved_by_numba(function: Callable[..., Any], args: tuple[nt.Type, ...]) -> nt.Type | None:
    if isinstance(function, types.FunctionType) and function.__module__.startswith("tapec_runtime"):
        # not jitted, since the user has turned the JIT off: elementary functions keep the kind of their arguments
        floats = [arg for arg in args if isinstance(arg, nt.Float)]
        return max(floats, key=lambda kind: kind.bitwidth, default=nt.float64)
    # Numba types an overload by compiling it, which it cannot where the user has turned the JIT off
    with jit_turned_on():
        found = _answer(function, args)
        if found is None:
            # something may have been registered for it since
            refresh()
            found = _answer(function, args)
    return found


def _answer(function: Callable[..., Any], args: tuple[nt.Type, ...]) -> nt.Type | None:
    typing = context()
    try:
        signature = typing.resolve_function_type(typing.resolve_value_type(function), args, {})
    except (numba_errors.NumbaError, TypeError, ValueError, AssertionError, NotImplementedError):
        return None
    return None if signature is None else signature.return_type


def result_type(function: Callable[..., Any], args: tuple[Type, ...]) -> nt.Type | None:
    """The Numba type that `function(*args)` returns, or None if Numba refuses these arguments."""
    return _resolve(function, tuple(to_numba(arg) for arg in args))


@functools.lru_cache(maxsize=1_000)
def unify_scalars(first: Scalar, second: Scalar) -> Scalar | None:
    """The type of a variable that holds `first` on one path and `second` on another."""
    known = scalar_types.common_type(first.dtype, second.dtype)
    if known is not None:
        return Scalar(known)
    unified = context().unify_pairs(_NUMBA_SCALARS[first.dtype], _NUMBA_SCALARS[second.dtype])
    return Scalar(str(unified)) if isinstance(unified, nt.Complex) else _SCALARS.get(unified)


def unify(first: Type, second: Type) -> Type | None:
    """The common type of two values that meet in one variable, or None."""
    if first == second:
        return first
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return unify_scalars(first, second)
    if isinstance(first, Array) and isinstance(second, Array):
        if (first.dtype, first.ndim) != (second.dtype, second.ndim):
            return None
        layout = first.layout if first.layout == second.layout else "A"
        return Array(first.dtype, first.ndim, layout, first.readonly or second.readonly)
    return None


@functools.lru_cache(maxsize=2_000)
def view_type(array: Array, kinds: tuple[nt.Type, ...]) -> Array | None:
    """The type of a basic subscript of `array`, such as a slice; None if Numba has none."""
    index = kinds[0] if len(kinds) == 1 else nt.Tuple(kinds)
    found = _resolve(operator.getitem, (to_numba(array), index))
    result = None if found is None else from_numba(found)
    return result if isinstance(result, Array) else None


def subscript_type(array: Type, subs: Sequence[Expr]) -> Array:
    """The type of a view by subscripts of core form."""
    assert isinstance(array, Array)
    kinds: list[nt.Type] = []
    for sub in subs:
        if isinstance(sub, Op):
            kinds.append(nt.slice2_type if sub.args[2] == Const(None) else nt.slice3_type)
        else:
            kinds.append(nt.none if sub == Const(None) else nt.int64)
    found = view_type(array, tuple(kinds))
    assert found is not None
    return found


def operation_type(fn: str, args: tuple[Type, ...]) -> Scalar | None:
    """The type of a scalar operation of core form; None if there is none."""
    if fn.startswith("cast."):
        return Scalar(fn.removeprefix("cast."))
    if fn in ("and", "or", "not"):
        return Scalar("bool")
    if fn == "ifelse":
        found: Type | None = unify(args[1], args[2])
    elif fn in ("stop_gradient", "known"):
        found = args[0]
    elif fn == "strong":
        return operation_type("*", args)
    elif fn == "dim":
        found = Scalar("int64")
    else:
        numba_type = result_type(callable_of(fn), args)
        found = None if numba_type is None else from_numba(numba_type)
    return found if isinstance(found, Scalar) else None
