"""The numbers of the running program, where the lowering of a block depends on them.

The residual program so far is run on the inputs.  What was decided becomes a check: the same
program is used again only where every decision falls the same way.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

import tapec_runtime
from tapec.analyses.random_draws import drawn
from tapec.backend import printer
from tapec.backend.jit import compile_function
from tapec.backend.program import Program
from tapec.errors import LoweringError
from tapec.frontend.evaluator import Evaluator
from tapec.frontend.lower import Lowered
from tapec.frontend.open_blocks import freeze
from tapec.frontend.values import Sym
from tapec.syntax.core import (
    Assign,
    Block,
    Const,
    Function,
    If,
    Name,
    Op,
    Raise,
    Return,
    Stmt,
    reads,
    walk,
    writes,
    written_in,
)
from tapec.syntax.custom_rule import opaque_functions
from tapec.syntax.types import BOOL, Scalar
from tapec.tape.live_objects import LiveObjects
from tapec.tape.snapshots import snapshot

_LARGE = 20_000
_MANY = 1000
_serial = itertools.count(1)


class Decisions:
    """The `decider` of an evaluator that lowers a block over a running program."""

    def __init__(self, ev: Evaluator, live: LiveObjects) -> None:
        self.ev, self.live = ev, live
        self.values: dict[str, Any] = {}
        self.done = 0
        self.made: list[tuple[int, Name, Any]] = []

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
        results = _run(block, inputs, outputs, values, ev)
        self.values.update(zip(outputs, results, strict=True))


def _run(block: Block, inputs: tuple[str, ...], outputs: tuple[str, ...], values: list[Any], ev: Evaluator) -> Any:
    """The values of names that a stretch of program defines."""
    name = f"stretch_{next(_serial)}"
    function = Function(name, inputs, (*block, Return(tuple(Name(n) for n in outputs))), ev.types)
    text = printer.function(function, False)
    if sum(int(np.size(value)) for value in values) <= _LARGE:
        called = {name: one.python for name, one in opaque_functions(block).items()}
        namespace: dict[str, Any] = {"np": np, "math": math, "tapec_runtime": tapec_runtime, **ev.constants, **called}
        exec(compile(text, f"<tapec {name}>", "exec"), namespace)
        numbers = [np.float64(value) if type(value) is float else value for value in values]
        try:
            with np.errstate(all="ignore"):
                results = namespace[name](*numbers)
            return results if len(outputs) != 1 or isinstance(results, tuple) else (results,)
        except ArithmeticError:
            # Python raises where compiled code gives infinity
            pass
    program = Program(name, text, ev.constants, function, Lowered(function, None, ev.constants, {}), inputs)
    results = compile_function(program)(*values)
    return results if len(outputs) != 1 else (results,)


def warn_of_iterations(ev: Evaluator, what: str, file: str, line: int) -> None:
    """Say so where loops are unrolled over so many iterations that the user has to wait for it."""
    if ev.iterations > _MANY:
        warnings.warn_explicit(
            f"{what} is read iteration by iteration, {ev.iterations} of them, which takes long: it appends, watches"
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
        name = ev.define("differs", BOOL)
        out.append(Assign(name, Op("!=", (atom, Const(value))), ev.span))
        out.append(If(Name(name), (Raise("ValueError", (Const("another way"),), ev.span),), (), ev.span))
    return tuple(out)
