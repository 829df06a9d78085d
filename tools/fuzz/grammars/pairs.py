"""Random programs of points: loops over pairs, coordinates by literal numbers or by loops, iterations that are left
out.

What the points do lands in arrays of coordinates, of points, and in sums, inside steps that may move them; windows
are searched for their largest element.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

PARAMETERS = ("P", "m", "x1", "k")
_INNER = ("i", "n", "i + 1, n", "1, n", "n - 1", "min(i, 2), n")
_OUT = ("i", "i", "i + 1", "i - 1", "k", "n - 1 - i", "0")


class PairProgram(FuzzProgram):
    """Points in rows, in columns or with steps between them, their masses, a number, and a place that may be none."""

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        n = int(rng.integers(1, 7))
        points = rng.normal(size=(n, 3))
        forms = (points, np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2])
        return forms[self.seed % 3], rng.uniform(1.0, 2.0, n), float(rng.normal()), int(rng.integers(-1, n + 1))


class Pairs(Writer):
    """Writes one program."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 9
        self.points = "P"

    def program(self) -> str:
        """The lines of its body."""
        self.emit_all(1, ("n = m.shape[0]", "s = 0.1 * x1", "F = np.zeros((n, 3))", "w = np.zeros(n)"))
        if self.chance(0.5):
            self.points = "Q"
            self.emit(1, f"Q = {self.pick('P.copy()', 'P * 0.5', 'P + x1')}")
        depth = 1
        if self.chance(0.5):
            self.emit(1, f"for t in range({self.pick('0', '1', '2', '3')}):")
            depth = 2
            if self.points == "Q":
                self.moves(depth)
        self.loops(depth)
        if self.chance(0.3):
            self.window(1)
        # the sums of squares of many pairs stay small
        self.emit(1, "return 0.02 * (s + np.sum(F * F) + np.sum(w * w) + F[0, 0] * w[n - 1])")
        return "\n".join(self.lines)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def moves(self, depth: int) -> None:
        """The points go where what was collected takes them."""
        self.emit_all(depth, ("for i in range(n):", "    for c in range(3):"))
        self.emit(depth + 2, "Q[i, c] += 0.1 * F[i, c]")
        self.emit(depth + 2, f"F[i, c] = {self.pick('0.0', '0.5 * F[i, c]')}")

    def loops(self, depth: int) -> None:
        """Pairs, all of them or those that a question lets pass."""
        self.emit(depth, f"for i in range({self.pick('n', 'n - 1', '1, n')}):")
        self.emit(depth + 1, f"for j in range({self.pick(*_INNER)}):")
        depth += 2
        out = self.pick(*_OUT)
        question = self.pick(f"j != {out}", f"{out} != j", f"not j == {out}", "m[j] > 1.4", "", "", "")
        if question and self.chance(0.3):
            self.emit_all(depth, (f"if not ({question}):", "    continue"))
        elif question:
            self.emit(depth, f"if {question}:")
            depth += 1
        self.distance(depth)
        self.emit(depth, f"q = {self.pick('m[j] / np.sqrt(d)', 'd**-1.5', 'np.exp(-d) * m[i]', 'x1 / d')}")
        for _ in range(self.rng.randint(1, 3)):
            self.use(depth)

    def coordinate(self, column: str) -> str:
        return f"{self.points}[{self.pick('i', 'j')}, {column}]"

    def distance(self, depth: int) -> None:
        """A square of a distance, `d`."""
        if self.chance(0.5):
            self.emit_all(depth, ("d = 0.3", f"for c in range({self.pick('2', '3')}):"))
            self.emit(depth + 1, f"e = {self.points}[j, c] - {self.points}[i, c]")
            self.emit(depth + 1, "d += e * e")
            return
        for name, columns in (("e", "0"), ("f", "12")):
            self.emit(depth, f"{name} = {self.coordinate(columns[0])} - {self.coordinate(self.pick(*columns))}")
        self.emit(depth, f"d = e * e + f * f * {self.pick('m[j]', '1.0')} + 0.3")

    def use(self, depth: int) -> None:
        """Something that a pair leaves behind."""
        points = self.points
        ways = [
            [f"F[i, 0] += q * {points}[j, 0]"],
            [f"F[j, 1] -= q * {points}[i, 1]"],
            ["F[j, 2] += q"],
            ["F[i, 1] = q"],
            ["F[j, 0] = F[i, 2] + q"],
            ["for c in range(3):", f"    F[i, c] += q * ({points}[j, c] - {points}[i, c])"],
            ["s += q"],
            ["s = 0.9 * s + q"],
            ["w[j] += q * m[i]"],
            ["w[i] -= q"],
            ["if q > 0.5:", "    s += q * q", "else:", "    w[i] += q"],
        ]
        if points == "Q":
            ways += [["Q[j, 0] += 0.01 * q"], ["Q[i, 1] = 0.3 * Q[j, 1] + 0.01 * q"]]
        self.emit_all(depth, self.rng.choice(ways))

    def window(self, depth: int) -> None:
        """The largest elements of windows."""
        column, first = self.pick("j + b", "b"), self.pick("-9.0", "F[i, j]")
        self.emit_all(depth, ("for i in range(n - 1):", "    for j in range(2):", f"        g = {first}"))
        self.emit_all(depth + 2, ("for a in range(2):", "    for b in range(2):"))
        element = f"F[i + a, {column}] + 0.3 * a * x1"
        larger = [[f"g = max(g, {element})"], [f"h = {element}", "if h > g:", "    g = h"]]
        self.emit_all(depth + 4, self.rng.choice(larger))
        self.emit(depth + 2, "s += 0.1 * g * g")


def generate(seed: int) -> PairProgram:
    """The program of a seed."""
    body = Pairs(random.Random(f"pairs {seed}")).program()
    return PairProgram(seed, f"{HEADER}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n", PARAMETERS)
