"""What is proved of integers holds in every run of random nests of loops."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tapec.analyses.iterations import Iterations
from tapec.syntax.core import For, Name, walk
from tests.optimise.reading import read
from tests.sampling import sampled

Seen = dict[str, int]

ARGUMENTS = list(itertools.product([-3, 0, 1, 2, 4], [-2, 1, 3], [-1, 0, 2]))


class Nest:
    """A nest of loops, the last of which sees all integers; `loops` are its variables, outermost first."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["n", "k", "j"]
        self.loops: list[str] = []
        self.lines: list[str] = []
        for level in range(rng.randint(1, 3)):
            for _ in range(rng.randint(1, 3)):
                self.define(level)
            step = rng.choice(["1", "1", "-1", "2", "-2", "3", self.atom()])
            start = "0" if rng.random() < 0.4 else self.atom()
            self.add(level, f"for i_v{level} in range({start}, {self.atom()}, {step}):")
            self.loops.append(f"i_v{level}")
            self.names.append(f"i_v{level}")
        for _ in range(rng.randint(1, 3)):
            self.define(len(self.loops))

    def add(self, level: int, line: str) -> None:
        self.lines.append("    " * (level + 1) + line)

    def atom(self) -> str:
        return self.rng.choice(self.names) if self.rng.random() < 0.7 else str(self.rng.randint(-2, 3))

    def define(self, level: int) -> None:
        one, other, number = self.atom(), self.atom(), self.rng.choice([2, 3, 4])
        name = f"i_{len(self.lines)}"
        sums = [f"{one} + {other}", f"{one} - {other}", f"{number} * {one}", f"-2 * {one}"]
        rest = [f"{one} * {other}", f"min({one}, {other})", f"max({one}, {other})", f"{one} % {number}"]
        self.add(level, f"{name} = {self.rng.choice([*sums, *sums, *rest, f'{one} // {number}'])}")
        self.names.append(name)

    def text(self, last: str) -> str:
        return "\n".join(["def f(a, n, k, j):", *self.lines, "    " * (len(self.loops) + 1) + last])

    def runs(self) -> list[list[Seen]]:
        """What the nest sees, for some arguments."""
        found = []
        for numbers in ARGUMENTS:
            seen: list[Seen] = []
            scope: dict[str, Any] = {"see": seen.append}
            exec(self.text("see({name: value for name, value in locals().items() if name != 'a'})"), scope)
            try:
                scope["f"](None, *numbers)
            except ValueError:
                continue  # a step of zero
            found.append(seen[:20])
        return found


@pytest.mark.parametrize("seed", sampled(range(30), 10))
def test_what_is_proved_holds(seed):
    rng = random.Random(seed)
    nest = Nest(rng)
    function = read(nest.text("x = a[0]"))
    integers = Iterations(function).dependence.integers
    loops = {stmt.var: stmt for stmt in walk(function.body) if isinstance(stmt, For)}
    (here,) = integers.scopes.body[loops[nest.loops[-1]].key]
    sums = {name: integers.sum(Name(name)) for name in nest.names}
    runs = nest.runs()
    for name in nest.names:
        if integers.never_negative(sums[name], here):
            assert all(now[name] >= 0 for run in runs for now in run), (nest.text(""), name)
    for one, other in [*((name, name) for name in nest.names), *(rng.sample(nest.names, 2) for _ in range(6))]:
        if integers.different(sums[one], sums[other], here):
            assert all(now[one] != now[other] for run in runs for now in run), (nest.text(""), one, other)
        for depth, var in enumerate(nest.loops):
            around = integers.scopes.of[loops[var].key].loops()
            proved = {
                "disjoint": integers.disjoint(sums[one], sums[other], loops[var]),
                "later": integers.disjoint(sums[one], sums[other], loops[var], later=True),
                "meet": integers.never_equal(sums[one], sums[other], around),
            }
            for now, then, later in _pairs(runs, nest.loops[:depth]):
                moved = now[var] != then[var]
                said = (proved["disjoint"] and moved) or (proved["later"] and moved and later) or proved["meet"]
                assert not said or now[one] != then[other], (nest.text(""), one, other, var, proved)


def _pairs(runs: list[list[Seen]], around: list[str]) -> list[tuple[Seen, Seen, bool]]:
    """What is seen at two times in one iteration of some loops, and whether the second one is later."""
    return [
        (now, then, second > first)
        for run in runs
        for first, now in enumerate(run)
        for second, then in enumerate(run)
        if all(now[name] == then[name] for name in around)
    ]
