"""Blocks that are deep, and what goes wrong when a tape is entered or left: the block itself always runs."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import tapec
from tapec import GradientTape, Variable
from tapec.errors import LoweringError


def loaded(tmp_path, text):
    path = tmp_path / "deep_block.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("deep_block", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("terms", [270, 1100])
def test_sums_of_many_terms(tmp_path, terms):
    total = " + ".join(f"x * {k}" for k in range(terms))
    text = "from tapec import GradientTape\ndef slope(x):\n    with GradientTape() as tape:\n"
    module = loaded(
        tmp_path, f"{text}        y = {total}\n    return tape.gradient(y, x)\ndef total(x): return {total}\n"
    )
    limit = sys.getrecursionlimit()
    assert module.slope(Variable(2.0)) == terms * (terms - 1) / 2
    assert tapec.function(module.total)(2.0) == terms * (terms - 1)
    assert tapec.grad(module.total)(2.0) == terms * (terms - 1) / 2
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("place", ["__init__", "name_left_objects"])
def test_an_error_of_ours_is_told_when_the_gradient_is_asked_for(monkeypatch, place):
    from tapec.tape.answers.recording import Recording

    def broken(self, *args):
        raise KeyError("ours")

    x = Variable(2.0)
    with GradientTape():
        pass
    monkeypatch.setattr(Recording, place, broken)
    with GradientTape() as tape:
        y = x * x
    assert y == 4.0
    with pytest.raises(LoweringError, match="KeyError"):
        tape.gradient(y, x)
