"""Check subscripts of random programs: `python -m tools.fuzz.subscripts [--seed S] [--count K | --minutes M]`.

`--grammar elements`: each seed gives loops, conditions and elements whose subscripts are sums of loops' variables and
numbers, and a dozen arguments for them.  Python tells which of those run out of range: there the gradient has to raise
IndexError, for all others it must not, and the value has to be Python's.

`--grammar arrays`: each seed gives a load, a store or an update by a subscript of index arrays, masks, slices,
integers, new axes and an ellipsis, and arguments of other extents for each call, 0 and 1 among them.  The programs are
linear, so that Python's values for unit arrays are their exact gradient.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import tapec

# arguments for each program
_CALLS = 12
_STEPS = ("", "", "", ", -1", ", 2")


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = ["def f(x, a, k, n, m):", "    s = 0.0"]
        self.count = 0

    def text(self) -> str:
        for _ in range(self.random.randint(1, 3)):
            self.statement(1, [])
        return "\n".join([*self.lines, "    return s", ""])

    def number(self, names: list[str], constant: bool = True) -> str:
        """A sum of names and a number."""
        chosen = self.random.sample([*names, *names, "n", "m"], self.random.choice((1, 1, 1, 2)))
        text = self.random.choice(("", "", "", "2 * ", "-")) + chosen[0]
        text += "".join(f" {self.random.choice('+-')} {name}" for name in chosen[1:])
        shift = self.random.choice((-2, -1, -1, 0, 0, 0, 0, 1, 1, 2)) if constant else 0
        return text if not shift else f"{text} {'+' if shift > 0 else '-'} {abs(shift)}"

    def element(self, names: list[str]) -> str:
        kind = self.random.random()
        if kind < 0.5:
            return f"x[{self.number(names)}]"
        if kind < 0.75:
            return f"a[{self.number(names)}, {self.number(names)}]"
        if kind < 0.82:
            return f"a[{self.number(names)}].sum()"
        if kind < 0.88:
            return f"x[{self.random.choice(('1:', ':-1', 'n:', ':m'))}][{self.number(names)}]"
        if kind < 0.94:
            return f"x[k[({self.number(names)}) % len(k)]]"
        return f"x[{self.random.choice((0, 1, -1, 2))}]"

    def condition(self, names: list[str]) -> str:
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        bound = self.random.choice(("len(x)", "a.shape[0]", "a.shape[1]", "0", self.number(names)))
        text = f"{self.number(names)} {sign} {bound}"
        if self.random.random() < 0.2:
            text += f" {self.random.choice(('and', 'or'))} k[0] == {self.random.randint(0, 2)}"
        return text

    def bound(self, names: list[str]) -> str:
        return self.random.choice(("len(x)", "n", "m", "a.shape[0]", "a.shape[1]", self.number(names)))

    def statement(self, depth: int, names: list[str]) -> None:
        pad = "    " * depth
        kind = self.random.random()
        if kind < 0.35 and depth < 4:
            self.count += 1
            var = f"i{self.count}"
            step = self.random.choice(_STEPS)
            bounds = [self.random.choice(("0", "0", "1", self.number(names))), self.bound(names)]
            if step == ", -1":
                bounds.reverse()
            self.lines.append(f"{pad}for {var} in range({bounds[0]}, {bounds[1]}{step}):")
            self.block(depth + 1, [*names, var])
        elif kind < 0.5 and depth < 5:
            self.lines.append(f"{pad}if {self.condition(names)}:")
            self.block(depth + 1, names)
            if self.random.random() < 0.3:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, names)
        elif kind < 0.55 and names:
            self.lines += [f"{pad}if {self.condition(names)}:", f"{pad}    break"]
        elif kind < 0.62 and depth < 4:
            self.count += 1
            var = f"j{self.count}"
            self.lines += [f"{pad}{var} = 0", f"{pad}while {var} < {self.bound(names)}:"]
            self.block(depth + 1, [*names, var], breaks=False)
            self.lines.append(f"{pad}    {var} += {self.random.choice((1, 1, 2))}")
        else:
            product = f"{self.element(names)} * {self.element(names)}" if self.random.random() < 0.5 else ""
            self.lines.append(f"{pad}s += {product or self.element(names)}")

    def block(self, depth: int, names: list[str], breaks: bool = True) -> None:
        before = len(self.lines)
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth, names if breaks else [*names])
        # a block of breaks alone says nothing
        if all(line.strip().startswith(("if", "break")) for line in self.lines[before:]):
            self.lines.append("    " * depth + f"s += {self.element(names)}")


def program(seed: int, grammar: str = "elements") -> str:
    """The text of the program of a seed."""
    return (_ArrayWriter(seed) if grammar == "arrays" else _Writer(seed)).text()


def arguments(seed: int) -> list[tuple[Any, ...]]:
    """Arguments for the program of a seed."""
    draw = random.Random(seed + 1)
    found: list[tuple[Any, ...]] = []
    for _ in range(_CALLS):
        size, rows, columns = (draw.choice((0, 1, 3, 4, 5, 6, 7)) for _ in range(3))
        x = np.array([draw.uniform(0.5, 1.5) for _ in range(size)])
        a = np.array([[draw.uniform(0.5, 1.5) for _ in range(columns)] for _ in range(rows)]).reshape(rows, columns)
        k = np.array([draw.choice((0, 0, 1, 1, 2, -1, 3)) for _ in range(3)])
        found.append((x, a, k, draw.randint(-1, 4), draw.randint(-1, 4)))
    return found


class _ArrayWriter:
    """Writes one program of a load, a store or an update by an array subscript, and draws arguments for it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.choice((1, 2, 2, 3, 3, 4))
        self.index_ranks = [self.random.choice((1, 1, 1, 2)) for _ in "ijk"]
        self.indices = [*zip("ijk", self.index_ranks, strict=True)]
        # for each axis of x, how it is subscripted; index arrays and masks belong to an axis
        self.axes: list[str] = []
        self.parts: list[str] = []
        taken = 0
        for _ in range(self.rank):
            kind = self.random.random()
            if kind < 0.5 and taken < 3:
                text, taken = "ijk"[taken], taken + 1
            elif kind < 0.55 and "m" not in self.axes:
                text = "m"
            elif kind < 0.7:
                text = self.random.choice(("0", "-1", "n", "n"))
            else:
                text = self.random.choice((":", ":", "1:", ":-1", "::2", "::-1", "n:", "2:0:-1"))
            self.axes.append(text)
            self.parts.append(text)
        if self.random.random() < 0.15:
            self.parts.insert(self.random.randint(0, len(self.parts)), "None")
        if self.random.random() < 0.2:
            place = self.random.randint(0, len(self.parts))
            left_out = self.random.randint(0, 1) if len(self.parts) > 1 else 0
            self.parts[place : place + left_out] = ["..."]
        self.kind = self.random.choice(("load", "load", "store", "update", "at"))

    def text(self) -> str:
        subscript = ", ".join(self.parts)
        if self.kind == "load":
            body = [f"return np.sum(w * x[{subscript}])"]
        elif self.kind == "at":
            place = subscript if len(self.parts) == 1 else f"({subscript})".replace(":", "").replace("(, ", "(")
            if any(":" in part for part in self.parts) or "..." in self.parts:
                place = f"np.s_[{subscript}]"
            body = ["y = x.copy()", f"np.add.at(y, {place}, v)", "return np.sum(w * y)"]
        else:
            sign = "=" if self.kind == "store" else self.random.choice(("+=", "-="))
            body = ["y = x.copy()", f"y[{subscript}] {sign} v", "return np.sum(w * y)"]
        lines = ["import numpy as np", "", "", "def f(x, v, w, i, j, k, m, n):", *("    " + line for line in body)]
        return "\n".join([*lines, ""])

    def arguments(self) -> list[tuple[Any, ...]]:
        """Arguments of other extents for each call; some do not fit."""
        found: list[tuple[Any, ...]] = []
        draw = np.random.default_rng(self.random.randint(0, 2**30))
        v_rank, stretch = self.random.randint(0, 3), self.random.random() < 0.3
        for _ in range(_CALLS // 2):
            shape = tuple(self.random.choice((0, 1, 2, 3, 3, 4)) for _ in range(self.rank))
            full = [self.random.choice((0, 1, 2, 3, 3)) for _ in range(2)]
            indices = []
            for name, rank in self.indices:
                extent = shape[self.axes.index(name)] if name in self.axes else 1
                own = tuple(1 if self.random.random() < 0.35 else length for length in full[2 - rank :])
                spread = extent if self.random.random() < 0.95 else extent + 1
                indices.append(draw.integers(-spread, max(spread, 1), size=own) if spread else np.zeros(own, np.int64))
            length = shape[self.axes.index("m")] if "m" in self.axes else 2
            mask, n = draw.random(length) < 0.6, self.random.randint(-1, 2)
            x = draw.normal(size=shape)
            try:
                target = _load(self.parts, x, (*indices, mask, n)).shape
            except IndexError:
                target = tuple(self.random.choice((1, 2)) for _ in range(self.rank))
            if self.kind == "load":
                v, w = np.zeros(1), draw.normal(size=target)
            else:
                own = target[max(len(target) - v_rank, 0) :]
                v = draw.normal(size=tuple(1 if stretch and self.random.random() < 0.5 else e for e in own))
                w = draw.normal(size=shape)
            found.append((x, v, w, *indices, mask, n))
        # ranks are part of the types: those of the first call stand for all
        return [given for given in found if [np.ndim(a) for a in given] == [np.ndim(a) for a in found[0]]]


def _load(parts: list[str], x: Any, given: tuple[Any, ...]) -> Any:
    """What a subscript reads in Python."""
    return eval(f"x[{', '.join(parts)}]", {"x": x, **dict(zip("ijkmn", given, strict=True))})


def _unit_gradients(f: Callable[..., Any], given: tuple[Any, ...]) -> list[Any]:
    """The gradients of a linear function by its two first arguments: its values for unit arrays."""
    found = []
    for place in (0, 1):
        gradient = np.zeros_like(given[place])
        for position in np.ndindex(gradient.shape):
            unit = [np.zeros_like(given[0]), np.zeros_like(given[1])]
            unit[place][position] = 1.0
            gradient[position] = f(*unit, *given[2:])
        found.append(gradient)
    return found


def check_linear(f: Callable[..., Any], calls: list[tuple[Any, ...]], counts: Counter[str]) -> str:
    """What is wrong with the gradient of a linear program for some arguments; nothing, where nothing is."""
    derivative = tapec.value_and_grad(f, wrt=(0, 1))
    for given in calls:
        wanted = outcome(f, given)
        found = outcome(derivative, given)
        if isinstance(wanted, type) or isinstance(found, type):
            counts["raises"] += 1
            # which of several errors comes first is nobody's; where no element is chosen, none is read or written
            nothing = not isinstance(found, type) and not np.any(found[1][1])
            nothing = nothing and (not np.any(found[1][0]) or np.array_equal(found[1][0], given[2]))
            if not (isinstance(wanted, type) and (isinstance(found, type) or nothing)):
                return f"{given}: Python {wanted}, tapec {found}"
            continue
        counts["answers"] += 1
        if not np.isclose(found[0], wanted, rtol=1e-12, atol=1e-12):
            return f"{given}: Python {wanted}, tapec {found[0]}"
        for name, exact, gradient in zip("xv", _unit_gradients(f, given), found[1], strict=True):
            if gradient.shape != exact.shape or not np.allclose(gradient, exact, rtol=1e-12, atol=1e-12):
                return f"{given}: {name}_bar is {gradient}, right {exact}"
    return ""


def outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """What a function returns, or the class of error that it raises."""
    try:
        return function(*given)
    except IndexError:
        return IndexError
    except ValueError as error:
        # one that tapec raises while it compiles says that it refuses
        if isinstance(error, tapec.errors.TapecError):
            raise
        return ValueError


def check(f: Callable[..., Any], calls: list[tuple[Any, ...]], counts: Counter[str], wrt: Any = (0, 1)) -> str:
    """What is wrong with the gradient of a program for some arguments; nothing, where nothing is."""
    derivative = tapec.value_and_grad(f, wrt=wrt)
    for given in calls:
        wanted = outcome(f, given)
        found = outcome(derivative, given)
        counts["out of range" if wanted is IndexError else "in range"] += 1
        if found is IndexError or wanted is IndexError:
            if found is not wanted:
                return f"{given}: Python {wanted}, tapec {found}"
        elif not np.isclose(found[0], wanted, rtol=1e-12):
            return f"{given}: Python {wanted}, tapec {found[0]}"
    return ""


def checked(seed: int, folder: Path, counts: Counter[str], grammar: str = "elements") -> str:
    """The same for the program of a seed."""
    path = folder / f"{grammar}_{seed}.py"
    path.write_text(program(seed, grammar))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    try:
        if grammar == "arrays":
            return check_linear(module.f, _ArrayWriter(seed).arguments(), counts)
        return check(module.f, arguments(seed), counts)
    except tapec.errors.TapecError as error:
        if error.span is None:
            return f"{type(error).__name__}: {error}"
        counts["refused"] += 1
        return ""


@click.command()
@click.option("--seed", default=0, show_default=True, help="The first program.")
@click.option("--count", default=0, help="How many programs; by default as many as the minutes allow.")
@click.option("--minutes", default=1.0, show_default=True, help="How long, where no count is given.")
@click.option("--grammar", type=click.Choice(["elements", "arrays"]), default="elements", show_default=True)
def main(seed: int, count: int, minutes: float, grammar: str) -> None:
    """Check the subscripts of random programs."""
    end, counts, failed = time.monotonic() + 60 * minutes, Counter[str](), 0
    first = seed
    with tempfile.TemporaryDirectory() as folder:
        while seed < first + count if count else time.monotonic() < end:
            wrong = checked(seed, Path(folder), counts, grammar)
            if wrong:
                failed += 1
                click.echo(f"seed {seed}: {wrong}\n{program(seed, grammar)}")
            seed += 1
    told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    click.echo(f"{seed - first} programs, {failed} wrong; calls: {told}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
