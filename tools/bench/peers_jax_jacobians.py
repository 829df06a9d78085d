"""The programs of `jacobian_programs.py` as a user of JAX writes them: name -> arguments -> a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

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


PROGRAMS: dict[str, Callable[[tuple[Any, ...]], Callable[[], Any]]] = {
    "bundle (2 x 15 each)": _bundle,
    "hand (26 columns)": _first(hand_error, jax.jacfwd),
    "burgers (100 columns)": _first(burgers, jax.jacfwd),
    "logistic (Hessian, 30)": _first(logistic_loss, jax.hessian),
    "truss (40 columns)": _first(truss, jax.jacfwd),
    "oscillator (3 columns)": _first(oscillator, jax.jacfwd),
}
