"""Real bodies: as they stand against central differences, and under `tapec.function` against themselves."""

from __future__ import annotations

import functools

import numba
import pytest

import tapec
from tests.tape import (  # noqa: F401
    bodies_language,
    bodies_models,
    bodies_networks,
    bodies_objects,
    bodies_training,
)
from tests.tape.bodies import BODIES, difference, outcome


@functools.cache
def undecorated(name):
    return outcome(BODIES[name])


@pytest.mark.parametrize("name", BODIES)
def test_undecorated(name):
    _, along = undecorated(name)
    assert along == pytest.approx(difference(BODIES[name]), rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_compiled(name, monkeypatch):
    # machine code is the subject of other tests; here it is which program is lowered
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert outcome(BODIES[name], tapec.function) == pytest.approx(undecorated(name), rel=1e-7, abs=1e-9)
