"""The benchmark's programs that are whole-array expressions, for tools that record a tape at each call.

`np` is the tool's module of array functions: the names are those that autograd and PyTorch share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def heat_1d(np, u0, kappa, steps):
    u = u0
    for _ in range(steps):
        inner = u[1:-1] + kappa * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        u = np.concatenate((u[:1], inner, u[-1:]))
    return np.sum(u * u)


def wave_equation(np, u0, speed, steps):
    now, old = u0, u0
    square = speed[1:-1] ** 2
    for _ in range(steps):
        inner = 2.0 * now[1:-1] - old[1:-1] + square * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        now, old = np.concatenate((old[:1], inner, old[-1:])), now
    return np.sum(now * now)


def mixture_loops(np, x, logits, means, log_scales):
    dist = ((x[:, None, :] - means[None, :, :]) ** 2).sum(2)
    terms = logits - 0.5 * dist * np.exp(-2.0 * log_scales) - x.shape[1] * log_scales
    return -np.sum(np.log(np.sum(np.exp(terms), 1)) - np.log(np.sum(np.exp(logits))))


def logistic_loops(np, w, b, x, y, ridge):
    margin = (2.0 * y - 1.0) * (x @ w + b)
    return np.mean(np.log1p(np.exp(-margin))) + 0.5 * ridge * np.sum(w * w)


def perceptron_loops(np, w1, b1, w2, b2, x, y):
    return np.mean((np.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)


def softmax_cross_entropy(np, logits, labels):
    chosen = logits[range(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(logits), 1)) - chosen)


def black_scholes_monte_carlo(np, spot, strike, rate, vol, years, normals):
    drift = (rate - 0.5 * vol**2) * years
    z = np.concatenate((normals, -normals))
    gain = spot * np.exp(drift + vol * years**0.5 * z) - strike
    return np.exp(-rate * years) * np.mean((gain > 0.0) * gain)


def gmm_vectorised(np, alphas, means, icf, x, gamma, m):
    d = x.shape[1]
    # where an element of a factor stands in its row of parameters; one beyond the last is a zero
    below = icf.shape[1] - d
    place = numpy.full((d, d), below)
    place.T[numpy.triu_indices(d, 1)] = numpy.arange(below)
    factors = np.concatenate((icf[:, d:], 0.0 * icf[:, :1]), 1)[:, place]
    scales = np.exp(icf[:, :d])
    diff = x[None, :, :] - means[:, None, :]
    image = np.einsum("krc,knc->knr", factors, diff) + scales[:, None, :] * diff
    terms = (alphas + np.sum(icf[:, :d], 1))[:, None] - 0.5 * np.sum(image**2, 2)
    prior = 0.5 * gamma**2 * (np.sum(scales**2) + np.sum(icf[:, d:] ** 2)) - m * np.sum(icf[:, :d])
    norm = x.shape[0] * np.log(np.sum(np.exp(alphas)))
    return np.sum(np.log(np.sum(np.exp(terms), 0))) - norm + prior


PROGRAMS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        rosenbrock, heat_1d, wave_equation, mixture_loops, logistic_loops, perceptron_loops, softmax_cross_entropy,
        black_scholes_monte_carlo, gmm_vectorised,
    )
}  # fmt: skip


def by_autograd(name: str, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradients by autograd."""
    import autograd

    def f(*given: Any) -> Any:
        return PROGRAMS[name](autograd.numpy, *given)

    pulled = autograd.make_vjp(f, wrt)

    def call() -> Any:
        pull, value = pulled(*args)
        return value, pull(1.0)

    return call


def by_torch(name: str, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradients by PyTorch; the arguments are converted beforehand."""
    import numpy as np
    import torch

    # integers say how many steps to take
    given: list[Any] = [
        arg if isinstance(arg, int) else torch.tensor(np.asarray(arg)).requires_grad_(k in wrt)
        for k, arg in enumerate(args)
    ]

    def call() -> Any:
        value = PROGRAMS[name](torch, *given)
        return value.detach().numpy(), [g.numpy() for g in torch.autograd.grad(value, [given[k] for k in wrt])]

    return call
