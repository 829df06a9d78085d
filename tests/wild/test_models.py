"""Whole small models in the manner of published packages: many functions, state, containers."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from numba import float32, float64, int32, njit, prange

from tests.oracles import Case, Cases, arr

cases = Cases()
pytestmark = pytest.mark.slow

State = namedtuple("State", "pos vel mass")
G = 6.674e-2
DT = 0.05
_WEIGHTS = (5 / 9, 8 / 9, 5 / 9)
_NODES = np.array([-math.sqrt(3 / 5), 0.0, math.sqrt(3 / 5)])
SQRT2PI = np.sqrt(2 * np.pi)


class Params(NamedTuple):
    alpha: float
    beta: float = 0.5
    n: int = 3


def _accel(pos, mass, out):
    n = pos.shape[0]
    out[:] = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = pos[j] - pos[i]
                r2 = (dx**2).sum() + 1e-2
                out[i] += G * mass[j] * dx / (r2 * np.sqrt(r2))


@cases((State(arr(3, 2), arr(3, 2), arr(3)), 3))
def symplectic(state, nsteps):
    pos, vel, mass = state
    acc = np.empty_like(pos)
    _accel(pos, mass, acc)
    for _ in range(nsteps):
        vel += 0.5 * DT * acc
        pos += DT * vel
        _accel(pos, mass, acc)
        vel += 0.5 * DT * acc
    return 0.5 * (mass * (vel * vel).sum(axis=1)).sum()


@cases((Params(0.3), arr(4)), (Params(0.3, 1.1, 2), arr(4)))
def named_parameters(p, x):
    s = 0.0
    for k in range(p.n):
        s += p.alpha**k * x[k]
    q = p._replace(alpha=p.beta)
    return s + q.alpha * x.sum()


@njit
def _payoff(s, k, call=True):
    return max(s - k, 0.0) if call else max(k - s, 0.0)


@cases(
    (100.0, 95.0, 0.2, 0.05, 1.0, 20, True),
    (100.0, 105.0, 0.3, 0.01, 0.5, 21, False),
    differences=False,
    compiled="reverse",
)
def american(s0, k, sigma, r, t, n, call):
    dt = t / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    v = np.zeros(n + 1)
    for j in range(n + 1):
        v[j] = _payoff(s0 * u ** (2 * j - n), k, call)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            cont = disc * (p * v[j + 1] + (1 - p) * v[j])
            v[j] = max(cont, _payoff(s0 * u ** (2 * j - i), k, call=call))
    return v[0]


def norm_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


@cases((1.1, 1.0, 0.02, 0.25, 0.7, 1), (1.1, 1.0, 0.02, 0.25, 0.7, -1))
def black_scholes(s, k, r, sig, t, cp):
    if t <= 0:
        return max(cp * (s - k), 0.0)
    d1 = (math.log(s / k) + (r + sig**2 / 2) * t) / (sig * math.sqrt(t))
    d2 = d1 - sig * math.sqrt(t)
    return cp * (s * norm_cdf(cp * d1) - k * math.exp(-r * t) * norm_cdf(cp * d2))


@cases((0.12,))
def implied_vol(price):
    """Newton, then bisection when Newton leaves the bracket."""
    lo, hi = 1e-4, 5.0
    vol = 0.5
    for i in range(100):
        diff = black_scholes(1.0, 1.0, 0.0, vol, 1.0, 1) - price
        if abs(diff) < 1e-13:
            break
        if diff > 0:
            hi = vol
        else:
            lo = vol
        d1 = 0.5 * vol
        vega = math.exp(-0.5 * d1 * d1) / SQRT2PI
        vol = vol - diff / vega
        if not lo < vol < hi:
            vol = 0.5 * (lo + hi)
    return vol


@cases((arr(6), 0.1, 0.85, 0.05), compiled="both")
def garch(ret, alpha, beta, omega):
    n = ret.size
    h = np.empty(n)
    h[0] = ret.var()
    for t in range(1, n):
        h[t] = omega + alpha * ret[t - 1] ** 2 + beta * h[t - 1]
        if h[t] < 1e-8:
            h[t] = 1e-8
    ll = 0.0
    for t in range(n):
        ll -= 0.5 * (np.log(2 * np.pi) + np.log(h[t]) + ret[t] ** 2 / h[t])
    return -ll


@cases((arr(5), arr(5), 0.4))
def gauss_quadrature(a, b, c):
    def f(x, i):
        return np.exp(-a[i] * x) * np.cos(b[i] * x) + c

    total = 0.0
    for i in range(len(a)):
        lo, hi = 0.0, b[i]
        half = (hi - lo) / 2
        s = 0
        for w, x in zip(_WEIGHTS, _NODES):
            s += w * f(half * x + (lo + hi) / 2, i)
        total += half * s
    return total


@cases((arr(5), (1.0, 2.0, 0.5)), (arr(2), (1.0, 2.0, 0.5)))
def tuple_beside_an_array(x, w):
    s = 0.0
    for wi, xi in zip(w, x):
        s += wi * xi * xi
    for i, (xi, wi) in enumerate(zip(x, w)):
        if i > 1:
            break
        s *= xi + wi
    return s


@cases((arr(6, 3), arr(2, 3)))
def kmeans_inertia(x, centers):
    inertia = 0.0
    counts = np.zeros(centers.shape[0], dtype=np.int64)
    sums = np.zeros_like(centers)
    for i in range(x.shape[0]):
        best = np.inf
        label = -1
        for k in range(centers.shape[0]):
            d = 0.0
            for j in range(x.shape[1]):
                d += (x[i, j] - centers[k, j]) ** 2
            if d < best:
                best = d
                label = k
        counts[label] += 1
        sums[label] += x[i]
        inertia += best
    for k in range(2):
        if counts[k] > 0:
            inertia += (sums[k] / counts[k] - centers[k]).sum()
    return inertia


@cases((arr(5), arr(5)), compiled="reverse")
def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - 2), min(m, i + 2) + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@cases((arr(8), 3))
def autocorrelation(x, lags):
    x = x - x.mean()
    out = np.zeros(lags)
    den = (x**2).sum()
    for lag in range(lags):
        out[lag] = (x[: len(x) - lag] * x[lag:]).sum() / den
    return out


@cases((arr(4, 5), 0.1, 3))
def diffusion_swapped(u, nu, steps):
    un = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                un[i, j] = u[i, j] + nu * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j])
        u, un = un, u
    return (u**2).sum()


@cases((arr(3), arr(2, 3), arr(3)))
def quaternion_rotation(v, pts, q3):
    q = np.empty(4)
    q[1:] = q3
    q[0] = 1.0
    q /= np.linalg.norm(q)
    w, x, y, z = q
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return R @ v + (pts @ R.T).sum(axis=0)


@cases((np.float32([0.5, 1.5, 2.5]), np.float32(0.3)), compiled="reverse")
def single_precision(x, c):
    s = np.float32(0)
    for i in range(x.shape[0]):
        s += x[i] * c
    y = float32(s) * x
    return y.astype(np.float64).sum() + float64(c) * int32(2.7)


@cases((arr(6),), compiled="reverse")
def list_of_pieces(x):
    pieces = []
    cur = 0.0
    for v in x:
        cur += v
        if cur > 1.5:
            pieces.append(cur)
            cur = 0.0
    if cur > 0:
        pieces.append(cur)
    a = np.array(pieces)
    return (a * a).sum() / len(pieces)


@cases((arr(5, 2), arr(5)))
def least_squares(a, b):
    ata = a.T @ a
    atb = a.T @ b
    x = np.linalg.solve(ata, atb)
    r = b - a @ x
    return np.dot(r, r) + np.linalg.det(ata) + np.linalg.norm(x)


@cases((arr(3, 3),))
def iterate_power(a):
    v = np.ones(3)
    lam = 0.0
    for _ in range(200):
        w = np.dot(a, v)
        new = np.linalg.norm(w)
        v = w / new
        if abs(new - lam) < 1e-14:
            break
        lam = new
    else:
        return lam
    return new


@cases((arr(7), arr(3)))
def valid_convolution(x, k):
    n = x.size - k.size + 1
    y = np.zeros(n)
    for i in prange(n):
        for j in range(k.size):
            y[i] += x[i + j] * k[-1 - j]
    return y


@cases((arr(6), 0.4))
def exponential_smoothing_with_state(x, alpha):
    state = np.zeros(2)

    def step(v):
        state[1] = state[0]
        state[0] = alpha * v + (1 - alpha) * state[0]
        return state[0] - state[1]

    total = 0.0
    for v in x:
        total += step(v) ** 2
    return total


@cases((arr(5), np.array([True, False, True, True, False])))
def masked(x, keep):
    y = x[keep]
    z = np.zeros(5)
    z[~keep] = 2.0 * x[~keep]
    z[keep] += y**2
    return z.sum() + x[x > 0.5].mean() + np.sum(np.where(keep, x, -x))


@cases((arr(4),))
def binary_search(x):
    grid = np.cumsum(x)
    total = 0.0
    for t in (0.1, 0.8, 1.9):
        lo, hi = 0, grid.size - 1
        while lo < hi:
            mid = (lo + hi) // 2
            if grid[mid] < t:
                lo = mid + 1
            else:
                hi = mid
        total += grid[lo] * t
    return total


@cases((arr(5), 2), compiled="reverse")
def recursion_over_halves(x, depth):
    return halves(x, 0, len(x), depth)


def halves(x, lo, hi, depth):
    if depth == 0 or hi - lo <= 1:
        s = 0.0
        for i in range(lo, hi):
            s += x[i] ** 2
        return s
    mid = (lo + hi) // 2
    return halves(x, lo, mid, depth - 1) * halves(x, mid, hi, depth - 1)


@cases((arr(6, 2),))
def columns_and_strides(m):
    even = m[::2, 0]
    odd = m[1::2, -1][::-1]
    even *= odd
    m[1::2] = m[::2] * 0.5
    return m.ravel()[1:4].sum() + m.T[0].prod() + even.sum()


@cases((0.3, 1.7))
def status_codes(x, y):
    r, ok, msg = solve_quadratic(x, y, -1.0)
    if not ok:
        print("failed", msg)
        return np.nan
    return r


def solve_quadratic(a, b, c):
    disc = b * b - 4 * a * c
    if disc < 0:
        return 0.0, False, "no real root"
    q = -0.5 * (b + math.copysign(math.sqrt(disc), b))
    return c / q, True, ""


@cases((arr(3),))
def walrus_and_ternaries(x):
    s = 0.0
    i = 0
    while (v := x[i]) > 0 and i < 2:
        s += v if v < 1 else 1 / v
        i += 1
    return s + (x[i] if i else -x[0])


@cases((arr(4), arr(4)))
def shadowed_builtins(max, sum):
    abs = 2.0
    x_bar = max * abs
    x_dot = x_bar + sum
    np_bar = np.sqrt(x_dot)
    return np_bar.sum() / abs


@pytest.mark.parametrize("case", cases, ids=str)
def test_model(case: Case):
    case.check()
