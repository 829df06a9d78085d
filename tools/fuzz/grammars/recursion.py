"""Random programs of functions that call themselves, and another one that does.

They take numbers, a depth that goes down, an array that some write into and one that they only read; calls stand in
loops that a question may end, behind branches, and before what uses their values; a call may get an array of its own
in place of the caller's.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

PARAMETERS = ("x", "y", "depth")


class RecursiveProgram(FuzzProgram):
    """Two vectors, and how deep calls go."""

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        return rng.uniform(0.0, 1.0, 5), rng.uniform(0.0, 1.0, 6), int(rng.integers(0, 4))


@dataclass(frozen=True)
class _Sight:
    """Numbers and whole numbers that a statement may use."""

    scalars: tuple[str, ...]
    wholes: tuple[str, ...] = ("d",)


class Recursion(Writer):
    """Writes one program."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 0
        self.numbers = [f"u{k}" for k in range(rng.randint(1, 3))]
        self.writes = rng.random() < 0.6
        self.reads = rng.random() < 0.5
        self.returns = not self.writes or rng.random() < 0.7
        # what a helper may call
        self.others: tuple[str, ...] = ()
        # the array that a call may get in place of the caller's
        self.own = False
        self.calls = 0

    def program(self) -> str:
        """Helpers and the program."""
        for name in ("helper_g", "helper_f") if self.chance(0.3) else ("helper_f",):
            self.others = (*self.others, name)
            self.helper(name)
        first = ", ".join([*self.start(), "depth", "a", *(["y"] if self.reads else [])])
        self.emit(0, f"def program({', '.join(PARAMETERS)}):")
        self.emit_all(1, ("s = 0.1", "a = x * 1.0", f"for i in range({self.pick('1', '2')}):"))
        call = f"helper_f({first})"
        self.emit(2, f"s += {call} * x[1]" if self.returns else call)
        self.emit(2, "s += a[1] * a[3]")
        if self.chance(0.4):
            self.emit(2, "a[2] = 0.1 * s")
        self.emit(1, "return s + np.sum(a)")
        return "\n".join(self.lines)

    def start(self) -> list[str]:
        return [self.pick("x[0]", "y[1]", "s", "x[i]") for _ in self.numbers]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def helper(self, name: str) -> None:
        parameters = [*self.numbers, "d", "a", *(["w"] if self.reads else [])]
        sight = _Sight((*self.numbers,))
        self.emit_all(0, ("@njit", f"def {name}({', '.join(parameters)}):", "    if d <= 0:"))
        if self.writes and self.chance(0.6):
            self.emit(2, f"a[{self.rng.randint(0, 4)}] *= {self.number(sight)}")
        self.emit(2, f"return {self.number(sight)}" if self.returns else "return")
        self.emit(1, "s = u0")
        self.own, self.calls = self.chance(0.4), 0
        if self.own:
            self.emit(1, f"b = {self.pick('a.copy()', 'np.zeros(5)', 'a * u0')}")
        self.block(1, _Sight((*self.numbers, "s")), 0)
        if not self.calls:
            self.call(1, sight)
        self.emit(1, self.pick("return s", "return s * a[2]") if self.returns else "a[1] += s")
        self.emit_all(0, ("", ""))

    def number(self, sight: _Sight, deep: int = 0) -> str:
        kind = self.rng.random()
        if kind < 0.35 or deep > 2:
            return self.rng.choice(sight.scalars)
        if kind < 0.5:
            return f"a[({self.rng.choice(sight.wholes)} + {self.rng.randint(0, 2)}) % 5]"
        if kind < 0.6 and self.reads:
            return f"w[({self.rng.choice(sight.wholes)} + 1) % 6]"
        if kind < 0.75:
            return f"np.sin({self.number(sight, deep + 1)})"
        if kind < 0.87:
            return f"0.5 * {self.number(sight, deep + 1)} * {self.number(sight, deep + 1)}"
        return f"({self.number(sight, deep + 1)} + 0.3 * {self.number(sight, deep + 1)})"

    def call(self, depth: int, sight: _Sight) -> _Sight:
        """A call one level down; its value is in sight behind it."""
        self.calls += 1
        arguments = [self.number(sight, 1) for _ in self.numbers]
        arguments += ["d - 1", "b" if self.own and self.chance(0.3) else "a", *(["w"] if self.reads else [])]
        text = f"{self.rng.choice(self.others)}({', '.join(arguments)})"
        if not self.returns:
            self.emit(depth, text)
            return sight
        name = self.new("r")
        self.emit(depth, f"{name} = {text}")
        return _Sight((*sight.scalars, name), sight.wholes)

    def block(self, depth: int, sight: _Sight, inside: int) -> None:
        self.emit(depth, "s += 0.01")
        for _ in range(self.rng.randint(1, 3)):
            sight = self.statement(depth, sight, inside)

    def statement(self, depth: int, sight: _Sight, inside: int) -> _Sight:
        kind = self.rng.random()
        if kind < 0.25 and self.calls < 3:
            return self.call(depth, sight)
        if kind < 0.47 and inside < 2:
            self.loop(depth, sight, inside)
        elif kind < 0.6 and inside < 3:
            self.emit(depth, f"if {self.number(sight)} > {self.pick('0.1', '0.3')}:")
            self.block(depth + 1, sight, inside + 1)
            if self.chance(0.5):
                self.emit(depth, "else:")
                self.block(depth + 1, sight, inside + 1)
        elif kind < 0.74 and self.writes:
            place = f"({self.rng.choice(sight.wholes)} + {self.rng.randint(0, 4)}) % 5"
            array = "b" if self.own and self.chance(0.3) else "a"
            self.emit(depth, f"{array}[{place}] {self.pick('=', '+=', '*=')} {self.number(sight)}")
        elif kind < 0.86:
            name = self.new("t")
            self.emit(depth, f"{name} = {self.number(sight)}")
            return _Sight((*sight.scalars, name), sight.wholes)
        else:
            self.emit(depth, f"s {self.pick('+=', '+=', '*=')} {self.number(sight)}")
        return sight

    def loop(self, depth: int, sight: _Sight, inside: int) -> None:
        """Iterations that are counted, or that a question ends."""
        if self.chance(0.3):
            name = self.new("c")
            self.emit_all(depth, (f"{name} = 0", f"while {name} < 3 and s < {self.pick('1.5', '0.7')}:"))
            self.emit(depth + 1, f"{name} += 1")
        else:
            name = self.new("i")
            self.emit(depth, f"for {name} in range({self.pick('2', '3', 'd', 'd % 3 + 1')}):")
        self.block(depth + 1, _Sight(sight.scalars, (*sight.wholes, name)), inside + 1)
        if self.chance(0.3):
            self.emit_all(depth + 1, (f"if s > {self.pick('0.9', '0.4', '2.0')}:", "    break"))


def generate(seed: int) -> RecursiveProgram:
    """The program of a seed."""
    text = Recursion(random.Random(f"recursion {seed}")).program()
    return RecursiveProgram(seed, f"{HEADER}\n\n{text}\n", PARAMETERS)
