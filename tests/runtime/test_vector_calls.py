"""Functions of whole vectors: where they stand in machine code, and what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding
from numba import float64, njit
from numba.core.registry import cpu_target

import tapec_runtime
from tapec_runtime import vector_calls
from tapec_runtime.vector_functions import _vector_widths

CODEGEN = cpu_target.target_context.codegen()
pytestmark = [
    pytest.mark.optimised,
    pytest.mark.skipif(
        not _vector_widths(CODEGEN) or not vector_calls._inlines(CODEGEN),
        reason="no fused multiplication, or a Numba that inlines in one step",
    ),
]
FLAGS = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}}
VECTOR = (float64[::1], float64[::1])


def _library(function):
    return function.overloads[function.signatures[0]].library


@njit(**FLAGS)
def _single(x):
    return tapec_runtime.sin(x) * 2.0


@njit(**FLAGS)
def _loop(x, y):
    for i in range(x.shape[0]):
        y[i] = _single(x[i])


def test_what_is_inlined_is_not_compiled_again():
    _single.compile((float64,))
    defined = [line for line in _single.inspect_llvm((float64,)).splitlines() if line.startswith("define")]
    assert defined and not any("@tapec.sin.x" in line for line in defined)


def test_loops_of_other_libraries_find_the_functions():
    _loop.compile(VECTOR)
    text = _loop.inspect_llvm(VECTOR)
    assert "call double @sin(" in text and "load <4 x double>" in text
    x = np.linspace(-3.0, 3.0, 37)
    found = np.empty_like(x)
    _loop(x, found)
    assert found == pytest.approx(2.0 * np.sin(x), rel=1e-15, abs=1e-15)


def test_libraries_on_disk_keep_the_functions():
    _single.compile((float64,))
    _, kind, (_, shared) = _library(_single).serialize_using_object_code()
    names = [function.name for function in binding.parse_bitcode(shared).functions if not function.is_declaration]
    assert kind == "object" and any(name.startswith("tapec.sin.x") for name in names)


def test_no_flag_of_the_caller_reaches_a_formula():
    _single.compile((float64,))
    for bitcode in _library(_single).tapec_vectors._definitions.values():
        text = str(binding.parse_bitcode(bitcode))
        # as the formula says it, where an earlier test has had it made without optimisations
        assert "fadd" in text or "fsub" in text
        assert "reassoc" not in text and "contract" not in text


@njit(**FLAGS)
def _outermost(x, y):
    for i in range(x.shape[0]):
        y[i] = tapec_runtime.exp(x[i])


@njit(**FLAGS)
def _inner(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = tapec_runtime.exp(x[i, j])


@njit(**FLAGS)
def _sums(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += x[i, j]


@pytest.mark.slow
@pytest.mark.skipif(_vector_widths(CODEGEN) != (4, 8), reason="no vectors of 512 bits")
def test_outermost_loops_get_the_widest_vectors():
    _outermost.compile(VECTOR)
    for nested in (_sums, _inner):
        nested.compile((float64[:, ::1], float64[:, ::1]))
    assert "load <8 x double>" in _outermost.inspect_llvm(VECTOR)
    # inner ones have what LLVM gives other loops of this processor
    plain, inner = ("".join(f.inspect_llvm().values()) for f in (_sums, _inner))
    assert "load <4 x double>" in inner
    assert ("load <8 x double>" in inner) is ("load <8 x double>" in plain)
    for count in (0, 1, 7, 8, 9, 41):
        x = np.linspace(-750.0, 720.0, count)
        found = np.empty_like(x)
        _outermost(x, found)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(found, np.exp(x), rtol=1e-15)
