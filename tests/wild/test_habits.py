"""Habits of people who write numeric Python: odd spellings of ordinary things."""

from __future__ import annotations

import math as m

import numpy as np
import pytest
from numba import njit

from tests.oracles import Case, Cases, arr

cases = Cases()
pytestmark = pytest.mark.slow

ALPHA, BETA = 0.3, 1.7
STEP = 3
FLAGS = (True, False)
TABLE = np.arange(6, dtype=np.int64)[::-1].copy()


class Config:
    rate = 0.4
    order = 2
    names = ("a", "b")


def weighted(*terms, scale=1.0):
    s = 0.0
    for t in terms:
        s += t
    return s * scale / len(terms)


@cases((1.3, 0.4))
def variadic_helpers(x, y):
    t = (x, y, x * y)
    return weighted(*t) + weighted(x, scale=y) + weighted(x, y, *t, scale=2.0)


@cases((arr(6),))
def for_else_and_while_else(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 5.0:
            s = -1.0
            break
    else:
        s += x[0] * x[1]
    k = 0
    while k < 3:
        k += 1
        if k == 2:
            continue
        s *= x[k]
    else:
        s += 1.0
    return s


@cases((arr(8),), compiled="both")
def overlapping_slices(a):
    a[1:5] = a[0:4]
    a[::-1] += a[:] * 0.5
    a[2:4], a[4:6] = a[4:6] * 1.0, a[2:4] * 1.0
    a[-3:] -= a[:3]
    return (a * np.arange(8)).sum()


@cases((arr(5), 0.1))
def grid_of_points(c, dx):
    xs = np.arange(7) * dx
    ys = np.linspace(-1, 1, 5)
    out = 0.0
    for i, x in enumerate(xs[1:-1], start=1):
        out += c[i - 1] * x**2 * ys[i % 5] - xs[i - 1]
    return out


@cases((arr(6),))
def sorted_statistics(x):
    o = np.argsort(x)
    y = x[o]
    med = 0.5 * (y[2] + y[3])
    trimmed = np.sort(x)[1:-1].mean()
    q = np.interp(np.array([0.5, 1.1]), y, np.cumsum(y))
    return med * trimmed + q.sum() + np.median(x) + y[np.searchsorted(y, 0.9) - 1]


@cases((arr(3, 3), arr(3)))
def linear_algebra(a, b):
    spd = a @ a.T + 3.0 * np.eye(3)
    low = np.linalg.cholesky(spd)
    inv = np.linalg.inv(spd)
    s, ld = np.linalg.slogdet(spd)
    return np.log(np.diag(low)).sum() + np.trace(inv) + s * ld + np.outer(b, b)[0, 1] + np.cross(b, a[0])[2]


@cases((arr(4),), (arr(2),), (arr(0),), compiled="reverse")
def early_return_in_nested_loops(x):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] * x[j] > 1.2:
                return x[i] ** 2 * x[j]
            x[j] += 0.1 * x[i]
    return x.sum() * 2.0


@cases((arr(3), 2.0))
def class_constants(x, y):
    cfg = Config
    s = 0.0
    for k in range(Config.order):
        s += cfg.rate * x[k] ** (k + 1)
    return s * y if "a" in Config.names else s


@cases((1.4, 3), (1.4, 2.5))
def type_tests(x, n):
    if isinstance(n, int):
        return x**n
    elif isinstance(n, (float, np.floating)):
        return np.exp(n * np.log(x)) + type(x)(2)
    return x


@cases((arr(5),))
def flags_and_masks(x):
    seen = np.zeros(5, dtype=bool)
    total = 0.0
    for _ in range(3):
        best = -1
        for j in range(5):
            if seen[j] or (best >= 0 and x[j] <= x[best]):
                continue
            best = j
        seen[best] = True
        total = total * 0.5 + x[best]
    rest = ~seen
    return total + x[rest].sum() * np.count_nonzero(rest) + (x * seen).sum()


@cases((arr(4), arr(4)), compiled="reverse")
def closures_that_accumulate(a, b):
    log = []

    def note(v):
        log.append(v * v)
        return v

    s = 0.0
    for i in range(4):
        s += note(a[i]) * note(b[i])
    return s + sum(log) + log[-1] * len(log)


@cases((0.7,))
def nested_functions_and_lambdas(x):
    def outer(k):
        def inner(v, p=2):
            return v**p + k

        return inner

    f = outer(x)
    g = outer(2.0)
    h = [lambda v: v + 1, lambda v: v * v]
    return f(x) + g(x, p=3) + h[0](x) * h[1](x) + (lambda a, b=3.0: a * b)(x)


@cases((arr(3, 4),))
def axis_reductions(a):
    mu = a.mean(axis=0)
    sd = np.sqrt(((a - mu) ** 2).sum(axis=0) / a.shape[0])
    z = (a - mu) / sd
    return z[0] * z[-1] + a.max() - a.min() + a.sum(axis=1)[:, None].sum()


@cases((arr(2, 3, 4),))
def ranks_and_ellipses(a):
    b = a[..., 1] + a[:, ::-1, 0]
    c = a[0, ...][None, :, :] * a
    c[:, 1] += b[:, None, 0]
    return c.transpose(2, 0, 1).reshape(4, -1).sum(axis=0) + a.swapaxes(0, 2)[0].ravel()


@cases((1.3, -0.4))
def signed_zero_and_mod(x, y):
    whole, part = divmod(x, 0.4)
    return x % 0.7 + y % 0.7 + np.fmod(y, 0.3) + m.hypot(x, y) + x // 0.5 + whole * part + abs(-y) + round(x, 1) * y


@cases((arr(6),))
def running_extremes(x):
    top = -np.inf
    dd = 0.0
    eq = 1.0
    for r in x - 0.9:
        eq *= 1 + 0.1 * r
        if eq > top:
            top = eq
        cur = (top - eq) / top
        dd = cur if cur > dd else dd
    return dd + eq


@cases((arr(5), 7))
def random_but_inert(x, seed):
    np.random.seed(seed)
    s = 0.0
    for v in x:
        if np.random.rand() < 2.0:
            s += v * v
    return s


@cases((arr(4),))
def deletes_and_reuses(x):
    tmp = x * 2
    del tmp
    tmp = 0
    for tmp in range(3):
        pass
    x = x[tmp]
    return x * tmp


@cases((arr(5), arr(3)), (arr(2), arr(3)), compiled="reverse")
def swaps_by_length(a, b):
    if a.size < b.size:
        a, b = b, a
    n = b.size
    s = 0.0
    for i in range(n):
        s += a[i + a.size - n] * b[n - 1 - i]
    return s / n


@cases((arr(6),))
def index_tables(x):
    y = np.zeros_like(x)
    for i in TABLE:
        y[TABLE[i]] = x[i] * (i + 1)
    y[TABLE[:3]] *= 2.0
    return y @ x + x.take(TABLE[1:3]).sum()


@cases((2.1, 5), (2.1, 1), (2.1, 0))
def mutual_helpers(x, n):
    return even(x, n)


def even(x, n):
    return 1.0 if n == 0 else x * odd(x, n - 1)


def odd(x, n):
    return x if n == 0 else even(x, n - 1) + 0.5


@cases((arr(3), arr(4)))
def long_expressions(a, b):
    r = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2) ** 0.5
    return 4 * ALPHA * ((BETA / r) ** 12 - (BETA / r) ** 6) if r < 2.5 * BETA else 0.0 * r


@njit
def _bump(v, i=0):
    v[i] += 1.0


@cases((arr(4),))
def called_for_effect(v):
    _bump(v)
    _bump(v, 2)
    _bump(i=1, v=v[1:])
    w = v
    w *= v[0]
    return v.sum()


@cases((arr(4),), compiled="reverse")
def unpacks_arrays(x):
    a, b, c, d = x
    (p, q), r = (a * b, c), d
    first, *rest = x[1], x[2], x[3]
    return p * q + r + first * rest[0] - rest[-1]


@cases((arr(4), True), (arr(4), False))
def boolean_arithmetic(x, flag):
    sign = 1 - 2 * flag
    pos = (x > 0.8) * x
    n = (x > 0.8).sum() + flag
    return sign * pos.sum() + n * x[0] + x[int(flag)]


@cases((0.3,), (1.9,))
def static_strings(x):
    kind = "cubic" if FLAGS[0] else "linear"
    if kind == "cubic" and kind != "linear" and kind.startswith("c"):
        return x**3
    return x


@pytest.mark.parametrize("case", cases, ids=str)
def test_habit(case: Case):
    case.check()
