"""Derivatives of functions: `grad`, `value_and_grad`, `jvp`, `vjp`, `emit`.

Names and argument order are those that JAX users know.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Literal

from tapec.errors import UsageError
from tapec.frontend.source import undecorated
from tapec.options import Options

_KEPT = 512


def plain_function(f: Any) -> types.FunctionType:
    """The Python function behind `f`; UsageError if there is none."""
    if isinstance(f, types.MethodType):
        raise UsageError(
            f"`{f.__qualname__}` is a bound method", hint="differentiate a function of the arrays it uses"
        )
    function = undecorated(f)
    if function is None:
        raise UsageError(f"{f!r} is not a function with Python source")
    return function


def grad(f: Callable[..., Any] | None = None, wrt: Any = 0) -> Any:
    """The gradient of a function that returns one float.

    f        a Python function, lambda, closure or Numba dispatcher
    wrt      position or name of a parameter, or a tuple of those
    returns  a function of the same arguments: an array of the source's shape and dtype, a float
             for a float, a tuple for a tuple of sources.  Call it from Python or from jitted code.
    raises   TapecError (see tapec.errors) at the first call with new argument types

    >>> import numpy as np
    >>> def energy(x):
    ...     s = 0.0
    ...     for i in range(x.shape[0]):
    ...         s += x[i] ** 2
    ...     return s
    >>> grad(energy)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _derivative(f, wrt, "grad")


def value_and_grad(f: Callable[..., Any] | None = None, wrt: Any = 0) -> Any:
    """The value and the gradient of a function that returns one float, in one pass.

    Parameters as for `grad`; the result is a tuple (value, gradient).

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return _derivative(f, wrt, "value_and_grad")


def _derivative(f: Callable[..., Any] | None, wrt: Any, kind: str) -> Any:
    if f is None:
        return functools.partial(_derivative, wrt=wrt, kind=kind)
    function = plain_function(f)
    wrt = tuple(wrt) if isinstance(wrt, list) else wrt
    from tapec.backend.program import resolve_wrt

    resolve_wrt(function, wrt)
    return _make(function, wrt, kind)


def _make(function: types.FunctionType, wrt: Any, kind: str) -> Any:
    from tapec.backend.dispatcher import make_derivative, signature_function
    from tapec.backend.fingerprint import Request

    labels = list(inspect.signature(function).parameters)

    def make_program(argument_types: tuple[Any, ...]) -> Any:
        # with a warm cache the compiler is not needed, nor imported
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(argument_types, labels), kind, wrt)

    carrier = signature_function(function, function.__name__, function.__doc__ or "")
    made = make_derivative(carrier, make_program, (_make, function, wrt, kind), Request(function, kind, wrt))
    made.__tapec_lower__ = _Inline(function, wrt, kind)
    return made


class _Inline:
    """How a derivative is lowered where differentiated code calls it."""

    def __init__(self, function: types.FunctionType, wrt: Any, kind: str) -> None:
        self.function, self.wrt, self.kind = function, wrt, kind

    def __call__(self, ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.frontend.values import Static
        from tapec.transforms.nested import call_derivative

        return call_derivative(ev, Static(self.function), self.kind, self.wrt, args, kwargs, node)


def _maker(kind: str) -> Any:
    def lower(ev: Any, args: Any, kwargs: Any, node: Any) -> Any:
        from tapec.transforms.nested import lower_maker

        return lower_maker(kind)(ev, args, kwargs, node)

    return lower


@functools.lru_cache(maxsize=_KEPT)
def _seeded(function: types.FunctionType, kind: str, wrt: tuple[int, ...], count: int, seeds: int) -> Any:
    """A derivative that takes tangents or cotangents after the arguments."""
    from tapec.backend.dispatcher import make_derivative
    from tapec.backend.fingerprint import Request

    labels = list(inspect.signature(function).parameters)

    def make_program(argument_types: tuple[Any, ...]) -> Any:
        from tapec.backend.signature import arguments
        from tapec.pipeline import build

        return build(function, arguments(argument_types[:count], labels), kind, wrt)

    names = [f"argument_{k}" for k in range(count)] + [f"seed_{k}" for k in range(seeds)]
    namespace: dict[str, Any] = {}
    exec(f"def {function.__name__ if function.__name__.isidentifier() else 'f'}({', '.join(names)}): pass", namespace)
    carrier = next(v for v in namespace.values() if isinstance(v, types.FunctionType))
    request = Request(function, kind, wrt, count)
    return make_derivative(carrier, make_program, (_seeded, function, kind, wrt, count, seeds), request)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _is_float(leaf: Any) -> bool:
    import numpy as np

    return np.asarray(leaf).dtype.kind == "f"


def jvp(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of `f` and its derivative in a direction (forward mode).

    primals   a tuple of arguments
    tangents  a tuple of the same structure: one float or array for each, None where the
              argument does not move
    returns   (value, tangent), the tangent with the shape and dtype of the value

    >>> jvp(lambda x: x ** 3, (2.0,), (1.0,))
    (8.0, 12.0)
    """
    function = plain_function(f)
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise UsageError("primals and tangents must be tuples")
    if len(primals) != len(tangents):
        raise UsageError(f"{len(primals)} primals but {len(tangents)} tangents")
    moving = tuple(k for k, t in enumerate(tangents) if t is not None)
    seeds = []
    for k in moving:
        ours, theirs = _flat(primals[k]), _flat(tangents[k])
        if len(ours) != len(theirs):
            raise UsageError(f"the tangent of argument {k} has another structure than the argument")
        seeds += [_shaped(t, p, f"the tangent of argument {k}") for t, p in zip(theirs, ours, strict=True)]
    made = _seeded(function, "jvp", moving, len(primals), len(seeds))
    return made(*primals, *seeds)


def _shaped(seed: Any, like: Any, what: str) -> Any:
    """A tangent or cotangent in the dtype and shape of what it belongs to."""
    import numpy as np

    if isinstance(like, np.ndarray):
        made = np.asarray(seed, dtype=like.dtype if like.dtype.kind == "f" else None)
        if made.shape != like.shape:
            raise UsageError(f"{what} has shape {made.shape}, not {like.shape}")
        order: Literal["C", "F"] = "F" if like.flags.f_contiguous and not like.flags.c_contiguous else "C"
        if not like.flags.c_contiguous and not like.flags.f_contiguous:
            # the same layout as the primal, so that both are indexed alike
            strided = np.empty(tuple(2 * n for n in like.shape), made.dtype)[tuple([slice(None, None, 2)] * like.ndim)]
            strided[...] = made
            return strided
        return np.array(made, order=order)
    if np.ndim(seed) != 0:
        raise UsageError(f"{what} must be a number")
    return np.float32(seed) if isinstance(like, np.float32) else float(seed)


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of `f` and the function that pulls a cotangent back (reverse mode).

    primals  the arguments; those of float type are differentiated
    returns  (value, pullback); `pullback(cotangent)` takes one of the value's structure and
             returns a tuple with one entry per argument, None for arguments without derivative

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (3.0, 2.0)
    """
    import copy

    import numpy as np

    function = plain_function(f)
    wrt = tuple(k for k, p in enumerate(primals) if all(_is_float(leaf) for leaf in _flat(p)) and _flat(p))
    at_entry = tuple(copy.deepcopy(p) for p in primals)
    value = _primal(function)(*primals)
    kept = copy.deepcopy(value)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        ours, theirs = _flat(kept), _flat(cotangent)
        if len(ours) != len(theirs):
            raise UsageError("the cotangent has another structure than the value")
        seeds = [
            _shaped(c, v, "the cotangent") for c, v in zip(theirs, ours, strict=True) if _is_float(v)
        ]
        made = _seeded(function, "vjp", wrt, len(primals), len(seeds))
        arguments = tuple(np.array(p, copy=True, order="K") if isinstance(p, np.ndarray) else p for p in at_entry)
        _, adjoints = made(*arguments, *seeds)
        found = dict(zip(wrt, adjoints, strict=True))
        return tuple(found.get(k) for k in range(len(primals)))

    return value, pullback


@functools.lru_cache(maxsize=_KEPT)
def _primal(function: types.FunctionType) -> Any:
    """The function itself, compiled from its core form."""
    return _make(function, (), "primal")


def emit(
    f: Callable[..., Any], wrt: Any = 0, signature: Any = None, value: bool = True, options: Options | None = None
) -> str:
    """The generated gradient of `f` as the text of a Python module.

    signature  Numba argument types: a tuple such as (numba.float64[:], numba.int64), or text
               such as "f8[:], i8"; by default the function's annotations
    value      whether the generated function returns (value, gradient) or the gradient alone
    returns    a module that imports NumPy, Numba and, where needed, tapec_runtime

    >>> print(emit(lambda x: x * x, signature="f8"))  # doctest: +ELLIPSIS
    \"\"\"...
    """
    from tapec.backend.module import module_text
    from tapec.backend.signature import arguments
    from tapec.pipeline import build
    from tapec.signatures import from_annotations, parse

    function = plain_function(f)
    if signature is None:
        signature = from_annotations(function)
    elif isinstance(signature, str):
        signature = parse(signature)
    labels = list(inspect.signature(function).parameters)
    kind = "value_and_grad" if value else "grad"
    program = build(function, arguments(tuple(signature), labels), kind, wrt, options)
    return module_text(program, function)


def show_stage(f: Callable[..., Any], wrt: Any, signature: Any, stage: str) -> str:
    """The program after a stage of the pipeline: core, typed, adjoint or optimised."""
    from tapec.backend.module import stage_text
    from tapec.backend.signature import arguments
    from tapec.pipeline import build

    function = plain_function(f)
    structure = arguments(tuple(signature), list(inspect.signature(function).parameters))
    return stage_text(
        function, structure, stage, lambda options: build(function, structure, "value_and_grad", wrt, options)
    )


# how these are lowered when differentiated code calls them
setattr(grad, "__tapec_lower__", _maker("grad"))  # noqa: B010
setattr(value_and_grad, "__tapec_lower__", _maker("value_and_grad"))  # noqa: B010
