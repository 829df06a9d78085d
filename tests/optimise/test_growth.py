"""tapec's own work grows in proportion to a program, counted in calls of Python functions."""

from __future__ import annotations

import cProfile
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import tapec

LOOPS = """\
    y{k} = np.zeros(n)
    for i in range(n):
        t = y{j}[i] * 1.1 + np.sin(x[i])
        y{k}[i] = t * t + s
    s = s + y{k}[0]
"""
NESTS = """\
    for i in range(n):
        t = x[i]
        for j in range(n):
            u = t * x[j] + s * 0.1
            if u > 0.3:
                t = t + u
        s = s + t
"""
STORES = """\
    y0[{k} % 7] = x[{j} % 5] * y0[{k} % 3] + np.sin(y0[{j} % 7])
    s = s + y0[{j} % 2]
"""
EXPRESSIONS = """\
    y{k} = np.sin(y{j}) * x + s
    s = s + y{k}[0]
"""


def program(piece: str, count: int) -> str:
    pieces = "".join(piece.format(k=k, j=k - 1) for k in range(1, count + 1))
    head = "import numpy as np\n\n\ndef f(x):\n    n = x.shape[0]\n    y0 = x.copy()\n    s = 0.0\n"
    return f"{head}{pieces}    return s\n"


def calls(source: str, path: Path) -> int:
    """How many Python functions are called to make a gradient."""
    path.write_text(source)
    function = load(path)
    derivative = tapec.value_and_grad(function)
    # a profiler in C: one in Python takes several times as long as what it counts
    profile = cProfile.Profile(builtins=False)
    profile.runcall(derivative.source, numba.float64[::1])
    return sum(entry.callcount for entry in profile.getstats())


def load(path: Path) -> Any:
    space: dict[str, Any] = {"np": np}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["f"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(LOOPS, id="loops"),
        pytest.param(NESTS, id="nests", marks=pytest.mark.exhaustive),
        pytest.param(STORES, id="stores"),
        pytest.param(EXPRESSIONS, id="expressions", marks=pytest.mark.exhaustive),
    ],
)
def test_work_grows_with_the_program(piece, tmp_path):
    calls(program(piece, 4), tmp_path / "first.py")
    small, large = (calls(program(piece, count), tmp_path / f"f{count}.py") for count in (8, 20))
    assert large < 2.65 * small


@pytest.mark.slow
def test_a_deep_nest_costs_no_more_than_its_depth(tmp_path):
    def nest(depth: int) -> str:
        lines = ["import numpy as np", "", "", "def f(x):", "    s = 0.0"]
        lines += [f"{'    ' * (k + 1)}for i{k} in range(x.shape[0]):" for k in range(depth)]
        return "\n".join([*lines, f"{'    ' * (depth + 1)}s = s * 0.5 + x[i0] * x[i{depth - 1}]", "    return s", ""])

    calls(nest(2), tmp_path / "first.py")
    small, large = (calls(nest(depth), tmp_path / f"n{depth}.py") for depth in (4, 8))
    assert large < 2.75 * small
