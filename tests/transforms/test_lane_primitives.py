"""Functions of whole arrays in several directions: one solve, loops with the lanes innermost, or lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tests.oracles import interpreted
from tests.transforms.lanes import compare, program, text_of

RNG = np.random.default_rng(3)
SQUARE = RNG.normal(size=(3, 3)) + 3.0 * np.eye(3)


@pytest.mark.parametrize("left", ["a", "A", "F"])
@pytest.mark.parametrize("right", ["a", "A", "F"])
@pytest.mark.parametrize("sources", ["both", "left", "right"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (2, 0, 3), (0, 2, 1)], ids=str)
def test_products(left: str, right: str, sources: str, shape: tuple[int, int, int]):
    rows, inner, columns = shape
    names = f"{left}_x", f"{right}_z"
    result = {(False, False): "y", (True, True): "A_y"}.get((left != "a", right != "a"), "a_y")
    core = program(f"def f({', '.join(names)}):\n    {result} = np.dot({', '.join(names)})\n    return {result}")
    x = RNG.normal(size=(rows, inner) if left != "a" else inner).copy("F" if left == "F" else "C")
    z = RNG.normal(size=(inner, columns) if right != "a" else inner).copy("F" if right == "F" else "C")
    compare(core, {"both": names, "left": names[:1], "right": names[1:]}[sources], (x, z))


def test_lanes_are_innermost_in_products():
    core = program("def f(A_x, A_z):\n    A_y = np.dot(A_x, A_z)\n    return A_y")
    text = text_of(core, ("A_x", "A_z"))
    loops = [line.split()[1] for line in text.splitlines() if line.strip().startswith("for ")]
    assert loops == ["i", "k", "j", "lane"]
    assert "copy" not in text


@pytest.mark.parametrize("own", ["A", "F"])
@pytest.mark.parametrize("side", ["a", "A", "F"])
def test_one_solve_has_all_directions(own: str, side: str):
    core = program(f"def f({own}_x, {side}_b):\n    {side}_y = np.linalg.solve({own}_x, {side}_b)\n    return {side}_y")
    order = "F" if side == "F" else "C"
    b = (RNG.normal(size=3) if side == "a" else RNG.normal(size=(3, 2))).copy(order)
    x = SQUARE.copy("F" if own == "F" else "C")
    for sources in ((f"{own}_x", f"{side}_b"), (f"{own}_x",), (f"{side}_b",)):
        compare(core, sources, (x, b))
        text = text_of(core, sources)
        solves = [line for line in text.splitlines() if "solve" in line and not line.strip().startswith("#")]
        assert len(solves) == 2, text


def test_others_are_applied_lane_by_lane():
    core = program("""
        def f(A_x, x):
            A_t = A_x.T
            A_s = np.dot(A_x, A_t)
            A_y = np.linalg.cholesky(A_s)
            y = A_y[1, 0]
            z = y * x
            return A_y, z
        """)
    compare(core, ("A_x", "x"), (SQUARE, 0.3))


def test_what_has_no_tangent_has_zeros():
    """An array that may stand for one that moves, by a branch that is not taken."""
    core = program("""
        def f(A_x, A_c):
            A_y = np.linalg.inv(A_c)
            c = 1 > 2
            if c:
                A_y = A_x
            return A_y
        """)
    compare(core, ("A_x",), (SQUARE, SQUARE))


@tapec.custom_jvp
def scaled(x, y):
    return x * y.sum()


@scaled.defjvp
def _(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return scaled(x, y), x_dot * y.sum() + 2.0 * x * y_dot.sum()


def of_scaled(v):
    return scaled(v[0], v[1:]) * v


def test_derivatives_of_the_user_are_applied_to_each_lane():
    """Those that the user says, right or not."""
    v = np.array([0.5, 0.2, 0.3])
    with interpreted():
        found = tapec.jacfwd(of_scaled)(v)
    total = v[0] * v[1:].sum()
    wanted = total * np.eye(3) + np.outer(v, [v[1:].sum(), 2.0 * v[0], 2.0 * v[0]])
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
