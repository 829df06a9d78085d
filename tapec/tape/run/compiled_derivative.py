"""Compile and run the derivative of a residual program."""

from __future__ import annotations

import itertools
import linecache
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numba
import numpy as np

import tapec_runtime
from tapec.backend import printer
from tapec.backend.array_text import WholeArrays, whole_arrays
from tapec.backend.callee_text import callees_text, kernels_text
from tapec.backend.jit import compile_function
from tapec.backend.kernels import with_kernels
from tapec.backend.program import Program
from tapec.frontend.lower import Lowered
from tapec.optimise import simple, tidy
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
SECONDS_PER_STATEMENT = 0.01
# statements that loops over whole arrays may run before compilation seems better, a tenth of its time
STEPS_PER_STATEMENT = 1000
_serial = itertools.count(1)


@dataclass(frozen=True)
class _Printed:
    """A derivative made fast, as text.

    small    whether its loops make a few iterations
    length   the number of its statements
    """

    derivative: DerivedProgram
    program: Program
    small: bool
    length: int


@dataclass
class CompiledDerivative:
    """A derivative that runs as Python at first, and is compiled where that pays.

    derivative  as it was derived; `make` makes it fast, with the same inputs and results
    arrays      its text over whole arrays, if it has one
    spent       seconds for which it has run as Python
    followers   called when it has been compiled
    """

    derivative: DerivedProgram
    make: Callable[[], _Printed]
    constants: dict[str, Any]
    arrays: WholeArrays | None = None
    sources: tuple[tuple[str, ...], ...] = ()
    uses: int = 0
    spent: float = 0.0
    made: _Printed | None = None
    over_arrays: Any = None
    python: Any = None
    jitted: Any = None
    followers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def printed(self) -> _Printed:
        """What is compiled."""
        return self._made_fast() if self.made is None else self.made

    @compiling
    def _made_fast(self) -> _Printed:
        """The derivative made fast, by the first who asks."""
        if self.made is None:
            self.made = self.make()
        return self.made

    @property
    def is_long(self) -> bool:
        """Whether compilation takes seconds, for statements that as Python run in a millisecond."""
        return self.printed.length > _LONG

    @property
    def waits(self) -> bool:
        """Whether it is used often before it is compiled."""
        return self.jitted is None and (self.arrays is not None or self.is_long)

    def __call__(self, arguments: list[Any], jit: bool | None) -> tuple[Any, ...]:
        if self.jitted is not None and jit is not False:
            return _several(self.jitted(*arguments))
        self.uses += 1
        if not self._over_arrays(jit) and (jit or (jit is None and self._pays(arguments))):
            return _several(self.machine_code()(*arguments))
        kept = () if self.arrays is None else tuple((place, arguments[place].copy()) for place in self.arrays.written)
        start = time.perf_counter()
        try:
            return _several(self.as_python(arguments, jit))
        except (ArithmeticError, MemoryError, TimeoutError) as error:
            # Python raises where compiled code gives infinity, whole arrays may be too large, and loops too long
            if jit is False and isinstance(error, ArithmeticError):
                raise
            for place, value in kept:
                arguments[place][...] = value
            if jit is False:
                return _several(self.interpreted(*arguments))
            return self(arguments, True)
        finally:
            self.spent += time.perf_counter() - start

    def _over_arrays(self, jit: bool | None) -> bool:
        """Whether it runs over whole arrays, which it does for as long as compilation takes."""
        if self.arrays is None or jit:
            return False
        return jit is False or self.spent <= self.arrays.length * SECONDS_PER_STATEMENT

    def _pays(self, arguments: list[Any]) -> bool:
        """Whether machine code is worth its time for numbers one by one."""
        # an integer may be an iteration count
        sizes = sum(abs(int(a)) if isinstance(a, int | np.integer) else int(np.size(a)) for a in arguments)
        printed = self.printed
        if self.arrays is not None or not printed.small or sizes > (_SMALL_IF_LONG if self.is_long else SMALL):
            return True
        return self.spent > printed.length * SECONDS_PER_STATEMENT if self.is_long else self.uses > 1

    @compiling
    def machine_code(self) -> Any:
        """The derivative, compiled by the first who asks."""
        if self.jitted is None:
            printed = self.printed
            self.jitted = taking_inputs(printed.derivative, compile_function(printed.program))
            for follow in self.followers:
                follow()
            self.followers.clear()
        return self.jitted

    def python_first(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python until it has been used often."""
        return self(list(arguments), None)

    def without_jit(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python however long it takes."""
        return self(list(arguments), False)

    def as_python(self, arguments: list[Any], jit: bool | None) -> Any:
        """What the derivative returns, run as Python: over whole arrays, if it has such a text."""
        arrays = self.arrays
        if arrays is None:
            return self.interpreted(*arguments)
        if self.over_arrays is None:
            name, called = free_name("gradient", self.constants, ()), python_functions(self.derivative.function)
            self.over_arrays = loaded(name, arrays.text, {**self.constants, **called})
        run = self.over_arrays
        if arrays.steps and jit is not False:
            run = partial(run, **{arrays.steps: arrays.length * STEPS_PER_STATEMENT})
        return called_as_numba(run, arguments)

    def interpreted(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python, number by number."""
        if self.python is None:
            printed = self.printed
            self.python = taking_inputs(printed.derivative, as_python(printed.program))
        return called_as_numba(self.python, arguments)


def called_as_numba(run: Any, arguments: Sequence[Any]) -> Any:
    """What a function of Python's returns for numbers that behave as Numba's do."""
    with np.errstate(all="ignore"):
        return run(*[np.float64(a) if type(a) is float else a for a in arguments])


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
    fast: Callable[[], DerivedProgram] | None = None,
) -> CompiledDerivative:
    """A derivative that is to run.

    fast  makes it such that it is fast when it is compiled
    """

    def printed() -> _Printed:
        made = derivative if fast is None else fast()
        return _printed(made if made.is_called_as(derivative) else derivative, constants, callees, options)

    made = CompiledDerivative(derivative, printed, constants, sources=sources)
    function = derivative.function
    if options.fast and not options.debug and not jit_is_off() and not callees:
        function = simple(replace(function, name=free_name("gradient", constants, ())), frozenset(constants))
        made.arrays = whole_arrays(function)
    return made


def _printed(
    derivative: DerivedProgram, constants: dict[str, Any], callees: tuple[Function, ...], options: Options
) -> _Printed:
    """A derivative as text that Numba compiles."""
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
    return _Printed(derivative, program, small, length)


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
    run = loaded(program.name, program.text, {**program.namespace, **python_functions(program.core)})
    if not jit_is_off():
        # one use is not worth a compilation
        run.__globals__.update({name: run.__globals__[name].py_func for name in program.kernels})
    return run


def python_functions(function: Function) -> dict[str, Any]:
    """The functions that a program calls as they are, as Python has them."""
    return {name: one.python for name, one in opaque_functions(function.body).items()}


def loaded(name: str, text: str, bindings: dict[str, Any]) -> Any:
    """The function of this name that a text defines, where tracebacks find its lines."""
    file = f"<tapec {name} {next(_serial)} as Python>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {"np": np, "math": math, "numba": numba, "tapec_runtime": tapec_runtime, **bindings}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]
