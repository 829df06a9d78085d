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
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.lower import Lowered
from tapec.optimise import tidy
from tapec.options import Options
from tapec.syntax.core import Block, Const, For, Function, Loop, Return, walk
from tapec.syntax.custom_rule import opaque_functions
from tapec.tape.decisions import Decisions, checks
from tapec.tape.derive import DerivedProgram, inputs_of
from tapec.tape.inputs import InputLeaf
from tapec.tape.packed_inputs import taking_inputs
from tapec.tape.snapshots import snapshot
from tapec.transforms.emitter import renumbered
from tapec_runtime.locking import compiling, jit_is_off

# numbers among the arguments up to which a program runs as Python once
_SMALL = 64
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
    def long(self) -> bool:
        """Whether compilation takes seconds, for statements that as Python run in a millisecond."""
        return self.length > _LONG

    def __call__(self, arguments: list[Any], jit: bool | None) -> tuple[Any, ...]:
        if self.jitted is not None and jit is not False:
            return _several(self.jitted(*arguments))
        self.uses += 1
        # an integer may be an iteration count
        sizes = sum(abs(int(a)) if isinstance(a, int | np.integer) else int(np.size(a)) for a in arguments)
        again = self.spent > self.length * _SECONDS_PER_STATEMENT if self.long else self.uses > 1
        if jit or (jit is None and (again or not self.small or sizes > (_SMALL_IF_LONG if self.long else _SMALL))):
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

    def patiently(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python until it has been used often."""
        return self(list(arguments), None)

    def interpreted(self, *arguments: Any) -> Any:
        """What the derivative returns, run as Python."""
        if self.python is None:
            self.python = taking_inputs(self.derivative, _python(self.program))
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
    name = _free("gradient", constants, callees)
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


def _free(name: str, constants: dict[str, Any], callees: tuple[Function, ...]) -> str:
    """A name for a program, the same in every process, that nothing has which it reads."""
    taken = constants.keys() | {callee.name for callee in callees}
    while name in taken:
        name += "_"
    return name


@dataclass
class Checks:
    """The decisions of a plan as a program of its inputs: it raises where one falls another way."""

    program: Program
    python: Any = None
    jitted: Any = None
    uses: int = 0

    def hold(self, leaves: tuple[Any, ...], objects: tuple[Any, ...]) -> bool:
        """Whether every decision falls as it did when the program was lowered."""
        try:
            self._run(leaves, objects)
        except Exception:  # noqa: BLE001  whatever the program raises on the way: another way
            return False
        return True

    @compiling
    def machine_code(self) -> Any:
        """The program, compiled by the first who asks."""
        if self.jitted is None:
            self.jitted = compile_function(self.program)
        return self.jitted

    def _run(self, leaves: tuple[Any, ...], objects: tuple[Any, ...]) -> None:
        given = {leaf.name: (obj, leaf.part) for leaf, obj in zip(leaves, objects, strict=True)}
        arguments = [snapshot(*given[name]) for name in self.program.params]
        self.uses += 1
        if sum(int(np.size(argument)) for argument in arguments) > _SMALL * 16:
            self.machine_code()(*arguments)
            return
        if self.python is None:
            self.python = _python(self.program)
        with np.errstate(all="ignore"):
            self.python(*[np.float64(a) if type(a) is float else a for a in arguments])


@dataclass
class CaughtChecks:
    """The decisions of a plan, and stretches of its block that raised what the block caught."""

    decided: Checks
    raising: tuple[Checks, ...]

    def hold(self, leaves: tuple[Any, ...], objects: tuple[Any, ...]) -> bool:
        """Whether every decision falls as it did, and what raised raises again."""
        return self.decided.hold(leaves, objects) and not any(one.hold(leaves, objects) for one in self.raising)


@dataclass
class SameExtents:
    """Which extents of a plan's inputs were equal, or 1, as its program takes them to be; `decided` as for others.

    equal  groups of inputs, by their positions, and axes
    ones   those of which the extent was 1
    """

    equal: tuple[tuple[tuple[int, int], ...], ...]
    ones: tuple[tuple[int, int], ...]
    decided: Checks | CaughtChecks | None

    @staticmethod
    def of(
        extents: dict[int, list[tuple[str, int]]], leaves: list[InputLeaf], decided: Checks | CaughtChecks | None
    ) -> SameExtents | Checks | CaughtChecks | None:
        """`decided` alone where no two extents are equal."""
        places = {leaf.name: k for k, leaf in enumerate(leaves)}
        groups = {size: tuple((places[name], axis) for name, axis in group) for size, group in extents.items()}
        equal = tuple(group for size, group in groups.items() if size != 1 and len(group) > 1)
        ones = groups.get(1, ())
        return SameExtents(equal, ones, decided) if equal or ones else decided

    def hold(self, leaves: tuple[Any, ...], objects: tuple[Any, ...]) -> bool:
        """Whether they are so again, and all is as it was decided."""
        for (first, axis), *others in self.equal:
            size = objects[first].shape[axis]
            for place, own in others:
                if objects[place].shape[own] != size:
                    return False
        if any(objects[place].shape[axis] != 1 for place, axis in self.ones):
            return False
        return self.decided is None or self.decided.hold(leaves, objects)


@dataclass
class RunExtents:
    """The integers and extents of a run whose loops were too long to be followed: in others they may not be."""

    sizes: tuple[Any, ...]

    @staticmethod
    def of(objects: tuple[Any, ...]) -> RunExtents:
        return RunExtents(tuple(int(o) if isinstance(o, int | np.integer) else np.shape(o) for o in objects))

    def hold(self, leaves: tuple[Any, ...], objects: tuple[Any, ...]) -> bool:
        """Whether a run has the same ones."""
        return RunExtents.of(objects) == self


def plan_checks(
    ev: Evaluator, callees: tuple[Function, ...], options: Options
) -> Checks | CaughtChecks | None:
    """What tells whether a plan holds for other inputs; None where nothing was decided."""
    decisions = ev.decider
    if not isinstance(decisions, Decisions) or not (decisions.made or decisions.raising):
        return None
    # where the block caught something, what may raise is kept although nobody reads what it gives
    lean = not decisions.raising and all(name is not None for _, name, _ in decisions.made)
    decided, *raising = (
        compiled_checks(block, ev.types, ev.constants, callees, options, lean)
        for block in (checks(ev), *decisions.raising)
    )
    return CaughtChecks(decided, tuple(raising)) if raising else decided


def compiled_checks(
    block: Block,
    types: dict[str, Any],
    constants: dict[str, Any],
    callees: tuple[Function, ...],
    options: Options,
    lean: bool,
) -> Checks:
    """A program that raises where a decision falls another way than it did; `lean`: without what nobody reads."""
    name = _free("checks", constants, callees)
    inputs = tuple(n for n in inputs_of(block) if n not in constants)
    function = Function(name, inputs, (*block, Return((Const(True),))), types)
    final = tidied(function, constants, options) if lean else function
    lowered = Lowered(function, None, constants, {}, callees=callees)
    text = printer.function(final, False)
    return Checks(Program(name, text, constants, final, lowered, inputs, options=options))


def _short(loop: Any, deep: bool) -> bool:
    """A loop over the extents of arrays or a few iterations; those are small where the arrays are.

    deep  whether nests of more than two such loops count as short, too
    """
    if isinstance(loop, Loop):
        return False
    if not deep and any(isinstance(stmt, For) and any(isinstance(s, For) for s in stmt.body) for stmt in loop.body):
        return False
    bounds = [bound for bound in (loop.start, loop.stop) if isinstance(bound, Const)]
    return all(isinstance(bound.value, int) and abs(bound.value) <= _SMALL for bound in bounds)


def _python(program: Program) -> Any:
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
