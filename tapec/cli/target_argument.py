"""The function that a command is about: TARGET, `--wrt`, `--sig` and `--args`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from tapec.cli.shared_options import WrongInput


def sources(wrt: str) -> int | str | tuple[int | str, ...]:
    """What `--wrt` names: `x`, `0`, or several with commas between.

    >>> sources("x"), sources("0"), sources("x, 2")
    ('x', 0, ('x', 2))
    """
    parts = [part.strip() for part in wrt.split(",")]
    if not all(parts):
        raise WrongInput(f"--wrt {wrt!r} has an empty name")
    found = tuple(int(part) if part.isdecimal() else part for part in parts)
    return found[0] if len(found) == 1 else found


def signature_of(function: Callable[..., Any], sig: str | None, args: str | None) -> tuple[Any, ...]:
    """The Numba types of the arguments, from `--sig`, `--args` or else from the function's annotations."""
    from tapec import signatures

    if args is not None:
        if sig is not None:
            raise WrongInput("--sig and --args both say what the arguments are: give one of them")
        return types_of_values(arguments_of(function, args))
    if sig is not None:
        return signatures.parse(sig)
    return signatures.from_annotations(function)


def arguments_of(function: Callable[..., Any], args: str) -> tuple[Any, ...]:
    """The values that `--args` lists, written as in a call.

    Names are those of the function's module, and `np` and `math`.
    """
    import numpy as np

    from tapec.frontend.source.function_source import parameters
    from tapec.plain_functions import plain_function

    plain = plain_function(function)

    def bound(*given: Any, **named: Any) -> tuple[Any, ...]:
        taken = inspect.Signature(list(parameters(plain).values())).bind(*given, **named)
        taken.apply_defaults()
        return taken.args

    names = {"np": np, "math": math, **plain.__globals__, "bound": bound}
    try:
        found: tuple[Any, ...] = eval(compile(f"bound({args}\n)", "--args", "eval"), names)
    except SyntaxError as error:
        raise WrongInput(f"cannot read --args {args!r}: {error.msg}") from error
    except Exception as error:
        raise WrongInput(f"cannot evaluate --args {args!r}: {type(error).__name__}: {error}") from error
    return found


def types_of_values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The Numba types of argument values."""
    from numba import typeof

    try:
        return tuple(map(typeof, values))
    except ValueError as error:
        raise WrongInput(f"--args: {error}") from error
