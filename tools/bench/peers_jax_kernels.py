"""Solvers, grids, products, filters and paths as a user of JAX writes them; see `tests/programs` for what they are.

Where a loop computes what a library function does (a factor, a solution, a sum of segments), that function stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def jacobi_relaxation(a, b, tol):
    return jnp.linalg.solve(a, b).sum()


def cholesky_loops(a):
    # a function of the lower triangle alone, as the loops are
    low = jnp.tril(a, -1)
    whole = low + low.T + jnp.diag(jnp.diag(a))
    return jnp.log(jnp.diag(jnp.linalg.cholesky(whole, symmetrize_input=False))).sum()


def gram_schmidt(a):
    q, r = jnp.linalg.qr(a)
    # LAPACK's columns may point the other way
    return (q[: a.shape[1], 0] * jnp.sign(r[0, 0])).sum() - jnp.log(jnp.abs(jnp.diag(r))).sum()


def durbin(r):
    n = r.shape[0]
    zeros = jnp.zeros(n)
    backward = jnp.concatenate([r[::-1], zeros])

    def step(state, k):
        # elements of y that are not found yet are zero
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + lax.dynamic_slice(backward, (n - k,), (n,)) @ y) / beta
        mirrored = lax.dynamic_slice(jnp.concatenate([y[::-1], zeros]), (n - k,), (n,))
        return ((y + alpha * mirrored).at[k].set(alpha), alpha, beta), None

    start = zeros.at[0].set(-r[0]), -r[0], jnp.ones(())
    (y, _, _), _ = lax.scan(step, start, jnp.arange(1, n))
    return (y * y).sum()


def covariance(data):
    return (jnp.cov(data, rowvar=False) ** 2).sum()


def correlation(data):
    return ((jnp.corrcoef(data, rowvar=False) ** 2).sum() - data.shape[1]) / 2.0


def product_chain(a, b, c, x):
    product = a @ b @ c
    y = product @ x
    return y @ y + (product * a).sum()


def sparse_smoothing(values, columns, starts, x0, steps):
    n = x0.shape[0]
    rows = jnp.repeat(jnp.arange(n), jnp.diff(starts), total_repeat_length=values.shape[0])

    def step(x, _):
        y = jax.ops.segment_sum(values * x[columns], rows, n, indices_are_sorted=True)
        return 0.5 * (x + y), None

    x, _ = lax.scan(step, x0, None, length=steps)
    return (x * x).sum()


def heat_2d(u0, kappa, steps):
    def point(left, element):
        factor, term = element
        new = factor * left + term
        return new, new

    def row(above, rows):
        # what does not depend on the point before, for the whole row at once
        here, below, k = rows
        terms = here[1:-1] + k * (above[1:-1] + below[1:-1] + here[2:] - 4.0 * here[1:-1])
        new = here.at[1:-1].set(lax.scan(point, here[0], (k, terms), unroll=8)[1])
        return new, new

    def step(u, _):
        _, inner = lax.scan(row, u[0], (u[1:-1], u[2:], kappa[1:-1, 1:-1]))
        return u.at[1:-1].set(inner), None

    return (lax.scan(step, u0, None, length=steps)[0] ** 2).mean()


def heat_3d(u0, kappa, steps):
    def step(u, _):
        inner = u[1:-1, 1:-1, 1:-1]
        around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        around += u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        return u.at[1:-1, 1:-1, 1:-1].add(kappa * (around - 6.0 * inner)), None

    u, _ = lax.scan(step, u0, None, length=steps)
    return (u * u).sum()


def alternating_directions(u0, r, steps):
    inside = u0.shape[0] - 2
    beside = jnp.full(inside, -r)
    lower, upper = beside.at[0].set(0.0), beside.at[-1].set(0.0)
    diagonal = jnp.full(inside, 1.0 + 2.0 * r)

    def step(u, _):
        # lines along the first axis, of which nothing lies beyond the ends, then along the second
        given = u[1:-1, 1:-1] + r * (u[1:-1, :-2] - 2.0 * u[1:-1, 1:-1] + u[1:-1, 2:])
        v = jnp.pad(lax.linalg.tridiagonal_solve(lower, diagonal, upper, given), ((1, 1), (0, 0)))
        given = v[1:-1] + r * (v[:-2] - 2.0 * v[1:-1] + v[2:])
        given = given.at[:, -1].add(r * u[1:-1, -1])
        return u.at[1:-1, 1:-1].set(lax.linalg.tridiagonal_solve(lower, diagonal, upper, given.T).T), None

    u, _ = lax.scan(step, u0, None, length=steps)
    return (u[1:-1, 1:-1] ** 2).sum()


def shallow_water(height0, flow_x0, flow_y0, dt, steps):
    def along_x(f):
        return f[2:, 1:-1] - f[:-2, 1:-1]

    def along_y(f):
        return f[1:-1, 2:] - f[1:-1, :-2]

    def step(state, _):
        # the flows' edges take turns, as two buffers do
        h, u, v, u_old, v_old = state
        flow_x, flow_y = u[1:-1, 1:-1], v[1:-1, 1:-1]
        slope_u = 9.81 * along_x(h) + flow_x * along_x(u) + flow_y * along_y(u)
        slope_v = 9.81 * along_y(h) + flow_x * along_x(v) + flow_y * along_y(v)
        outflow = along_x(u * h) + along_y(v * h)
        half = 0.5 * dt
        return (
            jnp.pad(h[1:-1, 1:-1] - half * outflow, 1, mode="edge"),
            u_old.at[1:-1, 1:-1].set(flow_x - half * slope_u),
            v_old.at[1:-1, 1:-1].set(flow_y - half * slope_v),
            u,
            v,
        ), None

    start = height0, flow_x0, flow_y0, jnp.zeros_like(flow_x0), jnp.zeros_like(flow_y0)
    (h, u, v, _, _), _ = lax.scan(step, start, None, length=steps)
    return (h * (u**2 + v**2) + 9.81 * h**2).sum()


def recursive_filter(x, b, a, wanted):
    before = jnp.concatenate([jnp.zeros(2), x])
    given = b[0] * x + b[1] * before[1:-1] + b[2] * before[:-2]

    def step(state, fed):
        y1, y2 = state
        y = fed - a[0] * y1 - a[1] * y2
        return (y, y1), y

    _, y = lax.scan(step, (jnp.zeros(()), jnp.zeros(())), given)
    return ((y - wanted) ** 2).sum()


def charge_deposit(positions, charges, cells):
    at = positions * cells
    cell = jnp.floor(at).astype(int)
    share = at - cell
    grid = jnp.zeros(cells).at[cell % cells].add(charges * (1.0 - share)).at[(cell + 1) % cells].add(charges * share)
    return 0.5 * (grid * grid).sum() * cells


def asian_option(spot, rate, vol, strike, years, normals):
    dt = years / normals.shape[1]
    moves = (rate - 0.5 * vol * vol) * dt + vol * jnp.sqrt(dt) * normals
    means = (spot * jnp.exp(jnp.cumsum(moves, axis=1))).mean(axis=1)
    return jnp.exp(-rate * years) * jnp.maximum(means - strike, 0.0).mean()


def time_warping(x, y):
    n, m = x.shape[0], y.shape[0]
    place = jnp.arange(n)
    backward = jnp.pad(y[::-1], n)

    def diagonal(state, d):
        # the costs of the two diagonals before, by row, with one row in front
        before, last = state
        column = d - place
        far = (x - lax.dynamic_slice(backward, (n + m - 1 - d,), (n,))) ** 2
        new = jnp.minimum(jnp.minimum(last[1:], last[:-1]), before[:-1]) + far
        new = jnp.where((column >= 0) & (column < m), new, 1e300)
        return (last, jnp.pad(new, (1, 0), constant_values=1e300)), None

    never = jnp.full(n + 1, 1e300)
    (_, last), _ = lax.scan(diagonal, (never.at[0].set(0.0), never), jnp.arange(n + m - 1))
    return last[-1]


def tomography(image, angles, offsets, data):
    n = image.shape[0]
    ahead = 0.5 * jnp.arange(-(-14 * n // 5))
    x_way, y_way = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    x0 = 0.5 * n - offsets * y_way - 0.7 * n * x_way
    y0 = 0.5 * n + offsets * x_way - 0.7 * n * y_way
    x, y = x0[..., None] + ahead * x_way[..., None], y0[..., None] + ahead * y_way[..., None]
    i, j = jnp.floor(x).astype(int), jnp.floor(y).astype(int)
    right, down = x - i, y - j
    upper = (1.0 - down) * image[i, j] + down * image[i, j + 1]
    lower = (1.0 - down) * image[i + 1, j] + down * image[i + 1, j + 1]
    inside = (i >= 0) & (j >= 0) & (i < n - 1) & (j < n - 1)
    sums = jnp.where(inside, 0.5 * ((1.0 - right) * upper + right * lower), 0.0).sum(axis=2)
    return ((sums - data) ** 2).sum()


def tree_likelihood(lengths, rates, lefts, rights, tips):
    leaves, sites = tips.shape
    stay = jnp.exp(-4.0 / 3.0 * lengths[:, None] * rates)
    start = jnp.zeros((leaves + lefts.shape[0], 4, sites)).at[:leaves].set(jax.nn.one_hot(tips, 4, axis=1))

    def join(partial, node):
        place, left, right = node

        def below(child):
            other = 0.25 * (1.0 - stay[child]) * partial[child].sum(axis=0)
            return other + stay[child] * partial[child]

        return partial.at[place].set(below(left) * below(right)), None

    places = leaves + jnp.arange(lefts.shape[0])
    partial, _ = lax.scan(join, start, (places, lefts, rights))
    return -jnp.log(0.25 * partial[-1].sum(axis=0)).sum()


PROGRAMS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        jacobi_relaxation, cholesky_loops, gram_schmidt, durbin, covariance, correlation, product_chain,
        sparse_smoothing, heat_2d, heat_3d, alternating_directions, shallow_water, recursive_filter, charge_deposit,
        asian_option, time_warping, tomography, tree_likelihood,
    )
}  # fmt: skip
