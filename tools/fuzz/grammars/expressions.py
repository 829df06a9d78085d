"""Random expressions over a scope of names, for the generator of random programs.

Each form maps operands within about 1.5 to a result within about 1.5, so that values stay tame
however often a loop repeats them.  Subscripts stay within the extents that the scope records.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

LENGTH = 5
ROWS, COLS = 3, 4
DEPTH = 2


@dataclass(frozen=True)
class Scope:
    """The names in sight: floats, ints with their exclusive bounds, arrays with their extents.

    cubes   arrays of DEPTH by ROWS by COLS
    loop    the innermost loop's kind, "" outside loops
    """

    scalars: tuple[str, ...] = ()
    indices: tuple[tuple[str, int], ...] = ()
    vectors: tuple[tuple[str, int], ...] = ()
    matrices: tuple[tuple[str, int, int], ...] = ()
    cubes: tuple[str, ...] = ()
    loop: str = ""


class Drawn:
    """What is drawn at random; the generator is all its state."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def number(self) -> str:
        return f"{self.rng.uniform(0.1, 0.9):.2f}"


class Expressions(Drawn):
    """Draws expressions as text."""

    def target(self, scope: Scope) -> str:
        """A number that may be overwritten."""
        return self.rng.choice(scope.scalars)

    def index(self, scope: Scope, extent: int) -> str:
        """A subscript within an axis of the given extent."""
        fitting = [name for name, bound in scope.indices if bound <= extent]
        wide = [name for name, _ in scope.indices]
        kind = self.rng.random()
        if fitting and kind < 0.5:
            return self.rng.choice(fitting)
        if wide and kind < 0.75:
            name = self.rng.choice(wide)
            return self.rng.choice([f"({name} + {self.rng.randrange(4)}) % {extent}", f"({name} * 2) % {extent}"])
        if kind < 0.8 and scope.scalars:
            return f"int(abs({self.rng.choice(scope.scalars)}) * 7.3) % {extent}"
        return str(self.rng.randrange(-extent, extent))

    def element(self, scope: Scope) -> str:
        """An element of some array in sight."""
        kind = self.rng.random()
        if scope.cubes and kind < 0.2:
            i, j, k = (self.index(scope, extent) for extent in (DEPTH, ROWS, COLS))
            return f"{self.rng.choice(scope.cubes)}[{i}, {j}, {k}]"
        if scope.matrices and (not scope.vectors or kind < 0.5):
            name, rows, cols = self.rng.choice(scope.matrices)
            return f"{name}[{self.index(scope, rows)}, {self.index(scope, cols)}]"
        name, extent = self.rng.choice(scope.vectors)
        return f"{name}[{self.index(scope, extent)}]"

    def atom(self, scope: Scope) -> str:
        kind = self.rng.random()
        if (scope.vectors or scope.matrices) and kind < 0.45:
            return self.element(scope)
        if scope.scalars and kind < 0.92:
            return self.rng.choice(scope.scalars)
        if kind < 0.94:
            return self.rng.choice(["GAIN", f"WEIGHTS[{self.index(scope, LENGTH)}]"])
        if scope.indices and kind < 0.97:
            return f"{self.number()} * {self.rng.choice(scope.indices)[0]} / {LENGTH}"
        return self.number()

    def scalar(self, scope: Scope, depth: int = 2) -> str:
        """A float expression whose value is tame if its operands are."""
        if depth == 0 or self.chance(0.2):
            return self.atom(scope)
        x, y = self.scalar(scope, depth - 1), self.scalar(scope, depth - 1)
        forms = (
            f"0.6 * {paren(x)} + 0.4 * {paren(y)}",
            f"0.7 * {paren(x)} - 0.3 * {paren(y)}",
            f"0.6 * {paren(x)} * {paren(y)}",
            f"math.sin({x} + {y})",
            f"math.tanh({paren(x)} * {paren(y)})",
            f"np.cos({x})",
            f"{paren(x)} / (1.5 + {paren(y)} ** 2)",
            f"math.exp(-{paren(x)} * {paren(x)})",
            f"math.sqrt(1.0 + {paren(x)} ** 2) - 0.5",
            f"max({x}, {y})",
            f"min({x}, 0.5 * {paren(y)})",
            f"abs({x}) - 0.4",
            f"({x} if {self.test(scope)} else {y})",
            f"math.atan2({x}, 3.0 + {paren(y)})",
            f"-{paren(x)}",
            f"0.4 * {paren(x)} ** 3",
            f"{paren(x)} % 0.9",
            f"math.log(2.5 + {paren(x)}) * {paren(y)}",
        )
        return self.rng.choice(forms)

    def test(self, scope: Scope) -> str:
        """A condition, mostly on active values."""
        if scope.indices and self.chance(0.3):
            return f"{self.rng.choice(scope.indices)[0]} % 2 == {self.rng.randrange(2)}"
        x, y = self.atom(scope), self.atom(scope)
        return self.rng.choice(
            [f"{x} > {y}", f"{x} < {y}", f"-0.5 < {x} < {y}", f"{x} > 0.1 or {y} > 0.3", f"not {x} > {y}"]
        )

    def vector(self, scope: Scope, extent: int, depth: int = 2) -> str:
        """An elementwise array expression of the given extent."""
        fitting = [name for name, size in scope.vectors if size == extent]
        fitting += [f"{name}[::-1]" for name in fitting]
        if extent == LENGTH:
            fitting.append("WEIGHTS")
        for name, size in scope.vectors:
            if size == extent + 1:
                fitting += [f"{name}[1:]", f"{name}[:-1]"]
        for name, rows, cols in scope.matrices:
            if cols == extent:
                fitting.append(f"{name}[{self.index(scope, rows)}]")
            if rows == extent:
                fitting.append(f"{name}[:, {self.index(scope, cols)}]")
        for name in scope.cubes:
            if extent == COLS:
                fitting.append(f"{name}[{self.index(scope, DEPTH)}, {self.index(scope, ROWS)}]")
            if extent == ROWS:
                fitting.append(f"{name}[{self.index(scope, DEPTH)}, :, {self.index(scope, COLS)}]")
        if not fitting or self.chance(0.05):
            return self.literal(scope, extent)
        if depth == 0 or self.chance(0.15):
            return self.rng.choice(fitting)
        v, w = self.vector(scope, extent, depth - 1), self.vector(scope, extent, depth - 1)
        x = self.atom(scope)
        forms = (
            f"0.6 * {paren(v)} + 0.4 * {paren(w)}",
            f"0.6 * {paren(v)} * {paren(w)}",
            f"0.5 * {paren(v)} - 0.5 * {paren(x)}",
            f"np.sin({v} + {x})",
            f"np.tanh({v})",
            f"{paren(v)} / (1.5 + {paren(w)} ** 2)",
            f"np.maximum({v}, {w})",
            f"np.where({paren(v)} > {paren(x)}, {w}, 0.5 * {paren(v)})",
            f"np.abs({v}) - 0.4",
            f"{paren(x)} * np.exp(-{paren(v)} ** 2)",
            f"np.cumsum({v}) / {extent}",
            f"np.roll({v}, 1)",
            f"np.sort({v})",
            f"np.concatenate(({paren(v)}[:1], {paren(w)}[1:]))",
            f"np.clip({v}, -0.6, {self.number()})",
            f"np.minimum({v}, {paren(w)} * {paren(x)})",
            f"{paren(w)}[np.argsort({v})]",
        )
        return self.rng.choice(forms)

    def literal(self, scope: Scope, extent: int) -> str:
        """An array that is not made elementwise from others."""
        if self.chance(0.3):
            return f"np.full({extent}, {self.scalar(scope, 1)})"
        if scope.vectors and self.chance(0.4):
            name, size = self.rng.choice(scope.vectors)
            picks = ", ".join(str(self.rng.randrange(size)) for _ in range(extent))
            return f"{name}[np.array([{picks}])]"
        return f"np.array([{', '.join(self.atom(scope) for _ in range(extent))}], dtype=np.float64)"

    def reduction(self, scope: Scope) -> str:
        """A float from a whole array."""
        name, extent = self.rng.choice(scope.vectors)
        forms = [
            f"{name}.sum() / {extent}",
            f"np.mean({name})",
            f"np.max({name})",
            f"np.dot({name}, {name}) / {extent}",
        ]
        forms.append(f"({self.vector(scope, extent, 1)}).sum() / {extent}")
        forms += [f"np.prod(0.8 + 0.2 * {name})", f"{name}[np.argmin({name})]", f"np.sqrt(1.0 + np.sum({name} ** 2))"]
        if scope.matrices:
            m, rows, cols = self.rng.choice(scope.matrices)
            forms += [f"np.sum({m}, axis=0)[{self.index(scope, cols)}] / {rows}", f"{m}.mean()", f"np.min({m})"]
            forms += [
                f"np.max({m}[{self.index(scope, rows)}])",
                f"np.sum({m} * {m}.sum(axis=0)) / {rows * cols * rows}",
            ]
        if scope.cubes:
            c = self.rng.choice(scope.cubes)
            forms += [f"{c}.sum(axis=1)[{self.index(scope, DEPTH)}, {self.index(scope, COLS)}] / {ROWS}", f"{c}.mean()"]
        return self.rng.choice(forms)


def paren(text: str) -> str:
    """The text in parentheses, unless it is a name, a number or an element."""
    return text if re.fullmatch(r"[\w.]+(\[[^\[\]]*\])?", text) else f"({text})"
