"""Random nests over matrices, and time steps over slices: what passes for products, slices and kept rows look for."""

from __future__ import annotations

from tools.fuzz.grammars.expressions import LENGTH, Expressions, Scope, paren
from tools.fuzz.grammars.writer import Writer


class Nests(Expressions, Writer):
    """Nests of loops that could be something else, with random reasons why they could not."""

    def rows(self, scope: Scope, depth: int, width: int) -> str:
        """A matrix with as many rows as only the run knows."""
        name = self.new("m")
        v, _ = self.rng.choice([one for one in scope.vectors if one[1] >= width] or [("WEIGHTS", LENGTH)])
        count = self.rng.choice(["n + 2", "n + 4", "2 * n + 2", "7"])
        order = self.rng.choice(["", "", ".T.copy().T", "[::-1]"])
        self.emit(depth, f"{name} = np.cos(np.arange({count}).reshape(-1, 1) * 0.7 + {v}[:{width}]){order}")
        return name

    def multiply(self, scope: Scope, depth: int) -> Scope:
        """Three loops, which may multiply matrices."""
        c, s, i, j, k, r = (self.new(stem) for stem in "mtijkb")
        width = self.rng.choice([2, 3])
        a, x = self.rows(scope, depth, width), self.target(scope)
        b = a if self.chance(0.4) else self.rows(scope, depth, width)
        self.emit(depth, f"{r} = {self.vector(scope, width, 1)}")
        shape = self.rng.choice([f"({a}.shape[0], {b}.shape[0])", f"({width}, {width})"])
        inner = "0]" in shape
        self.emit(depth, f"{c} = np.{self.rng.choice(['zeros', 'zeros', 'ones'])}({shape})")
        counted = {i: f"{a}.shape[0]", j: f"{b}.shape[0]", k: str(width)}
        if not inner:
            counted = {i: str(width), j: str(width), k: f"min({a}.shape[0], {b}.shape[0])"}
        low = {one: self.rng.choice(["0, ", "", "", "1, ", "-1, "]) for one in counted}
        low[k] = self.rng.choice([low[k], f"{j}, ", ""]) if not inner else low[k]
        order = self.rng.choice([(i, j, k), (i, j, k), (k, i, j), (i, k, j)])
        if low[k] == f"{j}, " and order.index(k) < order.index(j):
            low[k] = ""
        first, second = (f"{a}[{i}, {k}]", f"{b}[{j}, {k}]") if inner else (f"{a}[{k}, {i}]", f"{b}[{k}, {j}]")
        factor = self.rng.choice([first, f"({first} - {r}[{k if inner else i}])", f"math.sin({first})"])
        term = self.rng.choice([f"{factor} * {second}", f"0.5 * {factor} * {second}", f"{factor} * {second} * {x}"])
        sums = order[2] == k and self.chance(0.5)
        for level, one in enumerate(order):
            if level == 2 and sums:
                self.emit(depth + 2, f"{s} = {self.rng.choice(['0.0', f'{c}[{i}, {j}]', x])}")
            if level == 2 and self.chance(0.2):
                self.emit(depth + 2, f"{c}[{i if order[0] == i else 0}, 0] *= 0.9")
            self.emit(depth + level, f"for {one} in range({low[one]}{counted[one]}):")
        at = self.rng.choice([f"{c}[{i}, {j}]"] * 4 + [f"{c}[{i}, {'0' if inner else i}]", f"{c}[0, {j}]"])
        if sums:
            self.emit(depth + 3, f"{s} {self.rng.choice(['+=', '-='])} {term}")
            self.emit(depth + 2, f"{at} = {self.rng.choice([s, f'math.tanh({s})', f'{s} * 0.3'])}")
        else:
            self.emit(depth + 3, f"{at} {self.rng.choice(['+=', '+=', '-=', '='])} {term}")
            if self.chance(0.2):
                self.emit(depth + 3, f"if {c}[0, 0] > {self.number()}:")
                self.emit(depth + 4, self.rng.choice(["break", f"{x} *= 0.9"]))
        scale = self.rng.choice(["0.1", f"{c}[0, 1]"])
        self.emit(depth, f"{x} = 0.5 * {x} + 0.3 * math.tanh({c}.sum() * {scale})")
        return scope

    def mixture(self, scope: Scope, depth: int) -> Scope:
        """Products of matrices with many short rows, and nests that go through them, in a loop."""
        p, q, w, y, s, i, j, t = (self.new(stem) for stem in "mmmbtijk")
        width = self.rng.choice([2, 3])
        x = self.target(scope)
        data = self.rows(scope, depth, width)
        self.emit(depth, f"{w} = np.outer({self.vector(scope, width, 1)}, {self.vector(scope, width, 1)})")
        self.emit(depth, f"{y} = np.zeros({data}.shape[0])")
        self.emit(depth, f"for {t} in range({self.rng.choice(['n', '2', '3', '0, n'])}):")
        made = [
            [f"{p} = {data} - {w}[{t} % {width}]"],
            [f"{p} = np.empty({data}.shape)", f"for {i} in range({data}.shape[0]):", f"    for {j} in range({width}):"]
            + [f"        {p}[{i}, {j}] = {data}[{i}, {j}] * {paren(x)} + 0.1 * {data}[{i}, {j} - 1]"],
        ]
        self.emit_all(depth + 1, self.rng.choice(made))
        products = [f"{p} @ {w}", f"np.dot({p}, {w}.T)", f"({w} @ {p}.T).T", f"{p} @ ({p}.T @ {p}) * 0.1"]
        self.emit(depth + 1, f"{q} = {self.rng.choice(products)}")
        self.emit(depth + 1, f"for {i} in range({q}.shape[0]):")
        self.emit(depth + 2, f"{s} = {self.rng.choice(['0.0', f'{y}[{i}]', f'{q}[{i}, 0]'])}")
        count = self.rng.choice([str(width), f"{q}.shape[1]", f"{width} - 1", "1, 2"])
        self.emit(depth + 2, f"for {j} in range({count}):")
        forms = [
            [f"{s} += 0.3 * {q}[{i}, {j}] * {p}[{i}, {j}]"],
            [f"{s} = 0.5 * {s} + {q}[{i}, {j}] * {data}[{i}, {j}]"],
            [f"{q}[{i}, {j}] = math.tanh({q}[{i}, {j}]) * {s}", f"{s} += 0.1 * {q}[{i}, {j}]"],
            [f"{s} += 0.3 * {q}[{i}, {j}] * {w}[{j}, 0]", f"{x} += 0.01 * {s}"],
            [f"{p}[{i}, {j}] += 0.2 * {q}[{i}, {j} - 1]", f"{s} = {s} * 0.5 + {p}[0, {j}]"],
        ]
        self.emit_all(depth + 3, self.rng.choice(forms))
        ends = [f"{y}[{i}] = {s}", f"{y}[{i}] += 0.5 * {s}", f"{y}[-{i}] = 0.3 * {s}"]
        self.emit(depth + 2, self.rng.choice([*ends, f"{data}[{i}, 0] = math.sin({s})"]))
        if self.chance(0.3):
            turns = [f"{w} = {w} * 0.8", f"{data} = 0.9 * {data}", f"{x} = 0.5 * {q}[0, 0]"]
            self.emit(depth + 1, self.rng.choice(turns))
        self.emit(depth, f"{x} = 0.5 * {x} + 0.2 * math.tanh({y}.sum())")
        return scope

    def steps(self, scope: Scope, depth: int) -> Scope:
        """Time steps that work on slices, in buffers that may change places and need not be of one size."""
        u, w, a, b, i, t = (self.new(stem) for stem in "bbbbik")
        v, extent = self.rng.choice([one for one in scope.vectors if one[1] == LENGTH])
        x = self.target(scope)
        low, high = self.rng.choice([(1, 1), (1, 1), (0, 1), (2, 1), (1, 0), (1, 3)])
        end = f"-{high}" if high and self.chance(0.6) else f"len({u}) - {high}" if high else ""
        self.emit(depth, f"{u} = {self.rng.choice([f'{v}.copy()', v, f'{v} * 0.9', f'{v}[::-1].copy()'])}")
        sizes = [f"np.zeros({extent})", f"np.zeros_like({u})", f"{u}.copy()"]
        sizes += [f"np.zeros({extent} + 2)", f"np.zeros({low + high} + 1)"]
        self.emit(depth, f"{w} = {self.rng.choice(sizes)}")
        swaps = self.chance(0.6)
        self.emit(depth, f"for {t} in range({self.rng.choice(['n', '2', '3', '1, n'])}):")
        self.emit(depth + 1, f"{a} = {u}[{low}:{end}]")
        other = [f"{w}[{low}:{end.replace(u, w)}]", f"{u}[{low + 1}:]", f"{u}[:-1]", f"{w}[:2]"]
        self.emit(depth + 1, f"{b} = {self.rng.choice(other)}")
        count = f"min(len({a}), len({b}))"
        count = self.rng.choice([count, count, f"1, {count}", f"{count} - 1, -1, -1"])
        self.emit(depth + 1, f"for {i} in range({count}):")
        forms = [
            [f"{b}[{i}] = 0.5 * {a}[{i}] * {a}[{i} - 1] + 0.2 * {b}[{i}]"],
            [f"{w}[{i}] = 0.6 * {a}[{i}] + 0.3 * {b}[{i}] * {b}[-1]"],
            [f"{x} = 0.5 * {x} + 0.3 * {a}[{i}] * {b}[{i}]", f"{a}[{i}] *= 0.9"],
            [f"{b}[{i}] += 0.2 * {a}[{i}] ** 2 - 0.1 * {u}[{i}]"],
            [f"{x} += 0.1 * ({a}[{i}] - {b}[{i}] ** 2) ** 2 + 0.1 * {u}[{i}] * {u}[-{i}]"],
        ]
        self.emit_all(depth + 2, self.rng.choice(forms))
        if self.chance(0.4):
            same = f"{u}[1:] = 0.5 * {u}[:-1] + 0.2 * {u}[1:]"
            rims = [f"{w}[0] = 0.5 * {w}[-1]", f"{w}[-1] = {u}[0]", f"{x} *= {u}[0]", f"{u}[0] = 0.3 * {w}[1]", same]
            self.emit(depth + 1, self.rng.choice(rims))
        if swaps:
            self.emit(depth + 1, f"{u}, {w} = {w}, {u}")
        if self.chance(0.2):
            self.emit(depth + 1, f"if {u}[0] > {self.number()}:")
            self.emit(depth + 2, self.rng.choice(["break", "continue", f"{u} = {u}[1:] if len({u}) > 3 else {u}"]))
        self.emit(depth, f"{x} = 0.5 * {x} + 0.2 * {u}[0] * {u}[-1] + 0.1 * {w}.sum()")
        return scope

    def outside(self, scope: Scope, depth: int) -> Scope:
        """Loops over more than an array has, with a test that keeps them inside."""
        i, t = self.new("i"), self.new("t")
        v, extent = self.rng.choice(scope.vectors)
        x = self.target(scope)
        bounds = [f"-2, {extent}", f"{extent} + 3", f"-n, {extent} + n", f"{extent} + 1, -3, -1"]
        self.emit(depth, f"for {i} in {self.rng.choice(['range', 'prange'])}({self.rng.choice(bounds)}):")
        tests = [f"0 <= {i} < {extent}", f"{i} >= 0 and {i} < {extent}", f"not ({i} < 0 or {i} >= {extent})"]
        self.emit(depth + 1, f"if {self.rng.choice(tests)}:")
        forms = [
            [f"{v}[{i}] = 0.7 * {v}[{i}] * {paren(x)}"],
            [f"{x} += 0.2 * {v}[{i}] ** 2"],
            [f"{t} = {v}[{i} + 1] if {i} + 1 < {extent} else 0.3", f"{v}[{i}] = 0.5 * {v}[{i}] + 0.3 * {t}"],
            [f"{t} = {v}[{i} - 1] if {i} > 0 else {x}", f"{v}[{i}] = 0.5 * {t}"],
        ]
        self.emit_all(depth + 2, self.rng.choice(forms))
        return scope
