"""What is measured: each program at a size worth timing, and at a small one for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.bench.programs import Args, Problem
from tools.bench.unseen import data_arrays, data_loops, physics_arrays, physics_loops

Make = Callable[[np.random.Generator], Args]


def _sparse(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """A symmetric, definite matrix with five entries in most rows, by its rows."""
    dense = np.zeros((n, n))
    far = max(2, int(n**0.5))
    for distance in (1, far):
        off = -rng.uniform(0.5, 1.0, n - distance)
        dense += np.diag(off, distance) + np.diag(off, -distance)
    dense += np.diag(1.0 - dense.sum(axis=1))
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(n + 1))
    return starts, columns, dense[rows, columns], rng.normal(size=n)


def _affinity(rng: np.random.Generator, n: int) -> Any:
    p = rng.uniform(0.0, 1.0, (n, n)) ** 4
    p = p + p.T
    np.fill_diagonal(p, 0.0)
    return p / p.sum()


def _spheres(rng: np.random.Generator, count: int, pixels: int) -> Args:
    centre = rng.uniform(-1.5, 1.5, (count, 3)) + np.array([0.0, 0.0, 5.0])
    return centre, rng.uniform(0.3, 0.8, count), rng.uniform(0.2, 1.0, count), pixels


def _distance(rng: np.random.Generator, n: int) -> Args:
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    away = np.sqrt((i - n / 2.1) ** 2 + (j - n / 1.9) ** 2) - n / 4
    return (away * rng.uniform(0.8, 1.3, (n, n)) + 0.01,)


def _angles(count: int) -> tuple[Any, Any]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * nodes + 0.5, 0.5 * weights


def _slab(rng: np.random.Generator, layers: int, directions: int, sweeps: int) -> Args:
    return (*rng.uniform(0.05, 0.3, (3, layers)), *_angles(directions), sweeps)


def _words(rng: np.random.Generator, count: int, width: int, pairs: int) -> Args:
    vectors = rng.normal(size=(2, count, width)) / width**0.5
    picked = rng.integers(0, count, pairs), rng.integers(0, count, pairs), rng.integers(0, count, (pairs, 5))
    return vectors[0], vectors[1], *picked


def _gru(rng: np.random.Generator, steps: int, batch: int, features: int, width: int) -> Args:
    wx, wh = rng.normal(size=(features, 3 * width)) / 4.0, rng.normal(size=(width, 3 * width)) / 4.0
    return (
        rng.normal(size=(steps, batch, features)),
        wx,
        wh,
        rng.normal(size=3 * width),
        rng.normal(size=(steps, batch, width)),
    )


def _heads(rng: np.random.Generator, length: int, width: int, inner: int) -> Args:
    return rng.normal(size=(length, width)), *rng.normal(size=(3, width, inner)) / 8.0, rng.normal(size=(length, inner))


def _classes(rng: np.random.Generator, rows: int, features: int, hidden: int, classes: int) -> Args:
    w1, w2 = rng.normal(size=(features, hidden)) / 4.0, rng.normal(size=(hidden, classes)) / 4.0
    scale = rng.uniform(0.5, 1.5, hidden), rng.normal(size=hidden)
    return rng.normal(size=(rows, features)), w1, *scale, w2, np.eye(classes)[rng.integers(0, classes, rows)]


def _two_classes(rng: np.random.Generator, rows: int, features: int, kept: int) -> Args:
    labels = np.arange(rows) % 2
    data = rng.normal(size=(rows, features)) + 0.7 * labels[:, None]
    return data, labels, rng.normal(size=(features, kept)), 0.1


def _paths(rng: np.random.Generator, rows: int, width: int, hidden: int, steps: int) -> Args:
    w1, w2 = rng.normal(size=(width, hidden)) / 2.0, rng.normal(size=(hidden, width)) / 4.0
    ends = rng.normal(size=(rows, width)), rng.normal(size=(rows, width))
    return w1, rng.normal(size=hidden), w2, rng.normal(size=width), *ends, 0.05, steps


def _process(rng: np.random.Generator, n: int) -> Args:
    return np.linspace(0.0, 5.0, n), rng.normal(size=n), 0.8, 1.2, 0.4


def _turned(rng: np.random.Generator, n: int) -> Args:
    # at whole numbers XLA may take the cell and the place in it from two roundings of one product
    affine = np.array([[0.9503, -0.2117, 0.1 * n], [0.1809, 0.9711, 0.03 * n]]) + 1e-5 * rng.normal(size=(2, 3))
    return rng.uniform(size=(n, n)), rng.uniform(size=(n, n)), affine


def _curve(rng: np.random.Generator, control: int, points: int) -> Args:
    return rng.normal(size=(control, 2)), rng.uniform(0.0, control, points), rng.normal(size=(points, 2))


def _ship(rng: np.random.Generator, steps: int) -> Args:
    start = np.array([2.0, 3.0, 0.1, 0.05])
    path = start[:2] + 0.1 * np.arange(steps)[:, None] * start[2:]
    towers = np.arctan2(path[:, 1:] + 5.0, path[:, :1] - 10.0 * np.arange(2))
    return towers + 0.01 * rng.normal(size=(steps, 2)), start, np.full(4, 0.5), 0.001, 0.01, 0.1


def _images(rng: np.random.Generator, count: int, side: int) -> Args:
    filters = rng.normal(size=(8, 3, 3, 3)) / 4.0
    return rng.normal(size=(count, 3, side, side)), filters, rng.normal(size=8), rng.normal(size=(count, 8))


def _neuron(rng: np.random.Generator, steps: int) -> Args:
    return np.array([120.0, 36.0, 0.3]), np.array([50.0, -77.0, -54.4]), rng.uniform(5.0, 15.0, steps), 0.02


# (program, positions of what is differentiated, arguments worth timing, small arguments)
_ALL: tuple[tuple[Callable[..., Any], tuple[int, ...], Make, Make], ...] = (
    (
        physics_loops.kepler_orbits,
        (0, 1),
        lambda rng: (rng.uniform(0, 6, 5000), rng.uniform(0, 0.7, 5000), rng.normal(size=(5000, 2))),
        lambda rng: (rng.uniform(0, 6, 5), rng.uniform(0, 0.7, 5), rng.normal(size=(5, 2))),
    ),
    (
        physics_loops.robertson,
        (0, 1),
        lambda rng: (np.array([1.0, 0.0, 0.0]), np.array([0.04, 100.0, 3000.0]), 0.05, 500),
        lambda rng: (np.array([1.0, 0.0, 0.1]), np.array([0.04, 10.0, 30.0]), 0.05, 4),
    ),
    (
        physics_loops.fluid_cells,
        (0,),
        lambda rng: (rng.uniform(0.0, 20.0, (2000, 2)), 20.0, 20, 0.9),
        lambda rng: (rng.uniform(0.0, 3.0, (12, 2)), 3.0, 3, 0.9),
    ),
    (physics_loops.hodgkin_huxley, (0, 1, 2), lambda rng: _neuron(rng, 2000), lambda rng: _neuron(rng, 6)),
    (
        physics_loops.maxwell_plane,
        (0, 1),
        lambda rng: (rng.uniform(1.0, 2.0, (60, 60)), rng.normal(size=50), 50),
        lambda rng: (rng.uniform(1.0, 2.0, (5, 6)), rng.normal(size=5), 5),
    ),
    (
        physics_loops.cloth,
        (0, 1, 2),
        lambda rng: (0.1 * rng.normal(size=(20, 20)), 5.0, 0.3, 0.02, 50),
        lambda rng: (0.1 * rng.normal(size=(3, 4)), 5.0, 0.3, 0.02, 3),
    ),
    (
        physics_loops.radiative_transfer,
        (0, 1, 2),
        lambda rng: _slab(rng, 100, 8, 20),
        lambda rng: _slab(rng, 4, 2, 3),
    ),
    (
        physics_loops.reinitialise,
        (0,),
        lambda rng: (*_distance(rng, 60), 20),
        lambda rng: (*_distance(rng, 6), 2),
    ),
    (physics_loops.ray_spheres, (0, 1, 2), lambda rng: _spheres(rng, 12, 80), lambda rng: _spheres(rng, 3, 7)),
    (
        data_loops.local_alignment,
        (0, 1, 2),
        lambda rng: (rng.normal(size=(120, 120)), 0.7, 0.5),
        lambda rng: (rng.normal(size=(4, 5)), 0.7, 0.5),
    ),
    (
        data_loops.sparse_conjugate_gradients,
        (2, 3),
        lambda rng: (*_sparse(rng, 1000), 25),
        lambda rng: (*_sparse(rng, 9), 3),
    ),
    (data_loops.warped_image, (0, 2), lambda rng: _turned(rng, 120), lambda rng: _turned(rng, 6)),
    (data_loops.closed_spline, (0, 1), lambda rng: _curve(rng, 30, 5000), lambda rng: _curve(rng, 5, 7)),
    (
        data_loops.garch_likelihood,
        (1, 2, 3, 4),
        lambda rng: (rng.normal(size=10_000), 0.05, 0.1, 0.85, 0.02),
        lambda rng: (rng.normal(size=8), 0.05, 0.1, 0.85, 0.02),
    ),
    (
        data_loops.arma_likelihood,
        (1, 2, 3),
        lambda rng: (rng.normal(size=5000), 0.2 * rng.normal(size=4), 0.2 * rng.normal(size=3), 0.9),
        lambda rng: (rng.normal(size=9), 0.2 * rng.normal(size=2), 0.2 * rng.normal(size=3), 0.9),
    ),
    (
        data_loops.cox_likelihood,
        (2,),
        lambda rng: (rng.normal(size=(3000, 12)), rng.integers(0, 2, 3000), 0.3 * rng.normal(size=12)),
        lambda rng: (rng.normal(size=(8, 3)), rng.integers(0, 2, 8), 0.3 * rng.normal(size=3)),
    ),
    (data_loops.bearings_filter, (1, 2, 3, 4), lambda rng: _ship(rng, 300), lambda rng: _ship(rng, 3)),
    (data_loops.convolution_layer, (0, 1, 2), lambda rng: _images(rng, 4, 32), lambda rng: _images(rng, 2, 6)),
    (
        physics_arrays.heston_call,
        (0, 4, 5, 6, 7, 8),
        lambda rng: (100.0, 105.0, 0.02, 1.5, 1.8, 0.06, 0.4, -0.6, 0.05, 500),
        lambda rng: (100.0, 105.0, 0.02, 1.5, 1.8, 0.06, 0.4, -0.6, 0.05, 60),
    ),
    (
        physics_arrays.ising_mean_field,
        (0, 1),
        lambda rng: (rng.normal(size=(60, 60)), 0.3, 20),
        lambda rng: (rng.normal(size=(4, 5)), 0.3, 3),
    ),
    (
        physics_arrays.total_variation,
        (0, 1),
        lambda rng: (rng.normal(size=(60, 60)), 0.3, 0.1, 20),
        lambda rng: (rng.normal(size=(4, 5)), 0.3, 0.1, 3),
    ),
    (
        physics_arrays.projection_steps,
        (0, 1, 2),
        lambda rng: (*0.3 * rng.normal(size=(2, 50, 50)), 0.1, 0.1, 10),
        lambda rng: (*0.3 * rng.normal(size=(2, 5, 6)), 0.1, 0.1, 2),
    ),
    (
        physics_arrays.limited_burgers,
        (0, 1),
        lambda rng: (rng.normal(size=1000), 0.1, 100),
        lambda rng: (rng.normal(size=9), 0.1, 3),
    ),
    (
        physics_arrays.elastic_rod,
        (0, 1, 2, 3),
        lambda rng: (rng.normal(size=(2001, 3)), rng.uniform(0.5, 1.5, 2000), 2.0, 0.7),
        lambda rng: (rng.normal(size=(6, 3)), rng.uniform(0.5, 1.5, 5), 2.0, 0.7),
    ),
    (
        physics_arrays.gravity_cluster,
        (0, 1, 2),
        lambda rng: (rng.normal(size=(200, 3)), rng.uniform(0.5, 1.5, 200), 0.1),
        lambda rng: (rng.normal(size=(4, 3)), rng.uniform(0.5, 1.5, 4), 0.1),
    ),
    (
        physics_arrays.neural_ode,
        (0, 1, 2, 3, 4),
        lambda rng: _paths(rng, 100, 2, 32, 20),
        lambda rng: _paths(rng, 3, 2, 4, 2),
    ),
    (
        data_arrays.pagerank,
        (0, 2),
        lambda rng: (rng.normal(size=(150, 150)), rng.dirichlet(np.ones(150)), 0.85, 30),
        lambda rng: (rng.normal(size=(4, 4)), rng.dirichlet(np.ones(4)), 0.85, 3),
    ),
    (
        data_arrays.soft_clusters,
        (0, 1, 2),
        lambda rng: (rng.normal(size=(1000, 4)), rng.normal(size=(8, 4)), 1.5, 5),
        lambda rng: (rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), 1.5, 2),
    ),
    (
        data_arrays.tsne,
        (0,),
        lambda rng: (rng.normal(size=(200, 2)), _affinity(rng, 200)),
        lambda rng: (rng.normal(size=(5, 2)), _affinity(rng, 5)),
    ),
    (data_arrays.word_vectors, (0, 1), lambda rng: _words(rng, 500, 32, 2000), lambda rng: _words(rng, 6, 3, 5)),
    (data_arrays.gru, (1, 2, 3), lambda rng: _gru(rng, 20, 16, 12, 24), lambda rng: _gru(rng, 3, 2, 2, 3)),
    (data_arrays.attention, (0, 1, 2, 3), lambda rng: _heads(rng, 128, 64, 32), lambda rng: _heads(rng, 5, 4, 3)),
    (
        data_arrays.batch_norm,
        (1, 2, 3, 4),
        lambda rng: _classes(rng, 256, 30, 40, 10),
        lambda rng: _classes(rng, 6, 3, 4, 3),
    ),
    (data_arrays.gaussian_process, (0, 1, 2, 3, 4), lambda rng: _process(rng, 120), lambda rng: _process(rng, 6)),
    (
        data_arrays.portfolio,
        (0, 1, 2),
        lambda rng: (0.1 * rng.normal(size=(1000, 20)), 3.0, rng.normal(size=20)),
        lambda rng: (0.1 * rng.normal(size=(9, 3)), 3.0, rng.normal(size=3)),
    ),
    (
        data_arrays.discriminant,
        (0, 2),
        lambda rng: _two_classes(rng, 2000, 12, 4),
        lambda rng: _two_classes(rng, 10, 4, 2),
    ),
)
PROBLEMS = tuple(Problem(f, make, wrt) for f, wrt, make, _ in _ALL)
SMALL = {f.__name__: small for f, _, _, small in _ALL}
