"""The runtime's polynomials are those that the tool makes."""

from __future__ import annotations

import importlib

import pytest

from tests.sampling import sampled
from tools.coefficients import TARGETS, coefficients


@pytest.mark.parametrize("name", sampled(TARGETS, 7))
def test_the_runtime_has_what_the_tool_makes(name):
    module, _, constant = name.partition(".")
    found, error = coefficients(TARGETS[name])
    assert getattr(importlib.import_module(f"tapec_runtime.{module}"), constant) == pytest.approx(found, rel=1e-12)
    assert error < -52
