"""Random programs on complex numbers and arrays: views, stores, branches, loops, values that become complex."""

from __future__ import annotations

import argparse
import itertools
import linecache
import random
import time
from typing import Any

import numpy as np

from tests.oracles import check, interpreted

_files = itertools.count(1)

SCALARS = ("z", "w", "x", "s")
ARRAYS = ("a", "b")


class Writer:
    """Writes one program; all of its randomness comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def number(self, depth: int) -> str:
        """An expression that is a number, real or complex."""
        if depth == 0 or self.rng.random() < 0.2:
            element = f"{self.pick(*ARRAYS)}[{self.place()}]"
            return self.pick(*SCALARS, "1j", "0.5", "(0.3 - 0.4j)", "2", element, "r[i]")
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {other})",
            f"({one} / (4.0 + {other}))",
            f"abs({one})",
            f"np.conj({one} + 0j)",
            f"({one} + 0j).real",
            f"({one} + 0j).imag",
            f"({one}) ** {self.rng.randint(0, 3)}",
            f"np.exp(0.1 * {one})",
            f"np.sin(0.2 * ({one}))",
            f"({one} if x > {self.pick('0.2', '1.0')} else {other})",
            f"helper({one}, {other})",
        )

    def place(self) -> str:
        return self.pick("i", "i - 1", "0", "-1", "n - 1 - i")

    def vector(self, depth: int) -> str:
        """An expression that is a complex array of `n` elements."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.pick(*ARRAYS, "a[::-1]", "b.conj()", "(r * 1j)", "(a.real + 0j)")
        one, other = self.vector(depth - 1), self.vector(depth - 1)
        return self.pick(
            f"({one} + {other})",
            f"({one} * {other})",
            f"({one} - {self.number(0)})",
            f"({self.number(0)} * {one})",
            f"np.exp(0.1 * {one})",
            f"(np.abs({one}) * 1j)",
            f"np.where({one}.real > 0.2, {one}, {other})",
            f"np.roll({one}, 1)",
        )

    def statement(self, indent: str, depth: int) -> None:
        kind = self.rng.randrange(11)
        array, number = self.pick(*ARRAYS), self.number(2)
        if kind == 0:
            self.lines.append(f"{indent}{self.pick('s', 'w', 'z')} = 0.5 * {number} + 0.1")
        elif kind == 1:
            self.lines.append(f"{indent}s = 0.3 * s + {number}")
        elif kind == 2:
            self.lines.append(f"{indent}{array}[{self.place()}] = 0.5 * {number}")
        elif kind == 3:
            self.lines.append(f"{indent}{array}[{self.place()}] {self.pick('+', '-')}= 0.3 * {number}")
        elif kind == 4:
            self.lines.append(f"{indent}{array}[:] = 0.5 * {self.vector(2)}")
        elif kind == 5:
            self.lines.append(f"{indent}{array}[1:] = {self.pick(*ARRAYS)}[:-1] * {self.number(0)} * 0.5")
        elif kind == 6:
            self.lines.append(f"{indent}{array}.{self.pick('real', 'imag')}[{self.place()}] = 0.5 * abs({number})")
        elif kind == 7:
            self.lines.append(f"{indent}{array} = 0.5 * {self.vector(2)}")
        elif kind == 8:
            self.lines.append(f"{indent}a, b = b, a")
        elif depth > 0:
            self.lines.append(f"{indent}if abs({number}) > {self.pick('0.3', '1.0')}:")
            self.statement(indent + "    ", depth - 1)
            if self.rng.random() < 0.5:
                self.lines.append(f"{indent}else:")
                self.statement(indent + "    ", depth - 1)
        else:
            self.lines.append(f"{indent}s = s * 0.5 + np.sum({self.vector(1)}) * 0.1")

    def program(self) -> str:
        self.lines = ["def f(z, w, x, a, b, r):", "    n = a.shape[0]", "    s = 0.0", "    i = 1"]
        for _ in range(self.rng.randint(0, 2)):
            self.statement("    ", 1)
        self.lines.append(f"    for i in range({self.pick('n', '1, n', '3')}):")
        for _ in range(self.rng.randint(1, 4)):
            self.statement("        ", 1)
        for _ in range(self.rng.randint(0, 2)):
            self.statement("    ", 1)
        self.lines.append("    return abs(s + z * w) + x, a * 1.0, b[0] * 1j, s * (1 + 0j)")
        return "\n".join(self.lines) + "\n"


def helper(one, other):
    if abs(one) > 0.7:
        return one * 0.5 - other
    return other * 0.5


def function(text: str) -> Any:
    file = f"<random complex program {next(_files)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {"np": np, "helper": helper}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"]


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    z, w = (complex(*rng.normal(size=2)) for _ in range(2))
    a, b = (rng.normal(size=4) + 1j * rng.normal(size=4) for _ in range(2))
    return z, w, float(rng.uniform(0.1, 1.3)), a, b, rng.normal(size=4)


def run(seed: int) -> str:
    """Check one program, by the interpreter; its text."""
    text = Writer(seed).program()
    with interpreted(), np.errstate(all="ignore"):
        check(function(text), arguments(seed), skip_kinks=True)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Check random programs on complex numbers.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end, seed = time.monotonic() + 60 * options.minutes, options.seed
    while time.monotonic() < end:
        try:
            run(seed)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}\n{Writer(seed).program()}")
        seed += 1
    print(f"{seed - options.seed} programs")


if __name__ == "__main__":
    main()
