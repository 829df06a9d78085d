"""Random calls of NumPy's functions, for programs of arrays whose extents the data decide."""

from __future__ import annotations

import random

WIDTH = 3


class Calls:
    """Draws expressions as text, over the names in sight.

    even      vectors of the common extent `n`
    own       those that may be written into
    loose     vectors of any extent
    numbers   numbers, and what stands for them
    matrices  of `n` rows and `WIDTH` columns
    """

    def __init__(self, rng: random.Random, item: str):
        self.rng = rng
        self.even = ["a1", "a2", "state.p", "a1", "a2", "m1[:, 1]", "pair[0]", item.format("p")]
        self.own = ["a1", "a2"]
        self.loose = ["state.q", "a1[1:]", "WEIGHTS"]
        self.numbers = ["x1", "x2", "s", "0.3", "state.r", item.format("r")]
        self.matrices = ["m1"]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *items: str) -> str:
        return self.rng.choice(items)

    def vector(self) -> str:
        return self.rng.choice(self.even)

    def number(self) -> str:
        return self.rng.choice(self.numbers)

    def place(self) -> str:
        """A place in a vector of the common extent."""
        v, x = self.vector(), self.number()
        return self.pick(
            "0",
            "-1",
            "k1[0]",
            f"np.argmax({v})",
            f"np.argsort({v})[n // 2]",
            f"np.searchsorted(np.sort({v}), {x}) % n",
            f"np.sum({v} > {x}) - 1",
            f"np.digitize({x}, GRID) % n",
            f"np.count_nonzero({v} < 0.0) - n",
        )

    def mask(self, v: str) -> str:
        x, w = self.number(), self.vector()
        return self.pick(
            f"{v} > {x}",
            f"{v} < {w}",
            f"np.abs({v}) > 0.3",
            f"({v} > -0.5) & ({w} < {x})",
            f"~({w} > 0.1)",
            "np.arange(n) % 2 == 0",
            f"np.logical_or({v} < -0.2, {w} > 0.4)",
        )

    def whole(self) -> str:
        """A vector of the common extent."""
        v, w, x = self.vector(), self.vector(), self.number()
        m = self.rng.choice(self.matrices)
        return self.pick(
            f"np.sort({v})",
            f"np.sort({v})[::-1]",
            f"{v}[np.argsort({w})]",
            f"np.cumsum({v}) * 0.3",
            f"np.cumprod(0.6 + 0.3 * {v})",
            f"np.roll({v}, {self.pick('1', '-2', 'steps')})",
            f"np.flip({v}) * {x}",
            f"np.where({self.mask(v)}, {w}, 0.5 * {v})",
            f"np.clip({v}, -0.4, {self.pick('0.5', f'abs({x}) + 0.1')})",
            f"np.interp({v}, GRID, TABLE)",
            f"np.interp({v}, GRID, np.sin(TABLE * {x}))",
            f"np.take({v}, k1)",
            f"{v}[k1] * {x}",
            f"np.append({v}[1:], {x})",
            f"np.concatenate(({v}[n // 2:], {w}[:n // 2]))",
            f"np.diff(np.append({v}, {x})) * 0.5",
            f"np.convolve({v}, WEIGHTS)[2:n + 2] * 0.5",
            f"np.repeat({v}, 2)[{self.pick('::2', '1::2', '::-2')}]",
            f"np.partition({v}, n // 2)",
            f"np.bincount(k1, weights={v}, minlength=n)[:n]",
            f"np.full(n, {x}) + {v}",
            f"np.sum({m}, axis=1) * 0.3",
            f"np.max({m}, axis=1)",
            f"np.cumsum({m}, axis=1)[:, {self.pick('-1', '1')}] * 0.4",
            f"np.sort({m}, axis=0)[:, 1]",
            f"{m} @ np.cos(WEIGHTS[:{WIDTH}] * {x})",
            f"np.stack(({v}, {w}))[{self.pick('0', '1', 'steps % 2')}]",
            f"np.maximum({v}, {w}) - {x}",
            f"np.outer({v}, {w})[{self.pick('0', '-1', ':, 0', ':, n // 2')}]",
            f"np.select([{v} > 0.3, {w} > 0.0], [{v} * {x}, {w}], 0.2)",
            f"np.linalg.norm({m}, axis=1)",
            f"np.take_along_axis({m}, k1[:, None] % {WIDTH}, 1)[:, 0]",
            f"np.where({self.mask(v)})[0].sum() * 0.05 + {v}",
            f"np.ones(n) * {x}",
            f"(f1 * {v}).astype(np.float64)",
            f"np.tile({v}, 2)[n // 2:n // 2 + n]",
            f"np.insert({v}, n // 2, {x})[:-1]",
            f"np.delete(np.append({v}, {x}), {self.pick('0', 'n // 2')})",
            f"helper_mixed({v}, {w}, 0.2)",
            f"helper_mixed({v}, {w}, scale={x})",
        )

    def any_extent(self) -> str:
        """A vector whose extent the data may decide."""
        v, w, x, u = self.vector(), self.vector(), self.number(), self.rng.choice(self.loose)
        return self.pick(
            f"{v}[{self.mask(v)}]",
            f"{u}[{u} > {x}]",
            f"np.unique({v})",
            f"np.compress({self.mask(v)}, {v})",
            f"np.extract({self.mask(v)}, {w})",
            f"{v}[{self.pick('::2', '::-2', '1:', ':-1', '1:-1', '-2:', '::-1', '3:0:-1')}]",
            f"np.concatenate(({u}, {v}))",
            f"np.append({u}, {x})",
            f"np.diff({v})",
            f"np.cumsum({u}) * 0.3",
            f"np.sort({u}) * {x}",
            f"np.repeat({u}, 2)",
            f"{v}[np.nonzero({self.mask(v)})[0]]",
            f"{v}[np.where({self.mask(v)})]",
            f"np.outer({u}, WEIGHTS).ravel() * 0.5",
            f"{u} * {x}",
            f"{u}[::-1]",
            f"np.hstack(({v}, {u}))",
            f"m1.ravel()[{self.pick('::2', '1:', '::-3')}]",
            f"np.array([z * {x} for z in {v} if z > 0.0])",
            f"m1[m1 > {x}]",
        )

    def value(self) -> str:
        """A number."""
        v, w, x, y, u = self.vector(), self.vector(), self.number(), self.number(), self.rng.choice(self.loose)
        m = self.rng.choice(self.matrices)
        return self.pick(
            f"0.3 * np.sum({u})",
            f"0.2 * np.sum({u} * {u}[::-1])",
            f"np.mean({v}) * {x}",
            f"0.3 * np.max({v}) + 0.2 * np.min({w})",
            f"np.prod(0.5 + 0.4 * {v})",
            f"0.4 * np.ptp({v})",
            f"0.3 * np.std(np.append({v}, 2.0))",
            f"0.3 * np.var({v})",
            f"0.5 * np.median({v})",
            f"0.5 * np.percentile({v}, {self.pick('30', '75.0')})",
            f"0.5 * np.quantile({v}, [0.2, 0.7])[1]",
            f"0.2 * np.linalg.norm({v})",
            f"0.3 * np.dot({v}, {w})",
            f"0.2 * np.trapezoid({v})",
            f"0.2 * np.sum({v}[{self.mask(v)}])",
            f"0.6 * {v}[{self.place()}]",
            f"0.5 * {v}[{self.place()}] * {w}[{self.place()}]",
            f"np.interp({x}, GRID, TABLE)",
            f"np.interp({x}, GRID, np.sort(np.cos(TABLE * {y})))",
            f"np.interp({x}, np.cumsum(np.exp(TABLE * 0.1 * {y})) * 0.3, TABLE)",
            f"0.4 * np.average({v}, weights=1.5 + {w})",
            f"helper_halves({v}, 0, n, {x})",
            f"helper_ranked({v}, {w})",
            f"helper_ranked({v}, {w}, rank={self.pick('1', 'steps', '-1')}, scale={x})",
            f"helper_first({v}, {x})[0]",
            f"{w}[helper_first({v}, {x})[1]]",
            f"0.3 * np.sum(np.sort({m}, axis={self.pick('0', '1')})[0])",
            f"0.1 * np.trace({m}.T @ {m})",
            f"0.3 * {m}[np.argmax({v}), np.argmin({m}[0])]",
            f"np.polyval(WEIGHTS, 0.5 * {x})",
            f"0.2 * np.cross({m}[0], {m}[-1])[1]",
            f"max({x}, {y}) * 0.6",
            f"0.5 * {x} - 0.4 * {y} * {y}",
        )
