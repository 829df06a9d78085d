"""Random loops over independent samples, as the passes that run iterations side by side look for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.fuzz.grammars.expressions import paren
from tools.fuzz.grammars.shapes import Arrays, Shaped
from tools.fuzz.grammars.writer import Writer


@dataclass(frozen=True)
class Sample:
    """The names of an iteration.

    read    an element of the iteration's sample, by its number
    own     an element of what the iteration may write, by its number
    level   a number that the iteration computes
    weight  an element of what all iterations read, by its number
    """

    read: Callable[[object], str]
    own: Callable[[object], str]
    weight: Callable[[object], str]
    level: str
    var: str
    count: int
    local: bool


class LaneLoops(Shaped, Writer):
    """Loops of many or few iterations: each works on elements of its own, with loops inside that the data may end."""

    def lanes(self, scope: Arrays, depth: int) -> Arrays:
        """A loop over samples, and a use of what it leaves behind."""
        data, out, total, var, fixed = (self.new(stem) for stem in ("X", "Y", "s", "i", "W"))
        count = self.rng.choice(["n", "n * 13", "17", "n + 64", "n + 15"])
        width = self.rng.choice([2, 3])
        first = self.place(scope, (width,)) or f"np.full({width}, {self.atom(scope)})"
        second = self.place(scope, (width,)) or f"np.full({width}, {self.atom(scope)})"
        x = self.rng.choice(scope.scalars)
        rows = self.chance(0.4)
        turned = "" if rows else ".T.copy()"
        self.emit(depth, f"{data} = np.cos(np.arange({count}).reshape(-1, 1) * 0.7 + {first}){turned}")
        self.emit(depth, f"{fixed} = {second} + 0.0")
        shape = f"({count}, {width})" if rows else f"({width}, {count})"
        self.emit(depth, f"{out} = {self.rng.choice([f'np.zeros({shape})', f'0.5 * {data}'])}")
        self.emit(depth, f"{total} = {self.rng.choice(['0.0', x])}")
        self.emit(depth, f"for {var} in {self.rng.choice(['range', 'range', 'prange'])}({count}):")
        self.sample(depth + 1, data, out, total, var, fixed, width, rows, self.atom(scope))
        mean = f"/ (1.0 + {count})"
        self.emit(depth, f"{x} = 0.5 * {x} + 0.3 * {total} {mean} + {out}.sum() {mean}")
        if self.chance(0.3):
            self.emit(depth, f"{x} += 0.2 * {data}.sum() {mean} + 0.1 * {fixed}[0]")
        return scope

    def sample(
        self, depth: int, data: str, out: str, total: str, var: str, fixed: str, width: int, rows: bool, start: str
    ) -> None:
        """The body of an iteration."""
        own, level = self.new("v"), self.new("t")

        def element(name: str) -> Callable[[object], str]:
            return lambda k: f"{name}[{var}, {k}]" if rows else f"{name}[{k}, {var}]"

        read = element(data)
        if self.chance(0.3):
            row = self.new("r")
            self.emit(depth, f"{row} = {data}[{var}]" if rows else f"{row} = {data}[:, {var}]")
            read = f"{row}[{{}}]".format
        local = self.chance(0.6)
        if local:
            text = self.rng.choice([f"np.zeros({width})", f"np.ones({width}) * {start}", f"np.empty({width})"])
            self.emit(depth, f"{own} = {text}")
            if "empty" in text:
                k = self.new("j")
                self.emit(depth, f"for {k} in range({width}):")
                self.emit(depth + 1, f"{own}[{k}] = 0.3 * {read(k)} + {self.rng.choice([start, '0.1'])}")
        mine = f"{own}[{{}}]".format if local else self.rng.choice([read, element(out)])
        iteration = Sample(read, mine, f"{fixed}[{{}}]".format, level, var, width, local)
        self.emit(depth, f"{level} = {self.rng.choice([start, '0.0', read(0), '1'])} * 0.5")
        for _ in range(self.rng.randint(1, 3)):
            self.inner(iteration, depth)
        put = element(out)
        ends = [
            f"{total} += 0.2 * {level}",
            f"{total} -= 0.2 * {level} * {read(0)}",
            f"{put(0)} = {level}",
            f"{put(width - 1)} += 0.3 * {level} * {mine(1)}",
            f"{fixed}[{var} % {width}] += 0.01 * {level}" if mine is not iteration.weight else f"{total} += 0.1",
        ]
        if local:
            whole = f"{out}[{var}]" if rows else f"{out}[:, {var}]"
            ends += [f"{whole} = {own}", f"{whole} += 0.4 * {own}", f"{total} += {own}.sum() * 0.1"]
        for text in self.rng.sample(ends, self.rng.randint(1, 2)):
            if self.chance(0.2):
                self.emit(depth, f"if {level} > {self.number()}:")
                self.emit(depth + 1, self.rng.choice([text, "continue"]))
            self.emit(depth, text)

    def inner(self, iteration: Sample, depth: int) -> None:
        """A loop inside an iteration."""
        j, k, u = (self.new(stem) for stem in ("j", "k", "u"))
        n, t = iteration.count, iteration.level
        heads = [
            f"range({n})",
            f"range({iteration.var} % {n})",
            "range(n)",
            f"range({n} - 1, -1, -1)",
            f"range(1, {n})",
        ]
        heads += [f"range(int(abs({t}) * 9.0) % 4)", f"range({iteration.var} % 2, {n})"]
        head = self.rng.choice(heads)
        self.emit(depth, f"for {j} in {head}:")
        at = f"{j} % {n}" if "n)" in head or "% 4" in head else j
        a, b, w = iteration.read(at), iteration.own(at), iteration.weight(at)
        way_out = self.rng.choice(["break", "continue", "pass"])
        steps = [
            [f"{t} += 0.3 * {a} * {w}"],
            [f"{t} += 0.3 * {w} * {b}"],
            [f"{t} = 0.6 * {t} + 0.4 * {a}"],
            [f"{t} = max({t}, {a} * {w})"],
            [f"if {a} > {t}:", f"    {t} = 0.5 * {t} + {w} * 0.2", f"    {way_out}"],
            [f"{u} = {a} - {w}", f"{t} -= 0.2 * {u} * {u}"],
            [f"for {k} in range({n}):", f"    {t} += 0.1 * {paren(iteration.read(k))} * {w}"],
            [f"for {k} in range({at} + 1):", f"    {t} += 0.1 * {iteration.weight(k)} * {iteration.read(k)}"],
            [f"for {k} in range({at} + 1):", f"    if {t} > 1.5:", "        break", f"    {t} += 0.2 * {a}"],
            [f"{u} = 0", f"while {u} < 3 and {t} < 0.8:", f"    {u} += 1", f"    {t} = {t} * 0.9 + 0.1 * {a}"],
        ]
        if iteration.local:
            steps += [
                [f"{b} = 0.5 * {b} + 0.3 * {a}"],
                [f"{b} += 0.2 * {t}"],
                [f"{iteration.own(f'({j} + 1) % {n}')} = 0.4 * {b} * {w}"],
                [f"if {b} > {t}:", f"    {b}, {iteration.own(0)} = {iteration.own(0)}, {b}"],
                [f"for {k} in range({n}):", f"    {iteration.own(k)} = 0.6 * {iteration.own(k)} + 0.2 * {a}"],
                [f"for {k} in range({at}):", f"    {b} -= 0.3 * {iteration.own(k)} * {iteration.weight(k)}"],
            ]
        for _ in range(self.rng.randint(1, 2)):
            self.emit_all(depth + 1, self.rng.choice(steps))
        if self.chance(0.2):
            self.emit(depth + 1, f"if {t} > {self.number()}:")
            self.emit(depth + 2, self.rng.choice(["break", "continue"]))
