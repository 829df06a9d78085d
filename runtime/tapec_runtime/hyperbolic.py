"""Hyperbolic functions, from exponentials and, near 0, a polynomial.

Muller, Elementary Functions (3rd ed.), chapter 11.  Errors are below 2 units in the last place, measured.
"""

from __future__ import annotations

import numpy as np

from tapec_runtime.elementwise import elementwise
from tapec_runtime.exp_log import exp_anywhere, exp_within
from tapec_runtime.lanes import Lane, fma, polynomial, where

# (sinh(x) / x - 1) / x**2 as a function of x**2, |x| <= 1
SINH = (
    0.16666666666666669,
    0.008333333333333139,
    0.00019841269841437684,
    2.7557319155336443e-06,
    2.505212339862053e-08,
    1.6057240336380382e-10,
    7.759312345705022e-13,
)

# (tanh(x) / x - 1) / x**2 as a function of x**2, |x| <= 0.55
TANH = (
    -0.333333333333333,
    0.13333333333326788,
    -0.05396825396385211,
    0.02186948838831813,
    -0.008863232639497249,
    0.00359209239402859,
    -0.0014555450650572972,
    0.0005884531572613893,
    -0.00023340254703717387,
    8.334507987042761e-05,
    -1.9511531707190463e-05,
)


@elementwise("sinh", np.sinh)
def sinh(x: Lane) -> Lane:
    """(e**x - e**-x) / 2."""
    size = x.size()
    square = x * x
    near = fma(size * square, polynomial(square, SINH), size)
    half = exp_anywhere(size, halvings=1)
    return where(size < 1.0, near, half - 0.25 / half).signed(x.sign())


@elementwise("cosh", np.cosh)
def cosh(x: Lane) -> Lane:
    """(e**x + e**-x) / 2."""
    half = exp_anywhere(x.size(), halvings=1)
    return half + 0.25 / half


@elementwise("tanh", np.tanh)
def tanh(x: Lane) -> Lane:
    """sinh(x) / cosh(x); beyond TANH's range 1 - 2 / (e**2x + 1)."""
    size = x.size()
    square = x * x
    near = fma(size * square, polynomial(square, TANH), size)
    # beyond 20 the result is 1
    within = where(size > 20.0, 20.0, size)
    far = 1.0 - 2.0 / (exp_within(within + within) + 1.0)
    return where(size < 0.55, near, far).signed(x.sign())
