"""Lists: of known length as items, of unknown length as a buffer and a count."""

from __future__ import annotations

from typing import Any

from tapec.errors import TypeMismatch
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.values import (
    PART_OF,
    Complex,
    Contents,
    Growing,
    Items,
    Poison,
    Sym,
    Tup,
    Value,
    describe,
    number,
)
from tapec.frontend.operations.allocation import allocate
from tapec.frontend.operations.elementwise import store_at
from tapec.syntax.core import Assign, Const, Name, Op, Store
from tapec.syntax.types import Array, Scalar, Type

SPARE = 4


def growing(ev: Evaluator, contents: Contents, element: Any) -> Growing:
    """The same list as a buffer with a count; emits the copy.

    element  the type of its elements (`element_type`)
    """
    if isinstance(contents, Growing):
        return contents
    count = len(contents.values)
    if isinstance(element, Tup):
        columns = [growing(ev, column(contents, k), one) for k, one in enumerate(element.items)]
        return Growing(Tup(tuple(one.buffer for one in columns), element.cls), number(count))
    if element.dtype in PART_OF:
        parts = allocate(ev, element.dtype, (number(count + SPARE),))
        for k, value in enumerate(contents.values):
            store_at(ev, parts, (Const(k),), list_number(ev, value))
        return Growing(parts, number(count))
    type_ = Array(element.dtype, 1, "C")
    name = ev.define("t", type_, temporary=True)
    ev.emit(Assign(name, Op("empty", (Const(element.dtype), Const(count + SPARE))), ev.span))
    ev.roots[name] = frozenset({name})
    for k, value in enumerate(contents.values):
        item = ev.cast(ev.scalar(value), element)
        ev.emit(Store(name, (Const(k),), item.atom, span=ev.span))
    return Growing(Sym(Name(name), type_), number(count))


def list_number(ev: Evaluator, value: Value, node: Any = None) -> Sym | Complex:
    """An element of a list whose length is not known."""
    value = ev.present(value)
    if isinstance(value, Poison):
        ev.fail(TypeMismatch, "a list holds elements of different types", node, reason=value.reason)
    if isinstance(value, Complex) and not value.is_array:
        return value
    if not isinstance(value, Sym) or (isinstance(value.type, Array) and value.type.ndim > 0):
        ev.fail(
            TypeMismatch,
            f"a list that grows in a loop or a branch holds numbers, or tuples of those, not {describe(value)}",
            node,
            hint="make an array before and store into its rows",
        )
    return ev.scalar(value, node)


def list_value(ev: Evaluator, value: Value, node: Any = None) -> Any:
    """An element of a list whose length is not known: a number, or a tuple of such."""
    # what a tape's block leaves behind are objects, and such a tuple is none
    if isinstance(value, Tup) and ev.live is None and value.items:
        return Tup(tuple(list_value(ev, item, node) for item in value.items), value.cls)
    return list_number(ev, value, node)


def column(contents: Contents, place: int) -> Contents:
    """The items at one place of a list's tuples, as a list."""
    if isinstance(contents, Growing):
        return Growing(contents.buffer.items[place], contents.count)
    return Items(tuple(value.items[place] for value in contents.values))  # type: ignore[attr-defined]


def _tuples(ev: Evaluator, contents: tuple[Contents, ...]) -> tuple[int, Any] | None:
    """The length and the class of the tuples that lists hold; None for numbers."""
    values = [value for one in contents for value in ([one.buffer] if isinstance(one, Growing) else one.values)]
    found = {(len(value.items), value.cls) if isinstance(value, Tup) and value.items else None for value in values}
    if len(found) > 1:
        ev.fail(TypeMismatch, "a list holds elements of different types")
    return found.pop() if found and ev.live is None else None


def element_type(ev: Evaluator, *contents: Contents) -> Any:
    """The type of a list's elements, from what ways that meet have put into it; a tuple of types for tuples."""
    tuples = _tuples(ev, contents)
    if tuples is not None:
        length, cls = tuples
        return Tup(tuple(element_type(ev, *(column(one, k) for one in contents)) for k in range(length)), cls)
    found: Type | None = None
    for one in contents:
        if isinstance(one, Growing):
            assert isinstance(one.buffer.type, Array)
            types: list[Type] = [one.buffer.type.element]
        else:
            types = [list_number(ev, value).type for value in one.values]
        for type_ in types:
            found = type_ if found is None else numba_types.unify(found, type_)
            if found is None:
                ev.fail(TypeMismatch, "a list holds elements of different types")
    return found if isinstance(found, Scalar) else Scalar("float64")


