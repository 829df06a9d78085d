"""Whether derivatives are right over the whole range of numbers: scaling laws of the rows of `tests/rules/calls`.

    python -m tools.scales [--rows TEXT] [--every N]

A function that is homogeneous in some of its arguments has a derivative that is, too: multiplied by 2**k, they multiply
it by 2**(d * k).  The degrees are found next to 1, and asked of all k from subnormal numbers to overflow, of both modes
and both precisions.  A derivative is right, or not finite; it is wrong if it is finite and another number.  What is
listed as lost is not finite though it could be represented.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapec
from tapec.errors import TapecError
from tools.calls import NAMES, arguments, function_of, rows

# rows that are no test of a rule, and why
APART = {
    "np.isclose(v, p)*v": "what is close depends on the scale",
    "np.allclose(v, p)*v": "what is close depends on the scale",
    "np.polydiv(v, p[:2])[1]": "small remainders are trimmed",
    "np.cov(m, aweights=v[:4])": "the covariance itself underflows",
    "sl.solve_sylvester(s, s, s)": "the derivative is zero but for rounding",
}
APART |= {row: "the adjoint of the product in the row is out of range" for row in rows() if "(s @ s.T" in row}
APART |= {row: "the area itself underflows" for row in rows() if "simpson" in row and "cumsum" in row}

EXPONENTS = {
    np.float64: (-1066, -1040, -1022, -800, -600, -539, -520, -350, -100, 0, 100, 350, 520, 539, 600, 800, 1015),
    np.float32: (-141, -130, -120, -80, -66, -50, -33, 0, 33, 50, 66, 80, 120),
}


@dataclass(frozen=True)
class Finding:
    """A derivative that does not follow its law."""

    row: str
    dtype: str
    names: str
    exponent: int
    mode: str
    wanted: float
    found: float

    @property
    def is_wrong(self) -> bool:
        return bool(np.isfinite(self.found))


class _Row:
    """A row, its derivatives, and its arguments next to 1, which are exact as subnormal numbers, too."""

    def __init__(self, row: str, dtype: Any) -> None:
        self.row, self.dtype = row, dtype
        self.function = function_of(row)
        self.args = [np.round(one * 256).astype(dtype) / dtype(256) for one in arguments()]
        self.wrt = tuple(k for k, name in enumerate(NAMES) if re.search(rf"\b{name}\b", row))
        self.gradient = tapec.grad(self.function, self.wrt, opt_level=1)
        rng = np.random.default_rng(7)
        self.direction = tuple(
            np.round(rng.normal(size=one.shape) * 64).astype(dtype) / dtype(64) if k in self.wrt else None
            for k, one in enumerate(self.args)
        )

    def at(self, group: tuple[int, ...], exponent: int) -> list[Any]:
        return [np.ldexp(one, exponent).astype(self.dtype) if k in group else one for k, one in enumerate(self.args)]

    def degrees(self, group: tuple[int, ...], near: list[Any]) -> dict[int, float] | None:
        """The degree of each argument's derivative in the scale of a group; None if there is none."""
        close = 1e-6 if self.dtype is np.float64 else 1e-3
        found: dict[int, float] = {}
        for exponent in (3, -3, 6):
            for k, one, other in zip(self.wrt, near, self.gradient(*self.at(group, exponent)), strict=True):
                first, second = float(np.max(np.abs(one))), float(np.max(np.abs(other)))
                if first == 0 == second:
                    continue
                if first == 0 or second == 0 or not np.isfinite(first + second):
                    return None
                degree = round(np.log2(second / first) / exponent * 12) / 12
                law = np.asarray(one, float) * 2.0 ** (degree * exponent)
                if found.setdefault(k, degree) != degree or not np.all(np.abs(other - law) <= close * second):
                    return None
        return found


def examine(row: str, dtype: Any, exponents: tuple[int, ...] = ()) -> Iterator[Finding | None]:
    """What a row's derivatives are at each scale: a finding, or None where one is right.

    raises  TapecError  where the row is refused
    """
    tested = _Row(row, dtype)
    near = list(tested.gradient(*tested.args)) if tested.wrt else []
    # what is zero but for rounding has no law
    if any(0 < np.max(np.abs(one)) < 1e-4 for one in near):
        return
    groups = {(k,) for k in tested.wrt} | {tested.wrt}
    for group in sorted(groups) if tested.wrt else ():
        degrees = tested.degrees(group, near)
        if degrees is None:
            continue
        for exponent in exponents or EXPONENTS[dtype]:
            args = tested.at(group, exponent)
            try:
                found = tested.gradient(*args)
                slope = tapec.jvp(tested.function, args, tested.direction, opt_level=1)[1]
            except (np.linalg.LinAlgError, ZeroDivisionError, ValueError):
                continue
            laws = [
                np.asarray(one, np.longdouble) * np.exp2(np.longdouble(degrees.get(k, 0.0) * exponent))
                for k, one in zip(tested.wrt, near, strict=True)
            ]
            names = "".join(NAMES[k] for k in group)
            for k, one, law in zip(tested.wrt, found, laws, strict=True):
                yield _compared(tested, names, exponent, f"reverse, by {NAMES[k]}", one, law)
            # the size that the terms of the sum have, and the sum
            terms = [law * tested.direction[k] for k, law in zip(tested.wrt, laws, strict=True)]
            size = max(np.max(np.abs(term)) for term in terms)
            yield _compared(tested, names, exponent, "forward", slope, sum(np.sum(term) for term in terms), size)


def _compared(
    row: _Row, names: str, exponent: int, mode: str, found: Any, law: Any, size: Any = None
) -> Finding | None:
    """A derivative beside what it should be: None if it is that, to rounding, or out of range as that is."""
    info = np.finfo(row.dtype)
    size = np.max(np.abs(law)) if size is None else size
    # a subnormal number has fewer digits
    digits = min(info.nmant, exponent + info.nmant - info.minexp - 10) if exponent < 0 else info.nmant
    close = max(2.0 ** (-digits), 1e-9 if row.dtype is np.float64 else 2e-3)
    found = np.asarray(found, np.longdouble)
    if size > info.max / 64:
        return None
    bad = ~(np.abs(found - law) <= close * size + 16 * info.smallest_normal)
    if not bad.any():
        return None
    wrong = bad & np.isfinite(found)
    place = np.argmax(wrong if wrong.any() else bad)
    one, other = float(np.ravel(law)[place]), float(np.ravel(found)[place])
    return Finding(row.row, np.dtype(row.dtype).name, names, exponent, mode, one, other)


def main(given: list[str] | None = None) -> int:
    """Command line; the exit code is 1 if a derivative is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.scales", description="Test scaling laws of derivatives.")
    parser.add_argument("--rows", default="", help="rows that contain this text alone")
    parser.add_argument("--every", type=int, default=1, help="one row of so many")
    options = parser.parse_args(given)
    tally: Counter[str] = Counter()
    from tests.typed import interpreted

    chosen = [row for row in rows() if options.rows in row and row not in APART][:: options.every]
    with interpreted(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for row in chosen:
            for dtype in EXPONENTS:
                try:
                    for finding in examine(row, dtype):
                        kind = "right" if finding is None else "wrong" if finding.is_wrong else "lost"
                        tally[kind] += 1
                        if finding is not None:
                            print(f"{kind}: {finding}", flush=True)
                except (TapecError, ValueError) as error:
                    tally["refused"] += 1
                    print(f"refused: {row}: {str(error).splitlines()[0]}")
    print(", ".join(f"{count} {name}" for name, count in sorted(tally.items())))
    return int(tally["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
