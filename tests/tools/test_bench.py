"""The benchmark's problems are sound, and its hand-written adjoints right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import central_difference, clone, inner, random_like
from tests.programs import kernels, objectives, overwriting, spectra
from tools.bench import jacobian_table
from tools.bench.cold import Start, lateness
from tools.bench.measure import WrongGradient
from tools.bench.programs import PROBLEMS
from tools.bench.threads import SHARED, threaded

SMALL = {
    "rosenbrock": lambda rng: (rng.normal(size=6),),
    "sir_epidemic": lambda rng: (rng.uniform(0.2, 0.5, 5), 0.11, 0.05, 30),
    "heat_1d": lambda rng: (rng.normal(size=7), 0.2, 5),
    "wave_equation": lambda rng: (rng.normal(size=7), rng.uniform(0.0, 0.8, 7), 5),
    "mixture_loops": lambda rng: (rng.normal(size=(5, 2)), rng.normal(size=3), rng.normal(size=(3, 2)), np.zeros(3)),
    "logistic_loops": lambda rng: (rng.normal(size=3), 0.3, rng.normal(size=(6, 3)), rng.integers(0, 2, 6), 0.1),
    "softmax_cross_entropy": lambda rng: (rng.normal(size=(4, 3)), rng.integers(0, 3, 4)),
    "fft_stages": lambda rng: spectra.signal(rng, 8),
    "gmm_loops": lambda rng: objectives.make_mixture(rng, 4),
    "bundle_cost": lambda rng: objectives.make_bundle(rng, 5),
    "lstm_loss": lambda rng: objectives.make_lstm(rng, 4),
    "covariance": lambda rng: (rng.normal(size=(5, 3)),),
    "product_chain": lambda rng: kernels.make_chain(rng, 3),
    "sparse_smoothing": lambda rng: (*kernels.make_sparse(rng, 4), 3),
    "recursive_filter": lambda rng: kernels.make_filter(rng, 6),
    "charge_deposit": lambda rng: kernels.make_charges(rng, 8),
    "asian_option": lambda rng: (100.0, 0.02, 0.3, 99.0, 1.0, rng.normal(size=(6, 4))),
    "shallow_water": lambda rng: (*overwriting.make_water(rng, 6)[:4], 3),
}
BY_HAND = [problem for problem in PROBLEMS if problem.adjoint is not None]


@pytest.mark.slow
def test_the_blocks_of_a_jacobian():
    problem = next(problem for problem in PROBLEMS if problem.derivative is not None)
    args = objectives.make_bundle(np.random.default_rng(3), 6)
    value, (blocks,) = problem.derivative(*args)
    np.testing.assert_allclose(value, problem.f(*clone(args)), rtol=1e-12)
    cameras, points, weights, camera_of, point_of, _ = args
    directions = tuple(random_like(np.random.default_rng(4), one) for one in (cameras, points, weights))
    numeric = central_difference(problem.f, args, (0, 1, 2), directions, 1e-4).reshape(value.shape)
    for i in range(6):
        parts = directions[0][camera_of[i]], directions[1][point_of[i]], [directions[2][i]]
        np.testing.assert_allclose(blocks[i] @ np.concatenate(parts), numeric[i], rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_threads_are_measured_on_one_and_on_all():
    problem = next(problem for problem in PROBLEMS if problem.name == SHARED[0])
    found = threaded(problem, 0.0)
    assert 1 in found.on
    assert all(seconds > 0.0 for seconds in (found.primal, found.sequential, *found.on.values(), found.possible))
    assert {problem.name for problem in PROBLEMS} >= set(SHARED)


def test_first_calls_are_held_to_their_limits():
    def start(kind, cold, cached):
        return Start("program", kind, cold, cached, cold, cached, None)

    primal, gradient = start("primal", 1.0, 0.3), start("gradient", 2.0, 0.5)
    alone = lateness([primal, gradient])
    assert alone.cold is None and alone.cached == pytest.approx(0.1)
    beside = lateness([primal, gradient, start("adjoint", 1.5, 0.45)])
    assert beside.cold == pytest.approx(2.0 - 2.25) and beside.cached == pytest.approx(-0.05)


def test_names_are_unique():
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)


def test_every_adjoint_has_a_small_case():
    assert {problem.name for problem in BY_HAND} == set(SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("problem", BY_HAND, ids=lambda problem: problem.name)
def test_adjoint_by_hand(problem):
    rng = np.random.default_rng(3)
    args = SMALL[problem.name](rng)
    value, gradients = problem.adjoint(*clone(args))
    assert value == pytest.approx(problem.f(*clone(args)), rel=1e-12)
    tangents = tuple(random_like(rng, args[position]) for position in problem.wrt)
    numeric = central_difference(problem.f, args, problem.wrt, tangents, 1e-4)
    product, size = inner(gradients, tangents)
    assert abs(product - numeric.item()) <= 1e-8 * (1.0 + size)


@pytest.mark.slow
@pytest.mark.compiled
def test_jacobians_are_compared_and_timed():
    records, failures = jacobian_table.table(("oscillator",), 0.0)
    assert not failures and records[0]["tapec"] > 0.0
    with pytest.raises(WrongGradient, match="differs from by hand"):
        jacobian_table._compare("p", {"tapec": np.ones(2), "by hand": np.zeros(2)})
