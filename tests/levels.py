"""The same derivative with other options, and its derivative: checks for random programs, and a level for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import tapec
from tapec import pipeline
from tapec.errors import NotDifferentiable, UnsupportedType
from tapec.frontend.lower import lower
from tapec.options import DEFAULT, Options
from tests.oracles import (
    SINGLE_TOLERANCE,
    Args,
    Derivative,
    Mismatch,
    any_single,
    clone,
    float_vector,
    leaves,
    random_like,
    same,
    shifted,
)
from tests.sparsity import dense
from tests.typed import interpreted

VALUE_TOLERANCE = 1e-12
GRADIENT_TOLERANCE = 1e-9
SECOND_TOLERANCE = 1e-6


@contextmanager
def plainly() -> Iterator[None]:
    """A while in which derivatives for which no level is asked stay as differentiated."""
    with mock.patch.dict(DEFAULT.__dict__, level=0), mock.patch.object(Options, "level", 0):
        # that of another level
        DEFAULT.__dict__.pop("_hash", None)
        yield


@contextmanager
def read_once() -> Iterator[None]:
    """A while in which no function is read for each of its derivatives: it does not change, nor does what it reads."""
    known: dict[Any, Any] = {}

    def lowered(function: Any, arguments: Any, **given: Any) -> Any:
        key = function, repr(arguments), *given.values()
        if key not in known:
            known[key] = lower(function, arguments, **given)
        return known[key]

    with mock.patch.object(pipeline, "lower", lowered):
        yield


def check_options(f: Callable[..., Any], args: Args, derivative: Derivative, **options: Any) -> None:
    """Raise Mismatch unless options give the value, the arguments after, and the gradients of the default ones."""
    single = any_single((args, derivative.value))
    values, gradients = (SINGLE_TOLERANCE,) * 2 if single else (VALUE_TOLERANCE, GRADIENT_TOLERANCE)
    said = ", ".join(f"{key}={value}" for key, value in options.items())
    mine = clone(args)
    if derivative.split:
        found, pullback = tapec.vjp(f, *mine, **options)
        every = pullback(derivative.cotangent)
        mine_gradients = tuple(every[position] for position in derivative.wrt)
    else:
        found, mine_gradients = tapec.value_and_grad(f, wrt=derivative.wrt, **options)(*mine)
    same(f"value with {said}", found, derivative.value, values)
    same(f"arguments after, with {said}", mine, derivative.after, values)
    _close(f"gradient with {said}", mine_gradients, derivative.gradients, gradients)


def _close(label: str, got: Any, wanted: Any, tolerance: float) -> None:
    """Raise Mismatch unless two trees of gradients agree relative to the greatest entry."""
    one, other = float_vector(got), float_vector(wanted)
    allowed = tolerance * (1.0 + np.max(np.abs(other), initial=0.0))
    if one.shape != other.shape or not np.all(np.abs(one - other) <= allowed):
        raise Mismatch(f"{label}: {got!r} against {wanted!r}")


def check_second(f: Callable[..., Any], args: Args, derivative: Derivative, step: float = 1e-4) -> None:
    """Raise Mismatch unless Hessian products, forward and reverse, are differences of the gradient.

    Only for functions that return one float of double precision; left out near kinks.
    """
    if derivative.split or any_single(args):
        return
    wrt = derivative.wrt
    rng = np.random.default_rng(1)
    tangents = tuple(random_like(rng, args[position]) for position in wrt)
    gradient = tapec.grad(f, wrt=wrt)

    def along(size: float) -> np.ndarray:
        near, far = (
            float_vector(gradient(*shifted(args, wrt, tangents, h * size)))
            - float_vector(gradient(*shifted(args, wrt, tangents, -h * size)))
            for h in (1, 2)
        )
        return (8.0 * near - far) / (12.0 * size)

    numeric, closer = along(step), along(step / 3)
    allowed = SECOND_TOLERANCE * (1.0 + np.max(np.abs(numeric), initial=0.0))
    if not np.all(np.abs(numeric - closer) <= 0.3 * allowed):
        return
    with interpreted():
        product = float_vector(tapec.hvp(f, wrt=wrt)(*clone(args), tangents))
        moved = float_vector(tangents)
        if moved.size <= _ELEMENTS:
            together = dense(f, args, wrt, tapec.hessian) @ moved
            _close("Hessian, all columns at once, against one direction", together, product, GRADIENT_TOLERANCE)
        pulled = float_vector(_pulled(tapec.grad(f, wrt=wrt), args, wrt, tangents))
    if product.shape != numeric.shape or not np.all(np.abs(product - numeric) <= allowed):
        raise Mismatch(f"Hessian product against differences: {product!r} against {numeric!r}")
    if pulled.shape != numeric.shape or not np.all(np.abs(pulled - numeric) <= allowed):
        raise Mismatch(f"reverse of the gradient against differences: {pulled!r} against {numeric!r}")


def check_jacobians(f: Callable[..., Any], args: Args, derivative: Derivative) -> None:
    """Raise Mismatch unless strips of columns and of rows are what forward mode gives, one direction at a time.

    For arguments that are numbers or arrays of few elements; what has no Jacobian is left out.
    """
    tolerance = SINGLE_TOLERANCE if any_single((args, derivative.value)) else GRADIENT_TOLERANCE
    for position in derivative.wrt:
        source = args[position]
        if isinstance(source, tuple | list | dict) or np.iscomplexobj(source) or np.size(source) > _ELEMENTS:
            continue
        with interpreted():
            try:
                blocks = {mode: tapec.jacobian(f, position, mode)(*clone(args)) for mode in ("forward", "reverse")}
            except (NotDifferentiable, UnsupportedType):
                return
            for place in np.ndindex(np.shape(source)):
                tangents: list[Any] = [None] * len(args)
                tangents[position] = unit = np.zeros_like(source)
                unit[place] = 1
                if not isinstance(source, np.ndarray):
                    tangents[position] = type(source)(1)
                _, wanted = tapec.jvp(f, clone(args), tuple(tangents))
                for mode, found in blocks.items():
                    column = [np.asarray(block)[(..., *place)] for block in leaves(found)]
                    _close(f"Jacobian, {mode}, column {place} of argument {position}", column, wanted, tolerance)


# of an argument whose columns are compared
_ELEMENTS = 24


def _pulled(gradient: Callable[..., Any], args: Args, wrt: tuple[int, ...], cotangents: Args) -> Args:
    """Cotangents pulled back through a gradient: a Hessian product by reverse over reverse."""
    _, pullback = tapec.vjp(gradient, *clone(args))
    every = pullback(cotangents)
    return tuple(every[position] for position in wrt)
