"""Statistics and machine learning as NumPy expressions."""

from __future__ import annotations

import numpy as np


def pagerank(links, preference, damping, steps):
    """How unlike a wanted order the ranks of pages are; links count by their weights' exponentials."""
    weights = np.exp(links)
    transition = weights / weights.sum(axis=0)
    rank = np.ones(links.shape[0]) / links.shape[0]
    for _ in range(steps):
        rank = damping * (transition @ rank) + (1.0 - damping) / links.shape[0]
    return -(preference * np.log(rank)).sum()


def soft_clusters(data, centres, sharpness, rounds):
    """The distortion that soft assignments to clusters leave after some rounds."""
    c = centres
    loss = 0.0
    for _ in range(rounds):
        distance = ((data[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
        share = np.exp(-sharpness * distance)
        share = share / share.sum(axis=1)[:, None]
        c = (share.T @ data) / share.sum(axis=0)[:, None]
        loss = (share * distance).sum()
    return loss / data.shape[0]


def tsne(points, affinity):
    """The divergence between affinities of data and of points in the plane."""
    squares = (points**2).sum(axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * points @ points.T
    kernel = 1.0 / (1.0 + distance)
    kernel = kernel * (1.0 - np.eye(points.shape[0]))
    share = kernel / kernel.sum()
    return (affinity * np.log((affinity + 1e-12) / (share + 1e-12))).sum()


def word_vectors(words, contexts, centre, near, far):
    """Skip-grams with negative samples: each word's vector beside those of its neighbours and of random words."""
    v = words[centre]
    hit = (v * contexts[near]).sum(axis=1)
    miss = (v[:, None, :] * contexts[far]).sum(axis=2)
    return (np.log1p(np.exp(-hit)) + np.log1p(np.exp(miss)).sum(axis=1)).mean()


def gru(inputs, wx, wh, b, wanted):
    """A recurrent network with gates over a sequence of batches."""
    width = wh.shape[0]
    h = np.zeros((inputs.shape[1], width))
    loss = 0.0
    for t in range(inputs.shape[0]):
        x = inputs[t] @ wx + b
        r = 1.0 / (1.0 + np.exp(-(x[:, :width] + h @ wh[:, :width])))
        z = 1.0 / (1.0 + np.exp(-(x[:, width : 2 * width] + h @ wh[:, width : 2 * width])))
        n = np.tanh(x[:, 2 * width :] + (r * h) @ wh[:, 2 * width :])
        h = (1.0 - z) * n + z * h
        loss += ((h - wanted[t]) ** 2).mean()
    return loss


def attention(x, wq, wk, wv, wanted):
    """A head of attention that looks back only."""
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / np.sqrt(wq.shape[1])
    weights = np.exp(scores) * np.tri(x.shape[0])
    weights = weights / weights.sum(axis=1)[:, None]
    return ((weights @ v - wanted) ** 2).mean()


def batch_norm(x, w1, gain, shift, w2, classes):
    """A network with a normalised layer, and the cross entropy of its classes."""
    z = x @ w1
    mean = z.sum(axis=0) / x.shape[0]
    variance = ((z - mean) ** 2).sum(axis=0) / x.shape[0]
    hidden = np.maximum(gain * (z - mean) / np.sqrt(variance + 1e-5) + shift, 0.0)
    logits = hidden @ w2
    return (np.log(np.exp(logits).sum(axis=1)) - (logits * classes).sum(axis=1)).mean()


def gaussian_process(x, y, length, scale, noise):
    """Minus the logarithm of the marginal likelihood of data under a Gaussian process."""
    delta = x[:, None] - x[None, :]
    kernel = scale**2 * np.exp(-0.5 * (delta / length) ** 2) + noise**2 * np.eye(x.shape[0])
    factor = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(kernel, y)
    return 0.5 * y @ alpha + np.log(np.diag(factor)).sum() + 0.5 * x.shape[0] * np.log(2.0 * np.pi)


def portfolio(returns, risk, weights):
    """What a portfolio is worth to one who fears variance, and how unlike shares of risk its assets are."""
    mean = returns.sum(axis=0) / returns.shape[0]
    centred = returns - mean
    covariance = centred.T @ centred / (returns.shape[0] - 1)
    share = np.exp(weights) / np.exp(weights).sum()
    variance = share @ covariance @ share
    parts = share * (covariance @ share) / variance
    return 0.5 * risk * variance - mean @ share + ((parts - 1.0 / weights.shape[0]) ** 2).sum()


def discriminant(data, labels, projection, ridge):
    """Fisher's criterion of two classes in a projection."""
    z = data @ projection
    first, second = z[labels == 0], z[labels == 1]
    a, b = first.sum(axis=0) / first.shape[0], second.sum(axis=0) / second.shape[0]
    within = (first - a).T @ (first - a) + (second - b).T @ (second - b)
    within = within / data.shape[0] + ridge * np.eye(projection.shape[1])
    return -(a - b) @ np.linalg.solve(within, a - b)
