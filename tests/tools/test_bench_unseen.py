"""Programs that nobody tuned for differentiate right."""

from __future__ import annotations

import functools
from contextlib import nullcontext

import numpy as np
import pytest

import tapec
from tests.oracles import clone
from tests.sampling import sampled
from tests.typed import interpreted, typed
from tools.bench.measure import compare
from tools.bench.peers import Peer, is_there
from tools.bench.programs import PROBLEMS as TUNED
from tools.bench.unseen import forms
from tools.bench.unseen.differences import worst_deviation
from tools.bench.unseen.problems import PROBLEMS, SMALL

# by name: it takes a second to import, in every process that collects tests
PEERS = [name for name in ("jax",) if is_there(name)]


@functools.cache
def installed() -> dict[str, Peer]:
    return {peer.name: peer for peer in forms.installed()}


@pytest.mark.parametrize("problem", sampled(PROBLEMS, 36, default=2), ids=lambda problem: problem.name)
def test_gradients_agree_with_differences(problem):
    with interpreted():
        assert worst_deviation(problem, SMALL[problem.name]) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("problem", sampled(PROBLEMS, 36, default=2), ids=lambda problem: problem.name)
def test_gradients_agree_with_other_tools(name, problem):
    """Machine code of every third one, of the others generated Python of which Numba infers the types."""
    peer = installed()[name]
    if problem.name not in peer.programs:
        pytest.skip("not a natural program for this tool")
    args = SMALL[problem.name](np.random.default_rng(3))
    with typed() if PROBLEMS.index(problem) % 3 else nullcontext():
        found = tapec.value_and_grad(problem.f, wrt=problem.wrt)(*clone(args))
    theirs = peer.gradient(problem.name, problem.wrt, args)()
    compare(problem.name, {"primal": problem.f(*clone(args)), "gradient": found, peer.name: theirs})


def test_names_are_of_these_programs_alone():
    names = [problem.name for problem in PROBLEMS]
    assert len(set(names)) == len(names)
    assert not set(names) & {problem.name for problem in TUNED}


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_programs_of_a_peer_are_these(name):
    assert installed()[name].programs <= {problem.name for problem in PROBLEMS}
