"""The table of functions with handlers of their own, and methods that need more than the library."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from numba.misc.special import literally

from tapec.frontend.arrays import indexing, padding, stores, tensor_products
from tapec.frontend.arrays.array_creation import (
    array,
    array_copy,
    asarray,
    ascontiguousarray,
    asfortranarray,
    astype,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from tapec.frontend.arrays.array_shapes import (
    expand_dims,
    flatten,
    ndim,
    ravel,
    reshape,
    shape,
    size,
    squeeze,
    swapaxes,
    transpose,
)
from tapec.frontend.arrays.casts import caster, constant, dtype_attribute, known, of_numpy, stop_gradient, to_float
from tapec.frontend.calls import decorators
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import DTYPES, Args, Kwargs
from tapec.frontend.evaluator.values import (
    NONE,
    Complex,
    Dct,
    Lst,
    Record,
    Slice,
    Sym,
    Tup,
    Value,
    is_array,
    is_none,
    is_scalar,
    number,
)
from tapec.frontend.iteration import collections_and_sets, coroutines, iterables, itertools_calls, sequences
from tapec.frontend.iteration.generators import Generator
from tapec.frontend.library import argument_checks, complex_calls, math_calls, pattern_tests
from tapec.frontend.library.builtin_functions import (
    callable_,
    divmod_,
    enumerate_,
    len_,
    list_,
    min_max,
    ndenumerate,
    ndindex,
    new_tuple,
    pow_,
    prange,
    print_call,
    range_,
    reversed_,
    sum_,
    tuple_,
    zip_,
)
from tapec.frontend.library.list_methods import list_method
from tapec.frontend.operations.circular_shifts import roll
from tapec.frontend.operations.conditions import where
from tapec.frontend.operations.runtime_text import format_, repr_, str_
from tapec.frontend.statements import context_managers, object_mode
from tapec.frontend.statements.checkpointed_loops import checkpointed
from tapec.frontend.structures import argument_objects, dicts, made_objects, sparse_matrices, typed_containers
from tapec.frontend.structures.constant_containers import refuse_change
from tapec.frontend.structures.isinstance_tests import isinstance_, type_
from tapec.rules import arrays_common
from tapec_runtime import checkpoint_schedule, variables


def method(
    ev: Evaluator, owner: Value, name: str, args: Args, kwargs: Kwargs, node: Any
) -> Value | None:
    """Methods that need more than the library."""
    if ev.live is not None and (found := ev.live.method(owner, name, args, kwargs, node)) is not None:
        return found
    if isinstance(owner, Record):
        return sparse_matrices.method(ev, owner, name, args, kwargs, node)
    if isinstance(owner, Lst | Dct):
        found = collections_and_sets.method(ev, owner, name, args, kwargs, node)
        if found is not None:
            return found
    if isinstance(owner, Lst):
        if name not in ("copy", "index", "count"):
            refuse_change(ev, owner, node)
        own = list_method(ev, owner, name, args, kwargs, node)
        return sequences.list_method(ev, owner, name, args, kwargs, node) if own is None else own
    if isinstance(owner, Dct):
        return dicts.method(ev, owner, name, args, kwargs, node)
    if isinstance(owner, Tup) and (found := dicts.argument_method(ev, owner, name, args, kwargs, node)) is not None:
        return found
    if isinstance(owner, Generator):
        return coroutines.method(ev, owner, name, args, node)
    if isinstance(owner, Tup) and name == "_replace" and owner.cls is not None:
        fields = owner.cls._fields  # type: ignore[attr-defined]
        items = tuple(kwargs.get(field, item) for field, item in zip(fields, owner.items, strict=True))
        return Tup(items, owner.cls)
    if isinstance(owner, Tup) and name == "_asdict" and owner.cls is not None:
        return dicts.new_dict(ev, dict(zip(owner.cls._fields, owner.items, strict=True)))  # type: ignore[attr-defined]
    if is_array(owner) or is_scalar(owner):
        argument_checks.check(ev, argument_checks.METHODS.get(name), name, args, kwargs, node)
    handler = METHOD_HANDLERS.get(name)
    if handler is not None and (is_array(owner) or is_scalar(owner) or isinstance(owner, Complex)):
        result: Value = handler(ev, [owner, *args], kwargs, node)
        return result
    if name == "fill" and isinstance(owner, Sym | Complex):
        number_ = args[0] if isinstance(args[0], Complex) and not args[0].is_array else ev.scalar(args[0], node)
        stores.write_into(ev, owner, number_, node)
        return NONE
    if name == "item" and isinstance(owner, Sym | Complex):
        if len(args) > 1 or (args and isinstance(args[0], Tup)):
            place = args[0] if len(args) == 1 else Tup(tuple(args))
            return indexing.load(ev, owner, place, node)
        if args:
            return iterables.flat_item(ev, owner, ev.scalar(args[0], node), node)
        if is_scalar(owner) or (isinstance(owner, Complex) and not owner.is_array):
            return owner
        return indexing.load(ev, owner, Tup((number(0),) * getattr(owner.type, "ndim", 0)), node)
    if is_array(owner) and name == "round":
        return ev.call_object(np.round, [owner, *args], kwargs, node)
    if is_array(owner) and name == "dot":
        return ev.call_object(np.dot, [owner, *args], kwargs, node)
    if is_array(owner) and name in INERT_METHODS:
        return ev.call_object(getattr(np, name), [owner, *args], kwargs, node)
    return None


_NUMBA_NUMBERS = (*(name for name in DTYPES if name != "bool"), "boolean", "complex64", "complex128")
INERT_METHODS = frozenset({"argmax", "argmin", "argsort", "any", "all", "nonzero", "searchsorted"})

METHOD_HANDLERS: dict[str, Any] = {
    "astype": astype,
    "copy": array_copy,
    "reshape": reshape,
    "ravel": ravel,
    "flatten": flatten,
    "transpose": transpose,
    "swapaxes": swapaxes,
    "squeeze": squeeze,
}


def slice_(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`slice(stop)`, `slice(start, stop, step)`."""
    given = [None if is_none(arg) else ev.scalar(arg, node) for arg in args]
    lower, upper, step = (None, *given, None) if len(given) == 1 else (*given, None, None)[:3]
    return Slice(lower, upper, step)


SPECIAL: dict[Any, Any] = {
    slice: slice_,
    np.zeros: zeros,
    np.empty: empty,
    np.ones: ones,
    np.full: full,
    np.zeros_like: zeros_like,
    np.empty_like: empty_like,
    np.ones_like: ones_like,
    np.full_like: full_like,
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asarray,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray,
    np.copy: array_copy,
    np.reshape: reshape,
    np.ravel: ravel,
    np.transpose: transpose,
    np.swapaxes: swapaxes,
    np.squeeze: squeeze,
    np.expand_dims: expand_dims,
    np.shape: shape,
    np.ndim: ndim,
    np.size: size,
    np.where: where,
    np.roll: roll,
    np.ndindex: ndindex,
    np.ndenumerate: ndenumerate,
    np.dtype: dtype_attribute,
    len: len_,
    callable: callable_,
    str: str_,
    repr: repr_,
    format: format_,
    range: range_,
    numba.prange: prange,
    checkpoint_schedule.checkpointed: checkpointed,
    numba.njit: decorators.jitted,
    numba.jit: decorators.jitted,
    functools.wraps: decorators.wraps,
    decorators.unchanged: decorators.first,
    decorators.declare: decorators.declaring,
    enumerate: enumerate_,
    zip: zip_,
    reversed: reversed_,
    **complex_calls.SPECIAL,
    np.complex64: of_numpy("complex64"),
    np.complex128: of_numpy("complex128"),
    max: min_max("max"),
    min: min_max("min"),
    sum: sum_,
    isinstance: isinstance_,
    tuple: tuple_,
    tuple.__new__: new_tuple,
    list: list_,
    dict: dicts.dict_,
    **sequences.SPECIAL,
    **pattern_tests.SPECIAL,
    **argument_objects.SPECIAL,
    **made_objects.SPECIAL,
    **context_managers.SPECIAL,
    **object_mode.SPECIAL,
    **typed_containers.SPECIAL,
    **collections_and_sets.SPECIAL,
    **itertools_calls.SPECIAL,
    **math_calls.SPECIAL,
    **tensor_products.SPECIAL,
    **padding.PADDING,
    print: print_call,
    type: type_,
    divmod: divmod_,
    pow: pow_,
    float: to_float,
    int: caster("int64"),
    bool: caster("bool"),
    **{getattr(np, name): of_numpy(name) for name in DTYPES if name != "bool"},
    np.bool_: caster("bool"),
    **{getattr(numba, name): decorators.number_type(name) for name in _NUMBA_NUMBERS},
    arrays_common.stop_gradient: stop_gradient,
    arrays_common.known: known,
    arrays_common.complex_of: complex_calls.complex_of,
    arrays_common.runs_once: lambda ev, args, kwargs, node: number(not ev.loops),
    variables.stop_gradient: stop_gradient,
    variables.constant: constant,
    literally: lambda ev, args, kwargs, node: args[0],
}
