"""Small random programs of loops over arrays of few elements, or none: what passes for speed look for, almost.

Time steps over buffers that change places, branches in stencils, rings, additions to neighbours, slices, searches, rows
of matrices, recurrences in loops, arrays that a branch has chosen.  Like `programs`, each program is a pure
function of its seed and never fails: `n` is large enough for every subscript.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

# extents, some of them around the number of lanes
EXTENTS = (1, 2, 3, 4, 5, 6, 9, 17)
WIDE = (63, 64, 65, 130)
MATRIX = 3
PARAMETERS = ("count", "steps", "x1", "a1", "a2", "a3", "m1", "k1")


@dataclass(frozen=True)
class LoopProgram(FuzzProgram):
    """A program whose arrays have as many elements as its seed says, or more."""

    least: int = 1

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments: `n`, a number of steps, a number, three vectors, a matrix of `n` rows, places in vectors."""
        rng = np.random.default_rng(self.seed)
        n = max(int(rng.choice(EXTENTS if self.seed % 8 else WIDE)), self.least)
        vectors = [rng.uniform(-1.0, 1.0, n) for _ in range(3)]
        if self.seed % 5 == 0:
            vectors = [np.repeat(v, 2)[::-2] for v in vectors]
        matrix = rng.uniform(-1.0, 1.0, (n, MATRIX))
        return (n, int(rng.integers(0, 5)), 0.4, *vectors, matrix, rng.integers(0, n, n))


class Loops(Writer):
    """Writes one program over vectors and numbers that are set before."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 9
        self.least = 1
        self.vectors = ["a1", "a2", "a3"]
        # those that are the program's own, to be written into
        self.own: list[str] = []
        self.used: list[str] = []

    def program(self) -> str:
        """The lines of its body."""
        self.emit(1, f"n = {self.pick('count', 'a1.shape[0]', 'a1.shape[0]', 'len(a2)')}")
        self.emit(1, "s = 0.1 * x1")
        for _ in range(self.rng.randint(1, 2)):
            self.make(1)
        pieces: list[tuple[float, Callable[[int], None]]] = [
            (4, self.stencil),
            (4, self.steps),
            (1.5, self.slices),
            (1, self.search),
            (1.5, self.rows),
            (1, self.recurrence),
            (1, self.columns),
            (1, self.chosen),
            (1, self.march),
            (1, self.make),
            (1, self.whole),
        ]
        weights = [weight for weight, _ in pieces]
        for piece in self.rng.choices([make for _, make in pieces], weights, k=self.rng.choice([1, 1, 2, 2, 3])):
            piece(1)
        for name in self.own[-2:]:
            self.emit(1, f"s += np.sum({name}{self.pick(f' * {name}', f') * ({name}[n // 2]')}) * 0.1")
        self.emit(1, f"return {self.rng.choice(['s', 's', 's', f'{self.own[0]}, s', self.own[-1]])}")
        return "\n".join(self.lines)

    # parts

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def vector(self) -> str:
        return self.rng.choice(self.vectors)

    def sign(self) -> str:
        """How an element is set."""
        return self.pick("=", "+=")

    def make(self, depth: int) -> None:
        name, old = self.new("u"), self.vector()
        ways = "{0}.copy()", "0.5 * {0}", "np.zeros(n)", "np.ones(n)", "np.sin({0})", "{0}[::-1] * x1"
        made = self.pick(*ways).format(old)
        self.emit(depth, f"{name} = {made}")
        self.vectors.append(name)
        self.own.append(name)

    def operand(self, i: str, low: int, high: int) -> str:
        """An element around `i`, or a number."""
        if self.chance(0.15):
            return self.pick("x1", "0.7", "s" if self.chance(0.3) else "x1")
        v = self.vector()
        if self.chance(0.1):
            return f"{v}[{self.pick('0', '-1', f'n - 1 - {i}', f'k1[{i}]')}]"
        offset = self.rng.randint(-low, high)
        return f"{v}[{i}{f' + {offset}' if offset > 0 else f' - {-offset}' if offset else ''}]"

    def expression(self, i: str, low: int, high: int) -> str:
        p, q, r = (self.operand(i, low, high) for _ in range(3))
        return self.pick(
            f"0.5 * {p} * {q}",
            f"{p} * {q} + 0.3 * {r}",
            f"0.4 * {p} - {q}",
            f"{p} - {q} * {r} * 0.2",
            f"0.3 * math.sin({p}) * math.cos({p}) + {q}",
            f"{p} / (1.5 + {q} * {q}) + {r} / (1.5 + {q} * {q})",
            f"0.5 * {p} / (2.0 + x1) + 0.1 * {q} / (2.0 + x1)",
            f"({p} if {q} > 0.1 else {r})",
            f"0.5 * max({p}, {q})",
            f"0.2 * abs({p}) + {q} * {q} * 0.3",
        )

    def test(self, i: str, low: int, high: int) -> str:
        return self.pick(
            f"{self.operand(i, low, high)} > {self.pick('0.0', '0.1', self.operand(i, low, high))}",
            f"{self.operand(i, 0, 0)} < -0.2",
            f"{i} {self.pick('==', '<', '>', '!=')} {self.pick('0', '1', 'n - 1', 'n - 2')}",
            f"k1[{i}] > 1",
            f"{i} % 2 == 0",
            "x1 > 0.0",
        )

    def header(self, depth: int, i: str) -> tuple[int, int]:
        """A loop over places, and how far its subscripts may go to either side."""
        low, high = self.rng.choice([(0, 0), (1, 1), (0, 1), (1, 0), (2, 1), (2, 2)])
        end = "n" if high == 0 else f"n - {high}"
        way = self.rng.random()
        if way < 0.65:
            self.emit(depth, f"for {i} in range({f'{low}, ' if low else ''}{end}):")
        elif way < 0.8:
            self.emit(depth, f"for {i} in range({end} - 1, {low} - 1, -1):")
        else:
            # a ring: what is before the first element is the last one
            self.least = max(self.least, low)
            self.emit(depth, f"for {i} in range({end}):")
        return low, high

    def stored(self, depth: int, i: str, low: int, high: int, into: str) -> None:
        """What an iteration does."""
        value = self.expression(i, low, high)
        place = i if self.chance(0.75) else f"{i} + {high}" if high else f"{i} - {low}" if low else i
        kind = self.rng.random()
        if kind < 0.35:
            self.emit(depth, f"{into}[{place}] {self.pick('=', '+=', '=')} {value}")
        elif kind < 0.55:
            self.emit(depth, f"if {self.test(i, low, high)}:")
            self.emit(depth + 1, f"{into}[{place}] {self.sign()} {value}")
            if self.chance(0.7):
                self.emit(depth, "else:" if self.chance(0.7) else f"elif {self.test(i, low, high)}:")
                self.emit(depth + 1, f"{into}[{self.pick(place, i)}] {self.sign()} {self.expression(i, low, high)}")
        elif kind < 0.7:
            self.emit(depth, f"s += 0.1 * ({value})")
            if high and self.chance(0.4):
                self.emit(depth, f"s += 0.1 * ({self.expression(i, low, high)}) ** 2")
        elif kind < 0.8 and high:
            self.emit(depth, f"{into}[{i}] += {value}")
            self.emit(depth, f"{into}[{i} + 1] += {self.expression(i, 0, 0)}")
        elif kind < 0.9:
            other = self.rng.choice(self.own)
            t = self.new("t")
            self.emit(depth, f"{t} = {value}")
            self.emit(depth, f"{into}[{i}] = 0.5 * {t}")
            self.emit(depth, f"{other}[{self.pick(i, f'({i} + 1) % n', f'k1[{i}]')}] {self.sign()} 0.3 * {t}")
        else:
            around = f"({i} + {self.pick('1', 'n - 1', '2')}) % n"
            self.emit(depth, f"{into}[{around}] {self.sign()} 0.5 * ({value})")

    # pieces

    def stencil(self, depth: int) -> None:
        i = self.new("i")
        low, high = self.header(depth, i)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.stored(depth + 1, i, low, high, self.rng.choice(self.own))

    def steps(self, depth: int) -> None:
        """Time steps: buffers change places, or are copied back."""
        names = [self.new("w") for _ in range(self.rng.choice([2, 2, 2, 3]))]
        for name in names:
            made = self.pick("{0}.copy()", "0.5 * {0}", "np.zeros(n)").format(self.vector())
            self.emit(depth, f"{name} = {made}")
        last, before = names[-1], self.vectors
        self.emit(depth, f"for {self.new('k')} in range(steps):")
        if self.chance(0.15):
            self.emit(depth + 1, f"s += {last}[0] * {names[0]}[-1] * 0.1")
        i, self.vectors = self.new("i"), [*names[:-1], *names[:-1], *names, self.rng.choice(before)]
        low, high = self.header(depth + 1, i)
        value = self.expression(i, low, high)
        if self.chance(0.7):
            ways = f" - {low}" if low else "", "", f" + {high}" if high else ""
            p, q, r = (f"{names[-2]}[{i}{way}]" for way in ways)
            value = self.pick(f"{p} * {q} + 0.3 * {r} * {q}", f"{q} * {q} - 0.2 * {p} * {r}", f"{p} * ({r} - {q})")
        self.emit(depth + 2, f"{last}[{i}] {self.pick('=', '=', '=', '+=')} {value}")
        if self.chance(0.4):
            edge = self.pick(f"{names[0]}[0] * 0.9", f"{last}[0]", "x1")
            self.emit(depth + 1, f"{last}[{self.pick('0', '-1', 'n - 1')}] = {edge}")
        if self.chance(0.3):
            own, self.own = self.own, names
            self.stencil(depth + 1)
            self.own = own
        if self.chance(0.8):
            self.emit(depth + 1, f"{', '.join(names)} = {', '.join([*names[1:], names[0]])}")
        else:
            self.emit(depth + 1, f"{names[0]}[:] = {last}")
        if self.chance(0.2):
            self.emit(depth + 1, f"s += {self.rng.choice(names)}[0] * 0.1")
        self.vectors = [*before, *names]
        self.own += names[: self.rng.choice([1, len(names)])]

    def slices(self, depth: int) -> None:
        self.least = max(self.least, 3)
        u, v, w = (self.vector() for _ in range(3))
        into = self.rng.choice(self.own)
        self.emit(
            depth,
            self.pick(
                f"{into}[1:-1] = 0.5 * {u}[2:] * {v}[:-2] - 0.2 * {w}[1:-1]",
                f"{into}[1:] += 0.3 * ({u}[1:] - {v}[:-1]) * {w}[1:]",
                f"{into}[:-1] = {u}[1:] * x1",
                f"s += np.sum({u}[2:] * {v}[:-2]) * 0.1",
                f"{into}[:2] = {u}[-2:] * {v}[1:3]",
                f"{into}[1:-1][:1] += {u}[1:2] * {v}[:1]",
            ),
        )

    def search(self, depth: int) -> None:
        i, k, v = self.new("i"), self.new("k"), self.vector()
        self.emit(depth, f"for {i} in range(n):")
        side = self.pick("", ", side='right'")
        self.emit(depth + 1, f"{k} = np.searchsorted(TABLE, {v}[{i}]{self.pick('', ' + x1')}{side})")
        self.emit(depth + 1, f"{k} = min(max({k}, 1), {len(KNOTS) - 1})")
        self.emit(depth + 1, f"s += 0.1 * ({v}[{i}] - TABLE[{k} - 1]) ** 2 * {self.vector()}[{i}]")
        if self.chance(0.4):
            self.emit(depth + 1, f"{self.rng.choice(self.own)}[{i}] = 0.5 * TABLE[{k}] * {v}[{i}]")

    def rows(self, depth: int) -> None:
        i, row = self.new("i"), self.new("r")
        self.emit(depth, f"for {i} in range(m1.shape[0]):")
        self.emit(depth + 1, f"{row} = m1[{i}]{self.pick('', '', ' * x1', ' - m1[0]')}")
        self.emit(
            depth + 1,
            self.pick(
                f"s += 0.1 * np.sum(np.cross({row}, m1[-1]) * {row})",
                f"s += 0.1 * np.sum({row} * np.array([1.0, x1, 0.5]))",
                f"s += 0.1 * np.dot({row}, m1[n - 1 - {i}])",
                f"{self.rng.choice(self.own)}[{i}] = np.max({row}) + np.sum({row} * {row})",
                f"s += 0.1 * np.sum(np.exp({row} - np.max({row})) * {row})",
                f"{self.rng.choice(self.own)}[{i}] += np.sum(m1[:{i}, 1]) * 0.1",
            ),
        )

    def recurrence(self, depth: int) -> None:
        """A recurrence in each iteration, which may keep what it goes through."""
        i, j, p = self.new("i"), self.new("j"), self.new("p")
        v, w, kept = self.vector(), self.vector(), self.new("g")
        keeps = self.chance(0.5)
        if keeps:
            self.emit(depth, f"{kept} = np.zeros((n, 4))")
        self.emit(depth, f"for {i} in range({self.pick('n', 'n', 'n - 1')}):")
        self.emit(depth + 1, f"{p} = {v}[{i}]")
        self.emit(depth + 1, f"for {j} in range({self.pick('4', '4', 'min(n, 4)', f'min({i}, 4)')}):")
        following = f"0.5 * {p} * {p} + {v}[{i}]", f"{p} * x1 + 0.3 * math.sin({p})", f"0.4 * {p} * {w}[{i}] + 0.1"
        self.emit(depth + 2, f"{p} = {self.pick(*following)}")
        if self.chance(0.2):
            self.emit(depth + 2, f"if {p} > 0.9:")
            self.emit(depth + 3, "break")
        elif keeps:
            self.emit(depth + 2, f"{kept}[{i}, {j}] = {p}")
        self.emit(depth + 1, self.pick(f"s += 0.1 * {p}", f"{self.rng.choice(self.own)}[{i}] = 0.5 * {p}"))
        if keeps:
            self.emit(depth, f"s += np.sum({kept} * {kept}{self.pick('', '[::-1]')}) * 0.1")

    def columns(self, depth: int) -> None:
        """A matrix that is walked down column by column."""
        q, i, j, t = (self.new(stem) for stem in "qijt")
        self.emit(depth, f"{q} = {self.pick('m1.copy()', 'm1 * x1', f'np.zeros((n, {MATRIX}))')}")
        self.emit(depth, f"for {j} in range({self.pick('', '1, ')}{MATRIX}):")
        self.emit(depth + 1, f"{t} = {self.pick('0.1', f'{q}[0, {j}]')}")
        self.emit(depth + 1, f"for {i} in range(n):")
        self.emit(depth + 2, f"{t} += {q}[{i}, {j}] * m1[{i}, {j} - 1]")
        self.emit(depth + 1, f"for {i} in range(n):")
        way = self.pick("-= 0.2 *", "= 0.5 *", "+= 0.1 *")
        self.emit(depth + 2, f"{q}[{i}, {j}] {way} {t} * {self.vector()}[{i}]")
        self.emit(depth, f"s += np.sum({q} * {q}) * 0.1")

    def chosen(self, depth: int) -> None:
        """Arrays that a branch has chosen, in an expression or a loop."""
        c, u, v = self.new("c"), self.vector(), self.vector()
        self.emit(depth, f"if {self.pick('x1 > 0.0', 'steps > 2', f'np.sum({u}) > 0.0')}:")
        self.emit(depth + 1, f"{c} = {self.pick(u, f'{u} * x1', f'{u}[:1]', f'{u}.copy()')}")
        self.emit(depth, "else:")
        self.emit(depth + 1, f"{c} = {self.pick(v, f'{v} + 0.1', f'{v}[::-1]')}")
        self.emit(depth, self.pick(f"s += 0.1 * np.sum({c} * {u} + {v})", f"s += 0.1 * np.sum(np.sin({c}) * {v})"))

    def march(self, depth: int) -> None:
        """A walk whose length nobody knows before."""
        t, y, k = self.new("t"), self.new("y"), self.new("k")
        v = self.vector()
        self.emit(depth, f"{t}, {y} = {self.pick('0.0', '0.1 * s')}, x1")
        self.emit(depth, f"while {t} < {self.pick('2.0', '0.5 * steps')}:")
        self.emit(depth + 1, f"{k} = int(math.floor({y} * 2.0 + {t}))")
        self.emit(depth + 1, f"if {k} >= 0 and {k} + 1 < n:")
        self.emit(depth + 2, f"s += 0.1 * ({v}[{k}] * ({y} - {k}) + {v}[{k} + 1] * ({y} + {t}))")
        self.emit(depth + 1, f"{y} += {self.pick('0.2 * math.cos(x1)', f'0.1 * {v}[0]', '0.3 * x1')}")
        self.emit(depth + 1, f"{t} += {self.pick('0.31', '0.17 + 0.1 * abs(x1)')}")

    def whole(self, depth: int) -> None:
        u, v = self.vector(), self.vector()
        d = self.new("d")
        self.emit(depth, f"{d} = {u} * {v} - {self.pick('x1', '0.3', v)}")
        self.emit(
            depth,
            self.pick(
                f"s += np.sum({d} * {d}) * 0.1 + np.sum(np.abs({u})) * 0.1",
                f"s += np.sum(np.exp({d})) * 0.1 - np.max({d})",
                f"s += np.log(np.sum(np.exp({d} - np.max({d})))) * 0.1",
                f"s += np.mean({d}) * np.sum(np.tanh({d}) * {v}) * 0.1",
            ),
        )


KNOTS = (-0.8, -0.35, -0.1, 0.0, 0.15, 0.4, 0.75)


def generate(seed: int) -> FuzzProgram:
    """The program of a seed."""
    writer = Loops(random.Random(seed))
    body = writer.program()
    table = f"TABLE = np.array({list(KNOTS)})\n"
    source = f"{HEADER}{table}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n"
    return LoopProgram(seed, source, PARAMETERS, writer.least)
