"""Beside every statement those for its coefficients."""

from __future__ import annotations

from tapec.transforms.taylor import taylor
from tests.optimise.reading import check


def test_before_and_after():
    check(
        lambda core: taylor(core, ("x",), frozenset(), 2, "f", 1),
        before="""
        def f(x, z):
            y = x * z
            w = y + z
            return w
        """,
        after="""
        def f(x, z, x_t1):
            y = x * z
            t = x_t1 * z
            y_t1 = t
            w = y + z
            w_t1 = y_t1
            return w, w_t1, 0.0
        """,
        again=False,
    )
