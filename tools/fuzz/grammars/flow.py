"""Random control flow: branches, loops of every kind, ways out of them, and what is read after them."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.grammars.expressions import LENGTH, Expressions, Scope
from tools.fuzz.grammars.writer import Blocks

Extents = tuple[tuple[str, int], ...]


class Flow(Expressions, Blocks[Scope]):
    """Compound statements."""

    def returned(self, scope: Scope) -> str:
        """What the function returns."""
        raise NotImplementedError

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
        """A loop over numbers; its variable may be read afterwards, also if there was no iteration."""
        name = self.new("i")
        vector, extent = self.rng.choice(scope.vectors)
        text, bound, runs = self.rng.choice(
            [
                (f"range({vector}.shape[0])", extent, True),
                ("range(3)", 3, True),
                ("range(1, 4)", 4, True),
                ("range(4, -1, -2)", 5, True),
                ("range(n)", LENGTH, False),
                (f"range(n, {LENGTH})", LENGTH, False),
                ("range(n, -1, -1)", LENGTH, True),
                (f"range(len({vector}) - 1, -1, -1)", extent, True),
                ("prange(4)", 4, True),
            ]
        )
        if scope.indices and self.chance(0.15):
            outer, most = self.rng.choice(scope.indices)
            text, bound, runs = f"range({outer})", max(most, 1), False
        after = self.chance(0.3)
        if after and not runs:
            self.emit(depth, f"{name} = {self.rng.randrange(bound)}")
        self.emit(depth, f"for {name} in {text}:")
        inner = replace(scope, indices=(*scope.indices, (name, bound)), loop="for")
        if self.chance(0.05):
            self.emit(depth + 1, "pass")
        else:
            self.block(inner, depth + 1, self.rng.randint(1, 4))
        self.otherwise(scope, depth)
        return replace(scope, indices=(*scope.indices, (name, bound))) if after else scope

    def otherwise(self, scope: Scope, depth: int) -> None:
        """Sometimes, the `else` of a loop."""
        if self.chance(0.1):
            self.emit(depth, "else:")
            self.block(scope, depth + 1, 1)

    def item_loop(self, scope: Scope, depth: int) -> Scope:
        """A loop over the items of arrays, or over pairs of subscripts."""
        i, j, v, w = self.new("i"), self.new("j"), self.new("v"), self.new("w")
        a, extent = self.rng.choice(scope.vectors)
        b, other = self.rng.choice(scope.vectors)
        least = min(extent, other)
        forms: list[tuple[str, tuple[str, ...], Extents, Extents]] = [
            (f"for {i}, {v} in enumerate({a}):", (v,), ((i, extent),), ()),
            (f"for {v}, {w} in zip({a}, {b}):", (v, w), (), ()),
            (f"for {i}, ({v}, {w}) in enumerate(zip({a}, {b}[::-1])):", (v, w), ((i, least),), ()),
            (f"for {v} in {a}:", (v,), (), ()),
            (f"for {v} in ({self.atom(scope)}, {self.scalar(scope, 1)}, 0.3):", (v,), (), ()),
        ]
        for m, rows, cols in scope.matrices:
            forms += [
                (f"for {i}, {j} in np.ndindex({m}.shape):", (), ((i, rows), (j, cols)), ()),
                (f"for {w} in {m}:", (), (), ((w, cols),)),
                (f"for {i}, {w} in enumerate({m}):", (), ((i, rows),), ((w, cols),)),
                (f"for {v}, {w} in zip({a}, {m}):", (v,), (), ((w, cols),)),
            ]
        text, scalars, indices, vectors = self.rng.choice(forms)
        self.emit(depth, text)
        inner = replace(
            scope,
            scalars=(*scope.scalars, *scalars),
            indices=(*scope.indices, *indices),
            vectors=(*scope.vectors, *vectors),
            loop="for",
        )
        self.block(inner, depth + 1, self.rng.randint(1, 3))
        self.otherwise(scope, depth)
        return replace(scope, scalars=(*scope.scalars, *scalars)) if self.chance(0.3) else scope

    def while_loop(self, scope: Scope, depth: int) -> Scope:
        """A loop of at most four iterations; its counter may be read afterwards."""
        name = self.new("k")
        self.emit(depth, f"{name} = 0")
        endless = self.chance(0.2)
        heads = [f"while {name} < 4 and ({self.test(scope)}):", f"while {name} < 3:", f"while {name} < n:"]
        self.emit(depth, "while True:" if endless else self.rng.choice(heads))
        if endless:
            self.emit(depth + 1, f"if {name} >= 3:")
            self.emit(depth + 2, "break")
        self.emit(depth + 1, f"{name} += 1")
        inner = replace(scope, indices=(*scope.indices, (name, LENGTH)), loop="while")
        self.block(inner, depth + 1, self.rng.randint(1, 4))
        if not endless:
            self.otherwise(scope, depth)
        return replace(scope, indices=(*scope.indices, (name, LENGTH))) if self.chance(0.3) else scope

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

    def iterate(self, scope: Scope, depth: int) -> Scope:
        """An iteration to a fixed point, left when it has converged; the iterations are counted."""
        y, k = self.new("t"), self.new("k")
        x, a = self.atom(scope), self.atom(scope)
        self.emit_all(
            depth,
            self.rng.choice(
                [
                    [
                        f"{y}, {k} = {x} + 0.0, 0",
                        f"while abs({y} - math.cos(0.7 * {y})) > 1e-3 and {k} < 9:",
                        f"    {y} = math.cos(0.7 * {y}) * (1.0 + 0.1 * {a})",
                        f"    {k} += 1",
                    ],
                    [
                        f"{y}, {k} = 1.0, 0",
                        f"for {k} in range(9):",
                        f"    step = ({y} * {y} - 1.5 - {x}) / (2.0 * {y})",
                        f"    {y} -= step",
                        "    if abs(step) < 1e-2:",
                        "        break",
                    ],
                    [
                        f"{y} = 1.0 + {x}",
                        f"{k} = 0",
                        "while True:",
                        f"    {k} += 1",
                        f"    if {k} > 6:",
                        "        break",
                        f"    if {y} < 0.4:",
                        f"        {y} += 0.9",
                        "        continue",
                        f"    {y} *= 0.7 + 0.1 * {a}",
                    ],
                ]
            ),
        )
        self.emit(depth, f"{self.target(scope)} = 0.5 * {y} + 0.05 * {k}")
        return scope
