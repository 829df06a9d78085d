"""The ADBench objectives as a user of JAX writes them; see `tests/programs/objectives.py` for what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp


def gmm_vectorised(alphas, means, icf, x, gamma, m):
    d = x.shape[1]
    # the columns below the diagonal, one after the other
    columns, rows = np.triu_indices(d, 1)
    scales, below = jnp.exp(icf[:, :d]), icf[:, d:]
    volumes = icf[:, :d].sum(axis=1)
    diagonal = jnp.arange(d)
    factors = jnp.zeros((alphas.size, d, d)).at[:, diagonal, diagonal].set(scales).at[:, rows, columns].set(below)
    image = jnp.einsum("jrc,ijc->ijr", factors, x[:, None, :] - means[None, :, :])
    terms = alphas + volumes - 0.5 * (image**2).sum(axis=2)
    prior = 0.5 * gamma**2 * ((scales**2).sum() + (below**2).sum()) - m * volumes.sum()
    return logsumexp(terms, axis=1).sum() - x.shape[0] * logsumexp(alphas) + prior


def project(cam, point):
    p = point - cam[3:6]
    square = (cam[:3] ** 2).sum()
    angle = jnp.sqrt(jnp.where(square == 0.0, 1.0, square))
    k = cam[:3] / angle
    turned = p * jnp.cos(angle) + jnp.cross(k, p) * jnp.sin(angle) + k * (jnp.dot(k, p) * (1.0 - jnp.cos(angle)))
    local = jnp.where(square == 0.0, p + jnp.cross(cam[:3], p), turned)
    uv = local[:2] / local[2]
    r2 = (uv**2).sum()
    return cam[7:9] + cam[6] * (1.0 + cam[9] * r2 + cam[10] * r2 * r2) * uv


def bundle_cost(cameras, points, weights, camera_of, point_of, features):
    error = weights[:, None] * (jax.vmap(project)(cameras[camera_of], points[point_of]) - features)
    return 0.5 * ((error**2).sum() + ((1.0 - weights**2) ** 2).sum())


def lstm_loss(main, extra, state, sequence):
    def step(now, pair):
        signal, target = pair[0] * extra[0], pair[1]
        after = []
        for layer in range(main.shape[0]):
            weight, bias = main[layer]
            hidden, cell = now[layer]
            gates = jax.nn.sigmoid(jnp.stack([signal, hidden, signal]) * weight[:3] + bias[:3])
            cell = cell * gates[0] + gates[1] * jnp.tanh(hidden * weight[3] + bias[3])
            signal = gates[2] * jnp.tanh(cell)
            after.append(jnp.stack([signal, cell]))
        output = signal * extra[1] + extra[2]
        return jnp.stack(after), (target * (output - jnp.log(jnp.exp(output).sum() + 2.0))).sum()

    _, scores = lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -scores.sum() / ((sequence.shape[0] - 1) * sequence.shape[1])


def hand_error(theta, parents, relatives, inverses, vertices, weights, found, points):
    # the skeleton is known when JAX traces
    bones = relatives.shape[0]
    fingers = (bones - 2) // 4
    above = [-1, 0] + [1 if k % 4 == 0 else 1 + k for k in range(4 * fingers)]

    def euler(angles):
        (cx, cy, cz), (sx, sy, sz) = jnp.cos(angles), jnp.sin(angles)
        return jnp.array(
            [
                [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
                [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
                [-sy, sx * cy, cx * cy],
            ]
        )

    bends = theta[6:].reshape((fingers, 4))
    joints = jnp.zeros((fingers, 4, 3)).at[:, 0, :2].set(bends[:, :2]).at[:, 1:3, 0].set(bends[:, 2:])
    pose = jnp.concatenate([jnp.zeros((2, 3)), joints.reshape((-1, 3))])
    local = jnp.zeros((bones, 4, 4)).at[:, :3, :3].set(jax.vmap(euler)(pose)).at[:, 3, 3].set(1.0)
    frames: list[Any] = []
    for b in range(bones):
        frame = relatives[b] @ local[b]
        frames.append(frame if above[b] < 0 else frames[above[b]] @ frame)
    motion = jnp.stack(frames) @ inverses
    place = jnp.einsum("ib,brc,ic->ir", weights[found], motion[:, :3], vertices[found])
    return place @ euler(theta[:3]).T + theta[3:6] - points


def hand_cost(*arguments):
    return 0.5 * (hand_error(*arguments) ** 2).sum()


PROGRAMS: dict[str, Callable[..., Any]] = {
    # by loops or not, a mixture is written like this
    "gmm_loops": gmm_vectorised,
    **{f.__name__: f for f in (gmm_vectorised, bundle_cost, lstm_loss, hand_cost)},
}
