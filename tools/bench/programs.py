"""What is measured: the loop programs of the tests at sizes worth timing, each with a scalar result.

A program whose result is an array, or that overwrites its arguments, has a small function around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tests.programs import (
    dynamics,
    finance,
    geometry,
    grids,
    inference,
    iteration,
    kernels,
    matrices,
    networks,
    objectives,
    overwriting,
    spectra,
)
from tools.bench import (
    adjoints,
    adjoints_complex,
    adjoints_kernels,
    adjoints_objectives,
    adjoints_overwriting,
    elementwise,
    jacobians,
)

Args = tuple[Any, ...]


@dataclass(frozen=True)
class Problem:
    """One row of the table.

    f           the function; its result is a float and its arguments stay as they are
    make        rng -> arguments
    wrt         positions of the differentiated arguments
    adjoint     the same derivative by hand: arguments -> (value, gradients); None if there is none
    derivative  what is measured instead of `value_and_grad`, where the result is no float; a jitted function
    """

    f: Callable[..., Any]
    make: Callable[[np.random.Generator], Args]
    wrt: tuple[int, ...] = (0,)
    adjoint: Callable[..., Any] | None = None
    derivative: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return self.f.__name__

    def arguments(self) -> Args:
        """The arguments, the same on every run."""
        return self.make(np.random.default_rng(1))


_rk4 = njit(dynamics.rk4_lotka_volterra)
_wave = njit(grids.wave_equation)
_heat_2d = njit(grids.heat_2d)
_advection = njit(grids.upwind_advection)
_thomas = njit(matrices.thomas)
_cholesky = njit(matrices.cholesky_loops)
_spline = njit(geometry.spline_evaluate)
_pairs = njit(geometry.pair_energy)
_jacobi = njit(iteration.jacobi_relaxation)
_convolution = njit(networks.convolution_2d)
_gram_schmidt = njit(matrices.gram_schmidt)


def rk4_lotka_volterra(y0: Any, p: Any, dt: float, steps: int) -> Any:
    """Both populations at the end, added."""
    y = _rk4(y0, p, dt, steps)
    return y[0] + y[1]


def wave_equation(u0: Any, speed: Any, steps: int) -> Any:
    """The squared norm of the wave at the end."""
    u = _wave(u0, speed, steps)
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * u[i]
    return total


def heat_2d(u0: Any, kappa: Any, steps: int) -> Any:
    """Diffusion on a copy of the grid."""
    return _heat_2d(u0.copy(), kappa, steps)


def upwind_advection(u0: Any, velocity: Any, ratio: float, steps: int) -> Any:
    """The squared norm of what was transported."""
    u = _advection(u0, velocity, ratio, steps)
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * u[i]
    return total


def thomas(lower: Any, diag: Any, upper: Any, rhs: Any) -> Any:
    """The squared norm of the solution of a tridiagonal system."""
    x = _thomas(lower, diag, upper, rhs.copy())
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def cholesky_loops(a: Any) -> Any:
    """Half the logarithm of a determinant, by Cholesky's factor."""
    low = _cholesky(a)
    total = 0.0
    for i in range(a.shape[0]):
        total += np.log(low[i, i])
    return total


def spline_evaluate(knots: Any, values: Any, slopes: Any, at: Any, seen: Any) -> Any:
    """Squared distance between a spline and data."""
    out = _spline(knots, values, slopes, at)
    total = 0.0
    for i in range(out.shape[0]):
        err = out[i] - seen[i]
        total += err * err
    return total


def pair_energy(pos: Any, box: float, eps: float, sigma: float, rc: float) -> Any:
    """Lennard-Jones energy alone."""
    return _pairs(pos, box, eps, sigma, rc)[0]


def jacobi_relaxation(a: Any, b: Any, tol: float) -> Any:
    """The sum of the solution of a linear system."""
    x = _jacobi(a, b, tol)
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total


def convolution_2d(image: Any, kernel: Any) -> Any:
    """The sum of a rectified convolution."""
    out = _convolution(image, kernel)
    total = 0.0
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total += out[i, j]
    return total


def perceptron_loops(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    """Mean squared error of a two-layer perceptron with one output, row by row."""
    hidden = b1.shape[0]
    loss = 0.0
    for i in range(x.shape[0]):
        out = b2
        for k in range(hidden):
            z = b1[k]
            for j in range(x.shape[1]):
                z += x[i, j] * w1[j, k]
            out += w2[k] * np.tanh(z)
        loss += (out - y[i]) ** 2
    return loss / x.shape[0]


def gram_schmidt(a: Any) -> Any:
    """Minus the logarithms of the lengths that orthogonalising leaves, and the first columns' sum."""
    q, r = _gram_schmidt(a)
    total = 0.0
    for j in range(r.shape[0]):
        total += q[j, 0] - np.log(r[j, j])
    return total


def _bundle(rng: np.random.Generator) -> Args:
    cameras = 0.2 * rng.normal(size=(10, 8)) + np.array([0.0, 0, 0, 0, 0, -5, 1, 0])
    owner = rng.integers(0, 10, 2000), rng.integers(0, 300, 2000)
    return cameras, rng.normal(size=(300, 3)), rng.normal(size=(2000, 2)), *owner


def _definite(rng: np.random.Generator, n: int) -> Args:
    a = rng.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def _dominant(rng: np.random.Generator, n: int) -> Args:
    return rng.uniform(-1.0, 1.0, (n, n)) + (n + 1.0) * np.eye(n), rng.normal(size=n), 1e-10


def _gas(rng: np.random.Generator, side: int) -> Args:
    lattice = np.stack(np.meshgrid(*[np.arange(float(side))] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return 1.1 * lattice + 0.05 * rng.normal(size=lattice.shape), 1.1 * side, 1.0, 0.9, 2.0


def _hmm(rng: np.random.Generator, states: int, steps: int) -> Args:
    start, trans = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    emit = rng.dirichlet(np.ones(5), states)
    return np.log(start), np.log(trans), np.log(emit), rng.integers(0, 5, steps)


def _perceptron(rng: np.random.Generator, n: int, d: int, h: int) -> Args:
    weights = rng.normal(size=(d, h)) / 4, rng.normal(size=h), rng.normal(size=h), 0.1
    return *weights, rng.normal(size=(n, d)), rng.normal(size=n)


def _tridiagonal(rng: np.random.Generator, n: int) -> Args:
    lower, upper = rng.uniform(-1.0, 1.0, (2, n))
    return lower, rng.uniform(2.5, 4.0, n), upper, rng.normal(size=n)


PROBLEMS = (
    Problem(iteration.rosenbrock, lambda rng: (rng.normal(size=20_000),), adjoint=adjoints.rosenbrock),
    Problem(jacobi_relaxation, lambda rng: _dominant(rng, 60), (0, 1)),
    Problem(rk4_lotka_volterra, lambda rng: (np.array([1.0, 0.5]), rng.uniform(0.5, 1, 4), 0.01, 1000), (0, 1)),
    Problem(
        dynamics.nbody_leapfrog,
        lambda rng: (rng.normal(size=(20, 3)), 0.1 * rng.normal(size=(20, 3)), rng.uniform(0.5, 1, 20), 0.001, 50),
        (0, 1, 2),
    ),
    Problem(
        dynamics.sir_epidemic,
        lambda rng: (rng.uniform(0.2, 0.5, 150), 0.11, 1e-4, 1000),
        (0, 1, 2),
        adjoints.sir_epidemic,
    ),
    Problem(grids.heat_1d, lambda rng: (rng.normal(size=500), 0.2, 200), (0, 1), adjoints.heat_1d),
    Problem(heat_2d, lambda rng: (rng.normal(size=(60, 60)), rng.uniform(0, 0.2, (60, 60)), 20), (0, 1)),
    Problem(
        wave_equation, lambda rng: (rng.normal(size=500), rng.uniform(0, 0.8, 500), 200), (0, 1), adjoints.wave_equation
    ),
    Problem(upwind_advection, lambda rng: (rng.normal(size=500), rng.normal(size=501), 0.2, 200), (0, 1)),
    Problem(thomas, lambda rng: _tridiagonal(rng, 5000), (0, 1, 2, 3)),
    Problem(matrices.lu_log_determinant, lambda rng: (rng.normal(size=(60, 60)),)),
    Problem(cholesky_loops, lambda rng: _definite(rng, 60)),
    Problem(inference.kalman_log_likelihood, lambda rng: (rng.normal(size=5000).cumsum(), np.zeros(3)), (1,)),
    Problem(inference.hmm_forward, lambda rng: _hmm(rng, 8, 200), (0, 1, 2)),
    Problem(
        inference.mixture_loops,
        lambda rng: (rng.normal(size=(2000, 5)), rng.normal(size=10), rng.normal(size=(10, 5)), np.zeros(10)),
        (1, 2, 3),
        adjoints.mixture_loops,
    ),
    Problem(
        inference.logistic_loops,
        lambda rng: (rng.normal(size=20) / 4, 0.3, rng.normal(size=(2000, 20)), rng.integers(0, 2, 2000), 0.1),
        (0, 1),
        adjoints.logistic_loops,
    ),
    Problem(inference.viterbi, lambda rng: (rng.normal(size=(500, 10)), rng.uniform(0, 1, (10, 10))), (0, 1)),
    Problem(perceptron_loops, lambda rng: _perceptron(rng, 500, 10, 16), (0, 1, 2, 3)),
    Problem(
        networks.softmax_cross_entropy,
        lambda rng: (rng.normal(size=(2000, 10)), rng.integers(0, 10, 2000)),
        adjoint=adjoints.softmax_cross_entropy,
    ),
    Problem(convolution_2d, lambda rng: (rng.normal(size=(64, 64)), rng.normal(size=(5, 5))), (0, 1)),
    Problem(geometry.reprojection_error, _bundle, (0, 1)),
    Problem(pair_energy, lambda rng: _gas(rng, 6)),
    Problem(
        spline_evaluate,
        lambda rng: (
            np.arange(50.0),
            rng.normal(size=50),
            rng.normal(size=50),
            rng.uniform(0, 49, 5000),
            np.zeros(5000),
        ),
        (1, 2),
    ),
    Problem(finance.american_put, lambda rng: (100.0, 104.3, 0.03, 0.25, 0.9, 200), (0, 3)),
    Problem(
        finance.black_scholes_monte_carlo,
        lambda rng: (100.0, 103.0, 0.02, 0.25, 0.7, rng.normal(size=10_000)),
        (0, 2, 3),
    ),
    Problem(
        spectra.contour_integral,
        lambda rng: (rng.normal(size=6) + 1j * rng.normal(size=6), 0.3 - 0.2j, 0.8, 2000),
        (0, 1, 2),
    ),
    Problem(spectra.fft_stages, lambda rng: spectra.signal(rng, 4096), adjoint=adjoints_complex.fft_stages),
    Problem(
        objectives.gmm_loops,
        lambda rng: objectives.make_mixture(rng, 1000, 10, 25),
        (0, 1, 2),
        adjoints_objectives.gmm_loops,
    ),
    Problem(objectives.gmm_vectorised, lambda rng: objectives.make_mixture(rng, 1000, 10, 25), (0, 1, 2)),
    Problem(
        objectives.bundle_cost,
        lambda rng: objectives.make_bundle(rng, 10_000, 49, 2000),
        (0, 1, 2),
        adjoints_objectives.bundle_cost,
    ),
    Problem(
        objectives.lstm_loss, lambda rng: objectives.make_lstm(rng, 1000, 14), (0, 1), adjoints_objectives.lstm_loss
    ),
    Problem(kernels.heat_3d, lambda rng: (rng.normal(size=(24, 24, 24)), 0.1, 20), (0, 1)),
    Problem(kernels.alternating_directions, lambda rng: (rng.normal(size=(60, 60)), 0.3, 20), (0, 1)),
    Problem(kernels.durbin, lambda rng: (rng.uniform(-0.02, 0.02, 200),)),
    Problem(gram_schmidt, lambda rng: (rng.normal(size=(80, 40)),)),
    Problem(kernels.covariance, lambda rng: (rng.normal(size=(2000, 20)),), adjoint=adjoints_kernels.covariance),
    Problem(kernels.correlation, lambda rng: (rng.normal(size=(2000, 20)),)),
    Problem(
        kernels.product_chain, lambda rng: kernels.make_chain(rng, 200), (0, 1, 2, 3), adjoints_kernels.product_chain
    ),
    Problem(
        kernels.sparse_smoothing,
        lambda rng: (*kernels.make_sparse(rng, 2000), 20),
        (0, 3),
        adjoints_kernels.sparse_smoothing,
    ),
    Problem(
        kernels.recursive_filter,
        lambda rng: kernels.make_filter(rng, 20_000),
        (0, 1, 2),
        adjoints_kernels.recursive_filter,
    ),
    Problem(
        kernels.charge_deposit,
        lambda rng: kernels.make_charges(rng, 10_000, 500),
        (0, 1),
        adjoints_kernels.charge_deposit,
    ),
    Problem(
        kernels.asian_option,
        lambda rng: (100.0, 0.02, 0.3, 99.0, 1.0, rng.normal(size=(1000, 50))),
        (0, 1, 2, 3, 4),
        adjoints_kernels.asian_option,
    ),
    Problem(kernels.time_warping, lambda rng: (rng.normal(size=200), rng.normal(size=200)), (0, 1)),
    Problem(
        overwriting.shallow_water,
        lambda rng: overwriting.make_water(rng, 64),
        (0, 1, 2),
        adjoints_overwriting.shallow_water,
    ),
    Problem(overwriting.tomography, lambda rng: overwriting.make_rays(rng, 64, 20, 40)),
    Problem(overwriting.tree_likelihood, lambda rng: overwriting.make_tree(rng, 16, 500)),
    Problem(
        jacobians.bundle_residuals,
        lambda rng: objectives.make_bundle(rng, 10_000, 49, 2000),
        derivative=jacobians.bundle_blocks,
    ),
    Problem(objectives.hand_cost, lambda rng: objectives.make_hand(rng, 500, 5, 544)),
    *(
        Problem(f, functools.partial(elementwise.arguments, program=f), tuple(range(f.__code__.co_argcount)))
        for f in elementwise.PROGRAMS
    ),
)
