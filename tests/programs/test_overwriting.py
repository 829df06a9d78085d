"""Programs that overwrite what they have read; the interpreter runs their generated code, the benchmark compiles it."""

from __future__ import annotations

import pytest

from tests.oracles import check, interpreted
from tests.programs import Program, overwriting


@pytest.mark.slow
@pytest.mark.parametrize("program", overwriting.PROGRAMS, ids=str)
def test_values_and_derivatives(program: Program):
    with interpreted():
        for size in program.sizes:
            check(program.f, program.arguments(size), program.wrt)
