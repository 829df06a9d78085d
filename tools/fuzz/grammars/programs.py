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

from tools.fuzz.grammars.arrays import ArrayStatements
from tools.fuzz.grammars.containers import Containers
from tools.fuzz.grammars.expressions import COLS, DEPTH, LENGTH, ROWS, Scope, paren
from tools.fuzz.grammars.flow import Flow
from tools.fuzz.grammars.idioms import Idioms
from tools.fuzz.grammars.kernels import Kernels
from tools.fuzz.grammars.nests import Nests
from tools.fuzz.grammars.tables import Tables

HEADER = """\
import math
from collections import namedtuple

import numpy as np
from numba import njit, prange

State = namedtuple("State", "p q r")
GAIN = 0.7
WEIGHTS = np.array([0.4, -0.3, 0.8, 0.1, -0.6])
"""

# functions of points, written before a program that calls them
POINTS = {
    "helper_cross": """\
@njit
def helper_cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
""",
    "helper_unit": """\
@njit
def helper_unit(a):
    size = 0.0
    for k in range(a.shape[0]):
        size += a[k] * a[k]
    return a / math.sqrt(size + 0.1)
""",
    "helper_turn": """\
@njit
def helper_turn(a, angle):
    c, s = math.cos(angle), math.sin(angle)
    a[0], a[1] = c * a[0] - s * a[1], s * a[0] + c * a[1]
""",
    "helper_turned": """\
@njit
def helper_turned(angle):
    out = np.eye(3)
    out[0, 0] = math.cos(angle)
    out[0, 1] = -math.sin(angle)
    out[1, 0], out[1, 1] = -out[0, 1], out[0, 0]
    return out
""",
}


@dataclass(frozen=True)
class FuzzProgram:
    """Source text that defines `program`, and its arguments."""

    seed: int
    source: str
    parameters: tuple[str, ...]

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments: scalars, vectors and matrices by the first letter of their names, `n` an int.

        A last letter `s` stands for a strided array, `f` for one of single precision, `t` for a transposed one.
        """
        rng = np.random.default_rng(self.seed)
        return tuple(_argument(rng, name) for name in self.parameters)


def _argument(rng: np.random.Generator, name: str) -> Any:
    if name == "n":
        return int(rng.integers(0, LENGTH))
    if name.startswith("x"):
        return float(rng.uniform(-1.0, 1.0))
    shape = {"a": (LENGTH,), "r": (ROWS,), "m": (ROWS, COLS), "q": (ROWS, ROWS), "c": (DEPTH, ROWS, COLS)}[name[0]]
    values = rng.uniform(-1.0, 1.0, shape)
    if name.endswith("f"):
        return values.astype(np.float32)
    if name.endswith("t"):
        return np.asfortranarray(values)
    return np.repeat(values, 2, axis=-1)[..., ::2] if name.endswith("s") else values


class Generator(ArrayStatements, Flow, Containers, Kernels, Idioms, Tables, Nests):
    """Writes one program; `budget` is the number of statements still wanted."""

    def __init__(self, rng: random.Random):
        super().__init__(rng)
        self.lines: list[str] = []
        self.budget = rng.randint(2, 9)
        self.names = 9  # parameters have smaller numbers
        self.helpers: list[tuple[str, str]] = []
        self.result = rng.choice(["scalar", "scalar", "pair", "array", "several"])

    def statement(self, scope: Scope, depth: int) -> Scope:
        choices: list[tuple[float, Callable[[Scope, int], Scope]]] = [
            (3, self.assign),
            (2, self.update),
            (3, self.store),
            (2, self.slice_store),
            (1.5, self.matrix_store),
            (1, self.cube_store),
            (1.5, self.make_array),
            (0.8, self.make_matrix),
            (0.3, self.make_cube),
            (1, self.swap),
            (1, self.reduce),
            (1, self.call),
            (0.5, self.collect),
            (0.3, self.pack),
            (0.7, self.closure),
            (0.6, self.masks),
            (0.6, self.order),
            (0.7, self.odds),
            (0.8, self.choose),
        ]
        if depth < 4:
            choices += [(2.5, self.branch), (2.5, self.for_loop), (1, self.item_loop), (1.5, self.while_loop)]
        if depth < 3:
            choices += [
                (0.6, self.iterate),
                (0.8, self.table),
                (0.8, self.views_before),
                (0.8, self.multiply),
                (0.8, self.mixture),
                (1, self.steps),
                (0.5, self.outside),
                (0.6, self.search),
                (0.8, self.carried_view),
                (0.5, self.windows),
                (0.4, self.bands),
                (0.5, self.scattered_rows),
                (0.6, self.dynamic),
                (0.8, self.carry),
                (1, self.stencil),
                (1, self.plane),
                (1, self.accumulate),
                (0.8, self.product),
                (0.6, self.scatter),
                (0.8, self.points),
                (0.5, self.integrate),
            ]
        if depth > 1:
            choices += [(1.2, self.leave)]
        weights = [weight for weight, _ in choices]
        return self.rng.choices([make for _, make in choices], weights)[0](scope, depth)

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

    def reduce(self, scope: Scope, depth: int) -> Scope:
        self.emit(depth, f"{self.target(scope)} = {self.reduction(scope)}")
        return scope

    def call(self, scope: Scope, depth: int) -> Scope:
        if not self.helpers:
            return self.store(scope, depth)
        name, kind = self.rng.choice(self.helpers)
        vector, extent = self.rng.choice([(name, extent) for name, extent in scope.vectors if extent > 2])
        value = f"{name}({vector}, {self.atom(scope)})"
        if kind == "value":
            self.emit(depth, f"{self.target(scope)} = {value}")
        elif kind == "pair" and len(scope.scalars) > 1:
            x, y = self.rng.sample(scope.scalars, 2)
            self.emit(depth, f"{x}, {y} = {value}")
        elif kind in ("array", "view") and "f" not in vector:
            made = self.new("b")
            self.emit(depth, f"{made} = {value}")
            return replace(scope, vectors=(*scope.vectors, (made, extent)))
        else:
            self.emit(depth, value)
        return scope

    def returned(self, scope: Scope) -> str:
        value = self.scalar(scope, 1)
        full = [name for name, extent in scope.vectors if extent == LENGTH]
        array = self.rng.choice(full)
        copied = f"{array} + 0.0"
        whole = [f"{name} * 1.0" for name, rows, cols in scope.matrices if (rows, cols) == (ROWS, COLS)]
        return {
            "scalar": f"{value} + {array}.sum() / {LENGTH}",
            "pair": f"{value}, {copied}",
            "array": copied,
            "several": f"{copied}, ({value}, {(whole or [value])[0]}), n + 1",
        }[self.result]

    def helper(self) -> None:
        """A function of a vector of any extent and a number, which may overwrite the vector."""
        name = f"helper_{len(self.helpers)}"
        if self.chance(0.2):
            self.recursive_helper(name)
            return
        kind = self.rng.choice(["value", "pair", "nothing", "array", "view"])
        self.emit_all(0, ("", "", "@njit", f"def {name}(v, x):"))
        self.emit(1, "s = 0.3 * x")
        self.emit(1, "for i in range(v.shape[0]):")
        scope = Scope(scalars=("s", "x"), indices=(("i", 3),), vectors=(("v", 3),))
        depth = 2
        if self.chance(0.3):
            self.emit(2, self.rng.choice(["for j in range(i):", "for j in range(3):"]))
            scope, depth = replace(scope, indices=(("i", 3), ("j", 3))), 3
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice([self.assign, self.update, self.store])(scope, depth)
        if self.chance(0.4):
            self.emit(depth, f"if {self.test(scope)}:")
            early = {"value": "return 0.5 * s", "pair": "return s, x", "nothing": "return"}
            self.emit(depth + 1, early.get(kind, "break"))
        last = {"value": "return s + 0.1 * x", "pair": "return x, s", "nothing": "v[0] = s"}
        last |= {"array": "return 0.5 * v + s", "view": "return v[::-1]"}
        self.emit(1, last[kind])
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
    matrices = rng.choice([(), ("m0",), ("m0",), ("m0", "m1"), ("m0_t",), ("m0_s",)])
    cubes = ("c0",) if make.chance(0.25) else ()
    parameters = (*scalars, *vectors, *matrices, *cubes, "n")
    make.emit_all(0, ("", "", f"def program({', '.join(parameters)}):"))
    scope = Scope(
        scalars=scalars,
        indices=(("n", LENGTH),),
        vectors=tuple((name, LENGTH) for name in vectors),
        matrices=tuple((name, ROWS, COLS) for name in matrices),
        cubes=cubes,
    )
    for _ in range(4):
        scope = make.block(scope, 1, rng.randint(1, 4))
    make.emit(1, f"return {make.returned(scope)}")
    body = "\n".join(make.lines) + "\n"
    points = "".join(f"\n\n{text}" for name, text in POINTS.items() if f"{name}(" in body)
    return FuzzProgram(seed, f"{HEADER}{points}{body}", parameters)
