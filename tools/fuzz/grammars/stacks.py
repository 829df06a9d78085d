"""Random programs of lists and arrays that grow: work that makes more work, ragged rows, several at once.

Lists of numbers and of pairs get elements and lose them, under branches, in loops around loops; they are read from both
ends, changed in place and made into arrays; arrays are copied into larger ones by hand.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tools.fuzz.grammars.programs import HEADER, FuzzProgram
from tools.fuzz.grammars.writer import Writer

PARAMETERS = ("x", "w", "q")
# a kind, "list", "pairs" or "array", and a name
Owner = tuple[str, str]


class StackProgram(FuzzProgram):
    """Two vectors, and whole numbers."""

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        return rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 7), rng.integers(0, 5, 8)


class Stacks(Writer):
    """Writes one program."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.names = 0

    def program(self) -> str:
        """The lines of its body."""
        self.emit(1, "s = 0.1")
        owners = [self.owner(1) for _ in range(self.rng.randint(1, 2))]
        owners = self.block(1, (), owners, 0)
        self.emit(1, "for e in range(q[3] + 4):")
        self.block(2, ("e",), owners, 1)
        for _ in range(3):
            self.act(1, (), owners)
        # what many iterations add up stays small
        self.emit(1, f"return 0.01 * s + np.sin({self.number((), owners)})")
        return "\n".join(self.lines)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def owner(self, depth: int) -> Owner:
        """A list or an array that is made here."""
        kind = self.pick("list", "list", "list", "pairs", "array")
        name = self.new(kind[0])
        if kind == "list":
            self.emit(depth, f"{name} = {self.pick('[x[0]]', '[0.5, x[1]]', '[w[2]] * 3')}")
        elif kind == "pairs":
            self.emit(depth, f"{name} = [(x[0], w[1])]")
        else:
            self.emit_all(depth, (f"{name} = np.empty({self.pick('2', '3', 'q[0] + 1')})", f"{name}_count = 1"))
            self.emit(depth, f"{name}[0] = x[2]")
        return kind, name

    def count(self, owner: Owner) -> str:
        kind, name = owner
        return f"{name}_count" if kind == "array" else f"len({name})"

    def place(self, wholes: tuple[str, ...], owner: Owner) -> str:
        first = f"({self.rng.choice(wholes)} + {self.rng.randint(0, 3)})" if wholes else str(self.rng.randint(0, 3))
        return f"{first} % {self.count(owner)}"

    def number(self, wholes: tuple[str, ...], owners: list[Owner], deep: int = 0) -> str:
        kind = self.rng.random()
        if kind < 0.4 and owners:
            owner = self.rng.choice(owners)
            end = "" if owner[0] != "pairs" else f"[{self.rng.randint(0, 1)}]"
            place = self.pick("-1", "0") if owner[0] == "list" and self.chance(0.3) else self.place(wholes, owner)
            return f"{owner[1]}[{place}]{end}"
        if kind < 0.6 and wholes:
            return f"{self.pick('x', 'w')}[{self.rng.choice(wholes)} % 6]"
        if kind < 0.8 or deep > 2:
            return self.pick("np.cos(0.02 * s)", f"x[{self.rng.randint(0, 5)}]")
        more = [self.number(wholes, owners, deep + 1) for _ in range(2)]
        return self.pick(f"np.sin({more[0]})", f"np.sin({more[0]} * {more[1]})")

    def block(self, depth: int, wholes: tuple[str, ...], owners: list[Owner], inside: int) -> list[Owner]:
        self.emit(depth, "s += 0.01")
        owners = list(owners)
        for _ in range(self.rng.randint(1, 4)):
            kind = self.rng.random()
            if kind < 0.3 and inside < 3:
                self.loop(depth, wholes, owners, inside)
            elif kind < 0.5 and inside < 4 and wholes:
                last = wholes[-1]
                questions = (f"{self.number(wholes, owners)} > 0.2", f"q[{last} % 8] % 2 == 0", f"{last} > 1")
                self.emit(depth, f"if {self.pick(*questions)}:")
                self.block(depth + 1, wholes, owners, inside + 1)
                if self.chance(0.5):
                    self.emit(depth, "else:")
                    self.block(depth + 1, wholes, owners, inside + 1)
            elif kind < 0.58 and inside < 3:
                owners.append(self.owner(depth))
            else:
                self.act(depth, wholes, owners)
        return owners

    def loop(self, depth: int, wholes: tuple[str, ...], owners: list[Owner], inside: int) -> None:
        """Counted iterations, or some while there is more than one element."""
        name = self.new("i")
        if self.chance(0.35):
            self.emit_all(depth, (f"{name} = 0", f"while {self.count(self.rng.choice(owners))} > 1 and {name} < 9:"))
            self.emit(depth + 1, f"{name} += 1")
        else:
            bounds = ["4", "q[1]", "q[2], 6", *([f"q[{wholes[-1]} % 8]"] if wholes else [])]
            self.emit(depth, f"for {name} in range({self.pick(*bounds)}):")
        self.block(depth + 1, (*wholes, name), owners, inside + 1)
        if self.chance(0.2):
            self.emit_all(depth + 1, (f"if s > {self.pick('3.0', '1.5')}:", f"    {self.pick('break', 'continue')}"))

    def act(self, depth: int, wholes: tuple[str, ...], owners: list[Owner]) -> None:
        """Something that is done to a list or an array."""
        if not owners or self.chance(0.2):
            self.emit(depth, f"s += {self.number(wholes, owners)}")
            return
        owner = self.rng.choice(owners)
        kind, name = owner
        more = self.number(wholes, owners)
        what = self.rng.random()
        if what < 0.45:
            self.append(depth, owner, more, self.number(wholes, owners))
        elif what < 0.7:
            self.emit(depth, f"if {self.count(owner)} > 1:")
            taken = {
                "list": (f"s += {name}.pop() * {more}",),
                "pairs": (f"u, v = {name}.pop()", "s += u * v"),
                "array": (f"{name}_count -= 1", f"s += {name}[{name}_count] * {more}"),
            }
            self.emit_all(depth + 1, taken[kind])
        elif what < 0.9:
            new = f"= ({more}, np.cos(0.02 * s))" if kind == "pairs" else f"{self.pick('=', '+=', '*=')} np.sin({more})"
            self.emit(depth, f"{name}[{self.place(wholes, owner)}] {new}")
        elif kind == "list":
            item = self.new("e")
            ways = [[f"for {item} in {name}:", f"    s += np.cos({item})"], [f"s += 0.1 * np.array({name}).sum()"]]
            ways += [[f"{name}.clear()", f"{name}.append(np.cos(0.02 * s))"]]
            self.emit_all(depth, self.rng.choice(ways))
        elif kind == "array":
            self.emit(depth, f"s += 0.1 * np.sum({name}[:{name}_count])")

    def append(self, depth: int, owner: Owner, item: str, other: str) -> None:
        kind, name = owner
        if kind != "array":
            self.emit(depth, f"{name}.append({item if kind == 'list' else f'({item}, {other})'})")
            return
        size = self.pick(f"2 * {name}_count + 1", f"{name}_count + 2")
        self.emit(depth, f"if {name}_count == {name}.shape[0]:")
        self.emit_all(depth + 1, (f"more = np.empty({size})", f"for k in range({name}_count):"))
        self.emit_all(depth + 1, (f"    more[k] = {name}[k]", f"{name} = more"))
        self.emit_all(depth, (f"{name}[{name}_count] = {item}", f"{name}_count += 1"))


def generate(seed: int) -> StackProgram:
    """The program of a seed."""
    body = Stacks(random.Random(f"stacks {seed}")).program()
    return StackProgram(seed, f"{HEADER}\n\ndef program({', '.join(PARAMETERS)}):\n{body}\n", PARAMETERS)
