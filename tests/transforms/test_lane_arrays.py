"""Tangents of arrays have the lanes as their last axis, and the aliasing and the order of the arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.transforms.lanes import compare, program, text_of

RNG = np.random.default_rng(3)
ORDERS = {"A": "C", "F": "F"}


def matrices(order: str) -> list[np.ndarray]:
    return [RNG.normal(size=shape).copy(order) for shape in ((3, 4), (2, 3), (0, 3))]


BODIES = {
    "transposed": "{other}_y = {own}_x.T",
    "transposed twice": "{other}_t = {own}_x.T; {own}_y = {other}_t.T",
    "part": "S_y = {own}_x[0:2, 1:]",
    "backwards": "S_y = {own}_x[::-1, ::-2]",
    "column": "a_y = {own}_x[:, 1]; {own}_y = {own}_x",
    "copied": "{own}_y = {own}_x.copy()",
    "part that is copied": "S_t = {own}_x[:, 1:]; A_y = S_t.copy()",
}


@pytest.mark.parametrize("own", ORDERS)
@pytest.mark.parametrize("name", BODIES)
def test_views_and_copies(name: str, own: str):
    body = BODIES[name].format(own=own, other="F" if own == "A" else "A")
    result = body.replace(";", " =").split(" = ")[-2].strip()
    core = program(f"def f({own}_x):\n    {body}\n    return {result}")
    for x in matrices(ORDERS[own]):
        compare(core, (f"{own}_x",), (x,))


@pytest.mark.parametrize("own", ORDERS)
def test_a_view_shares_memory(own: str):
    """What is stored through one name is found by another one, element by element."""
    core = program(f"""
        def f({own}_x, x):
            S_v = {own}_x[1:, :]
            {own}_z = {own}_x
            for i in range(2):
                for j in range(3):
                    t = {own}_x[i, j]
                    u = t * x
                    S_v[i, j] = u
                    w = {own}_z[1, j]
                    v = w * w
                    S_v[i, j] += v
            return {own}_x, S_v
        """)
    compare(core, (f"{own}_x", "x"), (RNG.normal(size=(3, 3)).copy(ORDERS[own]), 1.5))


def test_the_lanes_of_an_array_by_columns_are_those_of_its_transpose():
    core = program("def f(F_x, i, j):\n    y = F_x[i, j]\n    return y")
    assert "F_x_dot[j, i, lane]" in text_of(core, ("F_x",))
    core = program("def f(A_x, i, j):\n    y = A_x[i, j]\n    return y")
    assert "A_x_dot[i, j, lane]" in text_of(core, ("A_x",))


@pytest.mark.parametrize("shape", ["(6, 2)", "(12,)", "(2, 6)"])
def test_reshapes(shape: str):
    result = "a_y" if shape == "(12,)" else "A_y"
    core = program(f"def f(A_x):\n    {result} = A_x.reshape({shape})\n    return {result}")
    compare(core, ("A_x",), (RNG.normal(size=(3, 4)),))


@pytest.mark.parametrize("own", ORDERS)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 2)])
def test_arrays_that_are_made(own: str, shape: tuple[int, int]):
    core = program(f"""
        def f({own}_x, x):
            n_0 = {own}_x.shape[0]
            n_1 = {own}_x.shape[1]
            A_y = np.zeros((n_1, n_0))
            A_n = np.empty((n_0, 2))
            for i in range(n_0):
                A_n[i, 0] = 1.0
                A_n[i, 1] = x
                for j in range(n_1):
                    t = {own}_x[i, j]
                    u = t * t
                    A_y[j, i] = u
                    A_y[j, i] += x
            return A_y, A_n
        """)
    compare(core, (f"{own}_x", "x"), (RNG.normal(size=shape).copy(ORDERS[own]), 0.5))


def test_lists_of_arrays():
    core = program("""
        def f(A_x, A_c):
            A_stack = stack()
            A_stack.append(A_x)
            A_stack.append(A_c)
            A_y = A_stack.pop()
            A_z = A_stack.pop()
            return A_y, A_z
        """)
    x = RNG.normal(size=(2, 3))
    compare(core, ("A_x",), (x, 2.0 * x))


def test_lists_of_numbers_have_the_lanes_of_each_in_turn():
    core = program("""
        def f(x, y):
            w_stack = stack()
            w_stack.append(x)
            w_stack.append(2.0)
            w_stack.append(y)
            u = w_stack.pop()
            v = w_stack.pop()
            w = w_stack.pop()
            z = u * w
            s = z + v
            return s, u, w
        """)
    compare(core, ("x", "y"), (0.3, 0.7))


def test_an_array_without_tangent_has_zeros():
    core = program("def f(A_x, A_c):\n    A_y = A_x; c = 1 > 2\n    if c:\n        A_y = A_c\n    return A_y, A_c")
    x = RNG.normal(size=(2, 3))
    compare(core, ("A_x",), (x, 2.0 * x))
