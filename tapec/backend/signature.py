"""Numba argument types to the structure that lowering takes."""

from __future__ import annotations

from typing import Any

from numba.core import types as nt

from tapec.backend.program import resolve_wrt
from tapec.backend.repeated_arguments import Same, resolved
from tapec.errors import UnsupportedType, UsageError
from tapec.frontend.evaluator.numba_types import from_numba
from tapec.frontend.evaluator.values import Complex, SameAs, Static, Tup
from tapec.syntax.types import Array, Scalar


def argument(numba_type: Any, label: str) -> Any:
    """A core type, a structure of those, or a Static, for one argument's Numba type."""
    if isinstance(numba_type, Same):
        return SameAs(numba_type.position)
    if isinstance(numba_type, nt.Omitted):
        return _constant(numba_type.value)
    if isinstance(numba_type, nt.NoneType):
        return Static(None)
    if isinstance(numba_type, nt.Optional):
        raise UnsupportedType(f"`{label}` may or may not be None", hint="pass None or a value, not either")
    if isinstance(numba_type, nt.BaseTuple):
        structure: Any = numba_type
        items = tuple(argument(item, label) for item in structure.types)
        cls = structure.instance_class if isinstance(numba_type, nt.BaseNamedTuple) else None
        known = getattr(cls, "known_items", {})
        items = tuple(Static(known[k]) if k in known else item for k, item in enumerate(items))
        return Tup(items, getattr(cls, "stands_for", cls))
    if isinstance(numba_type, nt.Dispatcher):
        return Static(numba_type.dispatcher)
    if isinstance(numba_type, nt.Function):
        return Static(numba_type.typing_key)
    core = from_numba(numba_type)
    if core is not None:
        return core
    part = _part(numba_type)
    if part is not None:
        return Complex(part, part, contiguous=getattr(numba_type, "layout", "A") != "A")
    raise UnsupportedType(
        f"`{label}` has type {numba_type}, which is not supported as an argument",
        hint=_hint(numba_type, label),
    )


def _hint(numba_type: Any, label: str) -> str:
    """What to pass in place of an argument that is not taken."""
    element = getattr(numba_type, "dtype", numba_type)
    if isinstance(element, nt.Record):
        field = next(iter(element.fields))
        return f"pass its fields, which are views: `{label}[{field!r}]`; a dict of them is read as it is"
    return "pass the numbers and arrays in it, by themselves or in a tuple or named tuple"


def _part(numba_type: Any) -> Any:
    """The type of the parts of a complex number or array; None for other types."""
    element = nt.unliteral(numba_type.dtype if isinstance(numba_type, nt.Array) else numba_type)
    if not isinstance(element, nt.Complex):
        return None
    dtype = str(element.underlying_float)
    if isinstance(numba_type, nt.Array):
        # the parts stand in turn in memory: views of them are never contiguous
        return Array(dtype, numba_type.ndim, "A", not numba_type.mutable)
    return Scalar(dtype)


def _constant(value: Any) -> Any:
    """A default that the caller left out."""
    return Static(value)


def arguments(numba_types: tuple[Any, ...], labels: list[str]) -> tuple[Any, ...]:
    """All arguments; a tuple of extra positional arguments is spread."""
    out: list[Any] = []
    for k, numba_type in enumerate(numba_types):
        label = labels[min(k, len(labels) - 1)] if labels else "argument"
        if isinstance(numba_type, nt.StarArgTuple | nt.StarArgUniTuple):
            out += [argument(item, label) for item in numba_type.types]
        else:
            out.append(argument(numba_type, label))
    return tuple(out)


def check_vector(
    function: Any, wrt: Any, numba_types: tuple[Any, ...], vectors: tuple[Any, ...]
) -> None:
    """UsageError if the vector of a Hessian-vector product has not the structure of the gradient."""
    positions, single = resolve_wrt(function, wrt)
    known = resolved((*numba_types, *vectors))
    chosen = [known[position] for position in positions if position < len(numba_types)]
    for vector in known[len(numba_types) :]:
        parts: list[Any] = [vector] if single else _items(vector)
        if len(parts) != len(chosen) or not all(_fits(one, part) for one, part in zip(chosen, parts, strict=True)):
            wanted = ", ".join(map(str, chosen))
            raise UsageError(
                f"the vector of a Hessian-vector product is {vector}, which has not the structure of the gradient",
                hint=f"it is by {wanted if single else f'the tuple ({wanted})'}",
            )


def _items(numba_type: Any) -> list[Any]:
    """The types of a tuple's items; none for other types."""
    tuple_type: Any = numba_type
    return list(tuple_type.types) if isinstance(numba_type, nt.BaseTuple) else []


def _fits(source: Any, vector: Any) -> bool:
    """Whether a vector may be the direction in which an argument moves."""
    if isinstance(source, nt.Omitted | Same) or isinstance(vector, Same):
        return True
    if isinstance(source, nt.BaseTuple) and isinstance(vector, nt.BaseTuple):
        ours, theirs = _items(source), _items(vector)
        return len(ours) == len(theirs) and all(_fits(one, other) for one, other in zip(ours, theirs, strict=True))
    if isinstance(source, nt.Array) and isinstance(vector, nt.Array):
        return source.ndim == vector.ndim
    return not isinstance(source, nt.Array | nt.BaseTuple) and not isinstance(vector, nt.Array | nt.BaseTuple)
