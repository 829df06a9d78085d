"""Lists: of known length as items, of unknown length as a buffer and a count."""

from __future__ import annotations

from typing import Any

from tapec.errors import TypeMismatch
from tapec.frontend import numba_types
from tapec.frontend.elementwise import allocate, store_at
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.optional import present
from tapec.frontend.values import PART_OF, Complex, Contents, Growing, Sym, Value, describe, number
from tapec.syntax.core import Assign, Const, Name, Op, Store
from tapec.syntax.types import Array, Scalar, Type

SPARE = 4


def growing(ev: Evaluator, contents: Contents, element: Scalar) -> Growing:
    """The same list as a buffer with a count; emits the copy."""
    if isinstance(contents, Growing):
        return contents
    count = len(contents.values)
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
    value = present(ev, value)
    if isinstance(value, Complex) and not value.is_array:
        return value
    if not isinstance(value, Sym) or (isinstance(value.type, Array) and value.type.ndim > 0):
        ev.fail(
            TypeMismatch,
            f"a list that grows in a loop or a branch holds numbers only, not {describe(value)}",
            node,
            hint="make an array before and store into its rows",
        )
    return ev.scalar(value, node)


def element_type(ev: Evaluator, *contents: Contents) -> Scalar:
    """The type of a list's elements, from what ways that meet have put into it."""
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


