"""Some of the programs that the tests differentiate, as C libraries; `python -m tools.built` builds all."""

from __future__ import annotations

import shutil

import pytest

from tapec.build.processor import processor
from tests.build.blas import OPENBLAS, load_blas
from tests.oracles import interpreted
from tools.built import built, cases, compare

NAMES = {
    "baseline": ("newton_sqrt", "kalman_log_likelihood", "american_put"),
    # with functions of whole vectors
    "native": ("mixture_vectorised",),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler"),
    pytest.mark.skipif(not OPENBLAS, reason="no BLAS beside SciPy"),
]


@pytest.mark.parametrize("cpu", NAMES)
def test_programs_agree_with_python(tmp_path, cpu):
    load_blas(tmp_path)
    chosen = [case for case in cases(tests=True) if case.name in NAMES[cpu]]
    assert len(chosen) == len(NAMES[cpu])
    pairs = list(built(chosen, processor(cpu), tmp_path))
    with interpreted():
        assert [compare(case, entry, timed=False) for case, entry in pairs] == ["the same"] * len(chosen)
