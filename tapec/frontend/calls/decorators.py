"""Decorators above inner functions: applied, but for `functools.wraps`; of Numba's it is noted what they say."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gast
import numba
from numba.core import sigutils
from numba.core import types as nt

from tapec.errors import TypeMismatch, UnsupportedSyntax
from tapec.frontend.arrays.casts import caster
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.handler_arguments import Args, Kwargs
from tapec.frontend.evaluator.values import (
    Dct,
    Declared,
    Func,
    Items,
    Lst,
    Partial,
    Slice,
    Static,
    Sym,
    Tup,
    Value,
    describe,
)
from tapec.frontend.expressions.names_and_literals import index
from tapec.frontend.source.function_source import undecorated
from tapec.frontend.source.numba_decorators import Jitted, declaration_of, of_options
from tapec.frontend.statements.context_managers import Manager
from tapec.frontend.structures import dicts

_JIT = (numba.njit, numba.jit)


def decorated(ev: Evaluator, decorator: Any, function: Value, node: Any) -> Value:
    """A function under one decorator."""
    options = isinstance(decorator, gast.Call)
    found = ev.expr(decorator.func if options else decorator)
    obj = found.obj if isinstance(found, Static) else None
    if any(obj is one for one in _JIT):
        return _declared(ev, function, _options(ev, decorator), decorator)
    if obj is functools.wraps:
        return function
    if obj is contextlib.contextmanager and ev.live is not None:
        return Static(Manager(function))
    return ev.apply(ev.expr(decorator) if options else found, [function], {}, node)


def jitted(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`njit(f)`, and `njit(...)` before it is given the function."""
    first = args[0] if args else None
    is_function = isinstance(first, Func) or (isinstance(first, Static) and undecorated(first.obj) is not None)
    given = [_object(ev, arg, node) for arg in args]
    said = _said(ev, given, {key: _object(ev, value, node) for key, value in kwargs.items()}, node)
    if is_function:
        assert first is not None
        return _declared(ev, first, said, node)
    return Partial(Static(declare), (Static(said),), {})


def declare(said: Jitted, function: Any) -> Any:
    """What `njit(...)` does to the function that it is given."""
    raise NotImplementedError


def declaring(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A call of `declare`."""
    said, function = args
    assert isinstance(said, Static)
    return _declared(ev, function, said.obj, node)


def _declared(ev: Evaluator, function: Value, said: Jitted, node: Any) -> Value:
    if isinstance(function, Func) and function.jitted is None:
        return replace(function, jitted=said)
    plain = undecorated(function.obj) if isinstance(function, Static) else None
    if plain is None or declaration_of(plain) is not None or isinstance(function, Declared):
        ev.fail(TypeMismatch, f"Numba's `njit` takes plain functions, not {describe(function)}", node)
    return Declared(plain, said)


def _options(ev: Evaluator, node: Any) -> Jitted:
    """What a decorator says; one without brackets says nothing."""
    given = list(node.args) if isinstance(node, gast.Call) else []
    keywords = list(node.keywords) if isinstance(node, gast.Call) else []
    options = {one.arg: _known(ev, one.value) for one in keywords}
    return _said(ev, [_known(ev, one) for one in given], options, node)


def _said(ev: Evaluator, given: list[Any], options: dict[str, Any], node: Any) -> Jitted:
    """What `njit` is told by arguments that are known."""
    signatures: list[Any] = []
    for one in given:
        if isinstance(one, list):
            signatures += one
        elif sigutils.is_signature(one):
            signatures.append(one)
    try:
        return of_options(signatures, options)
    except (TypeError, ValueError, AttributeError, NameError, SyntaxError, numba.core.errors.NumbaError) as error:
        ev.fail(UnsupportedSyntax, "Numba does not take what this decorator says", node, str(error))


def _known(ev: Evaluator, node: Any) -> Any:
    """What an argument of a decorator is, such as a signature or a dict of types."""
    if isinstance(node, gast.Subscript):
        return _known(ev, node.value)[_key(ev, index(ev, node.slice), node)]
    if isinstance(node, gast.Call):
        function = _known(ev, node.func)
        if isinstance(function, nt.Type | type) and not node.keywords:
            return function(*(_known(ev, one) for one in node.args))
    if isinstance(node, gast.Tuple | gast.List):
        items = [_known(ev, one) for one in node.elts]
        return items if isinstance(node, gast.List) else tuple(items)
    return _object(ev, ev.expr(node), node)


def _object(ev: Evaluator, value: Value, node: Any) -> Any:
    match value:
        case Static(obj=obj):
            return obj
        case Func():
            return None
        case Sym() if value.constant is not None:
            return value.constant
        case Tup(items=items):
            return tuple(_object(ev, item, node) for item in items)
        case Lst() if isinstance(contents := ev.heap.get(value), Items):
            return [_object(ev, item, node) for item in contents.values]
        case Dct():
            held: Mapping[Any, Value] = dicts.pairs(ev, value, node)
            return {key: _object(ev, item, node) for key, item in held.items()}
    ev.fail(UnsupportedSyntax, "what a decorator of Numba's says must be known while compiling", node)


def _key(ev: Evaluator, value: Value, node: Any) -> Any:
    """A subscript of a type: `float64[:, ::1]`."""
    if isinstance(value, Tup):
        return tuple(_key(ev, item, node) for item in value.items)
    if isinstance(value, Slice):
        bounds = (value.lower, value.upper, value.step)
        return slice(*(None if one is None else _object(ev, one, node) for one in bounds))
    return _object(ev, value, node)


def number_type(name: str) -> Any:
    """A handler of Numba's type of numbers `name`: of types a signature, of others a conversion."""
    convert = caster({"boolean": "bool"}.get(name, name))

    def call(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
        types_ = [value.obj for value in args if isinstance(value, Static) and isinstance(value.obj, nt.Type)]
        if types_ and len(types_) == len(args):
            return Static(getattr(numba, name)(*types_))
        made: Value = convert(ev, args, kwargs, node)
        return made

    return call


def wraps(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """`functools.wraps(f)`, which gives the function it is applied to a name."""
    return Static(unchanged)


def unchanged(function: Any) -> Any:
    """What `functools.wraps(f)` does, as far as results go."""
    return function


def first(ev: Evaluator, args: Args, kwargs: Kwargs, node: Any) -> Value:
    """A call of `unchanged`."""
    return args[0]
