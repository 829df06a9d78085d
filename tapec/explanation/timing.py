"""What a function and its gradient take, measured."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import event

from tapec.api import derivative, value_and_grad
from tapec.errors import UsageError
from tapec.explanation.page import Times
from tapec.frontend.source.function_source import parameters
from tapec.options import Keywords, chosen

_ENOUGH = 0.5
_MOST = 200


def timed(function: Callable[..., Any], wrt: Any, values: tuple[Any, ...], options: Keywords) -> Times:
    """The best times of the jitted function and of value and gradient, with copies of the arguments.

    raises  UsageError if the function raises with these arguments
    """
    # as the compiler sees it: Numba does not call plain Python functions, tapec does
    primal = function if hasattr(function, "py_func") else derivative(function, 0, "primal", chosen(options))
    both = (primal, value_and_grad(function, wrt, **options))
    with event.install_timer("numba:compile", lambda _: None) as compiling:
        first = _once(both[1], tuple(map(_own, values)))
    _once(primal, tuple(map(_own, values)))
    best = [float("inf"), float("inf")]
    runs, begin = 0, time.perf_counter()
    while runs < 1 or (runs < _MOST and time.perf_counter() - begin < _ENOUGH):
        for place, one in enumerate(both):
            best[place] = min(best[place], _once(one, tuple(map(_own, values))))
        runs += 1
    # nothing is compiled where the code comes from the cache
    return Times(best[0], best[1], runs, first, compiling.duration if compiling.done else 0.0)


def _once(function: Any, values: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    try:
        function(*values)
    except Exception as error:
        raise UsageError(f"cannot time it: with --args the function raises {type(error).__name__}: {error}") from error
    return time.perf_counter() - start


def _own(value: Any) -> Any:
    """A copy of an argument, which the function may write into."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def named(function: types.FunctionType, values: tuple[Any, ...]) -> dict[str, Any]:
    """Argument values by the names of the parameters."""
    return dict(zip(parameters(function), values, strict=False))
