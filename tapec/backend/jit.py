"""Generated source to Numba dispatchers."""

from __future__ import annotations

import itertools
import linecache
import math
from typing import Any

import numba
import numpy as np

import tapec_runtime
from tapec.errors import CompilationError
from tapec.pipeline import Program

# sums may be reassociated and products contracted; nan and infinity keep their meaning
FASTMATH = frozenset({"reassoc", "contract"})

_serial = itertools.count(1)


def load(program: Program) -> Any:
    """The Python function that a program's source defines."""
    file = f"<tapec {program.name} {next(_serial)}>"
    namespace: dict[str, Any] = {
        "np": np,
        "math": math,
        "numba": numba,
        "tapec_runtime": tapec_runtime,
        # a module that exists: Numba cannot link recursion in one that does not
        "__name__": __name__,
        **program.namespace,
    }
    text = f"{program.prelude}\n\n{program.source}" if program.prelude else program.source
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)
    return namespace[program.name]


def compile_function(program: Program) -> Any:
    """A Numba dispatcher of the program's function."""
    return numba.njit(error_model="numpy", fastmath=set(FASTMATH))(load(program))


def compile_overload(program: Program, argument_types: tuple[Any, ...]) -> tuple[Any, Any]:
    """The compiled result for exact argument types, and the dispatcher that must outlive it."""
    dispatcher = compile_function(program)
    try:
        dispatcher.compile(argument_types)
    except numba.core.errors.NumbaError as error:
        raise CompilationError(
            f"Numba refused the generated source of `{program.name}`", reason=str(error).splitlines()[0]
        ) from error
    return dispatcher.overloads[argument_types], dispatcher
