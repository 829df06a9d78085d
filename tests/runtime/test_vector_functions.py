"""The runtime's elementary functions: accurate, right at the edges, and vectorised."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from numba import float32, float64, int64, njit

import tapec_runtime
from tapec_runtime import vector_calls
from tapec_runtime.vector_functions import _vector_widths
from tests.sampling import sampled
from tools.accuracy import LIBRARY, LIMIT, SUBJECTS, library, loop, loop_of_two, worst, worst_power

pytestmark = pytest.mark.optimised

NAMES = [subject.name for subject in SUBJECTS]
EDGES = np.array(
    [0.0, 1.0, 0.5, 2.0, 3.0, 5e-324, 1e-310, 2.0**-1022, 1e-20, 1e20, 2.0**30, 2.0**52 + 1, 2.0**53 + 2, 709.0,
     745.2, 1e308, np.inf, np.nan]
)  # fmt: skip
SIGNED = np.concatenate([EDGES, -EDGES])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("subject", sampled(SUBJECTS, 15), ids=NAMES)
def test_errors_stay_within_two_units(subject, dtype):
    error, at = worst(subject, 400, dtype)
    assert error <= LIMIT, at


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_of_powers(dtype):
    error, at = worst_power(400, dtype)
    assert error <= LIMIT, at


def same(found, expected, rtol=5e-16):
    """Equal up to rounding, with the signs of zeros."""
    close = np.isclose(found, expected, rtol=rtol, atol=0.0, equal_nan=True)
    return close & ((np.signbit(found) == np.signbit(expected)) | np.isnan(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_edges_are_those_of_the_c_library(name):
    # `math` raises where C has infinities: jitted code calls C
    plain = njit(library(name)) if name in LIBRARY else library(name)
    found = np.empty_like(SIGNED)
    loop(getattr(tapec_runtime, name))(SIGNED, found)
    with np.errstate(all="ignore"):
        expected = np.array([plain(x) for x in SIGNED])
    # the loops of `polygamma` are less accurate than the formula
    right = same(found, expected, 1e-14 if name == "digamma" else 5e-16)
    assert right.all(), SIGNED[~right]


def test_edges_of_powers():
    x, z = (part.ravel().copy() for part in np.meshgrid(SIGNED, SIGNED))
    found = np.empty_like(x)
    loop_of_two(tapec_runtime.power)(x, z, found)
    with np.errstate(all="ignore"):
        expected = np.power(x, z)
    wrong = ~same(found, expected)
    assert not wrong.any(), list(zip(x[wrong], z[wrong], found[wrong], strict=True))


def test_one_rare_lane_leaves_the_others_alone():
    x = np.linspace(0.1, 3.0, 64)
    usual, found = np.empty_like(x), np.empty_like(x)
    sine = loop(tapec_runtime.sin)
    sine(x, usual)
    x[17] = 1e200
    sine(x, found)
    usual[17] = math.sin(1e200)
    assert (found == usual).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_loops_are_vectorised(name):
    from numba.core.registry import cpu_target

    widths = _vector_widths(cpu_target.target_context.codegen())
    if not widths:
        pytest.skip("this processor has no fused multiplication")
    for dtype, kind in ((float64, "double"), (float32, "float")):
        apply = loop(getattr(tapec_runtime, name))
        apply.compile((dtype[::1], dtype[::1]))
        loads = [f"load <{count} x {kind}>" for width in widths for count in (width, 2 * width)]
        text = apply.inspect_llvm((dtype[::1], dtype[::1]))
        assert any(load in text for load in loads)
        # the code of whole vectors stands in the loop, unless llvmlite is too old to put it there
        if vector_calls._inlines(cpu_target.target_context.codegen()):
            assert not re.findall(r" call .*@tapec\.\w+\.x", text)


def test_a_masked_call_is_vectorised_and_right():
    @njit(error_model="numpy", fastmath={"reassoc", "contract"})
    def entropy(p):
        total = 0.0
        for i in range(p.shape[0]):
            if p[i] > 0.0:
                total -= p[i] * tapec_runtime.log(p[i])
        return total

    p = np.array([0.0, 0.25, 0.5, 0.0, 0.25, 0.0, -1.0] * 5)
    kept = p[p > 0.0]
    assert entropy(p) == pytest.approx(-(kept * np.log(kept)).sum(), rel=1e-14)


def test_types_are_those_of_numpy():
    single = njit(lambda x: tapec_runtime.exp(x))
    assert single.compile((float32,)) is not None
    assert single.nopython_signatures[0].return_type == float32
    assert njit(lambda x: tapec_runtime.exp(x))(2) == pytest.approx(math.exp(2))
    mixed = njit(lambda x, z: tapec_runtime.power(x, z))
    mixed.compile((float32, int64))
    assert mixed.nopython_signatures[0].return_type == float64


@pytest.mark.parametrize("name", [*NAMES, "power"])
def test_python_calls_the_library(name):
    args = (0.3, 2.5) if name == "power" else (0.3,)
    plain = np.power if name == "power" else library(name)
    assert getattr(tapec_runtime, name)(*args) == plain(*args)


@pytest.mark.slow
def test_no_jit():
    code = (
        "import math, tapec_runtime\n"
        "from numba import njit\n"
        "assert njit(lambda x: tapec_runtime.exp(x))(0.5) == math.exp(0.5)\n"
        "assert tapec_runtime.power(2.0, 3.0) == 8.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**_environment(), "NUMBA_DISABLE_JIT": "1"})


@pytest.mark.slow
def test_processors_without_fused_multiplication_call_the_library():
    code = (
        "import math\n"
        "from numba import njit\n"
        "import tapec_runtime\n"
        "f = njit(lambda x: tapec_runtime.sin(x))\n"
        "assert f(0.5) == math.sin(0.5)\n"
        "assert 'vector-function-abi' not in f.inspect_llvm(f.signatures[0])\n"
    )
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env={**_environment(), **plain})


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
