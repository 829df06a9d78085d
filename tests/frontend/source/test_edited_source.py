"""A file that is edited after its module was imported: the process still runs what it was."""

from __future__ import annotations

import importlib
import os
import sys

import pytest

import tapec
from tapec.errors import LoweringError, SourceUnavailable
from tests import oracles

BEFORE = """
import tapec

def inner(x):
    return x * x

def outer(x):
    return inner(x)

def slope(x):
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)
"""


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """A module of which each function has been edited, without a change of lines."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "edited_after_import.py"
    file.write_text(BEFORE)
    module = importlib.import_module("edited_after_import")
    monkeypatch.delitem(sys.modules, "edited_after_import")
    file.write_text(BEFORE.replace("x * x", "2 * x"))
    later = os.stat(file).st_mtime + 10
    os.utime(file, (later, later))
    return module


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_a_function(edited, name):
    assert getattr(edited, name)(3.0) == 9.0
    with oracles.interpreted(), pytest.raises(SourceUnavailable, match="edited after import"):
        tapec.grad(getattr(edited, name))(3.0)


def test_a_block(edited):
    with pytest.raises(LoweringError, match="edited after"):
        edited.slope(tapec.constant(2.0))
