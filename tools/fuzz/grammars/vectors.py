"""Random programs of whole arrays: views of views, stores that broadcast, masks, fancy indices, aliases, buffers.

Like `programs`, each program is a pure function of its seed and never fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.grammars.expressions import paren
from tools.fuzz.grammars.lanes import LaneLoops
from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.shapes import Arrays, Shape
from tools.fuzz.grammars.writer import Blocks

# what a helper does to an array of any extent that it is given
HELPERS = (
    ["v[1:] = 0.6 * v[:-1] + 0.2 * x", "return v"],
    ["v *= x", "return v[::-1]"],
    ["for z in v:", "    if z > x:", "        return z * 0.5", "    v[0] = 0.7 * z + 0.1", "return x"],
    ["w = v[::2]", "w -= 0.3 * x", "return v.sum() / 5.0"],
    ["w = v.copy()", "w[:] = w[::-1]", "v[:] = 0.8 * w", "return w"],
    ["v[-1], v[0] = v[0] * x, v[-1]", "return v[1:] * 0.5"],
)
RETURNS_ARRAY = {0: 0, 1: 0, 4: 0, 5: -1}


class Vectors(LaneLoops, Blocks[Arrays]):
    """Writes one program; `budget` is the number of statements still wanted."""

    def __init__(self, rng: random.Random):
        super().__init__(rng)
        self.lines: list[str] = []
        self.budget = rng.randint(3, 9)
        self.names = 9  # parameters have smaller numbers
        self.helpers: list[int] = []
        # what a program returns, and the names that are in sight from its begin to its end
        self.result = ""
        self.first = Arrays()

    def statement(self, scope: Arrays, depth: int) -> Arrays:
        choices: list[tuple[float, Callable[[Arrays, int], Arrays]]] = [
            (1, self.number_set),
            (5, self.part_set),
            (2, self.moving),
            (2, self.picked),
            (2, self.make),
            (2.5, self.view),
            (2, self.rebind),
            (1, self.swap),
            (1, self.pack),
            (0.7, self.choose),
            (1, self.unknown),
            (1 if self.helpers else 0, self.call),
        ]
        if depth < 4:
            choices += [(2, self.branch), (3.5, self.loop)]
        if depth < 2:
            choices += [(2, self.lanes)]
        if depth > 1:
            choices += [(0.8, self.leave)]
        weights = [weight for weight, _ in choices]
        return self.rng.choices([make for _, make in choices], weights)[0](scope, depth)

    # stores

    def number_set(self, scope: Arrays, depth: int) -> Arrays:
        place = self.rng.choice([self.rng.choice(scope.scalars), self.element(scope)])
        form = self.rng.choice(["{} = {}", "{} += 0.3 * {}", "{} *= 0.9 * {}"])
        self.emit(depth, form.format(place, paren(self.scalar(scope))))
        return scope

    def writable(self, scope: Arrays) -> tuple[str, Shape]:
        """A view of an array of double precision, and its shape."""
        for _ in range(9):
            name, shape = self.rng.choice(scope.arrays)
            wanted = shape if self.chance(0.3) else self.shape(replace(scope, arrays=((name, shape),)))
            text = self.part(scope, name, shape, wanted)
            if text is not None:
                return text, wanted
        return f"{scope.arrays[0][0]}[:]", scope.arrays[0][1]

    def part_set(self, scope: Arrays, depth: int) -> Arrays:
        """A store into a view, broadcasting; the right side may read the same memory."""
        text, shape = self.writable(scope)
        if "[" not in text:
            text += "[:]" if self.chance(0.7) else ""
        value = self.operand(scope, shape, 2)
        if self.chance(0.3):
            # the same array elsewhere
            own = [one for one in scope.arrays if one[0] == text.split("[")[0].split(".")[0]]
            beside = self.place(replace(scope, arrays=tuple(own)), shape)
            value = value if beside is None else f"{self.rng.choice(['0.7 * ', '', '0.5 - '])}{beside}"
        if "[" in text and self.chance(0.3):
            self.emit(depth, f"{text} = {value}")
        else:
            form = self.rng.choice(["{} += 0.4 * {}", "{} -= 0.3 * {}", "{} *= 0.9 * {}", "{} /= 1.5 + {} ** 2"])
            self.emit(depth, form.format(text, paren(value)))
        return scope

    def moving(self, scope: Arrays, depth: int) -> Arrays:
        """Slices whose bounds move with a loop."""
        i = self.new("i")
        vectors = [(name, shape) for name, shape in scope.arrays if shape[0] > 1]
        if not vectors:
            return self.part_set(scope, depth)
        name, shape = self.rng.choice(vectors)
        other, second = self.rng.choice([one for one in vectors if one[1][1:] == shape[1:]])
        n = min(shape[0], second[0])
        x = self.atom(scope)
        start = self.rng.choice(["0", "1"])
        self.emit(depth, f"for {i} in range({start}, {n}):")
        forms = [
            f"{name}[{i}:{n}] += 0.3 * {other}[:{n} - {i}]",
            f"{name}[:{i}] *= {x}",
            f"{name}[{i}:{n}] = 0.5 * {name}[{i}:{n}] + 0.2 * {other}[{i}:{n}]",
            f"{name}[{i}] = {name}[:{i} + 1].sum(axis=0) * 0.2",
            f"{name}[{i}] = {name}[{i} - 1] * {x}",
            f"{name}[{i}] -= 0.3 * {other}[-{i} - 1]",
            f"{name}[{i}], {other}[{n} - 1 - {i}] = {other}[{i}] * 0.9, {name}[{i}] * 0.8",
            f"{name}[{i}::2] = 0.6 * {name}[{i}::2] - 0.2 * {x}",
            f"{name}[{n} - 1:{i}:-1] += 0.2 * {other}[{i}:{n} - 1]",
            f"{name}[{i}] = 0.5 * {other}[{i} - 1] + 0.4 * {name}[({i} * 2) % {n}]",
            f"{name}[{i}:{i} + 1] = {other}[{i} - 1:{i}] * {x}" if start == "1" else f"{name}[{i}] *= 0.7",
        ]
        for _ in range(self.rng.randint(1, 2)):
            self.emit(depth + 1, self.rng.choice(forms))
        if self.chance(0.25):
            inner = replace(scope, indices=(*scope.indices, (i, n)))
            self.emit(depth + 1, f"if {self.test(inner)}:")
            self.emit(depth + 2, self.rng.choice(["break", "continue"]))
            self.emit(depth + 1, self.rng.choice(forms))
        return scope

    def picked(self, scope: Arrays, depth: int) -> Arrays:
        """Stores through masks and index arrays."""
        name, shape = self.rng.choice(scope.arrays)
        x = self.atom(scope)
        v = self.array(scope, shape, 1)
        q = self.new("q")
        forms = [
            [f"{name}[{name} > {x}] = {self.scalar(scope, 1)}"],
            [f"{name}[{paren(v)} < {x}] *= {x}"],
            [f"{q} = {paren(v)} > {name}", f"{name}[{q}] = 0.5 * {name}[{q}]", f"{name}[~{q}] += 0.1 * {x}"],
            [f"{q} = {name} > {x}", f"{name}[{q}] = 0.7 * {paren(v)}[{q}]"],
            [f"{name}[:] = np.where({name} > {x}, {v}, {name})"],
        ]
        if 0 not in shape:
            n, count = shape[0], self.rng.randint(1, 4)
            picks = ", ".join(str(self.rng.randrange(-n, n)) for _ in range(count))
            value = self.array(scope, (count, *shape[1:]), 1)
            forms += [
                [f"{q} = np.array([{picks}])", f"{name}[{q}] = {value}"],
                [f"{q} = np.array([{picks}])", f"{name}[{q}] += 0.5 * {paren(value)}"],
                [f"{q} = np.arange({count}) * 3 % {n}", f"{name}[{q}] = 0.6 * {name}[{q}] + 0.2 * {paren(value)}"],
                [f"{name}[np.array([{picks}])] = 0.8 * {name}[np.array([{picks}])[::-1]]"],
            ]
            if len(shape) == 1:
                forms += [
                    [f"{q} = np.argsort({v})", f"{name}[{q}] = {self.array(scope, shape, 1)}"],
                    [f"{q} = np.argmax({v})", f"{name}[{q}] = 0.5 * {name}[{q}] * {x}"],
                    [f"{q} = {paren(v)}[{paren(v)} > {x}]", f"{name}[0] += 0.3 * {q}.sum()"],
                ]
        self.emit_all(depth, self.rng.choice(forms))
        return scope

    # names

    def make(self, scope: Arrays, depth: int) -> Arrays:
        """A fresh array."""
        name, shape = self.new("b"), self.shape(scope)
        text = str(shape) if len(shape) != 1 else str(shape[0])
        forms = [f"{self.array(scope, shape)} + 0.0"] * 3
        forms += [f"np.zeros({text})", f"np.zeros({text}) + {self.atom(scope)}"]
        same = [other for other, size in scope.arrays if size == shape and not other.endswith("f")]
        forms += [f"{other}.copy()" for other in same] + [f"np.zeros_like({other})" for other in same]
        self.emit(depth, f"{name} = {self.rng.choice(forms)}")
        if self.chance(0.2):
            self.emit(depth, f"{name} = np.empty({text})")
            self.emit(depth, f"{name}[:] = {self.operand(scope, shape, 2)}")
        return replace(scope, arrays=(*scope.arrays, (name, shape)))

    def view(self, scope: Arrays, depth: int) -> Arrays:
        """A name for a view."""
        name = self.new("w")
        text, shape = self.writable(scope)
        if text.split("[")[0].split(".")[0].endswith("f") or not shape:
            return self.part_set(scope, depth)
        self.emit(depth, f"{name} = {text}")
        return replace(scope, arrays=(*scope.arrays, (name, shape)))

    def rebind(self, scope: Arrays, depth: int) -> Arrays:
        """Another array for a name of the same shape."""
        name, shape = self.rng.choice(scope.arrays)
        if name.endswith("f"):
            return self.part_set(scope, depth)
        same = [other for other, size in scope.arrays if size == shape and not other.endswith("f")]
        forms = [f"{self.array(scope, shape)} + 0.0", f"0.5 * {name}", self.rng.choice(same), f"{name}[::-1]"]
        self.emit(depth, f"{name} = {self.rng.choice(forms)}")
        return scope

    def swap(self, scope: Arrays, depth: int) -> Arrays:
        """Arrays that change places."""
        name, shape = self.rng.choice(scope.arrays)
        same = [other for other, size in scope.arrays if size == shape and not (name + other).endswith("f")]
        same = [other for other in same if other != name]
        if not same or name.endswith("f"):
            return self.part_set(scope, depth)
        other = self.rng.choice(same)
        third = self.rng.choice(same)
        if third not in (name, other) and self.chance(0.4):
            self.emit(depth, f"{name}, {other}, {third} = {other}, {third}, {name}")
        else:
            self.emit(depth, f"{name}, {other} = {other}, {self.rng.choice([name, f'{name} * 0.9', f'{name}.copy()'])}")
        return scope

    def pack(self, scope: Arrays, depth: int) -> Arrays:
        """Arrays in a tuple or a list, written through it."""
        name, shape = self.rng.choice([one for one in scope.arrays if not one[0].endswith("f")])
        same = [other for other, size in scope.arrays if size == shape and not other.endswith("f")]
        other, p, v, k = self.rng.choice(same), self.new("p"), self.new("w"), self.new("k")
        x = self.atom(scope)
        forms = [
            [f"{p} = ({name}, {other})", f"{p}[0][:] = 0.6 * {p}[1]", f"{name}, {other} = {p}[1], {p}[0]"],
            [f"for {v} in ({name}, {other}):", f"    {v} *= {x}"],
            [f"{p} = [{name}, {other}.copy()]", f"{p}[1], {p}[0] = {p}[0], {p}[1]", f"{p}[0] += 0.2 * {p}[1]"],
            [f"{p} = [0.5 * {name}, {other} + 0.0]", f"for {k} in range(3):"]
            + [f"    {p}[0], {p}[1] = 0.7 * {p}[1], {p}[0]", f"{name} = {p}[0]"],
            [f"{p} = [{name} * {k} for {k} in (1, 2)]", f"for {v} in {p}:"]
            + [f"    {other} = {other} * 0.8 + 0.1 * {v}"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return scope

    def choose(self, scope: Arrays, depth: int) -> Arrays:
        """One of two arrays, by a condition of the run."""
        name, shape = self.rng.choice([one for one in scope.arrays if not one[0].endswith("f")])
        same = [other for other, size in scope.arrays if size == shape and not other.endswith("f")]
        other, made = self.rng.choice(same), self.new("w")
        forms = [
            [f"{made} = {name} if {self.test(scope)} else {other}"],
            [f"{made} = {name}", f"if {self.test(scope)}:", f"    {made} = {other}[::-1]"],
            [f"if {self.test(scope)}:", f"    {made} = {name} * 0.5", "else:", f"    {made} = {other}"],
        ]
        self.emit_all(depth, self.rng.choice(forms))
        return replace(scope, arrays=(*scope.arrays, (made, shape)))

    def unknown(self, scope: Arrays, depth: int) -> Arrays:
        """Arrays whose extent only the run knows, and may be zero."""
        d, k = self.new("d"), self.new("k")
        name, shape = self.rng.choice([one for one in scope.arrays if len(one[1]) < 3])
        x, y = self.rng.choice(scope.scalars), self.atom(scope)
        flat = len(shape) == 1
        made = [f"{name}[:n].copy()", f"{name}[n:]", f"{name}[{name} > {y}]", f"{name}[::-1][:n]", f"{name}[n:n]"]
        if not flat:
            made = [f"{name}[:n].copy()", f"{name}[:n]", f"{name}[:, n:]", f"{name}[n:, ::-1]", f"{name}[:, :n].T"]
        self.emit(depth, f"{d} = {self.rng.choice(made)}")
        for _ in range(self.rng.randint(1, 3)):
            forms = [
                [f"{d}[:] = 0.5 * {d}"],
                [f"{d} *= {y}"],
                [f"{d}[1:] += 0.4 * {d}[:-1]"],
                [f"{d} = 0.5 * {d}[::-1]"],
                [f"{d}[::2] = {y}"],
                [f"for {k} in range({d}.shape[0]):", f"    {d}[{k}] = 0.5 * {d}[{k}] * {y}"],
                [f"for {k} in range(1, len({d})):", f"    {d}[{k}] += 0.5 * {d}[{k} - 1]"],
                [f"for {k} in range(n):", f"    {x} = 0.5 * {x} + 0.2 * {d}.sum()", f"    {d} = {d}[1:]"],
                [f"if {d}.size > 1:", f"    {x} += 0.3 * {d}.max()"],
                [f"{x} += 0.1 * ({d} @ {d}.T).sum()"],
                [f"{d} = np.concatenate(({d}, 0.3 * {d}))"],
            ]
            if flat:
                forms += [[f"{d} = np.append({d}, {y})"], [f"{x} += 0.2 * np.outer({d}, {d} * 0.3).sum()"]]
                forms += [[f"{d} = np.cumsum({d}) * 0.3"], [f"for {k} in {d}:", f"    {x} = 0.6 * {x} + 0.3 * {k}"]]
                forms += [[f"{d} = np.sort({d})[:3]"], [f"{d} = {d}[{d} > {y}]"]]
            self.emit_all(depth, self.rng.choice(forms))
        self.emit(depth, f"{x} = 0.6 * {x} + {d}.sum() / 9.0")
        return scope

    def call(self, scope: Arrays, depth: int) -> Arrays:
        """A helper that writes into what it is given."""
        which = self.rng.choice(self.helpers)
        count = self.rng.randint(2, 4)
        place = self.place(scope, (count,))
        if place is None or place.split("[")[0].split(".")[0].endswith("f"):
            return self.part_set(scope, depth)
        text = f"helper_{which}({place}, {self.atom(scope)})"
        if which not in RETURNS_ARRAY:
            self.emit(depth, f"{self.rng.choice(scope.scalars)} = {text}" if self.chance(0.7) else text)
            return scope
        name = self.new("w")
        self.emit(depth, f"{name} = {text}")
        return replace(scope, arrays=(*scope.arrays, (name, (count + RETURNS_ARRAY[which],))))

    # flow

    def branch(self, scope: Arrays, depth: int) -> Arrays:
        self.emit(depth, f"if {self.test(scope)}:")
        self.block(scope, depth + 1, self.rng.randint(1, 3))
        if self.chance(0.5):
            self.emit(depth, "else:")
            self.block(scope, depth + 1, self.rng.randint(1, 2))
        return scope

    def loop(self, scope: Arrays, depth: int) -> Arrays:
        """A loop around statements that overwrite the same arrays."""
        i = self.new("i")
        name, shape = self.rng.choice(scope.arrays)
        kind = self.rng.random()
        inner = replace(scope, indices=(*scope.indices, (i, 4)), loop="for")
        if kind < 0.15 and len(shape) > 1:
            row = self.new("w")
            self.emit(depth, f"for {i}, {row} in enumerate({name}):")
            known = () if name.endswith("f") else ((row, shape[1:]),)
            inner = replace(inner, indices=(*scope.indices, (i, max(shape[0], 1))), arrays=(*scope.arrays, *known))
        elif kind < 0.3:
            self.emit(depth, f"{i} = 0")
            self.emit(depth, f"while {i} < {self.rng.choice(['3', 'n'])}:")
            self.emit(depth + 1, f"{i} += 1")
            inner = replace(inner, indices=(*scope.indices, (i, 5)), loop="while")
        else:
            heads = ["range(3)", "range(2)", "range(n)", "range(3, -1, -1)", "range(n, 4)", "prange(2)"]
            head = self.rng.choice([*heads, f"range({shape[0]})"])
            self.emit(depth, f"for {i} in {head}:")
            bound = 1 + shape[0] if head == f"range({shape[0]})" else 4
            inner = replace(inner, indices=(*scope.indices, (i, bound)))
        self.block(inner, depth + 1, self.rng.randint(1, 4))
        return scope

    def leave(self, scope: Arrays, depth: int) -> Arrays:
        """A conditional way out."""
        self.emit(depth, f"if {self.test(scope)}:")
        if scope.loop and self.chance(0.8):
            self.emit(depth + 1, self.rng.choice(["break", "continue"]))
        else:
            self.emit(depth + 1, f"return {self.returned(scope)}")
        return scope

    def returned(self, scope: Arrays) -> str:
        """What the program returns: fixed when it is first asked for."""
        total = " + ".join(f"{name}.sum() * 0.{k + 1}" for k, (name, _) in enumerate(self.first.arrays))
        return {
            "scalar": f"{self.rng.choice(scope.scalars)} + {total}",
            "array": f"{self.first.arrays[0][0]} + 0.0",
            "pair": f"{self.rng.choice(scope.scalars)} * 1.0, {self.first.arrays[-1][0]} * 1.0",
        }[self.result]

    def program(self) -> tuple[tuple[str, ...], list[str]]:
        """The parameters and the lines of a program."""
        self.helpers = self.rng.sample(range(len(HELPERS)), self.rng.randrange(3))
        for k in self.helpers:
            self.emit_all(0, ("", "", "@njit", f"def helper_{k}(v, x):"))
            self.emit_all(1, HELPERS[k])
        vectors = self.rng.choice([("a0",), ("a0", "a1"), ("a0", "a1_s"), ("a0", "a1_f"), ("a0", "a1")])
        matrices = self.rng.choice([(), ("m0",), ("m0",), ("m0", "m1"), ("m0_t",), ("m0_s",), ("m0", "q0")])
        cubes = ("c0",) if self.chance(0.2) else ()
        scalars = ("x0", "x1")[: self.rng.randint(1, 2)]
        shapes = {"a": (5,), "m": (3, 4), "q": (3, 3), "c": (2, 3, 4)}
        arrays = tuple((name, shapes[name[0]]) for name in (*vectors, *matrices, *cubes))
        parameters = (*scalars, *(name for name, _ in arrays), "n")
        self.result = self.rng.choice(["scalar", "scalar", "array", "pair"])
        self.first = scope = Arrays(scalars=scalars, indices=(("n", 5),), arrays=arrays)
        self.emit_all(0, ("", "", f"def program({', '.join(parameters)}):"))
        for _ in range(3):
            scope = self.block(scope, 1, self.rng.randint(1, 4))
        self.emit(1, f"return {self.returned(scope)}")
        return parameters, self.lines


def generate(seed: int) -> FuzzProgram:
    """The program of a seed: the same text on every machine."""
    parameters, lines = Vectors(random.Random(f"vectors {seed}")).program()
    return FuzzProgram(seed, HEADER + "\n".join(lines) + "\n", parameters)
