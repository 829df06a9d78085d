"""Numbers and arrays as values of Numba's types: what a signature, or the type of a variable, makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba import typeof
from numba.core import types as nt
from numba.core.typing.templates import Signature

from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    PART_OF,
    Complex,
    Items,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex,
    is_none,
    is_scalar,
    plain_number,
)
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.source.numba_decorators import signatures_of
from tapec.frontend.structures.merging import note_roots
from tapec.syntax.core import Name
from tapec.syntax.types import Array, Scalar


class Unconvertible(Exception):
    """A value that is none of a type, and that Numba makes none of it."""


def type_of(ev: Evaluator, value: Value) -> nt.Type | None:
    """Numba's type of a value; None where it has none."""
    value = plain_number(value)
    if isinstance(value, Sym):
        return numba_types.to_numba(value.type)
    if isinstance(value, Complex):
        if not value.is_array:
            return nt.complex64 if value.type.dtype == "complex64" else nt.complex128
        element = nt.complex64 if value.type.dtype == "complex64" else nt.complex128
        layout = value.type.layout if value.type.layout != "A" or not value.contiguous else "C"
        array: Any = nt.Array
        whole: nt.Type = array(element, value.type.ndim, layout, readonly=value.type.readonly)
        return whole
    if isinstance(value, Tup):
        if hasattr(value.cls, "mapping_keys"):
            return None
        items = [type_of(ev, item) for item in value.items]
        if any(item is None for item in items):
            return None
        return nt.BaseTuple.from_types(items, value.cls or tuple)
    if isinstance(value, Lst):
        contents = ev.heap[value]
        items = [type_of(ev, item) for item in contents.values] if isinstance(contents, Items) else []
        return nt.List(items[0], reflected=True) if items and items[0] is not None and len(set(items)) == 1 else None
    if isinstance(value, Static):
        try:
            found: nt.Type = typeof(value.obj)
        except (ValueError, TypeError):
            return None
        return found
    return None


def chosen(
    dispatched: tuple[Signature, ...], types_: tuple[nt.Type, ...], compiled: bool
) -> Signature | None:
    """The signature that Numba takes for arguments of some types; None if none fits.

    compiled  whether the call is one of compiled code, which takes the first of several that fit equally well
    raises    TypeError  where there are several, from Python
    """
    fitting = [one for one in dispatched if len(one.args) == len(types_)]
    exact = next((one for one in fitting if tuple(one.args) == types_), None)
    if exact is not None:
        return exact
    context = numba_types.context()
    found: Signature | None = context.resolve_overload(
        "call", fitting, types_, {}, allow_ambiguous=compiled, unsafe_casting=True
    )
    return found


def converted(ev: Evaluator, value: Value, wanted: nt.Type, node: Any) -> Value:
    """`value` as one of Numba's type `wanted`; raises Unconvertible where Numba has no such conversion."""
    value = plain_number(value)
    wanted = nt.unliteral(wanted)
    if isinstance(wanted, nt.Optional):
        return value if is_none(value) else converted(ev, value, wanted.type, node)
    if isinstance(wanted, nt.Omitted):
        return value
    scalar = numba_types.from_numba(wanted)
    if isinstance(scalar, Scalar) or str(wanted) in PART_OF:
        return _number(ev, value, scalar.dtype if isinstance(scalar, Scalar) else str(wanted), node)
    if isinstance(wanted, nt.Array):
        return _array(ev, value, wanted)
    if isinstance(wanted, nt.BaseTuple):
        kinds = tuple(wanted.types)  # type: ignore[attr-defined]
        if not isinstance(value, Tup) or len(kinds) != len(value.items):
            raise Unconvertible
        items = (converted(ev, item, kind, node) for item, kind in zip(value.items, kinds, strict=True))
        return Tup(tuple(items), value.cls, value.is_argument)
    if isinstance(wanted, nt.FunctionType):
        if _is_called_by(value, wanted):
            return value
        raise Unconvertible
    if isinstance(wanted, nt.NoneType | nt.UnicodeType | nt.Dispatcher | nt.List) and type_of(ev, value) == wanted:
        return value
    raise Unconvertible


def _number(ev: Evaluator, value: Value, dtype: str, node: Any) -> Value:
    if is_array(value) or not (is_scalar(value) or is_complex(value)):
        raise Unconvertible
    if is_complex(value) and (dtype not in PART_OF or getattr(value, "is_array", False)):
        raise Unconvertible
    if dtype == "bool":
        return ev.truth(value, node)
    made: Value = complex_arithmetic.converted(ev, value, dtype)
    return made


def _array(ev: Evaluator, value: Value, wanted: nt.Array) -> Value:
    """The array itself, of a type that may know less of its layout; its elements are never converted."""
    kind = type_of(ev, value)
    if not isinstance(kind, nt.Array) or (kind.dtype, kind.ndim) != (wanted.dtype, wanted.ndim):
        raise Unconvertible
    if wanted.layout not in ("A", kind.layout):
        raise Unconvertible
    if isinstance(value, Complex) or wanted.layout == kind.layout:
        return value
    assert isinstance(value, Sym) and isinstance(value.type, Array)
    made = ev.assign(value.atom, Array(value.type.dtype, value.type.ndim, wanted.layout, value.type.readonly))
    assert isinstance(made.atom, Name)
    note_roots(ev, made.atom.id, value)
    return made


def _is_called_by(value: Value, wanted: nt.FunctionType) -> bool:
    """Whether a function has the very signature that a function type says."""
    return isinstance(value, Static) and wanted.signature in signatures_of(value.obj)


def described(values: Iterable[Value]) -> str:
    """Values in a message."""
    return ", ".join(map(describe, values))
