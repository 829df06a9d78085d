"""Real bodies: as they stand against central differences, and under `tapec.function` against themselves."""

from __future__ import annotations

import functools

import pytest

import tapec
from tapec.tape import block_lowering
from tests.oracles import interpreted
from tests.sampling import sampled
from tests.tape import (  # noqa: F401
    bodies_language,
    bodies_models,
    bodies_networks,
    bodies_objects,
    bodies_training,
)
from tests.tape.bodies import BODIES, Maker, difference, outcome

# those whose machine code is made in a second or two
COMPILED = ("curvefit", "euler_traj", "logistic_newton", "regularizers", "uses_match", "uses_generators")

# what their blocks read belongs to libraries, to objects that are built on the first call, to caches and texts
MET_AGAIN = ("lstm", "attention", "classifier", "gp", "mdn", "uses_lru_cache", "uses_strings", "uses_print_log")


@functools.cache
def undecorated(name):
    with interpreted():
        return outcome(BODIES[name])


@pytest.mark.parametrize("name", sampled(BODIES, 24))
def test_undecorated(name):
    _, along = undecorated(name)
    with interpreted():
        assert along == pytest.approx(difference(BODIES[name]), rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_under_function(name):
    # plainly: how bodies are read is asked here; their loops are made fast above, and for machine code
    plainly = functools.partial(tapec.function, opt_level=1)
    with interpreted():
        assert outcome(BODIES[name], plainly) == pytest.approx(undecorated(name), rel=1e-7, abs=1e-9)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_machine_code(name):
    assert outcome(BODIES[name]) == pytest.approx(undecorated(name), rel=1e-7, abs=1e-9)
    assert outcome(BODIES[name], tapec.function) == pytest.approx(undecorated(name), rel=1e-7, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", MET_AGAIN)
def test_a_body_that_is_met_again_is_not_read_again(name, monkeypatch):
    with interpreted():
        step, arguments, _ = BODIES[name](Maker())
        # what is built on the first call is other structure in the second
        for _ in range(2):
            step(*arguments)
        read, lower = [], block_lowering.lower_block
        monkeypatch.setattr(block_lowering, "lower_block", lambda *args: read.append(args) or lower(*args))
        step(*arguments)
    assert read == []
