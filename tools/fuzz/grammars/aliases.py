"""Random programs whose names share arrays: views of views, rebound and swapped in loops, written through.

Every vector has one extent and every matrix is square with it, so that any name may take any other's array: rows,
columns, reversed and transposed views, what a helper returns, an item of a tuple, list or dict, one of two by a
condition.
What the interpreter does with the objects is the measure.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.grammars.expressions import ROWS, Scope, paren
from tools.fuzz.grammars.flow import Flow
from tools.fuzz.grammars.programs import HEADER, FuzzProgram

HELPERS = {
    "helper_back": """\
@njit
def helper_back(v):
    return v[::-1]
""",
    "helper_pick": """\
@njit
def helper_pick(v, w, x):
    if x > 0.1:
        return v
    return w
""",
    "helper_turn": """\
@njit
def helper_turn(v, w, k):
    for i in range(k):
        v, w = w, v[::-1]
        w[0] += 0.3 * v[i % 3]
    return v, w
""",
    "helper_write": """\
@njit
def helper_write(v, w):
    v[0] = 0.5 * w[1] + 0.2 * v[2]
    w *= 0.8
    return w[::-1]
""",
    "helper_deep": """\
@njit
def helper_deep(v, w, k):
    v[0] = 0.6 * w[1] + 0.3 * v[2]
    if k > 0:
        helper_deep(w[::-1], v, k - 1)
""",
}


class Aliases(Flow):
    """Writes one program; `budget` is the number of statements still wanted."""

    def __init__(self, rng: random.Random):
        super().__init__(rng)
        self.lines: list[str] = []
        self.budget = rng.randint(4, 12)
        self.names = 9  # parameters have smaller numbers

    def statement(self, scope: Scope, depth: int) -> Scope:
        choices: list[tuple[float, Callable[[Scope, int], Scope]]] = [
            (4, self.rebind),
            (2, self.make),
            (3, self.permute),
            (4, self.write),
            (2, self.read),
            (1, self.turn),
            (1, self.collect),
            (2, self.contain),
            (0.6, self.comprehend),
        ]
        if depth < 4:
            choices += [(2, self.branch), (4, self.for_loop), (2, self.while_loop), (1, self.items)]
            choices += [(0.5, self.item_loop)]
        if depth > 1:
            choices += [(1, self.leave)]
        weights = [weight for weight, _ in choices]
        return self.rng.choices([make for _, make in choices], weights)[0](scope, depth)

    def name(self, scope: Scope) -> str:
        return self.rng.choice(scope.vectors)[0]

    def square(self, scope: Scope) -> str:
        return self.rng.choice(scope.matrices)[0]

    def view(self, scope: Scope, depth: int = 2) -> str:
        """A vector that shares memory with another one."""
        v = self.name(scope)
        if depth == 0 or self.chance(0.25):
            return v
        inner, other = self.view(scope, depth - 1), self.view(scope, depth - 1)
        forms = [
            f"{paren(inner)}[::-1]",
            f"{paren(inner)}[:]",
            f"{paren(inner)}[::-1][::-1]",
            f"({inner} if {self.test(scope)} else {other})",
            f"({inner}, {other})[{self.rng.randrange(2)}]",
            f"helper_back({inner})",
            f"helper_pick({inner}, {other}, {self.atom(scope)})",
            f"{paren(inner)}.T",
            f"np.flip({inner})",
        ]
        if scope.matrices:
            m = self.whole(scope, depth - 1)
            forms += [f"{paren(m)}[{self.index(scope, ROWS)}]", f"{paren(m)}[:, {self.index(scope, ROWS)}]"] * 2
            forms += [f"np.diag({m}).copy()"]
        return self.rng.choice(forms)

    def whole(self, scope: Scope, depth: int = 1) -> str:
        """A matrix that shares memory with another one."""
        m = self.square(scope)
        if depth == 0 or self.chance(0.4):
            return m
        inner = self.whole(scope, depth - 1)
        forms = [f"{paren(inner)}.T", f"{paren(inner)}[::-1]", f"{paren(inner)}[:, ::-1]", f"{paren(inner)}[:]"]
        return self.rng.choice(forms)

    def fresh(self, scope: Scope) -> str:
        """A vector of its own."""
        v, w = self.view(scope, 1), self.view(scope, 1)
        forms = [f"{paren(v)}.copy()", f"0.5 * {paren(v)} + 0.4 * {paren(w)}", f"np.sin({v})", f"np.zeros({ROWS})"]
        forms += [f"{paren(v)} * {self.atom(scope)}"]
        return self.rng.choice(forms)

    def rebind(self, scope: Scope, depth: int) -> Scope:
        if scope.matrices and self.chance(0.25):
            self.emit(depth, f"{self.square(scope)} = {self.whole(scope, 2)}")
        else:
            self.emit(depth, f"{self.name(scope)} = {self.view(scope) if self.chance(0.75) else self.fresh(scope)}")
        return scope

    def make(self, scope: Scope, depth: int) -> Scope:
        made = self.new("b")
        self.emit(depth, f"{made} = {self.view(scope) if self.chance(0.6) else self.fresh(scope)}")
        return replace(scope, vectors=(*scope.vectors, (made, ROWS)))

    def permute(self, scope: Scope, depth: int) -> Scope:
        """Names change places, some of them as views."""
        if len(scope.matrices) > 1 and self.chance(0.2):
            m, k = (name for name, _, _ in self.rng.sample(scope.matrices, 2))
            self.emit(depth, f"{m}, {k} = {k}, {self.rng.choice([m, f'{m}.T', f'{m}[::-1]'])}")
            return scope
        count = min(len(scope.vectors), self.rng.choice([2, 2, 3]))
        names = [name for name, _ in self.rng.sample(scope.vectors, count)]
        turned = [*names[1:], names[0]]
        views = [self.rng.choice([f"{name}[::-1]", self.view(scope, 1)]) for name in turned]
        values = [name if self.chance(0.6) else view for name, view in zip(turned, views, strict=True)]
        self.emit(depth, f"{', '.join(names)} = {', '.join(values)}")
        return scope

    def write(self, scope: Scope, depth: int) -> Scope:
        v, w, x = self.name(scope), self.view(scope, 1), self.scalar(scope, 1)
        i, j = self.index(scope, ROWS), self.index(scope, ROWS)
        # NumPy itself assigns a column to the row that it meets wrongly: strides that differ are not seen to overlap
        plain = f"{paren(w)} + 0.0" if scope.matrices else w
        forms = [
            f"{v}[{i}] = {x}",
            f"{v}[{i}] = 0.6 * {paren(w)}[{j}] + 0.3 * {paren(x)}",
            f"{v}[{i}] += 0.3 * {paren(x)}",
            f"{v}[{i}] *= {paren(x)}",
            f"{v}[:] = {plain}",
            f"{v}[::-1] = 0.8 * {paren(w)}",
            f"{v} *= 0.9",
            f"{v} *= {paren(w)}",
            f"{v} += 0.3 * {paren(w)}",
            f"{v} -= {self.atom(scope)}",
            f"{v}[1:] += 0.4 * {paren(w)}[:-1]",
            f"{v}[:-1] = 0.7 * {paren(w)}[1:]",
            f"{v}[::2] = 0.7 * {paren(w)}[:2]",
            f"{paren(self.view(scope))}[{i}] = {x}",
            f"{paren(self.view(scope))}[:] = 0.5 * {paren(w)}",
            f"{v}[{i}], {v}[{j}] = {v}[{j}], {paren(w)}[{i}]",
            f"helper_write({v}, {w})",
            f"helper_deep({v}, {w}, {self.rng.choice(['n % 3', '2', '1'])})",
        ]
        if scope.matrices:
            m, k = self.square(scope), self.whole(scope)
            forms += [
                f"{m}[{i}] = {plain}",
                f"{m}[:, {j}] = 0.8 * {paren(w)}",
                f"{m} *= 0.9",
                f"{m}[:] = 0.7 * {paren(k)}",
                f"{m} += 0.3 * {paren(k)}",
                f"{paren(k)}[{i}, {j}] = {x}",
                f"{paren(k)}[{i}] += 0.3 * {paren(w)}",
            ]
        self.emit(depth, self.rng.choice(forms))
        return scope

    def read(self, scope: Scope, depth: int) -> Scope:
        x, v, w = self.target(scope), self.view(scope, 1), self.view(scope, 1)
        forms = [
            f"{x} = 0.5 * {x} + 0.2 * np.dot({paren(v)} * 1.0, {paren(w)} * 1.0)",
            f"{x} = 0.5 * {x} + 0.3 * ({paren(v)} * {paren(w)}).sum()",
            f"{x} += 0.2 * {paren(v)}[{self.index(scope, ROWS)}] * {paren(w)}[{self.index(scope, ROWS)}]",
            f"{x} = {self.scalar(scope)}",
        ]
        self.emit(depth, self.rng.choice(forms))
        return scope

    def turn(self, scope: Scope, depth: int) -> Scope:
        """What a helper returns takes the place of what it was given."""
        v, w = self.name(scope), self.view(scope, 1)
        if self.chance(0.5) and len(scope.vectors) > 1:
            a, b = (name for name, _ in self.rng.sample(scope.vectors, 2))
            self.emit(depth, f"{a}, {b} = helper_turn({v}, {w}, {self.rng.choice(['n % 3', '1', '2', '3'])})")
        else:
            self.emit(depth, f"{self.name(scope)} = helper_write({v}, {w})")
        return scope

    def collect(self, scope: Scope, depth: int) -> Scope:
        """A tuple or a list of arrays, written through its items."""
        held, made = self.new("h"), self.new("b")
        v, w = self.view(scope, 1), self.view(scope, 1)
        self.emit(depth, f"{held} = " + self.rng.choice([f"({v}, {w})", f"[{v}, {w}]"]))
        k = self.rng.randrange(2)
        stored = f"{held}[{k}][{self.index(scope, ROWS)}] = {self.scalar(scope, 1)}"
        self.emit(depth, self.rng.choice([stored, f"{self.name(scope)} = {held}[{k}]"]))
        self.emit(depth, f"{made} = {held}[{1 - k}]")
        return replace(scope, vectors=(*scope.vectors, (made, ROWS)))

    def contain(self, scope: Scope, depth: int) -> Scope:
        """A list, dict or tuple of arrays, whose items are set, changed in place, and taken out again."""
        held, other, i, made = self.new("h"), self.new("h"), self.new("i"), self.new("b")
        keys = self.rng.choice([("[0]", "[1]", "[2]"), ("['u']", "['v']", "['w']"), (".p", ".q", ".r")])
        values = [self.view(scope, 1) if self.chance(0.8) else self.fresh(scope) for _ in keys]
        fixed = keys[0] == ".p"
        if fixed:
            self.emit(depth, f"{held} = State({', '.join(values)})")
        elif keys[0] == "[0]":
            self.emit(depth, f"{held} = [{', '.join(values)}]")
        else:
            self.emit(depth, f"{held} = {{'u': {values[0]}, 'v': {values[1]}, 'w': {values[2]}}}")
        copied = f"{held}._replace(p={held}.q)" if fixed else f"{held}.copy()"
        self.emit(depth, f"{other} = {self.rng.choice([held, copied])}")
        if self.chance(0.5):
            heads = ["range(n % 4)", "range(2)", "range(n, 0, -2)"]
            self.emit(depth, f"for {i} in {self.rng.choice(heads)}:")
            scope, depth = replace(scope, indices=(*scope.indices, (i, 5))), depth + 1
        for _ in range(self.rng.randint(1, 4)):
            name, second = self.rng.choice([held, other]), self.rng.choice([held, other])
            one, two, three = (name + key for key in self.rng.sample(keys, 3))
            from_other, x = second + self.rng.choice(keys), self.atom(scope)
            at = self.index(scope, ROWS)
            changes = [
                f"{one}[{at}] = {self.scalar(scope, 1)}",
                f"{one}[:] = 0.6 * {from_other}",
                f"{one}[1:] += 0.3 * {from_other}[:-1]",
                f"{self.name(scope)} = {one}",
                f"{self.name(scope)}[{at}] = 0.5 * {one}[0]",
                f"helper_write({one}, {from_other})",
            ]
            if fixed:
                changes += [f"{name} = State({two}, {one}, {three} * 0.9)", f"{name} = {name}._replace(q={one}[::-1])"]
            else:
                changes += [f"{one} *= {x}", f"{one} += 0.3 * {from_other}", f"{one} -= {x}"] * 2
                changes += [f"{one} = {self.view(scope, 1)}", f"{one} = 0.5 * {from_other}"]
                changes += [f"{one}, {two} = {two}, {one}", f"{one}, {two}, {three} = {two}, {three}[::-1], {one}"]
            change = self.rng.choice(changes)
            if self.chance(0.2):
                self.emit(depth, f"if {self.test(scope)}:")
                change = f"    {change}"
            self.emit(depth, change)
        if any(one == i for one, _ in scope.indices):
            scope, depth = replace(scope, indices=scope.indices[:-1]), depth - 1
        self.emit(depth, f"{made} = {self.rng.choice([held, other])}{self.rng.choice(keys)}")
        return replace(scope, vectors=(*scope.vectors, (made, ROWS)))

    def comprehend(self, scope: Scope, depth: int) -> Scope:
        made = self.new("b")
        v, w = self.view(scope, 1), self.view(scope, 1)
        self.emit(depth, f"{made} = [u[::-1] for u in ({v}, {w})][{self.rng.randrange(2)}]")
        return replace(scope, vectors=(*scope.vectors, (made, ROWS)))

    def items(self, scope: Scope, depth: int) -> Scope:
        """A loop over arrays, or over the rows of a matrix."""
        w = self.new("w")
        v, u = self.view(scope, 1), self.view(scope, 1)
        forms = [f"for {w} in ({v}, {u}):", f"for {w} in [{v}, {u}]:"]
        if scope.matrices:
            forms += [f"for {w} in {self.whole(scope)}:"] * 2
        self.emit(depth, self.rng.choice(forms))
        inner = replace(scope, vectors=(*scope.vectors, (w, ROWS)), loop="for")
        self.block(inner, depth + 1, self.rng.randint(1, 3))
        return scope

    def returned(self, scope: Scope) -> str:
        arrays = [f"{name} * 1.0" for name, _ in scope.vectors[:3]]
        arrays += [f"{name} * 1.0" for name, _, _ in scope.matrices]
        return f"x0 + x0 ** 2, {', '.join(arrays)}"


def generate(seed: int) -> FuzzProgram:
    """The program of a seed: the same text on every machine."""
    rng = random.Random(seed)
    make = Aliases(rng)
    scalars = ("x0", "x1")
    vectors = ("r0", "r1", "r2_s")[: rng.randint(1, 3)]
    matrices = rng.choice([(), ("q0",), ("q0", "q1_t"), ("q0_s",)])
    parameters = (*scalars, *vectors, *matrices, "n")
    make.emit_all(0, ("", "", f"def program({', '.join(parameters)}):"))
    scope = Scope(
        scalars=scalars,
        indices=(("n", 5),),
        vectors=tuple((name, ROWS) for name in vectors),
        matrices=tuple((name, ROWS, ROWS) for name in matrices),
    )
    for _ in range(4):
        scope = make.block(scope, 1, rng.randint(1, 4))
    make.emit(1, f"return {make.returned(scope)}")
    body = "\n".join(make.lines) + "\n"
    helpers = "".join(f"\n\n{text}" for name, text in HELPERS.items() if f"{name}(" in body)
    return FuzzProgram(seed, f"{HEADER}{helpers}{body}", parameters)
