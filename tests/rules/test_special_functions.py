"""The special functions of the runtime: against mpmath, compiled and not."""

from __future__ import annotations

import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest

from tapec_runtime import exponent, polygamma, sinc_derivative

RNG = np.random.default_rng(5)
ZERO = 1.4616321449683622
RIGHT = [*10.0 ** RNG.uniform(-8, 8, 25), *RNG.uniform(0, 20, 25), *(ZERO + 10.0 ** RNG.uniform(-15, -1, 8))]
LEFT = [*-RNG.uniform(0, 30, 25), -0.5, -1e-5, -1.0 - 1e-9]


def relative_error(found: float, expected: mp.mpf) -> float:
    return float(abs(found - expected) / abs(expected))


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 20])
def test_polygamma_of_positive_numbers(n):
    for x in RIGHT:
        # mpmath's zeta function cancels for large arguments
        with mp.workdps(150):
            expected = mp.digamma(x) if n == 0 else (-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, mp.mpf(x))
        if 1e-290 < abs(expected) < 1e290:
            assert relative_error(polygamma(n, x), expected) < 1e-13, x


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_polygamma_of_negative_numbers(n):
    for x in LEFT:
        with mp.workdps(60):
            expected = mp.polygamma(n, mp.mpf(x))
            # next to a zero of the result, what counts is the size of the terms
            size = max(abs(expected), abs(mp.polygamma(n, 1 - mp.mpf(x))))
        assert abs(polygamma(n, x) - expected) < 1e-13 * size, x


@pytest.mark.parametrize(
    ("n", "x", "expected"),
    [
        (0, 0.0, -math.inf),
        (1, 0.0, math.inf),
        (2, 0.0, -math.inf),
        (0, -3.0, math.nan),
        (1, -1.0, math.nan),
        (0, -1e20, math.nan),
        (0, math.inf, math.inf),
        (1, math.inf, 0.0),
        (0, -math.inf, math.nan),
        (0, math.nan, math.nan),
        (-1, 2.0, math.nan),
        (1, 1e200, 1e-200),
        (1, -1e-200, math.inf),
    ],
)
def test_polygamma_at_poles_and_beyond(n, x, expected):
    np.testing.assert_allclose(polygamma(n, x), expected, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_derivatives_of_sinc(n):
    for x in [0.0, 1e-300, 1e-9, -0.1, 0.3183, 0.3184, 0.64, 1.0, -1.6, 4.5, 40.25]:
        terms = [0, 0.5, 1] if abs(x) < 10 else mp.linspace(0, 1, 60)
        expected = mp.quad(lambda t, x=x: (mp.pi * t) ** n * mp.cos(mp.pi * x * t + n * mp.pi / 2), terms)
        assert sinc_derivative(n, x) == pytest.approx(float(expected), abs=3e-14 * math.pi**n)


def test_exponent():
    for x in (0.75, 8.0, -3.0, 0.0, 5e-324):
        assert exponent(x) == math.frexp(x)[1]


@pytest.mark.slow
def test_without_compilation_the_values_are_the_same():
    code = (
        "from tapec_runtime import polygamma, sinc_derivative, exponent\n"
        "assert not hasattr(polygamma, 'py_func')\n"
        "print(*(repr(float(v)) for v in (polygamma(0, 2.5), polygamma(3, 0.25), polygamma(2, -1.75),"
        " sinc_derivative(2, 0.1), sinc_derivative(1, 3.0), exponent(12.0))))"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "NUMBA_DISABLE_JIT": "1"}
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    compiled = [
        polygamma(0, 2.5),
        polygamma(3, 0.25),
        polygamma(2, -1.75),
        sinc_derivative(2, 0.1),
        sinc_derivative(1, 3.0),
        exponent(12.0),
    ]
    np.testing.assert_allclose([float(word) for word in output.stdout.split()], compiled, rtol=1e-14)
