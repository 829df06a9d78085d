"""Random tables and views: elements found through integers that change, views made long before they are used."""

from __future__ import annotations

from tools.fuzz.grammars.expressions import Expressions, Scope
from tools.fuzz.grammars.writer import Writer


class Tables(Expressions, Writer):
    """Loops in loops over arrays that are read again and again between stores, under other names or subscripts."""

    def table(self, scope: Scope, depth: int) -> Scope:
        """A table of numbers, read where integers say that change as well."""
        p, k, s, c, q, t = (self.new(stem) for stem in ("p", "k", "s", "c", "q", "i"))
        v, extent = self.rng.choice(scope.vectors)
        x = self.target(scope)
        made = [f"np.zeros({extent})", f"{v}.copy()", f"{v} * 0.5", f"np.arange({extent}) * 0.1"]
        self.emit(depth, f"{p} = {self.rng.choice(made)}")
        self.emit(depth, f"{k} = (np.arange({extent}) * {self.rng.choice(['2', '3', 'n'])} + 1) % {extent}")
        self.emit(depth, f"for {t} in range({self.rng.choice(['n', '2', '3'])}):")
        self.emit(depth + 1, f"for {q} in range({extent}):")
        self.emit(depth + 2, f"{s} = {self.rng.choice(['0.1', f'0.2 * {v}[{q}]', f'0.3 * {x}'])}")
        self.emit(depth + 2, f"for {c} in range({self.rng.choice([extent, 3, 2])}):")
        self.emit(depth + 3, f"{s} += 0.2 * {p}[{k}[{c}]] * {v}[{c}] + 0.1 * {p}[{q}] * {p}[-{c}]")
        if self.chance(0.3):
            self.emit(depth + 3, f"if {s} > {self.number()}:")
            self.emit(depth + 4, self.rng.choice(["break", "continue", f"{p}[{q}] *= 0.5"]))
        place = self.rng.choice([q, f"{k}[{q}]", f"-{q}", f"({q} + {t}) % {extent}", "0"])
        store = [f"{p}[{place}] = 0.5 * {s}", f"{p}[{place}] += 0.2 * {s} * {s}", f"{p}[{place}] *= {s}"]
        self.emit(depth + 2, self.rng.choice(store))
        turns = [f"{k}[{q}] = ({k}[{q}] + 1) % {extent}", f"{k}[0], {k}[{q}] = {k}[{q}], {k}[0]", f"{x} = 0.4 * {s}"]
        self.emit(depth + 2, self.rng.choice(turns))
        self.emit(depth, f"{x} = 0.5 * {x} + 0.3 * {p}[{self.index(scope, extent)}] * {p}[0]")
        return scope

    def views_before(self, scope: Scope, depth: int) -> Scope:
        """A loop that works on views of one array, made before it."""
        first, second, i, t = (self.new(stem) for stem in ("b", "b", "i", "i"))
        v, extent = self.rng.choice(scope.vectors)
        x, y = self.target(scope), self.atom(scope)
        if self.chance(0.5):
            whole = self.new("b")
            self.emit(depth, f"{whole} = {v}.copy()")
            v = whole
        cuts = ["[1:]", "[:-1]", "[::-1]", "[::2]", "[-2:]", "[:2]"]
        self.emit(depth, f"{first}, {second} = {v}{self.rng.choice(cuts)}, {v}{self.rng.choice(cuts)}")
        steps = self.rng.choice(["n", "3", "4", "1, n + 2", "3, 0, -1"])
        loop = f"range({steps})"
        self.emit(depth, f"for {t} in {loop}:")
        self.emit(depth + 1, f"for {i} in range(2):")
        forms = [
            [f"{x} = 0.5 * {x} + 0.3 * {first}[{i}] * {v}[{i}]", f"{second}[{i}] = 0.6 * {x} * {first}[-1]"],
            [f"{first}[{i}] = 0.5 * {second}[{i}] * {y}", f"{v}[{i}] += 0.2 * {first}[0] * {second}[1]"],
            [f"{first}[{i}] *= 0.9 * {v}[-1]", f"{x} = 0.5 * {x} + 0.2 * {v}[{i}] ** 2"],
        ]
        self.emit_all(depth + 2, self.rng.choice(forms))
        if self.chance(0.4):
            turns = [f"{first}, {second} = {second}, {first}", f"{v}[0] = 0.5 * {second}[0]", f"{first} = {v}[1:]"]
            self.emit(depth + 1, self.rng.choice(turns))
        self.emit(depth, f"{x} = 0.5 * {x} + 0.2 * {v}[{self.index(scope, extent)}] * {first}[0]")
        return scope
