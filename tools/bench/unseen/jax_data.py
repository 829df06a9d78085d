"""Data, statistics and networks as a user of JAX writes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def local_alignment(similarity, gap, temperature):
    n, m = similarity.shape

    def row(above, gains):
        def cell(left, parts):
            diagonal, over, gain = parts
            ways = jnp.stack([jnp.zeros(()), diagonal + gain, over - gap, left - gap])
            here = temperature * jax.nn.logsumexp(ways / temperature)
            return here, here

        _, here = lax.scan(cell, jnp.zeros(()), (above[:-1], above[1:], gains))
        return jnp.concatenate([jnp.zeros(1), here]), here

    scores = lax.scan(row, jnp.zeros(m + 1), similarity)[1]
    return jax.nn.logsumexp(scores / (4.0 * temperature * n))


def sparse_conjugate_gradients(starts, columns, entries, rhs, steps):
    n = rhs.shape[0]
    rows = jnp.searchsorted(starts, jnp.arange(entries.shape[0]), side="right") - 1

    def step(state, _):
        x, r, p, square = state
        q = jax.ops.segment_sum(entries * p[columns], rows, n, indices_are_sorted=True)
        alpha = square / (p @ q)
        r_new = r - alpha * q
        new = r_new @ r_new
        return (x + alpha * p, r_new, r_new + new / square * p, new), None

    (x, _, _, _), _ = lax.scan(step, (jnp.zeros(n), rhs, rhs, rhs @ rhs), None, length=steps)
    return rhs @ x


def warped_image(image, wanted, affine):
    i, j = jnp.meshgrid(jnp.arange(wanted.shape[0]), jnp.arange(wanted.shape[1]), indexing="ij")
    y = jnp.clip(affine[0, 0] * i + affine[0, 1] * j + affine[0, 2], 0.0, image.shape[0] - 1.001)
    x = jnp.clip(affine[1, 0] * i + affine[1, 1] * j + affine[1, 2], 0.0, image.shape[1] - 1.001)
    top, left = y.astype(int), x.astype(int)
    v, u = y - top, x - left
    upper = (1.0 - u) * image[top, left] + u * image[top, left + 1]
    lower = (1.0 - u) * image[top + 1, left] + u * image[top + 1, left + 1]
    return (((1.0 - v) * upper + v * lower - wanted) ** 2).sum()


def closed_spline(control, at, seen):
    left = jnp.floor(at).astype(int)
    t = at - left
    weights = jnp.stack(
        [(1.0 - t) ** 3, 3.0 * t**3 - 6.0 * t**2 + 4.0, -3.0 * t**3 + 3.0 * t**2 + 3.0 * t + 1.0, t**3], axis=1
    )
    near = control[(left[:, None] + jnp.arange(4)) % control.shape[0]]
    return (((weights[:, :, None] * near).sum(axis=1) / 6.0 - seen) ** 2).sum()


def garch_likelihood(returns, omega, alpha, beta, mean):
    squares = (returns - mean) ** 2

    def step(variance, square):
        return omega + alpha * square + beta * variance, variance

    variances = lax.scan(step, squares.mean(), squares)[1]
    return 0.5 * (jnp.log(2.0 * jnp.pi * variances) + squares / variances).sum()


def arma_likelihood(series, ar, ma, scale):
    p, q = ar.shape[0], ma.shape[0]
    count = series.shape[0] - p
    forecasts = sum(ar[k] * series[p - 1 - k : p - 1 - k + count] for k in range(p))

    def step(last, parts):
        error = parts - ma @ last
        return jnp.concatenate([error[None], last[:-1]]), error

    errors = lax.scan(step, jnp.zeros(q), series[p:] - forecasts)[1]
    return (0.5 * (errors / scale) ** 2 + jnp.log(scale)).sum()


def cox_likelihood(features, happened, beta):
    scores = features @ beta
    return -(happened * (scores - jnp.log(jnp.cumsum(jnp.exp(scores))))).sum()


def bearings_filter(bearings, start, spread, drift, noise, dt):
    move = jnp.eye(4).at[0, 2].set(dt).at[1, 3].set(dt)

    def step(carried, seen):
        state, cov = carried
        state = move @ state
        cov = move @ cov @ move.T + drift * jnp.eye(4)
        loss = 0.0
        for tower in range(2):
            dx, dy = state[0] - 10.0 * tower, state[1] + 5.0
            square = dx * dx + dy * dy
            slope = jnp.stack([-dy / square, dx / square, jnp.zeros(()), jnp.zeros(())])
            gain = cov @ slope
            variance = slope @ gain + noise
            error = seen[tower] - jnp.arctan2(dy, dx)
            state = state + gain * (error / variance)
            cov = cov - jnp.outer(gain, gain) / variance
            loss = loss + 0.5 * (error * error / variance + jnp.log(variance))
        return (state, cov), loss

    return lax.scan(step, (start, jnp.diag(spread)), bearings)[1].sum()


def convolution_layer(images, filters, bias, wanted):
    z = lax.conv(images, filters, (2, 2), "VALID") + bias[:, None, None]
    mean = jnp.maximum(z, 0.0).sum(axis=(2, 3)) / (images.shape[2] * images.shape[3])
    return ((mean - wanted) ** 2).sum()


def pagerank(links, preference, damping, steps):
    weights = jnp.exp(links)
    transition = weights / weights.sum(axis=0)

    def step(rank, _):
        return damping * (transition @ rank) + (1.0 - damping) / links.shape[0], None

    rank, _ = lax.scan(step, jnp.ones(links.shape[0]) / links.shape[0], None, length=steps)
    return -(preference * jnp.log(rank)).sum()


def soft_clusters(data, centres, sharpness, rounds):
    def round_(c, _):
        distance = ((data[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
        share = jax.nn.softmax(-sharpness * distance, axis=1)
        return (share.T @ data) / share.sum(axis=0)[:, None], (share * distance).sum()

    return lax.scan(round_, centres, None, length=rounds)[1][-1] / data.shape[0]


def tsne(points, affinity):
    squares = (points**2).sum(axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * points @ points.T
    kernel = (1.0 - jnp.eye(points.shape[0])) / (1.0 + distance)
    share = kernel / kernel.sum()
    return (affinity * jnp.log((affinity + 1e-12) / (share + 1e-12))).sum()


def word_vectors(words, contexts, centre, near, far):
    v = words[centre]
    hit = (v * contexts[near]).sum(axis=1)
    miss = (v[:, None, :] * contexts[far]).sum(axis=2)
    return (jnp.log1p(jnp.exp(-hit)) + jnp.log1p(jnp.exp(miss)).sum(axis=1)).mean()


def gru(inputs, wx, wh, b, wanted):
    width = wh.shape[0]

    def step(h, parts):
        given, target = parts
        x = given @ wx + b
        r = jax.nn.sigmoid(x[:, :width] + h @ wh[:, :width])
        z = jax.nn.sigmoid(x[:, width : 2 * width] + h @ wh[:, width : 2 * width])
        n = jnp.tanh(x[:, 2 * width :] + (r * h) @ wh[:, 2 * width :])
        h = (1.0 - z) * n + z * h
        return h, ((h - target) ** 2).mean()

    return lax.scan(step, jnp.zeros((inputs.shape[1], width)), (inputs, wanted))[1].sum()


def attention(x, wq, wk, wv, wanted):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / jnp.sqrt(wq.shape[1])
    weights = jax.nn.softmax(jnp.where(jnp.tri(x.shape[0]) > 0.0, scores, -1e9), axis=1)
    return ((weights @ v - wanted) ** 2).mean()


def batch_norm(x, w1, gain, shift, w2, classes):
    z = x @ w1
    mean, variance = z.mean(axis=0), z.var(axis=0)
    logits = jnp.maximum(gain * (z - mean) / jnp.sqrt(variance + 1e-5) + shift, 0.0) @ w2
    return -(jax.nn.log_softmax(logits, axis=1) * classes).sum(axis=1).mean()


def gaussian_process(x, y, length, scale, noise):
    delta = x[:, None] - x[None, :]
    kernel = scale**2 * jnp.exp(-0.5 * (delta / length) ** 2) + noise**2 * jnp.eye(x.shape[0])
    factor = jnp.linalg.cholesky(kernel)
    alpha = jax.scipy.linalg.cho_solve((factor, True), y)
    return 0.5 * y @ alpha + jnp.log(jnp.diag(factor)).sum() + 0.5 * x.shape[0] * jnp.log(2.0 * jnp.pi)


def portfolio(returns, risk, weights):
    mean = returns.mean(axis=0)
    covariance = jnp.cov(returns, rowvar=False)
    share = jax.nn.softmax(weights)
    variance = share @ covariance @ share
    parts = share * (covariance @ share) / variance
    return 0.5 * risk * variance - mean @ share + ((parts - 1.0 / weights.shape[0]) ** 2).sum()


def discriminant(data, labels, projection, ridge):
    # the number of a class's rows is not known when the function is compiled
    z = data @ projection
    second = labels.astype(float)[:, None]
    first = 1.0 - second
    a, b = (first * z).sum(axis=0) / first.sum(), (second * z).sum(axis=0) / second.sum()
    centred = z - first * a - second * b
    within = centred.T @ centred / data.shape[0] + ridge * jnp.eye(projection.shape[1])
    return -(a - b) @ jnp.linalg.solve(within, a - b)


PROGRAMS = (
    *(local_alignment, sparse_conjugate_gradients, warped_image, closed_spline, garch_likelihood, arma_likelihood),
    *(cox_likelihood, bearings_filter, convolution_layer, pagerank, soft_clusters, tsne, word_vectors, gru),
    *(attention, batch_norm, gaussian_process, portfolio, discriminant),
)
