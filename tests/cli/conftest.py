import sys

import pytest

MODEL = """
import numpy as np
from helper import scale


def loss(x: "f8[:]", a: float):
    total = 0.0
    for i in range(x.shape[0]):
        total += scale * a * x[i] ** 2
    return total


def bare(x, a):
    return x * a


def wrong(x: "f8[:]"):
    return eval("x")


constant = 3.0
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A module in the working folder, with a helper beside it."""
    (tmp_path / "cli_model.py").write_text(MODEL)
    (tmp_path / "helper.py").write_text("scale = 0.5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "cli_model.py"
    for name in ("cli_model", "cli_model_", "helper"):
        sys.modules.pop(name, None)
