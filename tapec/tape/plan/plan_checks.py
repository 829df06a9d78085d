"""What tells whether a plan holds for other inputs: its decisions, and the extents that were taken to be equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.backend import printer
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.lower import Lowered
from tapec.options import Options
from tapec.syntax.core import Block, Const, Function, Return
from tapec.tape.derivatives.block_derivative import inputs_of
from tapec.tape.objects.block_inputs import InputLeaf
from tapec.tape.objects.snapshots import snapshot
from tapec.tape.run.branch_decisions import Decisions, checks
from tapec.tape.run.compiled_derivative import SMALL, as_python, free_name, tidied
from tapec_runtime.locking import compiling


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
        if sum(int(np.size(argument)) for argument in arguments) > SMALL * 16:
            self.machine_code()(*arguments)
            return
        if self.python is None:
            self.python = as_python(self.program)
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
    name = free_name("checks", constants, callees)
    inputs = tuple(n for n in inputs_of(block) if n not in constants)
    function = Function(name, inputs, (*block, Return((Const(True),))), types)
    final = tidied(function, constants, options) if lean else function
    lowered = Lowered(function, None, constants, {}, callees=callees)
    text = printer.function(final, False)
    return Checks(Program(name, text, constants, final, lowered, inputs, options=options))
