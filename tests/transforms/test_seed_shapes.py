"""Tangents and cotangents have the shapes of what they belong to, or the function raises ValueError."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.backend import printer
from tapec.transforms.forward import forward
from tapec.transforms.reverse import reverse
from tapec.transforms.seed_shapes import with_checked_seeds, with_checked_tangents
from tests.optimise.comparison import run
from tests.optimise.reading import read

CHANGED = read("""
def f(A, x, n):
    A_2 = np.zeros((n, 2))
    t = A[0, 0]
    y = t * x
    A_2[0, 0] = y
    return A_2, y, n
""")


def test_tangents_are_checked_axis_by_axis():
    made = with_checked_tangents(forward(CHANGED, ("A", "x"), name="f_jvp"), 3, ("A", "x"))
    text = printer.function(made, quote=False)
    # the first statements, of the array alone
    assert text.count("raise ValueError") == 2 and "raise" in text.splitlines()[5]
    assert "the tangent of `A` has another shape than `A`" in text
    fits, x = np.ones((2, 3)), 2.0
    assert run(made, (fits, x, 1, fits, 1.0))[2:4] == (2.0, 3.0)
    for wrong in (np.ones((3, 3)), np.ones((2, 2)), np.ones((0, 3))):
        assert run(made, (fits, x, 1, wrong, 1.0)) == (ValueError,)


@pytest.mark.parametrize(("shape", "right"), [((1, 2), True), ((2, 2), False), ((1, 1), False), ((0, 2), False)])
def test_seeds_are_checked_between_the_sweeps(shape: tuple[int, int], right: bool):
    swept = reverse(CHANGED, ("x",))
    checked = with_checked_seeds(swept)
    # where the value is there, and before an adjoint is
    assert checked.backward == swept.backward and checked.forward[: len(swept.forward)] == swept.forward
    assert len(swept.seeds) == 2  # the integer has none
    result = run(checked.function("pulled"), (np.full((2, 2), 3.0), 2.0, 1, np.ones(shape), 1.0))
    assert (result[0] == 6.0) if right else result == (ValueError,)


def test_numbers_need_no_checks():
    plain = read("def f(x):\n    y = x * x\n    return y")
    swept = reverse(plain, ("x",))
    assert with_checked_seeds(swept) == swept
    pushed = forward(plain, ("x",), name="f_jvp")
    assert with_checked_tangents(pushed, 1, ("x",)) == pushed
