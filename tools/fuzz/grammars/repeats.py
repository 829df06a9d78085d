"""Random programs whose iterations compute alike what they could compute once, or almost.

Scratch arrays that each iteration fills, sums, products and factors of what stays, powers of sums of loops' variables,
elementary functions in recurrences and between inner loops, numbers that need each other; and, now and then, what
changes one of their operands.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tools.fuzz.grammars.loops import PARAMETERS, LoopProgram
from tools.fuzz.grammars.programs import HEADER
from tools.fuzz.grammars.writer import Writer


class Repeats(Writer):
    """Writes one program; what an iteration has computed is read by what comes behind it."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 9
        self.vectors = ["a1", "a2", "a3"]
        self.numbers = ["x1", "0.7", "x1"]
        # what iterations fill, and the vectors that they change
        self.scratch: list[str] = []
        self.state: list[str] = []
        self.iteration = "0"

    def program(self) -> str:
        """The lines of its body."""
        self.emit_all(1, ("n = a1.shape[0]", "s = 0.1 * x1"))
        for _ in range(self.rng.randint(1, 2)):
            name = self.new("u")
            self.emit(1, f"{name} = {self.pick('{0}.copy()', '0.5 * {0}', 'np.ones(n)').format(self.vector())}")
            self.state.append(name)
        for _ in range(self.rng.randint(0, 2)):
            self.scratch.append(self.new("p"))
            self.emit(1, f"{self.scratch[-1]} = {self.pick('np.zeros(n)', 'np.zeros(n)', 'np.empty(n)', 'np.ones(n)')}")
            if "empty" in self.lines[-1]:
                self.fill(1, self.scratch[-1], whole=True)
        for _ in range(self.rng.choice([1, 1, 2])):
            self.loop(1, self.rng.randint(2, 5))
        for name in (*self.state, *self.scratch):
            self.emit(1, f"s += np.sum({name} * {name}) * 0.05")
        self.emit(1, f"return {self.pick('s', 's', f'{self.state[0]}, s')}")
        return "\n".join(self.lines)

    # parts

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def vector(self) -> str:
        return self.rng.choice(self.vectors)

    def changing(self) -> str:
        """A number that iterations do not have in common."""
        return self.pick("s", f"0.1 * {self.iteration}", f"{self.rng.choice(self.state)}[0]")

    def operand(self, i: str) -> str:
        """A number that iterations have in common, mostly."""
        if self.chance(0.07):
            return self.changing()
        if self.chance(0.3):
            return self.rng.choice(self.numbers)
        if self.chance(0.1):
            return self.pick("m1[{0}, 0]", "m1[0, 1]", "a1[k1[{0}]]", "a2[n - 1 - {0}]", "0.1 * {0}").format(i)
        return f"{self.vector()}[{i}]"

    def expression(self, i: str) -> str:
        p, q = self.operand(i), self.operand(i)
        return self.pick(
            f"0.5 * {p} * {q}",
            f"0.6 * {p} - 0.3 * {q}",
            f"0.5 * math.exp(-{p} * {p})",
            f"0.4 * math.sin({p}) + 0.2 * {q}",
            f"{p} / (1.5 + {q} * {q})",
            f"0.6 * max({p}, {q})",
            f"({p} if {q} > 0.1 else 0.2)",
        )

    # a loop and its iterations

    def loop(self, depth: int, size: int) -> None:
        outer, numbers, scratch, vectors = self.iteration, self.numbers, self.scratch, self.vectors
        self.numbers, self.scratch, self.vectors = [*numbers], [*scratch], [*vectors]
        self.iteration = t = self.new("t")
        if self.chance(0.1):
            self.emit_all(depth, (f"{t} = 0", f"while {t} < steps:"))
            self.emit(depth + 1, f"{t} += 1")
        else:
            heads = ["steps"] * 4 + ["n", "3", "1, steps", "steps, 0, -1", "n - 1, -1, -2", "min(n, 5)", "1"]
            self.emit(depth, f"for {t} in {self.pick('range', 'range', 'range', 'prange')}({self.pick(*heads)}):")
        pieces: list[tuple[float, Callable[[int], None]]] = [
            (4, self.filled),
            (3, self.number),
            (2, self.numbers_together),
            (4, self.use),
            (1, self.disturb),
            (2, self.table),
            (1, self.recurrence),
            (1, self.between),
            (0.5, self.check),
            (0.4, self.leave),
        ]
        if depth < 3:
            pieces.append((1, lambda depth: self.loop(depth, 2)))
        weights = [weight for weight, _ in pieces]
        for piece in self.rng.choices([make for _, make in pieces], weights, k=size):
            piece(depth + 1)
        self.use(depth + 1)
        self.iteration, self.numbers, self.scratch, self.vectors = outer, numbers, scratch, vectors

    def filled(self, depth: int) -> None:
        """A scratch array of the iteration's own, or one that was there before."""
        if self.scratch and self.chance(0.4):
            self.fill(depth, self.rng.choice(self.scratch))
            return
        name = self.new("p")
        product = f"{self.vector()} * {self.rng.choice(self.numbers)}"
        made = self.pick("np.zeros(n)", "np.zeros(n)", "np.empty(n)", product)
        self.emit(depth, f"{name} = {made}")
        self.fill(depth, name, whole="empty" in made)
        self.scratch.append(name)
        if self.chance(0.5):
            self.vectors.append(name)

    def fill(self, depth: int, p: str, whole: bool = False) -> None:
        i, e = self.new("i"), self.new("e")
        one, other, third = (self.expression(i) for _ in range(3))
        used = f"s += 0.1 * {e} * {self.rng.choice(self.state)}[{i}]"
        forms = [
            [f"for {i} in range(n):", f"    {p}[{i}] = {one}"],
            [f"for {i} in range(n - 1, -1, -1):", f"    {p}[{i}] = {one}"],
            [f"{p}[0] = {self.expression('0')}", f"for {i} in range(1, n):"]
            + [f"    {p}[{i}] = {one} + 0.5 * {p}[{i} - 1]"],
            [f"{p}[n - 1] = {self.expression('0')}", f"for {i} in range(n - 2, -1, -1):"]
            + [f"    {p}[{i}] = {one} / (2.0 + {p}[{i} + 1] ** 2)"],
            [f"for {i} in range(n):", f"    {e} = {one}", f"    {p}[{i}] = {e}", f"    {used}"],
            [f"for {i} in range(n):", f"    if {other} > 0.1:", f"        {p}[{i}] = {one}"]
            + ["    else:", f"        {p}[{i}] = {third}"],
        ]
        if not whole:
            forms += [
                [f"for {i} in range(1, n):", f"    {p}[{i} - 1] = {other}", f"    {e} = {one}", f"    {p}[{i}] = {e}"]
                + [f"    {used}"],
                [f"for {i} in range(n - 1):", f"    {p}[{i} + 1] = {other}", f"    {p}[{i}] = {one}"],
                [f"for {i} in range(n):", f"    {p}[k1[{i}]] += {one}"],
                [f"for {i} in range(n):", f"    {p}[n - 1 - {i}] = {one}"],
                [f"for {i} in range(1, n - 1):", f"    {p}[{i}] = {one} + 0.2 * {p}[{i} - 1] * {p}[{i} + 1]"],
                [f"for {i} in range(0, n, 2):", f"    {p}[{i}] = {one}"],
                [f"for {i} in range(n):", f"    if {other} > 0.1:", f"        {p}[{i}] = {one}"],
                [f"for {i} in range(n):", f"    {p}[{i}] += {one}"],
                [f"for {i} in range(n):", f"    {p}[{i}] *= {one}"],
                [f"{p}[:] = {self.vector()}", f"{p}[-1] = {self.expression('0')}"],
                [f"for {i} in range(n):", f"    for {e} in range({i}):", f"        {p}[{i}] += 0.2 * {one} * {other}"],
            ]
        self.emit_all(depth, self.rng.choice(forms))

    def number(self, depth: int) -> None:
        """A number, or a small matrix, of what iterations have in common."""
        c, i, q = self.new("c"), self.new("i"), self.new("q")
        v, w, one = self.vector(), self.vector(), self.expression(i)
        plus = self.pick("np.eye(3)", f"(2.0 + {self.changing()} ** 2) * np.eye(3)")
        forms = [
            [f"{c} = 0.1", f"for {i} in range(n):", f"    {c} += 0.1 * {one}"],
            [f"{c} = 0.0", f"for {i} in range(n):", f"    {c} = max({c}, {one})"],
            [f"{c} = 0.1", f"for {i} in range(n):", f"    if {one} > 0.2:", f"        {c} += 0.1 * {v}[{i}]"],
            [f"{c} = 1.0", f"for {i} in range(n):", f"    {c} *= 0.5", f"    {c} += {one}"]
            + [f"    if {c} > 1.3:", "        break"],
            [f"{c} = 0.1 * np.sum({v} * {w})"],
            [f"{c} = 0.1 * np.dot({v}, {w})"],
            [f"{c} = np.max({v}) * {self.rng.choice(self.numbers)}"],
            [f"{c} = 0.1 * np.linalg.norm({v} + 2.0)"],
            [f"{q} = np.linalg.inv(m1.T @ m1 + {plus})", f"{c} = 0.2 * {q}[0, 0] + 0.1 * {q}[1, 2]"],
            [f"{q} = m1.T @ m1", f"{c} = 0.1 * {q}[0, 1] / (1.0 + {q}[2, 2])", f"{q}[0, 0] = {self.pick('1.0', c)}"],
            [f"{q} = np.dot(m1, m1[0])", f"{c} = {q}[-1] * 0.2 + np.sum({q}) * 0.05"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        self.numbers.append(c)

    def numbers_together(self, depth: int) -> None:
        """Numbers that a loop computes from each other, and a place that it finds on the way."""
        p, q, k, i, j = (self.new(stem) for stem in "cckij")
        x, y, v = self.operand(i), self.operand(i), self.vector()
        self.emit(depth, f"{p}, {q}, {k} = {self.pick('1.0', 'x1', self.changing())}, {self.pick('0.0', '0.5')}, 0")
        self.emit(depth, f"for {i} in range({self.pick('n', 'n', '1, n', 'n - 1, -1, -1')}):")
        forms = [
            [f"{p}, {q} = {p} * {x} - {q} * {y}, {p} * {y} + {q} * {x}"],
            [f"{p} = 0.6 * {p} * {x} + 0.3 * {y}", f"{q} += 0.2 * {p}"],
            [f"if {p} < 1.2:", f"    {p} = 0.7 * {p} + {x} * {y}", f"    {q} += 0.2 * {y}"],
            [f"if {x} > {p}:", f"    {p}, {k} = {x}, {i}"],
            [f"{p} = 0.5 * {p} + {x}", f"if {p} > {q}:", f"    {q}, {k} = {p}, {i}"],
            [f"{q} = max({q}, 0.5 * {p})", f"{p} = 0.8 * {p} + 0.1 * {q} * {x}"],
            [
                f"for {j} in range({k}):",
                f"    {q} = 0.9 * {q} + 0.1 * {y}",
                f"if {x} > 0.0:",
                f"    {k} = min({k} + 1, n - 1)",
            ],
            [f"{p}, {q} = {q}, 0.5 * {p} + 0.3 * {x}"],
            [f"s = 0.9 * s + 0.05 * {p}", f"{p} = 0.5 * {p} + {x}"],
        ]
        for form in self.rng.sample(forms, self.rng.choice([1, 1, 2])):
            self.emit_all(depth + 1, form)
        if self.chance(0.15):
            self.emit_all(depth + 1, (f"if {q} > 1.1:", "    break"))
        self.emit(depth, f"s = 0.7 * s + 0.1 * {self.pick(p, q, f'{p} * {q}')} * {v}[{k}]")
        self.numbers += self.rng.choice([[p], [q], [p, q]])

    def use(self, depth: int) -> None:
        """What makes iterations differ, from what they have in common."""
        i, u, c = self.new("i"), self.rng.choice(self.state), self.rng.choice(self.numbers)
        p = self.rng.choice(self.scratch or self.vectors)
        forms = [
            [f"for {i} in range(n):", f"    {u}[{i}] = 0.6 * {u}[{i}] + 0.3 * {p}[{i}] * {c}"],
            [f"for {i} in range(n):", f"    s = 0.8 * s + 0.1 * {p}[{i}] * {u}[{i}]"],
            [f"for {i} in range(n - 2, -1, -1):", f"    {u}[{i}] = {p}[{i}] - 0.4 * {u}[{i} + 1] * {c}"],
            [f"s = 0.5 * s + 0.3 * {c} * {p}[0] + 0.05 * {self.iteration}"],
            [f"s = 0.5 * s + 0.1 * np.dot({p}, {u})"],
            [f"{u}[:] = 0.5 * {u} + 0.2 * {p}"],
            [f"s = 0.6 * s + 0.2 * {c} * {u}[{self.pick('0', '-1', 'n // 2')}]"],
        ]
        self.emit_all(depth, self.rng.choice(forms))

    def disturb(self, depth: int) -> None:
        """Something that iterations had in common changes."""
        v, x, other = self.vector(), self.changing(), self.new("w")
        p = self.rng.choice(self.scratch or self.state)
        at = self.pick("0", "-1", f"{self.iteration} % n", "n - 1")
        forms = [
            [f"{v}[{at}] = 0.5 * {x}"],
            [f"{v} = 0.9 * {v}"],
            ["x1 = 0.9 * x1"],
            [f"{p}[{at}] = 0.5 * {x}"],
            [f"{other} = {p}[{self.pick(':', '::-1', '1:')}]", f"{other} *= 0.7"],
            [f"m1[0] = 0.5 * m1[0] + 0.1 * {x}"],
            [f"{p}, {self.state[0]} = {self.state[0]}, {p}"],
            [f"if {x} > 0.1:", f"    {p} = {self.state[-1]}"],
            [f"k1[0] = ({self.iteration} + 1) % n"],
        ]
        self.emit_all(depth, self.rng.choice(forms))

    def table(self, depth: int) -> None:
        """Functions of sums of two loops' variables."""
        i, j, e = self.new("i"), self.new("j"), self.new("e")
        count = self.pick("steps", "min(n, 6)", "4", "7")
        a, b = self.pick("", "", "2 * ", "3 * "), self.pick("", "", "2 * ", "4 * ")
        self.emit(depth, f"for {j} in range({self.pick('', '', '1, ')}{count}):")
        low, high = self.pick("", f"{j}, ", "1, ", f"-{j}, "), self.pick(f"{j} + 1", f"2 * {j}", "3", f"6 - {j}")
        self.emit(depth + 1, f"for {i} in range({low}{high}):")
        at = f"{a}{i} {self.pick('+', '-')} {b}{j}"
        x, c = self.rng.choice(self.numbers), self.pick("0.1", "x1")
        forms = [
            f"(1.0 + 0.1 * {x}) ** ({at})",
            f"math.exp(-0.1 * {x} * ({at}))",
            f"math.sin({c} * ({at}) + {x})",
            f"math.log(60.0 + {c} * ({at}))",
        ]
        self.emit(depth + 2, f"{e} = {self.pick(*forms)}")
        self.emit(depth + 2, f"s = 0.9 * s + 0.05 * {e} * {self.rng.choice(self.state)}[abs({i}) % n]")
        if self.chance(0.2):
            self.emit(depth + 1, f"x1 *= {self.pick('0.9', '0.8 + 0.1 * s')}")

    def recurrence(self, depth: int) -> None:
        """Elementary functions of what stays, in iterations that need one another."""
        i, y, e = self.new("i"), self.new("y"), self.new("e")
        u, c = self.rng.choice(self.state), self.rng.choice(self.numbers)
        self.emit(depth, f"{y} = {self.pick('x1', c, f'{u}[0]')}")
        self.emit(depth, f"for {i} in range({self.pick('n', '1, n', 'n - 1, -1, -1', 'n - 1')}):")
        function = self.pick("exp(-{0} * {0})", "sin({0})", "tanh({0})").format(self.operand(i))
        self.emit(depth + 1, f"{e} = math.{function}")
        if self.chance(0.3):
            self.emit(depth + 1, f"{self.pick(u, self.vector())}[{self.pick(i, '0', f'{i} - 1')}] = 0.5 * {y}")
        if self.chance(0.2):
            self.emit(depth + 1, f"{e} = {e} * math.cos({self.pick(y, self.operand(i))})")
        self.emit(depth + 1, f"{y} = 0.6 * {y} * {e} + 0.3 * {self.operand(i)}")
        self.emit(depth + 1, self.pick(f"s = 0.9 * s + 0.1 * {y}", f"{u}[{i}] = {y}", f"{u}[{i}] += 0.2 * {y}"))

    def between(self, depth: int) -> None:
        """Elementary functions between inner loops."""
        i, j, z, e = (self.new(stem) for stem in "ijze")
        c, u = self.rng.choice(self.numbers), self.rng.choice(self.state)
        self.emit(depth, f"for {i} in range({self.pick('n', 'n', '1, n')}):")
        self.emit(depth + 1, f"{z} = {self.pick(c, f'{u}[{i}]', '0.1')}")
        self.emit(depth + 1, f"for {j} in range({self.pick('3', f'{i} % 3 + 1', '2')}):")
        self.emit(depth + 2, f"{z} += 0.3 * m1[{i}, {j}] * {self.operand(i)}")
        self.emit(depth + 1, f"{e} = math.{self.pick('exp(-{0} * {0})', 'sin({0})').format(z)}")
        if self.chance(0.5):
            self.emit(depth + 1, f"for {j} in range(3):")
            self.emit(depth + 2, self.pick(f"m1[{i}, {j}] *= {e}", f"s = 0.9 * s + 0.05 * {e} * m1[{i}, {j}]"))
        self.emit(depth + 1, self.pick(f"s = 0.9 * s + 0.1 * {e}", f"{u}[{i}] = 0.5 * {e}", f"s += 0.1 * {e} * {z}"))

    def check(self, depth: int) -> None:
        """An error that is never raised."""
        test = self.pick(f"{self.vector()}[0] > 1e6", "n > 500", "s > 1e9", f"{self.iteration} > n + 9")
        self.emit_all(depth, (f"if {test}:", '    raise ValueError("too large")'))

    def leave(self, depth: int) -> None:
        self.emit_all(depth, (f"if {self.changing()} > 0.6:", f"    {self.pick('break', 'continue')}"))


def generate(seed: int) -> LoopProgram:
    """The program of a seed."""
    body = Repeats(random.Random(f"repeats {seed}")).program()
    source = f"{HEADER}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n"
    return LoopProgram(seed, source, PARAMETERS)
