"""The two sweeps as two functions: what the pullback keeps, what it writes into, and what it makes itself."""

from __future__ import annotations

import numpy as np
import pytest

from tapec.transforms.split import ListOfArrays, Split, split
from tests.optimise.comparison import run
from tests.transforms.reversals import swept


def parts(text: str, sources: tuple[str, ...] = ("x",)) -> Split:
    return split(swept(text, sources), "f", frozenset())


def made(function) -> set[str]:
    return {stmt.target for stmt in function.body if hasattr(stmt, "target")}


PLAIN = """
def f(x, z):
    y = x * z
    t = np.sin(y)
    return t, z
"""


def test_residuals_are_the_names_that_the_reverse_sweep_reads():
    found = parts(PLAIN, ("x", "z"))
    assert set(found.kept) == {"x", "z", "y"} and found.state == ()
    assert found.augmented.name == "f_augmented" and found.augmented.params == ("x", "z")
    assert found.pullback.params[: len(found.kept)] == found.kept and found.pullback.shared == ()
    t, z, *kept = run(found.augmented, (0.3, 2.0))[: 2 + len(found.kept)]
    seeds = (1.5, 0.25)
    for _ in range(2):
        x_bar, z_bar = run(found.pullback, (*kept, *seeds))[:2]
        assert x_bar == pytest.approx(1.5 * np.cos(0.6) * 2.0)
        assert z_bar == pytest.approx(1.5 * np.cos(0.6) * 0.3 + 0.25)


def test_a_linear_function_keeps_nothing():
    found = parts("def f(x):\n    y = x * 2.0\n    return y")
    assert found.kept == found.state == () and found.pullback.params == ("y_seed",)


FILLED = """
def f(a, n):
    a_y = np.zeros(n)
    a_v = a_y[1:]
    for i in range(n):
        x = a[i]
        y = x * x
        a_y[i] = y
    t = a_v[0]
    return t
"""


def test_shadows_that_the_forward_sweep_leaves_alone_are_made_by_the_pullback():
    found = parts(FILLED, ("a",))
    assert {"a_y_bar", "a_v_bar", "a_bar"} <= made(found.pullback) and not made(found.augmented) & {"a_bar", "a_y_bar"}
    assert found.state == () and "a" in found.kept
    out = run(found.augmented, (np.array([2.0, 3.0]), 2))
    assert run(found.pullback, (*out[1 : 1 + len(found.kept)], 1.0))[0].tolist() == [0.0, 6.0]


CHOSEN = """
def f(a, n, c):
    if c:
        a_1 = np.zeros(n)
        a_y = a_1
    else:
        a_2 = np.zeros(n)
        a_y = a_2
    x = a[0]
    y = x * x
    a_y[0] = y
    t = a_y[0]
    return t
"""


@pytest.mark.parametrize("c", [True, False])
def test_shadows_that_it_makes_are_state_of_one_pull(c: bool):
    found = parts(CHOSEN, ("a",))
    assert "a_y_bar" in found.state and not set(found.state) & set(found.kept)
    out = run(found.augmented, (np.array([2.0, 3.0]), 2, c))
    kept = out[1 : 1 + len(found.kept) + len(found.state)]
    assert run(found.pullback, (*kept, 1.0))[0].tolist() == [4.0, 0.0]


CARRIED = """
def f(a, a_2, n):
    a_y = a
    a_z = a_2
    for i in range(n):
        x = a_y[0]
        a_z[1] = x
        a_o = a_y
        a_y = a_z
        a_z = a_o
    t = a_y[0]
    return t
"""


def test_residuals_that_may_share_memory_are_said_to():
    found = parts(CARRIED, ("a", "a_2"))
    assert set(found.state) == {"a_bar", "a_2_bar", "a_y_bar", "a_z_bar"} and found.kept == ("n",)
    assert found.pullback.shared == (frozenset(found.state),)


PUSHED = """
def f(A, n):
    A_stack = stack()
    for i in range(n):
        A_1 = A.copy()
        A_stack.append(A_1)
    y = 0.0
    for i in range(n):
        A_2 = A_stack.pop()
        x = A_2[0, 0]
        z = x * x
        y_1 = y + z
        y = y_1
    return y
"""


def test_a_list_of_arrays_cannot_leave_compiled_code():
    with pytest.raises(ListOfArrays):
        parts(PUSHED, ("A",))
