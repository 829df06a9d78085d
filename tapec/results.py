"""What each kind of derivative asks of a function's result, and of its sources."""

from __future__ import annotations

import types
from typing import Any

from tapec.backend.boundary import Boundary
from tapec.errors import NotDifferentiable, Span
from tapec.frontend.lower import Lowered
from tapec.frontend.source.function_source import definition
from tapec.syntax.core import Const, Raise
from tapec.syntax.types import Scalar
from tapec.transforms.compressed import SPARSE
from tapec.transforms.jacobian import JACOBIANS


def check_target(lowered: Lowered, function: types.FunctionType, kind: str, has_aux: bool = False) -> None:
    """`grad` needs one float number, a Jacobian floats; with `has_aux`, a tuple of that and of something else."""
    span = definition(function)
    if lowered.result is None:
        raise _without_result(lowered, function, span)
    if kind in ("vjp", "vjp_directions", "augmented", "pullback"):
        return
    result = lowered.result
    if has_aux:
        if result[0] not in ("tuple", "list") or len(result[2]) != 2:
            raise NotDifferentiable(
                f"with has_aux=True, `{function.__name__}` must return a tuple of two items",
                span,
                hint="return what is to be differentiated, and what else is wanted",
            )
        result = result[2][0]
    if kind in JACOBIANS or SPARSE.get(kind) == "sparse_jacobian":
        _check_floats(result, function)
        return
    if isinstance(result, tuple) and result[0] == "complex":
        raise NotDifferentiable(
            f"`{function.__name__}` returns {result[1]}, which has no gradient",
            span,
            reason="a gradient is that of one real number",
            hint="return its .real, its .imag or its abs(), or use tapec.vjp",
        )
    if not _is_one_number(result):
        found = result[1] if isinstance(result, tuple) and len(result) == 2 else "a tuple"
        raise NotDifferentiable(
            f"`{function.__name__}` must return one number to have a gradient; it returns {found}",
            span,
            hint="use tapec.vjp or tapec.jacobian for other results",
        )
    if not result[1].is_float:
        raise NotDifferentiable(
            f"`{function.__name__}` returns {result[1]}, which has no derivative", span, hint="return a float"
        )


def check_returns(lowered: Lowered, function: types.FunctionType) -> None:
    """Refuse a function that raises whatever it is given."""
    if lowered.result is None and any(isinstance(stmt, Raise) for stmt in lowered.function.body):
        raise _without_result(lowered, function, definition(function))


def _without_result(lowered: Lowered, function: types.FunctionType, span: Span) -> NotDifferentiable:
    """A function that returns nothing, or raises whatever it is given."""
    raised = [stmt for stmt in lowered.function.body if isinstance(stmt, Raise)]
    if not raised:
        return NotDifferentiable(
            f"`{function.__name__}` returns nothing", span, hint="return the number to differentiate"
        )
    texts = [str(arg.value) for arg in raised[0].args if isinstance(arg, Const)]
    what = f"{raised[0].exception}: {texts[0]}" if texts else raised[0].exception
    return NotDifferentiable(f"`{function.__name__}` never returns", raised[0].span or span, reason=f"it raises {what}")


def _is_one_number(result: Any) -> bool:
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Scalar)


def is_number(result: Any) -> bool:
    """Whether a result is a float number, and nothing beside it."""
    return _is_one_number(result) and result[1].is_float


def refuse_complex(function: types.FunctionType, structure: Boundary, sources: tuple[str, ...], kind: str) -> None:
    """A Jacobian by a complex argument would have a block for each part."""
    for pair in structure.pairs():
        if pair.re in sources:
            raise NotDifferentiable(
                f"tapec.{kind} of `{function.__name__}` with respect to the complex `{pair.whole}`",
                definition(function),
                reason="its blocks would be two real ones, not one complex one",
                hint="pass the real and the imaginary part as arguments, or use tapec.jvp or tapec.vjp",
            )


def refuse_complex_result(function: types.FunctionType, result: Any, kind: str) -> None:
    """Directions of complex numbers are not kept in lanes."""
    if result is None:
        return
    if result[0] == "complex":
        raise NotDifferentiable(
            f"tapec.{kind} of `{function.__name__}`, which returns {result[1]}",
            definition(function),
            reason="several directions at once are those of real numbers",
            hint="return the real and the imaginary part, or take one direction after the other",
        )
    for item in result[2] if result[0] in ("tuple", "list") else ():
        refuse_complex_result(function, item, kind)


def _check_floats(result: Any, function: types.FunctionType) -> None:
    """A Jacobian needs results that are floats, every one."""
    if result is not None and result[0] in ("tuple", "list", "complex"):
        for item in result[2]:
            _check_floats(item, function)
    elif result is None or not result[1].is_float:
        found = "None" if result is None else result[1]
        raise NotDifferentiable(
            f"`{function.__name__}` returns {found}, which has no derivative",
            definition(function),
            reason="a Jacobian has a block for every result",
            hint="return floats alone",
        )
