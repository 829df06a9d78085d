"""Random calls: every way of passing, every kind of argument."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.sampling import sampled
from tools.fuzz import signatures

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)


@pytest.mark.parametrize("seed", sampled(range(8), 3))
def test_calls(seed: int, tmp_path: Path, interpreted: None):
    signatures.check(seed, tmp_path)


@pytest.mark.slow
def test_many_calls_in_the_interpreter():
    command = [sys.executable, "-m", "tools.fuzz.signatures", "--minutes", "10", "--seed", "100", "--count", "10"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_a_wrong_gradient_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreted: None):
    monkeypatch.setattr(signatures, "doubled", lambda value, weight: 3.0 * value)
    with pytest.raises((AssertionError, TypeError)):
        for seed in range(8):
            signatures.check(seed, tmp_path)
