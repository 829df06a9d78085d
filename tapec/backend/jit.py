"""Generated source to machine code."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import linecache
import math
import sys
import types
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba.core import types as nt
from numba.core.errors import NumbaError, NumbaPerformanceWarning
from numba.core.typing.templates import signature

import tapec_runtime
from tapec.backend import argument_types, code_by_text
from tapec.backend.numba_internals import lean_compiler
from tapec.backend.program import Program
from tapec.backend.progress import told
from tapec.errors import CompilationError
from tapec.options import DEFAULT, Options
from tapec_runtime.locking import jit_is_off

_serial = itertools.count(1)


def decorator(options: Options = DEFAULT) -> str:
    """What stands above a generated function in a module of its own."""
    return f"@numba.njit({options.flags_text})"


class _Interpreted:
    """The runtime without the JIT, also where it was imported before the user turned the JIT off."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(tapec_runtime, name)
        return getattr(found, "py_func", found)


def load(program: Program, module_name: str = "", path: str = "") -> Any:
    """The Python function that a program's source defines.

    `path` is the file that holds `program.text`; without one, tracebacks find the text in memory.
    """
    serial = next(_serial)
    file = path or f"<tapec {program.name} {serial}>"
    module = register(module_name or f"tapec_generated_{serial}", path)
    runtime: Any = _Interpreted() if jit_is_off() else tapec_runtime
    module.__dict__.update(np=np, math=math, numba=numba, tapec_runtime=runtime, **program.bindings)
    text = program.text
    if not path:
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), module.__dict__)
    for name in () if jit_is_off() else program.kernels:
        # as the program itself is compiled
        flags: dict[str, Any] = {**lean_compiler.flags(program.options), "no_cpython_wrapper": True}
        module.__dict__[name] = numba.njit(**flags)(module.__dict__[name].py_func)
    return module.__dict__[program.name]


def register(name: str, path: str = "") -> types.ModuleType:
    """A module of this name that `import` finds, as Numba does for code that it links.

    Its name must be unique over processes for code that is kept: symbols derive from it.
    """
    module = sys.modules.get(name)
    if module is None:
        module = sys.modules[name] = types.ModuleType(name)
        if path:
            module.__file__ = path
    return module


def compile_function(program: Program) -> Any:
    """A Numba dispatcher of the program's function, whose code may be on disk."""
    if jit_is_off():
        return load(program)
    return code_by_text.function_of(
        program, lambda module, path: _dispatcher(load(program, module, path), program.options)
    )


def _dispatcher(function: Any, options: Options) -> Any:
    made = numba.njit(**lean_compiler.flags(options))(function)
    # Numba asks the object for what compiles it at a call
    made.progress = options.progress
    made._compile_for_args = functools.partial(_compiled_at_a_call, weakref.ref(made))
    return made


def _compiled_at_a_call(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
    """What Numba does where a call has new types, with errors and advice as the user can understand them."""
    made = dispatcher()
    try:
        with without_advice(), told(f"compiling `{made.py_func.__name__}`", made.progress):
            return type(made)._compile_for_args(made, *args, **kwargs)
    except (NumbaError, AssertionError) as error:
        raise CompilationError(
            f"Numba refused the generated source of `{made.py_func.__name__}`",
            reason=_first_line(error),
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def packed(program: Program, params: list[str], extra: int) -> Program:
    """The program behind a function whose last parameter is the tuple of `extra` extra arguments."""
    name = f"{program.name}_packed"
    *own, last = params
    spread = ", ".join([*own, *(f"{last}[{k}]" for k in range(extra))])
    source = f"def {name}({', '.join(params)}):\n    return {program.name}({spread})\n"
    prelude = f"{program.prelude}\n\n{decorator(program.options)}\n{program.source}".lstrip()
    return dataclasses.replace(program, name=name, source=source, prelude=prelude)


def compile_overload(
    program: Program, argument_types: tuple[Any, ...], module_name: str = "", path: str = ""
) -> tuple[Any, Any]:
    """The compiled result for exact argument types, and the dispatcher that must outlive it."""
    dispatcher = _dispatcher(load(program, module_name, path), program.options)
    told = tuple(map(_shown_type, argument_types))
    try:
        with without_advice():
            dispatcher.compile(told)
    except (NumbaError, AssertionError) as error:
        raise CompilationError(
            f"Numba refused the generated source of `{program.name}`", reason=_first_line(error)
        ) from error
    result = dispatcher.overloads[told]
    if told != argument_types:
        result.fndesc.argtypes = argument_types
        result = result._replace(signature=signature(result.signature.return_type, *argument_types))
    return result, dispatcher


def _shown_type(numba_type: Any) -> Any:
    """The type of an argument, or of one that was left out and has no type: the text has its value, not its name."""
    left_out = isinstance(numba_type, nt.Omitted) and argument_types.argument_types((numba_type.value,)) is None
    return nt.Omitted(None) if left_out else numba_type


@contextmanager
def without_advice() -> Iterator[None]:
    """Without Numba's advice on speed: the user cannot follow it in code that is generated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        yield
