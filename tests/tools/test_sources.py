"""The tool that compares generated source between two commits."""

from __future__ import annotations

import numpy as np
import pytest

from tools import sources


@pytest.mark.parametrize("corpus", sources.CORPORA)
def test_every_corpus_has_programs_with_names_of_their_own(corpus: str):
    names = [case.name for case in sources.cases(corpus)]
    assert len(names) > 20
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_texts_of_a_corpus_are_generated_by_public_functions():
    golden = {case.name: case for case in sources.cases("golden")}
    found = sources.texts(["golden"])
    assert set(found) == {f"golden/{name}" for name in golden}
    assert "def horner_value_and_grad(" in found["golden/horner.reverse"]
    assert "def horner_jvp(" in found["golden/horner.forward"]


@pytest.mark.slow
def test_a_text_is_timed_against_another():
    text = "import numba\n@numba.njit\ndef f_value_and_grad(x):\n    return {}\n"
    ratio = sources.timed(text.format("x"), text.format("2 * x"), lambda: (1.5,))
    assert ratio is not None and ratio > 0
    forward = text.replace("value_and_grad", "jvp").format("x")
    assert sources.timed(forward, forward, lambda: (np.ones(2),)) is None
