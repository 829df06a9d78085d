"""Calls of a program that has not been compiled: it runs as Python over whole arrays.

A program that changes the structure of objects, such as an optimiser that makes its slots, is not met again: the next
call is another program.  So it is not compiled.  A long program is compiled when it has run for as long as compilation
is expected to take.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from tapec.analyses.random_draws import drawn
from tapec.backend.array_text import WholeArrays, whole_arrays
from tapec.optimise import simple
from tapec.options import Options
from tapec.syntax.core import Function, Name, Print, Return, walk
from tapec.syntax.types import Array, Scalar, Type
from tapec.tape.run.compiled_derivative import (
    SECONDS_PER_STATEMENT,
    STEPS_PER_STATEMENT,
    called_as_numba,
    loaded,
    python_functions,
)
from tapec_runtime.locking import jit_is_off

# statements of a program as it is lowered from which its compilation takes longer than one waits gladly
LONG = 500


class GivenUp(Exception):
    """The program has to be compiled: nothing that it was given has been changed."""


class FirstCalls:
    """A program as Python, in the place of the compiled one.

    source  its text
    goes_on whether it has not yet run for as long as compilation is expected to take
    """

    def __init__(self, core: Function, constants: dict[str, Any], arrays: WholeArrays) -> None:
        self.arrays, self.source = arrays, arrays.text
        self.spent = 0.0
        self.goes_on = True
        run = loaded(core.name, arrays.text, {**constants, **python_functions(core)})
        self.run = partial(run, **{arrays.steps: arrays.length * STEPS_PER_STATEMENT}) if arrays.steps else run
        last = core.body[-1]
        assert isinstance(last, Return)
        self.types = [core.types[one.id] if isinstance(one, Name) else None for one in last.values]

    def __call__(self, *arguments: Any) -> Any:
        """The results of the program, as compiled code would give them."""
        kept = [(arguments[place], arguments[place].copy()) for place in self.arrays.written]
        start = time.perf_counter()
        try:
            found = called_as_numba(self.run, arguments)
        except (ArithmeticError, MemoryError, TimeoutError):
            # Python raises where compiled code gives infinity, whole arrays may be too large, and loops too long
            self.goes_on = False
            for array, before in kept:
                array[...] = before
            raise GivenUp from None
        self.spent += time.perf_counter() - start
        self.goes_on = self.goes_on and self.spent <= self.arrays.length * SECONDS_PER_STATEMENT
        if len(self.types) == 1 and not isinstance(found, tuple):
            return _as_compiled(found, self.types[0])
        return found and tuple(map(_as_compiled, found, self.types))


def first_calls(core: Function, constants: dict[str, Any], options: Options) -> FirstCalls | None:
    """A program as it runs before it is compiled; None where it cannot do so."""
    limited = options.debug is not None or options.memory is not None
    if not options.fast or limited or jit_is_off() or not may_run_twice(core):
        return None
    shortened = simple(core, frozenset(constants))
    return FirstCalls(shortened, constants, whole_arrays(shortened))


def may_run_twice(core: Function) -> bool:
    """Whether nobody notices that a program was given up in the middle: it neither prints nor draws numbers."""
    return not any(isinstance(stmt, Print) or drawn(stmt) is not None for stmt in walk(core.body))


def _as_compiled(value: Any, type_: Type | None) -> Any:
    """A result as compiled code gives it: numbers are Python's, elements stand in the order of the array's type."""
    if isinstance(type_, Scalar):
        return (float if type_.is_float else bool if type_.dtype == "bool" else int)(value)
    if isinstance(type_, Array) and type_.layout == "C":
        return np.require(value, requirements="C")
    return value
