"""Kernels in the manner of published packages: outputs passed in, sentinels, tables, early returns."""

from __future__ import annotations

import enum
import math
from math import cos, exp, log, pi, sin, sqrt

import numba as nb
import numpy as np
import pytest
from numba import float64, guvectorize, int64, jit, njit, prange  # noqa: F401

from tests.oracles import Case, Cases, arr

cases = Cases()
pytestmark = pytest.mark.slow

EPS = 1e-12
R_EARTH = 6371.0
DEG = np.pi / 180
COEFFS = np.array([0.9, -0.3, 0.07, 0.001])
TABLE = np.linspace(0.0, 2.0, 9) ** 2
LOOKUP = ((0, 1), (1, 2), (2, 0))
_SIGS = ["float64(float64,float64)", "float32(float32,float32)"]

fast = njit(fastmath=True, cache=False, nogil=True)
jitted = nb.jit(nopython=True, error_model="numpy")


class Mode(enum.IntEnum):
    LINEAR = 0
    CUBIC = 1


class Kind(enum.Enum):
    FAST = 1
    SLOW = 2


@njit(_SIGS)
def _hyp(a, b):
    return math.sqrt(a * a + b * b)


@njit([float64(float64), nb.float32(nb.float32)], inline="always")
def _sq(x):
    return x * x


@njit("f8(f8[:], i8)", locals={"s": nb.float64}, boundscheck=False)
def _poly(c, k):
    s = 0
    for i in range(k):
        s += c[i] * 0.5**i
    return s


def _py_haversine(lo1, la1, lo2, la2):
    dlo, dla = (lo2 - lo1) * DEG, (la2 - la1) * DEG
    h = sin(dla / 2) ** 2 + cos(la1 * DEG) * cos(la2 * DEG) * sin(dlo / 2) ** 2
    return 2 * R_EARTH * math.asin(min(1.0, sqrt(h)))


haversine = njit(_py_haversine)


@fast
def _inner(out, a, w, n):
    for i in range(n):
        out[i] = 0
        for j in range(len(a)):
            out[i] += w[(i + j) % w.size] * a[j]


@cases((arr(5), arr(3)))
def out_argument(a, w):
    buf = np.empty(4)
    _inner(buf, a, w, 4)
    res = 0
    for v in buf:
        res += v * v
    return res


@cases((arr(4), 1.3), compiled="reverse")
def signatures_and_aliases(x, y):
    tot = 0
    for i in range(x.shape[0] - 1):
        tot = tot + _hyp(x[i], y) * _sq(x[i + 1]) - _poly(x, 3)
    return tot


@cases((arr(6, low=1.0, high=30.0), arr(6, low=1.0, high=30.0)))
def path_length(lon, lat):
    d = 0.0
    for i in range(1, lon.size):
        d += haversine(lon[i - 1], lat[i - 1], lon[i], lat[i])
    return d / 1e3


@cases((0.4, 0.3), (2.0, 0.9))
def kepler(M, e):
    """Newton with a tolerance, a cap and an error after."""
    E = M if e < 0.8 else pi
    for it in range(50):
        f = E - e * sin(E) - M
        fp = 1 - e * cos(E)
        dE = f / fp
        E -= dE
        if abs(dE) < 1e-14:
            return E
    raise RuntimeError(f"Kepler solver failed after {it}")


@cases((0.7,), (2.3,))
def series(x):
    term = total = 1.0
    n = 0
    while True:
        n += 1
        term *= x / n
        total += term
        if abs(term) < 1e-16 * abs(total):
            break
        if n > 200:
            return np.nan
    return total


@cases((arr(6), 0.3))
def nan_for_invalid(x, p):
    if p < 0 or p > 1:
        return np.nan
    best = -np.inf
    arg = -1
    for i in range(len(x)):
        if not np.isfinite(x[i]):
            continue
        v = log(x[i]) * p
        if v > best:
            best, arg = v, i
    return best * x[arg]


@cases((arr(5), arr(5), None), (arr(5), arr(5), arr(5, low=0.5)))
def optional_weights(x, y, w=None):
    if w is None:
        w = np.ones_like(x)
    sw = 0.0
    sxy = 0.0
    for xi, yi, wi in zip(x, y, w):
        sw += wi
        sxy += wi * (xi - yi) ** 2
    return sxy / sw if sw > 0 else 0.0


@cases((arr(7), 2), (arr(7), 3))
def moving_average(x, k):
    n = x.shape[0]
    out = np.full(n, np.nan)
    acc = 0.0
    for i in range(n):
        acc += x[i]
        if i >= k:
            acc -= x[i - k]
        if i >= k - 1:
            out[i] = acc / k
    s = 0.0
    for i in range(n):
        if np.isnan(out[i]):
            continue
        s += out[i] ** 2 * (i + 1)
    return s


@cases((arr(4, 3),))
def rows_as_views(m):
    for i in range(m.shape[0]):
        row = m[i]
        nrm = 0.0
        for j in range(row.shape[0]):
            nrm += row[j] ** 2
        nrm = max(nrm**0.5, EPS)
        for j in range(row.shape[0]):
            row[j] /= nrm
    return m[0, 0] * m[-1, -1] + m[1, 2]


@cases((arr(6), 0.37), (arr(6), 5.2), (arr(6), -1.0))
def table_lookup(w, x):
    if x <= 0:
        return w[0] * x
    pos = x / 0.25
    i = int(pos)
    if i >= len(TABLE) - 1:
        return w[-1] * TABLE[-1]
    frac = pos - i
    return ((1 - frac) * TABLE[i] + frac * TABLE[i + 1]) * w[i % 6]


@cases((arr(3), arr(3)))
def constant_pairs(a, b):
    out = np.zeros(3)
    for k, (i, j) in enumerate(LOOKUP):
        out[k] = a[i] * b[j] - a[j] * b[i]
    return out


@cases((arr(5), 0), (arr(5), 1), (arr(5), 7))
def modes(x, mode):
    if mode == Mode.LINEAR:
        f = x.sum()
    elif mode == Mode.CUBIC:
        f = (x**3).sum()
    else:
        f = np.prod(x)
    if Kind.FAST.value == 1 and Mode.CUBIC.name == "CUBIC":
        f *= COEFFS[0]
    for k in range(Mode.CUBIC + 1):
        f += x[k] * x[Mode.CUBIC] * -Mode.CUBIC
    return f


@cases((arr(8),), compiled="reverse")
def integers_become_floats(x):
    s = 0
    p = 1
    cnt = 0
    for i in range(0, len(x), 2):
        s += x[i]
        p *= x[i + 1]
        cnt += 1
    mean = s // 0.1 * 0 + s / cnt
    return mean * p


@cases((arr(6), 4))
def rebinds_parameters(x, n):
    x = x[:n] * 2
    n = n - 1
    x = x / np.max(x)
    while n >= 0:
        x[n] += n
        n -= 1
    return x.sum()


def _apply(f, x, *args):
    out = np.zeros_like(x)
    for i in range(x.size):
        out[i] = f(x[i], *args)
    return out


@njit
def _gauss(x, mu, s):
    return exp(-0.5 * ((x - mu) / s) ** 2) / (s * sqrt(2 * pi))


@cases((arr(4), 0.3, 0.8))
def function_arguments(x, mu, s):
    return _apply(_gauss, x, mu, s).sum() + _apply(lambda v, k: v**k, x, 2)[1]


@cases((arr(5),), compiled="both")
def parallel(x):
    n = x.size
    out = np.zeros(n)
    acc = 0.0
    for i in prange(n):
        t = 0.0
        for j in range(n):
            if i == j:
                continue
            t += 1.0 / (abs(x[i] - x[j]) + 0.1)
        out[i] = t
        acc += t * x[i]
    return acc + out[0]


@cases((arr(4),))
def chained_and_multiple(x):
    a = b = x[0]
    a += 1
    c, d = divmod(7.3 * x[1], 2.0)
    lo, hi = (x[2], x[3]) if x[2] < x[3] else (x[3], x[2])
    inside = 0.0 < lo <= hi < 10
    return a * b + c + d * (hi - lo) * inside


@cases((arr(3, 3),))
def determinant_by_hand(m):
    return (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


@cases((arr(9), 2), (arr(9), 5), compiled="reverse")
def in_place_filter(y, order):
    n = len(y)
    for _ in range(order):
        prev = y[0]
        for i in range(1, n - 1):
            cur = y[i]
            y[i] = 0.25 * prev + 0.5 * cur + 0.25 * y[i + 1]
            prev = cur
    return (y[1:-1] * y[2:]).sum()


@cases((arr(6), arr(6)))
def trapezoid(x, y):
    x = np.cumsum(x)
    return np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x))


@cases((arr(4), np.array([2, 0, 3, 0])), compiled="reverse")
def scatter(v, idx):
    out = np.zeros(5)
    for i in range(idx.shape[0]):
        out[idx[i]] += v[i] ** 2
    out[idx[0] + 1] *= 3
    return out


@cases((arr(5), 2.5))
def helper_with_out_tuple(x, c):
    def stats(a):
        m = a.mean()
        return m, a.var(), a.max() - a.min()

    m, v, r = stats(x)
    m2, *_ = stats(x * c)
    return m * v + r / m2


@cases((np.array([0.5, -0.2, 0.9]),))
def clips_and_signs(x):
    s = 0.0
    for v in x:
        s += np.sign(v) * min(max(v, -0.1), 0.6) + math.copysign(v * v, -v) + abs(v)
    return s + np.clip(x, -0.1, 0.6).sum() + np.where(x > 0, x, 0.1 * x).sum()


@cases((1.3, 2), (0.7, -3))
def integer_power(x, n):
    if n < 0:
        x, n = 1 / x, -n
    r = 1
    while n:
        if n & 1:
            r = r * x
        x = x * x
        n >>= 1
    return r


@cases((arr(4, 4),))
def triangle_loops(a):
    s = 0.0
    n = a.shape[0]
    for i in range(n):
        for j in range(i, n):
            s += a[i, j] * a[j, i] / (1 + i + j)
    for i in range(n - 1, 0, -1):
        for j in range(i):
            s -= a[i, j]
    return s


@cases((arr(5), arr(5)), (arr(1), arr(1)), (arr(0), arr(0)))
def guards(x, y):
    n = len(x)
    if n == 0:
        return 0.0
    if n < 2:
        return x[0] * y[0]
    assert n == len(y), "lengths differ"
    if n != y.shape[0]:
        raise ValueError("shape mismatch: " + "x and y")
    return np.dot(x, y) / n


@pytest.mark.parametrize("case", cases, ids=str)
def test_kernel(case: Case):
    case.check()
