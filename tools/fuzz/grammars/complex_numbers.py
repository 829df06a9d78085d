"""Random programs of complex numbers: parts that are views, conjugates, what is real between them, loops and stores.

Like `programs`, each program is a pure function of its seed and never fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

LENGTH = 4
PARAMETERS = ("n", "x1", "z1", "a1", "c1", "c2", "m1")


@dataclass(frozen=True)
class ComplexProgram(FuzzProgram):
    """A program of complex and real numbers, vectors, and a matrix."""

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments: iterations, a real and a complex number, a real vector, complex vectors, a complex
        matrix.
        """
        rng = np.random.default_rng(self.seed)

        def some(*shape: int) -> Any:
            return rng.uniform(-1.0, 1.0, shape) + 1j * rng.uniform(-1.0, 1.0, shape)

        vectors = [rng.uniform(-1.0, 1.0, LENGTH), some(LENGTH), some(LENGTH)]
        if self.seed % 5 == 0:
            vectors = [np.repeat(v, 2)[::-2] for v in vectors]
        return (int(rng.integers(0, LENGTH)), 0.4, complex(some()), *vectors, some(3, LENGTH))


class Complexes(Writer):
    """Writes one program over real and complex names."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 9
        self.reals, self.numbers = ["x1", "s"], ["z1", "w"]
        self.real_vectors, self.vectors = ["a1"], ["c1", "c2", "m1[0]"]
        self.index: str | None = None

    def program(self) -> str:
        """The lines of its body."""
        self.emit_all(1, ("s = 0.1 * x1", "w = 0.5 * z1"))
        for _ in range(self.rng.randint(2, 6)):
            self.statement(1)
        number, vector = self.rng.choice(self.numbers), self.rng.choice(self.vectors)
        whole = f"s + abs({number} + 3.0) + np.sum(({vector} * np.conj({vector})).real) * 0.1"
        ends = [whole, whole, f"{whole} + np.sum({self.rng.choice(self.real_vectors)})"]
        ends += [f"{number} * 1.0, {whole}", f"{vector} + 0.0", f"{number} + {vector}[0]"]
        self.emit(1, f"return {self.rng.choice(ends)}")
        return "\n".join(self.lines)

    # expressions

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def place(self) -> str:
        if self.index is not None and self.chance(0.6):
            return self.pick(self.index, f"{self.index} - 1", f"-{self.index} - 1", f"({self.index} + n) % {LENGTH}")
        return self.pick("0", "1", "-1", "n")

    def real(self, depth: int = 2) -> str:
        """A real number."""
        known = self.rng.choice(self.reals)
        if depth == 0 or self.chance(0.2):
            return self.pick(known, f"{self.rng.choice(self.real_vectors)}[{self.place()}]", "0.6")
        z, x = self.number(depth - 1), self.real(depth - 1)
        return self.pick(
            f"({z}).real",
            f"({z}).imag",
            f"0.3 * abs({z})",
            f"0.2 * np.angle({z} + 3.0)",
            f"({x} - 0.4 * {known})",
            f"0.5 * math.sin({x})",
            f"(({z}) * ({z}).conjugate()).real * 0.2",
        )

    def number(self, depth: int = 2) -> str:
        """A complex number."""
        known = self.rng.choice(self.numbers)
        if depth == 0 or self.chance(0.2):
            element = f"{self.rng.choice(self.vectors)}[{self.place()}]"
            return self.pick(
                known, element, element, f"m1[{self.pick('0', '1', 'n % 3')}, {self.place()}]", "(0.3 + 0.2j)"
            )
        z, w, x = self.number(depth - 1), self.number(depth - 1), self.real(depth - 1)
        return self.pick(
            f"({z} * {w} * 0.5)",
            f"({z} - {w})",
            f"({x} + 0.4 * {z})",
            f"({x} * {z} * 0.6)",
            f"({z} / ({w} + 4.0))",
            f"({x} / ({w} - 4.0j))",
            f"np.conj({z})",
            f"({z}).conjugate()",
            f"0.3 * np.exp({z} * 0.3)",
            f"0.4 * np.sin(0.5 * {z})",
            f"np.sqrt({z} + 5.0) * 0.3",
            f"complex({x}, {self.real(0)})",
            f"({x} + 1j * {self.real(0)})",
            f"({z} if {x} > 0.1 else {w})",
            f"({z}) ** 2 * 0.3",
            f"-{z}",
            f"1j * {z}",
        )

    def vector(self, depth: int = 1) -> str:
        """A complex vector."""
        known = self.rng.choice(self.vectors)
        if depth == 0 or self.chance(0.2):
            return known
        u, v, x = self.vector(depth - 1), self.vector(depth - 1), self.rng.choice([self.real(1), self.number(1)])
        return self.pick(
            f"({u} * {v} * 0.6)",
            f"({u} - {x})",
            f"({x} * {u})",
            f"np.conj({u})",
            f"{u}[::-1]",
            f"({self.real_vector(0)} * {u})",
            f"({self.real_vector(0)} + 1j * {self.real_vector(0)})",
            f"np.exp(0.3 * {u}) * 0.5",
            f"{u} / ({v} * {v} + 5.0)",
            f"np.where({self.real_vector(0)} > 0.1, {u}, {v})",
            f"np.cumsum({u}) * 0.3",
            f"np.roll({u}, 1)",
            f"0.3 * (m1.T @ {u}[:3])",
        )

    def real_vector(self, depth: int = 1) -> str:
        """A real vector."""
        known, u = self.rng.choice(self.real_vectors), self.vector(0)
        if depth == 0:
            return self.pick(known, f"{u}.real", f"{u}.imag")
        return self.pick(
            f"{u}.real", f"np.abs({u})", f"({known} * {u}.imag)", f"np.abs({u} + 0.1) ** 2", f"{known}[::-1]"
        )

    def test(self) -> str:
        return self.pick(f"{self.real(1)} > 0.1", f"abs({self.number(1)}) < 0.8", "n > 1", f"{self.real(0)} < s")

    # statements

    def statement(self, depth: int) -> None:
        pieces: list[tuple[float, Callable[[int], None]]] = [
            (2, self.number_set),
            (2, self.real_set),
            (4, self.element_set),
            (3, self.vector_set),
            (1.5, self.made),
            (1, self.reduced),
            (1.5, self.parts),
        ]
        if depth < 3:
            pieces += [(2.5, self.loop), (1.5, self.branch), (0.8, self.orbit)]
        self.rng.choices([make for _, make in pieces], [weight for weight, _ in pieces])[0](depth)

    def number_set(self, depth: int) -> None:
        name = self.rng.choice(self.numbers)
        self.emit(depth, f"{name} {self.pick('=', '=', '+=', '-=')} {self.number()}")

    def real_set(self, depth: int) -> None:
        name = self.rng.choice(self.reals)
        self.emit(depth, f"{name} {self.pick('= 0.5 *', '+= 0.3 *', '-= 0.2 *')} ({self.real()})")

    def element_set(self, depth: int) -> None:
        v, at = self.vector(0), self.place()
        a, m = self.rng.choice(self.real_vectors), self.pick("0", "-1", "n % 3")
        forms = [
            f"{v}[{at}] = {self.number()}",
            f"{v}[{at}] += 0.3 * {self.number(1)}",
            f"{v}[{at}] *= {self.number(1)}",
            f"{v}[{at}] = {self.real(1)}",
            f"{v}.real[{at}] = {self.real(1)}",
            f"{v}.imag[{at}] += {self.real(1)}",
            f"{a}[{at}] = {self.real()}",
            f"m1[{m}, {at}] = {self.number()}",
            f"{v}[{at}], {self.vector(0)}[{self.place()}] = {self.number(1)}, {self.number(0)}",
        ]
        self.emit(depth, self.rng.choice(forms))

    def vector_set(self, depth: int) -> None:
        v, a = self.vector(0), self.rng.choice(self.real_vectors)
        forms = [
            f"{v}[:] = {self.vector(2)}",
            f"{v}[1:] += 0.3 * {self.vector(0)}[:-1]",
            f"{v}[:] *= {self.rng.choice([self.number(1), self.real(1), self.real_vector(0)])}",
            f"{v}[::2] = {self.vector(1)}[:2]",
            f"{v}[{a} > 0.1] = {self.number(1)}",
            f"{v}.real[:] = {self.real_vector()}",
            f"{v}.imag[:] *= {self.real(1)}",
            f"{a}[:] = {self.real_vector()}",
            f"m1[:, {self.place()}] = {self.vector(1)}[:3]",
            f"m1[{self.pick('1', 'n % 3')}] = 0.5 * {self.vector(1)}",
            "m1[:] = 0.5 * m1[::-1].conj()",
            f"{v}[np.array([0, 2])] = {self.vector(1)}[1:3]",
        ]
        self.emit(depth, self.rng.choice(forms))

    def made(self, depth: int) -> None:
        """A fresh name: of a copy, of a view, of a part."""
        v = self.vector(0)
        if self.chance(0.3):
            name = self.new("p")
            self.emit(depth, f"{name} = {self.pick(f'{v}.real', f'{v}.imag', f'np.abs({v})', f'{v}.real.copy()')}")
            self.real_vectors.append(name)
        elif self.chance(0.3):
            name = self.new("y")
            self.emit(depth, f"{name} = {self.number()}")
            self.numbers.append(name)
        else:
            name = self.new("u")
            forms = f"{self.vector(2)} + 0.0", v, f"{v}[::-1]", f"np.zeros({LENGTH}, np.complex128)", f"{v}.copy()"
            self.emit(depth, f"{name} = {self.pick(*forms, 'm1[n % 3]', f'1j * {self.real_vector()}')}")
            self.vectors.append(name)

    def reduced(self, depth: int) -> None:
        u, v = self.vector(), self.vector(0)
        forms = [
            f"w = 0.2 * np.sum({u})",
            f"w = 0.2 * np.vdot({v}, {u})",
            f"w += 0.1 * np.dot({v}, {u})",
            f"s += 0.1 * np.linalg.norm({v} + 2.0)",
            f"s += 0.1 * np.sum(np.abs({u}) ** 2)",
            f"w = 0.3 * w + 0.1 * np.mean({u}) * {self.real(1)}",
            f"w = 0.3 * w + 0.1 * np.prod({v})",
            f"s += 0.1 * np.sum({self.real_vector()})",
            f"w = 0.1 * np.sum(m1 @ {v})",
        ]
        self.emit(depth, self.rng.choice(forms))

    def parts(self, depth: int) -> None:
        """A vector that is written through its parts."""
        v, p = self.vector(0), self.new("p")
        at = self.place()
        forms = [
            [f"{p} = {v}.real", f"{p}[{at}] = {self.real(1)}", f"{v}[{at}] *= {self.number(1)}"],
            [f"{p} = {v}.imag", f"{p} *= 0.7", f"{v}[:] = {v} * {self.number(1)}", f"s += 0.1 * {p}[{at}]"],
            [f"{p} = {v}[1:]", f"{p}.imag[:] += {p}.real", f"{p}[0] = {self.number(1)}"],
            [f"{v}.real[:], {v}.imag[:] = {v}.imag * 0.8, {v}.real + 0.1"],
        ]
        self.emit_all(depth, self.rng.choice(forms))

    # flow

    def inside(self, depth: int) -> None:
        """Statements in a block, whose names are forgotten behind it."""
        known = [[*names] for names in (self.reals, self.numbers, self.real_vectors, self.vectors)]
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth)
        self.reals, self.numbers, self.real_vectors, self.vectors = known

    def loop(self, depth: int) -> None:
        outer, self.index = self.index, self.new("i")
        heads = [str(LENGTH), "n", "1, 4", "3, -1, -1", f"n, {LENGTH}"]
        self.emit(depth, f"for {self.index} in {self.pick('range', 'range', 'range', 'prange')}({self.pick(*heads)}):")
        self.inside(depth + 1)
        if self.chance(0.2):
            self.emit(depth + 1, f"if {self.test()}:")
            self.emit(depth + 2, self.pick("break", "continue") if "prange" not in self.lines[-1] else "pass")
        self.index = outer

    def branch(self, depth: int) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.inside(depth + 1)
        if self.chance(0.5):
            self.emit(depth, "else:")
            self.inside(depth + 1)

    def orbit(self, depth: int) -> None:
        """An iteration that ends when its number is large, or when it has converged."""
        z, k, c = self.new("z"), self.new("k"), self.rng.choice(self.numbers)
        self.emit_all(depth, (f"{z}, {k} = {self.number(1)}, 0",))
        self.emit(depth, f"while {k} < 5 and {self.pick(f'abs({z}) < 1.5', f'{z}.real * {z}.real < 1.0')}:")
        self.emit(
            depth + 1, self.pick(f"{z} = 0.7 * {z} * {z} + {c} * 0.4", f"{z} -= ({z} ** 2 + 1.0) / (2.0 * {z} + 5.0)")
        )
        self.emit(depth + 1, f"{k} += 1")
        self.emit(depth, f"w = 0.5 * w + 0.2 * {z}")


def generate(seed: int) -> FuzzProgram:
    """The program of a seed."""
    body = Complexes(random.Random(seed)).program()
    return ComplexProgram(seed, f"{HEADER}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n", PARAMETERS)
