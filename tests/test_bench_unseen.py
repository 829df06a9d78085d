"""Programs that nobody tuned for differentiate right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sampling import sampled
from tests.typed import interpreted
from tools.bench.measure import compare, functions
from tools.bench.programs import PROBLEMS as TUNED
from tools.bench.unseen import forms
from tools.bench.unseen.differences import worst_deviation
from tools.bench.unseen.problems import PROBLEMS, SMALL

PEERS = forms.installed()


@pytest.mark.parametrize("problem", sampled(PROBLEMS, 36), ids=lambda problem: problem.name)
def test_gradients_agree_with_differences(problem):
    with interpreted():
        assert worst_deviation(problem, SMALL[problem.name]) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_machine_code_agrees_with_other_tools(peer, problem):
    if problem.name not in peer.programs:
        pytest.skip("not a natural program for this tool")
    args = SMALL[problem.name](np.random.default_rng(3))
    calls = functions(problem, args)
    results = {name: calls[name]() for name in ("primal", "gradient")}
    compare(problem.name, results | {peer.name: peer.gradient(problem.name, problem.wrt, args)()})


def test_names_are_of_these_programs_alone():
    names = [problem.name for problem in PROBLEMS]
    assert len(set(names)) == len(names)
    assert not set(names) & {problem.name for problem in TUNED}
    for peer in PEERS:
        assert peer.programs <= set(names)
