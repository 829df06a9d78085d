"""Random programs of NumPy's functions on arrays whose extents the data decide, with arguments in containers.

Sorting, searching, running sums, masks that are stored into from arrays, positions twice in one store, tables, joins;
loops with several ways out, checkpointed loops, functions over arrays that surround them, recursion.  Like
`programs`, each program is a pure function of its seed and never fails.
"""

from __future__ import annotations

import random
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.grammars.calls import WIDTH, Calls
from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

EXTENTS = (1, 2, 3, 5, 8, 9)
State = namedtuple("State", "p q r")
PARAMETERS = ("state", "pair", "x1", "a1", "a2", "m1", "f1", "k1", "steps", "x2=0.3")

HELPERS = '''\


@njit
def helper_halves(v, low, high, x):
    if high - low < 2:
        return v[low] * x
    half = (low + high) // 2
    return 0.6 * helper_halves(v, low, half, x) + 0.5 * helper_halves(v, half, high, x * v[low])


@njit
def helper_ranked(v, w, rank=0, scale=0.5):
    order = np.argsort(w)
    return v[order[rank % len(v)]] * scale + np.sum(v[order][: rank + 1]) * 0.1


@njit
def helper_first(v, x):
    for i in range(len(v)):
        if v[i] > x:
            return v[i] * x, i
        if v[i] < -0.9:
            break
    else:
        return 0.2 * x, 0
    return v[i] + x, i


@njit
def helper_mixed(v, *more, scale=0.4):
    for w in more:
        v = v * scale + w
    return v
'''


def plain(seed: int) -> bool:
    """Whether all arguments of a program are given, and Numba has types for them: stages are run for these seeds."""
    return seed % 4 == 0


@dataclass(frozen=True)
class FunctionsProgram(FuzzProgram):
    """A program with containers of arrays among its arguments."""

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments, all of whose vectors have one extent but for three in the first, which has more."""
        rng = np.random.default_rng(self.seed)
        n = int(rng.choice(EXTENTS))

        def vector(extent: int = n) -> np.ndarray:
            return rng.uniform(-1.0, 1.0, extent)

        state = State(vector(), vector(n + 2), 0.6)
        matrix = rng.uniform(-1.0, 1.0, (n, WIDTH))
        single = vector().astype(np.float32)
        a1 = np.repeat(vector(), 2)[::-2] if self.seed % 5 == 0 else vector()
        pair = (vector(), State(vector(), vector(n + 1), 0.4) if plain(self.seed) else {"p": vector(), "r": 0.4})
        places = rng.integers(0, n, n)
        given = (state, pair, 0.4, a1, vector(), matrix, single, places, int(rng.integers(0, 5)))
        return (*given, 0.3) if plain(self.seed) else given


class Functions(Calls, Writer):
    """Writes one program over vectors of one extent, others of any extent, and numbers."""

    def __init__(self, rng: random.Random, item: str):
        super().__init__(rng, item)
        self.lines: list[str] = []
        self.names = 9
        self.budget = rng.randint(3, 9)

    def program(self) -> str:
        """The lines of its body."""
        self.emit_all(1, ("n = len(a1)", "s = 0.1 * x1"))
        while self.budget > 0:
            self.statement(1)
        for name in self.rng.sample(self.own, min(2, len(self.own))):
            self.emit(1, f"s += 0.1 * np.sum({name} * {name})")
        self.emit(1, f"s += 0.1 * np.sum({self.rng.choice(self.loose)}) + 0.1 * np.sum({self.matrices[-1]} ** 2)")
        self.emit(1, f"return {self.pick('s', 's', f'{self.own[-1]}, s', f's, State({self.own[0]} * 1.0, s, 2)')}")
        return "\n".join(self.lines)

    def statement(self, depth: int) -> None:
        self.budget -= 1
        pieces: list[tuple[float, Callable[[int], None]]] = [
            (4, self.make),
            (3, self.make_loose),
            (2, self.make_matrix),
            (4, self.add),
            (6, self.store),
            (2, self.store_matrix),
            (1.5, self.inner),
            (1, self.histogram),
        ]
        if depth < 3:
            pieces += [(2.5, self.loop), (1.5, self.branch), (1.5, self.leaving), (1.5, self.items), (1, self.grow)]
        weights = [weight for weight, _ in pieces]
        self.rng.choices([make for _, make in pieces], weights)[0](depth)

    def inside(self, depth: int, count: int) -> None:
        """A block; what is made in it stays there."""
        kept = [*self.even], [*self.own], [*self.loose], [*self.numbers], [*self.matrices]
        for _ in range(count):
            self.statement(depth)
        self.even, self.own, self.loose, self.numbers, self.matrices = kept

    def make(self, depth: int) -> None:
        name = self.new("u")
        self.emit(depth, f"{name} = {self.whole()}")
        self.even += [name, name]
        self.own.append(name)

    def make_loose(self, depth: int) -> None:
        if self.chance(0.25) and len(self.loose) > 3:
            self.emit(depth, f"{self.loose[-1]} = {self.any_extent()}")
            return
        name = self.new("w")
        self.emit(depth, f"{name} = {self.any_extent()}")
        self.loose += [name, name]

    def make_matrix(self, depth: int) -> None:
        name, m, v, x = self.new("m"), self.rng.choice(self.matrices), self.vector(), self.number()
        made = self.pick(
            f"{m}.copy()",
            f"np.sort({m}, axis={self.pick('0', '1')})",
            f"{m}[k1] * {x}",
            f"{m}[np.argsort({v})]",
            f"np.cumsum({m}, axis={self.pick('0', '1')}) * 0.3",
            f"np.column_stack(({v}, {self.vector()}, {v}))",
            f"np.where({m} > {x}, {m}, {v}[:, None])",
            f"np.outer({v}, WEIGHTS[:{WIDTH}])",
            f"{m}[::-1, ::-1]",
            f"{m} - np.mean({m}, axis=0)",
            f"np.roll({m}, {self.pick('1', '-1')}, axis={self.pick('0', '1')})",
            f"np.clip({m}, {x} - 0.7, 0.6)",
            f"np.take_along_axis({m}, np.stack((k1, k1, np.argsort({v})), axis=1), 0)",
            f"np.vstack(({m}[1:], {m}[:1]))",
            f"np.repeat({v}, {WIDTH}).reshape((n, {WIDTH}))",
            f"np.tril({m}) + 0.5 * np.triu({m})",
        )
        self.emit(depth, f"{name} = {made}")
        self.matrices += [name, name]

    def add(self, depth: int) -> None:
        if self.chance(0.4):
            name = self.new("c")
            self.emit(depth, f"{name} = {self.value()}")
            self.numbers.append(name)
        else:
            self.emit(depth, f"s = {self.pick('0.7 * s + ', 's + 0.3 * ', '0.5 - s * ')}({self.value()})")

    def store(self, depth: int) -> None:
        v, w, x = self.rng.choice(self.own), self.vector(), self.number()
        forms = [
            [f"{v}[{self.mask(v)}] = {x}"],
            [f"{v}[{self.mask(w)}] = {w}[:1]"],
            [f"q = {self.mask(v)}", f"{v}[q] = {w}[q]"],
            [f"q = {self.mask(w)}", f"{v}[q] = {w}[: np.sum(q)] * 0.7"],
            [f"q = {self.mask(w)}", f"{v}[q] *= {w}[q]"],
            [f"q = {self.mask(v)}", f"{v}[q] -= 0.3 * {v}[~q].sum()"],
            [f"{v}[k1] = {w} * 0.8"],
            [f"{v}[k1] += 0.3 * {w}"],
            [f"{v}[k1] *= 0.6 + 0.2 * {w}"],
            [f"{v}[k1] = {v}"],
            [f"{v}[np.argsort({w})] = {v} * {x}"],
            [f"{v}[np.argsort({v})[: n // 2]] = {x}"],
            [f"{v}[::-1] = 0.7 * {v}"],
            [f"{v}[::-2] *= {x}"],
            [f"{v}[n // 2:] = {v}[: n - n // 2]"],
            [f"{v}[1:] += 0.4 * {v}[:-1]"],
            [f"{v}[:-1] = {v}[1:]"],
            [f"{v}.sort()"],
            [f"{v}[::-1].sort()"],
            [f"{v}[:] = np.sort({w})"],
            [f"{v} += 0.4 * {w}"],
            [f"{v} *= {w}"],
            [f"{v}[{self.place()}] = {self.value()}"],
            [f"{v}[{self.place()}] += {w}[{self.place()}]"],
            [f"{v}[{self.place()}], {v}[{self.place()}] = {w}[{self.place()}], {x}"],
            [f"{v}[f1 > 0.0] = f1[f1 > 0.0]"],
            [f"{v}[:] = f1 * {w}"],
            [f"{v}[...] = {w}[::-1]"],
            [f"q = {v}[::-1]", f"q[: n // 2] = {w}[: n // 2] * {x}"],
            [f"np.subtract({v}, {w}, {v})"],
            [f"np.add({v}, {w}, out={v})"],
            [f"np.multiply({w}, {x}, out={v}[::-1])"],
        ]
        self.emit_all(depth, self.rng.choice(forms))

    def store_matrix(self, depth: int) -> None:
        m, v, x = self.rng.choice(self.matrices), self.vector(), self.number()
        forms = [
            [f"{m}[{m} > {x}] = {x}"],
            [f"{m}[{m} < 0.0] *= {x}"],
            [f"{m}[:, {self.pick('0', '-1')}] = {v}"],
            [f"{m}[{self.place()}] = WEIGHTS[:{WIDTH}] * {x}"],
            [f"{m}[k1] = {m} * 0.6"],
            [f"{m}[k1] += 0.2 * {v}[:, None]"],
            [f"{m}[:, ::-1] = {m} * {x}"],
            [f"np.fill_diagonal({m}, {x})"],
            [f"{m}[{self.place()}, 1:] = {m}[{self.place()}, :-1]"],
            [f"{m} -= 0.3 * np.max({m}, axis=1)[:, None]"],
            [f"{m}.T[1] = {v}"],
            [f"for row in {m}:", f"    row *= {x}", f"    s = 0.8 * s + 0.1 * row[{self.pick('0', '-1')}]"],
            [f"{m}[np.arange(n), np.argmax({m}, axis=1)] = {v}"],
            [f"{m}[np.arange(n), k1 % {WIDTH}] += 0.3 * {v}"],
            [f"{m}.ravel()[::2] *= 0.5"],
            [f"{m}[{v} > 0.0] = {x}"],
            [f"{m}[{v} > 0.0] *= 0.4"],
            [f"{m}[{v} > 0.0, 1] = {x}"],
        ]
        self.emit_all(depth, self.rng.choice(forms))

    def inner(self, depth: int) -> None:
        """A function over arrays and numbers that surround it, which may change before it is called."""
        f, v, w, x = self.new("f"), self.rng.choice(self.own), self.vector(), self.number()
        forms = [
            [f"def {f}(k):", f"    return {v}[k] * {x} + 0.2 * {w}[-k - 1]"],
            [f"def {f}(k, y={x}):", f"    {v}[k] = 0.5 * {v}[k] + 0.3 * y", f"    return {v}[-1]"],
            [f"{f} = lambda k: np.sum({v}[k:]) * 0.2 + {x}"],
            [f"def {f}(k):", "    if k >= n:", f"        return {x}", f"    if {v}[k] > 0.2:", f"        return {v}[k]"]
            + [f"    return 0.4 * {w}[k]"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        if self.chance(0.5):
            changed = f"{v}[0] = {self.number()}", "s = 0.5 * s", f"x1 = 0.9 * {x}", f"{v} = 0.8 * {w}"
            self.emit(depth, self.rng.choice(changed))
        self.emit(depth, f"s = 0.6 * s + 0.3 * {f}({self.pick('0', 'n - 1', 'k1[0]')})")

    def histogram(self, depth: int) -> None:
        name, i, v, w = self.new("h"), self.new("i"), self.vector(), self.vector()
        place = self.pick(f"np.searchsorted(GRID, {v}[{i}])", f"min(max(int({v}[{i}] * 3.0 + 3.0), 0), 6)")
        self.emit(depth, f"{name} = np.zeros(8)")
        self.emit(depth, f"for {i} in range(n{self.pick('', ' - 1, -1, -1', ' - 1, 0, -2')}):")
        self.emit(depth + 1, f"{name}[{place}] {self.pick('+=', '+=', '=', '*=')} {self.pick('', '0.3 + ')}{w}[{i}]")
        made = self.pick(name, f"np.cumsum({name})", f"np.sort({name})")
        self.emit(depth, f"s += 0.1 * np.sum({made} * np.cos(GRID8))")

    def loop(self, depth: int) -> None:
        t = self.new("t")
        heads = ["range(steps)"] * 3 + ["range(3)", "range(steps, 0, -1)", "range(n - 1, -1, -2)"]
        if depth == 1:
            heads += ["tapec.checkpointed(range(steps), 2)", "tapec.checkpointed(range(5), slots=3)"]
        self.emit(depth, f"for {t} in {self.rng.choice(heads)}:")
        self.numbers.append(f"(0.1 * {t})")
        self.inside(depth + 1, self.rng.randint(1, 3))
        self.numbers.remove(f"(0.1 * {t})")

    def leaving(self, depth: int) -> None:
        """A loop that ends in one of several ways."""
        k, y, v, x = self.new("k"), self.new("y"), self.vector(), self.number()
        self.emit_all(depth, (f"{k}, {y} = 0, {x}", f"while {self.pick('True', f'{k} < 6', f'{y} < 1.5')}:"))
        self.emit(depth + 1, f"if {k} >= {self.pick('4', 'n', 'steps', '7')}:")
        self.emit(depth + 2, "break")
        body = [
            [f"if {y} > {self.pick('0.9', '1.1')}:", f"    s += 0.2 * {y}", "    break"],
            [f"if {v}[{k} % n] > 0.5:", f"    {k} += 1", f"    {y} = 0.8 * {y}", "    continue"],
            [f"{y} = 0.7 * {y} + 0.4 * {v}[{k} % n]"],
            [f"{y} += 0.3 * {v}[np.searchsorted(np.sort({v}), {y}) % n]"],
        ]
        for form in self.rng.sample(body, 2):
            self.emit_all(depth + 1, form)
        if self.chance(0.5):
            self.inside(depth + 1, 1)
        self.emit(depth + 1, f"{y}, {k} = 0.9 * {y} + 0.1 * {self.number()}, {k} + 1")
        if self.chance(0.3):
            self.emit_all(depth, ("else:", f"    s += 0.1 * {y}"))
        self.numbers.append(y)

    def branch(self, depth: int) -> None:
        x, v = self.number(), self.vector()
        name, same = self.new("u"), self.chance(0.5)
        self.emit(depth, f"if {self.pick(f'{x} > 0.2', f'np.any({self.mask(v)})', f'{v}[0] < {v}[-1]', 'steps > 1')}:")
        self.emit(depth + 1, f"{name} = {self.whole() if same else self.any_extent()}")
        self.inside(depth + 1, self.rng.randint(0, 2))
        self.emit(depth, "else:")
        self.emit(depth + 1, f"{name} = {self.whole() if same else self.any_extent()}")
        self.inside(depth + 1, self.rng.randint(0, 1))
        (self.even if same else self.loose).append(name)
        if same:
            self.own.append(name)

    def items(self, depth: int) -> None:
        """A loop over what arrays hold."""
        z, i, v, w = self.new("z"), self.new("i"), self.vector(), self.vector()
        u, c = self.rng.choice(self.loose), self.rng.choice(self.own)
        heads = [
            (f"for {z} in {u}:", None),
            (f"for {i}, {z} in enumerate({v}[::-1]):", i),
            (f"for {z}, {i} in zip({v}, k1):", i),
            (f"for {z} in np.sort({u}):", None),
            (f"for {i}, {z} in enumerate({v} * {w}):", i),
        ]
        head, at = self.rng.choice(heads)
        self.emit(depth, head)
        self.emit(depth + 1, f"s = 0.8 * s + 0.2 * {z} * {self.number()}")
        if at is not None:
            self.emit(depth + 1, f"{c}[{at}] {self.pick('=', '+=')} 0.3 * {z} * {self.pick('s', f'{w}[{at}]')}")
        if self.chance(0.3):
            self.emit_all(depth + 1, (f"if {z} > {self.pick('0.5', 's')}:", f"    {self.pick('break', 'continue')}"))
        if self.chance(0.5):
            self.inside(depth + 1, 1)

    def grow(self, depth: int) -> None:
        """A list that the data let grow, as an array."""
        name, z, i, v = self.new("l"), self.new("z"), self.new("i"), self.vector()
        self.emit_all(depth, (f"{name} = [{self.number()}]", f"for {i} in range(n):"))
        self.emit(depth + 1, f"{z} = ({self.whole()})[{i}]")
        self.emit_all(depth + 1, (f"if {z} > {self.pick('0.0', f'{name}[-1]')}:", f"    {name}.append({z} * {v}[{i}])"))
        if self.chance(0.4):
            self.emit_all(depth + 1, (f"elif len({name}) > 1:", f"    s += 0.2 * {name}.pop()"))
        made = self.new("w")
        self.emit(depth, f"{made} = np.array({name})")
        self.loose += [made, made]


GRID = (-0.9, -0.5, -0.2, 0.0, 0.25, 0.6, 0.95)


def generate(seed: int) -> FuzzProgram:
    """The program of a seed."""
    item = "pair[1].{}" if plain(seed) else "pair[1]['{}']"
    body = Functions(random.Random(seed), item).program()
    table = f"GRID = np.array({list(GRID)})\nTABLE = np.cos(GRID * 2.0)\nGRID8 = np.arange(8.0)\n"
    source = f"{HEADER}\nimport tapec\n\n{table}{HELPERS}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n"
    return FunctionsProgram(seed, source, PARAMETERS)
