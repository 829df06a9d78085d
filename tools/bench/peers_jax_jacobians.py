"""The programs of `jacobian_programs.py` as a user of JAX writes them: name -> arguments -> a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.optimize._numdiff import group_columns

import tapec
from tools.bench import jacobian_programs as programs
from tools.bench.peers_jax_objectives import hand_error, project

jax.config.update("jax_enable_x64", True)


def _bundle(args: tuple[Any, ...]) -> Callable[[], Any]:
    cameras, points, weights, camera_of, point_of, features, _ = map(jnp.asarray, args)

    def residual(camera, point, weight, feature):
        return weight * (project(camera, point) - feature)

    @jax.jit
    def blocks(cameras, points, weights, features):
        by_camera, by_point, by_weight = jax.vmap(jax.jacrev(residual, (0, 1, 2)))(
            cameras[camera_of], points[point_of], weights, features
        )
        return jnp.concatenate([by_camera, by_point, by_weight[:, :, None]], axis=2)

    return lambda: blocks(cameras, points, weights, features).block_until_ready()


def _first(function: Callable[..., Any], make: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
    def call(args: tuple[Any, ...]) -> Callable[[], Any]:
        given = tuple(jnp.asarray(arg) if hasattr(arg, "shape") else arg for arg in args)
        made = jax.jit(make(lambda first: function(first, *given[1:])))
        return lambda: made(given[0]).block_until_ready()

    return call


def burgers(u, ratio, steps):
    def step(_, v):
        left, right = jnp.roll(v, 1), jnp.roll(v, -1)
        return jnp.where(v > 0.0, v - ratio * v * (v - left), v - ratio * v * (right - v))

    return lax.fori_loop(0, steps, step, u)


def logistic_loss(p, x, y):
    score = x @ p
    return (jnp.log(1.0 + jnp.exp(score)) - y * score).sum()


def truss(areas, stiffness, load):
    return jnp.linalg.solve(jnp.einsum("m,mij->ij", areas, stiffness), load)


def oscillator(p, steps):
    dt = 0.01

    def step(_, state):
        x, v = state
        a = p[0] * (1.0 - x * x) * v - x
        x1, v1 = x + 0.5 * dt * v, v + 0.5 * dt * a
        b = p[0] * (1.0 - x1 * x1) * v1 - x1
        return x + dt * v1, v + dt * b

    return jnp.stack(lax.fori_loop(0, steps, step, (p[1], p[2])))


def reaction(w, n, rate):
    u, v = w.reshape(2, n, n)

    def spread(x):
        return sum(jnp.roll(x, by, axis) for axis in (0, 1) for by in (1, -1)) - 4.0 * x

    made = u**2 * v
    du = 1.0 + made - 4.4 * u + rate * spread(u)
    return jnp.concatenate([du.ravel(), (3.4 * u - made + rate * spread(v)).ravel()])


def rates(x, counts, stiffness):
    return (jnp.exp(x) - counts * x).sum() + 0.5 * stiffness * ((x[1:] - x[:-1]) ** 2).sum()


def _compressed(
    function: Callable[..., Any], pattern: Callable[..., Any]
) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
    """By Curtis, Powell and Reid: tangents in the directions of SciPy's groups of columns."""

    def call(args: tuple[Any, ...]) -> Callable[[], Any]:
        matrix = pattern(*args)
        groups = group_columns(matrix)
        seeds = jnp.asarray(groups == np.arange(groups.max() + 1)[:, None], float)
        rows = jnp.asarray(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)))
        own = jnp.asarray(groups[matrix.indices])

        @jax.jit
        def values(x):
            tangents = jax.vmap(lambda seed: jax.jvp(lambda x: function(x, *args[1:]), (x,), (seed,))[1])(seeds)
            return tangents[own, rows]

        first = jnp.asarray(args[0])
        return lambda: values(first).block_until_ready()

    return call


PROGRAMS: dict[str, Callable[[tuple[Any, ...]], Callable[[], Any]]] = {
    "bundle (2 x 15 each)": _bundle,
    "hand (26 columns)": _first(hand_error, jax.jacfwd),
    "burgers (100 columns)": _first(burgers, jax.jacfwd),
    "logistic (Hessian, 30)": _first(logistic_loss, jax.hessian),
    "truss (40 columns)": _first(truss, jax.jacfwd),
    "oscillator (3 columns)": _first(oscillator, jax.jacfwd),
    "reaction (sparse, 1e5)": _compressed(reaction, tapec.sparse_jacobian(programs.reaction)),
    "rates (sparse Hessian)": _compressed(jax.grad(rates), tapec.sparse_hessian(programs.rates)),
}
