"""Loops whose subscripts have factors of 1 or 0, in two versions."""

from __future__ import annotations

import numpy as np
import pytest

import tapec
from tapec.optimise.shapes.unit_stride_versions import with_unit_strides
from tests.optimise.reading import check
from tests.oracles import clone, interpreted


def test_a_loop_gets_a_form_without_steps():
    check(
        with_unit_strides,
        before="""
        def f(a, a_1, n, k, x):
            c = n == k
            j = 1 if c else 0
            s = x
            for i in range(n):
                i_1 = i * j
                t = a[i_1]
                u = t * s
                s = u
                a_1[i] = t
            return s
        """,
        after="""
        def f(a, a_1, n, k, x):
            c = n == k
            j = 1 if c else 0
            s = x
            t_1 = j == 1
            if t_1:
                for i_2 in range(n):
                    t_2 = a[i_2]
                    u_1 = t_2 * s
                    s = u_1
                    a_1[i_2] = t_2
            else:
                for i in range(n):
                    i_1 = i * j
                    t = a[i_1]
                    u = t * s
                    s = u
                    a_1[i] = t
            return s
        """,
    )


@pytest.mark.parametrize("step", ["2 if c else 0", "k"])
def test_other_factors_stay(step: str):
    text = f"""
def f(a, n, k, c):
    j = {step}
    for i in range(n):
        i_1 = i * j
        t = a[i_1]
        a[i] = t
    return n
"""
    check(with_unit_strides, text, text)


def smoothed(u, w):
    for _ in range(2):
        u = u + 0.0
        u[1:-1] += w[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return (u * u).sum()


@pytest.mark.parametrize(("first", "second"), [(6, 6), (6, 3), (3, 3)])
def test_both_forms_of_a_stencil_give_the_gradient_of_the_textbook_adjoint(first: int, second: int):
    rng = np.random.default_rng(6)
    args = rng.normal(size=first), rng.normal(size=second)
    with interpreted():
        found, expected = (tapec.grad(smoothed, wrt=(0, 1), opt_level=level)(*clone(args)) for level in (2, 0))
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-13)


def fit(x, w, steps):
    total = 0.0
    for k in range(steps):
        total += (np.exp(0.1 * x) * w + total).sum() * k
        w = w * 0.5 + 0.1 * x.mean()
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [pytest.param(4, 4, marks=pytest.mark.compiled), (1, 4), (4, 1), (1, 1)])
def test_both_forms_give_the_gradient_of_the_textbook_adjoint(first: int, second: int):
    rng = np.random.default_rng(5)
    args = rng.normal(size=first), rng.normal(size=second)
    found, expected = (tapec.value_and_grad(fit, wrt=(0, 1), opt_level=level)(*clone(args), 3) for level in (2, 0))
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    for mine, wanted in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12, atol=1e-13)
