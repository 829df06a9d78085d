"""How many calls of NumPy's and SciPy's functions are differentiated: those of `tests/rules/calls`, a row each.

    python -m tools.calls [FILE ...]

A row is an expression.  It is right if its value is that of Python, its derivative along a direction that of central
differences, and forward mode agrees with reverse mode.  Rows that are refused or wrong are listed.
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

import tapec
from tapec.errors import TapecError

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "rules" / "calls"
NAMES = ("v", "p", "m", "s", "c")
_HEAD = """\
import numpy as np
import scipy.fft as sf, scipy.integrate as si, scipy.linalg as sl, scipy.ndimage as nd
import scipy.signal as sg, scipy.special as sp, scipy.stats as st


def put_(v):
    a = v.copy()
    np.put(a, [0, 2], v[3:] * 2)
    return a


def putalong_(m):
    a = m.copy()
    np.put_along_axis(a, np.array([[0], [1], [2]]), m[:, 3:] * 2, axis=1)
    return a


def place_(v):
    a = v.copy()
    np.place(a, a > 0.5, v[:2] * 3)
    return a


def putmask_(v):
    a = v.copy()
    np.putmask(a, a > 0.5, v * 3)
    return a


def h_(m):
    a, b, c = np.unstack(m)
    return a * b * c


def flat_(m):
    a = m.copy()
    a.flat[3] = m[0, 0] ** 2
    a.flat[5:8] = m[1, :2]
    a.flat[[0, 1]] *= m[1, 1]
    a.T.flat[2] += 3 * m[0, 1]
    return a


def weighed(r):
    r = np.asarray(r)
    weights = np.cos(np.arange(r.size)).reshape(r.shape)
    return np.sum(np.real(r) * weights) + np.sum(np.imag(r) * weights * 0.5)


def called(v, p, m, s, c):
    return weighed(ROW)
"""


def arguments() -> tuple[Any, ...]:
    """What the names of a row stand for."""
    rng = np.random.default_rng(3)
    v, p = np.array([0.31, 1.21, 0.7, 0.46, 1.6]), np.array([0.9, 0.35, 1.45, 0.62, 1.1])
    m, s, c = (rng.uniform(0.2, 1.7, shape) for shape in ((3, 4), (3, 3), (2, 3, 4)))
    return v, p, m, s + 2 * np.eye(3), c


def rows(files: Iterable[str] = ()) -> list[str]:
    """The rows of the files named, or of all."""
    found = sorted(FOLDER.glob("*.txt"))
    chosen = [path for path in found if not files or path.stem in files]
    return [row for path in chosen for row in path.read_text(encoding="utf-8").splitlines() if row]


def function_of(row: str) -> Callable[..., Any]:
    """The function that a row is."""
    # of the functions that stand for statements, only those that it calls: all would be parsed with each row
    imports, *functions = _HEAD.split("\n\n\n")
    needed = [text for text in functions if (name := text[4 : text.index("(")])[-1] != "_" or name in row]
    text = "\n\n\n".join([imports, *needed]).replace("ROW", row)
    name = f"<call {row}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    found: Callable[..., Any] = space["called"]
    return found


def check(row: str, opt_level: Literal[0, 1, 2] = 1) -> None:
    """Hold a row's value and derivative, made at some level, to Python's.

    raises  AssertionError  if one is wrong;  TapecError  where a row is refused
    """
    function, args = function_of(row), arguments()
    rng = np.random.default_rng(7)
    wrt = tuple(k for k, name in enumerate(NAMES) if re.search(rf"\b{name}\b", row))
    direction = [rng.normal(size=arg.shape) if k in wrt else None for k, arg in enumerate(args)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(*args)
        value, gradients = tapec.value_and_grad(function, wrt, opt_level=opt_level)(*args)
        tangent = tapec.jvp(function, args, tuple(direction), opt_level=opt_level)[1]
        slope = sum(float(np.sum(one * direction[k])) for one, k in zip(gradients, wrt, strict=True))

        def along(step: float) -> float:
            pairs = zip(args, direction, strict=True)
            return float(function(*(arg if by is None else arg + step * by for arg, by in pairs)))

        h = 1e-4
        numeric = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    single = "float32" in row
    size = 1 + abs(numeric)
    assert abs(value - wanted) <= (1e-4 if single else 1e-10) * (1 + abs(wanted)), f"value {value} for {wanted}"
    assert abs(tangent - slope) <= (1e-4 if single else 1e-9) * size, f"forward {tangent}, reverse {slope}"
    assert single or abs(slope - numeric) <= 1e-6 * size, f"slope {slope} for {numeric}"


def main(given: list[str] | None = None) -> int:
    """Command line; the exit code is 1 if a row is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.calls", description="Count calls that are differentiated.")
    parser.add_argument("files", nargs="*", help="files of tests/rules/calls, without .txt")
    options = parser.parse_args(given)
    tally: Counter[str] = Counter()
    from tests.typed import interpreted

    with interpreted():
        for row in rows(options.files):
            try:
                check(row)
                tally["right"] += 1
            except TapecError as error:
                tally["refused"] += 1
                print(f"refused: {row}: {str(error).splitlines()[0]}")
            except Exception as error:  # noqa: BLE001  whatever a row does
                tally["wrong"] += 1
                print(f"wrong: {row}: {type(error).__name__}: {error}")
    print(", ".join(f"{count} {name}" for name, count in sorted(tally.items())))
    return int(tally["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
