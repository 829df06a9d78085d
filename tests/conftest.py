"""What the whole suite shares."""

from __future__ import annotations

import numpy as np
import pytest

# these make types for Numba when they are imported: not while a test has turned the JIT off
import tapec_runtime.error_function
import tapec_runtime.hyperbolic
import tapec_runtime.powers
import tapec_runtime.trigonometric  # noqa: F401


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write golden files instead of comparing them")


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator with a fixed seed."""
    return np.random.default_rng(20)
