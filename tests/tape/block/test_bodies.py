"""Real bodies: as they stand against central differences, and under `tapec.function` against themselves."""

from __future__ import annotations

import functools

import pytest

import tapec
from tapec.tape.answers import gradients
from tapec.tape.compiled_functions import compiled_function
from tapec.tape.plan import block_lowering
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

pytestmark = pytest.mark.usefixtures("mostly_plainly")

# those whose machine code is made in a second or two
COMPILED = ("curvefit", "euler_traj", "logistic_newton", "regularizers", "uses_match", "uses_generators")

# their objects have another structure after each call
GROWING = ("uses_user_context", "metrics_dict")


@functools.cache
def undecorated(name):
    with interpreted():
        return outcome(BODIES[name])


# a body is held to differences, or to itself as a function, and by `--exhaustive` to both
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(BODIES, 24, default=2))
def test_undecorated(name):
    _, along = undecorated(name)
    with interpreted():
        assert along == pytest.approx(difference(BODIES[name]), rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if k % 2 else pytest.mark.exhaustive) for k, name in enumerate(BODIES)]
)
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


# every second one as a tape, the others as functions, and by `--exhaustive` all in both ways
_KEPT = [name for name in BODIES if name not in GROWING]
_WAYS = (lambda step: step, functools.partial(tapec.function, opt_level=0))


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        *sampled([(name, _WAYS[k % 2]) for k, name in enumerate(_KEPT)], 9),
        *(pytest.param(name, _WAYS[k % 2 - 1], marks=pytest.mark.exhaustive) for k, name in enumerate(_KEPT)),
    ],
)
def test_nothing_is_lowered_twice(name, wrap, monkeypatch):
    made = []
    places = (block_lowering, "lower_block"), (compiled_function, "lowered_call"), (gradients, "compiled")
    for module, label in places:
        work = getattr(module, label)
        monkeypatch.setattr(module, label, lambda *args, work=work, **kw: made.append(work) or work(*args, **kw))
    with interpreted():
        step, arguments, _ = BODIES[name](Maker())
        step = wrap(step)
        # what is built on the first call is other structure in the second
        for _ in range(2):
            step(*arguments)
        # another test may have met the block
        assert made or not isinstance(step, compiled_function.CompiledFunction)
        made.clear()
        step(*arguments)
    assert made == []
