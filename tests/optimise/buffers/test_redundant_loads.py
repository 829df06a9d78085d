"""Elements that are read once, because bounds of loops keep stores away from them."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.buffers.redundant_loads import drop_redundant_loads
from tests.optimise.reading import check
from tests.oracles import clone


def test_an_element_below_the_bounds_of_a_loop_is_known_in_it_and_after_it():
    check(
        drop_redundant_loads,
        before="""
        def f(a, n, x):
            for k in range(n):
                t = a[k]
                i_1 = k + 1
                for i in range(i_1, n):
                    u = a[k]
                    v = u * x
                    a[i] = v
                    for j in range(i_1, i):
                        w = a[i]
                        a[j] += w
                s = a[k]
                a[k] = s
            return x
        """,
        after="""
        def f(a, n, x):
            for k in range(n):
                t = a[k]
                i_1 = k + 1
                for i in range(i_1, n):
                    u = t
                    v = u * x
                    a[i] = v
                    for j in range(i_1, i):
                        w = v
                        a[j] += w
                s = t
                a[k] = s
            return x
        """,
    )


@pytest.mark.parametrize(
    ("bounds", "stored"),
    [
        ("range(k, n)", "a[i]"),  # the first iteration stores into it
        ("range(n, k, -1)", "a[j]"),
        ("range(n)", "a[i]"),
        ("range(k)", "a[j]"),
    ],
)
def test_an_element_that_a_loop_may_change_is_read_again(bounds: str, stored: str):
    text = f"""
def f(a, n, k, j, x):
    t = a[k]
    for i in {bounds}:
        u = a[k]
        {stored} = x
    v = a[k]
    return x
"""
    check(drop_redundant_loads, text, text)


def eliminate(a, b):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
            b[i] -= a[i, k] * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return np.sum(b * b)


@pytest.mark.slow
@pytest.mark.compiled
def test_gradients_of_an_elimination_are_those_of_the_textbook_adjoint():
    rng = np.random.default_rng(4)
    args = rng.normal(size=(5, 5)) + 5.0 * np.eye(5), rng.normal(size=5)
    found, expected = (tapec.value_and_grad(eliminate, wrt=(0, 1), opt_level=level)(*clone(args)) for level in (2, 0))
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    for mine, wanted in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-11, atol=1e-13)
