"""Statistics: state-space models, mixtures, regression, dynamic programmes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tests.programs import Program


def kalman_log_likelihood(y, theta):
    """Log-likelihood of a local linear trend; `theta` holds the logs of three variances."""
    q_level = math.exp(theta[0])
    q_slope = math.exp(theta[1])
    noise = math.exp(theta[2])
    level, slope = 0.0, 0.0
    p00, p01, p11 = 10.0, 0.0, 10.0
    loglik = 0.0
    for t in range(y.shape[0]):
        level = level + slope
        p00 = p00 + 2.0 * p01 + p11 + q_level
        p01 = p01 + p11
        p11 = p11 + q_slope
        if math.isnan(y[t]):
            continue
        s = p00 + noise
        err = y[t] - level
        loglik -= 0.5 * (math.log(2.0 * math.pi * s) + err * err / s)
        k0 = p00 / s
        k1 = p01 / s
        level += k0 * err
        slope += k1 * err
        p11 -= k1 * p01
        p01 -= k0 * p01
        p00 -= k0 * p00
    return loglik


@njit
def _log_sum_exp(v):
    top = v.max()
    return top + np.log(np.exp(v - top).sum())


def hmm_forward(log_start, log_trans, log_emit, obs):
    """Log-probability of a sequence of symbols under a hidden Markov model."""
    states = log_start.shape[0]
    alpha = log_start + log_emit[:, obs[0]]
    new = np.empty(states)
    for t in range(1, obs.size):
        for j in range(states):
            new[j] = _log_sum_exp(alpha + log_trans[:, j]) + log_emit[j, obs[t]]
        alpha = new.copy()
    return _log_sum_exp(alpha)


def mixture_loops(x, logits, means, log_scales):
    """Negative log-likelihood of a mixture of spherical Gaussians, by loops."""
    n, d = x.shape
    k = means.shape[0]
    norm = 0.0
    for j in range(k):
        norm += math.exp(logits[j])
    terms = np.empty(k)
    loss = 0.0
    for i in range(n):
        top = -np.inf
        for j in range(k):
            dist = 0.0
            for c in range(d):
                diff = x[i, c] - means[j, c]
                dist += diff * diff
            scale = math.exp(-2.0 * log_scales[j])
            terms[j] = logits[j] - 0.5 * dist * scale - d * log_scales[j]
            if terms[j] > top:
                top = terms[j]
        total = 0.0
        for j in range(k):
            total += math.exp(terms[j] - top)
        loss -= top + math.log(total) - math.log(norm)
    return loss


def mixture_vectorised(x, logits, means, log_scales):
    """The same likelihood with broadcasting."""
    diff = x[:, None, :] - means[None, :, :]
    dist = (diff**2).sum(axis=2)
    terms = logits - 0.5 * dist * np.exp(-2.0 * log_scales) - x.shape[1] * log_scales
    return -(np.log(np.exp(terms).sum(axis=1)) - np.log(np.sum(np.exp(logits)))).sum()


def logistic_loops(w, b, x, y, ridge):
    """Penalised logistic loss by loops."""
    n, d = x.shape
    loss = 0.0
    for i in range(n):
        z = b
        for j in range(d):
            z += w[j] * x[i, j]
        m = z if y[i] == 1 else -z
        if m > 0.0:
            loss += math.log1p(math.exp(-m))
        else:
            loss += math.log1p(math.exp(m)) - m
    penalty = 0.0
    for j in range(d):
        penalty += w[j] * w[j]
    return loss / n + 0.5 * ridge * penalty


def logistic_vectorised(w, b, x, y, ridge):
    """Penalised logistic loss with array expressions."""
    margin = np.where(y == 1, 1.0, -1.0) * (x @ w + b)
    return np.mean(np.logaddexp(0.0, -margin)) + 0.5 * ridge * np.dot(w, w)


def viterbi(score, jump):
    """Greatest total score of a path, each change of row charged by `jump`."""
    steps, rows = score.shape
    best = score[0].copy()
    for t in range(1, steps):
        new = np.empty(rows)
        for j in range(rows):
            top = -np.inf
            for i in range(rows):
                value = best[i] - jump[i, j]
                if value > top:
                    top = value
            new[j] = top + score[t, j]
        best = new
    return max(best)


def _kalman(rng, n):
    y = rng.normal(size=n).cumsum()
    y[2::5] = np.nan
    return y, rng.normal(size=3)


def _hmm(rng, n):
    start, trans, emit = np.ones(n) / n, rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(3), n)
    return np.log(start), np.log(trans), np.log(emit), rng.integers(0, 3, 2 * n - 1)


def _mixture(rng, n):
    return rng.normal(size=(2 * n, 2)), rng.normal(size=n), rng.normal(size=(n, 2)), 0.3 * rng.normal(size=n)


def _logistic(rng, n):
    return rng.normal(size=n), 0.3, rng.normal(size=(2 * n, n)), rng.integers(0, 2, 2 * n), 0.1


PROGRAMS = (
    Program(kalman_log_likelihood, _kalman, (0, 1, 8), (1,), note="missing observations are nan"),
    Program(hmm_forward, _hmm, (1, 3), (0, 1, 2)),
    Program(mixture_loops, _mixture, (1, 3), (0, 1, 2, 3)),
    Program(mixture_vectorised, _mixture, (1, 3), (0, 1, 2, 3)),
    Program(logistic_loops, _logistic, (1, 4), (0, 1)),
    Program(logistic_vectorised, _logistic, (1, 4), (0, 1)),
    Program(viterbi, lambda rng, n: (rng.normal(size=(n, 3)), rng.uniform(0, 1, (3, 3))), (1, 5), (0, 1)),
)
