"""Formulas whose result is good for usual arguments: what the other lanes get, and that they disturb none."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from numba import njit
from numba.core.registry import cpu_target

import tapec_runtime
from tapec_runtime.vector_functions import Usual, _vector_widths, elementwise
from tests.sampling import sampled
from tools.accuracy import LIBRARY, LIMIT, SUBJECTS, library, loop, loop_of_two, ulps

# as many as a loop's body may take at once, so that none is left for the C library
COUNT = 128
NAMES = [subject.name for subject in SUBJECTS if subject.name not in ("lgamma", "digamma")]
SPECIAL = np.array([0.0, -0.0, 5e-324, 1e-310, -1e-310, 1e308, -1.0, -2.0, 750.0, -750.0, np.inf, -np.inf, np.nan])
# where a formula, or the choice of one, changes
LIMITS = {
    "exp": (-745.14, -745.0, -708.4, 670.0, 709.78, 710.0),
    "expm1": (-60.0, -0.3466, 0.3466, 708.0, 709.78, 710.0),
    "log": (2.0**-1022, 0.7071067811865476, 1.0, 1.4142135623730951, 1.4142135623730951 * 2.0**1022),
    "log1p": (-0.29289321881345254, 0.41421356237309503, 1.4142135623730951 * 2.0**1022),
    "sinh": (0.3466, 1.0397, 708.0, 710.47, 711.0),
    "cosh": (0.3466, 1.0397, 708.0, 710.47, 711.0),
    "tanh": (0.1733, 0.265, 0.51986, 20.0),
    "sin": (math.pi / 2, math.pi, 2.0**30),
    "cos": (math.pi / 2, math.pi, 2.0**30),
    "tan": (math.pi / 4, math.pi / 2, 2.0**30),
    "arctan": (0.6, 0.62, 1.6, 2.0**60),
    "erf": (1.0, 5.95),
}

pytestmark = [
    pytest.mark.optimised,
    pytest.mark.skipif(
        not _vector_widths(cpu_target.target_context.codegen()), reason="no fused multiplication"
    ),
]


@elementwise("asinh", np.arcsinh)
def _steps(x):
    """1 below 1, 2 below 2, and beyond what the C library says."""
    return Usual(x.number(1.0), x < 1.0, lambda: Usual(x.number(2.0), x < 2.0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_lane_has_the_first_result_that_is_good(dtype):
    steps = loop(_steps)
    kinds = np.array([0.5, 1.5, 2.5], dtype)
    for pattern in range(3**4):
        x = np.tile(kinds[[pattern // 3**k % 3 for k in range(4)]], COUNT // 4)
        found = np.empty_like(x)
        steps(x, found)
        expected = np.where(x < 1.0, 1.0, np.where(x < 2.0, 2.0, np.arcsinh(x)))
        assert found == pytest.approx(expected, rel=1e-6 if dtype == np.float32 else 1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_a_special_argument_in_any_lane(name, dtype):
    apply = loop(getattr(tapec_runtime, name))
    # `math` raises where C has infinities: jitted code calls C
    plain = njit(library(name)) if name in LIBRARY else library(name)
    usual = np.linspace(0.1, 3.0, COUNT).astype(dtype)
    alone = np.empty_like(usual)
    apply(usual, alone)
    with np.errstate(all="ignore"):
        special = SPECIAL.astype(dtype)
        expected = np.array([plain(float(x)) for x in special]).astype(dtype)
        if dtype == np.float64:
            special, expected = np.append(special, 1e300), np.append(expected, plain(1e300))
    for value, exact in zip(special, expected, strict=True):
        for lane in range(16):
            x, found = usual.copy(), np.empty_like(usual)
            x[lane] = value
            apply(x, found)
            assert found[lane] == pytest.approx(exact, rel=4e-16 if dtype == np.float64 else 2e-7, abs=0.0, nan_ok=True)
            assert np.isnan(exact) or np.signbit(found[lane]) == np.signbit(exact), value
            found[lane] = alone[lane]
            assert (found == alone).all(), (value, lane)


@pytest.mark.parametrize("name", sampled(LIMITS, 3))
def test_both_sides_of_each_limit(name):
    x = np.array(LIMITS[name])
    x = np.concatenate([x, -x]) if name not in ("log", "log1p", "exp", "expm1") else x
    x = np.concatenate([x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf)])
    # neighbours in a vector are of both sides
    x = np.resize(x.reshape(3, -1).T, COUNT)
    found = np.empty_like(x)
    loop(getattr(tapec_runtime, name))(x, found)
    exact = next(subject for subject in SUBJECTS if subject.name == name).exact
    with mp.workprec(300):
        errors = [ulps(y, exact(mp.mpf(float(a)))) for a, y in zip(x, found, strict=True)]
    assert max(errors) <= LIMIT, x[int(np.argmax(errors))]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_next_to_the_zeros_of_the_sine_and_the_cosine(name):
    multiples = np.unique((2.0 ** np.linspace(0.0, 29.0, COUNT // 2)).astype(np.int64))
    multiples = multiples if name == "sin" else multiples + 0.5
    with mp.workprec(300):
        x = np.array([float(mp.mpf(float(k)) * mp.pi) for k in multiples if k * math.pi < 2.0**30])
        x = np.resize(np.concatenate([x, np.nextafter(x, 0.0), np.nextafter(x, np.inf)]), 4 * COUNT)
        found = np.empty_like(x)
        loop(getattr(tapec_runtime, name))(x, found)
        errors = [ulps(y, getattr(mp, name)(mp.mpf(float(a)))) for a, y in zip(x, found, strict=True)]
    assert max(errors) <= LIMIT, x[int(np.argmax(errors))]


def test_rare_bases_and_exponents_leave_the_others_alone():
    powers = loop_of_two(tapec_runtime.power)
    x, z = np.linspace(0.1, 3.0, COUNT), np.linspace(-2.0, 2.0, COUNT)
    alone, found = np.empty_like(x), np.empty_like(x)
    powers(x, z, alone)
    for base, exponent in ((0.0, 2.0), (0.0, -1.0), (-2.0, 3.0), (1e-310, 0.5), (10.0, 400.0), (np.nan, 0.0)):
        for lane in range(16):
            a, b = x.copy(), z.copy()
            a[lane], b[lane] = base, exponent
            powers(a, b, found)
            with np.errstate(all="ignore"):
                assert found[lane] == pytest.approx(np.power(base, exponent), rel=4e-16, abs=0.0)
            found[lane] = alone[lane]
            assert (found == alone).all(), (base, exponent, lane)
