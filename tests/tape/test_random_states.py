"""States that are unpacked and run through loops, held to the oracle; see `random_states`."""

from __future__ import annotations

import pytest

from tapec.tape.compiled_functions import function_lowering
from tests.sampling import sampled
from tests.tape.random_functions import interpreted
from tests.tape.random_states import BETWEEN, ENDS, LOOPS, MODES, WAYS, compare

pytestmark = pytest.mark.usefixtures("mostly_plainly")


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Generated source runs as Python: what is tested is its meaning."""
    monkeypatch.setattr(function_lowering, "compile_function", function_lowering.compile_function)
    interpreted()


def programs():
    """Every way to unpack, with four loops of which each is met with six or more ways; every third one compiled."""
    ways, loops = list(WAYS), list(LOOPS)
    for k in range(4 * len(ways)):
        way, loop = ways[k % len(ways)], loops[(k + k // len(ways) * 7) % len(loops)]
        yield way, BETWEEN[k % len(BETWEEN)], loop, ENDS[k % len(ENDS)], MODES[k % len(MODES)], k % 3 == 0


@pytest.mark.parametrize(
    ("way", "between", "loop", "end", "mode", "compiled_function"), sampled(programs(), 10, default=5)
)
def test_against_the_oracle(way, between, loop, end, mode, compiled_function):
    compare(way, between, loop, end, mode, compiled_function, runs=1)


def test_a_variable_that_is_bound_again_in_each_iteration_stays_a_variable():
    compare("tuple", "pass", "again", "y = z * q", "scalar", compiled_function=True)


def test_loops_over_unpacked_variables_are_answered():
    for loop in ("for", "if", "pairs", "dict", "list"):
        answered, refused = compare("tuple", "pass", loop, "y = z * q", "scalar", compiled_function=False)
        assert answered == 6
        assert refused == 0
