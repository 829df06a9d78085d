"""Compile and run the derivative of a residual program."""

from __future__ import annotations

import itertools
import linecache
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np

import tapec_runtime
from tapec.backend import printer
from tapec.backend.callee_text import callees_text, kernels_text
from tapec.backend.jit import compile_function
from tapec.backend.kernels import with_kernels
from tapec.backend.program import Program
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy
from tapec.options import Options
from tapec.syntax.core import Const, For, Function, Loop, walk
from tapec.syntax.custom_rule import opaque_functions
from tapec.tape.derivatives.block_derivative import DerivedProgram
from tapec.tape.run.packed_inputs import taking_inputs
from tapec.transforms.emitter import renumbered
from tapec_runtime.locking import compiling, jit_is_off

# numbers among the arguments up to which a program runs as Python once
SMALL = 64
# statements from which compilation takes many seconds; such a program runs as Python as long as that costs less
_LONG = 300
_SMALL_IF_LONG = 2048
_SECONDS_PER_STATEMENT = 0.01
_serial = itertools.count(1)


@dataclass
class CompiledDerivative:
    """A derivative as text; run as Python once if it is small, compiled when it is used again.

    small    whether its loops make a few iterations
    length   the number of its statements
    spent    seconds for which a long one has run as Python
    """

    derivative: DerivedProgram
    program: Program
    small: bool
    length: int
    sources: tuple[tuple[str, ...], ...] = ()
    uses: int = 0
    spent: float = 0.0
    python: Any = None
    jitted: Any = None

    @property
    def is_long(self) -> bool:
        """Whether compilation takes seconds, for statements that as Python run in a millisecond."""
        return self.length > _LONG

    def __call__(self, arguments: list[Any], jit: bool | None) -> tuple[Any, ...]:
        if self.jitted is not None and jit is not False:
            return _several(self.jitted(*arguments))
        self.uses += 1
        # an integer may be an iteration count
        sizes = sum(abs(int(a)) if isinstance(a, int | np.integer) else int(np.size(a)) for a in arguments)
        again = self.spent > self.length * _SECONDS_PER_STATEMENT if self.is_long else self.uses > 1
        if jit or (jit is None and (again or not self.small or sizes > (_SMALL_IF_LONG if self.is_long else SMALL))):
            return _several(self.machine_code()(*arguments))
        start = time.perf_counter()
        try:
            return _several(self.interpreted(*arguments))
        except ArithmeticError:
            # Python raises where compiled code gives infinity
            if jit is False:
                raise
            return self(arguments, True)
        finally:
            self.spent += time.perf_counter() - start

    @compiling
    def machine_code(self) -> Any:
        """The derivative, compiled by the first who asks."""
        if self.jitted is None:
            self.jitted = taking_inputs(self.derivative, compile_function(self.program))
        return self.jitted

    def python_first(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python until it has been used often."""
        return self(list(arguments), None)

    def interpreted(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python."""
        if self.python is None:
            self.python = taking_inputs(self.derivative, as_python(self.program))
        with np.errstate(all="ignore"):
            return self.python(*[np.float64(a) if type(a) is float else a for a in arguments])


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def tidied(function: Function, constants: dict[str, Any], options: Options) -> Function:
    """The function as the options ask for it."""
    return tidy(function, frozenset(constants), options)


def compiled(
    derivative: DerivedProgram,
    constants: dict[str, Any],
    callees: tuple[Function, ...],
    options: Options,
    sources: tuple[tuple[str, ...], ...] = (),
) -> CompiledDerivative:
    """Print a derivative."""
    name = free_name("gradient", constants, callees)
    function = Function(name, derivative.function.params, derivative.function.body, derivative.function.types)
    if derivative.packing is not None:
        # one text for any number of iterations
        function = renumbered(function)
    final = tidied(function, constants, options)
    lowered = Lowered(function, None, constants, {}, callees=callees)
    loops = [stmt for stmt in walk(final.body) if isinstance(stmt, For | Loop)]
    length = sum(1 for _ in walk(final.body))
    printed, kernels = with_kernels(final) if options.fast else (final, ())
    text = printer.function(printed, False)
    program = Program(function.name, text, constants, final, lowered, function.params, options=options)
    parts = (callees_text(program, lowered, options) if callees else "", kernels_text(kernels, options))
    names = tuple(kernel.name for kernel in kernels)
    program = replace(program, prelude="\n\n".join(filter(None, parts)), kernels=names)
    small = not callees and all(_short(loop, length > _LONG) for loop in loops)
    return CompiledDerivative(derivative, program, small, length, sources)


def free_name(name: str, constants: dict[str, Any], callees: tuple[Function, ...]) -> str:
    """A name for a program, the same in every process, that nothing has which it reads."""
    taken = constants.keys() | {callee.name for callee in callees}
    while name in taken:
        name += "_"
    return name


def _short(loop: Any, deep: bool) -> bool:
    """A loop over the extents of arrays or a few iterations; those are small where the arrays are.

    deep  whether nests of more than two such loops count as short, too
    """
    if isinstance(loop, Loop):
        return False
    if not deep and any(isinstance(stmt, For) and any(isinstance(s, For) for s in stmt.body) for stmt in loop.body):
        return False
    bounds = [bound for bound in (loop.start, loop.stop) if isinstance(bound, Const)]
    return all(isinstance(bound.value, int) and abs(bound.value) <= SMALL for bound in bounds)


def as_python(program: Program) -> Any:
    """The function of a program's text, run by Python."""
    file = f"<tapec {program.name} {next(_serial)} as Python>"
    text = program.text
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    modules = {"np": np, "math": math, "numba": numba, "tapec_runtime": tapec_runtime}
    called = {name: one.python for name, one in opaque_functions(program.core.body).items()}
    namespace: dict[str, Any] = {**modules, **program.namespace, **called}
    exec(compile(text, file, "exec"), namespace)
    if not jit_is_off():
        # one use is not worth a compilation
        namespace.update({name: namespace[name].py_func for name in program.kernels})
    return namespace[program.name]
