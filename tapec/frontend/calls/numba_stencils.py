"""Calls of functions under Numba's `@stencil`: the function itself, for each element that has all its neighbours.

`a[-1, 0]` in the function is an element beside the one that is computed (`values.Neighbours`).  How far it looks, the
text says, or the option `neighborhood`; elements that are nearer to the border are `cval`.
"""

from __future__ import annotations

import ast
from typing import Any

import gast
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedFunction, UnsupportedSyntax
from tapec.frontend.calls.inlining import call_function
from tapec.frontend.calls.numba_vectorize import dtype_of_element
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Neighbours, Static, Sym, Tup, Value, describe, is_scalar, number
from tapec.frontend.operations.elementwise import store_at
from tapec.frontend.operations.python_errors import raise_if
from tapec.frontend.source.numba_decorators import of_kernel
from tapec.frontend.statements.loops import counted_loop

_NOTHING: frozenset[str] = frozenset()
Reach = list[tuple[int, int]]


def call(ev: Evaluator, stencil: Any, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`stencil(a, b)`, and with `out=`."""
    function = stencil.kernel_ir.func_id.func
    definition = ev.source_of(function).node
    names = [arg.id for arg in definition.args.args]
    name = f"`{function.__name__}`, a function under @stencil,"
    out = kwargs.pop("out", None)
    if kwargs or len(args) != len(names):
        what = f"`{min(kwargs)}=`" if kwargs else f"{len(args)} arguments"
        ev.fail(UnsupportedSyntax, f"{name} is given {what}", node, hint=f"give it {len(names)} arguments, and `out=`")
    values = [ev.materialise(arg) for arg in args]
    plain = stencil.options.get("standard_indexing", ())
    plain = {plain} if isinstance(plain, str) else set(plain)
    relative = [
        key for key, value in zip(names, values, strict=True) if getattr(value, "is_array", False) and key not in plain
    ]
    first = values[0]
    if not relative or relative[0] != names[0] or not isinstance(first, Sym):
        message = f"the first argument of {name} is {describe(first)}"
        ev.fail(TypeMismatch, message, node, hint="give it an array of real numbers that is indexed relatively")
    shape: tuple[Sym, ...] = ev.get_attribute(first, "shape", node).items  # type: ignore[attr-defined]
    reach = _reach(ev, stencil, definition, relative, len(shape), node)
    for key, value in zip(names, values, strict=True):
        if key in relative and value is not first:
            if not isinstance(value, Sym) or value.type.ndim != len(shape):  # type: ignore[union-attr]
                ev.fail(TypeMismatch, f"the arguments of {name} have different ranks", node)
            for extent, other in zip(shape, ev.get_attribute(value, "shape", node).items, strict=True):  # type: ignore[attr-defined]
                wrong = ev.op("!=", extent, other)
                raise_if(ev, wrong, "ValueError", f"arrays that {function.__name__} is given have different shapes")

    def element(index: tuple[Sym, ...]) -> Sym:
        items = [
            Neighbours(value, index) if key in relative else value for key, value in zip(names, values, strict=True)
        ]
        found = ev.materialise(call_function(ev, function, items, {}, node, jitted=of_kernel()))
        if not is_scalar(found):
            ev.fail(TypeMismatch, f"{name} returns {describe(found)}", node)
        result: Sym = found
        return result

    result = _result(ev, stencil, name, out, values, shape, element, node)

    def fill(index: tuple[Sym, ...]) -> None:
        axis = len(index)
        if axis == len(shape):
            store_at(ev, result, tuple(i.atom for i in index), element(index))
            return
        low, high = reach[axis]
        stop = ev.op("-", shape[axis], number(high)) if high > 0 else shape[axis]
        header = ("ijklmn"[axis % 6], number(max(0, -low)), stop, number(1), False, None)
        counted_loop(ev, header, lambda k: fill((*index, k)), _NOTHING, _NOTHING, node)

    fill(())
    return result


def _result(
    ev: Evaluator, stencil: Any, name: str, out: Value | None, values: list[Any], shape: Any, element: Any, node: Any
) -> Any:
    """The array of results, with what stands at its borders."""
    border = stencil.options.get("cval", 0)
    if out is None:
        dtype = dtype_of_element(ev, element, len(shape))
        if not np.can_cast(np.min_scalar_type(border), dtype):
            ev.fail(TypeMismatch, f"the `cval` of {name} is {border!r}, which is no {dtype}", node)
        fill: Value = ev.scalar(ev.wrap(border, node))
        return ev.call_object(np.full, [Tup(tuple(shape)), fill, Static(np.dtype(dtype))], {}, node)
    out = ev.materialise(out)
    shares = isinstance(out, Sym) and out.is_array
    if not shares or any(
        isinstance(one, Sym) and one.is_array and ev.roots_of(one.atom.id) & ev.roots_of(out.atom.id)  # type: ignore[union-attr]
        for one in values
    ):
        message = f"{name} writes into {describe(out)}, which is no array or shares memory with an argument"
        ev.fail(UnsupportedFunction, message, node, hint="give it an array of its own")
    for extent, other in zip(shape, ev.get_attribute(out, "shape", node).items, strict=True):  # type: ignore[attr-defined]
        raise_if(ev, ev.op("!=", extent, other), "ValueError", "the array under `out=` has another shape")
    if "cval" in stencil.options:
        ev.method(out, "fill", [ev.wrap(border, node)], {}, node)
    return out


def _reach(ev: Evaluator, stencil: Any, definition: Any, relative: list[str], rank: int, node: Any) -> Reach:
    """The first and last neighbour along each axis."""
    # not `stencil.neighborhood`, which Numba sets when it compiles
    if "neighborhood" in stencil.options:
        given = [(int(low), int(high)) for low, high in stencil.options["neighborhood"]]
        if len(given) != rank:
            message = f"the `neighborhood` of `{definition.name}` has {len(given)} axes, the array {rank}"
            ev.fail(TypeMismatch, message, node)
        return given
    places = [_places(one.slice, rank) for one in gast.walk(definition) if _is_of(one, relative)]
    loaded = sum(isinstance(one, gast.Name) and one.id in relative for one in _body(definition))
    if not places or len(places) != loaded or None in places:
        ev.fail(
            UnsupportedFunction,
            f"how far `{definition.name}`, a function under @stencil, looks is not known",
            node,
            hint="write its subscripts as numbers, or give the option `neighborhood`",
        )
    columns = list(zip(*(place for place in places if place is not None), strict=True))
    return [(min(0, *column), max(0, *column)) for column in columns]


def _is_of(node: Any, names: list[str]) -> bool:
    return isinstance(node, gast.Subscript) and isinstance(node.value, gast.Name) and node.value.id in names


def _body(definition: Any) -> list[Any]:
    return [node for stmt in definition.body for node in gast.walk(stmt)]


def _places(index: Any, rank: int) -> tuple[int, ...] | None:
    """A subscript that is written as numbers; None of others."""
    try:
        found = ast.literal_eval(gast.gast_to_ast(index))
    except (ValueError, TypeError):
        return None
    places = found if isinstance(found, tuple) else (found,)
    whole = len(places) == rank and all(type(one) is int for one in places)
    return places if whole else None


def is_stencil(obj: Any) -> bool:
    """Whether an object is a function under `@stencil`."""
    return type(obj).__name__ == "StencilFunc"
