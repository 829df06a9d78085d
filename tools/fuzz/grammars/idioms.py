"""Random idioms: short turns of phrase that user code has and grammars forget."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.grammars.expressions import LENGTH, Expressions, Scope, paren
from tools.fuzz.grammars.writer import Writer


class Idioms(Expressions, Writer):
    """Statements about what names mean: searches, masks, choices of arrays, views that loops carry."""

    def search(self, scope: Scope, depth: int) -> Scope:
        """Look for an element that holds, and use its place."""
        k = self.new("k")
        v, extent = self.rng.choice(scope.vectors)
        x = self.number()
        forms = [
            [f"{k} = 0", f"while {k} < {extent - 1} and {v}[{k}] < {x}:", f"    {k} += 1"],
            [f"for {k} in range({extent}):", f"    if {v}[{k}] > {x}:", "        break"],
            [f"{k} = {extent - 1}", f"while {k} > 0:", f"    if {v}[{k}] > {x}:", "        break", f"    {k} -= 1"],
            [f"{k} = int(np.argmax({v}))"],
            [f"{k} = -1", f"for i in range({extent}):", f"    if {v}[i] < {x}:", f"        {k} = i"],
            [f"lo, {k} = 0, {extent - 1}", f"while lo < {k}:", f"    mid = (lo + {k}) // 2"]
            + [f"    if {v}[mid] < {x}:", "        lo = mid + 1", "    else:", f"        {k} = mid"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        self.emit(depth, f"{self.target(scope)} = 0.7 * {v}[{k}] + 0.1 * {k}")
        return replace(scope, indices=(*scope.indices, (k, extent)))

    def choose(self, scope: Scope, depth: int) -> Scope:
        """One of two arrays by a condition of the run, then written through the new name."""
        name = self.new("b")
        u, extent = self.rng.choice([(v, size) for v, size in scope.vectors if "f" not in v])
        w = self.rng.choice([v for v, size in scope.vectors if size == extent and "f" not in v])
        at, test = self.index(scope, extent), self.test(scope)
        forms = [
            [f"{name} = {u} if {test} else {w}"],
            [f"if {test}:", f"    {name} = {u}", "else:", f"    {name} = {w}.copy()"],
            [f"{name} = {w}", f"if {test}:", f"    {name} = {u} * 0.5"],
            [f"{name} = {u}[:]", f"for i in range({self.rng.choice(['n', '3'])}):"]
            + [f"    if {test}:", f"        {name} = {w}", f"    {name}[i % {extent}] *= 0.7"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        self.emit(depth, f"{name}[{at}] = {self.scalar(scope, 1)}")
        return replace(scope, vectors=(*scope.vectors, (name, extent)))

    def carried_view(self, scope: Scope, depth: int) -> Scope:
        """A view that a loop moves along a matrix, used after the loop."""
        if not scope.matrices:
            return self.choose(scope, depth)
        name, i = self.new("b"), self.new("i")
        m, rows, cols = self.rng.choice(scope.matrices)
        x = self.atom(scope)
        by_row = self.chance(0.6)
        place, extent, count = (f"[{i}]", cols, rows) if by_row else (f"[:, {i}]", rows, cols)
        self.emit(depth, f"{name} = {m}{place.replace(i, '0')}")
        self.emit(depth, f"for {i} in range({self.rng.choice([str(count), f'1, {count}', f'min(n, {count})'])}):")
        forms = [
            [f"{name}[0] += 0.3 * {x}", f"{name} = {m}{place}"],
            [f"{name} = {m}{place}", f"{name} *= 0.8"],
            [f"if {name}[-1] > {x}:", f"    {name} = {m}{place}", f"{name}[1] = 0.6 * {name}[0]"],
            [f"old = {name}", f"{name} = {m}{place}", f"{name}[:] = 0.5 * {name} + 0.3 * old"],
        ]
        self.emit_all(depth + 1, self.rng.choice(forms))
        if self.chance(0.3):
            self.emit(depth + 1, f"if {name}[0] > {self.number()}:")
            self.emit(depth + 2, self.rng.choice(["break", "continue"]))
        self.emit(depth, f"{self.target(scope)} = 0.8 * {name}[{self.index(scope, extent)}]")
        return replace(scope, vectors=(*scope.vectors, (name, extent)))

    def scattered_rows(self, scope: Scope, depth: int) -> Scope:
        """Rows of an array that a loop makes, found by what the data say, read and written as views."""
        if not scope.matrices:
            return self.search(scope, depth)
        name, row, i, k, iteration = (self.new(stem) for stem in ("g", "b", "i", "k", "i"))
        m, rows, cols = self.rng.choice(scope.matrices)
        x, y = self.number(), self.atom(scope)
        self.emit(depth, f"for {iteration} in range({self.rng.choice(['1', '2', 'n'])}):")
        self.emit(depth + 1, f"{name} = np.zeros(({rows}, {cols}))")
        self.emit(depth + 1, f"for {i} in range({rows}):")
        nearest = [f"{k}, near = -1, 1e9", f"for j in range({rows}):"]
        nearest += [f"    if abs({m}[{i}, 0] - {m}[j, -1]) < near:"]
        nearest += [f"        near, {k} = abs({m}[{i}, 0] - {m}[j, -1]), j"]
        places = [
            [f"{k} = int(np.argmax({m}[{i}])) % {rows}"],
            [f"{k} = 0 if {m}[{i}, 0] < {x} else {rows} - 1"],
            nearest,
        ]
        self.emit_all(depth + 2, self.rng.choice(places))
        forms = [
            [f"{name}[{k}] += {m}[{i}]"],
            [f"{row} = {name}[{k}]", f"{row} *= 0.5", f"{row} += {m}[{i}]"],
            [f"{row} = {name}[{k}] if {m}[{i}, 0] < {x} else {m}[{i}]", f"{row}[0] += 0.3 * {y}"],
            [f"{name}[{k}, 1:] = {m}[{i}, 1:] * {y}"],
            [f"{name}[{k}] = 0.5 * {name}[{i}] + {m}[{i}]"],
            [f"for {row} in ({name}[{k}], {name}[{i}]):", f"    {row} += 0.2 * {m}[{k}]"],
        ]
        self.emit_all(depth + 2, self.rng.choice(forms))
        ends = [f"{m}[:] = 0.5 * {m} + 0.3 * {name}", f"{m}[0] = {name}[-1] * 0.4", f"{m} = {name} * 0.7"]
        self.emit(depth + 1, self.rng.choice(ends))
        return scope

    def windows(self, scope: Scope, depth: int) -> Scope:
        """Views that move along an array, read and written under subscripts that do not say where."""
        name, i, j = (self.new(stem) for stem in ("w", "i", "j"))
        v, extent = self.rng.choice(scope.vectors)
        x, y = self.target(scope), self.atom(scope)
        cut, width = self.rng.choice(
            [(f"{v}[{i} : {i} + 2]", 2), (f"{v}[{i}:]", 2), (f"{v}[{extent} - {i} - 2 :]", 2), (f"{v}[{i} :: -1]", 1)]
        )
        self.emit(depth, f"for {i} in range({self.rng.choice(['', '0, ', '1, '])}{extent} - 1):")
        self.emit(depth + 1, f"{name} = {cut}")
        forms = [
            [f"{x} += 0.3 * {name}[{width - 1}] ** 2", f"{name}[0] = 0.5 * {name}[-1] * {name}[{width - 1}]"],
            [f"{name}[{i} % len({name})] *= {y}", f"{x} = 0.5 * {x} + 0.2 * {name}[0] ** 2"],
            [f"for {j} in range(len({name})):", f"    {name}[{j}] = 0.6 * {name}[{j}] * {y} + 0.2 * {v}[{j}]"],
            [f"for {j} in range({width}):", f"    {name}[{j}] += 0.3 * {name}[{width} - 1 - {j}] * {v}[{i}]"],
        ]
        self.emit_all(depth + 1, self.rng.choice(forms))
        return scope

    def bands(self, scope: Scope, depth: int) -> Scope:
        """Loops that begin below zero, and bounds that bend: bands, diamonds."""
        i, j, t = (self.new(stem) for stem in ("i", "j", "t"))
        v, extent = self.rng.choice(scope.vectors)
        x, y = self.target(scope), self.atom(scope)
        if self.chance(0.3):
            self.emit(depth, f"for {i} in range(-{self.rng.choice('12')}, {extent}):")
            forms = [
                [f"{x} = 0.5 * {x} + 0.2 * {v}[{i}] ** 2", f"{v}[{i}] = 0.6 * {v}[{i}] * {y}"],
                [f"{v}[{i}] = 0.5 * {v}[{i} - 1] * {v}[{i}]"],
            ]
            self.emit_all(depth + 1, self.rng.choice(forms))
            return scope
        low = self.rng.choice(["0", f"max(0, {i} - 1)", f"max({i}, {extent} - {i} - 1)", f"min({i}, 2)"])
        high = self.rng.choice([extent, f"min({extent}, {i} + 2)", f"max({i}, 1)", f"min({extent} - {i}, {i} + 1)"])
        self.emit(depth, f"for {i} in range({extent}):")
        self.emit(depth + 1, f"for {j} in range({low}, {high}):")
        self.emit(depth + 2, f"{t} = 0.8 * {v}[{j}] * {y} + 0.1 * {v}[{i}]")
        self.emit(depth + 2, self.rng.choice([f"{v}[{j}] = 0.5 * {t} * {t}", f"{x} = 0.3 * {x} + 0.2 * {t} * {t}"]))
        return scope

    def masks(self, scope: Scope, depth: int) -> Scope:
        """Conditions on whole arrays, kept under a name."""
        name = self.new("q")
        v, extent = self.rng.choice(scope.vectors)
        w = self.vector(scope, extent, 1)
        x, y = self.target(scope), self.atom(scope)
        self.emit(depth, f"{name} = {v} > {self.rng.choice([y, paren(w)])}")
        forms = [
            [f"{v}[{name}] = 0.5 * {v}[{name}] + 0.2 * {y}"],
            [f"{v}[:] = np.where({name}, {w}, 0.7 * {v})"],
            [f"if np.any({name}):", f"    {x} = {v}[{name}].sum() / {extent}"],
            [f"{name} = {name} & ({v} < 0.9)", f"{v}[{name}] *= 0.6"],
            [f"for i in range({extent}):", f"    if {name}[i]:", f"        {x} = 0.6 * {x} + 0.3 * {v}[i]"],
            [f"{x} = 0.1 * {name}.sum() + 0.5 * {x}"],
            [f"{v}[~{name}] = {y}"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return scope

    def order(self, scope: Scope, depth: int) -> Scope:
        """Integer arrays that say where: permutations, neighbours, counts."""
        name, i = self.new("z"), self.new("i")
        v, extent = self.rng.choice(scope.vectors)
        x, y = self.target(scope), self.atom(scope)
        made = [f"np.argsort({v})", f"np.arange({extent})[::-1]", f"(np.arange({extent}) * 2 + n) % {extent}"]
        self.emit(depth, f"{name} = {self.rng.choice(made)}")
        forms = [
            [f"{v}[:] = {v}[{name}]"],
            [f"{v}[{name}] = 0.8 * {v}"],
            [f"for {i} in range({extent}):", f"    {v}[{name}[{i}]] = 0.6 * {v}[{i}] + 0.2 * {y}"],
            [f"for {i} in range(1, {extent}):", f"    {x} += 0.2 * {v}[{name}[{i}]] * {v}[{name}[{i} - 1]]"],
            [f"for {i} in {name}:", f"    {x} = 0.5 * {x} + 0.4 * {v}[{i}]"],
            [f"for {i} in range({extent}):", f"    {name}[{i}] = ({name}[{i}] * {i}) % {extent}"]
            + [f"{x} = {v}[{name}].sum() / {extent}"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return scope

    def odds(self, scope: Scope, depth: int) -> Scope:
        """Chained assignment, walrus, starred targets, raises that never happen, and their like."""
        a, b = self.new("t"), self.new("t")
        x, y = self.target(scope), self.scalar(scope, 1)
        v, extent = self.rng.choice(scope.vectors)
        at = self.index(scope, extent)
        forms = [
            [f"{a} = {b} = {y}", f"{a} += 0.2", f"{x} = {a} * {b}"],
            [f"if ({a} := {y}) > {self.number()}:", f"    {x} = 0.5 * {a}", f"{b} = {a} * 0.3"],
            [f"{a}, *{b}_rest = {x}, {y}, 0.3", f"{b} = {b}_rest[0] * {b}_rest[1]"],
            [f"if {x} > 1e6:", '    raise ValueError("too large")', f"{a} = {b} = {x}"],
            [f"{a}, {b} = divmod({paren(y)} + 3.0, 0.7)"],
            [f"{a} = {v}[{at}] = {y}", f"{b} = {v}[{at}] + {a}"],
            [f"{a}, ({b}, {v}[{at}]) = {x}, ({y}, {x})"],
            [f"{a} = sum(z * z for z in {v}) / {extent}", f"{b} = max([{x}, {y}, 0.1])"],
            [f"{a}, {b} = min({x}, {v}[{at}], 0.2), round({y}, 2)", f"{b} += {x}"],
            [f"{a} = np.interp({y}, np.linspace(-1.0, 1.0, {extent}), {v})", f"{b} = np.diff({v})[0]"],
            [f"{a} = float(n) * {y} / {LENGTH}", f"{b} = math.floor({a} * 3.0) * 0.1 + np.sign({x}) * 0.2"],
            [f"{a} = 0", f"for z in {v}:", f"    {a} = {a} * 0.5 + z", f"{b} = z"],
            [f"{a} = {x} and {y}", f"{b} = 0.3 if {a} == {x} else {a}"],
            [f"{a} = 0.0", f"for z in {v} * 0.8:", f"    {v}[{at}] = 0.5 * {v}[{at}] + 0.1 * z"]
            + [f"    {a} = 0.5 * {a} + 0.3 * z", f"{b} = z"],
            [f"{a}, *{b}_rest = [0.5 * z for z in {v}]", f"{b} = {b}_rest[-1] + 0.2 * len({b}_rest)"],
            [f"{b}_f = lambda k, w={v} * 0.5: w[k]", f"{v}[{at}] = {y}", f"{a} = {b} = {b}_f({at})"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return replace(scope, scalars=(*scope.scalars, a, b))
