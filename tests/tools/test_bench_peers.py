"""The benchmark's other tools compute what the programs do; each is skipped where it is not installed."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec
from tests.oracles import clone
from tools.bench import peers
from tools.bench.measure import Row, WrongGradient, compare
from tools.bench.programs import PROBLEMS
from tools.bench.scaling import SCALED

# by name: they take seconds to import, in every process that collects tests
PEERS = [name for name in peers._MAKERS if peers.is_there(name)]
NAMES = {problem.name for problem in PROBLEMS}


@functools.cache
def installed() -> dict[str, peers.Peer]:
    return {peer.name: peer for peer in peers.installed()}


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_programs_of_a_peer_are_the_benchmarks(name):
    peer = installed()[name]
    assert peer.programs <= NAMES
    if peer.name == "jax":
        assert peer.programs == {problem.name for problem in PROBLEMS if problem.derivative is None}


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_values_and_gradients_agree(name, problem):
    peer = installed()[name]
    if problem.name not in peer.programs:
        pytest.skip("not a natural program for this tool")
    args = problem.arguments()
    mine = tapec.value_and_grad(problem.f, wrt=problem.wrt)(*clone(args))
    theirs = peer.gradient(problem.name, problem.wrt, args)()
    compare(problem.name, {"primal": mine[0], "gradient": mine, peer.name: theirs})


def test_wrong_gradients_are_noticed():
    one = (1.0, (np.ones(3),))
    with pytest.raises(WrongGradient, match="someone"):
        compare("someone", {"primal": 1.0, "gradient": one, "jax": (1.0, (np.full(3, 1.1),))})


def test_sizes_are_of_problems():
    assert SCALED.keys() <= NAMES
    for name, (make, sizes) in SCALED.items():
        problem = next(problem for problem in PROBLEMS if problem.name == name)
        small, usual = make(np.random.default_rng(0), sizes[0]), problem.arguments()
        assert [type(arg) for arg in small] == [type(arg) for arg in usual]
        assert [np.ndim(arg) for arg in small] == [np.ndim(arg) for arg in usual]


def test_a_row_as_a_record():
    row = Row("f", 1.0, 0.5, 2.0, None, 0.1, 0.2, None, {"jax": 6.0}, {"jax": 1.0})
    assert row.record()["ratio"] == 2.0
    assert row.record()["peers"] == {"jax": 6.0}
