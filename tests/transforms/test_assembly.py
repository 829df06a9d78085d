"""The two sweeps as they are written: bounds of reversed loops, ways out, and values that wait."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tapec.backend import printer
from tapec.syntax.core import Function
from tapec.transforms.forward import forward
from tapec.transforms.reverse import reverse
from tapec.transforms.ssa import to_ssa
from tests.optimise.comparison import run
from tests.optimise.reading import read

SOURCES = ("a", "x")


def of(body: str) -> Function:
    return to_ssa(read(f"def f(a, x, n, k, j):\n    {body}\n    return y"))


def back(core: Function, fuse: bool = False) -> list[str]:
    """The lines of the reverse sweep."""
    swept = reverse(core, SOURCES, fuse=fuse)
    text = printer.function(Function("g", (), swept.backward, swept.types), False)
    return [line.strip() for line in text.splitlines()[1:]]


def transposed(core: Function, args: tuple, fuse: bool) -> None:
    """Reverse mode against forward mode, which knows nothing of sweeps."""
    swept = reverse(core, SOURCES, fuse=fuse)
    value, a_bar, x_bar = run(swept.function("g", (*swept.values, *swept.adjoints)), (*args, 1.0))[:3]
    rng = np.random.default_rng(2)
    a_dot, x_dot = rng.normal(size=args[0].shape), rng.normal()
    wanted, dot = run(forward(core, SOURCES), (*args, a_dot, x_dot))[:2]
    assert value == wanted
    assert a_bar @ a_dot + x_bar * x_dot == pytest.approx(dot, rel=1e-12, abs=1e-14)


A = np.array([0.3, 1.2, 0.7, 0.9, 0.4])
STEP = "y = x\n    for i in range({bounds}):\n        t = a[i]\n        y = y * t\n        y = sin(y)"


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize(
    "bounds", ["n", "n, k", "n, k, -1", "n, k, 2", "n, k, -2", "n, k, j", "2, 5", "4, -1, -1", "3, 0, -2"]
)
def test_reversed_loops_visit_what_the_loop_visited(bounds: str, fuse: bool):
    core = of(STEP.format(bounds=bounds))
    for n, k, j in product((0, 1, 4), (-1, 0, 3, 5), (-3, -1, 1, 2)):
        transposed(core, (A, 0.5, n, k, j), fuse)


@pytest.mark.parametrize(
    ("bounds", "line"),
    [("0, 5", "for i in range(4, -1, -1):"), ("5, 0, -1", "for i in range(1, 6):")],
)
def test_bounds_that_are_known_are_written(bounds: str, line: str):
    assert [one for one in back(of(STEP.format(bounds=bounds))) if one.startswith("for ")] == [line]


WAYS = {
    "by its test": "y = x\n    while True:\n        c = y > 3.0\n        if c:\n            break\n        y = y + x",
    "by two ways": """y = x
    for i in range(n):
        c = y > 3.0
        if c:
            y = y * x
            break
        t = a[i]
        c_1 = t > 1.0
        if c_1:
            y = y * t
            break
        y = y + t""",
    "by a branch in a branch": """y = x
    for i in range(n):
        t = a[i]
        y = y * t
        c = y > 0.2
        if c:
            c_1 = t > 1.0
            if c_1:
                y = sin(y)
                break
            else:
                y = y + x
        else:
            c_2 = t > 0.5
            if c_2:
                break
            else:
                y = y * 2.0""",
    "a loop in a loop": """y = x
    for i in range(n):
        while True:
            c = y > 2.0
            if c:
                break
            y = y * 1.5
        t = a[i]
        y = y * t
        c_1 = y > 1.9
        if c_1:
            break""",
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_loops_that_are_left(way: str, fuse: bool):
    core = of(WAYS[way])
    for x, n in product((0.1, 0.9, 2.5, 4.0), (0, 1, 3, 5)):
        transposed(core, (A, x, n, 0, 1), fuse)


def test_a_while_loop_has_no_flag():
    """It is left by its test alone, before anything else of an iteration."""
    assert not any("leaving" in line for line in back(of(WAYS["by its test"])))
    assert any("leaving" in line for line in back(of(WAYS["by two ways"])))
    assert any("exit_1 == 1" in line for line in back(of(WAYS["by a branch in a branch"])))


KEPT = {
    "a number that a loop carries": "y = x\n    for i in range(n):\n        y = y * y",
    "a counter": "j_1 = 0; y = x\n    for i in range(n):\n        t = a[j_1]; y = y * t; j_1 = j_1 + 1",
    "arrays that change places": """a_v = a.copy()
    a_w = np.zeros(5)
    for i in range(n):
        for i_1 in range(5):
            t = a_v[i_1]
            u = t * x
            v = sin(u)
            a_w[i_1] = v
        a_t = a_v
        a_v = a_w
        a_w = a_t
    y = a_v[1]""",
    "an array that is handed on": """a_v = np.zeros(5)
    a_v[1] = x
    for i in range(n):
        a_w = np.zeros(5)
        for i_1 in range(5):
            t = a_v[i_1]
            u = t * x
            s = a[i_1]
            v = u + s
            a_w[i_1] = v
        a_v = a_w
    y = a_v[1]
    y = y * y""",
    "a branch": """y = x
    for i in range(n):
        t = a[i]
        c = t > 0.5
        if c:
            y = y * t
        else:
            u = sin(y)
            y = u * u""",
    "a list": """w_stack = stack()
    for i in range(n):
        t = a[i]
        u = t * x
        w_stack.append(u)
    y = 0.0
    for i in range(n):
        v = w_stack.pop()
        v_1 = v * v
        y = y + v_1""",
}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_values_that_wait(name: str, fuse: bool):
    core = of(KEPT[name])
    for n in (0, 1, 2, 4):
        transposed(core, (A, 0.8, n, 0, 1), fuse)


def test_arrays_change_places_back():
    lines = back(of(KEPT["arrays that change places"]))
    place = next(k for k, line in enumerate(lines) if line.startswith("for "))
    left, right = lines[place + 1].split(" = ")
    assert left.split(", ") == right.split(", ")[::-1]


def test_a_loop_without_derivatives_is_not_reversed():
    assert not any(line.startswith("for") for line in back(of("y = x\n    for i in range(n):\n        j = i + 1")))
