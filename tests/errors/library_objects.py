"""Objects of SciPy and Numba, such as sparse matrices and jitclasses: what is refused."""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp
import scipy.stats as st
from numba.experimental import jitclass
from scipy.interpolate import CubicSpline, interp1d
from scipy.sparse.linalg import spsolve

import tapec
from tests.errors import Refusals

cases = Refusals()
refused, misuse = cases.refused, cases.misuse
MATRIX = sp.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
KNOTS = np.arange(4.0)
CURVES = CubicSpline(np.arange(4.0), np.eye(4))
BLOCKS = sp.bsr_array(np.eye(2))


@jitclass([("scale", numba.float64)])
class Scaled:
    def __init__(self, scale):
        self.scale = scale


SCALED = Scaled(2.0)


@refused(MATRIX)
def sum_with_a_number(a):
    return (a + 1.0).sum()


@refused(MATRIX)
def kind_of_a_table(a):
    return interp1d(KNOTS, KNOTS, kind="cubic")(a.data[0])


@refused(MATRIX)
def another_argument(a):
    return a.sum(0, 1)


@refused(MATRIX)
def change_in_place(a):
    a *= 2.0
    return a.sum()


@refused(BLOCKS)
def another_format(a):
    return a.sum()


@refused(1.0)
def another_format_from_outside(x):
    return x * BLOCKS.sum()


@refused(sp.csr_array(np.eye(2, dtype=bool)))
def booleans(a):
    return a.sum()


@refused(np.eye(2))
def system_of_an_array(a):
    return spsolve(a, np.ones(2))[0]


@refused(np.eye(2))
def matrix_of_an_array(a):
    return sp.csr_array(a).sum()


@refused(MATRIX, call=tapec.jacobian)
def jacobian(a):
    return a @ np.ones(2)


@misuse
def tangent_in_other_places():
    tapec.jvp(lambda a: a.sum(), (MATRIX,), (MATRIX.tocsc(),))


@refused(MATRIX)
def tangent_in_places_of_its_own(a):
    return tapec.jvp(lambda b: b.sum(), (a,), (a.copy(),))[1]


@refused(1.0)
def spline_of_curves(x):
    return CURVES(x)[0]


@refused(1.0)
def jitclass_from_outside(x):
    return x * SCALED.scale


@refused(1.0)
def frozen_distribution(x):
    return st.skewnorm(x).logpdf(1.0)
