"""Argument types from text in Numba's notation, or from a function's annotations.

    f8[:], i8                        strided float array, integer
    float64[:, ::1]                  C-contiguous matrix
    f8(f8[:], Tuple((f8, i8)))       a full signature; its return type is ignored

The text is read by a small evaluator of its own, not by `eval`: it may come from a file that
nobody has looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, get_args, get_origin

import numpy as np
from numba import from_dtype, types
from numba.core.typing.templates import Signature

from tapec.errors import UsageError
from tapec.frontend.source.function_source import parameters

_PYTHON = {
    "float": types.float64,
    "int": types.intp,
    "bool": types.boolean,
    "complex": types.complex128,
    "str": types.unicode_type,
    "None": types.none,
}
_CONSTRUCTORS = {
    "Array": types.Array,
    "Tuple": types.Tuple,
    "UniTuple": types.UniTuple,
    "List": types.List,
    "Optional": types.Optional,
    "Omitted": types.Omitted,
}
_HINT = 'write types as Numba does, such as "f8[:], f8" or "float64[:, ::1], int64"'


def parse(text: str) -> tuple[types.Type, ...]:
    """The argument types that a signature's text lists.

    text     types with commas between, or a full signature `return(arguments)`
    raises   UsageError if it is no signature

    >>> parse("f8[::1], i8")
    (Array(float64, 1, 'C', False, aligned=True), int64)
    """
    try:
        found = _Reader(text).read()
    except SyntaxError as error:
        raise UsageError(f"cannot read the signature {text!r}: {error.msg}", hint=_HINT) from error
    if isinstance(found, Signature):
        found = found.args
    parts = found if isinstance(found, tuple) else (found,)
    for part in parts:
        if not isinstance(part, types.Type):
            raise UsageError(f"cannot read the signature {text!r}: {part!r} is no type", hint=_HINT)
    return parts


class _Reader:
    """Evaluates the few expressions that a signature is made of."""

    def __init__(self, text: str):
        self.text = text

    def read(self) -> Any:
        return self.value(ast.parse(self.text.strip() or "()", mode="eval").body)

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.Constant(value=value):
                return self.named("None") if value is None else value
            case ast.Name(id=name):
                return self.named(name)
            case ast.Attribute(value=ast.Name(id="types" | "numba" | "nb" | "np" | "numpy"), attr=name):
                return self.named(name)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="numba" | "nb"), attr="types"), attr=name):
                return self.named(name)
            case ast.Subscript(value=base, slice=index):
                return self.array(self.value(base), index)
            case ast.Call(func=function, args=args, keywords=keywords):
                return self.call(self.value(function), args, keywords)
        raise self.error(node, "is not part of a signature")

    def named(self, name: str) -> Any:
        if name in _PYTHON:
            return _PYTHON[name]
        if name in _CONSTRUCTORS:
            return _CONSTRUCTORS[name]
        found = getattr(types, name, None)
        if not isinstance(found, types.Type):
            raise UsageError(f"cannot read the signature {self.text!r}: unknown type {name!r}", hint=_HINT)
        return found

    def array(self, base: Any, index: ast.expr) -> Any:
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        slices = [self.slice(item) for item in items]
        if not isinstance(base, types.Number | types.Boolean):
            raise self.error(index, "does not subscript a scalar type")
        # Numba reads a tuple of one `::1` as Fortran order
        return base[tuple(slices)] if len(slices) > 1 else base[slices[0]]

    def slice(self, node: ast.expr) -> slice:
        match node:
            case ast.Slice(lower=None, upper=None, step=None):
                return slice(None)
            case ast.Slice(lower=None, upper=None, step=ast.Constant(value=1)):
                return slice(None, None, 1)
        raise self.error(node, "is no dimension; write : or ::1")

    def call(self, function: Any, args: list[ast.expr], keywords: list[ast.keyword]) -> Any:
        if not (isinstance(function, types.Type) or function in _CONSTRUCTORS.values()):
            raise UsageError(f"cannot read the signature {self.text!r}: {function!r} takes no arguments", hint=_HINT)
        positional = [self.value(arg) for arg in args]
        named = {word.arg: self.value(word.value) for word in keywords if word.arg is not None}
        try:
            return function(*positional, **named)
        except Exception as error:  # Numba's constructors raise whatever they stumble on
            reason = str(error) or type(error).__name__
            raise UsageError(f"cannot read the signature {self.text!r}: {reason}", hint=_HINT) from error

    def error(self, node: ast.expr, reason: str) -> UsageError:
        part = ast.get_source_segment(self.text.strip(), node) or ast.unparse(node)
        return UsageError(f"cannot read the signature {self.text!r}: {part!r} {reason}", hint=_HINT)


def from_annotations(function: Callable[..., Any]) -> tuple[types.Type, ...]:
    """The argument types that a function's annotations say.

    An annotation may be a Python or NumPy scalar type, a Numba type, text in Numba's notation, or
    a NumPy array with a known rank.  Parameters with a default and no annotation are left out
    where they come last.

    raises   UsageError for a parameter whose type isn't known
    """
    plain: Any = getattr(function, "py_func", function)
    found: list[types.Type] = []
    skipped = ""
    for parameter in parameters(plain).values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.annotation is parameter.empty:
            if parameter.default is parameter.empty:
                raise _unknown(plain, parameter.name, "has no annotation")
            skipped = skipped or parameter.name
            continue
        if skipped:
            raise _unknown(plain, skipped, "has no annotation")
        type_ = _annotated(parameter.annotation, getattr(plain, "__globals__", {}))
        if type_ is None:
            raise _unknown(plain, parameter.name, f"is annotated {parameter.annotation!r}, which leaves its type open")
        found.append(type_)
    return tuple(found)


def _unknown(function: Any, name: str, why: str) -> UsageError:
    return UsageError(
        f"the type of {name!r} of {function.__qualname__} is not known: it {why}",
        hint='give the argument types, such as --sig "f8[:], f8"',
    )


def _annotated(annotation: Any, names: dict[str, Any]) -> types.Type | None:
    """The Numba type of one annotation, or None."""
    if isinstance(annotation, str):
        try:
            parsed = parse(annotation)
            return parsed[0] if len(parsed) == 1 else None
        except UsageError:
            return _annotated(_evaluated(annotation, names), names)
    if isinstance(annotation, types.Type):
        return annotation
    if get_origin(annotation) is np.ndarray:
        return _array(*get_args(annotation))
    if get_origin(annotation) is tuple:
        items = [_annotated(item, names) for item in get_args(annotation)]
        return None if None in items else types.Tuple(tuple(items))
    if isinstance(annotation, type):
        if annotation.__name__ in _PYTHON and annotation.__module__ == "builtins":
            return _PYTHON[annotation.__name__]
        if issubclass(annotation, np.generic):
            return _of_dtype(annotation)
    return None


def _evaluated(annotation: str, names: dict[str, Any]) -> Any:
    # postponed annotations are text; the module that holds them has been run already
    try:
        return eval(annotation, names)
    except Exception:
        return None


def _array(shape: Any, dtype: Any) -> types.Type | None:
    extents = get_args(shape)
    scalar = get_args(dtype)
    if not scalar or Ellipsis in extents or get_origin(shape) is not tuple:
        return None
    element = _of_dtype(scalar[0])
    return None if element is None else types.Array(element, len(extents), "A")


def _of_dtype(scalar: Any) -> types.Type | None:
    try:
        return from_dtype(np.dtype(scalar))
    except (TypeError, NotImplementedError):
        return None
