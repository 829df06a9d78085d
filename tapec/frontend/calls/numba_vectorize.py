"""Calls of functions under Numba's `@vectorize`: the function itself, in a loop over the elements of arrays.

A function without signatures is compiled for the types that it is called with; one with signatures takes the first
of them that its arguments fit, as NumPy chooses a loop of a ufunc, and arguments are converted to it.
"""

from __future__ import annotations

import types
from typing import Any

from numba.np.numpy_support import ufunc_find_matching_loop
from numba.np.ufunc.dufunc import DUFunc

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.calls.inlining import call_function
from tapec.frontend.evaluator import numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import Complex, Lazy, Sym, Value, describe, is_array, is_complex, is_scalar, number
from tapec.frontend.operations import complex_arithmetic
from tapec.frontend.operations.allocation import allocate
from tapec.frontend.operations.broadcasting import broadcast, value_rank
from tapec.frontend.operations.elementwise import element_at, store_at
from tapec.frontend.source.numba_decorators import of_ufunc
from tapec.frontend.statements.loops import counted_loop
from tapec.syntax.types import Array, Scalar

_NOTHING: frozenset[str] = frozenset()


def function_of(obj: Any) -> types.FunctionType | None:
    """The plain Python function under `@vectorize`, which takes numbers; None for other objects."""
    inner = getattr(getattr(obj, "_dispatcher", None), "py_func", None) if isinstance(obj, DUFunc) else None
    return inner if isinstance(inner, types.FunctionType) else None


def call(ev: Evaluator, ufunc: Any, function: types.FunctionType, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`ufunc(x, y)` of numbers and arrays, which are broadcast."""
    name = f"`{ufunc.__name__}`, a function under @vectorize,"
    if kwargs:
        ev.fail(UnsupportedSyntax, f"{name} is given `{min(kwargs)}=`", node, hint="assign its result: `y[:] = f(x)`")
    if len(args) != ufunc.nin:
        ev.fail(TypeMismatch, f"{name} takes {ufunc.nin} arguments, not {len(args)}", node)
    given = [_operand(ev, arg, node) for arg in args]
    taken, made = _loop_types(ev, ufunc, given, node)
    said = of_ufunc(ufunc._dispatcher)

    def value_of(numbers: list[Any]) -> Any:
        items: list[Value] = [complex_arithmetic.converted(ev, one, t) for one, t in zip(numbers, taken, strict=True)]
        found = ev.materialise(call_function(ev, function, items, {}, node, jitted=said))
        if not (is_scalar(found) or is_complex(found)) or is_array(found):
            ev.fail(TypeMismatch, f"{name} returns {describe(found)}", node)
        return complex_arithmetic.converted(ev, found, made) if made is not None else found

    if not any(map(value_rank, given)):
        return value_of(given)
    # the dtype does not matter here, only the shape that the operands have together
    shape = broadcast(ev, Lazy("+", tuple(given), Array("float64", max(map(value_rank, given)))))

    def element(index: tuple[Sym, ...]) -> Any:
        return value_of([element_at(ev, one, index, shape) for one in given])

    result = allocate(ev, made or dtype_of_element(ev, element, len(shape.extents)), shape.extents)

    def fill(index: tuple[Sym, ...]) -> None:
        if len(index) == len(shape.extents):
            store_at(ev, result, tuple(i.atom for i in index), element(index))
            return
        header = ("ijklmn"[len(index) % 6], number(0), shape.extents[len(index)], number(1), False, None)
        counted_loop(ev, header, lambda k: fill((*index, k)), _NOTHING, _NOTHING, node)

    fill(())
    return result


def _operand(ev: Evaluator, arg: Value, node: Any) -> Any:
    value = ev.materialise(arg)
    if not (is_scalar(value) or is_array(value) or is_complex(value)):
        value = ev.as_array(value, node)
    return value


def _dtype(value: Sym | Complex) -> str:
    assert isinstance(value.type, Scalar | Array)
    return value.type.dtype


def _loop_types(ev: Evaluator, ufunc: Any, given: list[Any], node: Any) -> tuple[list[str], str | None]:
    """The dtypes that the function is called with, and that of its result; None where its source tells that."""
    own = [_dtype(one) for one in given]
    if not ufunc._frozen:
        return own, None
    found: Any = ufunc_find_matching_loop(ufunc, tuple(map(numba_types.to_numba, map(Scalar, own))))
    if found is None:
        ev.fail(TypeMismatch, f"no signature of `{ufunc.__name__}` fits {', '.join(map(describe, given))}", node)
    return [str(one) for one in found.inputs], str(found.outputs[0])


def dtype_of_element(ev: Evaluator, element: Any, rank: int) -> str:
    """The dtype of an element: it is computed once, and what that has written is dropped."""
    entry, taken, outer = ev.snapshot(), set(ev.taken), ev.block
    ev.block = []
    try:
        found = element((number(0),) * rank)
    finally:
        ev.block = outer
    ev.restore(entry)
    ev.taken = taken | ev.fixed
    return _dtype(found)
