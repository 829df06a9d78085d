"""Random programs in the supported language, each a pure function of its seed.

A program is generated top-down with a scope that knows every name's kind and every array's
extent, so that it never fails: subscripts stay in range, loops end, values stay tame.  Branches
and `while` conditions look at active values; the points where they flip have measure zero, and
the checker skips a point that lies too close to one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tools.fuzz_expressions import COLS, LENGTH, ROWS, Expressions, Scope, paren

HEADER = "import math\n\nimport numpy as np\nfrom numba import njit\n"


@dataclass(frozen=True)
class FuzzProgram:
    """Source text that defines `program`, and its arguments."""

    seed: int
    source: str
    parameters: tuple[str, ...]

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments: scalars, vectors and matrices by the first letter of their names, `n` an int.

        A last letter `s` stands for a strided array, `f` for one of single precision.
        """
        rng = np.random.default_rng(self.seed)
        return tuple(_argument(rng, name) for name in self.parameters)


def _argument(rng: np.random.Generator, name: str) -> Any:
    if name == "n":
        return int(rng.integers(0, LENGTH))
    if name.startswith("x"):
        return float(rng.uniform(-1.0, 1.0))
    shape = (LENGTH,) if name.startswith("a") else (ROWS, COLS)
    values = rng.uniform(-1.0, 1.0, shape)
    if name.endswith("f"):
        return values.astype(np.float32)
    return np.repeat(values, 2, axis=-1)[..., ::2] if name.endswith("s") else values


class Generator(Expressions):
    """Writes one program; `budget` is the number of statements still wanted."""

    def __init__(self, rng: random.Random):
        super().__init__(rng)
        self.lines = HEADER.splitlines()
        self.budget = rng.randint(4, 18)
        self.names = 0
        self.helpers: list[tuple[str, str]] = []
        self.result = rng.choice(["scalar", "scalar", "pair", "array"])

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def new(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def block(self, scope: Scope, depth: int, size: int) -> Scope:
        """At least one statement; names made in the block stay inside it."""
        wrote = len(self.lines)
        for _ in range(size):
            if self.budget <= 0:
                break
            self.budget -= 1
            scope = self.statement(scope, depth)
        if len(self.lines) == wrote:
            self.emit(depth, f"{self.target(scope)} = {self.scalar(scope)}")
        return scope

    def target(self, scope: Scope) -> str:
        return self.rng.choice(scope.scalars)

    def statement(self, scope: Scope, depth: int) -> Scope:
        simple: list[tuple[float, Callable[[Scope, int], Scope]]] = [
            (3, self.assign),
            (2, self.update),
            (3, self.store),
            (2, self.slice_store),
            (2, self.make_array),
            (1, self.swap),
            (1, self.reduce),
            (1, self.call),
            (0.7, self.collect),
            (0.4, self.pack),
        ]
        if depth < 4:
            simple += [(3, self.branch), (3, self.for_loop), (1.5, self.while_loop)]
        if depth > 1:
            simple += [(0.8, self.leave)]
        weights = [weight for weight, _ in simple]
        return self.rng.choices([make for _, make in simple], weights)[0](scope, depth)

    def assign(self, scope: Scope, depth: int) -> Scope:
        if self.chance(0.4):
            name = self.new("t")
            self.emit(depth, f"{name} = {self.scalar(scope)}")
            return replace(scope, scalars=(*scope.scalars, name))
        if len(scope.scalars) > 1 and self.chance(0.2):
            x, y = self.rng.sample(scope.scalars, 2)
            self.emit(depth, f"{x}, {y} = {y}, {self.scalar(scope, 1)}")
            return scope
        self.emit(depth, f"{self.target(scope)} = {self.scalar(scope)}")
        return scope

    def update(self, scope: Scope, depth: int) -> Scope:
        form = self.rng.choice(["{} += 0.3 * {}", "{} -= 0.2 * {}", "{} *= 0.9 * {}", "{} /= 1.5 + abs({})"])
        place = self.element(scope) if self.chance(0.5) else self.target(scope)
        self.emit(depth, form.format(place, paren(self.scalar(scope, 1))))
        return scope

    def store(self, scope: Scope, depth: int) -> Scope:
        place = self.element(scope)
        if self.chance(0.15):
            self.emit(depth, f"{place}, {self.element(scope)} = {self.element(scope)}, {self.element(scope)}")
        else:
            self.emit(depth, f"{place} = {self.element(scope) if self.chance(0.2) else self.scalar(scope)}")
        return scope

    def slice_store(self, scope: Scope, depth: int) -> Scope:
        name, extent = self.rng.choice(scope.vectors)
        sign = self.rng.choice(["=", "=", "+=", "*="])
        kind = self.rng.random()
        if kind < 0.2 and sign == "=":
            text = f"{name}[1:] = {name}[:-1]"
        elif kind < 0.35 and sign == "=":
            text = f"{name}[{name} > {self.atom(scope)}] = {self.scalar(scope, 1)}"
        elif kind < 0.5 and scope.matrices:
            text = f"{self.rng.choice(scope.matrices)}[{self.index(scope, ROWS)}] = {self.vector(scope, COLS)}"
        elif kind < 0.6:
            text = f"{name}[:{extent - 1}] = {self.scalar(scope, 1)}"
        elif sign == "=":
            text = f"{name}[:] = {self.vector(scope, extent)}"
        else:
            text = f"{name} {sign} 0.5 * ({self.vector(scope, extent, 1)})"
        self.emit(depth, text)
        return scope

    def make_array(self, scope: Scope, depth: int) -> Scope:
        source, extent = self.rng.choice(scope.vectors)
        kind = self.rng.random()
        single = source.endswith("f") and kind >= 0.3 and not 0.45 <= kind < 0.55
        name = self.new("b") + "_f" * single
        if kind < 0.3:
            self.emit(depth, f"{name} = {self.vector(scope, extent)} + 0.0")
        elif kind < 0.45:
            self.emit(depth, f"{name} = {source}.copy()")
        elif kind < 0.55:
            self.emit(depth, f"{name} = np.zeros({extent})")
        elif kind < 0.75 and extent > 3:
            start = self.rng.randrange(extent - 3)
            extent = extent - start - 1
            self.emit(depth, f"{name} = {source}[{start}:-1]")
        elif kind < 0.85 and scope.matrices:
            extent = COLS
            self.emit(depth, f"{name} = {self.rng.choice(scope.matrices)}[{self.index(scope, ROWS)}]")
        elif scope.matrices:
            extent = ROWS
            self.emit(depth, f"{name} = {self.rng.choice(scope.matrices)}[:, {self.index(scope, COLS)}]")
        else:
            self.emit(depth, f"{name} = {source}[::-1]")
        return replace(scope, vectors=(*scope.vectors, (name, extent)))

    def swap(self, scope: Scope, depth: int) -> Scope:
        """Rebind arrays: swap two of one extent, or give a name another array."""
        name, extent = self.rng.choice(scope.vectors)
        # a name cannot hold arrays of two precisions, so those of single precision keep theirs
        double = [other for other, size in scope.vectors if size == extent and "f" not in name + other]
        others = [other for other in double if other != name]
        if not others:
            return self.assign(scope, depth)
        other = self.rng.choice(others)
        if self.chance(0.6):
            self.emit(depth, f"{name}, {other} = {other}, {name}")
        else:
            self.emit(depth, f"{name} = {self.rng.choice([other, f'{other}.copy()', f'0.5 * {other} + 0.5 * {name}'])}")
        return scope

    def reduce(self, scope: Scope, depth: int) -> Scope:
        self.emit(depth, f"{self.target(scope)} = {self.reduction(scope)}")
        return scope

    def call(self, scope: Scope, depth: int) -> Scope:
        if not self.helpers:
            return self.store(scope, depth)
        name, kind = self.rng.choice(self.helpers)
        vector = self.rng.choice(scope.vectors)[0]
        value = f"{name}({vector}, {self.atom(scope)})"
        if kind == "value":
            self.emit(depth, f"{self.target(scope)} = {value}")
        elif kind == "pair" and len(scope.scalars) > 1:
            x, y = self.rng.sample(scope.scalars, 2)
            self.emit(depth, f"{x}, {y} = {value}")
        else:
            self.emit(depth, value)
        return scope

    def collect(self, scope: Scope, depth: int) -> Scope:
        """Append to a list in a loop, then use it."""
        name, index = self.new("c"), self.new("i")
        self.emit(depth, f"{name} = [{self.target(scope)}]")
        self.emit(depth, f"for {index} in range({self.rng.choice(['n', '3'])}):")
        inner = replace(scope, indices=(*scope.indices, (index, LENGTH)))
        self.emit(depth + 1, f"{name}.append({self.scalar(inner, 1)} + 0.0)")
        x = self.target(scope)
        self.emit(depth, f"{x} = 0.6 * {name}[-1] - 0.3 * {name}[0]")
        if self.chance(0.4):
            self.emit(depth, f"for {index} in range(len({name})):")
            self.emit(depth + 1, f"{x} += 0.2 * {name}[{index}]")
        return scope

    def pack(self, scope: Scope, depth: int) -> Scope:
        """Put an array and a number in a tuple, and write through it."""
        name = self.new("p")
        vector, extent = self.rng.choice(scope.vectors)
        self.emit(depth, f"{name} = ({vector}, {self.scalar(scope, 1)})")
        self.emit(depth, f"{name}[0][{self.index(scope, extent)}] = 0.5 * {name}[1]")
        self.emit(depth, f"{self.target(scope)} = {name}[0][{self.index(scope, extent)}]")
        return scope

    def branch(self, scope: Scope, depth: int) -> Scope:
        self.emit(depth, f"if {self.test(scope)}:")
        self.block(scope, depth + 1, self.rng.randint(1, 3))
        if self.chance(0.2):
            self.emit(depth, f"elif {self.test(scope)}:")
            self.block(scope, depth + 1, self.rng.randint(1, 2))
        if self.chance(0.5):
            self.emit(depth, "else:")
            self.block(scope, depth + 1, self.rng.randint(1, 2))
        return scope

    def for_loop(self, scope: Scope, depth: int) -> Scope:
        name = self.new("i")
        kind = self.rng.random()
        if kind < 0.15:
            vector = self.rng.choice(scope.vectors)[0]
            item = self.new("v")
            self.emit(depth, f"for {name}, {item} in enumerate({vector}):")
            inner = replace(scope, scalars=(*scope.scalars, item))
            bound = LENGTH
        else:
            inner = scope
            vector, extent = self.rng.choice(scope.vectors)
            text, bound = self.rng.choice(
                [
                    (f"range({vector}.shape[0])", extent),
                    ("range(3)", 3),
                    ("range(1, 4)", 4),
                    ("range(4, -1, -2)", 5),
                    ("range(n)", LENGTH),
                    (f"range(n, {LENGTH})", LENGTH),
                    (f"range(len({vector}) - 1, -1, -1)", extent),
                ]
            )
            self.emit(depth, f"for {name} in {text}:")
        inner = replace(inner, indices=(*inner.indices, (name, bound)), loop="for")
        self.block(inner, depth + 1, self.rng.randint(1, 4))
        if self.chance(0.08):
            self.emit(depth, "else:")
            self.block(scope, depth + 1, 1)
        return scope

    def while_loop(self, scope: Scope, depth: int) -> Scope:
        name = self.new("k")
        self.emit(depth, f"{name} = 0")
        self.emit(depth, self.rng.choice([f"while {name} < 4 and ({self.test(scope)}):", f"while {name} < 3:"]))
        self.emit(depth + 1, f"{name} += 1")
        inner = replace(scope, indices=(*scope.indices, (name, LENGTH)), loop="while")
        self.block(inner, depth + 1, self.rng.randint(1, 4))
        return scope

    def leave(self, scope: Scope, depth: int) -> Scope:
        """A conditional way out: break or continue in a loop, else return."""
        self.emit(depth, f"if {self.test(scope)}:")
        if self.chance(0.5):
            self.emit(depth + 1, f"{self.target(scope)} = {self.scalar(scope, 1)}")
        if scope.loop and self.chance(0.75):
            self.emit(depth + 1, self.rng.choice(["break", "continue"]))
        else:
            self.emit(depth + 1, f"return {self.returned(scope)}")
        return scope

    def returned(self, scope: Scope) -> str:
        value = self.scalar(scope, 1)
        full = [name for name, extent in scope.vectors if extent == LENGTH]
        array = self.rng.choice(full)
        copied = f"{array} + 0.0"
        return {"scalar": f"{value} + {array}.sum() / {LENGTH}", "pair": f"{value}, {copied}", "array": copied}[
            self.result
        ]

    def helper(self) -> None:
        """A function of a vector of any extent and a number, which may overwrite the vector."""
        name = f"helper_{len(self.helpers)}"
        if self.chance(0.2):
            self.recursive_helper(name)
            return
        kind = self.rng.choice(["value", "pair", "nothing"])
        self.emit(0, "")
        self.emit(0, "")
        self.emit(0, "@njit")
        self.emit(0, f"def {name}(v, x):")
        self.emit(1, "s = 0.3 * x")
        self.emit(1, "for i in range(v.shape[0]):")
        scope = Scope(scalars=("s", "x"), indices=(("i", 3),), vectors=(("v", 3),))
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice([self.assign, self.update, self.store])(scope, 2)
        if self.chance(0.4):
            self.emit(2, f"if {self.test(scope)}:")
            self.emit(3, {"value": "return 0.5 * s", "pair": "return s, x", "nothing": "return"}[kind])
        self.emit(1, {"value": "return s + 0.1 * x", "pair": "return x, s", "nothing": "v[0] = s"}[kind])
        self.helpers.append((name, kind))

    def recursive_helper(self, name: str) -> None:
        """A function that calls itself, working down a vector, behind one with a helper's parameters."""
        for text in ("", "", "@njit", f"def {name}_at(v, x, k):"):
            self.emit(0, text)
        self.emit(1, "if k == 0:")
        self.emit(2, "return 0.5 * v[k] * x")
        scope = Scope(scalars=("x",), indices=(("k", 3),), vectors=(("v", 3),))
        self.emit(1, f"x = {self.scalar(scope, 1)}")
        if self.chance(0.15):
            self.emit(1, f"v[k] = {self.scalar(scope, 1)}")
        self.emit(1, f"return 0.7 * {name}_at(v, x, k - 1) + 0.3 * v[k]")
        for text in ("", "", "@njit", f"def {name}(v, x):"):
            self.emit(0, text)
        self.emit(1, f"return {name}_at(v, x, 2)")
        self.helpers.append((name, "value"))


def generate(seed: int) -> FuzzProgram:
    """The program of a seed: the same text on every machine."""
    rng = random.Random(seed)
    make = Generator(rng)
    for _ in range(rng.randrange(3)):
        make.helper()
    scalars = ("x0", "x1", "x2")[: rng.randint(1, 3)]
    vectors = rng.choice([("a0",), ("a0", "a1"), ("a0", "a1_s"), ("a0", "a1"), ("a0", "a1_s"), ("a0", "a1_f")])
    matrices = ("m0",) if make.chance(0.5) else ()
    parameters = (*scalars, *vectors, *matrices, "n")
    make.emit(0, "")
    make.emit(0, "")
    make.emit(0, f"def program({', '.join(parameters)}):")
    scope = Scope(
        scalars=scalars,
        indices=(("n", LENGTH),),
        vectors=tuple((name, LENGTH) for name in vectors),
        matrices=matrices,
    )
    for _ in range(4):
        scope = make.block(scope, 1, rng.randint(1, 4))
    make.emit(1, f"return {make.returned(scope)}")
    return FuzzProgram(seed, "\n".join(make.lines) + "\n", parameters)
