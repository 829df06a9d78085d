"""Random statements on arrays: views of views, stores of every kind, rebinding, whole-array functions."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.grammars.expressions import COLS, DEPTH, LENGTH, ROWS, Expressions, Scope, paren
from tools.fuzz.grammars.writer import Writer


class ArrayStatements(Expressions, Writer):
    """Statements about arrays; each takes a scope and gives the scope after it."""

    def slice_store(self, scope: Scope, depth: int) -> Scope:
        """A store into part of a vector, or all of it."""
        name, extent = self.rng.choice(scope.vectors)
        x = self.atom(scope)
        forms = [
            f"{name}[1:] = {name}[:-1]",
            f"{name}[:-1] = 0.7 * {name}[1:]",
            f"{name}[:] = {name}[::-1]",
            f"{name}[{name} > {x}] = {self.scalar(scope, 1)}",
            f"{name}[{name} > {x}] *= {x}",
            f"{name}[{name} < {x}] = 0.5 * {name}[{name} < {x}]",
            f"{name}[:{extent - 1}] = {self.scalar(scope, 1)}",
            f"{name}[::2] *= {x}",
            f"{name}[1::2] -= 0.3 * {name}[{self.index(scope, extent)}]",
            f"{name}[:] = {self.vector(scope, extent)}",
            f"{name}[...] = {self.vector(scope, extent, 1)}",
            f"{name} += 0.5 * ({self.vector(scope, extent, 1)})",
            f"{name} *= 0.5 * ({self.vector(scope, extent, 1)})",
            f"{name} /= 1.2 + {paren(self.vector(scope, extent, 1))} ** 2",
            f"{name}[1:] += 0.3 * {name}[:-1]",
            f"{name}[np.array([0, {extent - 1}, 0])] = 0.6 * {name}[np.array([1, 1, {extent - 1}])]",
            f"{name}[np.array([1, 0, 1])] += {x}",
            f"{name}[{self.index(scope, extent)}] += ({self.vector(scope, extent, 1)}).sum() / {extent}",
        ]
        self.emit(depth, self.rng.choice(forms))
        return scope

    def matrix_store(self, scope: Scope, depth: int) -> Scope:
        """A store into part of a matrix, mostly broadcasting."""
        if not scope.matrices:
            return self.slice_store(scope, depth)
        m, rows, cols = self.rng.choice(scope.matrices)
        i, j = self.index(scope, rows), self.index(scope, cols)
        row, column = self.vector(scope, cols, 1), self.vector(scope, rows, 1)
        x = self.atom(scope)
        forms = [
            f"{m}[{i}] = {row}",
            f"{m}[{i}] += 0.4 * {paren(row)}",
            f"{m}[:, {j}] = {column}",
            f"{m}[:, {j}] *= {paren(column)}",
            f"{m}[:] = 0.6 * {paren(row)}",
            f"{m}[:] = {paren(column)}[:, None]",
            f"{m}[:, :] = 0.5 * {paren(column)}[:, np.newaxis] * {paren(row)}",
            f"{m} *= 0.5 + 0.3 * {paren(column)}[:, None]",
            f"{m} += 0.3 * {paren(row)}[None, :]",
            f"{m}[:, ::2] *= {x}",
            f"{m}[:, ::2] -= 0.2 * {m}[:, :1]",
            f"{m}[1:, 1:] = 0.7 * {m}[:-1, :-1]",
            f"{m}[1:] += 0.4 * {m}[:-1]",
            f"{m}[::-1] = 0.8 * {m}",
            f"{m}[{m} > {x}] = {self.scalar(scope, 1)}",
            f"{m}[np.array([0, 1, 0])] *= 0.7",
            f"{m}[{i}, {j}] -= 0.3 * {m}[{i}].sum()",
            f"{m}[{i}], {m}[0] = {m}[0] * 0.5, {m}[{i}] + 0.0",
            f"{m}[:] = np.maximum({m}, {paren(column)}.reshape({rows}, 1))",
            f"{m}[:, 1:] = np.cumsum({m}, axis=1)[:, :-1] / {cols}",
        ]
        self.emit(depth, self.rng.choice(forms))
        return scope

    def cube_store(self, scope: Scope, depth: int) -> Scope:
        """A store into part of an array of three axes."""
        if not scope.cubes:
            return self.matrix_store(scope, depth)
        c = self.rng.choice(scope.cubes)
        i, j, k = (self.index(scope, extent) for extent in (DEPTH, ROWS, COLS))
        last, middle = self.vector(scope, COLS, 1), self.vector(scope, ROWS, 1)
        forms = [
            f"{c}[{i}] = 0.5 * {c}[{i}] + 0.3 * {paren(last)}",
            f"{c}[:, {j}] += 0.3 * {paren(last)}",
            f"{c}[:, :, {k}] = {paren(middle)}",
            f"{c}[{i}, {j}] = {last}",
            f"{c}[{i}, :, {k}] *= {paren(middle)}",
            f"{c}[:] = {paren(middle)}[:, None] * 0.4",
            f"{c} *= 0.6",
            f"{c}[0] = 0.9 * {c}[1]",
            f"{c}[..., {k}] -= 0.2 * {c}[..., 0]",
            f"{c}[::-1, 1:] = 0.9 * {c}[:, :-1]",
        ]
        self.emit(depth, self.rng.choice(forms))
        return scope

    def make_array(self, scope: Scope, depth: int) -> Scope:
        """A vector: a fresh one, or a view."""
        source, extent = self.rng.choice(scope.vectors)
        fresh = [
            (f"{self.vector(scope, extent)} + 0.0", extent),
            (f"np.zeros({extent})", extent),
            (f"np.ones({extent}) * {self.scalar(scope, 1)}", extent),
            (f"np.array([{self.atom(scope)}, {self.atom(scope)}, {self.scalar(scope, 1)}])", 3),
            (f"np.array([0.5 * v for v in {source}])", extent),
            (f"np.array([{self.atom(scope)} * (i + 1) / {LENGTH} for i in range({extent})])", extent),
        ]
        views = [(f"{source}[::-1]", extent), (f"{source}[:]", extent)]
        if extent > 3:
            start = self.rng.randrange(extent - 3)
            views += [(f"{source}[{start}:-1]", extent - start - 1), (f"{source}[1:]", extent - 1)]
        if extent >= LENGTH:
            views.append((f"{source}[::2]", (extent + 1) // 2))
        for m, rows, cols in scope.matrices:
            views += [
                (f"{m}[{self.index(scope, rows)}]", cols),
                (f"{m}[:, {self.index(scope, cols)}]", rows),
                (f"{m}.T[{self.index(scope, cols)}]", rows),
            ]
            fresh += [
                (f"{m}.sum(axis=0) / {rows}", cols),
                (f"{m}.sum(axis=1) * 0.3", rows),
                (f"{m} @ ({self.vector(scope, cols, 1)} + 0.0) / {cols}", rows),
                (f"np.dot(({self.vector(scope, rows, 1)} + 0.0), {m}) / {rows}", cols),
                (f"({m} * 0.5).ravel()[:{LENGTH}]", LENGTH),
            ]
        for c in scope.cubes:
            views += [
                (f"{c}[{self.index(scope, DEPTH)}, {self.index(scope, ROWS)}]", COLS),
                (f"{c}[{self.index(scope, DEPTH)}, :, {self.index(scope, COLS)}]", ROWS),
            ]
        if self.chance(0.25) and "f" not in source:
            text, size = f"{source}.copy()", extent
        else:
            text, size = self.rng.choice(fresh if self.chance(0.5) else views)
        # the name of a view into single precision says so: a name cannot hold arrays of two precisions
        single = source.endswith("f") and text.startswith(source)
        name = self.new("b") + "_f" * single
        self.emit(depth, f"{name} = {text}")
        return replace(scope, vectors=(*scope.vectors, (name, size)))

    def make_matrix(self, scope: Scope, depth: int) -> Scope:
        """A matrix: a fresh one, or a view."""
        name = self.new("m")
        square = self.rng.randint(2, 3)
        v, w = self.vector(scope, ROWS, 1), self.vector(scope, COLS, 1)
        x, y = self.atom(scope), self.atom(scope)
        forms = [
            (f"np.outer({v}, {w})", ROWS, COLS),
            (f"0.5 * {paren(v)}[:, None] + 0.4 * {paren(w)}", ROWS, COLS),
            (f"np.zeros(({square}, {COLS}))", square, COLS),
            (f"np.array([[math.cos({x}), -math.sin({x})], [math.sin({x}), math.cos({x})]])", 2, 2),
            (f"np.array([[{x}, 0.3], [{y}, {self.scalar(scope, 1)}]])", 2, 2),
            (f"np.eye(3) * {x}", 3, 3),
        ]
        for m, rows, cols in scope.matrices:
            forms += [
                (f"{m}.T", cols, rows),
                (f"{m}.copy()", rows, cols),
                (f"{m}[::-1]", rows, cols),
                (f"{m}[:, ::-1]", rows, cols),
                (f"{m} @ {m}.T / {cols}", rows, rows),
                (f"np.dot({m}.T, {m}) / {rows}", cols, cols),
                (f"np.linalg.solve({m} @ {m}.T / {cols} + 2.0 * np.eye({rows}), {m} + 0.0)", rows, cols),
                (f"np.sin({m}) * {x}", rows, cols),
                (f"np.where({m} > {y}, {m}, 0.3 * {m})", rows, cols),
            ]
            if cols > 2:
                forms += [(f"{m}[:, 1:]", rows, cols - 1), (f"{m}[:, ::2]", rows, (cols + 1) // 2)]
        for c in scope.cubes:
            forms += [(f"{c}[{self.index(scope, DEPTH)}]", ROWS, COLS), (f"{c}[:, 1]", DEPTH, COLS)]
            forms += [
                (f"{c}.reshape({DEPTH * ROWS}, {COLS})[1:{ROWS + 1}]", ROWS, COLS),
                (f"{c}[:, :, 0].T", ROWS, DEPTH),
            ]
        text, rows, cols = self.rng.choice(forms)
        self.emit(depth, f"{name} = {text}")
        return replace(scope, matrices=(*scope.matrices, (name, rows, cols)))

    def make_cube(self, scope: Scope, depth: int) -> Scope:
        """An array of three axes."""
        name = self.new("c")
        v = self.vector(scope, COLS, 1)
        forms = [f"np.zeros(({DEPTH}, {ROWS}, {COLS})) + {paren(v)}"]
        forms += [f"0.7 * {c}" for c in scope.cubes] + [f"{c}.copy()" for c in scope.cubes]
        forms += [f"np.ones(({DEPTH}, 1, 1)) * {m}" for m, rows, cols in scope.matrices if (rows, cols) == (ROWS, COLS)]
        self.emit(depth, f"{name} = {self.rng.choice(forms)}")
        return replace(scope, cubes=(*scope.cubes, name))

    def swap(self, scope: Scope, depth: int) -> Scope:
        """Rebind arrays: swap two of one extent, or give a name another array."""
        name, extent = self.rng.choice(scope.vectors)
        # a name cannot hold arrays of two precisions, so those of single precision keep theirs
        others = [
            other for other, size in scope.vectors if size == extent and "f" not in name + other and other != name
        ]
        if not others:
            return self.slice_store(scope, depth)
        other = self.rng.choice(others)
        if self.chance(0.6):
            self.emit(depth, f"{name}, {other} = {other}, {name}")
        else:
            self.emit(depth, f"{name} = {self.rng.choice([other, f'{other}.copy()', f'0.5 * {other} + 0.5 * {name}'])}")
        return scope

    def dynamic(self, scope: Scope, depth: int) -> Scope:
        """Arrays whose extents only the run knows, and may be zero."""
        name, i = self.new("d"), self.new("i")
        vector, _ = self.rng.choice([(v, size) for v, size in scope.vectors if size == LENGTH])
        x, y = self.target(scope), self.atom(scope)
        made = [f"{vector}[:n].copy()", f"{vector}[:n]", f"np.zeros(n) + {y}", f"{vector}[n - 1:0:-1] * {y}"]
        made += [
            f"np.sin({vector}[n:])",
            f"{vector}[{vector} > {y}]",
            f"np.array([v * v for v in {vector} if v > {y}])",
        ]
        self.emit(depth, f"{name} = {self.rng.choice(made)}")
        for _ in range(self.rng.randint(1, 3)):
            forms: list[list[str]] = [
                [f"{name}[:] = 0.5 * {name}"],
                [f"{name} *= {y}"],
                [f"{name} = np.cumsum({name}) / {LENGTH}"],
                [f"{name} = 0.5 * {name}[::-1]"],
                [f"{name} = np.append({name}, {y})"],
                [f"for {i} in range({name}.shape[0]):", f"    {name}[{i}] = 0.5 * {name}[{i}] * {y}"],
                [f"for {i} in range(1, len({name})):", f"    {name}[{i}] += 0.5 * {name}[{i} - 1]"],
                [f"for {i} in range(n):", f"    {x} = 0.5 * {x} + 0.2 * {name}.sum()"],
                [f"if len({name}) > 1:", f"    {name}[1:] = {name}[:-1]", f"    {x} = {name}[-1]"],
                [f"{x} += 0.3 * np.sum(np.outer({name}, {name})) / {LENGTH}"],
            ]
            self.emit_all(depth, self.rng.choice(forms))
        self.emit(depth, f"{x} = 0.6 * {x} + {name}.sum() / {LENGTH}")
        return scope
