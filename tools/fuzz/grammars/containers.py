"""Random use of tuples, named tuples, lists, dicts and closures."""

from __future__ import annotations

from dataclasses import replace

from tools.fuzz.grammars.expressions import LENGTH, Expressions, Scope
from tools.fuzz.grammars.writer import Writer


class Containers(Expressions, Writer):
    """Statements that put values in containers, carry them through loops and take them out."""

    def pair(self, scope: Scope) -> tuple[str, str, int]:
        """Two vectors of double precision and one extent, perhaps the same one twice."""
        name, extent = self.rng.choice([(name, size) for name, size in scope.vectors if "f" not in name])
        other = self.rng.choice([other for other, size in scope.vectors if size == extent and "f" not in other])
        return name, other, extent

    def collect(self, scope: Scope, depth: int) -> Scope:
        """Append to a list in a loop, then use it."""
        name, index = self.new("c"), self.new("i")
        self.emit(depth, f"{name} = [{self.target(scope)}]")
        self.emit(depth, f"for {index} in range({self.rng.choice(['n', '3'])}):")
        inner = replace(scope, indices=(*scope.indices, (index, LENGTH)))
        self.emit(depth + 1, f"{name}.append({self.scalar(inner, 1)} + 0.0)")
        x = self.target(scope)
        self.emit(depth, f"{x} = 0.6 * {name}[-1] - 0.3 * {name}[0]")
        kind = self.rng.random()
        if kind < 0.3:
            self.emit(depth, f"for {index} in range(len({name})):")
            self.emit(depth + 1, f"{x} += 0.2 * {name}[{index}]")
        elif kind < 0.5:
            self.emit(depth, f"while len({name}) > 1:")
            self.emit(depth + 1, f"{x} = 0.5 * {x} + 0.4 * {name}.pop()")
            if self.chance(0.4):
                self.emit(depth + 1, f"if {x} > {self.number()}:")
                self.emit(depth + 2, self.rng.choice(["break", "continue"]))
        elif kind < 0.7:
            array = self.new("b")
            self.emit(depth, f"{array} = np.array({name})")
            self.emit(depth, f"{x} = np.sum({array} * {array}) / {LENGTH}")
        return scope

    def pack(self, scope: Scope, depth: int) -> Scope:
        """Put an array and a number in a tuple, and write through it."""
        name = self.new("p")
        vector, extent = self.rng.choice(scope.vectors)
        self.emit(depth, f"{name} = ({vector}, {self.scalar(scope, 1)})")
        self.emit(depth, f"{name}[0][{self.index(scope, extent)}] = 0.5 * {name}[1]")
        self.emit(depth, f"{self.target(scope)} = {name}[0][{self.index(scope, extent)}]")
        return scope

    def carry(self, scope: Scope, depth: int) -> Scope:
        """A container of arrays and numbers, rebound or written in every iteration of a loop."""
        name, i = self.new("s"), self.new("i")
        u, w, extent = self.pair(scope)
        x, y, z = self.target(scope), self.atom(scope), self.atom(scope)
        at = self.index(scope, extent)
        loop = self.rng.choice([f"for {i} in range(3):", f"for {i} in range(n):", f"for {i} in range(n, {LENGTH}):"])
        tuples = [
            [
                f"{name} = ({u}.copy(), {w}.copy())",
                loop,
                f"    {name} = ({name}[1], 0.6 * {name}[0] + 0.3 * {name}[1])",
            ],
            [f"{name} = ({u}.copy(), {w}.copy())", loop, f"    {name} = ({name}[1], {name}[0])"]
            + [f"    {name}[0][{at}] = {y} * {name}[1][{at}]"],
            [f"{name} = ({y} + 0.0, {z} + 0.0)", loop, f"    {name} = ({name}[1], 0.7 * math.sin({name}[0] + {y}))"],
        ]
        states = [
            [f"{name} = State({u} + 0.0, {w} * 0.5, {y} + 0.0)", loop]
            + [f"    {name} = State({name}.p + 0.1 * {name}.q, {name}.q - 0.1 * {name}.p * {name}.r, 0.9 * {name}.r)"],
            [f"{name} = State({u}.copy(), {w}.copy(), {y} + 0.0)", loop, f"    {name}.p[{at}] += 0.3 * {name}.r"]
            + [f"    {name} = State({name}.q, {name}.p, {name}.r * {z})"],
        ]
        lists = [
            [f"{name} = [{u}.copy(), {w}.copy()]", loop, f"    {name}[0], {name}[1] = {name}[1], 0.5 * {name}[0]"],
            [f"{name} = [{u}.copy(), {w}.copy()]", loop, f"    for v in {name}:"]
            + [f"        v[{at}] = 0.6 * v[{at}] + 0.3 * {name}[0][0]"],
            [f"{name} = [{y} + 0.0, {z} + 0.0]", loop, f"    {name}[{i} % 2] *= 0.8 + 0.1 * {name}[1]"],
        ]
        dicts = [
            [
                f'{name} = {{"u": {u}.copy(), "w": {w}.copy()}}',
                loop,
                f'    {name}["u"] = {name}["w"] * 0.5 + 0.2 * {name}["u"]',
            ]
            + [f'    {name}["w"][{at}] += 0.3 * {y}'],
        ]
        kind = self.rng.choice(["tuple", "state", "list", "dict"])
        lines = self.rng.choice({"tuple": tuples, "state": states, "list": lists, "dict": dicts}[kind])
        numbers = kind in ("tuple", "list") and ".copy()" not in lines[0]
        self.emit_all(depth, lines)
        if self.chance(0.2):
            self.emit(depth + 1, f"if {self.test(scope)}:")
            self.emit(depth + 2, self.rng.choice(["break", "continue"]))
        first, second = {"state": (".p", ".q"), "dict": ('["u"]', '["w"]')}.get(kind, ("[0]", "[1]"))
        if numbers:
            self.emit(depth, f"{x} = 0.5 * {name}{first} + 0.4 * {name}{second}")
        elif kind != "dict" and self.chance(0.3):
            left, right = self.new("b"), self.new("b")
            self.emit(depth, f"{left}, {right} = {name}{first}, {name}{second}")
            return replace(scope, vectors=(*scope.vectors, (left, extent), (right, extent)))
        else:
            self.emit(depth, f"{x} = {name}{first}[{at}] - 0.5 * {name}{second}.sum() / {extent}")
        return scope

    def closure(self, scope: Scope, depth: int) -> Scope:
        """A function inside the function, over what surrounds it."""
        name, v = self.new("g"), self.new("i")
        u, _, extent = self.pair(scope)
        x, y = self.target(scope), self.rng.choice(scope.scalars)
        at = self.index(scope, extent)
        z = self.atom(scope)
        forms = [
            [f"{name} = lambda z: 0.5 * z * {y} + {u}[{at}]", f"{x} = 0.5 * {name}({z}) + 0.3 * {name}({x})"],
            [f"def {name}(z):", f"    return 0.6 * z + 0.3 * math.sin({y}) * {u}[{at}]", f"{x} = {name}({name}({z}))"],
            [f"def {name}(b, z):", f"    for {v} in range(b.shape[0]):", f"        b[{v}] = 0.6 * b[{v}] + 0.2 * z"]
            + [f"        if b[{v}] > {y}:", f"            return {v} * 0.1", "    return z", f"{x} = {name}({u}, {z})"],
            [f"def {name}(z, k=2):", "    if k == 0:", "        return z", f"    return 0.5 * math.cos(z * {y})"]
            + [f"{x} = {name}({z}) + 0.2 * {name}({x}, k=0)"],
            [
                f"def {name}(z, p):",
                "    return 0.7 * z * p[0], p[1] - 0.1 * z",
                f"{x}, _ = {name}({z}, {name}({y}, ({z}, 0.4)))",
            ],
            [
                f"def {name}(b):",
                "    kept = [0.1]",
                "    for z in b:",
                "        if z > 0.8:",
                "            continue",
                "        kept.append(0.5 * z)",
                "    return kept",
                f"for w in {name}({u}):",
                f"    {x} = 0.7 * {x} + 0.4 * w",
            ],
            [f"{x} = sum([0.4 * z * {y} for z in {u} if z > {z}]) + 0.1 * {x}"],
            [f"def {name}(f, z):", "    return f(f(z))", f"{x} = {name}(lambda z: 0.5 * z * z + 0.3 * {y}, {z})"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return scope
