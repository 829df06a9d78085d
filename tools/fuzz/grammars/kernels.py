"""Loop nests as numerical codes have them, with random holes: what the passes for speed look for."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.grammars.expressions import LENGTH, Expressions, Scope, paren
from tools.fuzz.grammars.writer import Writer


class Kernels(Expressions, Writer):
    """Statements that write a whole loop nest."""

    def exit(self, scope: Scope, depth: int, test: str = "") -> None:
        """Sometimes, a way out of a loop."""
        if self.chance(0.25):
            self.emit(depth, f"if {test or self.test(scope)}:")
            self.emit(depth + 1, self.rng.choice(["break", "continue"]))

    def stencil(self, scope: Scope, depth: int) -> Scope:
        """Time steps of a stencil: two buffers, one buffer, or slices."""
        u, w, i, k = self.new("b"), self.new("b"), self.new("i"), self.new("k")
        source, extent = self.rng.choice([(v, size) for v, size in scope.vectors if size == LENGTH])
        x = self.atom(scope)
        self.emit(depth, f"{u} = {source} + 0.0")
        self.emit(depth, f"{w} = {self.rng.choice([f'np.zeros({extent})', f'{u}.copy()', f'np.zeros_like({u})'])}")
        self.emit(depth, f"for {k} in range({self.rng.choice(['n', '3', '2'])}):")
        near = f"0.3 * {u}[{i} - 1] + 0.3 * {u}[{i} + 1]"
        right = self.rng.choice(
            [
                f"{u}[{i}] + 0.2 * ({u}[{i} - 1] - 2.0 * {u}[{i}] + {u}[{i} + 1])",
                f"{near} + 0.1 * {paren(x)} * {u}[{i}]",
                f"0.5 * {u}[{i}] * ({near}) + 0.2 * {source}[{i}]",
                f"{u}[{i}] - 0.2 * {u}[{i}] * ({u}[{i}] - {u}[{i} - 1])",
                f"0.5 * math.sin({near})",
            ]
        )
        kind = self.rng.choice(["buffers", "buffers", "copied", "in place", "slices", "rebound"])
        if kind == "slices":
            self.emit(depth + 1, f"{u}[1:-1] = {u}[1:-1] + 0.2 * ({u}[2:] - 2.0 * {u}[1:-1] + {u}[:-2])")
        else:
            self.emit(depth + 1, f"for {i} in range(1, {self.rng.choice([str(extent - 1), f'len({u}) - 1'])}):")
            self.emit(depth + 2, f"{u if kind == 'in place' else w}[{i}] = {right}")
            self.exit(replace(scope, indices=((i, extent - 1),)), depth + 2, f"{u}[{i}] > {self.number()}")
        if self.chance(0.4):
            self.emit(depth + 1, f"{w}[0] = {self.rng.choice([f'{u}[0]', f'{w}[1]', f'0.5 * {u}[-1]', x])}")
        last = {"buffers": [f"{u}, {w} = {w}, {u}"], "copied": [f"{u}[:] = {w}"], "rebound": [f"{u} = {w}.copy()"]}
        self.emit_all(depth + 1, last.get(kind, []))
        self.exit(scope, depth + 1, f"{u}[2] > {self.number()}")
        return replace(scope, vectors=(*scope.vectors, (u, extent), (w, extent)))

    def plane(self, scope: Scope, depth: int) -> Scope:
        """A stencil, a sweep or a recurrence over a matrix."""
        if not scope.matrices:
            return self.stencil(scope, depth)
        m, rows, cols = self.rng.choice(scope.matrices)
        if rows < 3 or cols < 3:
            return self.stencil(scope, depth)
        name, i, j, k = self.new("m"), self.new("i"), self.new("j"), self.new("k")
        x = self.atom(scope)
        at = f"{name}[{i}, {j}]"
        self.emit(depth, f"{name} = {self.rng.choice([f'{m}.copy()', f'0.8 * {m}', f'np.zeros(({rows}, {cols}))'])}")
        steps = self.chance(0.5)
        if steps:
            self.emit(depth, f"for {k} in range({self.rng.choice(['n', '2'])}):")
        inner = depth + steps
        inward = self.chance(0.5)
        heads = [f"for {i} in range(1, {rows - inward}):", f"for {j} in range(1, {cols - inward}):"]
        if self.chance(0.3):
            heads.reverse()
        self.emit(inner, heads[0])
        if self.chance(0.2):
            self.exit(replace(scope, indices=()), inner + 1)
        self.emit(inner + 1, heads[1])
        forms = [
            f"{at} = 0.4 * {name}[{i} - 1, {j}] + 0.4 * {name}[{i}, {j} - 1] + 0.2 * {m}[{i}, {j}]",
            f"{at} = max({name}[{i} - 1, {j}], {name}[{i}, {j} - 1]) * 0.6 + 0.3 * {m}[{i}, {j}] * {paren(x)}",
            f"{at} += 0.3 * {m}[{i} - 1, {j} - 1] * {paren(x)}",
            f"{m}[{i}, {j}] = 0.5 * {name}[{i}, {j} - 1] + 0.3 * {name}[{i} - 1, {j}]",
            f"{at} -= 0.3 * {name}[{i}, 0] * {name}[0, {j}]",
        ]
        if inward:
            beside = f"{m}[{i} - 1, {j}] + {m}[{i} + 1, {j}] + {m}[{i}, {j} - 1] + {m}[{i}, {j} + 1]"
            forms.append(f"{at} = 0.2 * ({beside} - {m}[{i}, {j}])")
        self.emit(inner + 2, self.rng.choice(forms))
        self.exit(scope, inner + 2, f"{at} > {self.number()}")
        if steps and self.chance(0.5):
            self.emit(inner, self.rng.choice([f"{m}[:] = 0.9 * {name}", f"{name}[1:] = {name}[:-1]"]))
        return replace(scope, matrices=(*scope.matrices, (name, rows, cols)))

    def accumulate(self, scope: Scope, depth: int) -> Scope:
        """Sums, products, least and greatest over a vector, in one loop."""
        s, i = self.new("t"), self.new("i")
        v, extent = self.rng.choice(scope.vectors)
        w, other = self.rng.choice(scope.vectors)
        least = min(extent, other)
        x, y = self.target(scope), self.rng.choice(scope.scalars)
        self.emit(depth, f"{s} = {self.rng.choice(['0.0', '0', '1.0', f'{v}[0]', y])}")
        start = self.rng.choice(["0", "1"])
        self.emit(depth, f"for {i} in {self.rng.choice(['range', 'range', 'prange'])}({start}, {least}):")
        inner = replace(scope, indices=((i, least),), loop="for")
        if self.chance(0.3):
            self.emit(depth + 1, f"if {self.test(inner)}:")
            self.emit(depth + 2, self.rng.choice(["continue", "break", f"{s} += 0.2 * {w}[{i}]"]))
        forms = [
            f"{s} += 0.4 * {v}[{i}] * {w}[{i}]",
            f"{s} += math.exp(-{v}[{i}] * {v}[{i}]) * math.cos({y}) / {extent}",
            f"{s} *= 0.8 + 0.2 * {v}[{i}]",
            f"{s} = max({s}, {v}[{i}] * {w}[{i}])",
            f"{s} = min({s}, {v}[{i}] - 0.3 * {y})",
            f"{s} = 0.6 * {s} + 0.4 * {v}[{i}]",
            f"{s} -= 0.2 * math.tanh({v}[{i}] + {y}) * {w}[{least} - 1 - {i}]",
            f"{v}[{i}] = 0.7 * {s} + 0.2 * {v}[{i}]",
            f"{s} += {self.scalar(inner)} / {extent}",
        ]
        for _ in range(self.rng.randint(1, 3)):
            self.emit(depth + 1, self.rng.choice(forms))
        self.emit(depth, f"{x} = 0.3 * {x} + 0.4 * {s}")
        return scope

    def product(self, scope: Scope, depth: int) -> Scope:
        """Products of matrices and vectors as loops."""
        if not scope.matrices:
            return self.accumulate(scope, depth)
        m, rows, cols = self.rng.choice(scope.matrices)
        y, i, j, s = self.new("b"), self.new("i"), self.new("j"), self.new("t")
        v, w = self.vector(scope, cols, 1), self.vector(scope, rows, 1)
        a = self.new("b")
        kind = self.rng.choice(["rows", "columns", "gram", "outer", "triangle"])
        if kind == "gram":
            out = self.new("m")
            self.emit(depth, f"{out} = np.zeros(({rows}, {rows}))")
            self.emit(depth, f"for {i} in range({rows}):")
            self.emit(depth + 1, f"for {j} in range({self.rng.choice([str(rows), f'{i} + 1'])}):")
            self.emit(depth + 2, f"for {s} in range({cols}):")
            self.emit(depth + 3, f"{out}[{i}, {j}] += 0.4 * {m}[{i}, {s}] * {m}[{j}, {s}]")
            if self.chance(0.4):
                self.emit(depth + 2, f"{out}[{j}, {i}] = {out}[{i}, {j}]")
            return replace(scope, matrices=(*scope.matrices, (out, rows, rows)))
        if kind == "triangle":
            self.emit(depth, f"{y} = {w} + 0.0")
            self.emit(depth, f"for {i} in range({min(rows, cols)}):")
            self.emit(depth + 1, f"for {j} in range({i}):")
            self.emit(depth + 2, f"{y}[{i}] -= 0.4 * {m}[{i}, {j}] * {y}[{j}]")
            self.emit(depth + 1, f"{y}[{i}] /= 1.3 + {m}[{i}, {i}] ** 2")
            return replace(scope, vectors=(*scope.vectors, (y, rows)))
        self.emit(depth, f"{a} = {v if kind != 'columns' else w} + 0.0")
        size = cols if kind == "columns" else rows
        made = self.rng.choice(["zeros", "empty"]) if kind == "rows" else "zeros"
        self.emit(depth, f"{y} = np.{made}({size})")
        self.emit(depth, f"for {i} in range({rows}):")
        if kind == "rows":
            self.emit(depth + 1, f"{s} = {self.rng.choice(['0.0', self.atom(scope)])}")
            self.emit(depth + 1, f"for {j} in range({cols}):")
            self.exit(scope, depth + 2, f"{m}[{i}, {j}] > {self.number()}")
            self.emit(depth + 2, f"{s} += {self.rng.choice(['0.4 *', 'math.sin(0.3) *'])} {m}[{i}, {j}] * {a}[{j}]")
            self.emit(depth + 1, f"{y}[{i}] = {self.rng.choice([s, f'math.tanh({s})', f'max({s}, 0.0)'])}")
        else:
            self.emit(depth + 1, f"for {j} in range({cols}):")
            column = f"{y}[{j}] += 0.4 * {m}[{i}, {j}] * {a}[{i}]"
            self.emit(depth + 2, column if kind == "columns" else f"{m}[{i}, {j}] += 0.3 * {a}[{j}]")
            self.exit(scope, depth + 2, f"{m}[{i}, {j}] > {self.number()}")
        return replace(scope, vectors=(*scope.vectors, (y, size)))

    def scatter(self, scope: Scope, depth: int) -> Scope:
        """Numbers added where computed integers say, and integers that count."""
        h, c, i, j = self.new("b"), self.new("z"), self.new("i"), self.new("j")
        v, extent = self.rng.choice(scope.vectors)
        size = self.rng.choice([2, 3, 4])
        x = self.atom(scope)
        found = [f"int(abs({v}[{i}]) * 7.3) % {size}", f"({i} * 3 + 1) % {size}", f"{i} // 2 % {size}"]
        found.append(f"(int(np.floor({v}[{i}] * 5.0)) + n) % {size}")
        self.emit(depth, f"{h} = np.zeros({size})")
        self.emit(depth, f"{c} = np.zeros({size}, np.int64)")
        self.emit(depth, f"for {i} in range({extent}):")
        self.emit(depth + 1, f"{j} = {self.rng.choice(found)}")
        self.exit(scope, depth + 1, f"{c}[{j}] > 1")
        self.emit(depth + 1, f"{h}[{j}] {self.rng.choice(['+=', '=', '-='])} 0.5 * {v}[{i}] * {paren(x)}")
        self.emit(depth + 1, f"{c}[{j}] += 1")
        if self.chance(0.4):
            self.emit(depth + 1, f"{v}[{c}[{j}] % {extent}] = 0.5 * {h}[{j}]")
        self.emit(depth, f"{self.target(scope)} = {h}[{self.index(scope, size)}] / (1.0 + {c}[0])")
        return replace(scope, vectors=(*scope.vectors, (h, size)))

    def points(self, scope: Scope, depth: int) -> Scope:
        """Small arrays of fixed size in a loop: points that turn and move, by helpers."""
        p, q, i = self.new("b"), self.new("b"), self.new("i")
        x, y, z = (self.atom(scope) for _ in range(3))
        v, extent = self.rng.choice(scope.vectors)
        self.emit(depth, f"{p} = np.array([{x}, {y}, {self.rng.choice(['0.5', z])}])")
        self.emit(depth, f"{q} = np.array([0.2, {z}, {self.number()}])")
        self.emit(depth, f"for {i} in range({self.rng.choice(['n', '3', str(extent)])}):")
        inner = replace(scope, indices=(*scope.indices, (i, LENGTH)))
        at = self.index(replace(scope, indices=((i, LENGTH),)), extent)
        forms = [
            [f"{p} = {p} + 0.2 * helper_cross({p}, {q})"],
            [f"{q} = 0.7 * helper_unit({p})"],
            [f"{p}[1] = 0.5 * {p}[0] + 0.3 * {q}[2]"],
            [f"{p} = 0.8 * {p} - 0.1 * {v}[{at}]"],
            [f"{v}[{at}] = 0.3 * ({p}[0] * {q}[0] + {p}[1] * {q}[1] + {p}[2] * {q}[2])"],
            [f"{p}, {q} = {q}, {p}"],
            [f"helper_turn({p}, {paren(x)})"],
            [f"{p} = helper_turned({self.scalar(inner, 1)}) @ {p}", f"{q} *= 0.9"],
            [f"r = np.array([{p}[1], {q}[0], {v}[{at}]])", f"{q} = 0.5 * r + 0.3 * {q}", "r[0] = 0.0"],
            [f"if {self.test(inner)}:", f"    {p} = 0.5 * {q}"],
            [f"{p}[{i} % 3] += 0.2 * {q}[2]"],
            [f"r = {p}", f"r[0] = 0.4 * {q}[1]"],
        ]
        for _ in range(self.rng.randint(1, 4)):
            self.emit_all(depth + 1, self.rng.choice(forms))
        self.exit(scope, depth + 1, f"{p}[0] > {self.number()}")
        self.emit(depth, f"{self.target(scope)} = 0.5 * {p}[0] - 0.3 * {q}[{self.rng.randrange(3)}]")
        return replace(scope, vectors=(*scope.vectors, (p, 3), (q, 3)))

    def integrate(self, scope: Scope, depth: int) -> Scope:
        """Steps of an integrator with a right-hand side that makes small arrays."""
        f, u, k = self.new("g"), self.new("b"), self.new("k")
        x, y = self.rng.choice(scope.scalars), self.atom(scope)
        rhs = [
            f"np.array([s[1], -s[0] * {x}])",
            f"np.array([s[0] - s[0] * s[1], -{x} * s[1]])",
            "np.array([math.sin(s[1]), -0.5 * s[0]])",
        ]
        self.emit(depth, f"def {f}(s):")
        if self.chance(0.4):
            self.emit(depth + 1, "out = np.empty_like(s)")
            self.emit(depth + 1, f"out[0], out[1] = s[1] * 0.5, -s[0] * {x}")
            self.emit(depth + 1, "return out")
        else:
            self.emit(depth + 1, f"return {self.rng.choice(rhs)}")
        self.emit(depth, f"{u} = np.array([{y}, 0.3])")
        self.emit(depth, f"for {k} in range({self.rng.choice(['n', '3'])}):")
        steps = [
            [f"{u} = {u} + 0.1 * {f}({u})"],
            [f"{u} += 0.1 * {f}({u} + 0.05 * {f}({u}))"],
            [f"half = {f}({u})", f"more = {f}({u} + 0.05 * half)", f"{u} = {u} + 0.05 * (half + more)"],
        ]
        self.emit_all(depth + 1, self.rng.choice(steps))
        self.exit(scope, depth + 1, f"{u}[0] > {self.number()}")
        self.emit(depth, f"{self.target(scope)} = {u}[0] * 0.6 + 0.2 * {u}[1]")
        return scope
