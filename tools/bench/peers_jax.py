"""The benchmark's programs as a user of JAX writes them: whole arrays, scans over time, masks for branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp

from tools.bench import peers_jax_complex, peers_jax_elementwise, peers_jax_kernels, peers_jax_objectives


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rk4_lotka_volterra(y0, p, dt, steps):
    def slope(y):
        return jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + 0.5 * dt * k1)
        k3 = slope(y + 0.5 * dt * k2)
        k4 = slope(y + dt * k3)
        return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lax.scan(step, y0, None, length=steps)[0].sum()


def nbody_leapfrog(pos0, vel0, mass, dt, steps):
    def accelerate(pos):
        d = pos[None, :, :] - pos[:, None, :]
        r2 = (d * d).sum(axis=2) + 0.1
        return ((mass[None, :] / (r2 * jnp.sqrt(r2)))[:, :, None] * d).sum(axis=1)

    def step(state, _):
        pos, vel, acc = state
        vel = vel + 0.5 * dt * acc
        pos = pos + dt * vel
        acc = accelerate(pos)
        return (pos, vel + 0.5 * dt * acc, acc), None

    (_, vel, _), _ = lax.scan(step, (pos0, vel0, accelerate(pos0)), None, length=steps)
    return (0.5 * mass * (vel**2).sum(axis=1)).sum()


def sir_epidemic(rates, recovery, infected, days):
    def step(state, beta):
        s, i, r, peak = state
        new, gone = beta * s * i, recovery * i
        i = i + new - gone
        return (s - new, i, r + gone, jnp.where(i > peak, i, peak)), None

    start = (1.0 - infected, infected, jnp.zeros_like(infected), infected)
    (_, _, r, peak), _ = lax.scan(step, start, rates[jnp.arange(days) // 7])
    return peak + 0.1 * r


def heat_1d(u0, kappa, steps):
    def step(u, _):
        return u.at[1:-1].add(kappa * (u[:-2] - 2.0 * u[1:-1] + u[2:])), None

    u, _ = lax.scan(step, u0, None, length=steps)
    return (u * u).sum()


def wave_equation(u0, speed, steps):
    square = speed[1:-1] ** 2

    def step(state, _):
        now, old = state
        inner = 2.0 * now[1:-1] - old[1:-1] + square * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        return (old.at[1:-1].set(inner), now), None

    (u, _), _ = lax.scan(step, (u0, u0), None, length=steps)
    return (u * u).sum()


def upwind_advection(u0, velocity, ratio, steps):
    def step(u, _):
        left, right = jnp.append(jnp.roll(u, 1), u[-1]), jnp.append(u, u[0])
        flux = velocity * jnp.where(velocity > 0.0, left, right)
        return u - ratio * (flux[1:] - flux[:-1]), None

    u, _ = lax.scan(step, u0, None, length=steps)
    return (u * u).sum()


def thomas(lower, diag, upper, rhs):
    def down(state, row):
        pivot, x = state
        low, middle, up, b = row
        ratio = up / pivot
        pivot = middle - low * ratio
        x = (b - low * x) / pivot
        return (pivot, x), (ratio, x)

    first = rhs[0] / diag[0]
    _, (ratio, x) = lax.scan(down, (diag[0], first), (lower[1:], diag[1:], upper[:-1], rhs[1:]))
    x = jnp.concatenate([first[None], x])

    def up(later, row):
        ratio, x = row
        x = x - ratio * later
        return x, x

    _, rest = lax.scan(up, x[-1], (ratio, x[:-1]), reverse=True)
    return (rest * rest).sum() + x[-1] ** 2


def lu_log_determinant(a):
    return jnp.linalg.slogdet(a)[1]


def kalman_log_likelihood(y, theta):
    q_level, q_slope, noise = jnp.exp(theta)

    def step(state, seen):
        level, slope, p00, p01, p11, loglik = state
        level = level + slope
        p00, p01, p11 = p00 + 2.0 * p01 + p11 + q_level, p01 + p11, p11 + q_slope
        s = p00 + noise
        err = seen - level
        k0, k1 = p00 / s, p01 / s
        loglik = loglik - 0.5 * (jnp.log(2.0 * jnp.pi * s) + err * err / s)
        return (level + k0 * err, slope + k1 * err, p00 - k0 * p00, p01 - k0 * p01, p11 - k1 * p01, loglik), None

    zero = jnp.zeros(())
    return lax.scan(step, (zero, zero, zero + 10.0, zero, zero + 10.0, zero), y)[0][-1]


def hmm_forward(log_start, log_trans, log_emit, obs):
    def step(alpha, symbol):
        return logsumexp(alpha[:, None] + log_trans, axis=0) + log_emit[:, symbol], None

    return logsumexp(lax.scan(step, log_start + log_emit[:, obs[0]], obs[1:])[0])


def mixture_loops(x, logits, means, log_scales):
    dist = ((x[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    terms = logits - 0.5 * dist * jnp.exp(-2.0 * log_scales) - x.shape[1] * log_scales
    return -(logsumexp(terms, axis=1) - logsumexp(logits)).sum()


def logistic_loops(w, b, x, y, ridge):
    margin = jnp.where(y == 1, 1.0, -1.0) * (x @ w + b)
    return jnp.mean(jnp.logaddexp(0.0, -margin)) + 0.5 * ridge * jnp.dot(w, w)


def viterbi(score, jump):
    def step(best, row):
        return (best[:, None] - jump).max(axis=0) + row, None

    return lax.scan(step, score[0], score[1:])[0].max()


def perceptron_loops(w1, b1, w2, b2, x, y):
    return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)


def softmax_cross_entropy(logits, labels):
    return jnp.mean(logsumexp(logits, axis=1) - jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0])


def convolution_2d(image, kernel):
    out = jax.scipy.signal.correlate2d(image, kernel, mode="valid")
    return jnp.where(out > 0.0, out, 0.01 * out).sum()


def reprojection_error(cameras, points, seen, camera_of, point_of):
    def project(cam, point):
        angle = jnp.sqrt((cam[:3] ** 2).sum())
        k = cam[:3] / angle
        turned = point * jnp.cos(angle) + jnp.cross(k, point) * jnp.sin(angle)
        local = turned + k * (jnp.dot(k, point) * (1.0 - jnp.cos(angle))) + cam[3:6]
        uv = -local[:2] / local[2]
        return cam[6] * (1.0 + cam[7] * (uv**2).sum()) * uv

    return ((jax.vmap(project)(cameras[camera_of], points[point_of]) - seen) ** 2).sum()


def pair_energy(pos, box, eps, sigma, rc):
    shift = 4.0 * eps * ((sigma / rc) ** 12 - (sigma / rc) ** 6)
    first, second = jnp.triu_indices(pos.shape[0], 1)
    d = pos[first] - pos[second]
    d = d - box * jnp.round(d / box)
    r2 = (d * d).sum(axis=1)
    s6 = (sigma * sigma / r2) ** 3
    return jnp.where(r2 < rc * rc, 4.0 * eps * (s6 * s6 - s6) - shift, 0.0).sum()


def spline_evaluate(knots, values, slopes, at, seen):
    # all places lie between the ends
    k = jnp.searchsorted(knots, at) - 1
    h = knots[k + 1] - knots[k]
    t = (at - knots[k]) / h
    out = (
        (2 * t**3 - 3 * t**2 + 1) * values[k]
        + (t**3 - 2 * t**2 + t) * h * slopes[k]
        + (3 * t**2 - 2 * t**3) * values[k + 1]
        + (t**3 - t**2) * h * slopes[k + 1]
    )
    return ((out - seen) ** 2).sum()


def american_put(spot, strike, rate, vol, years, steps):
    dt = years / steps
    up = jnp.exp(vol * jnp.sqrt(dt))
    discount = jnp.exp(-rate * dt)
    p = (jnp.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    place = jnp.arange(steps + 1)

    def fold(value, step):
        # the nodes beyond this step's are computed too, and never read by those that count
        hold = discount * (p * jnp.roll(value, -1) + (1.0 - p) * value)
        return jnp.maximum(hold, strike - spot * up ** (2.0 * place - step)), None

    end = jnp.maximum(strike - spot * up ** (2.0 * place - steps), 0.0)
    return lax.scan(fold, end, jnp.arange(steps - 1, -1, -1, dtype=float))[0][0]


def black_scholes_monte_carlo(spot, strike, rate, vol, years, normals):
    drift = (rate - 0.5 * vol**2) * years
    spread = vol * jnp.sqrt(years)
    z = jnp.concatenate([normals, -normals])
    return jnp.exp(-rate * years) * jnp.maximum(spot * jnp.exp(drift + spread * z) - strike, 0.0).mean()


_ELSEWHERE = (peers_jax_objectives, peers_jax_kernels, peers_jax_elementwise, peers_jax_complex)

PROGRAMS: dict[str, Callable[..., Any]] = {name: f for module in _ELSEWHERE for name, f in module.PROGRAMS.items()} | {
    f.__name__: f
    for f in (
        rosenbrock, rk4_lotka_volterra, nbody_leapfrog, sir_epidemic, heat_1d, wave_equation, upwind_advection,
        thomas, lu_log_determinant, kalman_log_likelihood, hmm_forward, mixture_loops, logistic_loops, viterbi,
        perceptron_loops, softmax_cross_entropy, convolution_2d, reprojection_error, pair_energy, spline_evaluate,
        american_put, black_scholes_monte_carlo,
    )
}  # fmt: skip


def gradient(name: str, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradient of one of the programs."""
    return derivative_of(PROGRAMS[name], wrt, args)


def derivative_of(program: Callable[..., Any], wrt: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradient, compiled on the first call; the arguments are converted beforehand.

    By complex arguments JAX gives the conjugate of what other tools mean by a gradient.
    """
    # integers say how many steps to take
    static = tuple(k for k, arg in enumerate(args) if isinstance(arg, int))
    derivative = jax.value_and_grad(program, argnums=wrt)

    def conjugated(*given: Any) -> Any:
        value, gradients = derivative(*given)
        return value, tuple(one.conj() for one in gradients)

    compiled = jax.jit(conjugated, static_argnums=static)
    given = [arg if k in static else jnp.asarray(arg) for k, arg in enumerate(args)]
    return lambda: jax.block_until_ready(compiled(*given))
