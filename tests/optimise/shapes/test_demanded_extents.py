"""Extents without which every iteration of a loop would raise an error."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.shapes.demanded_extents import demanded_extents
from tests.optimise.reading import check, read
from tests.oracles import check as check_derivative
from tests.oracles import interpreted

PROGRAM = """
def f(A, B, n, c, s):
    n1 = A.shape[1]
    for i in range(n):
        {before}
        c1 = n1 {one} 2
        c2 = n1 != 3
        c3 = c1 and c2
        if c3:
            raise ValueError()
        c4 = n1 == 3
        c5 = n1 == 1
        c6 = c4 or c5
        c7 = not c6
        if {test}:
            raise {error}()
        for j in range(n1):
            x = A[i, j]
            s = s + x
        {after}
    return s
"""


def program(before: str = "pass", one: str = "!=", test: str = "c7", error: str = "ValueError", after: str = "pass"):
    text = PROGRAM.format(before=before, one=one, test=test, error=error, after=after)
    return "\n".join(line for line in text.splitlines() if line.strip() != "pass")[1:] + "\n"


def test_what_two_questions_leave():
    check(
        demanded_extents,
        program(),
        """
        def f(A, B, n, c, s):
            n1 = A.shape[1]
            for i in range(n):
                size = A.shape[1]
                t = size != 3
                if t:
                    raise ValueError("operands could not be broadcast together")
                c1 = 3 != 2
                c2 = 3 != 3
                c3 = c1 and c2
                if c3:
                    raise ValueError()
                c4 = 3 == 3
                c5 = 3 == 1
                c6 = c4 or c5
                c7 = not c6
                if c7:
                    raise ValueError()
                for j in range(3):
                    x = A[i, j]
                    s += x
            return s
        """,
        again=False,
    )


@pytest.mark.parametrize(
    "parts",
    [
        # more than one answer
        {"one": ">="},
        {"test": "c"},
        # an error of another kind
        {"error": "IndexError"},
        # what happened before could be seen
        {"before": "print(s)"},
        {"after": "B[i, 0] = s"},
    ],
)
def test_what_stays_open(parts):
    function = read(program(**parts))
    assert demanded_extents(function) == function


def test_a_loop_that_may_end_before():
    text = program().replace("        c1 = n1", "        if c:\n            break\n        c1 = n1")
    lines = text.splitlines()
    place = lines.index("            break") + 1
    checked = [f"    {line}" for line in lines[place:-1]]
    function = read("\n".join([*lines[:place], "        else:", *checked, lines[-1]]))
    assert demanded_extents(function) == function


def turned(axes, points, which):
    """Points that are turned, by cross products, or not at all."""
    total = 0.0
    for m in range(which.shape[0]):
        axis, p = axes[m], points[which[m]]
        if axis[0] < 0.0:
            q = p + np.cross(axis, p)
        else:
            q = p * axis[1] + axis * np.dot(axis, p)
        total += (q * q * axis).sum()
    return total


def arguments(rng: np.random.Generator, extent: int):
    return rng.normal(size=(6, 3)), rng.normal(size=(4, extent)), np.array([0, 1, 2, 3, 3, 0])


@pytest.mark.slow
def test_derivatives_are_right(rng: np.random.Generator):
    with interpreted():
        check_derivative(turned, arguments(rng, 3), wrt=(0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("extent", [1, 2, 4])
@pytest.mark.compiled
def test_other_extents_are_errors_at_any_level(rng: np.random.Generator, extent: int):
    args = arguments(rng, extent)
    with pytest.raises(ValueError):
        turned(*args)
    with interpreted():
        for level in (1, 2):
            with pytest.raises(ValueError):
                tapec.grad(turned, (0, 1), opt_level=level)(*args)
        # no iteration, no error
        none = *args[:2], args[2][:0]
        assert tapec.value_and_grad(turned, (0, 1))(*none)[0] == 0.0
