"""Some of the programs that the tests differentiate, as C libraries; `python -m tools.built` builds all."""

from __future__ import annotations

import shutil

import pytest

from tapec.build.processor import processor
from tests.build.blas import OPENBLAS, load_blas
from tools.built import built, cases, compare

NAMES = ("newton_sqrt", "kalman_log_likelihood", "mixture_vectorised", "american_put", "sir_epidemic")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler"),
    pytest.mark.skipif(not OPENBLAS, reason="no BLAS beside SciPy"),
]


@pytest.mark.parametrize("cpu", ["baseline", "native"])
def test_programs_agree_with_compiled_python(tmp_path, cpu):
    load_blas(tmp_path)
    chosen = [case for case in cases(tests=True) if case.name in NAMES]
    assert len(chosen) >= 4
    for case, entry in built(chosen, processor(cpu), tmp_path):
        assert compare(case, entry, timed=False) == "the same"
