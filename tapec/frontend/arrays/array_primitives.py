"""Functions that are called as they are: inert ones, and whole-array primitives with rules of their own."""

from __future__ import annotations

import inspect
from typing import Any

import numba
import numpy as np

from tapec.errors import TypeMismatch, UnsupportedType
from tapec.frontend.arrays.array_creation import as_array, copy
from tapec.frontend.evaluator import matrix_types, numba_types
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Lst,
    Static,
    Sym,
    Tup,
    Value,
    describe,
    is_array,
    is_complex,
    is_scalar,
)
from tapec.frontend.operations.allocation import dim
from tapec.frontend.operations.complex_arithmetic import joined, parts
from tapec.rules.arrays_product import vdot
from tapec.rules.arrays_tensor import product_of_stacks
from tapec.rules.linalg import PRIMITIVES
from tapec.syntax.core import Call, Name, Op
from tapec.syntax.types import Array


def inert(ev: Evaluator, name: str, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A function whose result has no derivative: called as it is."""
    function = numba_types.callable_of(name)
    args, kwargs = _named(function, args, kwargs)
    syms: list[Sym] = []
    for arg in args:
        value = as_array(ev, arg, node) if isinstance(arg, Tup | Lst) else arg
        if not isinstance(value, Sym):
            ev.fail(UnsupportedType, f"`{name}` does not take {describe(arg)}", node)
        syms.append(value)
    text = [f"{key}={value.obj!r}" for key, value in kwargs.items() if isinstance(value, Static)]
    numbers = {key: value for key, value in kwargs.items() if isinstance(value, Sym)}
    if len(text) + len(numbers) != len(kwargs):
        ev.fail(UnsupportedType, f"a keyword argument of `{name}` is neither a constant nor a number", node)
    syms += numbers.values()
    found = matrix_types.result_type(name, function, tuple(sym.type for sym in syms))
    core = None if found is None else numba_types.from_numba(found)
    fn = ";".join([name, *text, *(f"{key}=" for key in numbers)])
    if core is not None:
        result = ev.assign(Op(fn, tuple(sym.atom for sym in syms)), core)
        if isinstance(core, Array):
            assert isinstance(result.atom, Name)
            ev.roots[result.atom.id] = frozenset({result.atom.id})
        return result
    if isinstance(found, numba.types.NoneType):
        ev.emit(Call((), fn, tuple(sym.atom for sym in syms), ev.span))
        return NONE
    members = [numba_types.from_numba(member) for member in getattr(found, "types", ())]
    if members and all(member is not None for member in members):
        targets = [ev.define("t", member, temporary=True) for member in members if member is not None]
        ev.emit(Call(tuple(targets), fn, tuple(sym.atom for sym in syms), ev.span))
        for target in targets:
            ev.roots[target] = frozenset({target})
        return Tup(tuple(Sym(Name(target), ev.types[target]) for target in targets))
    types = ", ".join(str(sym.type) for sym in syms)
    ev.fail(TypeMismatch, f"Numba has no `{name}` for ({types})", node)


def _named(function: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments, with text that follows the arrays under its name: `np.searchsorted(a, v, "right")`."""
    place = next((k for k, arg in enumerate(args) if isinstance(arg, Static) and isinstance(arg.obj, str)), len(args))
    if place == len(args):
        return args, kwargs
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return args, kwargs
    return args[:place], {**dict(zip(names[place:], args[place:], strict=False)), **kwargs}


def primitive(ev: Evaluator, name: str, args: Args, node: Any) -> Value:
    """A whole-array function with rules of its own, such as a matrix product."""
    args = [as_array(ev, arg, node) if isinstance(arg, Tup | Lst) else arg for arg in args]
    if name == "np.dot" and any(is_scalar(arg) for arg in args):
        return ev.binary("*", args[0], args[1], node)
    if name == "np.dot" and _rank(args[0]) > 2 and _rank(args[1]) <= 2:
        return matmul(ev, args[0], args[1], node)
    integers = PRIMITIVES[name].integers
    arrays = [
        arg
        for k, arg in enumerate(args)
        if isinstance(arg, Sym) and isinstance(arg.type, Array) and k not in integers
    ]
    dtypes = [np.dtype(arg.type.dtype) for arg in arrays if isinstance(arg.type, Array)]
    common = str(np.result_type(*dtypes)) if dtypes else "float64"
    if not common.startswith("float"):
        common = "float64"
    converted: Args = []
    for k, arg in enumerate(args):
        if isinstance(arg, Sym) and isinstance(arg.type, Array) and k not in integers:
            converted.append(arg if arg.type.dtype == common else copy(ev, arg, common, node))
        else:
            converted.append(arg)
    result = inert(ev, name, converted, {}, node)
    _note_extents(ev, result, converted, name)
    return result


def _note_extents(ev: Evaluator, made: Value, given: Args, name: str) -> None:
    """Note that what is made is as large as what it is made of, so that broadcasts of it are decided.

    The extents of a product are those of its sides, of a solution those of the right, of an inverse and a factor those
    of the matrix.
    """
    if not isinstance(made, Sym) or not isinstance(made.type, Array) or not isinstance(made.atom, Name):
        return
    first, last = given[0], given[-1]
    if name == "np.dot":
        own = [(first, 0)] * (_rank(first) == 2) + [(last, 1)] * (_rank(last) == 2)
    elif len(given) == 2 or name in ("np.linalg.inv", "np.linalg.cholesky"):
        own = [(last, axis) for axis in range(_rank(last))]
    else:
        return
    for axis, (side, which) in enumerate(own):
        assert isinstance(side, Sym)
        ev.dims[made.atom.id, axis] = dim(ev, side, which).atom


def _complex_product(ev: Evaluator, left: Value, right: Value, node: Any) -> Value:
    """A product of complex matrices or vectors, by real products of their parts."""
    for side in (left, right):
        if not isinstance(side, Sym | Complex) or not isinstance(side.type, Array):
            ev.fail(TypeMismatch, f"cannot compute `@` of {describe(left)} and {describe(right)}", node)
    if left.type.ndim == right.type.ndim == 1:  # type: ignore[attr-defined]
        found: Value = ev.inline_library(vdot, [left, right], {}, node)
        return found
    real = {(j, k): ev.matmul(a, b, node) for j, a in enumerate(parts(left)) for k, b in enumerate(parts(right))}
    if len(real) == 2:
        return joined(ev, *(ev.sym(part) for part in real.values()))
    re = ev.materialise(ev.binary("-", real[0, 0], real[1, 1], node))
    im = ev.materialise(ev.binary("+", real[0, 1], real[1, 0], node))
    return joined(ev, re, im)


def _rank(value: Value) -> int:
    return value.type.ndim if isinstance(value, Sym) and isinstance(value.type, Array) else 0


def matmul(ev: Evaluator, left: Value, right: Value, node: Any) -> Value:
    """`left @ right`."""
    if is_complex(left) or is_complex(right):
        return _complex_product(ev, ev.materialise(left), ev.materialise(right), node)
    for side in (left, right):
        if not is_array(side):
            ev.fail(TypeMismatch, f"cannot compute `@` of {describe(left)} and {describe(right)}", node)
    left, right = ev.materialise(left), ev.materialise(right)
    if max(_rank(left), _rank(right)) > 2:
        product: Value = ev.inline_library(product_of_stacks, [left, right], {}, node)
        return product
    return primitive(ev, "np.dot", [left, right], node)
