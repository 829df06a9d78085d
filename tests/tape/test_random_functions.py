"""Random compiled functions with tapes, held to the oracle; see `random_functions`."""

from __future__ import annotations

import pytest

from tapec.tape.compiled_functions import function_lowering
from tests.sampling import sampled
from tests.tape import random_functions

pytestmark = pytest.mark.usefixtures("mostly_plainly")


@pytest.fixture
def as_python(monkeypatch):
    """Generated source runs as Python: what is tested is its meaning."""
    monkeypatch.setattr(function_lowering, "compile_function", function_lowering.compile_function)
    random_functions.interpreted()


@pytest.mark.slow
@pytest.mark.parametrize("start", sampled(range(0, 20, 10), 1, default=2))
def test_random_programs(start, as_python):
    answers = sum(random_functions.examine(seed)[0] for seed in range(start, start + 10))
    assert answers > 100


@pytest.mark.slow
def test_random_programs_with_complex_values(as_python):
    assert sum(random_functions.examine(seed, mixed=True)[0] for seed in range(15)) > 100


# an array that is target and source, in a function that is compiled for the way it goes
@pytest.mark.parametrize("seed", [1417])
def test_programs_that_were_wrong(seed, as_python):
    random_functions.examine(seed)
