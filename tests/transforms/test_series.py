"""Arithmetic on power series, as statements."""

from __future__ import annotations

from tapec.syntax.core import Name
from tapec.syntax.types import FLOAT64
from tapec.transforms.emitter import Emitter
from tapec.transforms.series import PowerSeries


def test_zeros_are_left_out_and_functions_come_back():
    types = {"x": FLOAT64, "x_t1": FLOAT64}
    emitter = Emitter(types, set(types))
    series = PowerSeries(emitter, 3, None)
    x = series.given(Name("x"), [Name("x_t1"), None, None])
    square = series.of("*", (x, x))
    assert series.coefficient(square, 2) is not None
    assert series.coefficient(square, 3) is None
    sine = series.of("np.sin", (x,))
    assert series.coefficient(sine, 3) is not None
    # the sine, the cosine, and products with the derivative of x
    assert sum(node.fn in ("np.sin", "np.cos") for node in series.nodes.values()) == 2
