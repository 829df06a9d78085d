"""Random programs of linear algebra on small matrices: what is solved from factors, and products in loops.

Systems with one matrix, its transpose or its factor of Cholesky's, some of which is overwritten in between; products of
matrices of a stack, and of matrices and vectors, in loops that a branch may leave; extents of none, one, and around
what is few.  Like `programs`, each program is a pure function of its seed and never fails: whatever is done to a
square matrix leaves its diagonal larger than its rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

PARAMETERS = ("count", "x1", "v1", "v2", "m1", "m2", "b1", "c1", "c2", "p1")
EXTENTS = (1, 2, 3, 3, 4, 5, 8, 9)


@dataclass(frozen=True)
class SystemProgram(FuzzProgram):
    """A program whose matrices have as many rows as its seed says."""

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments: iterations, a number, vectors, square matrices, right sides, stacks, rows of points."""
        rng = np.random.default_rng(self.seed)
        n, k = int(rng.choice(EXTENTS)), int(rng.choice((1, 2, 3, 9)))
        count = int(rng.choice((0, 1, 2, 3, 5)))
        shapes = [(n,), (n,), (n, n), (n, n), (n, k), (count, n, n), (count, n, n), (count, n)]
        arrays = [rng.uniform(-1.0, 1.0, shape) / n for shape in shapes]
        for place in (2, 3):
            arrays[place] += 2.0 * np.eye(n)
        if self.seed % 7 == 0:
            arrays = [np.asfortranarray(one) for one in arrays]
        elif self.seed % 7 == 1:
            arrays = [np.repeat(one, 2, axis=-1)[..., ::2] for one in arrays]
        return (count, 0.4, *arrays)


class Systems(Writer):
    """Writes one program; all its names are of one of three kinds."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 9
        # square matrices with large diagonals, of any kind, and vectors; those of them that are the program's own
        self.solvable = ["m1", "m2"]
        self.squares = ["m1", "m2"]
        self.vectors = ["v1", "v2"]
        self.own: list[str] = []
        self.own_vectors: list[str] = []
        # the number of the iteration, where stacks may be asked for
        self.iteration: str | None = None

    def program(self) -> str:
        """The lines of its body."""
        self.emit_all(1, ("n = v1.shape[0]", "s = 0.1 * x1"))
        self.copied(1)
        self.vector_made(1)
        for _ in range(self.rng.randint(2, 5)):
            self.statement(1)
        for name in self.own[-3:]:
            self.emit(1, f"s += np.sum({name}{self.pick(f' * {name}', ' * m2')}) * 0.05")
        for name in self.own_vectors[-3:]:
            self.emit(1, f"s += np.sum({name}{self.pick(f' * {name}', ' * v1')}) * 0.1")
        self.emit(1, f"return {self.pick('s', 's', 's', f'{self.own[0]}, s', self.own_vectors[-1])}")
        return "\n".join(self.lines)

    # parts

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def vector(self) -> str:
        """A vector of `n` elements."""
        known = self.rng.choice(self.vectors)
        if self.iteration is not None and self.chance(0.3):
            return f"p1[{self.iteration}]"
        square = self.rng.choice(self.squares)
        return self.pick(known, known, known, known, f"{square}[0]", f"{square}[:, -1]", f"(0.5 * {known})", "b1[:, 0]")

    def square(self) -> str:
        """A square matrix of any kind."""
        if self.iteration is not None and self.chance(0.4):
            return self.pick(
                f"c1[{self.iteration}]", f"c2[{self.iteration}]", f"c1[{self.iteration} - 1]", f"c2[{self.iteration}].T"
            )
        known = self.rng.choice(self.squares)
        return self.pick(known, known, known, f"{known}.T", f"{known}[::-1]", f"(0.3 * {known})")

    def matrix(self) -> str:
        """A square matrix that can be solved with."""
        known = self.rng.choice(self.solvable)
        return self.pick(known, known, known, f"{known}.T", f"np.transpose({known})", f"{known}.T.copy()")

    def system(self) -> str:
        """A vector that solves a system."""
        return f"np.linalg.solve({self.matrix()}, {self.vector()} + 0.0)"

    # pieces

    def statement(self, depth: int) -> None:
        pieces: list[tuple[float, Callable[[int], None]]] = [
            (1, self.copied),
            (1, self.positive),
            (2, self.vector_made),
            (4, self.solved),
            (1.5, self.sides),
            (2, self.product),
            (3, self.changed),
            (1.5, self.vector_changed),
            (1, self.number),
        ]
        if depth < 3:
            pieces += [(3, self.loop), (1.5, self.branch)]
        self.rng.choices([make for _, make in pieces], [weight for weight, _ in pieces])[0](depth)

    def copied(self, depth: int) -> None:
        """A matrix of its own, or another name."""
        name, known = self.new("q"), self.rng.choice(self.solvable)
        made = self.pick(f"{known}.copy()", f"{known} + 0.3 * np.eye(n)", f"{known}.T", f"{known}", f"1.5 * {known}")
        self.emit(depth, f"{name} = {made}")
        self.solvable.append(name)
        self.squares.append(name)
        self.own.append(name)

    def positive(self, depth: int) -> None:
        """A factor of Cholesky's of a matrix that is positive."""
        name, known = self.new("l"), self.square()
        self.emit(depth, f"{name} = np.linalg.cholesky(0.2 * {known} @ {known}.T + 1.5 * np.eye(n))")
        self.solvable += [name, name]
        self.squares.append(name)
        self.own.append(name)

    def vector_made(self, depth: int) -> None:
        name = self.new("u")
        self.emit(depth, f"{name} = {self.pick(f'{self.vector()}.copy()', f'{self.square()} @ {self.vector()}')}")
        self.vectors.append(name)
        self.own_vectors.append(name)

    def solved(self, depth: int) -> None:
        """A system, whose solution is another right side."""
        name = self.rng.choice([self.new("y"), *self.own_vectors])
        self.emit(depth, f"{name} = {self.system()}")
        if name not in self.vectors:
            self.vectors.append(name)
            self.own_vectors.append(name)
        if self.chance(0.3):
            self.emit(depth, f"s += 0.1 * np.sum({name} * {self.vector()})")

    def sides(self, depth: int) -> None:
        """Systems with several right sides."""
        name, matrix = self.new("z"), self.matrix()
        side = self.pick("b1", "b1", "2.0 * b1", "m1", self.rng.choice(self.own))
        self.emit(depth, f"{name} = np.linalg.solve({matrix}, {side})")
        ends = [
            f"s += 0.05 * np.sum({name} * {name})",
            f"s += 0.1 * {name}[0, -1] * {name}[-1, 0]",
            f"s += 0.1 * np.sum({name}.T @ {self.vector()})",
            f"s += 0.1 * {name}.ravel()[-1] * {name}.ravel()[n // 2]",
            f"s += 0.1 * np.sum(np.linalg.solve({matrix}, {name})[0])",
        ]
        self.emit(depth, self.rng.choice(ends))

    def product(self, depth: int) -> None:
        """A product of small matrices, or a chain of them."""
        into, one, other = self.rng.choice(self.squares), self.square(), self.square()
        if into not in self.own:
            into = self.new("r")
            self.emit(depth, f"{into} = {one} @ {other}")
            self.squares.append(into)
            self.own.append(into)
        elif into in self.solvable:
            self.emit(depth, f"s += 0.1 * np.sum(({one} @ {other}) * {into})")
        else:
            forms = f"{into} = 0.5 * {into} @ {one}", f"{into}[:] = {one} @ {into}", f"{into} += 0.2 * {one} @ {other}"
            self.emit(depth, self.pick(*forms))

    def changed(self, depth: int) -> None:
        """A matrix that is overwritten, in part, or stands for another one."""
        name = self.rng.choice(self.own)
        at, other, x = self.pick("0", "-1", "n - 1"), self.rng.choice(self.solvable), self.pick("x1", "s", "0.3")
        forms = [
            f"{name}[{at}, {at}] += 0.5 + 0.1 * {x} * {x}",
            f"{name}[{at}] *= 0.8",
            f"{name}[:, {at}] *= 1.1",
            f"{name} *= 1.0 + 0.1 * {x} * {x}",
            f"{name}[0, 0] = 2.5",
            f"{name} += 0.4 * np.eye(n)",
        ]
        if name in self.solvable and not name.startswith("l"):
            forms += [f"{name}[:] = {other}.copy()", f"{name} = {other}", f"{name} = {other}.T + 0.2 * np.eye(n)"]
        self.emit(depth, self.rng.choice(forms))

    def vector_changed(self, depth: int) -> None:
        name = self.rng.choice(self.own_vectors)
        forms = [
            f"{name}[0] = 0.5 * {name}[-1] * x1",
            f"{name} *= 0.7",
            f"{name}[:] = {self.system()}",
            f"{name} = 0.5 * {self.square()} @ {name}",
            f"{name} = np.tanh({self.square()} @ {name} + {self.vector()})",
            f"{name} += 0.3 * ({self.vector()} @ {self.square()})",
        ]
        self.emit(depth, self.rng.choice(forms))

    def number(self, depth: int) -> None:
        one, other, square = self.vector(), self.vector(), self.square()
        forms = [
            f"s += 0.1 * {one} @ {square} @ {other}",
            f"s += 0.1 * np.dot({one}, {other})",
            f"s = 0.5 * s + 0.1 * np.trace({square} @ {self.square()})",
            f"s += 0.1 * {one} @ {self.system()}",
            f"s += 0.1 * np.linalg.inv({self.matrix()})[0, -1]",
            f"s += 0.1 * np.log(np.linalg.det({self.matrix()}) ** 2 + 1.0)",
        ]
        self.emit(depth, self.rng.choice(forms))

    # flow

    def inside(self, depth: int) -> None:
        """Statements in a block; what it makes is forgotten behind it, what it sets is not."""
        known = [[*names] for names in (self.solvable, self.squares, self.vectors, self.own, self.own_vectors)]
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth)
        self.solvable, self.squares, self.vectors, self.own, self.own_vectors = known

    def loop(self, depth: int) -> None:
        outer, self.iteration = self.iteration, self.new("t")
        head = self.pick("count", "count", "1, count", "count - 1, -1, -1", "min(count, 2)")
        self.emit(depth, f"for {self.iteration} in range({head}):")
        self.inside(depth + 1)
        if self.chance(0.2):
            self.emit(
                depth + 1, f"if {self.pick('s > 0.3', f'{self.iteration} > 1', f'{self.own_vectors[0]}[0] > 0.1')}:"
            )
            self.emit(depth + 2, self.pick("break", "continue"))
            self.inside(depth + 1)
        self.iteration = outer

    def branch(self, depth: int) -> None:
        tests = ["s > 0.2", "x1 > 0.0", "n > 3", "count > 1", f"{self.vector()}[0] > 0.05"]
        self.emit(depth, f"if {self.rng.choice(tests)}:")
        self.inside(depth + 1)
        if self.chance(0.5):
            self.emit(depth, "else:")
            self.inside(depth + 1)


def generate(seed: int) -> FuzzProgram:
    """The program of a seed."""
    body = Systems(random.Random(seed)).program()
    return SystemProgram(seed, f"{HEADER}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n", PARAMETERS)
