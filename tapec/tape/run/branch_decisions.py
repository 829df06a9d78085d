"""The numbers of the running program, where the lowering of a block depends on them.

The residual program so far is run on the inputs.  What was decided becomes a check: the same
program is used again only where every decision falls the same way.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec_runtime
from tapec.analyses.random_draws import drawn
from tapec.backend import printer
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.errors import LoweringError
from tapec.frontend.evaluator.evaluator import Evaluator
from tapec.frontend.evaluator.frames import DeadCode, Raised
from tapec.frontend.evaluator.unfinished_blocks import freeze
from tapec.frontend.evaluator.values import Sym
from tapec.frontend.lower import Lowered
from tapec.rules import RULES
from tapec.syntax.core import (
    Assign,
    Block,
    Call,
    Const,
    Function,
    If,
    Name,
    Op,
    Raise,
    Return,
    Stmt,
    changed,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.custom_rule import Opaque, opaque_functions
from tapec.syntax.types import BOOL, Scalar
from tapec.tape.objects.live_objects import LiveObjects
from tapec.tape.objects.snapshots import snapshot

_LARGE = 20_000
# operations that are no elementwise functions, and never raise
_HARMLESS = frozenset({"dim", "empty", "zeros", "full", "ifelse", "known", "copy"})
_MANY = 1000
_serial = itertools.count(1)


class ProgramRaises(Exception):
    """The program of a block raises, inside `try`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Decisions:
    """The `decider` of an evaluator that lowers a block over a running program."""

    def __init__(self, ev: Evaluator, live: LiveObjects) -> None:
        self.ev, self.live = ev, live
        self.values: dict[str, Any] = {}
        self.done = 0
        # where the program was when something was decided: which value was what; no name where it had not raised
        self.made: list[tuple[int, Name | None, Any]] = []
        # stretches from the start that raise what the block catches
        self.raising: list[Block] = []

    def decide(self, sym: Sym, node: Any) -> Any:
        if not isinstance(sym.type, Scalar):
            self.ev.fail(LoweringError, "a decision on an array", node)
        self._run()
        assert isinstance(sym.atom, Name)
        value = self._value(sym.atom.id)
        kind = bool if sym.type.dtype == "bool" else float if sym.type.is_float else int
        value = kind(value)
        self.made.append((self.done, sym.atom, value))
        return value

    def number(self, sym: Sym) -> Any:
        if not isinstance(sym.type, Scalar):
            return None
        if not isinstance(sym.atom, Name):
            return sym.constant
        self._run()
        return self._value(sym.atom.id)

    def attempt(self, handler: Callable[[Evaluator, Any], None], stmt: Any) -> None:
        """Lower a statement inside `try`, and run it: what it raises is raised while the block is lowered."""
        ev = self.ev
        self._run()
        count, before, reached = len(ev.root), ev.snapshot(), len(self.live.reached)
        ends: DeadCode | None = None
        held = {name: np.copy(value) for name, value in self.values.items() if isinstance(value, np.ndarray)}
        try:
            try:
                handler(ev, stmt)
            except DeadCode as error:
                ends = error
            block = freeze(ev.root[count:])
            if any(map(_may_raise, walk(block))):
                self._run()
                self.made.append((self.done, None, None))
        except ProgramRaises as raised:
            stores = walk(freeze(ev.root[count:]))
            if any(self._is_changed(name, held) for stmt in stores for name in changed(stmt)):
                name = type(raised.error).__name__
                ev.fail(
                    LoweringError,
                    f"{name} in the middle of a statement that changes an array",
                    stmt,
                    hint="compute first, and store then",
                )
            self.raising.append(freeze(ev.root))
            del ev.root[count:]
            self.done = count
            ev.restore(before)
            self.live.undone(reached)
            raise Raised(type(raised.error), str(raised.error)) from None
        if ends is not None:
            raise ends

    def _is_changed(self, name: str, held: dict[str, Any]) -> bool:
        """Whether an array that was there before, `held` or an input, has other elements now."""
        leaf = self._leaf(name)
        before = held.get(name, snapshot(leaf.obj, leaf.part) if leaf is not None else None)
        return before is not None and name in self.values and not np.array_equal(before, self.values[name])

    def _value(self, name: str) -> Any:
        if name not in self.values:
            if name in self.ev.constants:
                self.values[name] = self.ev.constants[name]
            else:
                leaf = self._leaf(name)
                self.values[name] = snapshot(leaf.obj, leaf.part)
        return self.values[name]

    def _leaf(self, name: str) -> Any:
        return next((leaf for leaf in self.live.leaves if leaf.name == name), None)

    def _run(self) -> None:
        """Run the statements that were written since the last time."""
        ev = self.ev
        block = freeze(ev.root[self.done :])
        self.done = len(ev.root)
        if not block:
            return
        if any(drawn(stmt) is not None for stmt in walk(block)):
            ev.fail(
                LoweringError,
                "a decision behind a draw of random numbers in a compiled function",
                reason="other numbers are drawn when the function runs",
                hint="draw from a generator of your own: rng = np.random.default_rng()",
            )
        defined = written_in(block)
        # a temporary that was computed here keeps its name
        ev.temporary -= defined
        inputs = tuple(dict.fromkeys(n for stmt in walk(block) for n in reads(stmt) if n not in defined))
        known = {*self.values, *ev.constants}
        if any(name not in known and self._leaf(name) is None for name in inputs):
            # what stood before has been written anew, with other names: a watch does that
            self.values.clear()
            block = freeze(ev.root)
            defined = written_in(block)
            inputs = tuple(dict.fromkeys(n for stmt in walk(block) for n in reads(stmt) if n not in defined))
        outputs = tuple(dict.fromkeys(n for stmt in block for n in writes(stmt)))
        values = [self._value(name) for name in inputs]
        try:
            results = _run(block, inputs, outputs, values, ev)
        except Exception as error:
            if not ev.trying:
                raise
            raise ProgramRaises(error) from None
        self.values.update(zip(outputs, results, strict=True))


def _may_raise(stmt: Stmt) -> bool:
    """Whether a statement raises, or is an operation on whole arrays or matrices, which may."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Op):
        return isinstance(stmt, Raise) or (isinstance(stmt, Call) and isinstance(stmt.function, Opaque))
    return isinstance(stmt.value.fn, Opaque) or (stmt.value.fn not in RULES and stmt.value.fn not in _HARMLESS)


def _run(block: Block, inputs: tuple[str, ...], outputs: tuple[str, ...], values: list[Any], ev: Evaluator) -> Any:
    """The values of names that a stretch of program defines."""
    name = f"stretch_{next(_serial)}"
    function = Function(name, inputs, (*block, Return(tuple(Name(n) for n in outputs))), ev.types)
    text = printer.function(function, False)
    if sum(int(np.size(value)) for value in values) <= _LARGE:
        called = {name: one.python for name, one in opaque_functions(block).items()}
        namespace: dict[str, Any] = {"np": np, "math": math, "tapec_runtime": tapec_runtime, **ev.constants, **called}
        exec(compile(text, f"<tapec {name}>", "exec"), namespace)
        written = [(value, value.copy()) for value in values if isinstance(value, np.ndarray) and value.flags.writeable]
        # Python's numbers raise where compiled code gives infinity, those of NumPy do not
        for numbers in (values, [np.float64(value) if type(value) is float else value for value in values]):
            try:
                with np.errstate(all="ignore"):
                    results = namespace[name](*numbers)
                return results if len(outputs) != 1 or isinstance(results, tuple) else (results,)
            except ArithmeticError:
                for array, before in written:
                    array[...] = before
    program = Program(name, text, ev.constants, function, Lowered(function, None, ev.constants, {}), inputs)
    results = compile_function(program)(*values)
    return results if len(outputs) != 1 else (results,)


def warn_of_iterations(iterations: int, what: str, file: str, line: int) -> None:
    """Say so where loops are unrolled over so many iterations that the user has to wait for it."""
    if iterations > _MANY:
        warnings.warn_explicit(
            f"{what} is read iteration by iteration, {iterations} of them, which takes long: it appends, watches"
            " or changes objects in a loop, or leaves by an exception; move that out of the loop",
            RuntimeWarning,
            file,
            line,
        )


def checks(ev: Evaluator) -> Block:
    """The program up to its last decision; it raises where one falls another way."""
    decisions = ev.decider
    assert isinstance(decisions, Decisions)
    out: list[Stmt] = []
    done = 0
    for place, atom, value in decisions.made:
        out += freeze(ev.root[done:place])
        done = place
        if atom is None:
            continue
        name = ev.define("differs", BOOL)
        out.append(Assign(name, Op("!=", (atom, Const(value))), ev.span))
        out.append(If(Name(name), (Raise("ValueError", (Const("another way"),), ev.span),), (), ev.span))
    return tuple(out)
