"""Run what stands after each stage of the pipeline, without the JIT, against the program itself.

The primal of the stages core and typed must return what the program returns, the derivative of the
stages adjoint and optimised its value and the gradients of the compiled derivative; all must leave
the arguments as the program does.  What the adjoint's names are said to be is what they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np

import tapec
from tapec.backend.program import Program
from tapec.backend.signature import arguments
from tapec.backend.stage_text import STAGES, stage_text
from tapec.options import Options
from tapec.pipeline import build
from tests.oracles import SINGLE_TOLERANCE, Args, Derivative, Mismatch, any_single, clone, same
from tests.typed import interpreted
from tests.well_typed import ill_typed

TOLERANCE = 1e-9


def check_stages(f: FunctionType, args: Args, derivative: Derivative, compiled: bool = True) -> None:
    """Raise Mismatch unless every stage computes what the derivative of `f` at `args` does.

    compiled  whether that is machine code: otherwise the last stage is what ran
    """
    seeds = (derivative.cotangent,) if derivative.split else ()
    tolerance = SINGLE_TOLERANCE if any_single((args, derivative.value)) else TOLERANCE
    for stage in STAGES if compiled or derivative.split else STAGES[:-1]:
        run = _stage_function(f, args, derivative, stage)
        mine = clone(args)
        with np.errstate(all="ignore"):
            found = run(*mine) if stage in ("core", "typed") else run(*mine, *clone(seeds))
        if stage in ("adjoint", "optimised"):
            found, gradients = found
            same(f"gradient of stage {stage}", gradients, derivative.gradients, tolerance)
        same(f"value of stage {stage}", found, derivative.value, tolerance)
        same(f"arguments after stage {stage}", mine, derivative.after, tolerance)


def _stage_function(f: FunctionType, args: Args, derivative: Derivative, stage: str) -> Callable[..., Any]:
    """The function that a stage's text defines, run by the interpreter."""
    structure = arguments(tuple(numba.typeof(arg) for arg in args), list(inspect.signature(f).parameters))

    def made(kind: str, options: Options) -> Program:
        kind = "vjp" if kind == "value_and_grad" and derivative.split else kind
        program = build(f, structure, kind, derivative.wrt, options)
        wrong = ill_typed(program.core) if options.level == 0 else []
        if wrong:
            raise Mismatch(f"types of stage {stage}: {'; '.join(wrong)}")
        return program

    return execute(stage_text(f, stage, made))


def check_file(f: FunctionType, args: Args, derivative: Derivative) -> None:
    """Raise Mismatch unless a file's source at level 1, which has statements over whole arrays, gives the gradient."""
    if derivative.split:
        return
    try:
        signature = tuple(map(numba.typeof, args))
    except ValueError:  # functions in tuples, where they are not compiled
        return
    text = tapec.emit(f, derivative.wrt, signature, opt_level=1)
    mine = clone(args)
    with np.errstate(all="ignore"):
        found, gradients = execute(text, f"{f.__name__}_value_and_grad")(*mine)
    tolerance = SINGLE_TOLERANCE if any_single((args, derivative.value)) else TOLERANCE
    same("value of a file at level 1", found, derivative.value, tolerance)
    same("gradient of a file at level 1", gradients, derivative.gradients, tolerance)
    same("arguments after a file at level 1", mine, derivative.after, tolerance)


def execute(text: str, name: str = "") -> Callable[..., Any]:
    """A function that a module's text defines, the last one unless it is named, run by the interpreter."""
    namespace: dict[str, Any] = {"__name__": "stage"}
    # Numba's decorators leave functions as they are
    with interpreted():
        exec(compile(text, "<stage>", "exec"), namespace)
    found: Callable[..., Any] = namespace[name] if name else _last_function(namespace)
    return found


def _last_function(namespace: dict[str, Any]) -> FunctionType:
    return [value for value in namespace.values() if isinstance(value, FunctionType)][-1]
